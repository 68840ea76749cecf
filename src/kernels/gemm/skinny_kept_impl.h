/* skinny_kept_impl.h: engine `gemm_skinny` with constant weights, part of skinny_impl.h.
 *
 * B is kept in strips of two vectors of columns, each all of K deep, so that reading it is all there is to do: with one
 * or two rows several strips are read at once, for as many streams keep more of memory's requests in flight than one
 * (a core alone reaches its bandwidth with four), and their sums hide the fma's latency; lines are asked for ahead of
 * their use. With more rows than registers hold sums for, a chunk of the strip passes twice, the second time from L1.
 */

enum { STRIP = 2 * WIDTH, MAX_STREAMS = 4, TERMS_AHEAD = 32 };

/* Strips of B: number s at b + s·apart. Meanwhile lines of each are asked for: `step` floats a term, beginning at
 * `next` floats from where the strip begins. */
typedef struct right {
  const float *b;
  int64_t apart, next, step;
} right;

/* sums (streams, rows, STRIP) of k terms. */
INLINE void products_kept(const int rows, const int streams, int64_t k, const left *l, const right *r, float *sums) {
  vec s[MAX_SUMS];
  UNROLL_32
  for (int i = 0; i < 2 * rows * streams; i++) s[i] = vec_zero();
  const float *a = l->a, *b = r->b;
  const char *next = (const char *)(b + r->next); /* may lie beyond the end */
  for (int64_t p = 0; p < k; p++, a += l->term, b += STRIP, next += r->step * (int64_t)sizeof(float)) {
    vec x[MAX_ROWS];
    UNROLL_16
    for (int i = 0; i < rows; i++) x[i] = vec_set1(a[i * l->row]);
    UNROLL_16
    for (int q = 0; q < streams; q++) {
      const float *from = b + q * r->apart;
      __builtin_prefetch(next + q * r->apart * (int64_t)sizeof(float), 0, 3);
      if (WIDTH == 16) __builtin_prefetch(next + q * r->apart * (int64_t)sizeof(float) + 64, 0, 3);
      const vec y0 = vec_load(from), y1 = vec_load(from + WIDTH);
      UNROLL_16
      for (int i = 0; i < rows; i++) {
        VEC_FMA(s[2 * (q * rows + i)], x[i], y0);
        VEC_FMA(s[2 * (q * rows + i) + 1], x[i], y1);
      }
    }
  }
  UNROLL_32
  for (int i = 0; i < 2 * rows * streams; i++) vec_store(sums + i * WIDTH, s[i]);
}

typedef void kept_fn(int64_t k, const left *l, const right *r, float *sums);
#define KEPT(R, S)                                                                                                     \
  static void kept_##R##x##S(int64_t k, const left *l, const right *r, float *sums) {                                  \
    products_kept(R, S, k, l, r, sums);                                                                                \
  }
#if WIDTH == 16
enum { ROWS_AT_ONCE = 8 };
#  define EACH_KEPT(X) X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(6, 1) X(7, 1) X(8, 1) X(1, 4) X(2, 4) X(3, 2) X(4, 2)
static const int streams_of[ROWS_AT_ONCE + 1] = {0, 4, 4, 2, 2, 1, 1, 1, 1};
#else
enum { ROWS_AT_ONCE = 4 };
#  define EACH_KEPT(X) X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(1, 4) X(2, 2) X(3, 2)
static const int streams_of[ROWS_AT_ONCE + 1] = {0, 4, 2, 2, 1};
#endif
EACH_KEPT(KEPT)
#define KEPT_ENTRY(R, S) [R][S] = kept_##R##x##S,
static kept_fn *const kept_fns[ROWS_AT_ONCE + 1][MAX_STREAMS + 1] = {EACH_KEPT(KEPT_ENTRY)};

/* One chunk of all rows for `streams` strips: sums (streams, rows, STRIP) as products_kept leaves them. */
static void chunk_kept(int rows, int streams, int64_t k, left l, const float *b, int64_t apart, float *sums) {
  right r = {.b = b, .apart = apart, .next = TERMS_AHEAD * STRIP, .step = STRIP};
  if (rows <= ROWS_AT_ONCE) {
    kept_fns[rows][streams](k, &l, &r, sums);
    return;
  }
  const int first = (rows + 1) / 2;
  r.next = k * STRIP, r.step = STRIP / 2;
  kept_fns[first][1](k, &l, &r, sums);
  l.a += first * l.row, r.next += k / 2 * STRIP;
  kept_fns[rows - first][1](k, &l, &r, sums + first * STRIP);
}

/* `streams` strips of C from column j on, all of K. n: columns of C there. */
static void strips_kept(const iso__gemm_item *g, iso__fold *fold, iso__epilogue *epilogue, const float *b, int64_t j,
                        int64_t n, int streams) {
  const iso_gemm_problem *p = g->problem;
  const int rows = (int)p->m;
  _Alignas(64) float sums[MAX_SUMS * WIDTH], panel[MAX_SUMS * WIDTH], total[MAX_SUMS * WIDTH];
  fold->ld_panel = fold->ld_total = STRIP, fold->ldc = p->ldc;
  int64_t begin = 0;
  do {
    const int64_t k = p->k - begin < ISO__CHUNK_TERMS ? p->k - begin : ISO__CHUNK_TERMS;
    const left l = {
        .a = g->a + begin * (p->trans_a ? p->lda : 1), .row = p->trans_a ? 1 : p->lda, .term = p->trans_a ? p->lda : 1};
    chunk_kept(rows, streams, k, l, b + begin * STRIP, p->k * STRIP, sums);
    iso__fold_place(fold, begin, p->k);
    for (int q = 0; q < streams; q++) {
      const int64_t within = (int64_t)q * STRIP, left_columns = n - within;
      fold->columns = (int)(left_columns < STRIP ? left_columns : STRIP);
      fold->panel = panel + q * rows * STRIP, fold->total = total + q * rows * STRIP;
      fold->c = g->c + j + within;
      if (g->bias) epilogue->bias = g->bias + j + within;
      if (g->residual) epilogue->residual = g->residual + j + within;
      THE_TILES.fold(rows, 2, sums + q * rows * STRIP, fold);
    }
    begin += k;
  } while (begin < p->k);
}

/* Columns [begin, end) of one batch item, begin at the beginning of a strip. */
static void columns_kept(const iso__gemm_item *g, const float *kept, int64_t begin, int64_t end) {
  const iso_gemm_problem *p = g->problem;
  iso__epilogue epilogue = iso__gemm_epilogue_of(g);
  iso__fold fold = {.epilogue = iso__gemm_has_epilogue(p) ? &epilogue : NULL};
  const int most = p->m <= ROWS_AT_ONCE ? streams_of[p->m] : 1;
  for (int64_t j = begin, n; j < end; j += n) {
    const int streams = end - j >= most * STRIP ? most : 1;
    n = end - j < (int64_t)streams * STRIP ? end - j : (int64_t)streams * STRIP;
    strips_kept(g, &fold, &epilogue, kept + j * p->k, j, n, streams);
  }
}

static int64_t kept_columns(const iso_gemm_problem *p) { return (p->n + STRIP - 1) / STRIP * STRIP; }

static void task_kept(void *arg, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const iso__call *call = arg;
  const iso_gemm_problem *p = (const iso_gemm_problem *)call->problem;
  const int64_t padded = kept_columns(p); /* strips of all batch items, one after the other */
  for (int64_t at = begin; at < end;) {
    const int64_t item = at / padded, j = at % padded, n = end - at < padded - j ? end - at : padded - j;
    const iso__gemm_item g = iso__gemm_item_of(call, item);
    const float *kept = (const float *)call->kept + (p->batch_stride_b ? item * padded * p->k : 0);
    columns_kept(&g, kept, j, j + n < p->n ? j + n : p->n);
    at += n;
  }
}

size_t KEPT_BYTES_NAME(const iso__problem *problem) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  return (size_t)((p->batch && p->batch_stride_b ? p->batch : 1) * kept_columns(p) * p->k) * sizeof(float);
}

typedef struct preparation {
  const iso__call *call;
  float *kept;
} preparation;

static void prepare_strips(void *arg, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const preparation *r = arg;
  const iso_gemm_problem *p = (const iso_gemm_problem *)r->call->problem;
  for (int64_t at = begin; at < end; at++) {
    const int64_t strips = kept_columns(p) / STRIP, j = at % strips * STRIP;
    const iso__gemm_item g = iso__gemm_item_of(r->call, at / strips);
    const int n = (int)(p->n - j < STRIP ? p->n - j : STRIP);
    float *dst = r->kept + at * STRIP * p->k;
    if (p->trans_b) THE_TILES.pack_transposing(dst, STRIP, g.b + j * p->ldb, p->ldb, n, p->k);
    else THE_TILES.pack_copying(dst, STRIP, g.b + j, p->ldb, n, p->k);
  }
}

void PREPARE_NAME(const iso__call *call, void *kept) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)call->problem;
  if (p->n == 0 || p->k == 0 || p->batch == 0) return;
  const int64_t n_strips = (p->batch_stride_b ? p->batch : 1) * (kept_columns(p) / STRIP);
  iso__parallel_range(call->ctx, n_strips, 1 + 65536 / (STRIP * p->k), 1, prepare_strips, &(preparation){call, kept});
}
