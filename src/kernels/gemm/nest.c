/* nest.c: the loop nest: columns { rows { chunk { blocks of A { strips of B { strips of A }}}}}.
 *
 * Goto and van de Geijn's nest (ACM TOMS 34, 2008) with the order's chunk of 256 terms as the packed depth: a chunk of
 * B stays in L2 and every element of A and B is packed once. C passes the outer caches once a chunk; the tiles prefetch
 * it, so that costs nothing. Operands that are used too little to pay for packing are read where they lie. */
#include "kernels/gemm/nest.h"

enum { COPY_TERMS = 16 }; /* rows of an operand copied at a time, so that it is read along its rows */

static int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

static const iso__gemm_blocking blocking_avx2 = {.rows = 144, .columns = 2048, .group_rows = 1260, .gflops = 110};
static const iso__gemm_blocking blocking_avx512 = {.rows = 252, .columns = 2048, .group_rows = 1260, .gflops = 200};
const iso__gemm_blocking *iso__gemm_blocking_of(const iso__tiles *tiles) {
  return tiles->width == 16 ? &blocking_avx512 : &blocking_avx2;
}

double iso__gemm_read_cost(double n_bytes) { return n_bytes < 0x1p20 ? 0 : (n_bytes - 0x1p20) / 15; }

iso__gemm_item iso__gemm_item_of(const iso__call *call, int64_t batch_index) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)call->problem;
  const iso_gemm_args *args = call->args;
  return (iso__gemm_item){.problem = p,
                          .a = (const float *)args->a + batch_index * p->batch_stride_a,
                          .b = (const float *)args->b + batch_index * p->batch_stride_b,
                          .c = (float *)args->c + batch_index * p->batch_stride_c,
                          .bias = p->has_bias ? args->bias : NULL,
                          .alpha = (float)args->alpha,
                          .beta = (float)args->beta};
}

void iso__gemm_epilogue_row(const iso__gemm_item *item, const float *t, float *c, int64_t column, int64_t n) {
  const iso_gemm_problem *p = item->problem;
  for (int64_t j = 0; j < n; j++) {
    float x = t[j];
    if (p->has_alpha) x = item->alpha * x;
    if (p->has_beta) {
      const float product = item->beta * c[j];
      x = x + product;
    }
    if (item->bias) x = x + item->bias[column + j];
    if (p->activation == ISO__ACTIVATION_RELU) x = x > 0 ? x : x != x ? x : 0;
    c[j] = x;
  }
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
  const int64_t chunk_terms = max_i64(1, min_i64(p->k, ISO__CHUNK_TERMS)); /* K = 0: scratch is there all the same */
  iso__gemm_layout l = {0};
  l.block_columns = min_i64(columns, blocking->columns);
  l.waits_apart = p->has_beta && p->k > ISO__CHUNK_TERMS;
  l.block_rows = min_i64(rows, blocking->rows);
  /* An element of A is used once a strip of B, one of B once a strip of A: packing pays from a few uses on. With few
   * terms a strip lies in a few lines anyway. */
  const bool few_terms = p->k <= 64;
  l.direct_a = p->trans_a ? (columns <= 4 * tiles->width && p->m <= 256) || (few_terms && !aliases(p->lda))
                          : (columns <= 6 * tiles->width || few_terms) && !(rows > 4 && aliases(p->lda));
  l.direct_b =
      !p->trans_b && rows <= (few_terms ? 6 : 2) * tiles->max_rows && p->n <= 1024 && !(p->k > 16 && aliases(p->ldb));
  l.group_rows = p->k > ISO__PANEL_TERMS || l.waits_apart ? min_i64(rows, blocking->group_rows) : rows;
  if (!l.direct_a) l.a_floats = round_up(l.block_rows * chunk_terms, 16);
  /* Direct or not, a last strip that is not full is packed, since tiles read whole vectors. */
  const int64_t packed_columns = l.direct_b ? 2 * tiles->width : round_up(l.block_columns, tiles->width);
  l.b_floats = round_up(packed_columns * chunk_terms, 16);
  const int64_t block = round_up(l.group_rows * round_up(l.block_columns, tiles->width), 16);
  if (p->k > ISO__PANEL_TERMS || l.waits_apart) l.panel_floats = block;
  if (p->k > ISO__PANEL_TERMS && l.waits_apart) l.total_floats = block;
  return l;
}

/* ---- packing ---- */

/* Strips of B for the columns [j, j + n) and terms [p, p + k), one after the other, k · width floats each. */
static void pack_b(const iso__tiles *tiles, const iso__gemm_item *g, int64_t p, int64_t k, int64_t j, int64_t n,
                   float *dst) {
  const int64_t ld = g->problem->ldb;
  const int64_t step = g->problem->trans_b ? k : COPY_TERMS;
  for (int64_t q = 0; q < k; q += step)
    for (int64_t s = 0, width; s < n; s += width) {
      width = strip_width(tiles, n - s);
      const int valid = (int)min_i64(width, n - s);
      float *to = dst + s * k + q * width;
      if (g->problem->trans_b) tiles->pack_transposing(to, (int)width, g->b + (j + s) * ld + p, ld, valid, k);
      else tiles->pack_copying(to, (int)width, g->b + (p + q) * ld + j + s, ld, valid, min_i64(step, k - q));
    }
}

/* Strips of A for the rows [i, i + m), cut evenly; each as wide as it has rows. */
static void pack_a(const iso__tiles *tiles, const iso__gemm_item *g, int64_t p, int64_t k, int64_t i, int64_t m,
                   float *dst) {
  const int64_t ld = g->problem->lda, n_tiles = iso__tile_count(m, tiles->max_rows);
  const int64_t step = g->problem->trans_a ? COPY_TERMS : k;
  for (int64_t q = 0; q < k; q += step)
    for (int64_t t = 0; t < n_tiles; t++) {
      const int64_t s = iso__tile_begin(m, n_tiles, t), rows = iso__tile_begin(m, n_tiles, t + 1) - s;
      float *to = dst + s * k + q * rows;
      if (g->problem->trans_a)
        tiles->pack_copying(to, (int)rows, g->a + (p + q) * ld + i + s, ld, (int)rows, min_i64(step, k - q));
      else tiles->pack_transposing(to, (int)rows, g->a + (i + s) * ld + p, ld, (int)rows, k);
    }
}

/* ---- the products ---- */

/* One chunk of one block: what the two inner loops need. */
typedef struct chunk {
  const iso__tiles *tiles;
  const iso__gemm_layout *layout;
  const iso__gemm_item *item;
  int64_t p, k;         /* its terms, absolute */
  int64_t i, m, j, n;   /* the block's rows and columns in C */
  const float *a, *b;   /* packed strips of this chunk */
  float *panel, *total; /* dense tiles waiting apart from C; NULL: they wait in C */
  float *slot;          /* the rectangle's panel sum; NULL: C */
  int64_t slot_ld;
  iso__fold fold;
  iso__epilogue epilogue;
} chunk;

/* One strip of B against all strips of A. `within`: the strip's first column in the block. */
static void chunk_strip(chunk *q, int64_t within, const float *b, int64_t b_step, int64_t width) {
  const iso__gemm_item *g = q->item;
  const iso_gemm_problem *p = g->problem;
  const int vectors = (int)(width / q->tiles->width);
  const int64_t n_tiles = iso__tile_count(q->m, q->tiles->max_rows);
  iso__fold fold = q->fold;
  fold.columns = (int)min_i64(width, q->n - within);
  if (g->bias) q->epilogue.bias = g->bias + q->j + within;
  for (int64_t t = 0; t < n_tiles; t++) {
    const int64_t s = iso__tile_begin(q->m, n_tiles, t), rows = iso__tile_begin(q->m, n_tiles, t + 1) - s;
    if (q->slot) fold.c = q->slot + (s * q->slot_ld + within), fold.ldc = q->slot_ld;
    else fold.c = g->c + (q->i + s) * p->ldc + q->j + within, fold.ldc = p->ldc;
    fold.panel = fold.total = fold.c, fold.ld_panel = fold.ld_total = fold.ldc;
    if (q->panel) fold.panel = q->panel + within * q->m + s * width, fold.ld_panel = width;
    if (q->total) fold.total = q->total + within * q->m + s * width, fold.ld_total = width;
    const float *a = q->a + s * q->k;
    int64_t a_step = rows;
    iso__tile_fn *const *fn = q->tiles->strip[vectors];
    if (q->layout->direct_a) {
      a = p->trans_a ? g->a + q->p * p->lda + q->i + s : g->a + (q->i + s) * p->lda + q->p;
      a_step = p->lda;
      if (!p->trans_a) fn = q->tiles->row[vectors];
    }
    fn[rows](q->k, a, a_step, b, b_step, &fold);
  }
}

static void chunk_run(chunk *q) {
  const iso_gemm_problem *p = q->item->problem;
  for (int64_t s = 0, width; s < q->n; s += width) {
    width = strip_width(q->tiles, q->n - s);
    if (!q->layout->direct_b) chunk_strip(q, s, q->b + s * q->k, width, width);
    else if (q->n - s >= width) chunk_strip(q, s, q->item->b + q->p * p->ldb + q->j + s, p->ldb, width);
    else chunk_strip(q, s, q->b, width, width);
  }
}

/* The chunk's part of B that is packed: all of it, or only a last strip that is not full, since tiles read whole
 * vectors. */
static void chunk_pack_b(const chunk *q, float *dst) {
  const int64_t tail = q->n % (2 * q->tiles->width);
  if (!q->layout->direct_b) pack_b(q->tiles, q->item, q->p, q->k, q->j, q->n, dst);
  else if (tail % q->tiles->width) pack_b(q->tiles, q->item, q->p, q->k, q->j + q->n - tail, tail, dst);
}

/* All chunks for a group of rows; running sums of K beyond the first panel wait in `panel` and, if not in C, `total`.
 */
static void group_run(chunk *q, const iso__gemm_block *block, int64_t group_begin, int64_t group_end, float *scratch) {
  const iso__gemm_layout *l = q->layout;
  float *a = scratch, *b = a + l->a_floats, *panel = b + l->b_floats, *total = panel + l->panel_floats;
  const int64_t rows = group_end - group_begin, n_blocks = iso__tile_count(rows, (int)l->block_rows);
  const int64_t n_padded = round_up(q->n, q->tiles->width), n_rows = block->row_end - block->row_begin;
  q->a = a, q->b = b, q->p = block->k_begin;
  do {
    q->k = min_i64(block->k_end - q->p, ISO__CHUNK_TERMS);
    iso__fold_place(&q->fold, q->p, q->item->problem->k);
    if (block->slots || block->sums) q->fold.first_panel = q->fold.last_panel = true;
    if (block->sums) q->fold.first_chunk = q->p == block->k_begin && !block->sums_begun, q->fold.last_chunk = false;
    chunk_pack_b(q, b);
    for (int64_t t = 0; t < n_blocks; t++) {
      const int64_t i = iso__tile_begin(rows, n_blocks, t);
      q->i = group_begin + i, q->m = iso__tile_begin(rows, n_blocks, t + 1) - i;
      q->panel = l->panel_floats && (l->waits_apart || !q->fold.first_panel) ? panel + i * n_padded : NULL;
      q->total = l->total_floats ? total + i * n_padded : NULL;
      if (block->slots || block->sums) {
        const int64_t n_slot = block->slots ? (q->p - block->k_begin) / ISO__PANEL_TERMS : 0;
        q->slot = (block->slots ? block->slots : block->sums) +
                  (n_slot * n_rows + q->i - block->row_begin) * q->slot_ld + q->j - block->column_begin;
        q->panel = q->total = NULL;
      }
      if (!l->direct_a) pack_a(q->tiles, q->item, q->p, q->k, q->i, q->m, a);
      chunk_run(q);
    }
    q->p += q->k;
  } while (q->p < block->k_end);
}

void iso__gemm_nest(const iso__tiles *tiles, const iso__gemm_layout *layout, const iso__gemm_item *item,
                    const iso__gemm_block *block, float *scratch) {
  const iso_gemm_problem *p = item->problem;
  chunk q = {.tiles = tiles, .layout = layout, .item = item, .slot_ld = block->column_end - block->column_begin};
  q.epilogue = (iso__epilogue){.alpha = item->alpha,
                               .beta = item->beta,
                               .has_alpha = p->has_alpha,
                               .has_beta = p->has_beta,
                               .activation = p->activation};
  if (!block->slots && !block->sums && (p->has_alpha || p->has_beta || p->has_bias || p->activation))
    q.fold.epilogue = &q.epilogue;
  const int64_t columns = block->column_end - block->column_begin;
  const int64_t n_blocks = max_i64(1, (columns + layout->block_columns - 1) / layout->block_columns);
  const int64_t rows = block->row_end - block->row_begin, n_groups = iso__tile_count(rows, (int)layout->group_rows);
  const int64_t strip = 2 * (int64_t)tiles->width, n_strips = (columns + strip - 1) / strip;
  for (int64_t t = 0; t < n_blocks; t++) { /* whole strips, evenly */
    const int64_t begin = iso__tile_begin(n_strips, n_blocks, t) * strip;
    const int64_t end = min_i64(columns, iso__tile_begin(n_strips, n_blocks, t + 1) * strip);
    q.j = block->column_begin + begin, q.n = end - begin;
    for (int64_t g = 0; g < n_groups; g++)
      group_run(&q, block, block->row_begin + iso__tile_begin(rows, n_groups, g),
                block->row_begin + iso__tile_begin(rows, n_groups, g + 1), scratch);
  }
}
