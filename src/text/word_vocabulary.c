/* word_vocabulary.c: counts the words of a data set. What a word is, the tokenizer says: one that knows none gives an
 * [UNK] for each, and the offsets where it lies; so that a word of the vocabulary is always found again. All words are
 * written one after another, sorted and counted: no hash table whose order could leak. */
#include "text/word_vocabulary.h"
#include <stdlib.h>
#include <string.h>
#include "text/tokenizer.h"
#include "text/utf8.h"

static const char specials[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n";
enum { N_SPECIALS = 4, USUAL_BATCH = 1024 };

typedef struct word {
  union {
    size_t at; /* in `bytes`, as long as they grow */
    const char *bytes;
  };
  size_t n_bytes;
  int64_t count;
} word;

typedef struct words {
  iso_context *ctx;
  const iso_tokenizer *tokenizer; /* knows no word */
  char *bytes;                    /* all words, one after another */
  size_t n_bytes, bytes_capacity;
  word *list;
  size_t n, capacity;
} words;

/* Bytes of code points [begin, end) of the text from *at, code point *index, on; both go on to the end. False: some of
 * them are no UTF-8. */
static bool find_bytes(const iso_text *text, size_t *at, int64_t *index, const int64_t range[2], size_t *first) {
  bool valid = true;
  for (; *index < range[1] && *at < text->n_bytes; ++*index) {
    size_t n_used;
    if (*index == range[0]) *first = *at;
    const int32_t c = iso__utf8_decode_any((const uint8_t *)text->bytes + *at, text->n_bytes - *at, &n_used);
    valid &= *index < range[0] || c >= 0;
    *at += n_used;
  }
  return valid;
}

static bool add_word(words *w, const char *bytes, size_t n_bytes) {
  const size_t at = w->n_bytes;
  if (!iso__normalize(w->ctx, &w->tokenizer->characters, bytes, n_bytes, &w->bytes, &w->n_bytes, &w->bytes_capacity))
    return false;
  const size_t n = w->n_bytes - at;
  /* What the tokenizer's files cannot hold stays unknown: a token has a line and no white space at its end. */
  if (n == 0 || n > ISO__TOKEN_BYTES || memchr(w->bytes + at, '\n', n) || memchr(w->bytes + at, ' ', n))
    return w->n_bytes = at, true;
  if (!iso__grow(w->ctx, (void **)&w->list, &w->capacity, w->n + 1, sizeof *w->list)) return false;
  w->list[w->n++] = (word){.at = at, .n_bytes = n, .count = 1};
  return true;
}

static bool add_text(words *w, const iso_text *text, int64_t n_tokens, const int64_t (*offsets)[2]) {
  size_t at = 0;
  int64_t index = 0;
  for (int64_t i = 0; i < n_tokens; i++) {
    size_t first = 0;
    if (find_bytes(text, &at, &index, offsets[i], &first) && !add_word(w, text->bytes + first, at - first))
      return false;
  }
  return true;
}

/* Texts [begin, end) of the set. */
static bool add_texts(words *w, const iso_text_dataset *set, int64_t begin, int64_t end) {
  iso_text texts[USUAL_BATCH];
  iso_encodings e;
  for (int64_t i = begin; i < end; i++) texts[i - begin] = iso_text_dataset_text(set, i);
  const iso_encode_options options = {.no_special = true, .offsets = true};
  if (iso_tokenizer_encode(w->ctx, w->tokenizer, end - begin, texts, &options, &e)) return false;
  bool ok = true;
  for (int64_t i = 0; i < end - begin && ok; i++)
    ok = add_text(w, &texts[i], e.begin[i + 1] - e.begin[i], (const int64_t(*)[2])e.offsets + e.begin[i]);
  iso_encodings_free(w->ctx, &e);
  return ok;
}

/* ---- counting ---- */

static int by_bytes(const void *a, const void *b) {
  const word *x = a, *y = b;
  const int order = memcmp(x->bytes, y->bytes, x->n_bytes < y->n_bytes ? x->n_bytes : y->n_bytes);
  return order ? order : (x->n_bytes > y->n_bytes) - (x->n_bytes < y->n_bytes);
}
static int by_count(const void *a, const void *b) {
  const word *x = a, *y = b;
  return x->count != y->count ? (x->count < y->count ? 1 : -1) : by_bytes(a, b);
}

/* One entry a word, the most frequent first. */
static void count_words(words *w) {
  size_t n = 0;
  if (!w->n) return;
  for (size_t i = 0; i < w->n; i++) w->list[i].bytes = w->bytes + w->list[i].at;
  qsort(w->list, w->n, sizeof *w->list, by_bytes);
  for (size_t i = 0; i < w->n; i++)
    if (n && !by_bytes(&w->list[n - 1], &w->list[i])) w->list[n - 1].count++;
    else w->list[n++] = w->list[i];
  w->n = n;
  qsort(w->list, w->n, sizeof *w->list, by_count);
}

static bool is_special(const word *one) {
  const char *at = specials;
  for (int i = 0; i < N_SPECIALS; i++, at = strchr(at, '\n') + 1) {
    const size_t n = (size_t)(strchr(at, '\n') - at);
    if (n == one->n_bytes && !memcmp(at, one->bytes, n)) return true;
  }
  return false;
}

static bool write_file(words *w, const iso__word_options *o, char **out, size_t *n_out) {
  size_t n_words = 0, n_bytes = sizeof specials - 1;
  const size_t most = o->max_words > 0 ? (size_t)o->max_words : ISO__TOKENIZER_IDS - N_SPECIALS;
  for (size_t i = 0; i < w->n && w->list[i].count >= o->min_count && n_words < most; i++) {
    if (is_special(&w->list[i])) continue;
    w->list[n_words++] = w->list[i];
    n_bytes += w->list[n_words - 1].n_bytes + 1;
  }
  char *at = *out = iso__alloc(w->ctx, n_bytes);
  if (!at) return false;
  *n_out = n_bytes;
  memcpy(at, specials, sizeof specials - 1);
  at += sizeof specials - 1;
  for (size_t i = 0; i < n_words; i++) {
    memcpy(at, w->list[i].bytes, w->list[i].n_bytes);
    at += w->list[i].n_bytes;
    *at++ = '\n';
  }
  return true;
}

iso_status iso__word_vocabulary(iso_context *ctx, const iso_text_dataset *set, const iso__word_options *options,
                                char **bytes, size_t *n_bytes) {
  const int64_t n = iso_text_dataset_get_info(set).n_samples;
  iso_tokenizer *tokenizer =
      iso__tokenizer_parse_vocabulary(ctx, "word vocabulary", specials, sizeof specials - 1, NULL, NULL, 0, false);
  words w = {.ctx = ctx, .tokenizer = tokenizer};
  bool ok = tokenizer != NULL;
  for (int64_t i = 0; i < n && ok; i += USUAL_BATCH)
    ok = add_texts(&w, set, i, i + USUAL_BATCH < n ? i + USUAL_BATCH : n);
  if (ok) count_words(&w);
  if (ok) write_file(&w, options, bytes, n_bytes);
  iso__free(ctx, w.bytes, w.bytes_capacity);
  iso__free(ctx, w.list, w.capacity * sizeof *w.list);
  iso_tokenizer_free(tokenizer);
  return ctx->error.code;
}
