/* bwd_weights_impl.h: the micro-kernels of bwd_weights.h for one instruction set; included with SPREADS false
 * by bwd_weights_avx2.c and bwd_weights_avx512.c, true by grouped_bwd_weights_avx2.c and grouped_bwd_weights_avx512.c.
 */
#include "kernels/conv/depthwise/bwd_weights.h"
#include "kernels/conv/depthwise/spread_impl.h"
#include "numeric/unroll.h"
#include "numeric/vec.h"

enum { MAX_SUMS = 9 };

VEC_FN int64_t channel_of(const iso__dw_block *t, int64_t v) { return v + 1 < t->n_vectors ? v * VF_LANES : t->last; }

VEC_FN void group(const iso__dw_block *t, const int n_rows, const int n_taps, const int apart, const int n) {
  float *sums = t->sums;
  const int64_t sums_tap = SPREADS ? t->sums_tap : VF_LANES;
  const vi lanes = SPREADS ? lanes_of(t->depth, t->channel) : vi_iota();
  for (int64_t v = 0; v < t->n_vectors; v++, sums += t->sums_vector) {
    const int64_t c = channel_of(t, v);
    vf acc[MAX_SUMS], d[ISO__DW_BLOCK];
    UNROLL_32 for (int r = 0; r < n_rows; r++) UNROLL_32 for (int s = 0; s < n_taps; s++) acc[r * n_taps + s] =
        vf_load(sums + r * t->sums_row + s * sums_tap);
    const float *x = t->x + c, *dy = t->dy + c;
    const int64_t step = n_taps == 1 ? t->x_pixel : t->x_tap;
    UNROLL_32 for (int j = 0; j < (n - 1) * apart + n_taps; j++, x += step) {
      if (j % apart == 0 && j / apart < n) d[j / apart] = vf_load(dy), dy += t->dy_pixel;
      if (j % apart >= n_taps) continue; /* between positions */
      UNROLL_32 for (int r = 0; r < n_rows; r++) {
        const vf column = vf_load(x + r * t->x_row), xv = SPREADS ? spread(column, lanes) : column;
        UNROLL_32 for (int i = 0; i < n; i++) {
          const int s = j - i * apart;
          if (s >= 0 && s < n_taps) acc[r * n_taps + s] = vf_fma(d[i], xv, acc[r * n_taps + s]);
        }
      }
    }
    UNROLL_32 for (int r = 0; r < n_rows; r++) UNROLL_32 for (int s = 0; s < n_taps; s++)
        vf_store(sums + r * t->sums_row + s * sums_tap, acc[r * n_taps + s]);
  }
}

static void add_zero(const iso__dw_block *t) {
  for (int64_t v = 0; v < t->n_vectors; v++) {
    float *sum = t->sums + v * t->sums_vector;
    vf_store(sum, vf_fma(vf_load(t->dy + channel_of(t, v)), vf_zero(), vf_load(sum)));
  }
}

static bool is_finite(const float *x, int64_t n) {
  vf zero = vf_zero();
  for (int64_t i = 0; i < n; i += VF_LANES) zero = vf_fma(vf_load_n(x + i, (size_t)(n - i)), vf_zero(), zero);
  return !vm_any(vf_isnan(zero));
}

static void fold(float *to, float *from, int64_t n, bool first) {
  for (int64_t i = 0; i < n; i += VF_LANES) {
    const vf before = first ? vf_zero() : vf_load(to + i);
    vf_store(to + i, vf_add(before, vf_load(from + i)));
    vf_store(from + i, vf_zero());
  }
}

#define GROUP(rows, taps, apart, n)                                                                                    \
  static void group_##rows##_##taps##_##apart##_##n(const iso__dw_block *block) { group(block, rows, taps, apart, n); }
#define GROUPS(rows, taps, apart)                                                                                      \
  GROUP(rows, taps, apart, 1)                                                                                          \
  GROUP(rows, taps, apart, 2)                                                                                          \
  GROUP(rows, taps, apart, 3)                                                                                          \
  GROUP(rows, taps, apart, 4)                                                                                          \
  GROUP(rows, taps, apart, 5)                                                                                          \
  GROUP(rows, taps, apart, 6)
GROUPS(1, 1, 1)
GROUPS(2, 1, 1)
GROUPS(3, 1, 1)
GROUPS(1, 2, 1)
GROUPS(2, 2, 1)
GROUPS(3, 2, 1)
GROUPS(1, 3, 1)
GROUPS(2, 3, 1)
GROUPS(3, 3, 1)
GROUPS(1, 5, 1)
GROUPS(1, 7, 1)
GROUPS(1, 2, 2)
GROUPS(2, 2, 2)
GROUPS(3, 2, 2)
GROUPS(1, 3, 2)
GROUPS(2, 3, 2)
GROUPS(3, 3, 2)
GROUPS(1, 5, 2)
GROUPS(1, 7, 2)

#define SIX(name)                                                                                                      \
  { name##_1, name##_2, name##_3, name##_4, name##_5, name##_6 }
#define APART(rows, taps)                                                                                              \
  { SIX(group_##rows##_##taps##_1), SIX(group_##rows##_##taps##_2) }
#define SINGLE(rows)                                                                                                   \
  { SIX(group_##rows##_1_1), SIX(group_##rows##_1_1) }
#define NO_GROUP                                                                                                       \
  {                                                                                                                    \
    {0}, { 0 }                                                                                                         \
  }
#define DEPTHWISE_SUMMERS                                                                                              \
  {                                                                                                                    \
    .width = VF_LANES,                                                                                                 \
    .group = {{SINGLE(1), APART(1, 2), APART(1, 3), NO_GROUP, APART(1, 5), NO_GROUP, APART(1, 7)},                     \
              {SINGLE(2), APART(2, 2), APART(2, 3)},                                                                   \
              {SINGLE(3), APART(3, 2), APART(3, 3)}},                                                                  \
    .add_zero = add_zero, .is_finite = is_finite, .fold = fold,                                                        \
  }
