/* leaf.c: which samples of a step belong to which leaf (NUMERICS: "Leaves"). */
#include <isobit/base.h>

void iso_leaf_range(int64_t n_samples, int n_leaves, int leaf, int64_t *begin, int64_t *end) {
  /* g·B/G without overflow: B = q·G + r, so g·B/G = g·q + g·r/G. */
  const int64_t q = n_samples / n_leaves, r = n_samples % n_leaves;
  *begin = leaf * q + leaf * r / n_leaves;
  *end = (leaf + 1) * q + (leaf + 1) * r / n_leaves;
}
