/* unique.c: one of each run of equal elements: of the sorted elements, or as they lie.
 *
 * Integers of a small range: a table of those that are there. Other elements: sorted by the kernel; two passes over
 * chunks, one that counts the runs that begin there, one that writes them. Slices along an axis: the slices' numbers
 * are merge sorted, comparing slices element by element. */
#include "base/pool.h"
#include "kernels/sort/keys.h"
#include "ops/sort/sort.h"

enum { CHUNK = 1 << 15 };

/* Items 0 … n−1 in order; item i came from place index[i] (NULL: i), and equals item i−1 or begins a run. */
typedef struct runs {
  bool (*equal)(const struct runs *r, int64_t i); /* item i and the one before */
  const void *items;
  const int64_t *order; /* item i is element, or slice, order[i] of items; NULL: i */
  const int64_t *index;
  iso_dtype dtype;
  int64_t n, length;        /* items; elements of one */
  int64_t *begun;           /* runs that begin before chunk c */
  int64_t *first, *inverse; /* of run u: its first item; of place p: its run; NULL: not wanted */
} runs;

static int64_t n_chunks(const runs *r) { return (r->n + CHUNK - 1) / CHUNK; }
static bool begins(const runs *r, int64_t i) { return i == 0 || !r->equal(r, i); }

static void count_chunks(void *arg, int64_t begin, int64_t end, int thread) {
  const runs *r = arg;
  (void)thread;
  for (int64_t c = begin; c < end; c++) {
    const int64_t last = r->n < (c + 1) * CHUNK ? r->n : (c + 1) * CHUNK;
    int64_t n = 0;
    for (int64_t i = c * CHUNK; i < last; i++) n += begins(r, i);
    r->begun[c + 1] = n;
  }
}

static void write_chunks(void *arg, int64_t begin, int64_t end, int thread) {
  const runs *r = arg;
  (void)thread;
  for (int64_t c = begin; c < end; c++) {
    const int64_t last = r->n < (c + 1) * CHUNK ? r->n : (c + 1) * CHUNK;
    int64_t run = r->begun[c] - 1;
    for (int64_t i = c * CHUNK; i < last; i++) {
      if (begins(r, i)) r->first[++run] = i;
      if (r->inverse) r->inverse[r->index ? r->index[i] : i] = run;
    }
  }
}

/* Fills r->first, an i64 tensor that is returned, and what is wanted of the rest. */
static iso_tensor *find_runs(iso_context *ctx, runs *r, iso_tensor **counts) {
  iso_tensor *begun = iso_tensor_zeros(ctx, ISO_I64, 1, (const int64_t[]){n_chunks(r) + 1});
  if (!begun) return NULL;
  r->begun = iso__data(begun);
  iso__parallel_range(ctx, n_chunks(r), 1, 1, count_chunks, r);
  for (int64_t c = 0; c < n_chunks(r); c++) r->begun[c + 1] += r->begun[c];
  const int64_t n = r->begun[n_chunks(r)];
  iso_tensor *first = iso_tensor_new(ctx, ISO_I64, 1, &n);
  if (counts) *counts = iso_tensor_new(ctx, ISO_I64, 1, &n);
  if (!iso__failed(ctx)) {
    r->first = iso__data(first);
    iso__parallel_range(ctx, n_chunks(r), 1, 1, write_chunks, r);
    int64_t *to = counts ? iso__data(*counts) : NULL;
    for (int64_t u = 0; to && u < n; u++) to[u] = (u + 1 < n ? r->first[u + 1] : r->n) - r->first[u];
  }
  iso_release(begun);
  return first;
}

/* The slices (of `length` elements, any dtype) that begin the runs. */
static iso_tensor *write_items(iso_context *ctx, const runs *r, const iso_tensor *first) {
  const int64_t n = iso__view_numel(&first->view), shape[] = {n, r->length};
  iso_tensor *y = iso_tensor_new(ctx, r->dtype, 2, shape);
  const size_t size = iso_dtype_size(r->dtype) * (size_t)r->length;
  const int64_t *at = iso__data(first);
  char *to = iso__data(y);
  for (int64_t u = 0; y && u < n; u++)
    memcpy(to + (size_t)u * size, (const char *)r->items + (size_t)(r->order ? r->order[at[u]] : at[u]) * size, size);
  return y;
}

/* ---- elements ---- */

static bool equal_elements(const runs *r, int64_t i) {
  const float *f = r->items;
  return r->dtype == ISO_F32 ? f[i] == f[i - 1] : iso__elements_equal(r->items, r->dtype, i - 1, i);
}

static bool begin(iso_context *ctx, const char *op, const iso_tensor *x, iso_tensor **inverse, iso_tensor **counts) {
  if (inverse) *inverse = NULL;
  if (counts) *counts = NULL;
  return iso__takes(ctx, op, 1, &x);
}

/* On an error nothing is left with the caller. */
static iso_tensor *end(iso_context *ctx, iso_tensor *y, iso_tensor **inverse, iso_tensor **counts) {
  if (!iso__failed(ctx)) return y;
  if (inverse) iso_release(*inverse), *inverse = NULL;
  if (counts) iso_release(*counts), *counts = NULL;
  return iso__drop(NULL, y);
}

/* Integers whose range is not much longer than they are: a table says which are there. NULL: another way is needed, or
 * an error was kept. */
static iso_tensor *of_range(iso_context *ctx, const iso_tensor *x, int64_t n) {
  enum { MOST_PER_ELEMENT = 8 };
  if (x->view.dtype != ISO_I64 || n == 0) return NULL;
  const int64_t *v = iso__data(x);
  int64_t least = v[0], most = v[0], found = 0;
  for (int64_t i = 0; i < n; i++) least = v[i] < least ? v[i] : least, most = v[i] > most ? v[i] : most;
  const uint64_t beyond = (uint64_t)most - (uint64_t)least;
  if (beyond / MOST_PER_ELEMENT >= (uint64_t)n) return NULL;
  const int64_t extent = (int64_t)beyond + 1;
  iso_tensor *table = iso_tensor_zeros(ctx, ISO_U8, 1, &extent);
  if (!table) return NULL;
  uint8_t *is_there = iso__data(table);
  for (int64_t i = 0; i < n; i++) is_there[v[i] - least] = 1;
  for (int64_t i = 0; i < extent; i++) found += is_there[i];
  iso_tensor *y = iso_tensor_new(ctx, ISO_I64, 1, &found);
  int64_t *to = iso__data(y);
  for (int64_t i = 0, at = 0; y && at < found; i++) {
    to[at] = least + i;
    at += is_there[i];
  }
  return iso__drop(y, table);
}

static iso_tensor *of_elements(iso_context *ctx, const iso_tensor *x, bool sorted, iso_tensor **inverse,
                               iso_tensor **counts) {
  iso__rows rows;
  iso_tensor *flat = iso_reshape(ctx, x, 1, (const int64_t[]){-1}), *index = NULL, *y = NULL;
  if (!flat || !iso__rows_take(ctx, "unique", flat, 0, &rows)) return iso__drop(NULL, flat);
  if (sorted && !inverse && !counts && ((y = of_range(ctx, rows.x, rows.n)) || iso__failed(ctx))) {
    iso_release(rows.x), iso_release(flat);
    return y;
  }
  iso_tensor *items = sorted ? iso__sort_window(ctx, &rows, 0, rows.n, false, &index) : iso_tensor_alias(ctx, rows.x);
  if (inverse && items) *inverse = iso_tensor_new(ctx, ISO_I64, x->view.n_dims, x->view.shape);
  if (!iso__failed(ctx)) {
    runs r = {.equal = equal_elements,
              .items = iso__data(items),
              .index = iso__data(index),
              .dtype = x->view.dtype,
              .n = rows.n,
              .length = 1,
              .inverse = inverse ? iso__data(*inverse) : NULL};
    iso_tensor *first = find_runs(ctx, &r, counts);
    y = first && !iso__failed(ctx) ? write_items(ctx, &r, first) : NULL;
    if (y) y = iso__drop(iso_reshape(ctx, y, 1, y->view.shape), y);
    iso_release(first);
  }
  iso_release(items), iso_release(index), iso_release(rows.x), iso_release(flat);
  return y;
}

static iso_tensor *unique(iso_context *ctx, const char *op, const iso_tensor *x, bool sorted, iso_tensor **inverse,
                          iso_tensor **counts) {
  if (!begin(ctx, op, x, inverse, counts)) return NULL;
  iso_no_grad_push(ctx);
  iso_tensor *y = of_elements(ctx, x, sorted, inverse, counts);
  iso_no_grad_pop(ctx);
  return end(ctx, y, inverse, counts);
}
iso_tensor *iso_unique(iso_context *ctx, const iso_tensor *x, iso_tensor **inverse, iso_tensor **counts) {
  return unique(ctx, "unique", x, true, inverse, counts);
}
iso_tensor *iso_unique_consecutive(iso_context *ctx, const iso_tensor *x, iso_tensor **inverse, iso_tensor **counts) {
  return unique(ctx, "unique_consecutive", x, false, inverse, counts);
}

/* ---- slices ---- */

static bool equal_slices(const runs *r, int64_t i) {
  const int64_t a = (r->order ? r->order[i - 1] : i - 1) * r->length, b = (r->order ? r->order[i] : i) * r->length;
  for (int64_t k = 0; k < r->length; k++)
    if (!iso__elements_equal(r->items, r->dtype, a + k, b + k)) return false;
  return true;
}

static bool slice_is_less(const runs *r, int64_t b, int64_t a) {
  for (int64_t k = 0; k < r->length; k++) {
    const uint64_t key_a = iso__key_at(r->items, r->dtype, a * r->length + k);
    const uint64_t key_b = iso__key_at(r->items, r->dtype, b * r->length + k);
    if (key_a != key_b) return key_b < key_a;
  }
  return false;
}

/* Numbers of slices, in lexicographic order and stable, by merging; spare is as large. */
static void sort_slices(const runs *r, int64_t *order, int64_t *spare, int64_t n) {
  const int64_t half = n / 2;
  if (n < 2) return;
  sort_slices(r, order, spare, half);
  sort_slices(r, order + half, spare, n - half);
  memcpy(spare, order, sizeof *order * (size_t)n);
  for (int64_t i = 0, a = 0, b = half; i < n; i++)
    order[i] = a == half || (b < n && slice_is_less(r, spare[b], spare[a])) ? spare[b++] : spare[a++];
}

static iso_tensor *slice_order(iso_context *ctx, const runs *r) {
  iso_tensor *order = iso_tensor_new(ctx, ISO_I64, 1, &r->n), *spare = iso_tensor_new(ctx, ISO_I64, 1, &r->n);
  int64_t *o = iso__data(order);
  if (!iso__failed(ctx)) {
    for (int64_t i = 0; i < r->n; i++) o[i] = i;
    sort_slices(r, o, iso__data(spare), r->n);
  }
  return iso__drop(order, spare);
}

/* x is (n,…) contiguous and not half; the result (unique slices,…). */
static iso_tensor *of_slices(iso_context *ctx, const iso_tensor *x, bool sorted, iso_tensor **inverse,
                             iso_tensor **counts) {
  runs r = {.equal = equal_slices, .items = iso__data(x), .dtype = x->view.dtype, .n = x->view.shape[0], .length = 1};
  for (int d = 1; d < x->view.n_dims; d++) r.length *= x->view.shape[d];
  iso_tensor *order = sorted ? slice_order(ctx, &r) : NULL, *y = NULL;
  if (inverse && !iso__failed(ctx)) *inverse = iso_tensor_new(ctx, ISO_I64, 1, &r.n);
  if (!iso__failed(ctx)) {
    r.order = r.index = iso__data(order);
    r.inverse = inverse ? iso__data(*inverse) : NULL;
    iso_tensor *first = find_runs(ctx, &r, counts);
    y = first && !iso__failed(ctx) ? write_items(ctx, &r, first) : NULL;
    int64_t shape[ISO_MAX_DIMS];
    memcpy(shape, x->view.shape, sizeof shape);
    if (y) shape[0] = y->view.shape[0], y = iso__drop(iso_reshape(ctx, y, x->view.n_dims, shape), y);
    iso_release(first);
  }
  return iso__drop(y, order);
}

/* x with `axis` in front of the others, which keep their order; or back again. */
static iso_tensor *axis_first(iso_context *ctx, const iso_tensor *x, int axis, bool back) {
  int order[ISO_MAX_DIMS];
  for (int d = 0; d < x->view.n_dims; d++) {
    const int from = d == 0 ? axis : d <= axis ? d - 1 : d;
    order[back ? from : d] = back ? d : from;
  }
  return iso_permute(ctx, x, order);
}

/* Halves as f32, which the result is cast back from. */
static iso_tensor *unique_along(iso_context *ctx, const char *op, const iso_tensor *x, int axis, bool sorted,
                                iso_tensor **inverse, iso_tensor **counts) {
  if (!begin(ctx, op, x, inverse, counts)) return NULL;
  const int a = iso__axis(ctx, op, x, axis);
  if (a < 0) return NULL;
  iso_no_grad_push(ctx);
  iso_tensor *turned = axis_first(ctx, x, a, false);
  iso_tensor *wide = turned && iso__is_half(x->view.dtype) ? iso_cast(ctx, turned, ISO_F32) : NULL;
  iso_tensor *dense = turned ? iso_contiguous(ctx, wide ? wide : turned) : NULL;
  iso_tensor *y = dense ? of_slices(ctx, dense, sorted, inverse, counts) : NULL;
  if (y) y = iso__drop(iso_cast(ctx, y, x->view.dtype), y);
  if (y) y = iso__drop(axis_first(ctx, y, a, true), y);
  if (y) y = iso__drop(iso_contiguous(ctx, y), y);
  iso_no_grad_pop(ctx);
  iso_release(turned), iso_release(wide), iso_release(dense);
  return end(ctx, y, inverse, counts);
}
iso_tensor *iso_unique_along(iso_context *ctx, const iso_tensor *x, int axis, iso_tensor **inverse,
                             iso_tensor **counts) {
  return unique_along(ctx, "unique_along", x, axis, true, inverse, counts);
}
iso_tensor *iso_unique_consecutive_along(iso_context *ctx, const iso_tensor *x, int axis, iso_tensor **inverse,
                                         iso_tensor **counts) {
  return unique_along(ctx, "unique_consecutive_along", x, axis, false, inverse, counts);
}
