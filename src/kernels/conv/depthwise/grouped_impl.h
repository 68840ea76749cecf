/* grouped_impl.h: the micro-kernels of depthwise.h for groups of 2 to 16 channels, as many out as in; included by
 * grouped_avx2.c and grouped_avx512.c.
 *
 * A vector of output channels holds whole groups, and what it sums over lies in the very same channels of the image: a
 * column is loaded once, and for the d-th channel of every group a permutation spreads that channel over its group's
 * lanes. Each spread column again feeds every pixel that it belongs to. */
#include "kernels/conv/depthwise/finish_impl.h"
#include "kernels/conv/depthwise/spread_impl.h"

enum { MAX_DEPTH = 16 };

/* lanes[d]: where each lane finds the d-th channel of its group. */
VEC_FN void list_lanes(int depth, int32_t lanes[MAX_DEPTH][VF_LANES]) {
  for (int d = 0; d < depth; d++) vi_store(lanes[d], lanes_of(depth, d));
}

/* Three taps, pixels `apart` taps from each other, `depth` channels a group. */
VEC_FN void fixed(const iso__dw_run *t, const int apart, const int n_pixels, const int depth) {
  enum { TAPS = 3 };
  int32_t lanes[MAX_DEPTH][VF_LANES];
  list_lanes(depth, lanes);
  const int64_t w_tap = depth * VF_LANES;
  const float *w_vector = t->w;
  for (int64_t c = 0; c + VF_LANES <= t->n_channels; c += VF_LANES, w_vector += t->w_vector) {
    vf acc[ISO__DW_PIXELS];
    UNROLL_32 for (int i = 0; i < n_pixels; i++) acc[i] = vf_zero();
    for (int r = 0; r < t->n_rows; r++) {
      const float *column = t->x + r * t->x_row + c, *w_row = w_vector + r * t->w_row;
      UNROLL_32 for (int j = 0; j < (n_pixels - 1) * apart + TAPS; j++, column += t->x_tap) {
        const vf xv = vf_load(column);
        const float *w = w_row;
        for (int d = 0; d < depth; d++, w += VF_LANES) {
          const vf channel = spread(xv, vi_load(lanes[d]));
          UNROLL_32 for (int i = 0; i < n_pixels; i++) {
            const int s = j - i * apart;
            if (s >= 0 && s < TAPS) acc[i] = vf_fma(channel, vf_load(w + s * w_tap), acc[i]);
          }
        }
      }
    }
    finish_pixels(t, acc, c, n_pixels);
  }
}

VEC_FN void any(const iso__dw_run *t, const int n_pixels) {
  int32_t lanes[MAX_DEPTH][VF_LANES];
  list_lanes(t->depth, lanes);
  const float *w_vector = t->w;
  for (int64_t c = 0; c + VF_LANES <= t->n_channels; c += VF_LANES, w_vector += t->w_vector) {
    vf acc[ISO__DW_PIXELS];
    UNROLL_32 for (int i = 0; i < n_pixels; i++) acc[i] = vf_zero();
    for (int r = 0; r < t->n_rows; r++) {
      const float *x = t->x + r * t->x_row + c, *w = w_vector + r * t->w_row;
      for (int s = 0; s < t->n_taps; s++, x += t->x_tap)
        for (int d = 0; d < t->depth; d++, w += VF_LANES) {
          const vf wv = vf_load(w);
          const vi index = vi_load(lanes[d]);
          UNROLL_32 for (int i = 0; i < n_pixels; i++) acc[i] =
              vf_fma(spread(vf_load(x + i * t->x_pixel), index), wv, acc[i]);
        }
    }
    finish_pixels(t, acc, c, n_pixels);
  }
}

static void padded(const iso__dw_pixel *pixel) {
  const iso__dw_run *t = &pixel->run;
  int32_t lanes[MAX_DEPTH][VF_LANES];
  list_lanes(t->depth, lanes);
  for (int64_t c = 0; c + VF_LANES <= t->n_channels; c += VF_LANES) {
    vf acc = vf_zero();
    for (int r = 0; r < t->n_rows; r++)
      for (int s = 0; s < t->n_taps; s++) {
        const bool inside = r >= pixel->row.first && r < pixel->row.end && s >= pixel->col.first && s < pixel->col.end;
        const vf xv = inside ? vf_load(t->x + r * t->x_row + s * t->x_tap + c) : vf_zero();
        const float *w = t->w + c / VF_LANES * t->w_vector + r * t->w_row + s * t->depth * VF_LANES;
        for (int d = 0; d < t->depth; d++, w += VF_LANES) acc = vf_fma(spread(xv, vi_load(lanes[d])), vf_load(w), acc);
      }
    finish_pixels(t, &acc, c, 1);
  }
}

/* The usual depths are constants to the compiler: permutations then stay in registers. */
VEC_FN void fixed_depth(const iso__dw_run *t, const int apart, const int n_pixels) {
  if (t->depth == 4) fixed(t, apart, n_pixels, 4);
  else if (t->depth == 8) fixed(t, apart, n_pixels, 8);
  else fixed(t, apart, n_pixels, t->depth);
}

#define PIXELS(n)                                                                                                      \
  static void fixed_1_##n(const iso__dw_run *run) { fixed_depth(run, 1, n); }                                          \
  static void fixed_2_##n(const iso__dw_run *run) { fixed_depth(run, 2, n); }                                          \
  static void any_##n(const iso__dw_run *run) { any(run, n); }
PIXELS(1)
PIXELS(2)
PIXELS(3)
PIXELS(4)
PIXELS(5)
PIXELS(6)
PIXELS(7)
PIXELS(8)

#define GROUPED_KERNELS                                                                                                \
  {                                                                                                                    \
    .width = VF_LANES, .fixed = {[2] = {EIGHT(fixed_1), EIGHT(fixed_2)}}, .any = EIGHT(any), .padded = padded,         \
    .pack = pack                                                                                                       \
  }
