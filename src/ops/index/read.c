/* read.c: index tensors: dtypes, range, negative ones; and positions of what is not zero.
 *
 * Kernels do not check, so every index is looked at once, beforehand, by all threads: v and extent−1−v have no sign bit
 * in common with a good index, which is or-ed over blocks at memory speed; only a bad one is then looked for. */
#include <stdio.h>
#include "base/pool.h"
#include "kernels/sizes.h"
#include "ops/index/index.h"

enum { GRAIN = 32768 };

typedef struct scan {
  const int64_t *v;
  int64_t extent;
  int64_t *below, *beyond; /* one of each a block: negative if there is such an index */
} scan;

static void scan_block(void *arg, int64_t begin, int64_t end, int thread) {
  const scan *s = arg;
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

/* Names the first index outside [least, extent). */
static void fail(iso_context *ctx, const char *op, const char *name, const iso__view *form, const int64_t *v,
                 int64_t extent, int64_t least) {
  const int64_t n = iso__view_numel(form);
  int64_t at = 0, position[ISO_MAX_DIMS];
  while (at < n && v[at] >= least && v[at] < extent) at++;
  int64_t rest = at;
  for (int d = form->n_dims - 1; d >= 0; d--) position[d] = rest % form->shape[d], rest /= form->shape[d];
  char text[160] = "[";
  size_t used = 1;
  for (int d = 0; d < form->n_dims; d++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", d ? "," : "", (long long)position[d]);
  snprintf(text + used, sizeof text - used, "]");
  if (extent == 0)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%s%s is %lld, but there is nothing to point at", name,
              form->n_dims ? text : "", (long long)v[at]);
  else
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%s%s is %lld: %lld to %lld are in range", name, form->n_dims ? text : "",
              (long long)v[at], (long long)least, (long long)extent - 1);
}

typedef struct wrap {
  const int64_t *from;
  int64_t *to, extent;
} wrap;
static void wrap_block(void *arg, int64_t begin, int64_t end, int thread) {
  const wrap *w = arg;
  (void)thread;
  for (int64_t i = begin; i < end; i++) w->to[i] = w->from[i] + (w->from[i] < 0 ? w->extent : 0);
}

iso_tensor *iso__index_read(iso_context *ctx, const char *op, const char *name, const iso_tensor *index, int64_t extent,
                            bool wraps) {
  if (iso__failed(ctx) || !index) return NULL;
  const iso__view *form = &index->view;
  if (form->dtype != ISO_I64 && form->dtype != ISO_I32) {
    ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, op, "%s is %s: i64 or i32 are needed", name, iso_dtype_name(form->dtype));
    return NULL;
  }
  iso_tensor *t;
  if (form->dtype == ISO_I64 && iso__view_is_contiguous(form)) t = iso_tensor_alias(ctx, index);
  else if ((t = iso_tensor_new(ctx, ISO_I64, form->n_dims, form->shape))) iso__view_copy(ctx, &t->view, form);
  const int64_t n = iso__view_numel(form);
  if (!t || n == 0) return t;
  enum { FEW = 64 };
  int64_t flags[2 * FEW] = {0}, below = 0, beyond = 0;
  const int n_threads = iso_n_threads(ctx);
  scan s = {.v = iso__data(t), .extent = extent, .below = flags, .beyond = flags + FEW};
  if (n_threads <= FEW) iso__parallel_range(ctx, n, GRAIN, 1, scan_block, &s);
  else scan_block(&s, 0, n, 0);
  for (int i = 0; i < FEW; i++) below |= flags[i], beyond |= flags[FEW + i];
  if (beyond < 0 || (below < 0 && !wraps)) {
    fail(ctx, op, name, form, s.v, extent, wraps ? -extent : 0);
    return iso__drop(NULL, t);
  }
  if (below >= 0) return t;
  for (int64_t i = 0; i < n; i++)
    if (s.v[i] < -extent) {
      fail(ctx, op, name, form, s.v, extent, -extent);
      return iso__drop(NULL, t);
    }
  iso_tensor *wrapped = iso_tensor_new(ctx, ISO_I64, form->n_dims, form->shape);
  wrap w = {.from = s.v, .to = iso__data(wrapped), .extent = extent};
  if (wrapped) iso__parallel_range(ctx, n, GRAIN, 1, wrap_block, &w);
  return iso__drop(wrapped, t);
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
