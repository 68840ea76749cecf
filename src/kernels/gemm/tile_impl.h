/* tile_impl.h: the micro-kernels of tile.h; included once by tile_avx2.c (6 × 16) and once by tile_avx512.c (14 × 32).
 *
 * Goto's outer-product kernel: per term, two vectors of B times a broadcast element of each of A's rows. Accumulators
 * are named variables and the fma is inline assembly with the accumulator as addend, because gcc 12 otherwise moves and
 * spills accumulators (65 instead of 97 % of peak). The chunk sum passes through a buffer on the stack to the fold,
 * which is one loop for all tiles: some 30 stores in 3,600 cycles. */
#include <immintrin.h>
#include "kernels/epilogue.h"
#include "kernels/gemm/tile.h"
#include "kernels/gemm/tile_vec.h"
#include "kernels/gemm/transpose_impl.h"

#if WIDTH == 16
enum { MAX_ROWS = 14 };
#  define TILE_ROWS(X)                                                                                                 \
    X(0, r0, 0)                                                                                                        \
    X(1, r0, 1)                                                                                                        \
    X(2, r0, 2)                                                                                                        \
    X(3, r3, 0)                                                                                                        \
    X(4, r3, 1)                                                                                                        \
    X(5, r3, 2) X(6, r6, 0) X(7, r6, 1) X(8, r6, 2) X(9, r9, 0) X(10, r9, 1) X(11, r9, 2) X(12, r12, 0) X(13, r12, 1)
#else
enum { MAX_ROWS = 6 };
#  define TILE_ROWS(X) X(0, r0, 0) X(1, r0, 1) X(2, r0, 2) X(3, r3, 0) X(4, r3, 1) X(5, r3, 2)
#endif

/* ---- the fold ---- */

INLINE vec load_part(const float *x, bool full, vec_mask mask) { return full ? vec_load(x) : vec_load_masked(x, mask); }
INLINE void store_part(float *x, vec v, bool full, vec_mask mask) {
  if (full) vec_store(x, v);
  else vec_store_masked(x, v, mask);
}

typedef struct columns {
  int rows;
  int64_t ld_acc;
  const float *acc;
  int64_t j; /* first column of this vector within the tile */
  vec_mask mask;
} columns;

INLINE const float *waiting_of(const iso__fold *f) { return f->from ? f->from : f->panel; }
INLINE int64_t ld_waiting_of(const iso__fold *f) { return f->from ? f->ld_from : f->ld_panel; }

/* dst = ([total +] ([panel or +0] + acc)), one vector wide. */
INLINE void fold_sum(bool full, bool with_panel, bool with_total, const columns *q, const iso__fold *f, float *dst,
                     int64_t ld) {
  const float *from = waiting_of(f);
  const int64_t ld_from = ld_waiting_of(f);
  for (int64_t i = 0; i < q->rows; i++) {
    vec x = vec_load(q->acc + i * q->ld_acc + q->j);
    x = vec_add(with_panel ? load_part(from + i * ld_from + q->j, full, q->mask) : vec_zero(), x);
    if (with_total) x = vec_add(load_part(f->total + i * f->ld_total + q->j, full, q->mask), x);
    store_part(dst + i * ld + q->j, x, full, q->mask);
  }
}

/* Elements i … of what the epilogue reads or writes: a vector, or its first n. */
INLINE vec load_elements(const void *x, int64_t i, uint8_t dtype, bool full, int n, vec_mask mask) {
  const uint16_t *half = (const uint16_t *)x + i;
  if (dtype == ISO_F16) return full ? vf_load_f16(half) : vf_load_f16_n(half, (size_t)n);
  if (dtype == ISO_BF16) return full ? vf_load_bf16(half) : vf_load_bf16_n(half, (size_t)n);
  return load_part((const float *)x + i, full, mask);
}
INLINE void store_elements(void *x, int64_t i, uint8_t dtype, vec v, bool full, int n, vec_mask mask) {
  uint16_t *half = (uint16_t *)x + i;
  if (dtype == ISO_F16) vf_store_f16_n(half, v, full ? WIDTH : (size_t)n);
  else if (dtype == ISO_BF16) vf_store_bf16_n(half, v, full ? WIDTH : (size_t)n);
  else store_part((float *)x + i, v, full, mask);
}

/* One vector of row i of the tile, from column j on: c's element `at`. */
INLINE void finish(bool full, int n, vec_mask mask, vec x, const iso__epilogue *e, void *c, int64_t at, int64_t i,
                   int64_t j) {
#define ELEMENTS(operand, index) load_elements(operand, index, e->dtype, full, n, mask)
  if (e->has_alpha) x = vec_mul(vec_set1(e->alpha), x);
  if (e->has_beta) x = vec_add(x, vec_mul(vec_set1(e->beta), ELEMENTS(c, at)));
  if (e->bias) x = vec_add(x, ELEMENTS(e->bias, j));
  if (e->residual) x = vec_add(x, ELEMENTS(e->residual, i * e->ld_residual + j));
  if (e->has_scale) x = vec_mul(x, vec_set1(e->scale));
#undef ELEMENTS
  store_elements(c, at, e->dtype, iso__activate(x, e->activation), full, n, mask);
}

INLINE void fold_epilogue(bool full, const columns *q, const iso__fold *f) {
  const float *from = waiting_of(f);
  const int64_t ld_from = ld_waiting_of(f);
  for (int64_t i = 0; i < q->rows; i++) {
    vec x = vec_load(q->acc + i * q->ld_acc + q->j);
    x = vec_add(f->first_chunk ? vec_zero() : load_part(from + i * ld_from + q->j, full, q->mask), x);
    if (!f->first_panel) x = vec_add(load_part(f->total + i * f->ld_total + q->j, full, q->mask), x);
    finish(full, f->columns - (int)q->j, q->mask, x, f->epilogue, f->c, i * f->ldc + q->j, i, q->j);
  }
}

static void finish_row(const float *t, float *c, int64_t n, const iso__epilogue *e) {
  int64_t j = 0;
  for (; j + WIDTH <= n; j += WIDTH) finish(true, WIDTH, vec_mask_first(0), vec_load(t + j), e, c, j, 0, j);
  if (j == n) return;
  const int left = (int)(n - j);
  const vec_mask mask = vec_mask_first(left);
  finish(false, left, mask, vec_load_masked(t + j, mask), e, c, j, 0, j);
}

INLINE void fold_columns(bool full, const columns *q, const iso__fold *f) {
  if (f->last_chunk && f->last_panel && f->epilogue) {
    fold_epilogue(full, q, f);
    return;
  }
  float *dst = !f->last_chunk ? f->panel : !f->last_panel ? f->total : f->c;
  const int64_t ld = !f->last_chunk ? f->ld_panel : !f->last_panel ? f->ld_total : f->ldc;
  const bool with_total = f->last_chunk && !f->first_panel;
  if (f->first_chunk) {
    if (with_total) fold_sum(full, false, true, q, f, dst, ld);
    else fold_sum(full, false, false, q, f, dst, ld);
  } else {
    if (with_total) fold_sum(full, true, true, q, f, dst, ld);
    else fold_sum(full, true, false, q, f, dst, ld);
  }
}

static void fold_tile(int rows, int vectors, const float *acc, const iso__fold *f) {
  columns q = {.rows = rows, .ld_acc = vectors * WIDTH, .acc = acc};
  for (int v = 0; v < vectors; v++) {
    q.j = v * WIDTH;
    const int valid = f->columns - v * WIDTH;
    if (valid >= WIDTH) fold_columns(true, &q, f);
    else if (valid > 0) {
      q.mask = vec_mask_first(valid);
      fold_columns(false, &q, f);
    }
  }
}

/* What the fold will read is on its way while the products run. */
INLINE void prefetch_rows(int rows, int vectors, const float *x, int64_t ld) {
  for (int64_t i = 0; i < rows; i++) {
    __builtin_prefetch(x + i * ld, 1, 3);
    if (vectors * WIDTH > 16) __builtin_prefetch(x + i * ld + 16, 1, 3);
  }
}

/* ---- the products ---- */

#define DECLARE(i, base, m) vec c##i = vec_zero(), d##i = c##i;
#define STEP(i, base, m)                                                                                               \
  if (rows > i) {                                                                                                      \
    const vec x = vec_set1(by_row ? base[m * a_step] : r0[i]);                                                         \
    VEC_FMA(c##i, x, b0);                                                                                              \
    if (vectors > 1) VEC_FMA(d##i, x, b1);                                                                             \
  }
#define TERM                                                                                                           \
  const vec b0 = vec_load(b), b1 = vectors > 1 ? vec_load(b + WIDTH) : b0;                                             \
  TILE_ROWS(STEP)                                                                                                      \
  b += b_step;                                                                                                         \
  if (by_row) r0++, r3++, r6++, r9++, r12++;                                                                           \
  else r0 += a_step;
#define STORE(i, base, m)                                                                                              \
  if (rows > i) {                                                                                                      \
    vec_store(acc + i * vectors * WIDTH, c##i);                                                                        \
    if (vectors > 1) vec_store(acc + i * vectors * WIDTH + WIDTH, d##i);                                               \
  }
#define STORE_FIRST(i, base, m)                                                                                        \
  if (rows > i) {                                                                                                      \
    vec_store(to + i * ld_to, vec_add(zero, c##i));                                                                    \
    if (vectors > 1) vec_store(to + i * ld_to + WIDTH, vec_add(zero, d##i));                                           \
  }
#define STORE_NEXT(i, base, m)                                                                                         \
  if (rows > i) {                                                                                                      \
    vec_store(to + i * ld_to, vec_add(vec_load(from + i * ld_from), c##i));                                            \
    if (vectors > 1) vec_store(to + i * ld_to + WIDTH, vec_add(vec_load(from + i * ld_from + WIDTH), d##i));           \
  }

/* The folds of most tiles: a whole tile's chunk sum goes into its panel sum and nothing more happens. */
INLINE bool fold_is_plain(int vectors, const iso__fold *f) {
  return f->columns >= vectors * WIDTH && (!f->last_chunk || (f->first_panel && !(f->last_panel && f->epilogue)));
}

INLINE void tile(const int rows, const int vectors, const bool by_row, int64_t k, const float *a, int64_t a_step,
                 const float *b, int64_t b_step, const iso__fold *f) {
  if (!f->first_chunk) prefetch_rows(rows, vectors, waiting_of(f), ld_waiting_of(f));
  if (f->last_chunk && !f->first_panel) prefetch_rows(rows, vectors, f->total, f->ld_total);
  TILE_ROWS(DECLARE)
  const float *r0 = a, *r3 = a + 3 * a_step, *r6 = a + 6 * a_step, *r9 = a + 9 * a_step, *r12 = a + 12 * a_step;
  (void)r3, (void)r6, (void)r9, (void)r12; /* unused by strips, the last ones by small tiles too */
  const char *ahead = f->ahead ? f->ahead : (const char *)b;
  const int64_t ahead_step = f->ahead ? f->ahead_step : 0;
  int64_t p = k;
  for (; p >= 4; p -= 4) {
    __builtin_prefetch(ahead, 0, 2);
    ahead += ahead_step;
    UNROLL_4
    for (int u = 0; u < 4; u++) { TERM }
  }
  for (; p > 0; p--) { TERM }
  if (fold_is_plain(vectors, f)) {
    float *to = !f->last_chunk ? f->panel : !f->last_panel ? f->total : f->c;
    const int64_t ld_to = !f->last_chunk ? f->ld_panel : !f->last_panel ? f->ld_total : f->ldc;
    const float *from = waiting_of(f);
    const int64_t ld_from = ld_waiting_of(f);
    const vec zero = vec_zero();
    if (f->first_chunk) {
      TILE_ROWS(STORE_FIRST)
    } else {
      TILE_ROWS(STORE_NEXT)
    }
    return;
  }
  _Alignas(64) float acc[MAX_ROWS * ISO__TILE_MAX_VECTORS * WIDTH];
  TILE_ROWS(STORE)
  fold_tile(rows, vectors, acc, f);
}

#define TILE(ROWS, VECTORS)                                                                                            \
  static void strip_##ROWS##x##VECTORS(int64_t k, const float *a, int64_t a_step, const float *b, int64_t b_step,      \
                                       const iso__fold *f) {                                                           \
    tile(ROWS, VECTORS, false, k, a, a_step, b, b_step, f);                                                            \
  }                                                                                                                    \
  static void row_##ROWS##x##VECTORS(int64_t k, const float *a, int64_t a_step, const float *b, int64_t b_step,        \
                                     const iso__fold *f) {                                                             \
    tile(ROWS, VECTORS, true, k, a, a_step, b, b_step, f);                                                             \
  }
#if WIDTH == 16
#  define TILE_SIZES(X, V)                                                                                             \
    X(1, V) X(2, V) X(3, V) X(4, V) X(5, V) X(6, V) X(7, V) X(8, V) X(9, V) X(10, V) X(11, V) X(12, V) X(13, V) X(14, V)
#else
#  define TILE_SIZES(X, V) X(1, V) X(2, V) X(3, V) X(4, V) X(5, V) X(6, V)
#endif
TILE_SIZES(TILE, 1)
TILE_SIZES(TILE, 2)
#define STRIP_ENTRY(ROWS, VECTORS) [VECTORS][ROWS] = strip_##ROWS##x##VECTORS,
#define ROW_ENTRY(ROWS, VECTORS) [VECTORS][ROWS] = row_##ROWS##x##VECTORS,

#include "kernels/gemm/pack_impl.h"

const iso__tiles TILES_NAME = {
    .width = WIDTH,
    .max_rows = MAX_ROWS,
    .strip = {TILE_SIZES(STRIP_ENTRY, 1) TILE_SIZES(STRIP_ENTRY, 2)},
    .row = {TILE_SIZES(ROW_ENTRY, 1) TILE_SIZES(ROW_ENTRY, 2)},
    .pack_transposing = pack_transposing,
    .pack_copying = pack_copying,
    .finish = finish_row,
    .fold = fold_tile,
};
