/* few_weights.cu: bwd_weights of convolutions from at most four input channels (a network's first), class `ordered`, on
 * CUDA: few_fwd.cu's idea for the sum over positions.
 *
 * A block has 64 output channels, all (tap, channel) pairs, at most 256, and a panel or a chunk of positions; every one
 * of these goes to a slot and fold.cu adds the slots in order. Up to sixteen positions of a row at a time come through
 * three stages of shared memory: their dy, and of x what their taps reach, once and not once a tap. A warp has 32
 * pairs, a thread 8×8 sums; a pair is an offset in the patch, so that a term is one float for each of its pairs. */
#include "kernels/conv/image_params.cuh"
#include "kernels/gemm/tiles.cuh"

namespace iso__tiles {
namespace {
constexpr int most_warps = 8, outputs = 64, segment = 16, chunk = 256, stages = 3, at_once = 3;

struct few_params {
  params t; /* a: dy, b: x; m output channels, n pairs, k positions */
  int h, w, c, step_h, step_w, dilation_h, dilation_w, pad_top, pad_left;
  int kernel_rows, pitch; /* of a stage's patch; floats of a row */
  bool vectors_dy, first; /* dy in aligned fours; x is channels-first */
  divisor out_w, out_h, channels, kernel_columns, patch_row;
};

/* Up to `segment` positions of one row of outputs, within a chunk. */
struct positions {
  int begin, n;
};
__device__ __forceinline__ positions positions_from(const few_params &p, int q, int end) {
  int row = q;
  const int column = split_off(row, p.out_w), of_row = (int)p.out_w.d - column, of_chunk = chunk - q % chunk;
  return {q, min(min(segment, end - q), min(of_row, of_chunk))};
}

__device__ __forceinline__ void fetch(const few_params &p, const positions &at, int k0, uint32_t to) {
  const float *dy = p.t.a.data + (int64_t)at.begin * p.t.m + k0;
  if (p.vectors_dy)
    for (int i = threadIdx.x; i < at.n * (outputs / 4); i += blockDim.x) {
      const int q = i / (outputs / 4), k = i % (outputs / 4) * 4;
      const bool inside = k0 + k < p.t.m;
      copy16(to + (q * outputs + k) * 4, inside ? dy + (int64_t)q * p.t.m + k : p.t.a.data, inside);
    }
  else
    for (int i = threadIdx.x; i < at.n * outputs; i += blockDim.x) {
      const int q = i / outputs, k = i % outputs;
      const bool inside = k0 + k < p.t.m;
      copy4(to + i * 4, inside ? dy + (int64_t)q * p.t.m + k : p.t.a.data, inside);
    }
  int sample = at.begin;
  const int column = split_off(sample, p.out_w), row = split_off(sample, p.out_h);
  const int y0 = row * p.step_h - p.pad_top, x0 = column * p.step_w - p.pad_left;
  const float *image = p.t.b.data + (int64_t)sample * p.h * p.w * p.c;
  for (int i = threadIdx.x; i < p.kernel_rows * p.pitch; i += blockDim.x) {
    int r = i;
    int s = split_off(r, p.patch_row);
    const int channel = split_off(s, p.channels), y = y0 + r * p.dilation_h, x = x0 + s;
    const bool inside = ((unsigned)y < (unsigned)p.h) & ((unsigned)x < (unsigned)p.w);
    const int offset = p.first ? (channel * p.h + y) * p.w + x : (y * p.w + x) * p.c + channel;
    copy4(to + (segment * outputs + i) * 4, image + (inside ? offset : 0), inside);
  }
}

/* One position: `at` floats behind x. */
__device__ __forceinline__ void add_position(const float *dy, const float *const (&x)[8], int at, float (&acc)[8][8]) {
  float a[8], b[8];
  *(float4 *)a = *(const float4 *)dy, *(float4 *)(a + 4) = *(const float4 *)(dy + 32);
#pragma unroll
  for (int j = 0; j < 8; j++) b[j] = x[j][at];
#pragma unroll
  for (int row = 0; row < 8; row++)
#pragma unroll
    for (int jj = 0; jj < 8; jj++) {
      const int j = row & 1 ? 7 - jj : jj;
      acc[row][j] = __fmaf_rn(a[row], b[j], acc[row][j]);
    }
}

/* grid: x slots, y output channels by 64. known_step: floats of the patch between positions; 0: any. */
template <int known_step>
__global__ void __launch_bounds__(most_warps * 32, 2) few_weights_kernel(const __grid_constant__ few_params p) {
  extern __shared__ __align__(128) float shared[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, k0 = blockIdx.y * outputs, slot = blockIdx.x;
  const int lane_row = (lane & 1) | (lane >> 1 & 1) << 1 | (lane >> 3 & 1) << 2;
  const int lane_column = (lane >> 2 & 1) | (lane >> 4 & 1) << 1;
  const int stage_floats = segment * outputs + (p.kernel_rows * p.pitch + 3) / 4 * 4;
  float4 *const panel = (float4 *)(shared + stages * stage_floats) + threadIdx.x;
  const uint32_t stages_at = (uint32_t)__cvta_generic_to_shared(shared);
  const int slot_terms = p.t.chunks_per_slot * chunk, begin = slot * slot_terms;
  const int end = begin + slot_terms < p.t.k ? begin + slot_terms : p.t.k;

  const int pair0 = warp * 32 + lane_column * 4;
  int offset[8]; /* of pair pair0 + j, or pair0 + 16 + j − 4, in a patch */
#pragma unroll
  for (int j = 0; j < 8; j++) {
    int r = pair0 + j % 4 + j / 4 * 16;
    const bool inside = r < p.t.n;
    const int channel = split_off(r, p.channels), s = split_off(r, p.kernel_columns);
    offset[j] = segment * outputs + (inside ? r * p.pitch + s * p.dilation_w * p.c + channel : 0);
  }
  float acc[8][8];
#pragma unroll
  for (int i = 0; i < 8; i++)
#pragma unroll
    for (int j = 0; j < 8; j++) acc[i][j] = 0.0f;

  int ahead = begin, write_stage = 0, read_stage = 0;
  const auto fetch_next = [&] {
    if (ahead < end) {
      const positions at = positions_from(p, ahead, end);
      fetch(p, at, k0, stages_at + write_stage * stage_floats * 4);
      ahead += at.n;
    }
    copies_commit();
    write_stage = write_stage + 1 == stages ? 0 : write_stage + 1;
  };
#pragma unroll 1
  for (int s = 0; s < stages - 1; s++) fetch_next();
  bool fresh = true;
#pragma unroll 1
  for (int q = begin; q < end;) {
    const positions at = positions_from(p, q, end);
    copies_wait<stages - 2>();
    __syncthreads(); /* this stage is there, and the one before it has been read */
    fetch_next();
    const float *dy = shared + read_stage * stage_floats + lane_row * 4, *x[8];
#pragma unroll
    for (int j = 0; j < 8; j++) x[j] = shared + read_stage * stage_floats + offset[j];
    int left = at.n;
    if constexpr (known_step > 0) {
#pragma unroll 1
      for (; left >= 4; left -= 4) {
#pragma unroll
        for (int i = 0; i < 4; i++) add_position(dy + i * outputs, x, i * known_step, acc);
        dy += 4 * outputs;
#pragma unroll
        for (int j = 0; j < 8; j++) x[j] += 4 * known_step;
      }
    }
#pragma unroll 1
    for (; left > 0; left--) {
      add_position(dy, x, 0, acc);
      dy += outputs;
#pragma unroll
      for (int j = 0; j < 8; j++) x[j] += p.step_w * p.c;
    }
    read_stage = read_stage + 1 == stages ? 0 : read_stage + 1;
    q += at.n;
    if (q % chunk && q < end) continue;
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
      for (int v = 0; v < 2; v++) {
        float4 *to = panel + (i * 2 + v) * blockDim.x;
        float *sum = &acc[i][v * 4];
        *to = add4(fresh ? make_float4(0, 0, 0, 0) : *to, make_float4(sum[0], sum[1], sum[2], sum[3]));
        sum[0] = sum[1] = sum[2] = sum[3] = 0.0f;
      }
    fresh = false;
  }
  float *to = p.t.slots + slot * p.t.slot_stride;
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const int k = k0 + lane_row * 4 + i % 4 + i / 4 * 32;
    if (k >= p.t.m) continue;
#pragma unroll
    for (int v = 0; v < 2; v++)
      if (pair0 + v * 16 < p.t.n)
        *(float4 *)(to + (int64_t)k * p.t.slot_ld + pair0 + v * 16) = panel[(i * 2 + v) * blockDim.x];
  }
}

int64_t positions_of(const iso_conv_problem *p) { return p->n * iso__conv_out_h(p) * iso__conv_out_w(p); }
int64_t pairs_of(const iso_conv_problem *p) { return p->r * p->s * p->c; }
int64_t warps_of(const iso_conv_problem *p) { return (pairs_of(p) + 31) / 32; }
int64_t blocks_down(const iso_conv_problem *p) { return (p->k + outputs - 1) / outputs; }
int64_t pitch_of(const iso_conv_problem *p) {
  return ((segment - 1) * p->stride_w + (p->s - 1) * p->dilation_w + 1) * p->c;
}
int64_t shared_bytes_of(const iso_conv_problem *p) {
  const int64_t stage = segment * outputs + round_up(p->r * pitch_of(p), 4);
  return (stages * stage + warps_of(p) * 32 * 64) * 4;
}
/* Panels, or chunks where panels would leave multiprocessors without work. */
int64_t chunks_a_slot(const iso_conv_problem *p, int n_multiprocessors) {
  const int64_t panels = (positions_of(p) + 4 * chunk - 1) / (4 * chunk);
  return 2 * panels * blocks_down(p) < 3 * at_once * n_multiprocessors ? 1 : 4;
}
int64_t slots_of(const iso_conv_problem *p, int n_multiprocessors) {
  const int64_t terms = chunks_a_slot(p, n_multiprocessors) * chunk;
  return (positions_of(p) + terms - 1) / terms;
}
} // namespace
} // namespace iso__tiles

using namespace iso__tiles;

extern "C" {
void iso__conv_columns_cuda_run(const iso__call *call); /* image_columns_cuda.cu; it needs no workspace */
const char *iso__conv_few_weights_cuda_applicable(const iso__problem *problem) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  if (p->c > 4 || p->c < 1) return "more than four input channels";
  if (p->groups != 1 || !iso__conv_is_flat(p)) return "groups or depth";
  if (pairs_of(p) < 1 || p->k < 1 || positions_of(p) < 1 || blocks_down(p) > 65535) return "no sums, or too many rows";
  const char *why = iso__image_tiles_applicable(p);
  if (why) return why;
  if (pairs_of(p) > most_warps * 32) return "more than 256 taps and channels";
  return shared_bytes_of(p) > 99 << 10 ? "a patch of x does not fit into shared memory" : NULL;
}
size_t iso__conv_few_weights_cuda_workspace(const iso__problem *problem, int n_multiprocessors) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  return (size_t)(slots_of(p, n_multiprocessors) * p->k * round_up(pairs_of(p), 4)) * 4;
}
/* Whole rounds of slots at half the peak; and the slots. */
double iso__conv_few_weights_cuda_cost(const iso__problem *problem, int n_multiprocessors) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  const double slots = (double)slots_of(p, n_multiprocessors), blocks = slots * (double)blocks_down(p);
  const double terms = (double)chunks_a_slot(p, n_multiprocessors) * chunk,
               at_a_time = at_once * (double)n_multiprocessors;
  const double round = 2.0 * terms * outputs * 32 * (double)warps_of(p) * at_once / 250 + 2000;
  return 10000 + (blocks > at_a_time ? blocks / at_a_time + 0.3 : 1) * round +
         (double)iso__conv_few_weights_cuda_workspace(problem, n_multiprocessors) * 2 / 3500;
}
void iso__conv_few_weights_cuda_run(const iso__call *call) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const iso_conv_args *args = (const iso_conv_args *)call->args;
  const int n_multiprocessors = iso__cuda_multiprocessors(call->ctx), n_bytes = (int)shared_bytes_of(p);
  if (n_bytes > largest_shared_bytes()) { /* a device from before 2020 */
    iso__conv_columns_cuda_run(call);
    return;
  }
  few_params f = {};
  params &t = f.t;
  t.m = (int)p->k, t.n = t.ldc = (int)pairs_of(p), t.k = (int)positions_of(p), t.n_z = 1;
  t.c = (float *)args->dw, t.vector_c = aligned16(t.c) && t.n % 4 == 0;
  t.a.data = (const float *)args->dy, t.b.data = (const float *)args->x;
  t.chunks_per_slot = (int)chunks_a_slot(p, n_multiprocessors), t.n_slots = (int)slots_of(p, n_multiprocessors);
  t.slots = (float *)call->workspace, t.slot_ld = (int)round_up(t.n, 4), t.slot_stride = (int64_t)t.m * t.slot_ld;
  f.h = (int)p->h, f.w = (int)p->w, f.c = (int)p->c, f.step_h = (int)p->stride_h, f.step_w = (int)p->stride_w;
  f.dilation_h = (int)p->dilation_h, f.dilation_w = (int)p->dilation_w;
  f.pad_top = (int)p->pad_top, f.pad_left = (int)p->pad_left;
  f.kernel_rows = (int)p->r, f.pitch = (int)pitch_of(p), f.first = p->x_first;
  f.vectors_dy = aligned16(args->dy) && p->k % 4 == 0;
  f.out_w = divisor_of(iso__conv_out_w(p)), f.out_h = divisor_of(iso__conv_out_h(p)), f.channels = divisor_of(p->c);
  f.kernel_columns = divisor_of(p->s), f.patch_row = divisor_of(f.pitch);
  const dim3 grid((unsigned)t.n_slots, (unsigned)blocks_down(p));
  const auto launch = [&](auto *kernel) {
    iso__cuda_shared(kernel, n_bytes);
    kernel<<<grid, (unsigned)warps_of(p) * 32, (size_t)n_bytes, iso__cuda_stream(call)>>>(f);
  };
  switch (f.step_w * f.c) { /* RGB and grey images, stride 1 and 2 */
  case 1: launch(few_weights_kernel<1>); break;
  case 3: launch(few_weights_kernel<3>); break;
  case 6: launch(few_weights_kernel<6>); break;
  default: launch(few_weights_kernel<0>);
  }
  fold(t, iso__cuda_stream(call));
  iso__cuda_launched(call);
}
}
