/* run.cu: FFT convolution on a CUDA device, slice by slice (cut.h): what the rows of engines.def run. */
#include "kernels/cuda/launch.cuh"
#include "kernels/conv/fft/cuda/launch_table.h"
extern "C" {
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"
}

namespace {

enum { CHUNK = 256, PANEL = 1024 }; /* terms of `ordered`; complex ones are two of the products' each */

void run_images(const iso__fft_cuda_kernels &kernels, int n, const iso__call *call) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const iso_conv_args *args = (const iso_conv_args *)call->args;
  const iso__fft_cuda_cut c = iso__fft_cuda_cut_images(p, n);
  if (c.tiles == 0 || c.to == 0 || c.groups == 0) return;
  cudaStream_t stream = iso__cuda_stream(call);
  float *workspace = (float *)call->workspace, *y = (float *)(c.turned ? args->dx : args->y);
  const float *image = (const float *)(c.turned ? args->dy : args->x), *u = (const float *)call->kept;
  const bool kept = u != NULL;
  if (!kept) u = workspace + c.u;
  const size_t u_of_group = (size_t)c.frequencies * c.from * c.right;
  const float *bias = p->has_bias ? (const float *)args->bias : NULL;
  const float *residual = p->has_residual ? (const float *)args->residual : NULL;
  for (int group = 0; group < c.groups; group += c.slab) {
    const int n_groups = c.groups - group < c.slab ? c.groups - group : c.slab, batch = n_groups * c.frequencies;
    const iso__fft_cuda_epilogue epilogue = {bias ? bias + group * c.to : NULL,
                                             residual ? residual + group * c.to : NULL,
                                             p->activation == ISO__ACTIVATION_RELU};
    for (int64_t tile = 0; tile < c.tiles; tile += c.slice) {
      iso__fft_cuda_slice s = {c, tile, (int)(c.tiles - tile < c.slice ? c.tiles - tile : c.slice), n_groups};
      s.cut.left = s.n_tiles;
      const size_t of_group = (size_t)c.to * c.row.kernel * c.col.kernel * c.from;
      const iso__fft_cuda_factor kernel = {kept || tile ? ISO__FFT_CUDA_NOTHING : ISO__FFT_CUDA_KERNEL,
                                           (const float *)args->w + group * of_group,
                                           workspace + c.u + group * u_of_group};
      const iso__fft_cuda_factor windows = {ISO__FFT_CUDA_WINDOWS, image + (size_t)group * c.from, workspace + c.a};
      if (c.from) kernels.transform(&kernel, &windows, &s, stream);
      const iso__conv_cuda_product product = {workspace + c.a,
                                              u + group * u_of_group,
                                              workspace + c.m,
                                              s.cut.left,
                                              c.right,
                                              2 * c.from,
                                              batch,
                                              2 * CHUNK,
                                              true,
                                              true};
      iso__conv_cuda_multiply(&product, stream);
      const iso__conv_cuda_slots sums = {workspace + c.m, c.slots, (size_t)batch * s.cut.left * c.right};
      kernels.result(&sums, y + group * c.to, &s, &epilogue, stream);
    }
  }
  iso__cuda_launched(call);
}

void prepare_images(const iso__fft_cuda_kernels &kernels, int n, const iso__call *call, void *kept) {
  const iso__fft_cuda_cut c = iso__fft_cuda_cut_images((const iso_conv_problem *)call->problem, n);
  const iso__fft_cuda_slice all = {c, 0, 0, c.groups};
  const float *w = (const float *)((const iso_conv_args *)call->args)->w;
  const iso__fft_cuda_factor kernel = {ISO__FFT_CUDA_KERNEL, w, (float *)kept}, nothing = {};
  if (c.u_floats) kernels.transform(&kernel, &nothing, &all, iso__cuda_stream(call));
  iso__cuda_launched(call);
}

void run_weights(const iso__fft_cuda_kernels &kernels, int n, const iso__call *call) {
  const iso_conv_args *args = (const iso_conv_args *)call->args;
  const iso__fft_cuda_cut c = iso__fft_cuda_cut_weights((const iso_conv_problem *)call->problem, n);
  if (c.from == 0 || c.to == 0 || c.groups == 0) return;
  cudaStream_t stream = iso__cuda_stream(call);
  float *workspace = (float *)call->workspace, *dw = (float *)args->dw, *m = workspace + c.m;
  const int64_t n_chunks = (c.tiles + CHUNK - 1) / CHUNK;
  for (int group = 0; group < c.groups; group += c.slab) {
    const int n_groups = c.groups - group < c.slab ? c.groups - group : c.slab, batch = n_groups * c.frequencies;
    const size_t sums = (size_t)batch * c.left * c.right;
    int64_t tile = 0;
    do { /* no tiles at all: one product of no terms */
      const iso__fft_cuda_slice s = {c, tile, (int)(c.tiles - tile < c.slice ? c.tiles - tile : c.slice), n_groups};
      const iso__fft_cuda_factor dy = {ISO__FFT_CUDA_DY, (const float *)args->dy + (size_t)group * c.to,
                                       workspace + c.a};
      const iso__fft_cuda_factor x = {ISO__FFT_CUDA_X, (const float *)args->x + (size_t)group * c.from,
                                      workspace + c.b};
      if (s.n_tiles) kernels.transform(&dy, &x, &s, stream);
      const iso__conv_cuda_product product = {workspace + c.a, workspace + c.b, m,         c.left, c.right,
                                              2 * s.n_tiles,   batch,           2 * CHUNK, true,   false};
      iso__conv_cuda_multiply(&product, stream);
      if (n_chunks > 1)
        iso__conv_cuda_fold(m, (s.n_tiles + CHUNK - 1) / CHUNK, sums, tile / CHUNK, tile + c.slice >= c.tiles,
                            c.slice % PANEL && c.slice < c.tiles ? workspace + c.panel : NULL, workspace + c.total,
                            stream);
      tile += c.slice;
    } while (tile < c.tiles);
    const iso__conv_cuda_slots total = {n_chunks > 1 ? workspace + c.total : m, 1, 0};
    const iso__fft_cuda_slice s = {c, 0, 0, n_groups};
    kernels.dkernel(&total, dw + (size_t)group * c.to * c.row.kernel * c.col.kernel * c.from, &s, stream);
  }
  iso__cuda_launched(call);
}

} // namespace

#define CLASS(n)                                                                                                       \
  extern const iso__fft_cuda_kernels iso__fft_cuda_kernels_##n;                                                        \
  extern "C" void iso__fft_cuda_run_##n(const iso__call *call) { run_images(iso__fft_cuda_kernels_##n, n, call); }     \
  extern "C" void iso__fft_cuda_prepare_##n(const iso__call *call, void *kept) {                                       \
    prepare_images(iso__fft_cuda_kernels_##n, n, call, kept);                                                          \
  }                                                                                                                    \
  extern "C" void iso__fft_cuda_weights_run_##n(const iso__call *call) {                                               \
    run_weights(iso__fft_cuda_kernels_##n, n, call);                                                                   \
  }
CLASS(16)
CLASS(24)
CLASS(32)
CLASS(48)
CLASS(64)
