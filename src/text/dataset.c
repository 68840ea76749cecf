/* dataset.c: sets of texts: opened, made from memory, cut in two, asked. */
#include "text/dataset.h"
#include <math.h>
#include <isobit/numeric.h>
#include <string.h>
#include <strings.h>
#include "base/fenv.h"
#include "data/dataset.h"
#include "io/stream.h"

const char iso__text_name[] = "text";
const char *const iso__label_names[ISO__N_LABEL_NAMES] = {"label", "category", "intent", "class"};

static const struct {
  const char *name, *endings[2];
  iso__rows_fn *read;
} formats[] = {
    {"csv", {".csv", ".csv"}, iso__csv_read},
    {"tsv", {".tsv", ".tab"}, iso__tsv_read},
    {"jsonl", {".jsonl", ".ndjson"}, iso__jsonl_read},
};
enum { N_FORMATS = sizeof formats / sizeof *formats };

/* ---- users ---- */

void iso__text_dataset_retain(iso_text_dataset *set) {
  atomic_fetch_add_explicit(&set->n_refs, 1, memory_order_relaxed);
}

void iso_text_dataset_free(iso_text_dataset *set) {
  if (!set || atomic_fetch_sub_explicit(&set->n_refs, 1, memory_order_acq_rel) != 1) return;
  iso__heap *heap = set->heap;
  iso__heap_free(heap, set->bytes, set->n_bytes_capacity);
  iso__heap_free(heap, set->ends, set->n_ends_capacity * sizeof *set->ends);
  iso__heap_free(heap, set->origins, set->n_origins_capacity * sizeof *set->origins);
  iso__heap_free(heap, set->labels, set->n_labels_capacity * sizeof *set->labels);
  iso__heap_free(heap, set->names, set->n_names_capacity);
  iso__heap_free(heap, set->name_at, set->n_name_at_capacity * sizeof *set->name_at);
  iso__heap_free(heap, set, sizeof *set);
  iso__heap_release(heap);
}

iso_text_dataset_info iso_text_dataset_get_info(const iso_text_dataset *set) {
  return set ? set->info : (iso_text_dataset_info){0};
}

iso_text iso_text_dataset_text(const iso_text_dataset *set, int64_t i) {
  if (!set || i < 0 || i >= set->info.n_samples) return (iso_text){0};
  const uint64_t begin = i ? set->ends[i - 1] : 0;
  return (iso_text){set->bytes + begin, (size_t)(set->ends[i] - begin)};
}

int iso_text_dataset_label(const iso_text_dataset *set, int64_t i) {
  return set && set->labels && i >= 0 && i < set->info.n_samples ? set->labels[i] : -1;
}

int64_t iso_text_dataset_line(const iso_text_dataset *set, int64_t i) {
  return set && i >= 0 && i < set->info.n_samples ? set->origins[i].line : 0;
}

const char *iso_text_dataset_class_name(const iso_text_dataset *set, int label) {
  return set && label >= 0 && label < set->info.n_classes ? set->names + set->name_at[label] : NULL;
}

/* ---- from a file ---- */

static int format_of_name(const char *path) {
  size_t n = strlen(path);
  if (n > 3 && strcasecmp(path + n - 3, ".gz") == 0) n -= 3;
  for (int f = 0; f < N_FORMATS; f++)
    for (int e = 0; e < 2; e++) {
      const size_t n_ending = strlen(formats[f].endings[e]);
      if (n > n_ending && strncasecmp(path + n - n_ending, formats[f].endings[e], n_ending) == 0) return f;
    }
  return -1;
}

static int find_format(iso_context *ctx, const char *name, const char *format, const char *path) {
  if (!format) {
    const int f = format_of_name(path);
    if (f < 0) ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, name, "the name ends in no .csv, .tsv or .jsonl: give the format");
    return f;
  }
  for (int f = 0; f < N_FORMATS; f++)
    if (strcmp(format, formats[f].name) == 0) return f;
  char shown[40];
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, name, "format is '%s', expected csv, tsv or jsonl",
            iso__printable(format, strlen(format), shown, sizeof shown));
  return -1;
}

iso_text_dataset *iso__text_parse(iso_context *ctx, const char *name, char *bytes, size_t n,
                                  const iso_text_file_options *o) {
  const int f = find_format(ctx, name, o->format, name);
  iso__rows rows;
  if (f < 0) return NULL;
  bool ok = iso__rows_begin(ctx, name, o, &rows);
  if (ok && n >= 2 && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0)) {
    ISO__FAIL(ctx, ISO_UNSUPPORTED, name, "begins like UTF-16; save it as UTF-8");
    ok = false;
  }
  const size_t n_mark = n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  ok = ok && formats[f].read(&rows, o, bytes + n_mark, n - n_mark);
  return iso__rows_end(&rows, ok);
}

iso_text_dataset *iso_text_dataset_open(iso_context *ctx, const char *path, const iso_text_file_options *options) {
  iso_text_file_options o = options ? *options : (iso_text_file_options){0};
  iso__source source;
  iso__stream stream;
  uint8_t *bytes = NULL;
  size_t n = 0, capacity = 0;
  if (iso__failed(ctx)) return NULL;
  if (!path) return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "text_dataset_open", "the path is NULL"), NULL;
  const int f = find_format(ctx, iso__path_tail(path), o.format, path);
  if (f < 0 || !iso__source_open(ctx, path, &source)) return NULL;
  o.format = formats[f].name;
  iso_text_dataset *set = NULL;
  if (iso__stream_open_any(ctx, &source, &stream)) {
    if (iso__stream_read_rest(&stream, &bytes, &n, &capacity))
      set = iso__text_parse(ctx, source.name, (char *)bytes, n, &o);
    iso__stream_close(&stream);
  }
  iso__free(ctx, bytes, capacity);
  iso__source_close(&source);
  return set;
}

/* ---- from memory ---- */

iso_text_dataset *iso_text_dataset_from_memory(iso_context *ctx, int64_t n, const iso_text *texts,
                                               const char *const *labels, const iso_text_file_options *options) {
  static const char name[] = "text_dataset_from_memory";
  iso_text_file_options o = options ? *options : (iso_text_file_options){0};
  iso__rows rows;
  if (iso__failed(ctx)) return NULL;
  if (n < 0 || (n > 0 && !texts))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, name, "%lld texts%s", (long long)n, texts ? "" : ", which are NULL"),
           NULL;
  o.no_labels = !labels;
  bool ok = iso__rows_begin(ctx, name, &o, &rows);
  rows.fault = ISO_INVALID_ARGUMENT;
  for (int64_t i = 0; ok && i < n && !iso__rows_full(&rows); i++) {
    iso__row row = {.text = texts[i]};
    if (labels && labels[i]) row.label = (iso_text){labels[i], strlen(labels[i])};
    if (row.text.n_bytes > 0 && !row.text.bytes) {
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, name, "text %lld is NULL", (long long)i + 1);
      ok = false;
    }
    ok = ok && iso__rows_add(&rows, &row);
  }
  return iso__rows_end(&rows, ok);
}

/* ---- in two ---- */

/* How many of n are held out: a share, rounded, whatever mode the host left its floating point in. */
static int64_t count_held_out(int64_t n, double share) {
  const iso__fenv saved = iso__fenv_enter();
  const int64_t count = (int64_t)iso__fenv_pin(floor(iso__fenv_pin((double)n) * iso__fenv_pin(share) + 0.5));
  iso__fenv_leave(saved);
  return count;
}

typedef struct halves {
  int64_t n_samples, n_classes;
  size_t n_bytes;
  int64_t *permutation, *scratch, *n_left; /* (n), (2n), (n_classes): to be held out yet */
  bool *held;                              /* (n) */
} halves;

static bool hold_out(const iso_text_dataset *set, double share, uint64_t seed, halves *h) {
  const iso_philox at = {.seed = seed, .stream = ISO_PHILOX_LOADER, .site = ISO__PURPOSE_HELD_OUT};
  memset(h->n_left, 0, (size_t)h->n_classes * sizeof *h->n_left);
  memset(h->held, 0, (size_t)h->n_samples);
  for (int64_t i = 0; i < h->n_samples; i++) h->n_left[set->labels ? set->labels[i] : 0]++;
  for (int64_t k = 0; k < h->n_classes; k++) h->n_left[k] = count_held_out(h->n_left[k], share);
  if (!iso_philox_permutation(&at, (uint64_t)h->n_samples, h->permutation, h->scratch)) return false;
  for (int64_t i = 0; i < h->n_samples; i++) {
    const int64_t sample = h->permutation[i], k = set->labels ? set->labels[sample] : 0;
    if (h->n_left[k] > 0) h->n_left[k]--, h->held[sample] = true;
  }
  return true;
}

static bool add_half(iso__rows *rows, const iso_text_dataset *set, const bool *held, bool wanted) {
  for (int64_t i = 0; i < set->info.n_samples; i++) {
    if (held[i] != wanted) continue;
    iso__row row = {.text = iso_text_dataset_text(set, i), .origin = set->origins[i]};
    const char *label = iso_text_dataset_class_name(set, iso_text_dataset_label(set, i));
    if (label) row.label = (iso_text){label, strlen(label)};
    if (!iso__rows_add(rows, &row)) return false;
  }
  if (rows->n_rows > 0) return true;
  ISO__FAIL(rows->ctx, ISO_INVALID_ARGUMENT, rows->name, "of %lld rows this half gets none",
            (long long)set->info.n_samples);
  return false;
}

/* The rows of one half, its classes those of the whole. */
static iso_text_dataset *make_half(iso_context *ctx, const iso_text_dataset *set, const bool *held, bool wanted) {
  const int n_classes = set->info.n_classes;
  const size_t n_bytes = (size_t)n_classes * sizeof(char *);
  const char **classes = iso__alloc(ctx, n_bytes);
  iso__rows rows;
  if (!classes) return NULL;
  for (int k = 0; k < n_classes; k++) classes[k] = iso_text_dataset_class_name(set, k);
  const iso_text_file_options o = {.no_labels = n_classes == 0, .n_classes = n_classes, .classes = classes};
  const bool ok = iso__rows_begin(ctx, set->source, &o, &rows) && add_half(&rows, set, held, wanted);
  iso_text_dataset *half = iso__rows_end(&rows, ok);
  iso__free(ctx, classes, n_bytes);
  return half;
}

iso_text_dataset *iso_text_dataset_part(iso_context *ctx, const iso_text_dataset *set, double held_out, uint64_t seed,
                                        iso_split split) {
  static const char name[] = "text_dataset_part";
  if (iso__failed(ctx)) return NULL;
  if (!set) return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, name, "the data set is NULL"), NULL;
  if (!(held_out > 0 && held_out < 1) || (split != ISO_SPLIT_TRAIN && split != ISO_SPLIT_TEST))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, name, "held_out is %g, split is %d; expected above 0 and below 1",
                     held_out, (int)split),
           NULL;
  halves h = {.n_samples = set->info.n_samples, .n_classes = set->labels ? set->info.n_classes : 1};
  h.n_bytes = (size_t)(3 * h.n_samples + h.n_classes) * sizeof(int64_t) + (size_t)h.n_samples;
  if (!(h.permutation = iso__alloc(ctx, h.n_bytes))) return NULL;
  h.scratch = h.permutation + h.n_samples, h.n_left = h.scratch + 2 * h.n_samples;
  h.held = (bool *)(h.n_left + h.n_classes);
  iso_text_dataset *half =
      hold_out(set, held_out, seed, &h) ? make_half(ctx, set, h.held, split == ISO_SPLIT_TEST) : NULL;
  iso__free(ctx, h.permutation, h.n_bytes);
  return half;
}
