/* kernels_impl.h: the Winograd kernels of one instruction set (winograd.h), included by kernels_avx2.c and
 * kernels_avx512.c with KERNELS_NAME.
 *
 * The product is Goto's micro-kernel, 6 tiles × 16 channels or 14 × 32: two vectors of U times a broadcast element of
 * each tile's row of V. Accumulators are named variables and the fma is inline assembly with the accumulator as addend,
 * because gcc 12 otherwise moves and spills accumulators. While it runs, the tiles of V below it and the next strip of
 * U are fetched: without that the loads wait for L2 (88 instead of 95 % of peak). */
#include "kernels/conv/winograd/winograd.h"
#include "kernels/conv/winograd/transforms_vec.h"
#include "kernels/gemm/tile_vec.h"
#include "kernels/gemm/transpose_impl.h"
#include "numeric/order.h"

enum {
  AHEAD = 32,           /* floats: how far before a store its line is fetched */
  KERNEL_CHANNELS = 16, /* source channels that a kernel transform reads at once: a line */
};

#define OUT 2
#define TAPS 3
#define SUFFIX 2k3
#include "kernels/conv/winograd/class_impl.h"
#define OUT 4
#define TAPS 3
#define SUFFIX 4k3
#include "kernels/conv/winograd/class_impl.h"
#define OUT 5
#define TAPS 3
#define SUFFIX 5k3
#include "kernels/conv/winograd/class_impl.h"
#define OUT 6
#define TAPS 3
#define SUFFIX 6k3
#include "kernels/conv/winograd/class_impl.h"
#define OUT 2
#define TAPS 5
#define SUFFIX 2k5
#include "kernels/conv/winograd/class_impl.h"
#define OUT 4
#define TAPS 5
#define SUFFIX 4k5
#include "kernels/conv/winograd/class_impl.h"

/* ---- the product ---- */

#if WIDTH == 16
#  define ROWS_OF_TILE(X)                                                                                              \
    X(0, r0, 0)                                                                                                        \
    X(1, r0, 1)                                                                                                        \
    X(2, r0, 2)                                                                                                        \
    X(3, r3, 0)                                                                                                        \
    X(4, r3, 1)                                                                                                        \
    X(5, r3, 2) X(6, r6, 0) X(7, r6, 1) X(8, r6, 2) X(9, r9, 0) X(10, r9, 1) X(11, r9, 2) X(12, r12, 0) X(13, r12, 1)
#  define TILE_HEIGHTS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
enum { MAX_ROWS = 14 };
#else
#  define ROWS_OF_TILE(X) X(0, r0, 0) X(1, r0, 1) X(2, r0, 2) X(3, r3, 0) X(4, r3, 1) X(5, r3, 2)
#  define TILE_HEIGHTS(X) X(1) X(2) X(3) X(4) X(5) X(6)
enum { MAX_ROWS = 6 };
#endif

/* One chunk of one strip for `n` micro-tiles of the same height, one below the other. */
typedef struct chunk {
  int64_t k, n; /* terms */
  const float *a;
  int64_t lda;
  const float *b, *next; /* the strip's rows of this chunk; what to fetch meanwhile */
  float *out;
  int64_t ldo;
  bool first;
} chunk;

#define DECLARE(i, base, m) vec c##i = vec_zero(), d##i = c##i;
#define STEP_ROW(i, base, m)                                                                                           \
  if (rows > i) {                                                                                                      \
    const vec x = vec_set1(base[m * lda]);                                                                             \
    VEC_FMA(c##i, x, b0);                                                                                              \
    if (vectors > 1) VEC_FMA(d##i, x, b1);                                                                             \
  }
#define STORE_ROW(i, base, m)                                                                                          \
  if (rows > i) {                                                                                                      \
    float *to = out + i * p->ldo;                                                                                      \
    vec_store(to, vec_add(p->first ? zero : vec_load(to), c##i));                                                      \
    if (vectors > 1) vec_store(to + WIDTH, vec_add(p->first ? zero : vec_load(to + WIDTH), d##i));                     \
  }
#define STEP                                                                                                           \
  do {                                                                                                                 \
    const vec b0 = vec_load(b), b1 = vectors > 1 ? vec_load(b + WIDTH) : b0;                                           \
    ROWS_OF_TILE(STEP_ROW)                                                                                             \
    b += vectors * WIDTH;                                                                                              \
    r0++, r3++, r6++, r9++, r12++;                                                                                     \
  } while (0)

INLINE void multiply(const int rows, const int vectors, chunk *p) {
  const int64_t lda = p->lda;
  const vec zero = vec_zero();
  const float *a = p->a, *next = p->next;
  float *out = p->out;
  for (int64_t n = p->n; n > 0; n--) {
    ROWS_OF_TILE(DECLARE)
    const float *r0 = a, *r3 = a + 3 * lda, *r6 = a + 6 * lda, *r9 = a + 9 * lda, *r12 = a + 12 * lda;
    const float *b = p->b, *below = a + rows * lda;
    (void)r3, (void)r6, (void)r9, (void)r12;
    a = below;
    int64_t k = p->k;
    for (; k >= 4; k -= 4) {
      __builtin_prefetch(next, 0, WIDTH == 16 ? 2 : 3);
      if (WIDTH == 16) __builtin_prefetch(next + 16, 0, 2);
      __builtin_prefetch(below, 0, 3);
      __builtin_prefetch(below + 16, 0, 3);
      if (WIDTH == 16) __builtin_prefetch(below + 32, 0, 3);
      if (WIDTH == 16) __builtin_prefetch(below + 48, 0, 3);
      below += 4 * MAX_ROWS;
      next += 2 * WIDTH;
      STEP;
      STEP;
      STEP;
      STEP;
    }
    for (; k > 0; k--) STEP;
    ROWS_OF_TILE(STORE_ROW)
    out += rows * p->ldo;
  }
  p->a = a, p->next = next, p->out = out;
}

#define MULTIPLY(ROWS)                                                                                                 \
  static void multiply_##ROWS##x1(chunk *p) { multiply(ROWS, 1, p); }                                                  \
  static void multiply_##ROWS##x2(chunk *p) { multiply(ROWS, 2, p); }
TILE_HEIGHTS(MULTIPLY)
typedef void multiply_fn(chunk *p);
#define ENTRY_1(ROWS) [ROWS] = multiply_##ROWS##x1,
#define ENTRY_2(ROWS) [ROWS] = multiply_##ROWS##x2,
static multiply_fn *const multiply_table[2][MAX_ROWS + 1] = {{TILE_HEIGHTS(ENTRY_1)}, {TILE_HEIGHTS(ENTRY_2)}};

/* Strip by strip, chunk by chunk, then down the tiles, cut evenly: a chunk of a strip stays in L1. */
static void product(const iso__winograd_product *q) {
  const int64_t n = (q->tiles + MAX_ROWS - 1) / MAX_ROWS, height = q->tiles / n, n_taller = q->tiles % n;
  const float *strip = q->u;
  for (int64_t k = 0; k < q->k; k += 2 * WIDTH) {
    const int vectors = q->k - k > WIDTH ? 2 : 1;
    int64_t c = q->c0;
    do {
      chunk p = {.k = q->c1 - c < ISO__CHUNK ? q->c1 - c : ISO__CHUNK,
                 .n = n_taller,
                 .a = q->v + c / ISO__CHUNK * q->v_chunk,
                 .lda = q->v_pitch,
                 .b = strip + c * vectors * WIDTH,
                 .out = q->m + k,
                 .ldo = q->m_pitch,
                 .first = c == q->c0 && q->starts};
      p.next = p.b + p.k * vectors * WIDTH;
      if (n_taller) multiply_table[vectors - 1][height + 1](&p);
      p.n = n - n_taller;
      multiply_table[vectors - 1][height](&p);
      c += ISO__CHUNK;
    } while (c < q->c1);
    strip += q->u_channels * vectors * WIDTH;
  }
}

static void add(float *to, const float *from, int64_t n) {
  for (int64_t i = 0; i < n; i += WIDTH) vec_store(to + i, vec_add(vec_load(to + i), vec_load(from + i)));
}

#define CLASS_ENTRY(suffix, m, r)                                                                                      \
  [ISO__WINOGRAD_##suffix] = {.data = data_##suffix, .kernel = kernel_##suffix, .output = output_##suffix},
const iso__winograd_kernels KERNELS_NAME = {
    .width = WIDTH, .max_rows = MAX_ROWS, .product = product, .add = add, .of = {ISO__WINOGRAD_CLASSES(CLASS_ENTRY)}};
