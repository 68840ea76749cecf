/* product_impl.h: for each frequency a complex matrix product, rows of scalars times blocks of lanes (fft.h).
 *
 * Per term a row costs two broadcasts and four fma, and a block two loads: near the fma peak from four rows on. As in
 * gemm/tile_impl.h the fma is inline assembly and accumulators are named, because gcc 12 otherwise spills them. */
#include "kernels/conv/fft/lines_impl.h"
#include "kernels/gemm/tile_vec.h"

#if WIDTH == 16
#  define VEC_FNMA(acc, a, b) __asm__("vfnmadd231ps %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b))
enum { MAX_ROWS = 12 };
#  define PRODUCT_ROWS(X)                                                                                              \
    X(0, r0, 0)                                                                                                        \
    X(1, r0, 1)                                                                                                        \
    X(2, r0, 2)                                                                                                        \
    X(3, r3, 0) X(4, r3, 1) X(5, r3, 2) X(6, r6, 0) X(7, r6, 1) X(8, r6, 2) X(9, r9, 0) X(10, r9, 1) X(11, r9, 2)
#  define ROW_COUNTS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)
#else
#  define VEC_FNMA(acc, a, b) __asm__("vfnmadd231ps %2, %1, %0" : "+x"(acc) : "x"(a), "x"(b))
enum { MAX_ROWS = 6 };
#  define PRODUCT_ROWS(X) X(0, r0, 0) X(1, r0, 1) X(2, r0, 2) X(3, r3, 0) X(4, r3, 1) X(5, r3, 2)
#  define ROW_COUNTS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#endif

/* What tiles of one product have in common. */
typedef struct terms {
  int64_t a_row, c_row, n, a_term, a_im;
  bool resume, fold;
} terms;

#define BEGIN(i, base, m)                                                                                              \
  vf re##i = vf_zero(), im##i = re##i;                                                                                 \
  if (rows > i && t->resume) re##i = vf_load(c + i * t->c_row), im##i = vf_load(c + i * t->c_row + LANES);
#define TERM(i, base, m)                                                                                               \
  if (rows > i) {                                                                                                      \
    const vf a_re = vf_set1(base[m * a_row]);                                                                          \
    VEC_FMA(re##i, a_re, b_re);                                                                                        \
    VEC_FNMA(im##i, a_re, b_im);                                                                                       \
    const vf a_im = vf_set1(base##_im[m * a_row]);                                                                     \
    VEC_FMA(re##i, a_im, b_im);                                                                                        \
    VEC_FMA(im##i, a_im, b_re);                                                                                        \
  }
#define END(i, base, m)                                                                                                \
  if (rows > i) {                                                                                                      \
    vf_store(c + i * t->c_row, t->fold ? vf_add(vf_zero(), re##i) : re##i);                                            \
    vf_store(c + i * t->c_row + LANES, t->fold ? vf_add(vf_zero(), im##i) : im##i);                                    \
  }

/* Sums start from `c` if `resume`, else from +0. */
VEC_FN void product_rows(const int rows, const terms *t, const float *a, const float *b, float *c) {
  const int64_t a_row = t->a_row, a_term = t->a_term;
  PRODUCT_ROWS(BEGIN)
  const float *r0 = a, *r3 = r0 + 3 * a_row, *r6 = r3 + 3 * a_row, *r9 = r6 + 3 * a_row;
  const float *r0_im = r0 + t->a_im, *r3_im = r3 + t->a_im, *r6_im = r6 + t->a_im, *r9_im = r9 + t->a_im;
  (void)r3, (void)r6, (void)r9, (void)r3_im, (void)r6_im, (void)r9_im; /* unused by small tiles */
  for (const float *const end = b + t->n * UNIT; b < end; b += UNIT) {
    const vf b_re = vf_load(b), b_im = vf_load(b + LANES);
    PRODUCT_ROWS(TERM)
    r0 += a_term, r3 += a_term, r6 += a_term, r9 += a_term;
    r0_im += a_term, r3_im += a_term, r6_im += a_term, r9_im += a_term;
  }
  PRODUCT_ROWS(END)
}

#define PRODUCT(ROWS)                                                                                                  \
  static void product_##ROWS(const terms *t, const float *a, const float *b, float *c) {                               \
    product_rows(ROWS, t, a, b, c);                                                                                    \
  }
ROW_COUNTS(PRODUCT)
#define PRODUCT_ENTRY(ROWS) [ROWS] = product_##ROWS,
static void (*const product_of[MAX_ROWS + 1])(const terms *, const float *, const float *,
                                              float *) = {ROW_COUNTS(PRODUCT_ENTRY)};

/* More terms than a chunk: chunk sums, panels of four, their total. */
static void product_chunks(int rows, const iso__fft_product *g, const float *a, const float *b, float *c) {
  _Alignas(64) float chunk[MAX_ROWS * UNIT], panel[MAX_ROWS * UNIT], total[MAX_ROWS * UNIT];
  terms t = {.a_row = g->a_row, .c_row = UNIT, .a_term = g->a_term, .a_im = g->a_im};
  for (int i = 0; i < rows * UNIT; i++) panel[i] = total[i] = 0;
  for (int64_t first = 0; first < g->n_terms; first += ISO__CHUNK) {
    t.n = g->n_terms - first < ISO__CHUNK ? g->n_terms - first : ISO__CHUNK;
    product_of[rows](&t, a + first * g->a_term, b + first * UNIT, chunk);
    for (int i = 0; i < rows * UNIT; i++) panel[i] = panel[i] + chunk[i];
    if ((first + ISO__CHUNK) % ISO__PANEL) continue;
    for (int i = 0; i < rows * UNIT; i++) total[i] = total[i] + panel[i], panel[i] = 0;
  }
  for (int r = 0; r < rows; r++)
    for (int i = 0; i < UNIT; i++) c[r * g->c_row + i] = total[r * UNIT + i] + panel[r * UNIT + i];
}

static void product_block(const iso__fft_product *g, const float *a, const float *b, float *c) {
  const int64_t n_parts = (g->n_rows + MAX_ROWS - 1) / MAX_ROWS;
  const terms t = {.a_row = g->a_row,
                   .c_row = g->c_row,
                   .n = g->n_terms,
                   .a_term = g->a_term,
                   .a_im = g->a_im,
                   .resume = g->resume,
                   .fold = !g->raw};
  for (int64_t part = 0, row = 0; part < n_parts; part++) {
    const int64_t end = g->n_rows * (part + 1) / n_parts;
    if (g->n_terms > ISO__CHUNK) product_chunks((int)(end - row), g, a + row * g->a_row, b, c + row * g->c_row);
    else product_of[end - row](&t, a + row * g->a_row, b, c + row * g->c_row);
    row = end;
  }
}

static void product(const iso__fft_product *g, int64_t f0, int64_t f1) {
  for (int64_t f = f0; f < f1; f++)
    for (int64_t l = 0; l < g->n_lane_blocks; l++)
      product_block(g, g->a + f * g->a_frequency, g->b + f * g->b_frequency + l * g->b_block,
                    g->c + f * g->c_frequency + l * UNIT);
}
