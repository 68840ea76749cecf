/* tiles_impl.h: two-dimensional transforms of N×N windows of one block of channels, for each N: rows two at a time as
 * one complex row, then the N/2 + 1 columns that a real tile needs; and back. */
#include "kernels/conv/fft/lines_impl.h"

/* Row spectra lie column by column; here with one unit between columns against cache set conflicts. */
VEC_FN int64_t column_step(int n) { return (int64_t)(n + 1) * UNIT; }

/* Where known zeros begin, in whole groups of a first pass's inputs. */
VEC_FN int live_end(int n, const iso__fft_span *s) {
  const int group = iso__fft_second_radix(n), end = s->end > s->first ? s->end : 1;
  return (end + group - 1) / group * group;
}

/* One real row into every other half unit of a line. */
VEC_FN void read_row(int n, const iso__fft_source *s, int row, float *to) {
  const vf zero = vf_zero();
  const bool absent = row < s->rows.first || row >= s->rows.end;
  const int first = absent ? n : s->cols.first, end = absent ? n : s->cols.end;
  const float *from = s->base + row * s->row_step;
  int j = 0;
  for (; j < n && j < first; j++) vf_store(to + j * UNIT, zero);
  if (s->n_lanes >= LANES)
    for (; j < end; j++) vf_store(to + j * UNIT, vf_load(from + j * s->col_step));
  else
    for (; j < end; j++) vf_store(to + j * UNIT, vf_load_n(from + j * s->col_step, (size_t)s->n_lanes));
  for (; j < n; j++) vf_store(to + j * UNIT, zero);
}

/* Rows 2i and 2i + 1 of the scratch's columns from their common transform z. */
VEC_FN void separate(int n, const float *z, float *to, int64_t step) {
  for (int u = 0; u <= n / 2; u++, to += step) {
    const float *pa = z + u * UNIT, *pb = z + (u ? n - u : 0) * UNIT;
    const vf a_re = vf_load(pa), a_im = vf_load(pa + LANES), b_re = vf_load(pb), b_im = vf_load(pb + LANES);
    vf_store(to, vf_add(a_re, b_re));
    vf_store(to + LANES, vf_sub(a_im, b_im));
    vf_store(to + UNIT, vf_add(a_im, b_im));
    vf_store(to + UNIT + LANES, vf_sub(b_re, a_re));
  }
}
VEC_FN void clear_rows(int n, float *to, int64_t step) {
  for (int u = 0; u <= n / 2; u++, to += step)
    for (int i = 0; i < 2 * UNIT; i += LANES) vf_store(to + i, vf_zero());
}

/* Spectra of the window's first n_rows rows: row i of column u at to[u·step + i·UNIT]. */
VEC_FN void transform_rows(int n, const iso__fft_source *s, int n_rows, float *to, int64_t step) {
  _Alignas(64) float z[ISO__FFT_MAX * UNIT];
  const line row = line_at(z, UNIT);
  const int n_in = live_end(n, &s->cols);
  for (int i = 0; i < n_rows; i += 2) {
    if (i + 1 < s->rows.first || i >= s->rows.end || s->rows.first >= s->rows.end) {
      clear_rows(n, to + i * UNIT, step);
      continue;
    }
    read_row(n_in, s, i, z);
    read_row(n_in, s, i + 1, z + LANES);
    fft(n, n_in, n, row, row);
    separate(n, z, to + i * UNIT, step);
  }
}

VEC_FN void transform(int n, const iso__fft_source *s, float *scratch, float *out, int64_t f_step) {
  const int n_in = live_end(n, &s->rows);
  transform_rows(n, s, n_in, scratch, column_step(n));
  for (int u = 0; u <= n / 2; u++)
    fft(n, n_in, n, line_at(scratch + u * column_step(n), UNIT), line_at(out + u * n * f_step, f_step));
}

/* The common row of rows 2i and 2i + 1, the opposite of `separate`. */
VEC_FN void unite(int n, const float *from, int64_t step, const line *z) {
  for (int u = 0; u <= n / 2; u++, from += step) {
    const vf a_re = vf_load(from), a_im = vf_load(from + LANES), b_re = vf_load(from + UNIT),
             b_im = vf_load(from + UNIT + LANES);
    line_store(z, u, (complex){vf_sub(a_re, b_im), vf_add(a_im, b_re)});
    if (u && 2 * u < n) line_store(z, n - u, (complex){vf_add(a_re, b_im), vf_sub(b_re, a_im)});
  }
}

VEC_FN void store_row(const iso__fft_sink *s, int row, const float *from) {
  const size_t n = (size_t)s->n_lanes;
  const int64_t begin = row * s->row_step;
  const vf scale = vf_set1(s->scale), bias = s->bias ? vf_load_n(s->bias, n) : vf_zero();
  for (int j = 0; j < s->n_cols; j++, from += UNIT) {
    const int64_t at = begin + j * s->col_step;
    vf y = vf_mul(scale, vf_load(from));
    if (s->bias) y = vf_add(y, bias);
    if (s->residual) y = vf_add(y, vf_load_n(s->residual + at, n));
    if (s->relu) y = vf_relu(y);
    if (n >= LANES) vf_store(s->base + at, y);
    else vf_store_n(s->base + at, y, n);
  }
}

/* An inverse transform by a forward one: of a conjugate spectrum it is one already. */
VEC_FN line line_inverse(float *units, int64_t step, bool forward_sign) {
  return forward_sign ? line_at(units, step) : line_swapped(units, step);
}

VEC_FN void inverse_rows(int n, const float *rows, int64_t step, bool forward_sign, const iso__fft_sink *sink) {
  _Alignas(64) float z[ISO__FFT_MAX * UNIT];
  const line row = line_at(z, UNIT), way = line_inverse(z, UNIT, forward_sign);
  for (int i = 0; i < sink->n_rows; i += 2) {
    unite(n, rows + i * UNIT, step, &row);
    fft(n, n, sink->n_cols, way, way);
    store_row(sink, i, z);
    if (i + 1 < sink->n_rows) store_row(sink, i + 1, z + LANES);
  }
}

/* Rows come in pairs. */
VEC_FN int even_rows(const iso__fft_sink *sink) { return sink->n_rows + sink->n_rows % 2; }

VEC_FN void inverse(int n, const float *spectrum, int64_t f_step, bool forward_sign, float *scratch,
                    const iso__fft_sink *sink) {
  float *const from = (float *)(uintptr_t)spectrum; /* only read */
  const int n_out = even_rows(sink);
  for (int u = 0; u <= n / 2; u++)
    fft(n, n, n_out, line_inverse(from + u * n * f_step, f_step, forward_sign),
        line_inverse(scratch + u * column_step(n), UNIT, forward_sign));
  inverse_rows(n, scratch, column_step(n), forward_sign, sink);
}

/* One term: a·conj(b), folded. */
VEC_FN complex c_product(complex a, complex b) {
  const vf zero = vf_zero();
  const vf re = vf_fma(a.im, b.im, vf_fma(a.re, b.re, zero)), im = vf_fma(a.im, b.re, vf_fnma(a.re, b.im, zero));
  return (complex){vf_add(zero, re), vf_add(zero, im)};
}

VEC_FN void pointwise(int n, const iso__fft_source *source, const float *kernel, float *scratch,
                      const iso__fft_sink *sink) {
  _Alignas(64) float z[ISO__FFT_MAX * UNIT];
  const line column = line_at(z, UNIT);
  const int n_in = live_end(n, &source->rows), n_out = even_rows(sink);
  transform_rows(n, source, n_in, scratch, column_step(n));
  for (int u = 0; u <= n / 2; u++) {
    float *const rows = scratch + u * column_step(n);
    const line of_kernel = line_of(kernel + u * n * UNIT, UNIT);
    fft(n, n_in, n, line_at(rows, UNIT), column);
    for (int v = 0; v < n; v++) line_store(&column, v, c_product(line_load(&column, v), line_load(&of_kernel, v)));
    fft(n, n, n_out, line_swapped(z, UNIT), line_swapped(rows, UNIT));
  }
  inverse_rows(n, scratch, column_step(n), false, sink);
}

/* One column of many items, whose rows lie n_in units apart. */
VEC_FN void columns(int n, const float *rows, int n_in, int64_t n_items, int64_t planes, float *out, int64_t f_step) {
  for (int64_t i = 0; i < n_items; i += planes, out += planes * UNIT)
    for (int64_t plane = 0; plane < planes; plane++, rows += n_in * UNIT) {
      const line to = {.re = out + plane * LANES, .im = out + (planes + plane) * LANES, .step = f_step};
      fft(n, n_in, n, line_of(rows, UNIT), to);
    }
}
VEC_FN void inverse_columns(int n, const float *spectra, int64_t f_step, bool forward_sign, int64_t n_items,
                            float *rows, int n_out) {
  float *const from = (float *)(uintptr_t)spectra; /* only read */
  for (int64_t i = 0; i < n_items; i++) /* outputs come in groups: those beyond n_out lie where the next item goes */
    fft(n, n, n_out, line_inverse(from + i * UNIT, f_step, forward_sign),
        line_inverse(rows + i * n_out * UNIT, UNIT, forward_sign));
}

#define TILE_KERNELS(N)                                                                                                \
  static void transform_##N(const iso__fft_source *source, float *scratch, float *out, int64_t f_step) {               \
    transform(N, source, scratch, out, f_step);                                                                        \
  }                                                                                                                    \
  static void inverse_##N(const float *spectrum, int64_t f_step, bool forward_sign, float *scratch,                    \
                          const iso__fft_sink *sink) {                                                                 \
    inverse(N, spectrum, f_step, forward_sign, scratch, sink);                                                         \
  }                                                                                                                    \
  static void pointwise_##N(const iso__fft_source *source, const float *kernel, float *scratch,                        \
                            const iso__fft_sink *sink) {                                                               \
    pointwise(N, source, kernel, scratch, sink);                                                                       \
  }                                                                                                                    \
  static void rows_##N(const iso__fft_source *source, int n_rows, float *to, int64_t step) {                           \
    transform_rows(N, source, n_rows, to, step);                                                                       \
  }                                                                                                                    \
  static void columns_##N(const float *rows, int n_in, int64_t n_items, int64_t planes, float *out, int64_t f_step) {  \
    columns(N, rows, n_in, n_items, planes, out, f_step);                                                              \
  }                                                                                                                    \
  static void inverse_columns_##N(const float *spectra, int64_t f_step, bool forward_sign, int64_t n_items,            \
                                  float *rows, int n_out) {                                                            \
    inverse_columns(N, spectra, f_step, forward_sign, n_items, rows, n_out);                                           \
  }                                                                                                                    \
  static void results_##N(const float *rows, int64_t step, bool forward_sign, const iso__fft_sink *sink) {             \
    inverse_rows(N, rows, step, forward_sign, sink);                                                                   \
  }
ISO__FFT_SIZES(TILE_KERNELS)
#define TILE_ENTRY(N)                                                                                                  \
  {transform_##N, inverse_##N, pointwise_##N, rows_##N, columns_##N, inverse_columns_##N, results_##N},

static void accumulate(float *sum, const float *a, const float *b, int64_t n_units) {
  for (int64_t i = 0; i < n_units; i++, sum += UNIT, a += UNIT, b += UNIT) {
    const vf a_re = vf_load(a), a_im = vf_load(a + LANES), b_re = vf_load(b), b_im = vf_load(b + LANES);
    vf_store(sum, vf_fma(a_im, b_im, vf_fma(a_re, b_re, vf_load(sum))));
    vf_store(sum + LANES, vf_fma(a_im, b_re, vf_fnma(a_re, b_im, vf_load(sum + LANES))));
  }
}
