/* reference.c: the classes fft.16 … fft.64 of the three convolution operators, one output element at a time
 * (docs/numerics-fft.md). These functions are the specification: every engine of a class gives their bits.
 *
 * An element costs as much as its whole tile, since every output hangs on all of it. */
#include <math.h>
#include "kernels/conv/fft/fft.h"
#include "kernels/conv/fft/twiddles.h"
#include "kernels/gemm/gemm.h"
#include "numeric/order.h"

enum { MAX = ISO__FFT_MAX, MAX_COLUMNS = MAX / 2 + 1 };
typedef struct complex {
  float re, im;
} complex;
typedef struct spectrum {
  complex at[MAX_COLUMNS][MAX]; /* column u, row v */
} spectrum;

static complex add(complex a, complex b) { return (complex){a.re + b.re, a.im + b.im}; }
static complex sub(complex a, complex b) { return (complex){a.re - b.re, a.im - b.im}; }
/* a + i·b and a − i·b */
static complex add_i(complex a, complex b) { return (complex){a.re - b.im, a.im + b.re}; }
static complex sub_i(complex a, complex b) { return (complex){a.re + b.im, a.im - b.re}; }
static complex swap(complex a) { return (complex){a.im, a.re}; }

/* z·exp(−2πi·turn/n); no operation where the turn is 0. */
static complex twiddle(complex z, int turn, int n) {
  if (turn == 0) return z;
  const int k = turn * (ISO__FFT_CIRCLE / n);
  const float c = iso__fft_cosine[k], s = iso__fft_sine[k];
  return (complex){fmaf(c, z.re, s * z.im), fmaf(c, z.im, -(s * z.re))};
}

static void radix_3(complex a0, complex a1, complex a2, complex y[3]) {
  const complex t = add(a1, a2), d = sub(a1, a2), m = {fmaf(-0.5f, t.re, a0.re), fmaf(-0.5f, t.im, a0.im)};
  const float s = ISO__FFT_SIN_60;
  y[0] = add(a0, t);
  y[1] = (complex){fmaf(s, d.im, m.re), fmaf(-s, d.re, m.im)};
  y[2] = (complex){fmaf(-s, d.im, m.re), fmaf(s, d.re, m.im)};
}

static void radix_4(complex a0, complex a1, complex a2, complex a3, complex y[4]) {
  const complex s02 = add(a0, a2), d02 = sub(a0, a2), s13 = add(a1, a3), d13 = sub(a1, a3);
  y[0] = add(s02, s13), y[1] = sub_i(d02, d13), y[2] = sub(s02, s13), y[3] = add_i(d02, d13);
}

/* 2 × 3 without twiddles (Good, Thomas). */
static void radix_6(const complex *a, complex *y) {
  complex s[3], d[3];
  radix_3(add(a[0], a[3]), add(a[2], a[5]), add(a[4], a[1]), s);
  radix_3(sub(a[0], a[3]), sub(a[2], a[5]), sub(a[4], a[1]), d);
  y[0] = s[0], y[4] = s[1], y[2] = s[2];
  y[3] = d[0], y[1] = d[1], y[5] = d[2];
}

/* Even outputs: radix 4 of sums. Odd ones: of differences times eighth roots of 1, whose √½ waits for the last fma. */
static void radix_8(const complex *a, complex *y) {
  complex even[4];
  radix_4(add(a[0], a[4]), add(a[1], a[5]), add(a[2], a[6]), add(a[3], a[7]), even);
  const complex d0 = sub(a[0], a[4]), d1 = sub(a[1], a[5]), d2 = sub(a[2], a[6]), d3 = sub(a[3], a[7]);
  const complex e = sub_i(d0, d2), f = add_i(d0, d2);
  const complex u = {d1.re + d1.im, d1.im - d1.re}, v = {d3.im - d3.re, d3.re + d3.im};
  const complex p = {u.re + v.re, u.im - v.im}, q = {u.re - v.re, u.im + v.im};
  const float h = ISO__FFT_SIN_45;
  for (int i = 0; i < 4; i++) y[2 * i] = even[i];
  y[1] = (complex){fmaf(h, p.re, e.re), fmaf(h, p.im, e.im)};
  y[3] = (complex){fmaf(h, q.im, f.re), fmaf(-h, q.re, f.im)};
  y[5] = (complex){fmaf(-h, p.re, e.re), fmaf(-h, p.im, e.im)};
  y[7] = (complex){fmaf(-h, q.im, f.re), fmaf(h, q.re, f.im)};
}

static void butterfly(int radix, const complex *a, complex *y) {
  if (radix == 3) radix_3(a[0], a[1], a[2], y);
  else if (radix == 4) radix_4(a[0], a[1], a[2], a[3], y);
  else if (radix == 6) radix_6(a, y);
  else radix_8(a, y);
}

/* Two passes, outputs in order: radix n/8 and then 8, for 16 both 4. */
static void fft(int n, complex *z) {
  const int second = n == 16 ? 4 : 8, first = n / second;
  complex next[MAX], a[8], y[8];
  for (int p = 0; p < second; p++) {
    for (int m = 0; m < first; m++) a[m] = z[p + m * second];
    butterfly(first, a, y);
    for (int m = 0; m < first; m++) next[first * p + m] = twiddle(y[m], p * m, n);
  }
  for (int q = 0; q < first; q++) {
    for (int m = 0; m < second; m++) a[m] = next[q + first * m];
    butterfly(second, a, y);
    for (int m = 0; m < second; m++) z[q + first * m] = y[m];
  }
}

/* What a transform sees; rows outside `rows` are absent, columns outside `cols` are zeros. */
static float element(const iso__fft_source *s, int i, int j) {
  const bool inside = i >= s->rows.first && i < s->rows.end && j >= s->cols.first && j < s->cols.end;
  return inside ? s->base[i * s->row_step + j * s->col_step] : 0;
}

/* Twice the two-dimensional transform, columns 0 … n/2: rows two at a time as one complex row, then columns. */
static void transform(int n, const iso__fft_source *s, spectrum *out) {
  for (int i = 0; i < n; i += 2) {
    complex z[MAX] = {{0}};
    const bool absent = i + 1 < s->rows.first || i >= s->rows.end || s->rows.first >= s->rows.end;
    for (int j = 0; j < n; j++) z[j] = (complex){element(s, i, j), element(s, i + 1, j)};
    if (!absent) fft(n, z);
    for (int u = 0; u <= n / 2; u++) {
      const complex a = z[u], b = z[u ? n - u : 0];
      out->at[u][i] = absent ? (complex){0} : (complex){a.re + b.re, a.im - b.im};
      out->at[u][i + 1] = absent ? (complex){0} : (complex){a.im + b.im, b.re - a.re};
    }
  }
  for (int u = 0; u <= n / 2; u++) fft(n, out->at[u]);
}

static void swap_all(int n, complex *z, bool wanted) {
  for (int i = 0; wanted && i < n; i++) z[i] = swap(z[i]);
}

/* Element (row, col) of the inverse transform; forward_sign: of a conjugate spectrum. */
static float inverse(int n, spectrum *y, bool forward_sign, int row, int col) {
  const int even = row - row % 2;
  complex z[MAX];
  for (int u = 0; u <= n / 2; u++) {
    swap_all(n, y->at[u], !forward_sign);
    fft(n, y->at[u]);
    swap_all(n, y->at[u], !forward_sign);
    const complex a = y->at[u][even], b = y->at[u][even + 1];
    z[u] = (complex){a.re - b.im, a.im + b.re};
    if (u > 0 && 2 * u < n) z[n - u] = (complex){a.re + b.im, b.re - a.im};
  }
  swap_all(n, z, !forward_sign);
  fft(n, z);
  swap_all(n, z, !forward_sign);
  return row % 2 ? z[col].im : z[col].re;
}

/* ordered sums of complex terms a·conj(b). */
typedef struct sums {
  struct {
    struct iso__ordered_f32 re, im;
  } at[MAX_COLUMNS][MAX];
} sums;
static void accumulate(int n, sums *s, const spectrum *a, const spectrum *b) {
  for (int u = 0; u <= n / 2; u++)
    for (int v = 0; v < n; v++) {
      const complex x = a->at[u][v], y = b->at[u][v];
      struct iso__ordered_f32 *re = &s->at[u][v].re, *im = &s->at[u][v].im;
      re->acc = fmaf(x.re, y.re, re->acc), im->acc = fmaf(-x.re, y.im, im->acc);
      re->acc = fmaf(x.im, y.im, re->acc), im->acc = fmaf(x.im, y.re, im->acc);
      iso__ordered_skip_f32(re, 1), iso__ordered_skip_f32(im, 1);
    }
}
static void finish(int n, const sums *s, spectrum *y) {
  for (int u = 0; u <= n / 2; u++)
    for (int v = 0; v < n; v++)
      y->at[u][v] = (complex){iso__ordered_end_f32(&s->at[u][v].re), iso__ordered_end_f32(&s->at[u][v].im)};
}

/* Channel `channel` of the image under tile (row, col) of a sample. */
static iso__fft_source window(const iso__fft_geometry *g, const float *image, int64_t channels, int64_t sample,
                              int64_t row, int64_t col, int64_t channel) {
  const int64_t h = row * g->row.step - g->row.pad, w = col * g->col.step - g->col.pad;
  return (iso__fft_source){.base = image + ((sample * g->row.image + h) * g->col.image + w) * channels + channel,
                           .row_step = g->col.image * channels,
                           .col_step = channels,
                           .rows = iso__fft_image_span(&g->row, g->n, row),
                           .cols = iso__fft_image_span(&g->col, g->n, col)};
}

/* Σ over the image's channels of window × kernel, scaled: forward and, with the kernel turned by 180°, bwd_data. */
static float image_element(const iso_conv_problem *p, int n, const float *image, const float *w, int64_t index) {
  const iso__fft_geometry g = iso__fft_geometry_of(p, n);
  const bool turned = p->head.op == ISO__OP_CONV_BWD_DATA;
  const int64_t channels = g.to * g.groups, to = index % channels, col = index / channels % g.col.outputs,
                row = index / channels / g.col.outputs % g.row.outputs,
                sample = index / channels / g.col.outputs / g.row.outputs;
  const int64_t group = to / g.to, cg = p->c / p->groups;
  sums total = {0};
  spectrum a, b;
  for (int64_t c = 0; c < g.from; c++) {
    const iso__fft_source x =
        window(&g, image, g.from * g.groups, sample, row / g.row.step, col / g.col.step, group * g.from + c);
    const int64_t k = turned ? group * g.from + c : to, inner = turned ? to % g.to : c;
    iso__fft_source kernel = {.base = w + k * p->r * p->s * cg + inner,
                              .row_step = p->s * cg,
                              .col_step = cg,
                              .rows = {0, (int)p->r},
                              .cols = {0, (int)p->s}};
    if (turned) {
      kernel.base += (p->r * p->s - 1) * cg;
      kernel.row_step = -kernel.row_step, kernel.col_step = -kernel.col_step;
    }
    transform(n, &x, &a), transform(n, &kernel, &b);
    accumulate(n, &total, &a, &b);
  }
  finish(n, &total, &a);
  return g.scale * inverse(n, &a, false, (int)(row % g.row.step), (int)(col % g.col.step));
}

static float fwd(const iso_conv_problem *p, int n, const iso_conv_args *a, int64_t index) {
  float y = image_element(p, n, a->x, a->w, index);
  if (p->has_bias) y += ((const float *)a->bias)[index % p->k];
  if (p->has_residual) y += ((const float *)a->residual)[index];
  if (p->activation == ISO__ACTIVATION_RELU) y = y > 0 ? y : y != y ? y : 0;
  return y;
}

/* Σ over (sample, tile row, tile column) of dy's tile × x's window. */
static float bwd_weights(const iso_conv_problem *p, int n, const iso_conv_args *args, int64_t index) {
  const iso__fft_geometry g = iso__fft_geometry_of(p, n);
  const int64_t c = index % g.from, s = index / g.from % p->s, r = index / g.from / p->s % p->r,
                k = index / g.from / p->s / p->r;
  sums total = {0};
  spectrum a, b;
  for (int64_t sample = 0; sample < p->n; sample++)
    for (int64_t i = 0; i < g.row.n_tiles; i++)
      for (int64_t j = 0; j < g.col.n_tiles; j++) {
        const int64_t at = (sample * g.row.outputs + i * g.row.step) * g.col.outputs + j * g.col.step;
        const iso__fft_source dy = {.base = (const float *)args->dy + at * p->k + k,
                                    .row_step = g.col.outputs * p->k,
                                    .col_step = p->k,
                                    .rows = {0, iso__fft_outputs_of(&g.row, i)},
                                    .cols = {0, iso__fft_outputs_of(&g.col, j)}};
        const iso__fft_source x = window(&g, args->x, p->c, sample, i, j, k / g.to * g.from + c);
        transform(n, &dy, &a), transform(n, &x, &b);
        accumulate(n, &total, &a, &b);
      }
  finish(n, &total, &a);
  return g.scale * inverse(n, &a, true, (int)r, (int)s);
}

#define ELEMENTS(N)                                                                                                    \
  const char *iso__conv_fft##N##_applicable(const iso__problem *problem);                                              \
  bool iso__conv_fft##N##_fwd_element(const iso__problem *, const void *, int, int64_t, void *);                       \
  bool iso__conv_fft##N##_bwd_data_element(const iso__problem *, const void *, int, int64_t, void *);                  \
  bool iso__conv_fft##N##_bwd_weights_element(const iso__problem *, const void *, int, int64_t, void *);               \
  const char *iso__conv_fft##N##_applicable(const iso__problem *problem) { return iso__fft_applicable(problem, N); }   \
  bool iso__conv_fft##N##_fwd_element(const iso__problem *problem, const void *args, int operand, int64_t index,       \
                                      void *value) {                                                                   \
    (void)operand;                                                                                                     \
    *(float *)value = fwd((const iso_conv_problem *)problem, N, args, index);                                          \
    return true;                                                                                                       \
  }                                                                                                                    \
  bool iso__conv_fft##N##_bwd_data_element(const iso__problem *problem, const void *args, int operand, int64_t index,  \
                                           void *value) {                                                              \
    (void)operand;                                                                                                     \
    const iso_conv_args *a = args;                                                                                     \
    *(float *)value = image_element((const iso_conv_problem *)problem, N, a->dy, a->w, index);                         \
    return true;                                                                                                       \
  }                                                                                                                    \
  bool iso__conv_fft##N##_bwd_weights_element(const iso__problem *problem, const void *args, int operand,              \
                                              int64_t index, void *value) {                                            \
    (void)operand;                                                                                                     \
    *(float *)value = bwd_weights((const iso_conv_problem *)problem, N, args, index);                                  \
    return true;                                                                                                       \
  }
ISO__FFT_SIZES(ELEMENTS)
