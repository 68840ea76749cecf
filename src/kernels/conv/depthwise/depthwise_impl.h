/* depthwise_impl.h: the micro-kernels of depthwise.h for one instruction set; included by depthwise_avx2.c and
 * depthwise_avx512.c. */
#include "kernels/conv/depthwise/finish_impl.h"

/* Pixels `apart` taps from each other: columns are shared. The memory's own prefetchers stop at pages, a few pixels
 * long; asking for the new image row two blocks ahead is worth a tenth from the third-level cache. */
VEC_FN void fixed(const iso__dw_run *t, const int n_taps, const int apart, const int n_pixels) {
  const float *w_vector = t->w, *ahead = t->x + t->ahead;
  const int64_t step = t->x_tap < 0 ? -t->x_tap : t->x_tap;
  for (int64_t c = 0; c + VF_LANES <= t->n_channels; c += VF_LANES, w_vector += t->w_vector) {
    vf acc[ISO__DW_PIXELS];
    UNROLL_32 for (int i = 0; i < n_pixels; i++) acc[i] = vf_zero();
    const float *x = t->x + c, *w = w_vector;
    for (int r = 0; r < t->n_rows; r++, x += t->x_row, w += t->w_row) {
      vf wv[ISO__DW_MAX_TAPS];
      UNROLL_32 for (int s = 0; s < n_taps; s++) wv[s] = vf_load(w + s * VF_LANES);
      const float *column = x;
      UNROLL_32 for (int j = 0; j < (n_pixels - 1) * apart + n_taps; j++, column += t->x_tap) {
        if (j % apart >= n_taps) continue; /* between pixels */
        const vf xv = vf_load(column);
        UNROLL_32 for (int i = 0; i < n_pixels; i++) {
          const int s = j - i * apart;
          if (s >= 0 && s < n_taps) acc[i] = vf_fma(xv, wv[s], acc[i]);
        }
      }
    }
    if (t->ahead) UNROLL_32 for (int i = 0; i < n_pixels * apart; i++) __builtin_prefetch(ahead + c + i * step, 0, 2);
    finish_pixels(t, acc, c, n_pixels);
  }
}

VEC_FN void any(const iso__dw_run *t, const int n_pixels) {
  const float *w_vector = t->w;
  for (int64_t c = 0; c + VF_LANES <= t->n_channels; c += VF_LANES, w_vector += t->w_vector) {
    vf acc[ISO__DW_PIXELS];
    UNROLL_32 for (int i = 0; i < n_pixels; i++) acc[i] = vf_zero();
    for (int r = 0; r < t->n_rows; r++) {
      const float *x = t->x + r * t->x_row + c, *w = w_vector + r * t->w_row;
      for (int s = 0; s < t->n_taps; s++, x += t->x_tap, w += VF_LANES) {
        const vf wv = vf_load(w);
        UNROLL_32 for (int i = 0; i < n_pixels; i++) acc[i] = vf_fma(vf_load(x + i * t->x_pixel), wv, acc[i]);
      }
    }
    finish_pixels(t, acc, c, n_pixels);
  }
}

VEC_FN void tail(const iso__dw_run *t, const int n_pixels) {
  const size_t n = (size_t)(t->n_channels % VF_LANES);
  const int64_t c = t->n_channels - (int64_t)n;
  const float *w_vector = t->w + c / VF_LANES * t->w_vector;
  vf acc[ISO__DW_PIXELS];
  UNROLL_32 for (int i = 0; i < n_pixels; i++) acc[i] = vf_zero();
  for (int r = 0; r < t->n_rows; r++) {
    const float *x = t->x + r * t->x_row + c, *w = w_vector + r * t->w_row;
    for (int s = 0; s < t->n_taps; s++, x += t->x_tap, w += VF_LANES) {
      const vf wv = vf_load(w);
      UNROLL_32 for (int i = 0; i < n_pixels; i++) acc[i] = vf_fma(vf_load_n(x + i * t->x_pixel, n), wv, acc[i]);
    }
  }
  UNROLL_32 for (int i = 0; i < n_pixels; i++)
      vf_store_n(t->y + i * t->y_pixel + c, finish(t, acc[i], c, i * t->y_pixel, false, n), n);
}

static void padded(const iso__dw_pixel *pixel) {
  const iso__dw_run *t = &pixel->run;
  for (int64_t c = 0; c < t->n_channels; c += VF_LANES) {
    const size_t n = (size_t)(t->n_channels - c < VF_LANES ? t->n_channels - c : VF_LANES);
    vf acc = vf_zero();
    for (int r = 0; r < t->n_rows; r++)
      for (int s = 0; s < t->n_taps; s++) {
        const bool inside = r >= pixel->row.first && r < pixel->row.end && s >= pixel->col.first && s < pixel->col.end;
        const vf xv = inside ? vf_load_n(t->x + r * t->x_row + s * t->x_tap + c, n) : vf_zero();
        acc = vf_fma(xv, vf_load(t->w + c / VF_LANES * t->w_vector + r * t->w_row + s * VF_LANES), acc);
      }
    vf_store_n(t->y + c, finish(t, acc, c, 0, false, n), n);
  }
}

#define FIXED(taps, apart, pixels)                                                                                     \
  static void fixed_##taps##_##apart##_##pixels(const iso__dw_run *run) { fixed(run, taps, apart, pixels); }
#define FIXED_PIXELS(taps, apart)                                                                                      \
  FIXED(taps, apart, 1)                                                                                                \
  FIXED(taps, apart, 2)                                                                                                \
  FIXED(taps, apart, 3)                                                                                                \
  FIXED(taps, apart, 4)                                                                                                \
  FIXED(taps, apart, 5)                                                                                                \
  FIXED(taps, apart, 6)                                                                                                \
  FIXED(taps, apart, 7)                                                                                                \
  FIXED(taps, apart, 8)
FIXED_PIXELS(1, 1)
FIXED_PIXELS(2, 1)
FIXED_PIXELS(3, 1)
FIXED_PIXELS(5, 1)
FIXED_PIXELS(7, 1)
FIXED_PIXELS(2, 2)
FIXED_PIXELS(3, 2)
FIXED_PIXELS(5, 2)
FIXED_PIXELS(7, 2)
#define ANY(pixels)                                                                                                    \
  static void any_##pixels(const iso__dw_run *run) { any(run, pixels); }                                               \
  static void tail_##pixels(const iso__dw_run *run) { tail(run, pixels); }
ANY(1)
ANY(2)
ANY(3)
ANY(4)
ANY(5)
ANY(6)
ANY(7)
ANY(8)

#define DEPTHWISE_KERNELS                                                                                              \
  {                                                                                                                    \
    .width = VF_LANES, .fixed = {{EIGHT(fixed_1_1), EIGHT(fixed_1_1)}, {EIGHT(fixed_2_1), EIGHT(fixed_2_2)},           \
                                 {EIGHT(fixed_3_1), EIGHT(fixed_3_2)}, {{0}, {0}},                                     \
                                 {EIGHT(fixed_5_1), EIGHT(fixed_5_2)}, {{0}, {0}},                                     \
                                 {EIGHT(fixed_7_1), EIGHT(fixed_7_2)}},                                                \
    .any = EIGHT(any), .tail = EIGHT(tail), .padded = padded, .pack = pack,                                            \
  }
