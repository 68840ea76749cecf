/* segment.cu: sums and means of listed rows of f32 on CUDA devices, segment by segment: bags of embeddings.
 *
 * A block takes a segment and up to COLUMNS columns, a thread each: the order along a column is one thread's, and its
 * loads are many at once since the rows' places lie in shared memory, a chunk of 256 at a time. */
#include "kernels/cuda/launch.cuh"
#include "kernels/scatter/scatter.h"
#include "numeric/order.h"

namespace {
enum { COLUMNS = 128, AHEAD = 32 };
struct segments {
  const float *x, *scale;
  const int64_t *index, *offsets;
  float *y, *count;
  int64_t each, inner, skip; /* the row that is absent; −1: none */
  uint32_t across;           /* blocks side by side */
  bool is_mean, empty_zero;
};

/* The k-th of a chunk's rows joins the sum, if it is present. */
template <bool scaled> __device__ __forceinline__ float joined(float acc, float v, float scale, bool is_there) {
  const float sum = scaled ? fmaf(scale, v, acc) : acc + v;
  return is_there ? sum : acc;
}

template <bool scaled> __global__ void __launch_bounds__(COLUMNS) segment_rows(const __grid_constant__ segments a) {
  __shared__ int64_t rows[ISO__CHUNK]; /* where each begins, in elements; −1: absent */
  __shared__ float scales[ISO__CHUNK];
  const uint32_t s = blockIdx.x / a.across;
  const int64_t begin = a.each ? s * a.each : a.offsets[s], end = a.each ? begin + a.each : a.offsets[s + 1];
  const int64_t column = (int64_t)(blockIdx.x % a.across) * COLUMNS + threadIdx.x;
  const float *x = a.x + (column < a.inner ? column : 0);
  float acc = 0, panel = 0, total = 0;
  int n_present = 0;
  for (int64_t first = begin; first < end; first += ISO__CHUNK) {
    const int n = (int)(end - first < ISO__CHUNK ? end - first : ISO__CHUNK);
    for (int j = (int)threadIdx.x; j < ISO__CHUNK; j += (int)blockDim.x) {
      const int64_t row = j >= n ? a.skip : a.index ? a.index[first + j] : first + j;
      const bool is_there = j < n && row != a.skip;
      rows[j] = is_there ? row * a.inner : -1;
      if (scaled) scales[j] = is_there ? a.scale[first + j] : 0;
      n_present += is_there;
    }
    __syncthreads();
    if (a.inner > 0)
      for (int j = 0; j < n; j += AHEAD) { /* ISO__CHUNK is a multiple of AHEAD: what lies behind n is absent */
        float v[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) v[i] = rows[j + i] >= 0 ? __ldg(x + rows[j + i]) : 0;
#pragma unroll
        for (int i = 0; i < AHEAD; i++) acc = joined<scaled>(acc, v[i], scaled ? scales[j + i] : 1, rows[j + i] >= 0);
      }
    if (n == ISO__CHUNK) panel = panel + acc, acc = 0;
    if ((first - begin) % ISO__PANEL == ISO__PANEL - ISO__CHUNK && n == ISO__CHUNK) total = total + panel, panel = 0;
    __syncthreads();
  }
  /* Every thread counted its own share of the rows. */
  __shared__ int counts[COLUMNS / 32];
#pragma unroll
  for (int i = 16; i > 0; i /= 2) n_present += __shfl_xor_sync(0xffffffffu, n_present, i);
  if (threadIdx.x % 32 == 0) counts[threadIdx.x / 32] = n_present;
  __syncthreads();
  int count = 0;
  for (int i = 0; i < (int)blockDim.x / 32; i++) count += counts[i];
  if (a.count && blockIdx.x % a.across == 0 && threadIdx.x == 0) a.count[s] = (float)(count ? count : 1);
  if (column >= a.inner) return;
  const float sum = total + (panel + acc);
  a.y[s * a.inner + column] = count == 0 && a.empty_zero ? 0 : a.is_mean ? sum / (float)count : sum;
}
} // namespace

extern "C" const char *iso__segment_cuda_applicable(const iso__problem *problem) {
  const iso_segment_problem *p = (const iso_segment_problem *)problem;
  if (p->fn != ISO__SCATTER_ADD && p->fn != ISO__SCATTER_MEAN) return "computes sums and means";
  const double blocks = (double)p->segments * ((double)p->inner / (int)COLUMNS + 1);
  return blocks < INT32_MAX && p->n < INT32_MAX ? NULL : "numbers rows and blocks in 31 bits";
}
extern "C" void iso__segment_cuda_run(const iso__call *call) {
  const iso_segment_problem *p = (const iso_segment_problem *)call->problem;
  const iso_segment_args *args = (const iso_segment_args *)call->args;
  if (p->segments == 0 || (p->inner == 0 && !p->has_count)) return;
  segments a = {};
  a.x = (const float *)args->x, a.scale = (const float *)args->scale, a.index = p->has_index ? args->index : NULL;
  a.offsets = args->offsets, a.y = (float *)args->y, a.count = p->has_count ? (float *)args->count : NULL;
  a.each = p->each, a.inner = p->inner, a.skip = p->skip - 1;
  a.across = p->inner ? (uint32_t)((p->inner + COLUMNS - 1) / COLUMNS) : 1;
  a.is_mean = p->fn == ISO__SCATTER_MEAN, a.empty_zero = p->empty_zero;
  const unsigned threads = (unsigned)(p->inner >= COLUMNS ? (int)COLUMNS : (p->inner + 31) / 32 * 32 + (p->inner == 0) * 32);
  (p->has_scale ? segment_rows<true> : segment_rows<false>)<<<(unsigned)p->segments * a.across, threads, 0, iso__cuda_stream(call)>>>(a);
  iso__cuda_launched(call);
}
