/* tokenizer.c: opening by path, counting users, looking up tokens. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "io/source.h"
#include "text/tokenizer.h"

void iso__tokenizer_retain(iso_tokenizer *t) { atomic_fetch_add_explicit(&t->n_refs, 1, memory_order_relaxed); }

void iso_tokenizer_free(iso_tokenizer *t) {
  if (!t || atomic_fetch_sub_explicit(&t->n_refs, 1, memory_order_acq_rel) != 1) return;
  iso__heap *heap = t->heap;
  iso__characters_release(heap, &t->characters);
  iso__trie_release(heap, &t->words);
  iso__trie_release(heap, &t->raw.trie);
  iso__trie_release(heap, &t->normalized.trie);
  iso__heap_free(heap, t->added, t->n_added * sizeof *t->added);
  iso__heap_free(heap, t->text, t->n_text);
  iso__heap_free(heap, t->token_at, (size_t)t->n_ids * sizeof *t->token_at);
  iso__heap_free(heap, t, sizeof *t);
  iso__heap_release(heap);
}

int64_t iso_tokenizer_size(const iso_tokenizer *t) { return t ? t->n_ids : 0; }
int64_t iso_tokenizer_padding(const iso_tokenizer *t) { return t ? t->padding : -1; }
const char *iso_tokenizer_hash(const iso_tokenizer *t) { return t ? t->hash : ""; }

const char *iso_tokenizer_token(const iso_tokenizer *t, int64_t id) {
  if (!t || id < 0 || id >= t->n_ids || t->token_at[id] < 0) return NULL;
  return t->text + t->token_at[id];
}

int64_t iso_tokenizer_id(const iso_tokenizer *t, const char *token) {
  if (!t || !token) return -1;
  for (size_t i = 0; i < t->n_added; i++)
    if (strcmp(t->text + t->token_at[t->added[i].id], token) == 0) return t->added[i].id;
  const uint32_t node = iso__trie_walk(&t->words, 0, token, strlen(token));
  return node ? t->words.units[node].value - 1 : -1;
}

/* ---- opening ---- */

/* A whole file in a block of *n_bytes. */
static void *read_whole(iso_context *ctx, const char *path, size_t *n_bytes) {
  iso__source source;
  if (!iso__source_open(ctx, path, &source)) return NULL;
  void *bytes = NULL;
  if (source.n_bytes > ISO__TOKENIZER_FILE)
    ISO__FAIL(ctx, ISO_UNSUPPORTED, source.name, "has %llu bytes, supported are %d", (unsigned long long)source.n_bytes,
              ISO__TOKENIZER_FILE);
  else bytes = iso__alloc(ctx, (size_t)source.n_bytes);
  *n_bytes = (size_t)source.n_bytes;
  if (bytes && !iso__source_read(ctx, &source, 0, bytes, source.n_bytes, "the file")) {
    iso__free(ctx, bytes, *n_bytes);
    bytes = NULL;
  }
  iso__source_close(&source);
  return bytes;
}

static bool exists(const char *path) {
  struct stat info;
  return stat(path, &info) == 0;
}

static iso_tokenizer *open_json(iso_context *ctx, const char *path) {
  size_t n_bytes;
  void *bytes = read_whole(ctx, path, &n_bytes);
  if (!bytes) return NULL;
  iso_tokenizer *t = iso__tokenizer_parse_json(ctx, iso__path_tail(path), bytes, n_bytes);
  iso__free(ctx, bytes, n_bytes);
  return t;
}

/* With the tokenizer_config.json in its folder, if there is one. */
static iso_tokenizer *open_vocabulary(iso_context *ctx, const char *path, bool cased) {
  char config_path[4096];
  size_t n_bytes, n_config = 0;
  const char *slash = strrchr(path, '/');
  const int n_folder = slash ? (int)(slash - path) + 1 : 0;
  void *config = NULL, *bytes = read_whole(ctx, path, &n_bytes);
  if (!bytes) return NULL;
  const int n = snprintf(config_path, sizeof config_path, "%.*stokenizer_config.json", n_folder, path);
  const bool has_config = n < (int)sizeof config_path && exists(config_path);
  if (has_config) config = read_whole(ctx, config_path, &n_config);
  iso_tokenizer *t = NULL;
  if (config || !has_config)
    t = iso__tokenizer_parse_vocabulary(ctx, iso__path_tail(path), bytes, n_bytes, iso__path_tail(config_path), config,
                                        n_config, cased);
  iso__free(ctx, config, n_config);
  iso__free(ctx, bytes, n_bytes);
  return t;
}

static iso_tokenizer *open_folder(iso_context *ctx, const char *folder, bool cased) {
  char path[4096];
  if (strlen(folder) > sizeof path - 20)
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, iso__path_tail(folder), "the path is too long"), NULL;
  snprintf(path, sizeof path, "%s/tokenizer.json", folder);
  if (exists(path)) return open_json(ctx, path);
  snprintf(path, sizeof path, "%s/vocab.txt", folder);
  if (exists(path)) return open_vocabulary(ctx, path, cased);
  return ISO__FAIL(ctx, ISO_NOT_FOUND, iso__path_tail(folder), "holds neither tokenizer.json nor vocab.txt"), NULL;
}

iso_tokenizer *iso_tokenizer_open(iso_context *ctx, const char *path, const iso_tokenizer_options *options) {
  if (iso__failed(ctx)) return NULL;
  if (!path) return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "tokenizer_open", "the path is NULL"), NULL;
  const bool cased = options && options->cased;
  struct stat info;
  const size_t n = strlen(path);
  if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return open_folder(ctx, path, cased);
  if (n > 5 && strcmp(path + n - 5, ".json") == 0) return open_json(ctx, path);
  return open_vocabulary(ctx, path, cased);
}
