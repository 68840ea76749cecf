/* nest.c: the loop nest: columns { rows { depth { blocks of A { strips of B { chunk { strips of A }}}}}}.
 *
 * Goto and van de Geijn's nest (ACM TOMS 34, 2008) around the order's chunk of 256 terms. Every element of A and B is
 * packed once. Where C is much larger than L2, two chunks are packed at a time and a strip's sums wait in L1 between
 * them, so that C passes the outer caches half as often (elsewhere that loses 2 %; four chunks lose 5, since A's block
 * becomes too large). B is packed a few strips at a time, in the first block of A, just before they are used. Memory is
 * asked for ahead of its use while products run: the tiles ask for their own part of C; between tiles a few lines of
 * the next block of A and of the next strips of B are asked for (packing would wait for memory otherwise: rows of a
 * matrix are too short for the hardware's prefetching). Operands that are used too little to pay for packing are read
 * where they lie. */
#include "kernels/gemm/nest.h"
#include "kernels/sizes.h"
#include "numeric/dtype.h"

enum {
  COPY_TERMS = 16,  /* rows of an operand copied at a time, so that it is read along its rows */
  GROUP_STRIPS = 8, /* strips of B packed at a time */
  LINE_BYTES = 64,
  MAX_WIDTH = 16, /* of a vector */
  LARGE_C_FLOATS = 2 << 20,
  SMALL_B_FLOATS = 6 << 10
};

static int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

static const iso__gemm_blocking blocking_avx2 = {.rows = 144, .columns = 4096, .group_rows = 1260, .gflops = 110};
static const iso__gemm_blocking blocking_avx512 = {.rows = 252, .columns = 4096, .group_rows = 1260, .gflops = 200};
const iso__gemm_blocking *iso__gemm_blocking_of(const iso__tiles *tiles) {
  return tiles->width == 16 ? &blocking_avx512 : &blocking_avx2;
}

double iso__gemm_read_cost(double n_bytes) { return n_bytes < 0x1p20 ? 0 : (n_bytes - 0x1p20) / 15; }

/* The nest takes f32, f16 and bf16. */
static int64_t element_bytes(const iso_gemm_problem *p) { return p->head.dtype == ISO_F32 ? 4 : 2; }
static const void *element(const iso_gemm_problem *p, const void *x, int64_t i) {
  return (const char *)x + i * element_bytes(p);
}

iso__gemm_item iso__gemm_item_of(const iso__call *call, int64_t batch_index) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)call->problem;
  const iso_gemm_args *args = call->args;
  const int64_t to_c = batch_index * p->batch_stride_c;
  return (iso__gemm_item){.problem = p,
                          .a = element(p, args->a, batch_index * p->batch_stride_a),
                          .b = element(p, args->b, batch_index * p->batch_stride_b),
                          .c = (float *)(uintptr_t)element(p, args->c, to_c),
                          .bias = p->has_bias ? args->bias : NULL,
                          .residual = p->has_residual ? element(p, args->residual, to_c) : NULL,
                          .alpha = (float)args->alpha,
                          .beta = (float)args->beta,
                          .scale = (float)args->scale};
}

int64_t iso__gemm_kept_columns(const iso_gemm_problem *p, const iso__tiles *tiles) {
  return iso__round_up(p->n, tiles->width);
}

iso__epilogue iso__gemm_epilogue_of(const iso__gemm_item *item) {
  const iso_gemm_problem *p = item->problem;
  return (iso__epilogue){.dtype = p->head.dtype,
                         .bias = item->bias,
                         .residual = item->residual,
                         .ld_residual = p->ldc,
                         .alpha = item->alpha,
                         .beta = item->beta,
                         .scale = item->scale,
                         .has_alpha = p->has_alpha,
                         .has_beta = p->has_beta,
                         .has_scale = p->has_scale,
                         .activation = p->activation};
}

void iso__gemm_epilogue_row(const iso__tiles *tiles, const iso__gemm_item *item, const float *t, int64_t row,
                            int64_t n) {
  iso__epilogue e = iso__gemm_epilogue_of(item);
  if (e.residual) e.residual = item->residual + row * e.ld_residual;
  tiles->finish(t, item->c + row * item->problem->ldc, n, &e);
}

/* A strip is as wide as a tile; the last one only as wide as needed. */
static int64_t strip_width(const iso__tiles *tiles, int64_t columns_left) {
  return columns_left > tiles->width ? 2 * (int64_t)tiles->width : tiles->width;
}
/* Rows that lie a multiple of 4 KiB apart share a few lines of L1. */
static bool aliases(int64_t ld) { return ld * (int64_t)sizeof(float) % 4096 == 0; }

iso__gemm_layout iso__gemm_layout_of(const iso_gemm_problem *p, const iso__tiles *tiles, int64_t rows,
                                     int64_t columns) {
  const iso__gemm_blocking *blocking = iso__gemm_blocking_of(tiles);
  const int64_t chunks = rows * columns > LARGE_C_FLOATS ? 2 : 1;
  iso__gemm_layout l = {.depth = chunks * ISO__CHUNK_TERMS};
  const int64_t depth = max_i64(1, min_i64(p->k, l.depth)); /* K = 0: scratch is there all the same */
  l.block_columns = min_i64(columns, blocking->columns);
  l.block_rows = min_i64(rows, blocking->rows);
  /* An element of A is used once a strip of B, one of B once a strip of A: packing pays from a few uses on. With few
   * terms a strip lies in a few lines anyway. */
  const bool few_terms = p->k <= 64;
  const bool widens = p->head.dtype != ISO_F32; /* so packing is where it happens, and C holds no running sums */
  l.direct_a = widens       ? false
               : p->trans_a ? (columns <= 4 * tiles->width && p->m <= 256) || (few_terms && !aliases(p->lda))
                            : (columns <= 6 * tiles->width || few_terms) && !(rows > 4 && aliases(p->lda));
  const bool small_b = p->k <= ISO__CHUNK_TERMS && p->k * p->n <= SMALL_B_FLOATS; /* lies in L1 as it is */
  const bool few_rows = rows <= (few_terms ? 6 : 2) * tiles->max_rows && p->n <= 1024;
  l.direct_b = !widens && !p->trans_b && (few_rows || small_b) && !(p->k > 16 && aliases(p->ldb));
  l.waits_apart = (widens || p->has_beta || p->has_residual) && p->k > l.depth;
  const bool panels_apart = p->k > ISO__PANEL_TERMS || l.waits_apart;
  l.group_rows = panels_apart ? min_i64(rows, blocking->group_rows) : rows;
  if (!l.direct_a) l.a_floats = iso__round_up(l.block_rows * depth, 16);
  /* Direct or not, a last strip that is not full is packed, since tiles read whole vectors. */
  const int64_t packed_columns = l.direct_b ? 2 * tiles->width : iso__round_up(l.block_columns, tiles->width);
  l.b_floats = iso__round_up(packed_columns * depth, 16);
  if (depth > ISO__CHUNK_TERMS) l.strip_floats = iso__round_up(l.block_rows * 2 * tiles->width, 16);
  const int64_t group = iso__round_up(l.group_rows * iso__round_up(l.block_columns, tiles->width), 16);
  if (panels_apart) l.panel_floats = group;
  if (p->k > ISO__PANEL_TERMS && l.waits_apart) l.total_floats = group;
  return l;
}

/* ---- what is read next ---- */

/* `rows` runs of memory, a few lines of which are asked for at every tile. */
typedef struct ahead {
  const char *row;
  int64_t rows, row_bytes, ld_bytes, at; /* at: bytes of the present row already asked for */
  int64_t lines_a_tile;
} ahead;

static ahead ahead_of(const iso_gemm_problem *p, const void *x, int64_t rows, int64_t columns, int64_t ld,
                      int64_t n_tiles) {
  if (rows <= 0 || columns <= 0) return (ahead){0};
  const int64_t n_bytes = element_bytes(p);
  ahead r = {.row = x, .rows = rows, .row_bytes = columns * n_bytes, .ld_bytes = ld * n_bytes};
  r.lines_a_tile = rows * (r.row_bytes / LINE_BYTES + 1) / n_tiles + 1;
  return r;
}

static inline void ahead_ask(ahead *r) {
  for (int64_t i = r->rows ? r->lines_a_tile : 0; i > 0; i--) {
    __builtin_prefetch(r->row + r->at, 0, 2);
    r->at += LINE_BYTES;
    if (r->at < r->row_bytes) continue;
    r->at = 0, r->row += r->ld_bytes;
    if (--r->rows == 0) return;
  }
}

/* ---- the rectangle ---- */

/* A rectangle's rows in tiles, cut evenly; groups and blocks are runs of tiles, so that no block ends in a small one.
 */
typedef struct cut {
  int64_t begin, n_tiles, least, n_longer; /* of its first row; the first n_longer tiles have a row more than `least` */
} cut;
static cut cut_of(int64_t begin, int64_t rows, int max_rows) {
  const int64_t n = iso__tile_count(rows, max_rows);
  return (cut){.begin = begin, .n_tiles = n, .least = n ? rows / n : 0, .n_longer = n ? rows % n : 0};
}
static int64_t cut_rows(const cut *c, int64_t tile) { return c->least + (tile < c->n_longer); }
static int64_t cut_row(const cut *c, int64_t tile) { /* absolute */
  return c->begin + tile * c->least + min_i64(tile, c->n_longer);
}

/* One depth of one block: what the inner loops need. */
typedef struct depth {
  const iso__tiles *tiles;
  const iso__gemm_layout *layout;
  const iso__gemm_item *item;
  cut cut;
  int64_t p, k;           /* its terms, absolute */
  int64_t first, n_tiles; /* the block's tiles */
  int64_t i, m, j, n;     /* its rows and columns in C */
  float *a;               /* packed strips of A, k deep */
  float *b;               /* and of B: every chunk's strips, chunk after chunk */
  bool packs;             /* B still has to be packed */
  float *strip;           /* one strip's sums between chunks, in dense tiles */
  float *panel, *total;   /* dense tiles waiting apart from C; NULL: they wait in C */
  float *slot;            /* a dense rectangle in place of C, or NULL */
  int64_t slot_ld;
  bool slot_sums, slot_begun; /* chunk sums are added to it; to what is there already */
  iso__fold fold;
  iso__epilogue epilogue;
  ahead next_a, next_b;    /* next_b: while B is being packed */
  const char *strip_ahead; /* else: what the first tile asks for, and how far on the next tile and step are */
  int64_t strip_ahead_tile, strip_ahead_step;
} depth;

/* ---- packing ---- */

/* An operand as stored, and where a strip of it goes. */
typedef struct source {
  const iso__tiles *tiles;
  const iso_gemm_problem *problem;
  const void *x;
  int64_t ld;
  bool terms_contiguous;
} source;

/* Lines of f16 or bf16, exactly as f32. */
static const float *widen(const source *from, int64_t at, int64_t lines, int64_t n, float *wide) {
  for (int64_t i = 0; i < lines; i++)
    iso__cast(element(from->problem, from->x, at + i * from->ld), (iso_dtype)from->problem->head.dtype, wide + i * n,
              ISO_F32, (size_t)n);
  return wide;
}

/* Terms [p, p + k) of `valid` rows or columns from s on into one strip; k at most a chunk. */
static void pack_strip(const source *from, float *dst, int64_t width, int64_t s, int64_t valid, int64_t p, int64_t k) {
  _Alignas(64) float wide[ISO__CHUNK_TERMS * ISO__TILE_MAX_VECTORS * MAX_WIDTH];
  const int64_t at = from->terms_contiguous ? s * from->ld + p : p * from->ld + s;
  const float *x = (const float *)from->x + at;
  int64_t ld = from->ld;
  if (from->problem->head.dtype != ISO_F32) {
    const int64_t lines = from->terms_contiguous ? valid : k;
    ld = from->terms_contiguous ? k : valid;
    x = widen(from, at, lines, ld, wide);
  }
  if (from->terms_contiguous) from->tiles->pack_transposing(dst, (int)width, x, ld, (int)valid, k);
  else from->tiles->pack_copying(dst, (int)width, x, ld, (int)valid, k);
}

/* Strips of B for the columns [j, j + n) and terms [p, p + k), one after the other, k · width floats each. */
void iso__gemm_pack_b(const iso__tiles *tiles, const iso__gemm_item *g, int64_t p, int64_t k, int64_t j, int64_t n,
                      float *dst) {
  const source from = {tiles, g->problem, g->b, g->problem->ldb, g->problem->trans_b};
  const int64_t step = from.terms_contiguous ? k : COPY_TERMS;
  for (int64_t q = 0; q < k; q += step)
    for (int64_t s = 0, width; s < n; s += width) {
      width = strip_width(tiles, n - s);
      pack_strip(&from, dst + s * k + q * width, width, j + s, min_i64(width, n - s), p + q, min_i64(step, k - q));
    }
}

/* Strips of A for the block's tiles, each as wide as it has rows: chunk after chunk, so that the tiles of a chunk read
 * one stream. */
static void pack_a_chunk(const depth *q, int64_t p, int64_t k, float *dst) {
  const iso_gemm_problem *g = q->item->problem;
  const source from = {q->tiles, g, q->item->a, g->lda, !g->trans_a};
  const int64_t step = from.terms_contiguous ? k : COPY_TERMS;
  for (int64_t at = 0; at < k; at += step) {
    int64_t s = 0;
    for (int64_t t = 0; t < q->n_tiles; t++) {
      const int64_t rows = cut_rows(&q->cut, q->first + t);
      pack_strip(&from, dst + s * k + at * rows, rows, q->i + s, rows, p + at, min_i64(step, k - at));
      s += rows;
    }
  }
}

static void pack_a(const depth *q) {
  for (int64_t p = 0; p < q->k; p += ISO__CHUNK_TERMS)
    pack_a_chunk(q, q->p + p, min_i64(ISO__CHUNK_TERMS, q->k - p), q->a + p * q->m);
}

/* ---- the products ---- */

/* Where a tile's sums go and come from. s: rows of the block before it, `within`: its first column in the block; the
 * chunk is the first or last of this depth. */
static inline void place_fold(const depth *q, iso__fold *fold, int64_t s, int64_t within, int64_t width, bool first,
                              bool last) {
  if (q->slot) fold->c = q->slot + (s * q->slot_ld + within), fold->ldc = q->slot_ld;
  else {
    const iso_gemm_problem *p = q->item->problem;
    fold->c = (float *)(uintptr_t)element(p, q->item->c, (q->i + s) * p->ldc + q->j + within), fold->ldc = p->ldc;
  }
  float *panel = fold->c, *strip = q->strip + s * width;
  int64_t ld_panel = fold->ldc;
  if (q->panel) panel = q->panel + within * q->m + s * width, ld_panel = width;
  fold->from = first ? panel : strip, fold->ld_from = first ? ld_panel : width;
  fold->panel = last ? panel : strip, fold->ld_panel = last ? ld_panel : width;
  fold->total = fold->c, fold->ld_total = fold->ldc;
  if (q->total) fold->total = q->total + within * q->m + s * width, fold->ld_total = width;
}

/* The terms [p, p + k) of one strip of B against all strips of A: a chunk. */
static void strip_chunk(depth *q, int64_t p, int64_t k, int64_t within, const float *b, int64_t b_step, int64_t width) {
  const iso__gemm_item *g = q->item;
  const iso_gemm_problem *problem = g->problem;
  const int vectors = (int)(width / q->tiles->width);
  const bool first = p == q->p, last = p + k == q->p + q->k;
  iso__fold fold = q->fold;
  iso__fold_place(&fold, p, problem->k);
  if (q->slot) fold.first_panel = fold.last_panel = true;
  if (q->slot_sums) fold.first_chunk = first && !q->slot_begun, fold.last_chunk = false;
  fold.columns = (int)min_i64(width, q->n - within);
  if (g->bias) q->epilogue.bias = element(problem, g->bias, q->j + within);
  int64_t s = 0;
  for (int64_t t = 0; t < q->n_tiles; t++) {
    const int64_t rows = cut_rows(&q->cut, q->first + t);
    place_fold(q, &fold, s, within, width, first, last);
    if (g->residual) q->epilogue.residual = element(problem, g->residual, (q->i + s) * problem->ldc + q->j + within);
    const float *a = q->a + (p - q->p) * q->m + s * k;
    int64_t a_step = rows;
    iso__tile_fn *const *fn = q->tiles->strip[vectors];
    if (q->layout->direct_a) {
      a = problem->trans_a ? g->a + p * problem->lda + q->i + s : g->a + (q->i + s) * problem->lda + p;
      a_step = problem->lda;
      if (!problem->trans_a) fn = q->tiles->row[vectors];
    }
    ahead_ask(&q->next_a);
    if (q->packs) ahead_ask(&q->next_b);
    else fold.ahead = q->strip_ahead + t * q->strip_ahead_tile, fold.ahead_step = q->strip_ahead_step;
    fn[rows](k, a, a_step, b, b_step, &fold);
    s += rows;
  }
}

/* Where the strip of B for the chunk at p and the block's column `within` is packed. */
static float *packed_b(const depth *q, int64_t p, int64_t k, int64_t within) {
  return q->b + (p - q->p) * iso__round_up(q->n, q->tiles->width) + within * k;
}
static const float *strip_of_b(const depth *q, int64_t p, int64_t k, int64_t within) {
  const iso__gemm_item *g = q->item;
  return g->kept_b ? g->kept_b + p * g->kept_columns + (q->j + within) * k : packed_b(q, p, k, within);
}
static int64_t chunk_terms(const depth *q, int64_t p) { return min_i64(q->p + q->k - p, ISO__CHUNK_TERMS); }

/* What is read after the chunk at p of a strip is asked for by its tiles: the strip's next chunk, or the next strip's
 * first. */
static void ask_next_strip(depth *q, int64_t p, int64_t within, int64_t width) {
  const int64_t steps = chunk_terms(q, p) / 4;
  p += ISO__CHUNK_TERMS;
  if (p >= q->p + q->k) p = q->p, within += width;
  q->strip_ahead = NULL, q->strip_ahead_tile = 0;
  if (within >= q->n || steps == 0) return;
  const int64_t k = chunk_terms(q, p), n_bytes = strip_width(q->tiles, q->n - within) * k * (int64_t)sizeof(float);
  q->strip_ahead = (const char *)strip_of_b(q, p, k, within);
  q->strip_ahead_step = n_bytes / (q->n_tiles * steps) + 1;
  q->strip_ahead_tile = q->strip_ahead_step * steps;
}

/* This depth's terms of A as stored, for rows [i, i + m), and of B, for columns [j, j + n). */
static ahead ahead_of_a(const depth *q, int64_t p, int64_t k, int64_t i, int64_t m, int64_t n_tiles) {
  const iso_gemm_problem *g = q->item->problem;
  return g->trans_a ? ahead_of(g, element(g, q->item->a, p * g->lda + i), k, m, g->lda, n_tiles)
                    : ahead_of(g, element(g, q->item->a, i * g->lda + p), m, k, g->lda, n_tiles);
}
static ahead ahead_of_b(const depth *q, int64_t j, int64_t n, int64_t n_tiles) {
  const iso_gemm_problem *g = q->item->problem;
  return g->trans_b ? ahead_of(g, element(g, q->item->b, j * g->ldb + q->p), n, q->k, g->ldb, n_tiles)
                    : ahead_of(g, element(g, q->item->b, q->p * g->ldb + j), q->k, n, g->ldb, n_tiles);
}

static void pack_strips(const depth *q, int64_t within, int64_t n) {
  for (int64_t p = q->p, k; p < q->p + q->k; p += k) {
    k = chunk_terms(q, p);
    iso__gemm_pack_b(q->tiles, q->item, p, k, q->j + within, n, packed_b(q, p, k, within));
  }
}

/* B read where it lies, but for a last strip that is not full: tiles read whole vectors. One chunk, and the packed
 * strip lies where the first would. */
static void depth_run_direct(depth *q) {
  const iso_gemm_problem *p = q->item->problem;
  const int64_t tail = q->n % (2 * q->tiles->width);
  if (q->packs && tail % q->tiles->width)
    iso__gemm_pack_b(q->tiles, q->item, q->p, q->k, q->j + q->n - tail, tail, q->b);
  for (int64_t s = 0, width; s < q->n; s += width) {
    width = strip_width(q->tiles, q->n - s);
    if (q->n - s >= width) strip_chunk(q, q->p, q->k, s, q->item->b + q->p * p->ldb + q->j + s, p->ldb, width);
    else strip_chunk(q, q->p, q->k, s, q->b, width, width);
  }
}

static void depth_run(depth *q) {
  const int64_t group = GROUP_STRIPS * 2 * (int64_t)q->tiles->width;
  for (int64_t s = 0, width; s < q->n; s += width) {
    width = strip_width(q->tiles, q->n - s);
    if (q->packs && s % group == 0) {
      const int64_t next = s + group, chunks = iso__tile_count(q->k, ISO__CHUNK_TERMS);
      pack_strips(q, s, min_i64(group, q->n - s));
      q->next_b = ahead_of_b(q, q->j + next, min_i64(group, q->n - next), GROUP_STRIPS * chunks * q->n_tiles);
    }
    int64_t p = q->p;
    do {
      const int64_t k = chunk_terms(q, p);
      if (!q->packs) ask_next_strip(q, p, s, width);
      strip_chunk(q, p, k, s, strip_of_b(q, p, k, s), width, width);
      p += ISO__CHUNK_TERMS;
    } while (p < q->p + q->k);
  }
}

/* The tiles [first, end) of the rectangle for the depth at q->p, and then the block that will be asked for. */
static void block_place(depth *q, int64_t first, int64_t end) {
  q->first = first, q->n_tiles = end - first;
  q->i = cut_row(&q->cut, first), q->m = cut_row(&q->cut, end) - q->i;
}
static void block_ask_next(depth *q, int64_t first, int64_t end, int64_t p, int64_t k_end) {
  const int64_t i = cut_row(&q->cut, first), strip = 2 * (int64_t)q->tiles->width;
  q->next_a = ahead_of_a(q, p, min_i64(q->layout->depth, k_end - p), i, cut_row(&q->cut, end) - i,
                         q->n_tiles * iso__tile_count(q->k, ISO__CHUNK_TERMS) * ((q->n + strip - 1) / strip));
}

/* All of K for a group of rows, the tiles [first, first + n). Sums of K beyond the first panel wait in `panel` and, if
 * not in C, `total`. */
static void group_run(depth *q, const iso__gemm_block *block, int64_t first, int64_t n, float *scratch) {
  const iso__gemm_layout *l = q->layout;
  float *b = scratch + l->a_floats, *panel = b + l->b_floats + l->strip_floats, *total = panel + l->panel_floats;
  const int64_t n_blocks = iso__tile_count(n, (int)iso__tile_count(l->block_rows, q->tiles->max_rows));
  const int64_t n_padded = iso__round_up(q->n, q->tiles->width), n_rows = block->row_end - block->row_begin;
  float *const dense = block->slots ? block->slots : block->sums;
  q->a = scratch, q->b = b, q->strip = b + l->b_floats, q->p = block->k_begin;
  q->slot_sums = block->sums != NULL;
  do {
    q->k = min_i64(block->k_end - q->p, l->depth);
    q->slot_begun = block->sums_begun || q->p > block->k_begin;
    for (int64_t t = 0; t < n_blocks; t++) {
      const int64_t begin = first + iso__tile_begin(n, n_blocks, t), end = first + iso__tile_begin(n, n_blocks, t + 1);
      block_place(q, begin, end);
      q->packs = t == 0 && !q->item->kept_b;
      const int64_t within = (q->i - cut_row(&q->cut, first)) * n_padded;
      q->panel = l->panel_floats && (l->waits_apart || q->p >= ISO__PANEL_TERMS) ? panel + within : NULL;
      q->total = l->total_floats ? total + within : NULL;
      if (dense) {
        const int64_t n_slot = block->slots ? (q->p - block->k_begin) / ISO__PANEL_TERMS : 0;
        q->slot = dense + (n_slot * n_rows + q->i - block->row_begin) * q->slot_ld + q->j - block->column_begin;
        q->panel = q->total = NULL;
      }
      if (!l->direct_a) {
        pack_a(q);
        if (t + 1 < n_blocks) block_ask_next(q, end, first + iso__tile_begin(n, n_blocks, t + 2), q->p, block->k_end);
        else block_ask_next(q, first, first + iso__tile_begin(n, n_blocks, 1), q->p + q->k, block->k_end);
      }
      if (l->direct_b) depth_run_direct(q);
      else depth_run(q);
    }
    q->p += q->k;
  } while (q->p < block->k_end);
}

/* A product of one chunk whose operands are both read where they lie, in whole vectors: nothing but tiles. For the
 * smallest products what surrounds these loops otherwise takes as long as they do. */
static void run_small(const iso__tiles *tiles, const iso__gemm_item *item, const iso__gemm_block *block) {
  const iso_gemm_problem *p = item->problem;
  const int64_t rows = block->row_end - block->row_begin, n_tiles = iso__tile_count(rows, tiles->max_rows);
  const int64_t least = rows / n_tiles, n_longer = rows - least * n_tiles;
  iso__epilogue epilogue;
  iso__fold fold = {.first_chunk = true, .last_chunk = true, .first_panel = true, .last_panel = true, .ldc = p->ldc};
  if (iso__gemm_has_epilogue(p)) epilogue = iso__gemm_epilogue_of(item), fold.epilogue = &epilogue;
  for (int64_t j = block->column_begin, width; j < block->column_end; j += width) {
    width = strip_width(tiles, block->column_end - j);
    const int vectors = width > tiles->width ? 2 : 1;
    fold.columns = (int)width;
    if (item->bias) epilogue.bias = item->bias + j;
    iso__tile_fn *const *fn = p->trans_a ? tiles->strip[vectors] : tiles->row[vectors];
    for (int64_t t = 0, i = block->row_begin; t < n_tiles; t++) {
      const int64_t height = least + (t < n_longer);
      fold.c = item->c + i * p->ldc + j;
      if (item->residual) epilogue.residual = item->residual + i * p->ldc + j;
      fn[height](p->k, item->a + (p->trans_a ? i : i * p->lda), p->lda, item->b + j, p->ldb, &fold);
      i += height;
    }
  }
}

void iso__gemm_nest(const iso__tiles *tiles, const iso__gemm_layout *layout, const iso__gemm_item *item,
                    const iso__gemm_block *block, float *scratch) {
  const iso_gemm_problem *p = item->problem;
  const bool whole = (block->column_end - block->column_begin) % tiles->width == 0 && p->k <= ISO__CHUNK_TERMS;
  if (layout->direct_a && layout->direct_b && whole && !block->slots && !block->sums) {
    run_small(tiles, item, block);
    return;
  }
  depth q = {.tiles = tiles, .layout = layout, .item = item, .slot_ld = block->column_end - block->column_begin};
  q.epilogue = iso__gemm_epilogue_of(item);
  if (!block->slots && !block->sums && iso__gemm_has_epilogue(p)) q.fold.epilogue = &q.epilogue;
  const int64_t columns = block->column_end - block->column_begin;
  const int64_t n_blocks = max_i64(1, (columns + layout->block_columns - 1) / layout->block_columns);
  const int64_t strip = 2 * (int64_t)tiles->width, n_strips = (columns + strip - 1) / strip;
  q.cut = cut_of(block->row_begin, block->row_end - block->row_begin, tiles->max_rows);
  const int64_t n_tiles = q.cut.n_tiles;
  const int64_t n_groups = iso__tile_count(n_tiles, (int)iso__tile_count(layout->group_rows, tiles->max_rows));
  for (int64_t t = 0; t < n_blocks; t++) { /* whole strips, evenly */
    const int64_t begin = iso__tile_begin(n_strips, n_blocks, t) * strip;
    const int64_t end = min_i64(columns, iso__tile_begin(n_strips, n_blocks, t + 1) * strip);
    q.j = block->column_begin + begin, q.n = end - begin;
    for (int64_t g = 0; g < n_groups; g++) {
      const int64_t first = iso__tile_begin(n_tiles, n_groups, g);
      group_run(&q, block, first, iso__tile_begin(n_tiles, n_groups, g + 1) - first, scratch);
    }
  }
}
