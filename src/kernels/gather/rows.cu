/* rows.cu: gathers of whole rows on CUDA devices: a thread moves as many bytes as rows and pointers allow, up to 16. */
#include "kernels/cuda/launch.cuh"
#include "kernels/gather/gather.h"

namespace {
enum { GATHER_THREADS = 256 };
struct rows {
  const void *x;
  void *y;
  const int64_t *index;
  uint32_t n_units, n; /* of y; rows of each outer index */
  uint32_t units;      /* of a row */
  int64_t extent;
};
template <class Unit> __global__ void __launch_bounds__(GATHER_THREADS) gather_rows(const __grid_constant__ rows r) {
  const uint32_t i = blockIdx.x * GATHER_THREADS + threadIdx.x;
  if (i >= r.n_units) return;
  const uint32_t unit = i % r.units, row = i / r.units, k = row % r.n, outer = row / r.n;
  ((Unit *)r.y)[i] = __ldg((const Unit *)r.x + (outer * r.extent + r.index[k]) * r.units + unit);
}

/* The largest power of two up to 16 that divides rows and addresses. */
int unit_bytes(int64_t row_bytes, const void *x, const void *y) {
  int n_bytes = 16;
  while ((row_bytes | (int64_t)(uintptr_t)x | (int64_t)(uintptr_t)y) & (n_bytes - 1)) n_bytes /= 2;
  return n_bytes;
}
} // namespace

extern "C" const char *iso__gather_rows_cuda_applicable(const iso__problem *problem) {
  const iso_gather_problem *p = (const iso_gather_problem *)problem;
  if (p->each) return "moves whole rows";
  return p->outer * p->n * p->inner * 8 >= INT32_MAX ? "numbers items in 31 bits" : NULL;
}
extern "C" void iso__gather_rows_cuda_run(const iso__call *call) {
  const iso_gather_problem *p = (const iso_gather_problem *)call->problem;
  const iso_gather_args *a = (const iso_gather_args *)call->args;
  const int64_t row_bytes = p->inner * (int64_t)iso_dtype_size((iso_dtype)p->head.dtype);
  if (p->outer == 0 || p->n == 0 || p->inner == 0) return;
  const int n_bytes = unit_bytes(row_bytes, a->x, a->y);
  rows r = {a->x, a->y, a->index, (uint32_t)(p->outer * p->n * (row_bytes / n_bytes)), (uint32_t)p->n,
            (uint32_t)(row_bytes / n_bytes), p->extent};
  void (*const kernels[])(rows) = {gather_rows<uint8_t>, gather_rows<uint16_t>, gather_rows<uint32_t>, gather_rows<uint2>,
                                   gather_rows<uint4>};
  int k = 0;
  while (1 << k < n_bytes) k++;
  kernels[k]<<<iso__cuda_blocks(r.n_units, GATHER_THREADS), GATHER_THREADS, 0, iso__cuda_stream(call)>>>(r);
  iso__cuda_launched(call);
}
