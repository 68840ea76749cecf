/* tiles_impl.h: attention by tiles of 64 queries and blocks of 64 keys, over vec.h; included once per instruction set,
 * which names its exports by ISA(name).
 *
 * Scores lie turned, [key][query], so that a lane is a query: maximum, exp, the tree over a block's 64 keys and every
 * mask are whole vectors without a horizontal step. All products are one loop, c[row][column] = Σ_k
 * a(k,row)·b[k][column], whose left factor is broadcast from wherever it lies, so neither scores nor weights are ever
 * turned back. Head widths up to 256 make each product of q·k and dy·v one chunk.
 *
 * What is absent has weight +0, and +0 times a finite number changes no sum (NUMERICS §2). Blocks that hold an infinity
 * or a NaN beside absent keys are added pair by pair (add_present). */
#ifndef ISO_KERNELS_ATTENTION_TILES_IMPL_H
#define ISO_KERNELS_ATTENTION_TILES_IMPL_H
#include "base/pool.h"
#include "kernels/attention/tiles.h"
#include "kernels/gemm/transpose_impl.h"
#include "numeric/half.h"
#include "numeric/math_f32.h"
#include "numeric/philox.h"
#include "numeric/sigmoid_f32.h"

enum { TILE = ISO__TILE, CHUNK = ISO__TILE_CHUNK, GROUPS = TILE / VF_LANES };
static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- products ---- */

/* Element (k,row) is at[k·k_step + row·row_step]. */
typedef struct left_factor {
  const float *at;
  int64_t k_step, row_step;
} left_factor;
/* Right factor and result: rows `ld` apart. */
typedef struct block {
  float *at;
  int64_t ld;
} block;

#ifdef __AVX512F__
enum { MOST_ROWS = 8 };
#else
enum { MOST_ROWS = 6 };
#endif

VEC_FN void product_tile(const int n_rows, const int n_vectors, left_factor a, block b, block c, int64_t n, bool adds) {
  vf sum[MOST_ROWS][2];
  const float *left[MOST_ROWS];
  UNROLL_16
  for (int r = 0; r < n_rows; r++) {
    left[r] = a.at + r * a.row_step;
    UNROLL_4
    for (int v = 0; v < n_vectors; v++) sum[r][v] = adds ? vf_load(c.at + r * c.ld + v * VF_LANES) : vf_zero();
  }
  for (int64_t k = 0, at = 0; k < n; k++, at += a.k_step) {
    vf right[2];
    UNROLL_4
    for (int v = 0; v < n_vectors; v++) right[v] = vf_load(b.at + k * b.ld + v * VF_LANES);
    UNROLL_16
    for (int r = 0; r < n_rows; r++) {
      const vf x = vf_set1(left[r][at]);
      UNROLL_4
      for (int v = 0; v < n_vectors; v++) sum[r][v] = vf_fma(x, right[v], sum[r][v]);
    }
  }
  UNROLL_16
  for (int r = 0; r < n_rows; r++) UNROLL_4
  for (int v = 0; v < n_vectors; v++) vf_store(c.at + r * c.ld + v * VF_LANES, sum[r][v]);
}

/* c (rows,columns) = or, with `adds`, continues Σ_k a(k,row)·b[k][column], k ascending. Columns: whole vectors. */
static void product(left_factor a, block b, block c, int64_t rows, int64_t columns, int64_t n, bool adds) {
  for (int64_t j = 0; j < columns; j += 2 * VF_LANES, b.at += 2 * VF_LANES, c.at += 2 * VF_LANES) {
    left_factor x = a;
    block y = c;
    int64_t left = rows, step;
    for (; left > 0; left -= step, x.at += step * a.row_step, y.at += step * c.ld) {
#define PART(n_rows)                                                                                                   \
  do {                                                                                                                 \
    step = n_rows;                                                                                                     \
    if (columns - j > VF_LANES) product_tile(n_rows, 2, x, b, y, n, adds);                                             \
    else product_tile(n_rows, 1, x, b, y, n, adds);                                                                    \
  } while (0)
      if (left >= MOST_ROWS) PART(MOST_ROWS);
      else if (left >= 4) PART(4);
      else if (left >= 2) PART(2);
      else PART(1);
#undef PART
    }
  }
}

/* The same sums over the pairs whose bit is set, and no others: bit `row` of bits[k], or, turned, bit k of bits[row].
 */
static void add_present(left_factor a, block b, block c, int64_t rows, int64_t columns, int64_t n, const uint64_t *bits,
                        bool turned) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t k = 0; k < n; k++) {
      if (!((turned ? bits[r] >> k : bits[k] >> r) & 1)) continue;
      const vf x = vf_set1(a.at[k * a.k_step + r * a.row_step]);
      for (int64_t j = 0; j < columns; j += VF_LANES)
        vf_store(c.at + r * c.ld + j, vf_fma(x, vf_load(b.at + k * b.ld + j), vf_load(c.at + r * c.ld + j)));
    }
}

/* ---- rows of operands, widened, in memory of the engine's own ---- */

VEC_FN vf load_some(const void *data, iso_dtype dtype, int64_t at, size_t n) {
  switch (dtype) {
  case ISO_F16: return vf_load_f16_n((const uint16_t *)data + at, n);
  case ISO_BF16: return vf_load_bf16_n((const uint16_t *)data + at, n);
  default: return vf_load_n((const float *)data + at, n);
  }
}
static float load_one(const void *data, iso_dtype dtype, int64_t at) {
  switch (dtype) {
  case ISO_F16: return iso__f32_from_f16(((const uint16_t *)data)[at]);
  case ISO_BF16: return iso__f32_from_bf16(((const uint16_t *)data)[at]);
  default: return ((const float *)data)[at];
  }
}
VEC_FN void store_some(void *data, iso_dtype dtype, int64_t at, vf x, size_t n) {
  switch (dtype) {
  case ISO_F16: vf_store_f16_n((uint16_t *)data + at, x, n); break;
  case ISO_BF16: vf_store_bf16_n((uint16_t *)data + at, x, n); break;
  default: vf_store_n((float *)data + at, x, n);
  }
}

/* Row r of a tile: query r/group of head r%group of those that share one of k and v. */
typedef struct rows {
  const void *data;
  iso_dtype dtype;
  int64_t at, step, columns; /* of the first row, from row to row */
  int64_t group, head_step, first;
} rows;
static rows rows_of(const void *data, iso_dtype dtype, const iso__attention_strides *t, int64_t b, int64_t h,
                    int64_t columns) {
  return (rows){.data = data,
                .dtype = dtype,
                .at = b * t->batch + h * t->head,
                .step = t->row,
                .columns = columns,
                .group = 1,
                .head_step = t->head};
}
static int64_t row_at(const rows *x, int64_t r) {
  if (x->group == 1) return x->at + r * x->step;
  return x->at + r / x->group * x->step + r % x->group * x->head_step;
}

/* Rows first … first + n − 1 to `to`, zeros behind their columns; rows up to `all` are zeros. Returns whether all
 * elements are finite. */
static bool take_rows(const rows *x, int64_t first, int64_t n, int64_t all, block to) {
  vf strange = vf_zero(); /* 0·x: NaN of what is not finite */
  for (int64_t r = 0; r < n; r++) {
    const int64_t at = row_at(x, first + r);
    float *row = to.at + r * to.ld;
    int64_t c = 0;
    for (; c + VF_LANES <= x->columns; c += VF_LANES) {
      const vf v = load_some(x->data, x->dtype, at + c, VF_LANES);
      strange = vf_fma(v, vf_zero(), strange);
      vf_store(row + c, v);
    }
    for (; c < to.ld; c += VF_LANES) {
      const vf v = c < x->columns ? load_some(x->data, x->dtype, at + c, (size_t)(x->columns - c)) : vf_zero();
      strange = vf_fma(v, vf_zero(), strange);
      vf_store(row + c, v);
    }
  }
  if (all > n) memset(to.at + n * to.ld, 0, (size_t)((all - n) * to.ld) * sizeof(float));
  return !vm_any(vf_isnan(strange));
}

/* TILE rows of whole vectors of columns, turned: to[column][row]. */
static void turn_rows(block from, float *to) {
  vf r[VF_LANES];
  for (int64_t c = 0; c < from.ld; c += VF_LANES)
    for (int64_t i = 0; i < TILE; i += VF_LANES) {
      load_transposed(r, from.at + i * from.ld + c, from.ld, VF_LANES);
      UNROLL_16
      for (int q = 0; q < VF_LANES; q++) vf_store(to + (c + q) * TILE + i, r[q]);
    }
}

/* ---- which pairs of a tile are present ---- */

typedef struct tile {
  const iso_attention_problem *p;
  const iso_attention_args *a;
  int64_t b, shared, group; /* rows are of the heads shared·group … + group − 1, or, with group 1, of one head */
  int64_t head;             /* the first of these heads */
  int64_t row, n;           /* rows row … row + n − 1 */
  uint64_t there;           /* bit r: row r sees keys at all */
  int64_t n_keys;           /* no row sees a later one */
  struct philox_stream noise;
} tile;

static int64_t query_of(const tile *t, int64_t r) { return t->group == 1 ? t->row + r : (t->row + r) / t->group; }
static int64_t head_of(const tile *t, int64_t r) { return t->group == 1 ? t->head : t->head + (t->row + r) % t->group; }

static uint64_t first_bits(int64_t n) { return n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1; }

static void tile_init(tile *t, int64_t row, int64_t n) {
  t->row = row, t->n = n, t->there = 0, t->n_keys = 0;
  for (int64_t r = 0; r < n; r++) {
    const int64_t keys = iso__attention_keys(t->p, t->a, t->b, query_of(t, r));
    if (keys > 0) t->there |= UINT64_C(1) << r;
    if (keys > t->n_keys) t->n_keys = keys;
  }
}

/* Bit r of see[j]: row r sees key j0 + j, scores aside. Returns whether all of the tile's rows see all `n` keys. */
static bool tile_sees(const tile *t, int64_t j0, int64_t n, uint64_t *see) {
  const iso_attention_problem *p = t->p;
  const bool diagonal = p->causal && j0 + n - 1 > query_of(t, 0);
  if (!diagonal && t->there == first_bits(t->n) && p->mask != ISO__MASK_BOOL) return true;
  for (int64_t j = 0; j < n; j++) {
    see[j] = t->there;
    if (!diagonal) continue;
    /* Rows below the first that is key j0 + j's query, or later. */
    const int64_t hidden = (j0 + j) * t->group - t->row;
    if (hidden > 0) see[j] &= ~first_bits(hidden);
  }
  if (p->mask != ISO__MASK_BOOL) return false;
  const uint8_t *mask = t->a->mask;
  const bool alike = p->m.row == 0 && (t->group == 1 || p->m.head == 0);
  for (int64_t r = 0; r < (alike ? least(t->n, 1) : t->n); r++) {
    const uint8_t *row = mask + iso__attention_mask_at(p, t->b, head_of(t, r), query_of(t, r), j0);
    for (int64_t j = 0; j < n; j++)
      if (!row[j * p->m.column]) see[j] &= alike ? 0 : ~(UINT64_C(1) << r);
  }
  return false;
}

/* An added mask, turned: to[j][r]. */
static void tile_mask(const tile *t, int64_t j0, int64_t n, float *to) {
  const iso_attention_problem *p = t->p;
  const iso_dtype dtype = (iso_dtype)p->head.dtype;
  const bool alike = p->m.row == 0 && (t->group == 1 || p->m.head == 0);
  for (int64_t r = 0; r < (alike ? least(t->n, 1) : t->n); r++) {
    const int64_t at = iso__attention_mask_at(p, t->b, head_of(t, r), query_of(t, r), j0);
    for (int64_t j = 0; j < n; j++) to[j * TILE + r] = load_one(t->a->mask, dtype, at + j * p->m.column);
  }
  for (int64_t j = 0; j < n && alike; j++)
    for (int64_t r = 1; r < t->n; r++) to[j * TILE + r] = to[j * TILE];
  for (int64_t j = 0; j < n; j++)
    for (int64_t r = t->n; r < TILE; r++) to[j * TILE + r] = 0;
}

/* Bit r of keep[j]: dropout keeps the weight of row r and key j0 + j. */
static void tile_keeps(const tile *t, int64_t j0, int64_t n, uint64_t *keep) {
  const iso_attention_problem *p = t->p;
  const int32_t threshold = philox_drop_threshold(t->a->p);
  for (int64_t j = 0; j < n; j++) keep[j] = 0;
  for (int64_t r = 0; r < t->n; r++) {
    const int64_t first = ((t->b * p->heads + head_of(t, r)) * p->l + query_of(t, r)) * p->s + j0, begin = first / 4;
    _Alignas(64) int32_t words[TILE + 4 + PHILOX_WORDS];
    for (int64_t w = 0; w < first % 4 + n; w += PHILOX_WORDS) {
      vi made[PHILOX_VECTORS];
      philox_elements(&t->noise, (uint32_t)(begin + w / 4), made);
      for (int v = 0; v < PHILOX_VECTORS; v++) vi_store(words + w + v * VF_LANES, made[v]);
    }
    for (int64_t j = 0; j < n; j++)
      keep[j] |= (uint64_t)((int32_t)((uint32_t)words[first % 4 + j] >> 8) >= threshold) << r;
  }
}

VEC_FN vm bits_at(const uint64_t *bits, int64_t j, int g) {
  return vm_from_bits((uint32_t)(bits[j] >> (g * VF_LANES)) & (uint32_t)((UINT64_C(1) << VF_LANES) - 1));
}

/* The workspace, piece by piece, each on a cache line. */
static float *piece(float **workspace, int64_t floats) {
  float *at = *workspace;
  *workspace += (floats + 15) / 16 * 16;
  return at;
}
#endif
