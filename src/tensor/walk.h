/* walk.h (this room's): going through views in memory-friendly order. */
#ifndef ISO_TENSOR_WALK_H
#define ISO_TENSOR_WALK_H
#include "tensor/tensor.h"

/* Merges neighbouring dims that lie densely in each other in all of the n views (of one shape), and drops extents of 1;
 * at least one dim is left. The logical order of the elements stays. */
static inline void iso__walk_coalesce(iso__view *const *views, int n) {
  iso__view *first = views[0];
  int n_dims = 0;
  for (int i = 0; i < first->n_dims; i++) {
    if (first->shape[i] == 1) continue;
    bool dense = n_dims > 0;
    for (int k = 0; k < n; k++)
      dense = dense && views[k]->strides[n_dims - 1] == views[k]->strides[i] * first->shape[i];
    int at = dense ? n_dims - 1 : n_dims++;
    int64_t extent = dense ? first->shape[at] * first->shape[i] : first->shape[i];
    for (int k = 0; k < n; k++) {
      views[k]->shape[at] = extent;
      views[k]->strides[at] = views[k]->strides[i];
    }
  }
  for (int k = 0; k < n; k++) {
    if (n_dims == 0) views[k]->shape[0] = 1, views[k]->strides[0] = 1;
    views[k]->n_dims = n_dims ? n_dims : 1;
  }
}

#endif
