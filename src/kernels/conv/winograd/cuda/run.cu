/* run.cu: Winograd convolution on a CUDA device, slice by slice (cut.h): what the rows of engines.def run. */
#include "kernels/conv/winograd/cuda/launch_table.h"
#include "kernels/cuda/launch.cuh"
extern "C" {
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"
}

namespace {

enum { CHUNK = 256, PANEL = 1024 }; /* of `ordered` */

/* Whether groups of n channels in pixels of the pitch can be read four at a time. NULL is no obstacle. */
bool by_four(const void *p, int n, int pitch) { return n % 4 == 0 && pitch % 4 == 0 && (uintptr_t)p % 16 == 0; }

iso__wino_cuda_slice slice_of(const iso__wino_cuda_cut &c, const iso__wino_cuda_image &image, int channels,
                              int64_t tile, int n_groups) {
  const int64_t of_image = (int64_t)c.tiles_h * c.tiles_w, left = c.tiles - tile;
  const int n = (int)(left < c.slice ? left : c.slice);
  return {image, c.tiles_h,       c.tiles_w, tile / of_image,        (int)(tile % of_image),
          n,     (n + 3) / 4 * 4, channels,  (channels + 3) / 4 * 4, n_groups};
}

void run_images(const iso__wino_cuda_images &kernels, int m, const iso__call *call) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const iso_conv_args *a = (const iso_conv_args *)call->args;
  const iso__wino_cuda_cut c = iso__wino_cuda_cut_images(p, m);
  if (c.tiles == 0 || c.k == 0 || c.groups == 0) return;
  cudaStream_t stream = iso__cuda_stream(call);
  float *workspace = (float *)call->workspace;
  const float *x = (const float *)(c.turned ? a->dy : a->x), *u = (const float *)call->kept;
  float *y = (float *)(c.turned ? a->dx : a->y);
  if (!u) {
    u = workspace + c.u;
    if (c.c) kernels.kernel((const float *)a->w, workspace + c.u, &c, stream);
  }
  const float *bias = p->has_bias ? (const float *)a->bias : NULL;
  const float *residual = p->has_residual ? (const float *)a->residual : NULL;
  const bool x_by_four = by_four(x, c.c, c.source.pitch);
  const bool y_by_four = by_four(y, c.k, c.result.pitch) && by_four(bias, 4, 4) && by_four(residual, 4, 4);
  for (int group = 0; group < c.groups; group += c.slab) {
    const int n_groups = c.groups - group < c.slab ? c.groups - group : c.slab, first_k = group * c.k;
    const iso__wino_cuda_epilogue epilogue = {bias ? bias + first_k : NULL, residual ? residual + first_k : NULL,
                                              p->activation == ISO__ACTIVATION_RELU};
    for (int64_t tile = 0; tile < c.tiles; tile += c.slice) {
      const iso__wino_cuda_slice source = slice_of(c, c.source, c.c, tile, n_groups);
      const iso__wino_cuda_slice result = slice_of(c, c.result, c.k, tile, n_groups);
      const int batch = n_groups * c.points;
      if (c.c) kernels.source(x + (int64_t)group * c.c, workspace + c.v, &source, x_by_four, stream);
      const iso__conv_cuda_product product = {workspace + c.v,
                                              u + (size_t)group * c.points * c.c * c.k_pad,
                                              workspace + c.m_or_z,
                                              source.tiles_pad,
                                              c.k_pad,
                                              c.c,
                                              batch,
                                              CHUNK};
      iso__conv_cuda_multiply(&product, stream);
      const iso__conv_cuda_slots sums = {product.c, c.slots, (size_t)batch * source.tiles_pad * c.k_pad};
      kernels.result(&sums, y + first_k, &result, &epilogue, y_by_four, stream);
    }
  }
  iso__cuda_launched(call);
}

void prepare_images(const iso__wino_cuda_images &kernels, int m, const iso__call *call, void *kept) {
  const iso__wino_cuda_cut c = iso__wino_cuda_cut_images((const iso_conv_problem *)call->problem, m);
  if (c.u_floats)
    kernels.kernel((const float *)((const iso_conv_args *)call->args)->w, (float *)kept, &c, iso__cuda_stream(call));
  iso__cuda_launched(call);
}

void run_weights(const iso__wino_cuda_weights &kernels, int m, const iso__call *call) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const iso_conv_args *a = (const iso_conv_args *)call->args;
  const iso__wino_cuda_cut c = iso__wino_cuda_cut_weights(p, m);
  cudaStream_t stream = iso__cuda_stream(call);
  float *workspace = (float *)call->workspace, *v = workspace + c.v, *z = workspace + c.m_or_z, *d = workspace + c.d;
  const float *x = (const float *)a->x, *dy = (const float *)a->dy;
  float *dw = (float *)a->dw;
  const bool vec = by_four(x, c.c, c.source.pitch) && by_four(dy, c.k, c.result.pitch);
  const int64_t n_chunks = (c.tiles + CHUNK - 1) / CHUNK;
  const bool folds = n_chunks > PANEL / CHUNK || c.tiles > c.slice; /* else the last step does */
  for (int group = 0; group < c.groups; group += c.slab) {
    const int n_groups = c.groups - group < c.slab ? c.groups - group : c.slab, batch = n_groups * c.points;
    const size_t sums = (size_t)batch * c.k_pad * c.c_pad;
    for (int64_t tile = 0; tile < c.tiles; tile += c.slice) {
      const iso__wino_cuda_operand of_x = {x + (int64_t)group * c.c, v, slice_of(c, c.source, c.c, tile, n_groups)};
      const iso__wino_cuda_operand of_dy = {dy + (int64_t)group * c.k, z, slice_of(c, c.result, c.k, tile, n_groups)};
      const int n_tiles = of_x.slice.n_tiles;
      kernels.operands(&of_x, &of_dy, vec, stream);
      const iso__conv_cuda_product product = {z, v, d, c.k_pad, c.c_pad, n_tiles, batch, CHUNK};
      iso__conv_cuda_multiply(&product, stream);
      if (folds)
        iso__conv_cuda_fold(d, (n_tiles + CHUNK - 1) / CHUNK, sums, tile / CHUNK, tile + c.slice >= c.tiles,
                            c.slice % PANEL && c.slice < c.tiles ? workspace + c.panel : NULL, workspace + c.total,
                            stream);
    }
    float *to = dw + (size_t)group * c.k * c.r * c.r * c.c;
    const iso__conv_cuda_slots sums_of_all = {folds ? workspace + c.total : d, folds ? 1 : (int)n_chunks, sums};
    kernels.dkernel(&sums_of_all, to, &c, n_groups, by_four(to, c.c, 4), stream);
  }
  iso__cuda_launched(call);
}

} // namespace

#define CLASS(suffix, m)                                                                                               \
  extern const iso__wino_cuda_images iso__wino_cuda_images_##suffix;                                                   \
  extern const iso__wino_cuda_weights iso__wino_cuda_weights_##suffix;                                                 \
  extern "C" void iso__wino_cuda_run_##suffix(const iso__call *call) {                                                 \
    run_images(iso__wino_cuda_images_##suffix, m, call);                                                               \
  }                                                                                                                    \
  extern "C" void iso__wino_cuda_prepare_##suffix(const iso__call *call, void *kept) {                                 \
    prepare_images(iso__wino_cuda_images_##suffix, m, call, kept);                                                     \
  }                                                                                                                    \
  extern "C" void iso__wino_cuda_weights_run_##suffix(const iso__call *call) {                                         \
    run_weights(iso__wino_cuda_weights_##suffix, m, call);                                                             \
  }
CLASS(2k3, 2)
CLASS(4k3, 4)
CLASS(5k3, 5)
CLASS(6k3, 6)
CLASS(2k5, 2)
CLASS(4k5, 4)
