/* spread_impl.h: one channel of every group to all lanes of its group. */
#include "numeric/vec.h"

VEC_FN vf spread(vf x, vi lanes) {
#if defined(__AVX512F__)
  return _mm512_permutexvar_ps(lanes, x);
#else
  return _mm256_permutevar8x32_ps(x, lanes);
#endif
}

/* Where each lane finds the d-th channel of its group; depth is a power of two. */
VEC_FN vi lanes_of(int depth, int d) { return vi_add(vi_and(vi_iota(), vi_set1(-depth)), vi_set1(d)); }
