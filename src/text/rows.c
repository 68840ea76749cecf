/* rows.c: a set of texts, row by row. Labels are interned in a hash table as they come; at the end classes get their
 * final order, so that it depends on the names alone, not on which row came first. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "io/source.h"
#include "text/dataset.h"
#include "text/utf8.h"

enum { MAX_CLASSES = 1 << 24, SHOWN_BYTES = 80 };

static const char *name_of(const iso_text_dataset *set, size_t k) { return set->names + set->name_at[k]; }

/* ---- classes ---- */

/* The slot of a name: its own, or the free one where it belongs. */
static size_t find_slot(const iso__rows *r, const char *name, size_t n) {
  size_t i = (size_t)iso__hash64(name, n) & (r->n_slots - 1);
  for (; r->slots[i]; i = (i + 1) & (r->n_slots - 1)) {
    const char *other = name_of(r->set, r->slots[i] - 1);
    if (strncmp(other, name, n) == 0 && other[n] == '\0') break;
  }
  return i;
}

/* A table twice as large, at most half full. */
static bool grow_table(iso__rows *r) {
  const size_t n_old = r->n_slots;
  uint32_t *old = r->slots;
  const size_t n_new = n_old ? 2 * n_old : 64;
  uint32_t *slots = iso__zalloc(r->ctx, n_new * sizeof *slots);
  if (!slots) return false;
  r->slots = slots, r->n_slots = n_new;
  for (int k = 0; k < r->set->info.n_classes; k++) {
    const char *name = name_of(r->set, (size_t)k);
    r->slots[find_slot(r, name, strlen(name))] = (uint32_t)k + 1;
  }
  iso__free(r->ctx, old, n_old * sizeof *old);
  return true;
}

/* A new class, which takes the slot where it belongs. */
static bool add_class(iso__rows *r, const char *name, size_t n) {
  iso_text_dataset *set = r->set;
  const size_t k = (size_t)set->info.n_classes;
  if (k == MAX_CLASSES)
    return ISO__FAIL(r->ctx, ISO_UNSUPPORTED, r->name, "more than %d different labels", MAX_CLASSES), false;
  if (2 * (k + 1) > r->n_slots && !grow_table(r)) return false;
  const size_t slot = find_slot(r, name, n);
  if (!iso__grow(r->ctx, (void **)&set->names, &set->n_names_capacity, r->n_name_bytes + n + 1, 1) ||
      !iso__grow(r->ctx, (void **)&set->name_at, &set->n_name_at_capacity, k + 1, sizeof *set->name_at))
    return false;
  set->name_at[k] = r->n_name_bytes;
  memcpy(set->names + r->n_name_bytes, name, n);
  set->names[r->n_name_bytes + n] = '\0';
  r->n_name_bytes += n + 1;
  r->slots[slot] = (uint32_t)k + 1;
  set->info.n_classes++;
  return true;
}

/* Those that a run was trained on. */
static bool add_given(iso__rows *r, int n, const char *const *classes) {
  char shown[SHOWN_BYTES];
  if (n < 0 || (n > 0 && !classes))
    return ISO__FAIL(r->ctx, ISO_INVALID_ARGUMENT, r->name, "n_classes is %d%s", n, n > 0 ? ", classes is NULL" : ""),
           false;
  for (int k = 0; k < n; k++) {
    const size_t n_name = classes[k] ? strlen(classes[k]) : 0;
    if (n_name == 0) return ISO__FAIL(r->ctx, ISO_INVALID_ARGUMENT, r->name, "class %d has no name", k), false;
    if (r->n_slots && r->slots[find_slot(r, classes[k], n_name)])
      return ISO__FAIL(r->ctx, ISO_INVALID_ARGUMENT, r->name, "class '%s' is there twice",
                       iso__printable(classes[k], n_name, shown, sizeof shown)),
             false;
    if (!add_class(r, classes[k], n_name)) return false;
  }
  return true;
}

/* ---- rows ---- */

bool iso__rows_begin(iso_context *ctx, const char *name, const iso_text_file_options *o, iso__rows *out) {
  *out = (iso__rows){.ctx = ctx,
                     .name = name,
                     .labelled = !o->no_labels,
                     .knows_classes = o->n_classes > 0,
                     .one_class = o->one_class,
                     .fault = ISO_CORRUPT,
                     .limit = o->limit};
  if (iso__failed(ctx)) return false;
  if (o->limit < 0)
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, name, "limit is %lld, expected at least 0", (long long)o->limit), false;
  iso_text_dataset *set = out->set = iso__zalloc(ctx, sizeof *out->set);
  if (!set) return false;
  atomic_init(&set->n_refs, 1);
  iso__heap_retain(ctx->heap);
  set->heap = ctx->heap;
  snprintf(set->source, sizeof set->source, "%s", iso__path_tail(name));
  return o->no_labels || add_given(out, o->n_classes, o->classes);
}

/* "row 3 (line 5)", or "text 3" where there is no file. */
static char *place_text(const iso__origin *at, int64_t i, char text[64]) {
  if (at->line > 0) snprintf(text, 64, "row %" PRId64 " (line %" PRId64 ")", at->row, at->line);
  else snprintf(text, 64, "text %" PRId64, i + 1);
  return text;
}

char *iso__text_place(const iso_text_dataset *set, int64_t i, char text[64]) {
  return place_text(&set->origins[i], i, text);
}

/* The first names, in as many bytes as there are. */
static const char *known_classes(const iso_text_dataset *set, char *text, size_t n_text) {
  size_t at = 0;
  const int n = set->info.n_classes;
  for (int k = 0; k < n; k++) {
    char shown[40];
    const char *name = name_of(set, (size_t)k);
    iso__printable(name, strlen(name), shown, sizeof shown);
    if (at + strlen(shown) + 32 > n_text) {
      snprintf(text + at, n_text - at, " and %d more", n - k);
      break;
    }
    at += (size_t)snprintf(text + at, n_text - at, "%s%s", k ? ", " : "", shown);
  }
  return text;
}

/* The class of a row's label; -1: the context's error is set. */
static int32_t label_of(iso__rows *r, const iso__row *row) {
  const char *label = row->label.bytes;
  const size_t n = row->label.n_bytes;
  char shown[SHOWN_BYTES], place[64], known[260];
  place_text(&row->origin, r->n_rows, place);
  if (!label || n == 0) return ISO__FAIL(r->ctx, r->fault, r->name, "%s: the label is empty", place), -1;
  iso__printable(label, n, shown, sizeof shown);
  if (memchr(label, '\0', n) || iso__utf8_valid_prefix((const uint8_t *)label, n) < n)
    return ISO__FAIL(r->ctx, r->fault, r->name, "%s: label '%s' is not UTF-8 without NUL", place, shown), -1;
  const uint32_t slot = r->n_slots ? r->slots[find_slot(r, label, n)] : 0;
  if (slot) return (int32_t)slot - 1;
  if (r->knows_classes)
    return ISO__FAIL(r->ctx, r->fault, r->name, "%s: label '%s' is unknown; the %d known ones are %s", place, shown,
                     r->set->info.n_classes, known_classes(r->set, known, sizeof known)),
           -1;
  return add_class(r, label, n) ? r->set->info.n_classes - 1 : -1;
}

bool iso__rows_add(iso__rows *r, const iso__row *row) {
  iso_text_dataset *set = r->set;
  const size_t i = (size_t)r->n_rows;
  if (i >= UINT32_MAX)
    return ISO__FAIL(r->ctx, ISO_UNSUPPORTED, r->name, "more than %" PRIu32 " rows", UINT32_MAX - 1), false;
  const int32_t label = r->labelled ? label_of(r, row) : 0;
  if (label < 0 ||
      !iso__grow(r->ctx, (void **)&set->bytes, &set->n_bytes_capacity, r->n_text_bytes + row->text.n_bytes + 1, 1) ||
      !iso__grow(r->ctx, (void **)&set->ends, &set->n_ends_capacity, i + 1, sizeof *set->ends) ||
      !iso__grow(r->ctx, (void **)&set->origins, &set->n_origins_capacity, i + 1, sizeof *set->origins) ||
      (r->labelled && !iso__grow(r->ctx, (void **)&set->labels, &set->n_labels_capacity, i + 1, sizeof *set->labels)))
    return false;
  if (row->text.n_bytes > 0) memcpy(set->bytes + r->n_text_bytes, row->text.bytes, row->text.n_bytes);
  r->n_text_bytes += row->text.n_bytes;
  set->ends[i] = r->n_text_bytes;
  set->origins[i] = row->origin;
  if (r->labelled) set->labels[i] = label;
  r->n_rows++;
  return true;
}

/* ---- the end ---- */

/* Decimal without leading zeros, so that number and text are one. */
static bool is_whole_number(const char *name) {
  const char *digits = name + (*name == '-');
  const size_t n = strlen(digits);
  return n > 0 && n <= 18 && strspn(digits, "0123456789") == n && (digits[0] != '0' || (n == 1 && digits == name));
}

typedef struct ranked {
  const char *name;
  long long number;
  int32_t old;
} ranked;

static int by_name(const void *a, const void *b) {
  return strcmp(((const ranked *)a)->name, ((const ranked *)b)->name);
}
static int by_number(const void *a, const void *b) {
  const long long x = ((const ranked *)a)->number, y = ((const ranked *)b)->number;
  return (x > y) - (x < y);
}

static bool order_classes(iso__rows *r) {
  iso_text_dataset *set = r->set;
  const size_t n = (size_t)set->info.n_classes;
  const size_t n_bytes = n * (sizeof(ranked) + sizeof(int32_t));
  ranked *ranks = iso__alloc(r->ctx, n_bytes);
  if (!ranks) return false;
  int32_t *new_of = (int32_t *)(void *)(ranks + n);
  bool numbers = true;
  for (size_t k = 0; k < n; k++) {
    ranks[k] = (ranked){.name = name_of(set, k), .old = (int32_t)k};
    numbers = numbers && is_whole_number(ranks[k].name);
  }
  for (size_t k = 0; numbers && k < n; k++) ranks[k].number = strtoll(ranks[k].name, NULL, 10);
  qsort(ranks, n, sizeof *ranks, numbers ? by_number : by_name);
  for (size_t k = 0; k < n; k++) {
    set->name_at[k] = (uint64_t)(ranks[k].name - set->names);
    new_of[ranks[k].old] = (int32_t)k;
  }
  for (int64_t i = 0; i < r->n_rows; i++) set->labels[i] = new_of[set->labels[i]];
  iso__free(r->ctx, ranks, n_bytes);
  return true;
}

static bool hash_content(iso__rows *r) {
  iso_text_dataset *set = r->set;
  const int64_t sizes[3] = {r->n_rows, set->info.n_classes, r->labelled};
  iso__hasher *hasher = iso__hasher_new();
  if (!hasher) return ISO__FAIL(r->ctx, ISO_OUT_OF_MEMORY, r->name, "no memory to hash the data"), false;
  iso__hasher_add(hasher, sizes, sizeof sizes);
  iso__hasher_add(hasher, set->ends, (size_t)r->n_rows * sizeof *set->ends);
  iso__hasher_add(hasher, set->bytes, r->n_text_bytes);
  if (r->labelled) iso__hasher_add(hasher, set->labels, (size_t)r->n_rows * sizeof *set->labels);
  for (int k = 0; k < set->info.n_classes; k++) {
    const char *name = name_of(set, (size_t)k);
    iso__hasher_add(hasher, name, strlen(name) + 1);
  }
  iso__hash_format(iso__hasher_end(hasher), set->info.hash);
  return true;
}

static bool judge(iso__rows *r) {
  const iso_text_dataset *set = r->set;
  char shown[SHOWN_BYTES];
  if (r->n_rows == 0) return ISO__FAIL(r->ctx, r->fault, r->name, "holds no rows"), false;
  if (r->labelled && set->info.n_classes == 1 && !r->knows_classes && !r->one_class)
    return ISO__FAIL(r->ctx, r->fault, r->name, "every row has the label '%s': there is nothing to tell apart",
                     iso__printable(name_of(set, 0), strlen(name_of(set, 0)), shown, sizeof shown)),
           false;
  return true;
}

iso_text_dataset *iso__rows_end(iso__rows *r, bool ok) {
  iso__free(r->ctx, r->slots, r->n_slots * sizeof *r->slots);
  if (!r->set) return NULL;
  r->set->info.n_samples = r->n_rows;
  if (ok && judge(r) && (!r->labelled || r->knows_classes || order_classes(r)) && hash_content(r)) return r->set;
  iso_text_dataset_free(r->set);
  return NULL;
}
