/* loader.c: batches of texts as ids. All texts are tokenized once, when the loader is made: after that a batch is a
 * copy and its padding. Which texts meet is buckets.c's, how batches are made ahead feed.c's. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/fenv.h"
#include "data/feed.h"
#include "text/buckets.h"
#include "text/dataset.h"

static const char op[] = "text_loader";
enum { MAX_LENGTH = INT32_MAX - 4096 }; /* so that a padded length is an int */

struct iso_text_loader {
  iso_context *ctx;
  iso_text_dataset *set;
  iso_encodings texts;
  int64_t n_ids, padding; /* of the tokenizer */
  int64_t max_length, pad_multiple;
  int n_leaves, leaf_begin, leaf_end;
  int64_t n_truncated, n_specials; /* tokens that an empty text has */
  iso__buckets buckets;
  iso__feed feed;
};

/* ---- batches ---- */

/* What texts of a batch are padded to. */
static int64_t padded(const iso_text_loader *l, int64_t longest) {
  const int64_t m = l->pad_multiple, up = (longest + m - 1) / m * m;
  return l->max_length > 0 && up > l->max_length ? l->max_length : up;
}

static void plan(void *loader, iso__cell *cell) {
  iso_text_loader *l = loader;
  int64_t begin, end;
  const iso__bucket bucket = iso__buckets_batch(&l->buckets, cell->epoch, cell->batch);
  cell->n_total = bucket.n;
  iso__feed_leaves(bucket.n, l->n_leaves, l->leaf_begin, l->leaf_end, &begin, &end);
  const int64_t n = end - begin;
  cell->n_samples = n;
  cell->extent[0] = (int)padded(l, bucket.longest);
  memcpy(cell->samples, bucket.samples + begin, (size_t)n * sizeof *cell->samples);
  cell->n_parts = l->set->labels ? 3 : 2;
  cell->part_bytes[0] = (size_t)(n * cell->extent[0]) * sizeof(int64_t);
  cell->part_bytes[1] = cell->part_bytes[2] = (size_t)n * sizeof(int64_t);
}

static void make(const void *loader, iso__cell *cell) {
  const iso_text_loader *l = loader;
  int64_t *ids = cell->made[0], *lengths = cell->made[1], *y = cell->made[2];
  for (int64_t i = 0; i < cell->n_samples; i++, ids += cell->extent[0]) {
    const uint32_t sample = cell->samples[i];
    const int32_t *from = l->texts.ids + l->texts.begin[sample];
    lengths[i] = l->texts.begin[sample + 1] - l->texts.begin[sample];
    for (int64_t t = 0; t < lengths[i]; t++) ids[t] = from[t];
    for (int64_t t = lengths[i]; t < cell->extent[0]; t++) ids[t] = l->padding;
    if (l->set->labels) y[i] = l->set->labels[sample];
  }
}

static iso_tensor *wrap_part(iso_text_loader *l, const iso__cell *cell, int part, int64_t below) {
  const int64_t n = cell->n_samples, length = cell->extent[0];
  iso__view view = {.storage = cell->parts[part], .dtype = ISO_I64, .n_dims = 1, .shape = {n}, .strides = {1}};
  if (part == 0) view.n_dims = 2, view.shape[1] = length, view.strides[0] = length, view.strides[1] = 1;
  cell->parts[part]->indices_below = below;
  return iso__tensor_from_view(l->ctx, &view);
}

bool iso_text_loader_next(iso_text_loader *l, iso_text_batch *out) {
  *out = (iso_text_batch){0};
  iso__cell *cell = l ? iso__feed_next(&l->feed) : NULL;
  if (!cell) return false;
  *out =
      (iso_text_batch){.samples = cell->samples, .n_total = cell->n_total, .epoch = cell->epoch, .index = cell->batch};
  const bool has_labels = cell->n_parts == 3;
  out->ids = wrap_part(l, cell, 0, l->n_ids);
  out->lengths = out->ids ? wrap_part(l, cell, 1, cell->extent[0] + 1) : NULL;
  out->y = out->lengths && has_labels ? wrap_part(l, cell, 2, l->set->info.n_classes) : NULL;
  if (!out->lengths || (has_labels && !out->y)) {
    iso_release(out->lengths), iso_release(out->ids);
    *out = (iso_text_batch){0};
    return false;
  }
  for (int64_t i = 0; i < cell->n_samples; i++)
    out->n_tokens += l->texts.begin[cell->samples[i] + 1] - l->texts.begin[cell->samples[i]];
  out->n_padding = cell->n_samples * cell->extent[0] - out->n_tokens;
  iso__feed_taken(&l->feed);
  return true;
}

int64_t iso_text_loader_n_batches(const iso_text_loader *l) { return l ? l->feed.n_batches : 0; }

void iso_text_loader_position(const iso_text_loader *l, uint32_t *epoch, int64_t *batch) {
  *epoch = l ? l->feed.next.epoch : 0;
  *batch = l ? l->feed.next.batch : 0;
}

iso_status iso_text_loader_seek(iso_text_loader *l, uint32_t epoch, int64_t batch) {
  return l ? iso__feed_seek(&l->feed, epoch, batch) : ISO_INVALID_ARGUMENT;
}

/* ---- the loader ---- */

static bool check_options(iso_context *ctx, const iso_text_loader_options *o, int64_t n_samples) {
  const iso__feed_options common = {.n_samples = n_samples,
                                    .batch_size = o->batch_size,
                                    .n_workers = o->n_workers,
                                    .n_prefetch = o->n_prefetch,
                                    .n_leaves = o->n_leaves,
                                    .leaf_begin = o->leaf_begin,
                                    .leaf_end = o->leaf_end,
                                    .drop_last = o->drop_last};
  const struct {
    bool wrong;
    const char *name;
    long long value;
    const char *expected;
  } checks[] = {
      {o->max_length < 0 || o->max_length > MAX_LENGTH, "max_length", o->max_length, "0 to 2147479551"},
      {o->truncate && o->max_length == 0, "truncate", 1, "a max_length to cut at"},
      {o->bucket_batches < 0, "bucket_batches", o->bucket_batches, "at least 1"},
      {o->pad_multiple < 0 || o->pad_multiple > 4096, "pad_multiple", o->pad_multiple, "1 to 4096"},
  };
  if (!iso__feed_check(ctx, &common)) return false;
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
    if (checks[i].wrong)
      return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%s is %lld, expected %s", checks[i].name, checks[i].value,
                       checks[i].expected),
             false;
  return true;
}

/* How many texts were cut: those that fill max_length are tokenized whole. `texts` is changed. */
static bool count_truncated(iso_text_loader *l, const iso_tokenizer *tokenizer, iso_text *texts) {
  iso_encodings whole;
  int64_t n = 0;
  for (int64_t i = 0; i < l->texts.n; i++)
    if (l->texts.begin[i + 1] - l->texts.begin[i] == l->max_length) texts[n++] = texts[i];
  if (n == 0) return true;
  if (iso_tokenizer_encode(l->ctx, tokenizer, n, texts, NULL, &whole) != ISO_OK) return false;
  for (int64_t i = 0; i < n; i++) l->n_truncated += whole.begin[i + 1] - whole.begin[i] > l->max_length;
  iso_encodings_free(l->ctx, &whole);
  return true;
}

/* The first text that is too long, by its place in the file, which the tokenizer doesn't know. */
static bool check_lengths(const iso_text_loader *l) {
  char place[64];
  const int64_t limit = l->max_length > 0 ? l->max_length : MAX_LENGTH;
  for (int64_t i = 0; i < l->texts.n; i++) {
    const int64_t length = l->texts.begin[i + 1] - l->texts.begin[i];
    if (length <= limit) continue;
    ISO__FAIL(l->ctx, ISO_INVALID_ARGUMENT, l->set->source,
              "%s has %" PRId64 " tokens, max_length is %" PRId64 ": truncate, or take it out",
              iso__text_place(l->set, i, place), length, limit);
    return false;
  }
  return true;
}

static bool tokenize(iso_text_loader *l, const iso_tokenizer *tokenizer, const iso_text_loader_options *o) {
  const int64_t n = l->set->info.n_samples;
  const size_t n_bytes = (size_t)n * sizeof(iso_text);
  const iso_encode_options encode = {.max_length = o->truncate ? o->max_length : 0, .truncate = o->truncate};
  iso_text *texts = iso__alloc(l->ctx, n_bytes);
  if (!texts) return false;
  for (int64_t i = 0; i < n; i++) texts[i] = iso_text_dataset_text(l->set, i);
  bool ok = iso_tokenizer_encode(l->ctx, tokenizer, n, texts, &encode, &l->texts) == ISO_OK;
  ok = ok && (o->truncate ? count_truncated(l, tokenizer, texts) : check_lengths(l));
  iso__free(l->ctx, texts, n_bytes);
  return ok;
}

/* Tokens around every text. */
static bool count_specials(iso_text_loader *l, const iso_tokenizer *tokenizer) {
  iso_encodings none;
  if (iso_tokenizer_encode(l->ctx, tokenizer, 1, &(iso_text){"", 0}, NULL, &none) != ISO_OK) return false;
  l->n_specials = none.begin[1];
  iso_encodings_free(l->ctx, &none);
  return true;
}

static bool start(iso_text_loader *l, const iso_text_loader_options *o) {
  const int64_t n = l->set->info.n_samples, size = o->batch_size < n ? o->batch_size : n;
  const int64_t n_batches = o->drop_last ? n / size : (n + size - 1) / size;
  const int64_t n_kept = o->drop_last ? n_batches * size : n;
  const int64_t n_bucket = o->bucket_batches < n_batches ? o->bucket_batches : n_batches;
  l->buckets = (iso__buckets){.ctx = l->ctx,
                              .begin = l->texts.begin,
                              .n_samples = n,
                              .n_kept = n_kept,
                              .batch_size = size,
                              .n_batches = n_batches,
                              .group = n_bucket * size,
                              .shuffle = o->shuffle,
                              .seed = o->seed};
  l->feed = (iso__feed){.ctx = l->ctx,
                        .device = o->on_device ? l->ctx->device : NULL,
                        .loader = l,
                        .plan = plan,
                        .make = make,
                        .n_batches = n_batches,
                        .batch_size = size,
                        .n_epochs = o->n_epochs,
                        .n_workers = o->n_workers,
                        .n_cells = iso__feed_cells(o->n_workers, o->n_prefetch)};
  return iso__buckets_start(&l->buckets) && iso__feed_start(&l->feed);
}

void iso_text_loader_free(iso_text_loader *l) {
  if (!l) return;
  iso__feed_end(&l->feed);
  iso__buckets_end(&l->buckets);
  iso_encodings_free(l->ctx, &l->texts);
  iso_text_dataset_free(l->set);
  iso__free(l->ctx, l, sizeof *l);
}

iso_text_loader *iso_text_loader_new(iso_context *ctx, iso_text_dataset *set, const iso_tokenizer *tokenizer,
                                     const iso_text_loader_options *options) {
  iso_text_loader_options o = options ? *options : (iso_text_loader_options){0};
  if (iso__failed(ctx)) return NULL;
  if (!set || !tokenizer)
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "the %s is NULL", set ? "tokenizer" : "data set"), NULL;
  if (iso_tokenizer_padding(tokenizer) < 0)
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "the tokenizer has no token [PAD] to pad with"), NULL;
  if (o.batch_size == 0) o.batch_size = 16;
  if (o.bucket_batches == 0) o.bucket_batches = 50;
  if (o.pad_multiple == 0) o.pad_multiple = 8;
  if (!check_options(ctx, &o, set->info.n_samples)) return NULL;
  iso_text_loader *l = iso__zalloc(ctx, sizeof *l);
  if (!l) return NULL;
  l->ctx = ctx, l->set = set;
  iso__text_dataset_retain(set);
  l->n_ids = iso_tokenizer_size(tokenizer), l->padding = iso_tokenizer_padding(tokenizer);
  l->max_length = o.max_length, l->pad_multiple = o.pad_multiple;
  l->n_leaves = o.n_leaves, l->leaf_begin = o.leaf_begin, l->leaf_end = o.leaf_end;
  if (tokenize(l, tokenizer, &o) && count_specials(l, tokenizer) && start(l, &o)) return l;
  iso_text_loader_free(l);
  return NULL;
}

/* ---- stats ---- */

static int by_length(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* The smallest of n ascending lengths that at least `share` percent do not exceed. */
static int64_t quantile(const int64_t *lengths, int64_t n, int64_t percent) {
  const int64_t rank = (n / 100) * percent + (n % 100 * percent + 99) / 100;
  return lengths[rank > 0 ? rank - 1 : 0];
}

static bool count_texts(iso_text_loader *l, iso_text_loader_stats *s) {
  const int64_t n = l->texts.n;
  const size_t n_bytes = (size_t)n * sizeof(int64_t);
  int64_t *lengths = iso__alloc(l->ctx, n_bytes);
  if (!lengths) return false;
  s->n_samples = n, s->n_tokens = l->texts.begin[n];
  s->n_truncated = l->n_truncated, s->n_invalid = l->texts.n_invalid;
  for (int64_t i = 0; i < n; i++) {
    lengths[i] = l->texts.begin[i + 1] - l->texts.begin[i];
    s->n_empty += lengths[i] <= l->n_specials;
  }
  qsort(lengths, (size_t)n, sizeof *lengths, by_length);
  s->shortest = lengths[0], s->longest = lengths[n - 1];
  s->median = quantile(lengths, n, 50), s->p90 = quantile(lengths, n, 90), s->p99 = quantile(lengths, n, 99);
  iso__free(l->ctx, lengths, n_bytes);
  return true;
}

static void add_batch(iso_text_loader_stats *s, int64_t batch, const iso__bucket *b, int64_t length) {
  s->n_padding += b->n * length;
  if (b->n * length > s->largest_n * s->largest_length)
    s->largest_batch = batch, s->largest_n = b->n, s->largest_length = length;
}

static bool count_batches(iso_text_loader *l, uint32_t epoch, iso_text_loader_stats *s) {
  const int64_t n = l->feed.n_batches;
  const size_t n_bytes = (size_t)n * sizeof(int64_t);
  int64_t *lengths = iso__alloc(l->ctx, n_bytes);
  if (!lengths) return false;
  for (int64_t i = 0; i < n; i++) {
    const iso__bucket b = iso__buckets_batch(&l->buckets, epoch, i);
    lengths[i] = padded(l, b.longest);
    add_batch(s, i, &b, lengths[i]);
    for (int64_t t = 0; t < b.n; t++)
      s->n_epoch_tokens += l->texts.begin[b.samples[t] + 1] - l->texts.begin[b.samples[t]];
  }
  const int64_t n_slots = s->n_padding;
  s->n_padding -= s->n_epoch_tokens;
  s->padding_share = n_slots ? iso__fenv_div((double)s->n_padding, (double)n_slots) : 0;
  qsort(lengths, (size_t)n, sizeof *lengths, by_length);
  for (int64_t i = 0; i < n; i++) s->n_lengths += i == 0 || lengths[i] != lengths[i - 1];
  iso__free(l->ctx, lengths, n_bytes);
  return true;
}

iso_status iso_text_loader_get_stats(iso_text_loader *l, uint32_t epoch, iso_text_loader_stats *out) {
  *out = (iso_text_loader_stats){0};
  if (!l) return ISO_INVALID_ARGUMENT;
  if (iso__failed(l->ctx)) return iso_error_code(l->ctx);
  iso_text_loader_stats s = {0};
  if (!count_texts(l, &s) || !count_batches(l, epoch, &s)) return iso_error_code(l->ctx);
  *out = s;
  return ISO_OK;
}
