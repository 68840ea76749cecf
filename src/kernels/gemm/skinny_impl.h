/* skinny_impl.h: engine `gemm_skinny`: C has at most 8 rows; included by skinny_avx2.c and skinny_avx512.c.
 *
 * Every element of B is used once a row of C, so nothing is worth packing: vectors run over the columns of C, B is read
 * where it lies, once, and the sums of a strip stay in registers for a chunk. B stored (k,n): a strip is up to eight
 * vectors wide, which hides the fma's latency; stored (n,k): squares of B are transposed in registers. Running sums
 * wait on the stack, so there is no workspace. */
#include "base/context.h"
#include "kernels/gemm/nest.h"
#include "kernels/gemm/skinny.h"
#include "kernels/gemm/tile_vec.h"
#include "kernels/gemm/transpose_impl.h"

enum { MAX_ROWS = ISO__SKINNY_MAX_ROWS, MAX_VECTORS = 8, MAX_SUMS = 24 };

/* A for one chunk: element (i, p) is a[i·row + p·term]. */
typedef struct left {
  const float *a;
  int64_t row, term;
} left;

/* sums (rows, vectors·WIDTH) of k terms; b: the strip, rows ld apart. `masked`: the last vector is read in part. */
INLINE void products_plain(const int rows, const int vectors, const bool masked, vec_mask mask, int64_t k,
                           const left *l, const float *b, int64_t ld, float *sums) {
  vec s[MAX_SUMS];
  UNROLL_32
  for (int i = 0; i < rows * vectors; i++) s[i] = vec_zero();
  const float *a = l->a;
  UNROLL_4
  for (int64_t p = 0; p < k; p++, a += l->term, b += ld) {
    vec x[MAX_ROWS];
    UNROLL_16
    for (int i = 0; i < rows; i++) x[i] = vec_set1(a[i * l->row]);
    UNROLL_16
    for (int v = 0; v < vectors; v++) {
      const vec y = masked && v == vectors - 1 ? vec_load_masked(b + v * WIDTH, mask) : vec_load(b + v * WIDTH);
      UNROLL_16
      for (int i = 0; i < rows; i++) VEC_FMA(s[i * vectors + v], x[i], y);
    }
  }
  UNROLL_32
  for (int i = 0; i < rows * vectors; i++) vec_store(sums + i * WIDTH, s[i]);
}

/* The same for B stored (n,k): b's lines are columns of C, ld apart; all vectors·WIDTH of them exist. */
INLINE void products_transposing(const int rows, const int vectors, int64_t k, const left *l, const float *b,
                                 int64_t ld, float *sums) {
  vec s[MAX_SUMS];
  UNROLL_32
  for (int i = 0; i < rows * vectors; i++) s[i] = vec_zero();
  int64_t p = 0;
  for (; p + WIDTH <= k; p += WIDTH) {
    UNROLL_16
    for (int v = 0; v < vectors; v++) {
      vec y[WIDTH];
      load_transposed(y, b + v * WIDTH * ld + p, ld, WIDTH);
      UNROLL_16
      for (int q = 0; q < WIDTH; q++) {
        UNROLL_16
        for (int i = 0; i < rows; i++)
          VEC_FMA(s[i * vectors + v], vec_set1(l->a[i * l->row + (p + q) * l->term]), y[q]);
      }
    }
  }
  if (p < k)
    for (int v = 0; v < vectors; v++) {
      vec y[WIDTH];
      load_transposed_part(y, b + v * WIDTH * ld + p, ld, WIDTH, (int)(k - p));
      for (int q = 0; q < k - p; q++)
        for (int i = 0; i < rows; i++)
          VEC_FMA(s[i * vectors + v], vec_set1(l->a[i * l->row + (p + q) * l->term]), y[q]);
    }
  UNROLL_32
  for (int i = 0; i < rows * vectors; i++) vec_store(sums + i * WIDTH, s[i]);
}

typedef void plain_fn(int64_t k, const left *l, const float *b, int64_t ld, float *sums);
typedef void part_fn(vec_mask mask, int64_t k, const left *l, const float *b, int64_t ld, float *sums);
#define PLAIN(R, V)                                                                                                    \
  static void plain_##R##x##V(int64_t k, const left *l, const float *b, int64_t ld, float *sums) {                     \
    products_plain(R, V, false, vec_mask_first(0), k, l, b, ld, sums);                                                 \
  }
#define PART(R)                                                                                                        \
  static void part_##R(vec_mask mask, int64_t k, const left *l, const float *b, int64_t ld, float *sums) {             \
    products_plain(R, 1, true, mask, k, l, b, ld, sums);                                                               \
  }
#define TRANSPOSING(R, V)                                                                                              \
  static void transposing_##R##x##V(int64_t k, const left *l, const float *b, int64_t ld, float *sums) {               \
    products_transposing(R, V, k, l, b, ld, sums);                                                                     \
  }
#define EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define EACH_ROWS_1(X) X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(6, 1) X(7, 1) X(8, 1)
#if WIDTH == 16 /* sums, A's elements and a vector of B in 32 registers; 16 of a square of B when transposing */
#  define EACH_PLAIN(X)                                                                                                \
    EACH_ROWS_1(X)                                                                                                     \
    X(1, 2)                                                                                                            \
    X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2) X(7, 2) X(8, 2) X(1, 4) X(2, 4) X(3, 4) X(4, 4) X(5, 4) X(1, 8) X(2, 8)
#  define EACH_TRANSPOSING(X) EACH_ROWS_1(X) X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2)
#else
#  define EACH_PLAIN(X) EACH_ROWS_1(X) X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(1, 4) X(2, 4) X(1, 8)
#  define EACH_TRANSPOSING(X) EACH_ROWS_1(X) X(1, 2) X(2, 2)
#endif
EACH_PLAIN(PLAIN)
EACH_ROWS(PART)
EACH_TRANSPOSING(TRANSPOSING)
#define PLAIN_ENTRY(R, V) [R][V] = plain_##R##x##V,
#define PART_ENTRY(R) [R] = part_##R,
#define TRANSPOSING_ENTRY(R, V) [R][V] = transposing_##R##x##V,
static plain_fn *const plain[MAX_ROWS + 1][MAX_VECTORS + 1] = {EACH_PLAIN(PLAIN_ENTRY)};
static part_fn *const part[MAX_ROWS + 1] = {EACH_ROWS(PART_ENTRY)};
static plain_fn *const transposing[MAX_ROWS + 1][MAX_VECTORS + 1] = {EACH_TRANSPOSING(TRANSPOSING_ENTRY)};

/* One strip of C, columns [j, j + n), all of K. n ≤ vectors·WIDTH, and only one vector is read in part. */
static void strip(const iso__gemm_item *g, iso__fold *fold, int64_t j, int64_t n, int vectors) {
  const iso_gemm_problem *p = g->problem;
  const int rows = (int)p->m;
  _Alignas(64) float sums[MAX_SUMS * WIDTH], panel[MAX_SUMS * WIDTH], total[MAX_SUMS * WIDTH];
  _Alignas(64) float packed[ISO__CHUNK_TERMS * WIDTH];
  fold->columns = (int)n;
  fold->panel = panel, fold->total = total, fold->ld_panel = fold->ld_total = vectors * WIDTH;
  fold->c = g->c + j, fold->ldc = p->ldc;
  int64_t begin = 0;
  do {
    const int64_t k = p->k - begin < ISO__CHUNK_TERMS ? p->k - begin : ISO__CHUNK_TERMS;
    const left l = {
        .a = g->a + begin * (p->trans_a ? p->lda : 1), .row = p->trans_a ? 1 : p->lda, .term = p->trans_a ? p->lda : 1};
    if (!p->trans_b && n == vectors * WIDTH) plain[rows][vectors](k, &l, g->b + begin * p->ldb + j, p->ldb, sums);
    else if (!p->trans_b) part[rows](vec_mask_first((int)n), k, &l, g->b + begin * p->ldb + j, p->ldb, sums);
    else if (n == vectors * WIDTH) transposing[rows][vectors](k, &l, g->b + j * p->ldb + begin, p->ldb, sums);
    else {
      THE_TILES.pack_transposing(packed, WIDTH, g->b + j * p->ldb + begin, p->ldb, (int)n, k);
      plain[rows][1](k, &l, packed, WIDTH, sums);
    }
    iso__fold_place(fold, begin, p->k);
    THE_TILES.fold(rows, vectors, sums, fold);
    begin += k;
  } while (begin < p->k);
}

/* Columns [begin, end) of one batch item: the widest strips that fit, narrower ones at the end. */
static void columns(const iso__gemm_item *g, int64_t begin, int64_t end) {
  const iso_gemm_problem *p = g->problem;
  iso__epilogue epilogue = iso__gemm_epilogue_of(g);
  iso__fold fold = {.epilogue = iso__gemm_has_epilogue(p) ? &epilogue : NULL};
  plain_fn *const *fns = p->trans_b ? transposing[p->m] : plain[p->m];
  int vectors = MAX_VECTORS;
  for (int64_t j = begin; j < end;) {
    while (vectors > 1 && (!fns[vectors] || j + vectors * WIDTH > end)) vectors /= 2;
    const int64_t n = end - j < vectors * WIDTH ? end - j : vectors * WIDTH;
    if (g->bias) epilogue.bias = g->bias + j;
    if (g->residual) epilogue.residual = g->residual + j;
    strip(g, &fold, j, n, vectors);
    j += n;
  }
}

static void task(void *arg, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const iso__call *call = arg;
  const iso_gemm_problem *p = (const iso_gemm_problem *)call->problem;
  for (int64_t at = begin; at < end;) { /* columns of all batch items, one after the other */
    const int64_t item = at / p->n, j = at % p->n, n = end - at < p->n - j ? end - at : p->n - j;
    const iso__gemm_item g = iso__gemm_item_of(call, item);
    columns(&g, j, j + n);
    at += n;
  }
}

#include "kernels/gemm/skinny_kept_impl.h"

void RUN_NAME(const iso__call *call) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)call->problem;
  if (p->m == 0 || p->n == 0) return;
  const int64_t column_terms = p->k + 16; /* of reading B, the unit of work */
  if (call->kept) {
    iso__parallel_range(call->ctx, p->batch * kept_columns(p), ISO__SKINNY_TASK_TERMS / column_terms + 1,
                        MAX_STREAMS * STRIP, task_kept, (void *)(uintptr_t)call);
    return;
  }
  iso__parallel_range(call->ctx, p->batch * p->n, ISO__SKINNY_TASK_TERMS / column_terms + 1, MAX_VECTORS * WIDTH, task,
                      (void *)(uintptr_t)call);
}
