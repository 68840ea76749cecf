/* copy.cu: the operator `copy` on CUDA devices, by the device's own copies between arrangements (device/cuda/copy.cu):
 * casts, transposes in tiles, everything else an element a thread. */
#include "kernels/cuda/launch.cuh"
#include "kernels/map/map.h"
extern "C" {
#include "device/cuda/state.h"
}

extern "C" const char *iso__copy_cuda_applicable(const iso__problem *problem) {
  const iso_map_problem *p = (const iso_map_problem *)problem;
  double n = 1;
  for (int d = 0; d < p->n_dims; d++) n *= (double)p->shape[d];
  return n >= (double)INT32_MAX * 256 ? "numbers blocks in 31 bits" : NULL;
}
/* Dimensions in the order of the destination's strides, the smallest last. */
extern "C" void iso__copy_cuda_run(const iso__call *call) {
  const iso_map_problem *p = (const iso_map_problem *)call->problem;
  const iso_map_args *a = (const iso_map_args *)call->args;
  iso__strided form = {};
  for (int d = 0; d < p->n_dims; d++) {
    if (p->shape[d] == 0) return;
    if (p->shape[d] == 1) continue;
    int at = form.n_dims++;
    for (; at > 0 && llabs(form.dst_strides[at - 1]) < llabs(p->strides[0][d]); at--) {
      form.shape[at] = form.shape[at - 1], form.dst_strides[at] = form.dst_strides[at - 1];
      form.src_strides[at] = form.src_strides[at - 1];
    }
    form.shape[at] = p->shape[d], form.dst_strides[at] = p->strides[0][d], form.src_strides[at] = p->strides[1][d];
  }
  if (form.n_dims == 0) form.n_dims = 1, form.shape[0] = 1, form.dst_strides[0] = form.src_strides[0] = 1;
  form.dst_dtype = (iso_dtype)p->head.dtype, form.src_dtype = (iso_dtype)p->from_dtype;
  if (iso__cuda_copy_strided(iso__device_of(call->ctx), a->out, a->in[0], &form) != ISO_OK)
    iso__cuda_keep_error(call->ctx, call->engine->name, (int)cudaErrorLaunchFailure); /* whose own error is told by that */
}
