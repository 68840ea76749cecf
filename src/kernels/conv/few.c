/* few.c: panels, slots and threads of the weights' gradient with few channels (few.h). */
#include "kernels/conv/few.h"
#include "kernels/conv/geometry.h"
#include "base/pool.h"
#include "kernels/conv/lines.h"
#include "kernels/sizes.h"
#include "numeric/order.h"

enum {
  SLOT_BYTES = 4 << 20, /* of all slots together */
  SLOTS_PER_THREAD = 4,
  MAX_CHANNELS = 24, /* of a group, for this to be worth it */
};

typedef struct cut {
  int64_t out_h, out_w, cg, kg, columns;
  int64_t n_positions, n_panels;
  int64_t slots;                    /* panels of a window; free order: accumulators, one a thread */
  int64_t span_cols, row, max_rows; /* of the padded copy: pixels and floats of a row, rows */
  int64_t n_rows;                   /* (r,s,c), rounded up to whole tiles */
} cut;

static cut choose_cut(const iso__conv_tiles *tiles, const iso_conv_problem *p, int n_threads, bool free_order) {
  cut c = {.out_h = iso__conv_out_h(p), .out_w = iso__conv_out_w(p), .cg = p->c / p->groups, .kg = p->k / p->groups};
  c.columns = p->r * p->s * c.cg;
  c.n_rows = iso__ceil_div(c.columns, tiles->mr) * tiles->mr;
  c.n_positions = p->n * c.out_h * c.out_w;
  if (c.n_positions == 0) return c;
  c.n_panels = iso__ceil_div(c.n_positions, ISO__PANEL);
  const int64_t fit = iso__max(SLOT_BYTES / (int64_t)sizeof(float) / iso__max(p->k * c.columns, 1), 1);
  c.slots = free_order ? n_threads : iso__min(iso__min(fit, SLOTS_PER_THREAD * n_threads), c.n_panels);
  c.span_cols = (c.out_w - 1) * p->stride_w + p->dilation_w * (p->s - 1) + 1;
  c.row = c.span_cols * c.cg;
  /* A panel touches so many samples and output rows at most; each sample's part needs its rows and the kernel's reach.
   */
  const int64_t rows = iso__min((ISO__PANEL - 1) / c.out_w + 2, p->n * c.out_h);
  const int64_t samples = iso__min((ISO__PANEL - 1) / (c.out_h * c.out_w) + 2, p->n);
  c.max_rows = rows * p->stride_h + samples * (p->dilation_h * (p->r - 1) + 1);
  return c;
}

typedef struct layout {
  size_t slots, used, total, threads;
  size_t image, b, row_offset, out_offset, table, sums; /* within a thread's part */
  size_t thread_bytes, all;
} layout;

static layout lay_out(const iso__conv_tiles *tiles, const iso_conv_problem *p, const cut *c, int n_threads) {
  layout l;
  size_t at = 0;
  l.slots = iso__take(&at, c->slots * p->k * c->columns, sizeof(float));
  l.used = iso__take(&at, c->slots, sizeof(bool));
  l.total = iso__take(&at, p->k * c->columns, sizeof(float));
  l.threads = at;
  at = 0;
  l.image = iso__take(&at, c->max_rows * c->row, sizeof(float));
  l.b = iso__take(&at, ISO__CHUNK * tiles->nr, sizeof(float));
  l.row_offset = iso__take(&at, c->n_rows, sizeof(int64_t));
  l.out_offset = iso__take(&at, c->n_rows, sizeof(int64_t));
  l.table = iso__take(&at, ISO__PANEL, sizeof(int32_t));
  l.sums = iso__take(&at, 2 * tiles->mr * tiles->nr, sizeof(float));
  l.thread_bytes = at + 64;
  l.all = l.threads + (size_t)n_threads * l.thread_bytes;
  return l;
}

size_t iso__conv_few_workspace(const iso__conv_tiles *tiles, const iso_conv_problem *p, int n_threads,
                               bool free_order) {
  const cut c = choose_cut(tiles, p, n_threads, free_order);
  return lay_out(tiles, p, &c, n_threads).all;
}

const char *iso__conv_few_applicable(const iso__conv_tiles *tiles, const iso_conv_problem *p) {
  const char *reason = iso__conv_igemm_applicable(&p->head);
  if (reason) return reason;
  if (!iso__conv_is_flat(p)) return "the image has depth";
  const cut c = choose_cut(tiles, p, 1, false);
  if (c.max_rows > INT32_MAX / iso__max(c.row, 1)) return "an image row is too long";
  if (p->c / p->groups > MAX_CHANNELS) return "a group has more than 24 input channels";
  if (p->k / p->groups % (tiles->nr / 2)) return "a group's output channels are no multiple of the vector width";
  return NULL;
}

double iso__conv_few_cost(const iso__conv_tiles *tiles, const iso_conv_problem *p, int n_threads, bool free_order) {
  const cut c = choose_cut(tiles, p, n_threads, free_order);
  const double rows = (double)(iso__ceil_div(c.columns, tiles->rows[2]) * tiles->rows[2]),
               flops_per_ns = tiles->nr == 32 ? 160 : 106;
  const double folds = free_order ? 1.0 : 1.02;
  const double flops = 2.0 * (double)(p->k * c.columns) * (double)c.n_positions;
  const double transpose_ns = 0.5 * (double)(p->k * c.columns);
  return 3000 + transpose_ns + iso__conv_fork_ns(flops, n_threads) +
         (double)c.n_positions * (2 * rows * (double)p->k / flops_per_ns * folds + 0.3 * (double)p->c) /
             iso__conv_threads(flops, n_threads);
}

/* ---- one call ---- */

typedef struct shared {
  const iso__conv_tiles *tiles;
  const iso_conv_problem *problem;
  const float *x, *dy;
  float *dw, *slots, *total;
  const cut *cut;
  const layout *layout;
  char *workspace;
  bool free_order, *used; /* used: the slot holds a sum */
  int64_t first_panel;    /* of the window */
} shared;

/* Pixels [0, n) of row h of sample n, the group's channels side by side. */
static void copy_pixels(const shared *s, int64_t group, int64_t sample, int64_t h, int64_t n, float *to) {
  const iso_conv_problem *p = s->problem;
  const int64_t cg = s->cut->cg;
  if (p->x_first) {
    const float *from = s->x + ((sample * p->c + group * cg) * p->h + h) * p->w;
    s->tiles->interleave(from, p->h * p->w, cg, n, to);
    return;
  }
  const float *from = s->x + (sample * p->h + h) * p->w * p->c + group * cg;
  if (p->groups == 1) memcpy(to, from, (size_t)(n * cg) * sizeof(float));
  else
    for (int64_t w = 0; w < n; w++, from += p->c, to += cg)
      for (int64_t i = 0; i < cg; i++) to[i] = from[i];
}

/* Rows of sample n that output rows [p0, p1) read, with zeros where they leave the image. */
static void copy_image(const shared *s, int64_t group, int64_t n, int64_t p0, int64_t p1, float *to) {
  const iso_conv_problem *p = s->problem;
  const cut *c = s->cut;
  const int64_t left = iso__min(p->pad_left, c->span_cols),
                right = iso__max(iso__min(p->w + p->pad_left, c->span_cols), left);
  const int64_t h0 = p0 * p->stride_h - p->pad_top,
                n_rows = (p1 - 1 - p0) * p->stride_h + p->dilation_h * (p->r - 1) + 1;
  for (int64_t h = h0; h < h0 + n_rows; h++, to += c->row) {
    if (h < 0 || h >= p->h) {
      memset(to, 0, (size_t)c->row * sizeof(float));
      continue;
    }
    memset(to, 0, (size_t)(left * c->cg) * sizeof(float));
    copy_pixels(s, group, n, h, right - left, to + left * c->cg);
    memset(to + right * c->cg, 0, (size_t)((c->span_cols - right) * c->cg) * sizeof(float));
  }
}

/* Copies the image rows of positions [begin, end) and lists where each position lies. */
static void list_positions(const shared *s, int64_t group, int64_t begin, int64_t end, float *image, int32_t *table) {
  const iso_conv_problem *p = s->problem;
  int64_t base = 0; /* of this sample's rows, from image */
  const cut *c = s->cut;
  int64_t q = begin % c->out_w, row = begin / c->out_w % c->out_h, n = begin / c->out_w / c->out_h;
  for (int64_t at = begin; at < end; row = 0, n++) {
    const int64_t stop = iso__min(row + iso__ceil_div(q + end - at, c->out_w), c->out_h);
    copy_image(s, group, n, row, stop, image + base);
    const int64_t n_rows = (stop - row) * p->stride_h + p->dilation_h * (p->r - 1) + 1;
    for (int64_t p0 = row; row < stop; row++, q = 0) {
      const int64_t first = base + (row - p0) * p->stride_h * c->row;
      for (; q < c->out_w && at < end; q++, at++) *table++ = (int32_t)(first + q * p->stride_w * c->cg);
    }
    base += n_rows * c->row;
  }
}

/* One strip of output channels of one chunk: all rows (r,s,c). */
static void run_strip(const shared *s, iso__conv_tile *t, const int64_t *row_offset, const int64_t *out_offset,
                      bool add, iso__conv_lines *next) {
  const iso__conv_tiles *tiles = s->tiles;
  const cut *c = s->cut;
  t->residual = add ? t->y : NULL;
  for (int64_t j = 0; j < c->columns; j += tiles->mr) {
    t->n_rows = (int)iso__min(tiles->mr, c->columns - j);
    t->row_offset = row_offset + j, t->out_offset = out_offset + j;
    t->next_offset = j + tiles->mr < c->columns ? t->out_offset + tiles->mr : t->out_offset;
    const int height = t->n_rows <= tiles->rows[2] ? 2 : t->n_rows <= tiles->rows[1] ? 1 : 0;
    iso__conv_lines_step(next);
    tiles->gathered[height][t->n_columns <= tiles->nr / 2](t);
  }
}

/* The sums of chunk [begin, end) into dwT (groups, columns, kg), added to what is there if `add`. */
static void run_chunk(const shared *s, int64_t group, int64_t begin, int64_t end, iso__conv_tile *t, float *dwT,
                      bool add, char *mine) {
  const iso_conv_problem *p = s->problem;
  const cut *c = s->cut;
  const int nr = s->tiles->nr;
  float *b = (float *)(void *)(mine + s->layout->b);
  const int64_t after = iso__min(end + ISO__CHUNK, c->n_positions),
                n_tiles = iso__ceil_div(c->kg, nr) * iso__ceil_div(c->columns, s->tiles->mr);
  /* dy of the next chunk is called ahead while this one's products run. */
  iso__conv_lines next = iso__conv_lines_of(s->dy + end * p->k, s->dy + after * p->k, n_tiles);
  for (int64_t k = 0; k < c->kg; k += nr) {
    t->n_columns = (int)iso__min(nr, c->kg - k);
    s->tiles->copy_strip(s->dy + begin * p->k + group * c->kg + k, p->k, t->n_columns > nr / 2 ? nr : nr / 2,
                         end - begin, b);
    t->b = b;
    t->y = dwT + group * c->columns * c->kg + k;
    run_strip(s, t, (const int64_t *)(void *)(mine + s->layout->row_offset),
              (const int64_t *)(void *)(mine + s->layout->out_offset), add, &next);
  }
}

/* The sum of one panel into dwT, added to what is there if `add`. */
static void run_panel(const shared *s, int64_t panel, float *dwT, bool add, char *mine) {
  const iso_conv_problem *p = s->problem;
  const cut *c = s->cut;
  int64_t *row_offset = (int64_t *)(void *)(mine + s->layout->row_offset),
          *out_offset = (int64_t *)(void *)(mine + s->layout->out_offset);
  int32_t *table = (int32_t *)(void *)(mine + s->layout->table);
  for (int64_t j = 0; j < c->n_rows; j++) {
    const int64_t last = iso__min(j, c->columns - 1), tap = last / c->cg;
    row_offset[j] = tap / p->s * p->dilation_h * c->row + tap % p->s * p->dilation_w * c->cg + last % c->cg;
    out_offset[j] = last * c->kg;
  }
  const int64_t begin = panel * ISO__PANEL, end = iso__min(begin + ISO__PANEL, c->n_positions);
  for (int64_t group = 0; group < p->groups; group++) {
    float *image = (float *)(void *)(mine + s->layout->image);
    list_positions(s, group, begin, end, image, table);
    for (int64_t at = begin; at < end; at += ISO__CHUNK) {
      const iso__conv_segment chunk = {.n = (int32_t)iso__min(ISO__CHUNK, end - at)};
      iso__conv_tile t = {.source = image,
                          .segments = &chunk,
                          .n_segments = 1,
                          .table = table + (at - begin),
                          .sums = (float *)(void *)(mine + s->layout->sums)};
      run_chunk(s, group, at, at + chunk.n, &t, dwT, add || at > begin, mine);
    }
  }
}

static void panel_task(void *arg, int task, int thread) {
  const shared *s = arg;
  const int64_t size = s->problem->k * s->cut->columns;
  char *mine = s->workspace + s->layout->threads + (size_t)thread * s->layout->thread_bytes;
  if (s->free_order) {
    run_panel(s, task, s->slots + thread * size, s->used[thread], mine);
    s->used[thread] = true;
  } else {
    run_panel(s, s->first_panel + task, s->slots + task * size, false, mine);
    s->used[task] = true;
  }
}

/* total = [total +] slots, ascending; the first of all begins from +0. */
static void fold_slots(void *arg, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const shared *s = arg;
  const int64_t size = s->problem->k * s->cut->columns;
  if (s->first_panel == 0)
    for (int64_t i = begin; i < end; i++) s->total[i] = 0;
  for (int64_t slot = 0; slot < s->cut->slots; slot++) {
    const float *sum = s->slots + slot * size;
    if (s->used[slot])
      for (int64_t i = begin; i < end; i++) s->total[i] += sum[i];
  }
}

/* dw (k, columns) = total (groups, columns, kg) */
static void transpose_total(const shared *s) {
  const cut *c = s->cut;
  for (int64_t k = 0; k < s->problem->k; k++)
    for (int64_t column = 0; column < c->columns; column++)
      s->dw[k * c->columns + column] = s->total[(k / c->kg * c->columns + column) * c->kg + k % c->kg];
}

static void run_all(iso_context *ctx, int64_t n_tasks, bool alone, shared *s) {
  if (alone)
    for (int task = 0; task < (int)n_tasks; task++) panel_task(s, task, 0);
  else iso__parallel(ctx, (int)n_tasks, panel_task, s);
}

void iso__conv_few_run(const iso__conv_tiles *tiles, const iso__call *call, bool free_order) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const iso_conv_args *args = call->args;
  const int n_threads = iso_n_threads(call->ctx);
  const cut c = choose_cut(tiles, p, n_threads, free_order);
  const layout l = lay_out(tiles, p, &c, n_threads);
  const int64_t n = p->k * c.columns;
  if (c.n_positions == 0) memset(args->dw, 0, (size_t)n * sizeof(float));
  if (n == 0 || c.n_positions == 0) return;
  char *workspace = call->workspace;
  shared s = {.tiles = tiles,
              .problem = p,
              .x = args->x,
              .dy = args->dy,
              .dw = args->dw,
              .slots = (float *)(void *)(workspace + l.slots),
              .total = (float *)(void *)(workspace + l.total),
              .used = (bool *)(workspace + l.used),
              .cut = &c,
              .layout = &l,
              .workspace = workspace,
              .free_order = free_order};
  const bool alone = 2.0 * (double)n * (double)c.n_positions < ISO__CONV_SHARED_FLOPS;
  const int64_t window = free_order ? c.n_panels : c.slots;
  for (s.first_panel = 0; s.first_panel < c.n_panels; s.first_panel += window) {
    memset(s.used, 0, (size_t)c.slots * sizeof(bool));
    run_all(call->ctx, iso__min(window, c.n_panels - s.first_panel), alone, &s);
    if (alone) fold_slots(&s, 0, n, 0);
    else iso__parallel_range(call->ctx, n, 4096, 16, fold_slots, &s);
  }
  transpose_total(&s);
}

#if defined(__x86_64__)
#  define FEW_ROWS(isa, suffix, free_order)                                                                            \
    size_t iso__conv_few_workspace_##suffix(const iso__problem *problem, int n_threads);                               \
    double iso__conv_few_cost_##suffix(const iso__problem *problem, int n_threads);                                    \
    void iso__conv_few_run_##suffix(const iso__call *call);                                                            \
    size_t iso__conv_few_workspace_##suffix(const iso__problem *problem, int n_threads) {                              \
      return iso__conv_few_workspace(&iso__conv_tiles_##isa, (const iso_conv_problem *)problem, n_threads,             \
                                     free_order);                                                                      \
    }                                                                                                                  \
    double iso__conv_few_cost_##suffix(const iso__problem *problem, int n_threads) {                                   \
      return iso__conv_few_cost(&iso__conv_tiles_##isa, (const iso_conv_problem *)problem, n_threads, free_order);     \
    }                                                                                                                  \
    void iso__conv_few_run_##suffix(const iso__call *call) {                                                           \
      iso__conv_few_run(&iso__conv_tiles_##isa, call, free_order);                                                     \
    }
#  define FEW_APPLICABLE(isa)                                                                                          \
    const char *iso__conv_few_applicable_##isa(const iso__problem *problem);                                           \
    const char *iso__conv_few_applicable_##isa(const iso__problem *problem) {                                          \
      return iso__conv_few_applicable(&iso__conv_tiles_##isa, (const iso_conv_problem *)problem);                      \
    }
FEW_APPLICABLE(avx2)
FEW_APPLICABLE(avx512)
FEW_ROWS(avx2, avx2, false)
FEW_ROWS(avx512, avx512, false)
FEW_ROWS(avx2, free_avx2, true)
FEW_ROWS(avx512, free_avx512, true)
#endif
