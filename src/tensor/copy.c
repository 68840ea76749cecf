/* copy.c: copies between views of one shape: any strides, any dtypes.
 *
 * The dims are first brought into dst's memory order and merged. What is left is one of three cases, by the innermost
 * dim: both sides dense (runs: memcpy or the cast of a run), src dense along another dim (a transpose: square tiles of
 * a cache line's width, so that each line is read and written once), or neither (element by element). Casts of strided
 * elements go through a small dense buffer, so that every cast is numeric's. */
#include <string.h>
#include "base/dry.h"
#include "device/trace.h"
#include "numeric/dtype.h"
#include "tensor/tensor.h"
#include "tensor/transfer.h"
#include "tensor/walk.h"

enum { GRAIN_BYTES = 32 << 10, BUFFER_ITEMS = 512 };

typedef struct copy_job {
  iso__view dst, src;
  int64_t dst_bytes, src_bytes; /* of one element */
  int64_t n_inner;              /* extent of the innermost dim */
  int tile_dim;                 /* transposes: the dim along which src is dense; -1 otherwise */
  int64_t tile;                 /* its elements in one unit */
  int64_t n_blocks;             /* units along the split dim */
} copy_job;

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

/* ---- strided elements of one size ---- */

static inline __attribute__((always_inline)) void strided_of_size(char *dst, int64_t dst_step, const char *src,
                                                                  int64_t src_step, int64_t n, size_t size) {
  for (int64_t i = 0; i < n; i++) memcpy(dst + i * dst_step, src + i * src_step, size);
}

/* Steps in bytes. */
static void copy_strided(char *dst, int64_t dst_step, const char *src, int64_t src_step, int64_t n, int64_t size) {
  switch (size) {
  case 1: strided_of_size(dst, dst_step, src, src_step, n, 1); break;
  case 2: strided_of_size(dst, dst_step, src, src_step, n, 2); break;
  case 4: strided_of_size(dst, dst_step, src, src_step, n, 4); break;
  default: strided_of_size(dst, dst_step, src, src_step, n, 8); break;
  }
}

/* A row of n elements, steps in elements. */
static void copy_row(const copy_job *job, char *dst, int64_t dst_step, const char *src, int64_t src_step, int64_t n) {
  bool same = job->dst.dtype == job->src.dtype;
  if (same && dst_step == 1 && src_step == 1) memcpy(dst, src, (size_t)(n * job->dst_bytes));
  else if (same) copy_strided(dst, dst_step * job->dst_bytes, src, src_step * job->src_bytes, n, job->dst_bytes);
  else if (dst_step == 1 && src_step == 1) iso__cast(src, job->src.dtype, dst, job->dst.dtype, (size_t)n);
  else
    for (int64_t begin = 0; begin < n; begin += BUFFER_ITEMS) {
      _Alignas(64) char in[BUFFER_ITEMS * 8], out[BUFFER_ITEMS * 8];
      int64_t m = n - begin < BUFFER_ITEMS ? n - begin : BUFFER_ITEMS;
      copy_strided(in, job->src_bytes, src + begin * src_step * job->src_bytes, src_step * job->src_bytes, m,
                   job->src_bytes);
      iso__cast(in, job->src.dtype, out, job->dst.dtype, (size_t)m);
      copy_strided(dst + begin * dst_step * job->dst_bytes, dst_step * job->dst_bytes, out, job->dst_bytes, m,
                   job->dst_bytes);
    }
}

/* ---- transposes: dst dense along b, src dense along a ---- */

static inline __attribute__((always_inline)) void
tile_of_size(char *dst, int64_t dst_row, const char *src, int64_t src_row, int64_t n_a, int64_t n_b, int64_t size) {
  for (int64_t a = 0; a < n_a; a++)
    for (int64_t b = 0; b < n_b; b++)
      memcpy(dst + (a * dst_row + b) * size, src + (b * src_row + a) * size, (size_t)size);
}

/* Tiles go along the side whose rows lie further apart: its lines are then met in order, a few streams at a time. */
static inline __attribute__((always_inline)) void transpose_of_size(char *dst, int64_t dst_row, const char *src,
                                                                    int64_t src_row, int64_t n_a, int64_t n_b,
                                                                    int64_t size) {
  const int64_t width = 64 / size;
  const bool along_a = magnitude(src_row) > dst_row;
  const int64_t n_outer = along_a ? n_b : n_a, n_inner = along_a ? n_a : n_b;
  for (int64_t i = 0; i < n_outer; i += width)
    for (int64_t k = 0; k < n_inner; k += width) {
      int64_t a = along_a ? k : i, b = along_a ? i : k;
      int64_t m = n_a - a < width ? n_a - a : width, n = n_b - b < width ? n_b - b : width;
      tile_of_size(dst + (a * dst_row + b) * size, dst_row, src + (b * src_row + a) * size, src_row, m, n, size);
    }
}

static void transpose(char *dst, int64_t dst_row, const char *src, int64_t src_row, int64_t n_a, int64_t n_b,
                      int64_t size) {
  switch (size) {
  case 1: transpose_of_size(dst, dst_row, src, src_row, n_a, n_b, 1); break;
  case 2: transpose_of_size(dst, dst_row, src, src_row, n_a, n_b, 2); break;
  case 4: transpose_of_size(dst, dst_row, src, src_row, n_a, n_b, 4); break;
  default: transpose_of_size(dst, dst_row, src, src_row, n_a, n_b, 8); break;
  }
}

/* ---- units ---- */

/* Unit u is block u mod n_blocks of the split dim (the tile dim, or the innermost), and index u / n_blocks of the dims
 * around. */
static void copy_unit(const copy_job *job, int64_t unit) {
  int64_t outer = unit / job->n_blocks, begin = unit % job->n_blocks * job->tile;
  int inner = job->dst.n_dims - 1, split = job->tile_dim >= 0 ? job->tile_dim : inner;
  int64_t dst_at = begin * job->dst.strides[split], src_at = begin * job->src.strides[split];
  for (int d = inner - 1; d >= 0; d--) {
    if (d == split) continue;
    int64_t i = outer % job->dst.shape[d];
    outer /= job->dst.shape[d];
    dst_at += i * job->dst.strides[d];
    src_at += i * job->src.strides[d];
  }
  int64_t n = job->dst.shape[split] - begin < job->tile ? job->dst.shape[split] - begin : job->tile;
  char *dst = (char *)iso__view_data(&job->dst) + dst_at * job->dst_bytes;
  const char *src = (const char *)iso__view_data(&job->src) + src_at * job->src_bytes;
  if (job->tile_dim < 0) copy_row(job, dst, job->dst.strides[inner], src, job->src.strides[inner], n);
  else if (job->dst.dtype == job->src.dtype)
    transpose(dst, job->dst.strides[split], src, job->src.strides[inner], n, job->n_inner, job->dst_bytes);
  else
    for (int64_t a = 0; a < n; a++)
      copy_row(job, dst + a * job->dst.strides[split] * job->dst_bytes, 1, src + a * job->src_bytes,
               job->src.strides[inner], job->n_inner);
}

static void copy_range(void *arg, int64_t begin, int64_t end, int thread) {
  (void)thread;
  for (int64_t unit = begin; unit < end; unit++) copy_unit(arg, unit);
}

/* ---- the order of dims ---- */

static void swap_dims(iso__view *v, int a, int b) {
  int64_t extent = v->shape[a], stride = v->strides[a];
  v->shape[a] = v->shape[b], v->strides[a] = v->strides[b];
  v->shape[b] = extent, v->strides[b] = stride;
}

void iso__views_into_memory_order(iso__view *dst, iso__view *src) {
  for (int d = 0; d < dst->n_dims; d++)
    if (dst->strides[d] < 0) {
      dst->offset += (dst->shape[d] - 1) * dst->strides[d];
      src->offset += (src->shape[d] - 1) * src->strides[d];
      dst->strides[d] = -dst->strides[d];
      src->strides[d] = -src->strides[d];
    }
  for (int i = 1; i < dst->n_dims; i++)
    for (int d = i; d > 0 && dst->strides[d - 1] < dst->strides[d]; d--) {
      swap_dims(dst, d - 1, d);
      swap_dims(src, d - 1, d);
    }
  iso__walk_coalesce((iso__view *[]){dst, src}, 2);
}

/* The dim of a transpose, or -1. */
static int find_tile_dim(const iso__view *dst, const iso__view *src) {
  int inner = dst->n_dims - 1;
  if (dst->strides[inner] != 1 || magnitude(src->strides[inner]) <= 1) return -1;
  for (int d = inner - 1; d >= 0; d--)
    if (src->strides[d] == 1 && dst->shape[d] > 1) return d;
  return -1;
}

void iso__view_copy(iso_context *ctx, const iso__view *dst, const iso__view *src) {
  if (iso__heap_is_dry(ctx->heap) && iso_dtype_is_float(dst->dtype)) return; /* indices are looked at */
  int64_t numel = iso__view_numel(dst);
  if (numel == 0) return;
  if (dst->storage->device != &iso__device_cpu || src->storage->device != &iso__device_cpu) {
    iso__view_transfer(ctx, dst, src);
    return;
  }
  if (iso__storage_settle(ctx, "copy", src->storage) != ISO_OK) return;
  copy_job job = {.dst = *dst, .src = *src};
  iso__views_into_memory_order(&job.dst, &job.src);
  job.dst_bytes = (int64_t)iso_dtype_size(dst->dtype);
  job.src_bytes = (int64_t)iso_dtype_size(src->dtype);
  int inner = job.dst.n_dims - 1;
  job.n_inner = job.dst.shape[inner];
  job.tile_dim = find_tile_dim(&job.dst, &job.src);
  int64_t extent = job.tile_dim < 0 ? job.n_inner : job.dst.shape[job.tile_dim];
  int64_t row_bytes = job.dst_bytes * (job.tile_dim < 0 ? 1 : job.n_inner); /* of one element of the split dim */
  job.tile = GRAIN_BYTES / row_bytes / 64 * 64;
  if (job.tile < 64) job.tile = 64;
  job.n_blocks = (extent - 1) / job.tile + 1;
  int64_t n_units = numel / (extent * (job.tile_dim < 0 ? 1 : job.n_inner)) * job.n_blocks;
  int64_t unit_bytes = (extent < job.tile ? extent : job.tile) * row_bytes;
  const size_t mark = iso__copy_enter(ctx, ISO_TRACE_COPY, "copy", (double)(numel * (job.dst_bytes + job.src_bytes)));
  iso__parallel_range(ctx, n_units, (2 * GRAIN_BYTES - 1) / unit_bytes + 1, 1, copy_range, &job);
  iso__mark_leave(ctx, mark);
}
