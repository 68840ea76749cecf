/* box.c: cutting grids into boxes, copying, listing and calling them ahead (box.h).
 *
 * Images of at most 64 positions are walked position by position over many samples: rows of a micro-tile then share
 * their padding. */
#include "kernels/conv/box.h"
#include "kernels/sizes.h"

/* Equal parts of at most `most`. */
static int64_t part(int64_t n, int64_t most) {
  return n <= most ? iso__max(n, 1) : iso__ceil_div(n, iso__ceil_div(n, iso__max(most, 1)));
}

enum { SMALL_IMAGE = 64, LINE = 64 };

/* Source positions that n grid positions of an axis read. */
static int64_t span(const iso__conv_axis *a, int64_t n) { return (n - 1) * a->step + iso__conv_reach(a) + 1; }

static int64_t box_bytes(const iso__conv_product *g, const iso__conv_boxing *b) {
  return b->samples * span(&g->plane, b->planes) * span(&g->row, b->rows) * span(&g->col, b->cols) * g->depth *
         (int64_t)sizeof(float);
}

static void shrink(const iso__conv_product *g, const iso__conv_boxing *b, int64_t *extent, int64_t unit,
                   int64_t most_bytes) {
  while (*extent > unit && box_bytes(g, b) > most_bytes) *extent -= unit;
}

iso__conv_boxing iso__conv_boxing_of(const iso__conv_tiles *tiles, const iso__conv_product *g, int64_t most_positions,
                                     int64_t most_bytes) {
  const int64_t high = iso__max(g->row.n_grid, 1), wide = iso__max(g->col.n_grid, 1),
                deep = iso__max(g->plane.n_grid, 1);
  iso__conv_boxing b = {.samples = 1, .planes = 1, .rows = 1, .cols = part(wide, most_positions)};
  if (wide <= most_positions) {
    b.rows = part(high, most_positions / wide);
    shrink(g, &b, &b.rows, 1, most_bytes);
  }
  if (b.rows == high) {
    b.planes = part(deep, most_positions / (high * wide));
    shrink(g, &b, &b.planes, 1, most_bytes);
  }
  if (b.rows == high && b.planes == deep) {
    const int64_t image = deep * high * wide;
    b.samples_innermost = image <= SMALL_IMAGE && g->n >= tiles->mr;
    const int64_t unit = b.samples_innermost ? tiles->mr : 1;
    b.samples = iso__round_up(iso__min(iso__max(1, most_positions / image), iso__max(g->n, 1)), unit);
    shrink(g, &b, &b.samples, unit, most_bytes);
    b.samples = iso__min(b.samples, iso__max(g->n, 1));
  }
  b.n_sample = iso__ceil_div(g->n, b.samples);
  b.n_plane = iso__ceil_div(g->plane.n_grid, b.planes);
  b.n_row = iso__ceil_div(g->row.n_grid, b.rows);
  b.n_col = iso__ceil_div(g->col.n_grid, b.cols);
  b.in_place = iso__conv_k(g) == 0 || (!g->problem->x_first && iso__conv_stays_inside(&g->plane) &&
                                       iso__conv_stays_inside(&g->row) && iso__conv_stays_inside(&g->col));
  b.span_planes = span(&g->plane, b.planes);
  b.span_rows = span(&g->row, b.rows);
  b.span_cols = span(&g->col, b.cols);
  b.buffer_floats =
      b.in_place ? 0 : iso__round_up(b.samples * b.span_planes * b.span_rows * b.span_cols * g->depth, LINE / 4);
  b.positions = iso__round_up(b.samples * b.planes * b.rows * b.cols, tiles->mr);
  return b;
}

iso__conv_box iso__conv_box_at(const iso__conv_product *g, const iso__conv_boxing *b, int64_t index, int64_t group) {
  const int64_t col = index % b->n_col, row = (index /= b->n_col) % b->n_row, plane = (index /= b->n_row) % b->n_plane,
                sample = index / b->n_plane;
  return (iso__conv_box){.n0 = sample * b->samples,
                         .n1 = iso__min((sample + 1) * b->samples, g->n),
                         .o0 = plane * b->planes,
                         .o1 = iso__min((plane + 1) * b->planes, g->plane.n_grid),
                         .t0 = row * b->rows,
                         .t1 = iso__min((row + 1) * b->rows, g->row.n_grid),
                         .u0 = col * b->cols,
                         .u1 = iso__min((col + 1) * b->cols, g->col.n_grid),
                         .group = group};
}

/* ---- copying ---- */

/* One row of pixels: n_cols of them from source column col0 on, zeros outside. */
static void copy_row(const iso__conv_tiles *tiles, const iso__conv_product *g, const iso__conv_box *x,
                     const float *source, int64_t n, int64_t plane, int64_t row, int64_t col0, int64_t n_cols,
                     float *to) {
  const int64_t depth = g->depth, n_planes = g->plane.n_source, n_rows = g->row.n_source, wide = g->col.n_source;
  if (plane < 0 || plane >= n_planes || row < 0 || row >= n_rows) {
    memset(to, 0, (size_t)(n_cols * depth) * sizeof(float));
    return;
  }
  const int64_t left = iso__min(iso__max(-col0, 0), n_cols), right = iso__max(iso__min(wide - col0, n_cols), left);
  memset(to, 0, (size_t)(left * depth) * sizeof(float));
  memset(to + right * depth, 0, (size_t)((n_cols - right) * depth) * sizeof(float));
  if (right == left) return;
  if (g->problem->x_first) {
    const int64_t size = n_planes * n_rows * wide;
    const float *from =
        source + (n * g->source_pitch + x->group * depth) * size + (plane * n_rows + row) * wide + col0 + left;
    tiles->interleave(from, size, depth, right - left, to + left * depth);
    return;
  }
  const float *from =
      source + (((n * n_planes + plane) * n_rows + row) * wide + col0 + left) * g->source_pitch + x->group * depth;
  if (g->groups == 1) {
    memcpy(to + left * depth, from, (size_t)((right - left) * depth) * sizeof(float));
    return;
  }
  for (int64_t col = left; col < right; col++, from += g->source_pitch)
    memcpy(to + col * depth, from, (size_t)depth * sizeof(float));
}

static void copy_padded(const iso__conv_tiles *tiles, const iso__conv_product *g, const iso__conv_boxing *b,
                        const iso__conv_box *x, const float *source, float *buffer) {
  const int64_t plane0 = x->o0 * g->plane.step + iso__conv_lowest(&g->plane),
                row0 = x->t0 * g->row.step + iso__conv_lowest(&g->row),
                col0 = x->u0 * g->col.step + iso__conv_lowest(&g->col);
  const int64_t n_planes = span(&g->plane, x->o1 - x->o0), n_rows = span(&g->row, x->t1 - x->t0);
  for (int64_t n = x->n0; n < x->n1; n++)
    for (int64_t plane = 0; plane < n_planes; plane++)
      for (int64_t row = 0; row < n_rows; row++)
        copy_row(tiles, g, x, source, n, plane0 + plane, row0 + row, col0, b->span_cols,
                 buffer + (((n - x->n0) * b->span_planes + plane) * b->span_rows + row) * b->span_cols * g->depth);
}

iso__conv_view iso__conv_view_of(const iso__conv_tiles *tiles, const iso__conv_product *g, const iso__conv_boxing *b,
                                 const iso__conv_box *x, const float *source, float *buffer) {
  if (iso__conv_k(g) == 0) return (iso__conv_view){.base = source}; /* nothing will be read */
  if (b->in_place) {
    const int64_t row = g->col.n_source * g->source_pitch, plane = g->row.n_source * row,
                  sample = g->plane.n_source * plane;
    return (iso__conv_view){.base = source + x->n0 * sample + (x->o0 * g->plane.step + g->plane.offset) * plane +
                                    (x->t0 * g->row.step + g->row.offset) * row +
                                    (x->u0 * g->col.step + g->col.offset) * g->source_pitch + x->group * g->depth,
                            .sample = sample,
                            .plane = plane,
                            .row = row,
                            .pixel = g->source_pitch};
  }
  copy_padded(tiles, g, b, x, source, buffer);
  const int64_t row = b->span_cols * g->depth, plane = b->span_rows * row;
  return (iso__conv_view){.base = buffer + (g->plane.offset - iso__conv_lowest(&g->plane)) * plane +
                                  (g->row.offset - iso__conv_lowest(&g->row)) * row +
                                  (g->col.offset - iso__conv_lowest(&g->col)) * g->depth,
                          .sample = b->span_planes * plane,
                          .plane = plane,
                          .row = row,
                          .pixel = g->depth};
}

/* ---- rows ---- */

static iso__conv_range join(iso__conv_range a, iso__conv_range b) {
  return (iso__conv_range){a.first < b.first ? a.first : b.first, a.end > b.end ? a.end : b.end};
}

/* A list under way. */
typedef struct lister {
  const iso__conv_product *product;
  const iso__conv_axis_taps *axis_taps;
  const iso__conv_box *box;
  const iso__conv_view *view;
  iso__conv_rows *list;
  int mr, in_tile; /* rows of the tile under way */
  iso__conv_tile_taps *taps;
} lister;

static void add_row(lister *l, int64_t from, int64_t to, const iso__conv_tile_taps *mine) {
  l->list->row_offset[l->list->n] = from;
  l->list->out_offset[l->list->n++] = to;
  if (!l->taps) return;
  if (l->in_tile == 0) *l->taps = *mine;
  else
    *l->taps = (iso__conv_tile_taps){join(l->taps->plane, mine->plane), join(l->taps->row, mine->row),
                                     join(l->taps->col, mine->col)};
  if (++l->in_tile == l->mr) l->in_tile = 0, l->taps++;
}

/* Grid positions (n, o, t, u0 … u1 − 1), each for n_samples samples. */
static void add_rows(lister *l, int64_t n, int64_t n_samples, int64_t o, int64_t t) {
  const iso__conv_product *g = l->product;
  const iso__conv_view *v = l->view;
  const iso__conv_box *x = l->box;
  const int64_t from =
      (n - x->n0) * v->sample + (o - x->o0) * g->plane.step * v->plane + (t - x->t0) * g->row.step * v->row;
  const int64_t plane = n * g->plane.n_out + g->plane.out_first + o * g->plane.out_step;
  const int64_t row = (plane * g->row.n_out + g->row.out_first + t * g->row.out_step) * g->col.n_out;
  const int64_t sample = g->plane.n_out * g->row.n_out * g->col.n_out;
  iso__conv_tile_taps mine = {.plane = l->axis_taps->plane[o], .row = l->axis_taps->row[t]};
  for (int64_t u = x->u0; u < x->u1; u++) {
    const int64_t at = from + (u - x->u0) * g->col.step * v->pixel, out = row + g->col.out_first + u * g->col.out_step;
    mine.col = l->axis_taps->col[u];
    for (int64_t i = 0; i < n_samples; i++) add_row(l, at + i * v->sample, (out + i * sample) * g->output_pitch, &mine);
  }
}

void iso__conv_rows_list(const iso__conv_tiles *tiles, const iso__conv_product *g, const iso__conv_boxing *b,
                         const iso__conv_axis_taps *axis_taps, const iso__conv_box *x, const iso__conv_view *v,
                         iso__conv_rows *list) {
  lister l = {g, axis_taps, x, v, list, tiles->mr, 0, list->taps};
  const int64_t n_samples = b->samples_innermost ? x->n1 - x->n0 : 1;
  list->n = 0;
  for (int64_t n = x->n0; n < x->n1; n += n_samples)
    for (int64_t o = x->o0; o < x->o1; o++)
      for (int64_t t = x->t0; t < x->t1; t++) add_rows(&l, n, n_samples, o, t);
  for (int64_t at = list->n; at % tiles->mr; at++) {
    list->row_offset[at] = list->row_offset[list->n - 1];
    list->out_offset[at] = list->out_offset[list->n - 1];
  }
}

/* ---- calling ahead ---- */

/* Source positions [first, end) that grid positions [begin, end) read, without the padding. */
static void source_range(const iso__conv_axis *a, int64_t begin, int64_t end, int64_t *first, int64_t *n) {
  const int64_t low = begin * a->step + iso__conv_lowest(a);
  *first = iso__min(iso__max(low, 0), a->n_source);
  *n = iso__max(iso__min(low + span(a, end - begin), a->n_source) - *first, 0);
}

iso__conv_ahead iso__conv_ahead_of(const iso__conv_product *g, const iso__conv_box *x, const float *source,
                                   int64_t n_steps) {
  int64_t plane, n_planes, row, n_rows, col, n_cols;
  source_range(&g->plane, x->o0, x->o1, &plane, &n_planes);
  source_range(&g->row, x->t0, x->t1, &row, &n_rows);
  source_range(&g->col, x->u0, x->u1, &col, &n_cols);
  const bool first = g->problem->x_first;
  const int64_t item = sizeof(float), pixel = first ? 1 : g->source_pitch, wide = g->col.n_source * pixel,
                high = g->row.n_source * wide, deep = g->plane.n_source * high;
  const int64_t sample = first ? g->source_pitch * deep : deep;
  const int64_t begin = (x->n0 * sample + plane * high + row * wide + col * pixel) * item +
                        x->group * g->depth * (first ? deep : 1) * item;
  /* Strides beyond the reach of the taps pass over whole rows. */
  const int64_t skip = iso__conv_reach(&g->row) == 0 ? iso__max(g->row.step, 1) : 1;
  const bool whole_pixels = first || g->groups == 1;
  iso__conv_ahead a = {.at = (const char *)source + begin,
                       .count = {iso__ceil_div(n_rows, skip), n_planes, first ? g->depth : 1, x->n1 - x->n0},
                       .pitch = {skip * wide * item, high * item, deep * item, sample * item}};
  const int64_t row_bytes = n_cols * pixel * item;
  a.lines = iso__ceil_div(row_bytes, LINE) + (row_bytes % LINE != 0);
  const int64_t n_lines = a.lines * a.count[0] * a.count[1] * a.count[2] * a.count[3];
  if (n_lines > 0 && whole_pixels) a.step = iso__ceil_div(n_lines, iso__max(n_steps, 1));
  return a;
}

static void next_row(iso__conv_ahead *a) {
  a->line = 0;
  for (int i = 0; i < ISO__CONV_AHEAD_AXES; i++) {
    a->at += a->pitch[i];
    if (++a->index[i] < a->count[i]) return;
    a->at -= a->count[i] * a->pitch[i];
    a->index[i] = 0;
  }
  a->step = 0;
}

void iso__conv_ahead_step(iso__conv_ahead *a, int64_t n_steps) {
  for (int64_t i = a->step * n_steps; i > 0 && a->step; i--) {
    __builtin_prefetch(a->at + a->line * LINE, 0, 2);
    if (++a->line == a->lines) next_row(a);
  }
}
