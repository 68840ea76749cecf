/* hash.c: one hash of a tensor's dtype, shape and elements, the same for every storage of the same values.
 *
 * Elements are taken in logical order in chunks of fixed size. A chunk's hash is XXH3 of its bytes, with every NaN
 * replaced by the canonical one; the chunks' hashes are chained in ascending order. So chunks can be hashed by any
 * thread, and a position counts. Dense chunks without a NaN are hashed where they lie. */
#include <string.h>
#include "tensor/tensor.h"
#include "tensor/walk.h"

enum { CHUNK_BYTES = 32 << 10, N_BATCH = 64 };

/* ---- canonical NaNs: whether there is any, and their replacement; by dtype ---- */

#define NAN_FUNCTIONS(NAME, WORD, EXPONENT, CANONICAL)                                                                 \
  static bool has_nan_##NAME(const void *data, size_t n) {                                                             \
    const WORD *x = data;                                                                                              \
    WORD any = 0;                                                                                                      \
    for (size_t i = 0; i < n; i++) any |= (WORD)((WORD)(x[i] << 1) > (WORD)(EXPONENT << 1));                           \
    return any != 0;                                                                                                   \
  }                                                                                                                    \
  static void fix_nan_##NAME(void *data, size_t n) {                                                                   \
    WORD *x = data;                                                                                                    \
    for (size_t i = 0; i < n; i++) x[i] = (WORD)(x[i] << 1) > (WORD)(EXPONENT << 1) ? CANONICAL : x[i];                \
  }
NAN_FUNCTIONS(f32, uint32_t, 0x7f800000u, 0x7fc00000u)
NAN_FUNCTIONS(f64, uint64_t, 0x7ff0000000000000u, 0x7ff8000000000000u)
NAN_FUNCTIONS(f16, uint16_t, 0x7c00u, 0x7e00u)
NAN_FUNCTIONS(bf16, uint16_t, 0x7f80u, 0x7fc0u)
#undef NAN_FUNCTIONS

typedef struct nan_row {
  bool (*has)(const void *data, size_t n);
  void (*fix)(void *data, size_t n);
} nan_row;
static const nan_row nan_rows[ISO_DTYPE_COUNT] = {[ISO_F32] = {has_nan_f32, fix_nan_f32},
                                                  [ISO_F64] = {has_nan_f64, fix_nan_f64},
                                                  [ISO_F16] = {has_nan_f16, fix_nan_f16},
                                                  [ISO_BF16] = {has_nan_bf16, fix_nan_bf16}};

/* ---- chunks ---- */

typedef struct hash_job {
  iso__view view; /* coalesced */
  bool dense;
  int64_t numel, chunk_items, first_chunk;
  iso__hash hashes[N_BATCH];
} hash_job;

static inline __attribute__((always_inline)) void gather_run(char *out, const char *in, int64_t step, int64_t n,
                                                             size_t size) {
  for (int64_t i = 0; i < n; i++) memcpy(out + i * (int64_t)size, in + i * step, size);
}

/* Elements begin … begin+n−1 in logical order, densely into out. */
static void gather(const iso__view *v, int64_t begin, int64_t n, char *out) {
  int64_t size = (int64_t)iso_dtype_size(v->dtype), row = v->shape[v->n_dims - 1], step = v->strides[v->n_dims - 1];
  while (n > 0) {
    int64_t column = begin % row, rest = begin / row, at = column * step;
    for (int d = v->n_dims - 2; d >= 0; d--) {
      at += rest % v->shape[d] * v->strides[d];
      rest /= v->shape[d];
    }
    int64_t m = row - column < n ? row - column : n;
    const char *in = (const char *)iso__view_data(v) + at * size;
    switch (size) {
    case 1: gather_run(out, in, step, m, 1); break;
    case 2: gather_run(out, in, step * 2, m, 2); break;
    case 4: gather_run(out, in, step * 4, m, 4); break;
    default: gather_run(out, in, step * 8, m, 8); break;
    }
    out += m * size;
    begin += m;
    n -= m;
  }
}

static void hash_chunk(void *arg, int task, int thread) {
  (void)thread;
  hash_job *job = arg;
  size_t size = iso_dtype_size(job->view.dtype);
  int64_t begin = (job->first_chunk + task) * job->chunk_items;
  int64_t n = job->numel - begin < job->chunk_items ? job->numel - begin : job->chunk_items;
  const char *data = (const char *)iso__view_data(&job->view) + begin * (int64_t)size;
  const nan_row *nan = &nan_rows[job->view.dtype];
  _Alignas(64) char buffer[CHUNK_BYTES];
  if (!job->dense || (nan->has && nan->has(data, (size_t)n))) {
    gather(&job->view, begin, n, buffer);
    if (nan->fix) nan->fix(buffer, (size_t)n);
    data = buffer;
  }
  job->hashes[task] = iso__hash_bytes(data, (size_t)n * size);
}

/* ---- the whole ---- */

iso__hash iso__view_hash(iso_context *ctx, const iso__view *v) {
  int64_t head[2 + ISO_MAX_DIMS] = {v->dtype, v->n_dims};
  for (int i = 0; i < v->n_dims; i++) head[2 + i] = v->shape[i];
  if (v->storage->device != &iso__device_cpu) { /* the same elements, where they can be read */
    iso_tensor *copy = iso__tensor_to(ctx, v, &iso__device_cpu);
    const iso__hash hash = copy ? iso__view_hash(ctx, &copy->view) : (iso__hash){0};
    iso_release(copy);
    return hash;
  }
  if (iso__storage_settle(ctx, "hash", v->storage) != ISO_OK) return (iso__hash){0};
  struct link {
    iso__hash before, chunks;
  } link = {.before = iso__hash_bytes(head, sizeof head)};

  hash_job job = {.view = *v, .numel = iso__view_numel(v)};
  if (job.numel == 0) return link.before;
  iso__walk_coalesce((iso__view *[]){&job.view}, 1);
  job.dense = job.view.n_dims == 1 && (job.view.strides[0] == 1 || job.numel == 1);
  job.chunk_items = CHUNK_BYTES / (int64_t)iso_dtype_size(v->dtype);
  int64_t n_chunks = (job.numel - 1) / job.chunk_items + 1;
  for (; job.first_chunk < n_chunks; job.first_chunk += N_BATCH) {
    int64_t left = n_chunks - job.first_chunk;
    int n = left < N_BATCH ? (int)left : N_BATCH;
    iso__parallel(ctx, n, hash_chunk, &job);
    link.chunks = iso__hash_bytes(job.hashes, (size_t)n * sizeof job.hashes[0]);
    link.before = iso__hash_bytes(&link, sizeof link);
  }
  return link.before;
}

iso__hash iso__hash_elements(iso_dtype dtype, const void *data, int64_t n) {
  const size_t size = iso_dtype_size(dtype);
  const int64_t chunk_items = CHUNK_BYTES / (int64_t)size;
  const nan_row *nan = &nan_rows[dtype];
  _Alignas(64) char buffer[CHUNK_BYTES];
  iso__hash link[2] = {{.low = (uint64_t)n, .high = (uint64_t)dtype}};
  for (int64_t begin = 0; begin < n; begin += chunk_items) {
    const size_t m = (size_t)(n - begin < chunk_items ? n - begin : chunk_items);
    const char *chunk = (const char *)data + (size_t)begin * size;
    if (nan->has && nan->has(chunk, m)) {
      memcpy(buffer, chunk, m * size);
      nan->fix(buffer, m);
      chunk = buffer;
    }
    link[1] = iso__hash_bytes(chunk, m * size);
    link[0] = iso__hash_bytes(link, sizeof link);
  }
  return link[0];
}
