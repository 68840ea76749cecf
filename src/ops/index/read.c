/* read.c: index tensors: dtypes, range, negative ones; and positions of what is not zero.
 *
 * Kernels do not check, so every index is looked at once, beforehand, by all threads: of a good index neither v nor
 * extent−1−v has its sign bit set, which is or-ed over blocks at memory speed; only a bad one is then looked for. On a
 * device a kernel looks, and the error comes when somebody waits (device.h). What is known of a storage is not looked
 * at. */
#include "base/pool.h"
#include "kernels/sizes.h"
#include "ops/index/index.h"

/* Of threads beyond FEW nobody asks: their number is the machine's, and one then looks alone. */
enum { GRAIN = 32768, FEW = 64 };

/* What every thread found: negative if there is an index below 0, or one of extent or more; the largest, unsigned. */
typedef struct scan {
  const int64_t *v;
  int64_t *to; /* of wrapping: where indices counted from the front go */
  int64_t extent, below[FEW], beyond[FEW];
  uint64_t most[FEW];
} scan;

static void scan_block(void *arg, int64_t begin, int64_t end, int thread) {
  scan *s = arg;
  uint64_t below = 0, beyond = 0;
  const uint64_t last = (uint64_t)s->extent - 1;
  for (int64_t i = begin; i < end; i++) {
    const uint64_t v = (uint64_t)s->v[i];
    below |= v;
    beyond |= ~v & (last - v);
  }
  if (below >> 63) s->below[thread] = -1;
  if (beyond >> 63) s->beyond[thread] = -1;
}
static void largest_block(void *arg, int64_t begin, int64_t end, int thread) {
  scan *s = arg;
  uint64_t most[4] = {0};
  int64_t i = begin;
  for (; i + 4 <= end; i += 4)
    for (int k = 0; k < 4; k++) {
      const uint64_t v = (uint64_t)s->v[i + k];
      most[k] = v > most[k] ? v : most[k];
    }
  for (; i < end; i++) most[0] = (uint64_t)s->v[i] > most[0] ? (uint64_t)s->v[i] : most[0];
  for (int k = 0; k < 4; k++) s->most[thread] = most[k] > s->most[thread] ? most[k] : s->most[thread];
}
/* Indices below −extent stay negative. */
static void wrap_block(void *arg, int64_t begin, int64_t end, int thread) {
  scan *s = arg;
  int64_t below = 0;
  for (int64_t i = begin; i < end; i++) {
    s->to[i] = s->v[i] + (s->v[i] < 0 ? s->extent : 0);
    below |= s->to[i];
  }
  if (below < 0) s->below[thread] = -1;
}
static void look(iso_context *ctx, int64_t n, iso__range_fn *block, scan *s) {
  memset(s->below, 0, sizeof s->below), memset(s->beyond, 0, sizeof s->beyond), memset(s->most, 0, sizeof s->most);
  if (iso_n_threads(ctx) <= FEW) iso__parallel_range(ctx, n, GRAIN, 1, block, s);
  else block(s, 0, n, 0);
}
static bool is_any(const int64_t *flags) {
  int64_t all = 0;
  for (int i = 0; i < FEW; i++) all |= flags[i];
  return all < 0;
}

/* Names the first index that is out of range. */
static void fail(iso_context *ctx, const iso__index_check *check, const int64_t *v, int64_t n) {
  const int64_t least = check->wraps ? -check->extent : 0;
  int64_t at = 0;
  while (at + 1 < n && v[at] >= least && v[at] < check->extent) at++;
  iso__index_fail(ctx, check, at, v[at]);
}

static bool is_index(iso_context *ctx, const char *op, const char *name, const iso_tensor *index) {
  if (index->view.dtype == ISO_I64 || index->view.dtype == ISO_I32) return true;
  ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, op, "%s is %s: i64 or i32 are needed", name, iso_dtype_name(index->view.dtype));
  return false;
}
/* Contiguous i64, a new handle. */
static iso_tensor *as_i64(iso_context *ctx, const iso_tensor *index) {
  const iso__view *form = &index->view;
  if (form->dtype == ISO_I64 && iso__view_is_contiguous(form)) return iso_tensor_alias(ctx, index);
  iso_tensor *t = iso_tensor_new(ctx, ISO_I64, form->n_dims, form->shape);
  if (t) iso__view_copy(ctx, &t->view, form);
  return t;
}

static iso__index_check check_of(const char *op, const char *name, const iso_tensor *index, int64_t extent,
                                 bool wraps) {
  iso__index_check check = {.op = op, .name = name, .wraps = wraps, .extent = extent, .n_dims = index->view.n_dims};
  memcpy(check.shape, index->view.shape, sizeof check.shape[0] * (size_t)check.n_dims);
  return check;
}

static iso_tensor *checked_there(iso_context *ctx, const iso_tensor *index, const iso__index_check *check) {
  const iso__device *device = iso__device_of(ctx);
  const iso__view *form = &index->view;
  if (!device->check_indices)
    return ISO__FAIL(ctx, ISO_UNSUPPORTED, check->op, "is not there on %s: it cannot check indices", device->name),
           NULL;
  iso_tensor *dense = iso__contiguous_copy(ctx, index), *t = NULL;
  if (!iso__failed(ctx)) t = iso_tensor_new(ctx, ISO_I64, form->n_dims, form->shape);
  if (t)
    device->check_indices(ctx, check, iso__data(dense ? dense : index), form->dtype, iso__data(t),
                          iso__view_numel(form));
  iso_release(dense);
  if (iso__failed(ctx)) return iso__drop(NULL, t);
  t->view.storage->indices_below = check->extent + check->ignores;
  return t;
}

/* There, or, where nothing can be in range, on the host, which then finds the first. */
iso_tensor *iso__indices_on_device(iso_context *ctx, const iso_tensor *index, const iso__index_check *check) {
  if (iso__view_numel(&index->view) == 0) return iso_tensor_new(ctx, ISO_I64, index->view.n_dims, index->view.shape);
  if (check->extent > 0) return checked_there(ctx, index, check);
  const iso__device *device = iso__host_enter(ctx);
  iso_tensor *t = iso_tensor_new(ctx, ISO_I64, index->view.n_dims, index->view.shape);
  if (t) iso__view_copy(ctx, &t->view, &index->view);
  if (!iso__failed(ctx)) fail(ctx, check, iso__data(t), iso__view_numel(&t->view));
  iso__host_leave(ctx, device);
  return iso__drop(NULL, t);
}

iso_tensor *iso__index_read(iso_context *ctx, const char *op, const char *name, const iso_tensor *index, int64_t extent,
                            bool wraps) {
  if (iso__failed(ctx) || !index || !is_index(ctx, op, name, index)) return NULL;
  const iso__index_check check = check_of(op, name, index, extent, wraps);
  if (index->view.dtype == ISO_I64 && iso__storage_indexes(index->view.storage, extent))
    return iso_contiguous(ctx, index);
  if (!iso__is_on_cpu(ctx)) return iso__indices_on_device(ctx, index, &check);
  iso_tensor *t = as_i64(ctx, index);
  const int64_t n = t ? iso__view_numel(&t->view) : 0;
  if (n == 0) return t;
  scan s = {.v = iso__data(t), .extent = extent};
  look(ctx, n, scan_block, &s);
  const bool negative = is_any(s.below);
  if (is_any(s.beyond) || (negative && !wraps)) {
    fail(ctx, &check, s.v, n);
    return iso__drop(NULL, t);
  }
  if (!negative) return t;
  iso_tensor *wrapped = iso_tensor_new(ctx, ISO_I64, index->view.n_dims, index->view.shape);
  if (!wrapped) return iso__drop(NULL, t);
  s.to = iso__data(wrapped);
  look(ctx, n, wrap_block, &s);
  if (!is_any(s.below)) return iso__drop(wrapped, t);
  fail(ctx, &check, s.v, n);
  iso_release(wrapped);
  return iso__drop(NULL, t);
}

iso_tensor *iso__index_read_bins(iso_context *ctx, const char *op, const char *name, const iso_tensor *index,
                                 int64_t *largest) {
  iso_tensor *t = !iso__failed(ctx) && index && is_index(ctx, op, name, index) ? as_i64(ctx, index) : NULL;
  const int64_t n = t ? iso__view_numel(&t->view) : 0;
  *largest = -1;
  if (n == 0) return t;
  scan s = {.v = iso__data(t)};
  uint64_t most = 0;
  look(ctx, n, largest_block, &s);
  for (int i = 0; i < FEW; i++) most = s.most[i] > most ? s.most[i] : most;
  if (most >= INT64_MAX) {
    const iso__index_check check = check_of(op, name, index, INT64_MAX, false);
    fail(ctx, &check, s.v, n);
    return iso__drop(NULL, t);
  }
  *largest = (int64_t)most;
  return t;
}

/* ---- positions ---- */

enum { BLOCK = 65536 };
typedef struct search {
  const unsigned char *x;
  int64_t n, *counts, *positions; /* one count a block; positions NULL: count only */
  iso_dtype dtype;
} search;

#define SEARCH(type)                                                                                                   \
  do {                                                                                                                 \
    const type *v = (const type *)(const void *)s->x;                                                                  \
    if (!to)                                                                                                           \
      for (int64_t i = begin; i < end; i++) found += v[i] != 0;                                                        \
    else                                                                                                               \
      for (int64_t i = begin; i < end; i++)                                                                            \
        if (v[i] != 0) to[found++] = i;                                                                                \
  } while (0)
#define SEARCH_HALVES                                                                                                  \
  do {                                                                                                                 \
    const uint16_t *v = (const uint16_t *)(const void *)s->x;                                                          \
    for (int64_t i = begin; i < end; i++)                                                                              \
      if (v[i] & 0x7fff) {                                                                                             \
        if (to) to[found] = i;                                                                                         \
        found++;                                                                                                       \
      }                                                                                                                \
  } while (0)

static void search_block(void *arg, int block, int thread) {
  const search *s = arg;
  const int64_t begin = (int64_t)block * BLOCK, end = iso__min(begin + BLOCK, s->n);
  int64_t found = 0, *to = s->positions ? s->positions + s->counts[block] : NULL;
  (void)thread;
  switch (s->dtype) {
  case ISO_F32: SEARCH(float); break;
  case ISO_F64: SEARCH(double); break;
  case ISO_I64: SEARCH(int64_t); break;
  case ISO_I32: SEARCH(int32_t); break;
  case ISO_F16:
  case ISO_BF16: SEARCH_HALVES; break;
  default: SEARCH(uint8_t); break;
  }
  if (!to) s->counts[block] = found;
}

iso_tensor *iso__nonzero_positions(iso_context *ctx, const iso_tensor *x) {
  if (iso__failed(ctx) || !x) return NULL;
  iso_tensor *copy = iso__contiguous_copy(ctx, x), *y = NULL;
  const int64_t n = iso__view_numel(&x->view), n_blocks = iso__ceil_div(n, BLOCK);
  int64_t *counts = iso__failed(ctx) ? NULL : iso__alloc(ctx, (size_t)(n_blocks + 1) * sizeof *counts), total = 0;
  if (counts) {
    search s = {.x = iso__data(copy ? copy : x), .n = n, .counts = counts, .dtype = x->view.dtype};
    if (n_blocks) iso__parallel(ctx, (int)n_blocks, search_block, &s);
    for (int64_t b = 0; b < n_blocks; b++) {
      const int64_t count = counts[b];
      counts[b] = total;
      total += count;
    }
    y = iso_tensor_new(ctx, ISO_I64, 1, &total);
    s.positions = iso__data(y);
    if (y && n_blocks) iso__parallel(ctx, (int)n_blocks, search_block, &s);
    iso__free(ctx, counts, (size_t)(n_blocks + 1) * sizeof *counts);
  }
  return iso__drop(y, copy);
}

/* ---- tensors without axes ---- */

iso_tensor *iso__at_least_1d(iso_context *ctx, const iso_tensor *t) {
  if (iso__failed(ctx) || !t) return NULL;
  return t->view.n_dims ? iso_tensor_alias(ctx, t) : iso_reshape(ctx, t, 1, ISO_DIMS(1));
}
iso_tensor *iso__like_0d(iso_context *ctx, const iso_tensor *x, iso_tensor *y) {
  return y && x->view.n_dims == 0 ? iso_reshape(ctx, y, 0, NULL) : y;
}
bool iso__index_same_dtype(iso_context *ctx, const char *op, const iso_tensor *x, const iso_tensor *src) {
  if (x->view.dtype == src->view.dtype) return true;
  ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, op, "x is %s but src is %s", iso_dtype_name(x->view.dtype),
            iso_dtype_name(src->view.dtype));
  return false;
}
