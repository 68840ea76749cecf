/* bwd_weights.c: cutting, packing and folding of the weights' gradient (bwd_weights.h). */
#include "kernels/conv/bwd_weights.h"
#include "kernels/conv/geometry.h"
#include "base/pool.h"
#include "kernels/conv/lines.h"
#include "kernels/sizes.h"

enum {
  MAX_CHANNELS = 128,          /* output channels of a task                                                           */
  ALONE_CHANNELS = 256,        /* the same of one thread                                                              */
  MAX_STRIPS = 4,              /* strips of columns of a task where positions are left out, else half as many         */
  PANEL_BYTES = 1 << 20,       /* of the sums of one thread's only task, with which it passes x and dy only once      */
  AHEAD_TASKS = 4,             /* more tasks than this read small parts of x and dy each: none are called ahead       */
  MAX_RUNS = ISO__CHUNK_TERMS, /* of a chunk: each has a position at least */
  SLOT_BYTES = 4 << 20,        /* of all slots together       */
  SMALL_BYTES = 320 << 10,     /* a dw that stays in L2 beside a chunk's operands */
  MAX_TASKS = 1 << 16,
  A_PADDING = 16, /* floats between rows of packed dy, against cache set conflicts */
};

/* Equal parts of at most `most`. */
static int64_t part(int64_t n, int64_t most) {
  return n <= most ? iso__max(n, 1) : iso__ceil_div(n, iso__ceil_div(n, most));
}

/* How a problem is cut; of no effect on bits. */
typedef struct cut {
  int64_t out_d, out_h, out_w, cg, kg, columns; /* columns = t·r·s·cg, a row of dw */
  int64_t pixel, channel;                       /* floats between neighbours in x */
  int64_t n_positions, n_panels;
  bool by_tap;        /* a strip is channels of one tap; else any columns of a dw row */
  int64_t strips_tap; /* strips of one tap, or of all columns */
  int64_t n_taps;     /* 1 if not by_tap */
  int64_t channels, n_channel_blocks, taps, n_tap_blocks, strips, n_strip_blocks; /* of a task, how many */
  int64_t n_tiles_of_output; /* groups × channel blocks × tap blocks × strip blocks */
  bool leave_out;            /* positions in the padding */
  bool pack_dy;              /* once a chunk, in strips as tall as the tiles; else it is read in place */
  int64_t window;            /* panels that wait in slots at a time; 0: none, a task passes all panels */
} cut;

/* Output positions [first, end) of an axis that a tap, `move` = tap·dilation − pad, reads inside the image. */
typedef struct span {
  int64_t first, end;
} span;
static span inside(int64_t move, int64_t extent, int64_t stride, int64_t out) {
  const int64_t first = move < 0 ? iso__min(iso__ceil_div(-move, stride), out) : 0;
  const int64_t end = extent - move > 0 ? iso__min(iso__ceil_div(extent - move, stride), out) : 0;
  return (span){first, iso__max(end, first)};
}

/* The fraction of (position, tap) pairs that lie in the padding along one axis. */
static double outside(int64_t extent, int64_t out, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad) {
  int64_t n_inside = 0;
  for (int64_t r = 0; r < kernel; r++) {
    const span s = inside(r * dilation - pad, extent, stride, out);
    n_inside += s.end - s.first;
  }
  return 1 - (double)n_inside / (double)iso__max(kernel * out, 1);
}

/* The strips of a task, at most `most`, with which tasks keep all threads busy at least 95 % of the time; 0: there are
 * none. */
static int64_t balanced_strips(int64_t blocks, int64_t n_strips, int64_t most, int n_threads) {
  for (int64_t strips = part(n_strips, most); strips >= 1; strips--) {
    const int64_t n = blocks * iso__ceil_div(n_strips, strips);
    if (n_threads == 1 || (n >= 2 * n_threads && (double)n >= 0.95 * (double)(iso__ceil_div(n, n_threads) * n_threads)))
      return strips;
  }
  return 0;
}

/* A task passes all taps, so that a chunk of x and dy is read from memory once; where this gives too few tasks, panels
 * are shared out if dw is small, else taps. */
static void choose_tasks(cut *c, const iso_conv_problem *p, int n_threads) {
  const int64_t dw_bytes = iso__max(p->k * c->columns, 1) * (int64_t)sizeof(float), slots = SLOT_BYTES / dw_bytes;
  const int64_t blocks = p->groups * c->n_channel_blocks;
  const int64_t most = n_threads == 1 && dw_bytes <= PANEL_BYTES ? c->strips_tap
                       : c->leave_out                            ? MAX_STRIPS
                                                                 : MAX_STRIPS / 2;
  c->taps = c->n_taps;
  c->strips = balanced_strips(blocks, c->strips_tap, most, n_threads);
  if (c->strips) return;
  c->strips = part(c->strips_tap, most);
  if (slots >= 2 && c->n_panels >= 2 && dw_bytes <= SMALL_BYTES) {
    c->window = part(c->n_panels, slots);
    return;
  }
  c->taps = 1;
  const int64_t strips = balanced_strips(blocks * c->n_taps, c->strips_tap, most, n_threads);
  if (strips) c->strips = strips;
  else if (slots >= 2 && c->n_panels >= 2) c->window = part(c->n_panels, slots);
}

static cut choose_cut(const iso__conv_packers *packers, const iso_conv_problem *p, int n_threads) {
  const int64_t nr = 2 * packers->tiles->width;
  cut c = {.out_d = iso__conv_out_d(p),
           .out_h = iso__conv_out_h(p),
           .out_w = iso__conv_out_w(p),
           .cg = p->c / p->groups,
           .kg = p->k / p->groups,
           .pixel = p->x_first ? 1 : p->c,
           .channel = p->x_first ? p->d * p->h * p->w : 1};
  c.columns = p->t * p->r * p->s * c.cg;
  c.n_positions = p->n * c.out_d * c.out_h * c.out_w;
  c.n_panels = iso__max(iso__ceil_div(c.n_positions, ISO__PANEL_TERMS), 1);
  c.by_tap = c.cg >= nr;
  c.n_taps = c.by_tap ? p->t * p->r * p->s : 1;
  c.strips_tap = iso__ceil_div(c.by_tap ? c.cg : c.columns, nr);
  c.channels = part(c.kg, n_threads == 1 ? ALONE_CHANNELS : MAX_CHANNELS);
  c.n_channel_blocks = iso__ceil_div(c.kg, c.channels);
  /* Packing dy for each tap costs about 3.5 columns' worth of its products. */
  const double in_d = 1 - outside(p->d, c.out_d, p->t, p->stride_d, p->dilation_d, p->pad_front);
  const double in_h = 1 - outside(p->h, c.out_h, p->r, p->stride_h, p->dilation_h, p->pad_top);
  const double in_w = 1 - outside(p->w, c.out_w, p->s, p->stride_w, p->dilation_w, p->pad_left);
  c.leave_out = c.by_tap && 1 - in_d * in_h * in_w > 3.5 / (double)iso__min(MAX_STRIPS * nr, c.cg);
  choose_tasks(&c, p, n_threads);
  c.pack_dy = !c.leave_out && c.taps * c.strips > 2;
  c.n_tap_blocks = iso__ceil_div(c.n_taps, c.taps);
  c.n_strip_blocks = iso__ceil_div(c.strips_tap, c.strips);
  c.n_tiles_of_output = p->groups * c.n_channel_blocks * c.n_tap_blocks * c.n_strip_blocks;
  return c;
}

/* ---- workspace: slots, then one part a thread ---- */

typedef struct layout {
  size_t slots, threads;    /* offsets */
  size_t a, b, panel, runs; /* offsets within a thread's part */
  size_t thread_bytes, total;
} layout;

static layout lay_out(const iso__conv_packers *packers, const iso_conv_problem *p, const cut *c, int n_threads) {
  const int64_t nr = 2 * packers->tiles->width;
  layout l;
  size_t at = 0;
  l.slots = iso__take(&at, c->window * p->k * c->columns, sizeof(float));
  l.threads = at;
  at = 0;
  l.a = iso__take(&at, c->leave_out || c->pack_dy ? ISO__CHUNK_TERMS * (c->channels + A_PADDING) : 0, sizeof(float));
  l.b = iso__take(&at, ISO__CHUNK_TERMS * nr, sizeof(float));
  l.panel = iso__take(&at, c->window || c->n_panels == 1 ? 0 : c->channels * c->taps * c->strips * nr, sizeof(float));
  l.runs = iso__take(&at, MAX_RUNS, sizeof(iso__conv_run));
  l.thread_bytes = at + 64;
  l.total = l.threads + (size_t)n_threads * l.thread_bytes;
  return l;
}

size_t iso__conv_bwd_weights_workspace(const iso__conv_packers *packers, const iso_conv_problem *p, int n_threads) {
  const cut c = choose_cut(packers, p, n_threads);
  return lay_out(packers, p, &c, n_threads).total;
}

double iso__conv_bwd_weights_cost(const iso__conv_packers *packers, const iso_conv_problem *p, int n_threads) {
  const int64_t width = packers->tiles->width, kg = p->k / p->groups, cg = p->c / p->groups,
                columns = p->t * p->r * p->s * cg;
  const double positions = (double)(p->n * iso__conv_out_d(p) * iso__conv_out_h(p) * iso__conv_out_w(p) * p->groups);
  const double padded = (double)(cg >= 2 * width ? p->t * p->r * p->s * iso__ceil_div(cg, width) * width
                                                 : iso__ceil_div(columns, width) * width);
  const double flops_per_ns = width == 16 ? 180 : 114,
               pack_ns = (cg >= 2 * width ? 0.05 : 0.5) * (double)iso__ceil_div(kg, MAX_CHANNELS);
  const double position_ns = cg >= 2 * width ? 4 : 0; /* its line of x is found */
  const double flops = 2.0 * (double)(p->k * columns) * positions / (double)p->groups;
  return 3000 + iso__conv_fork_ns(flops, n_threads) +
         positions * (2 * padded * (double)kg / flops_per_ns + padded * pack_ns + position_ns) /
             iso__conv_threads(flops, n_threads);
}

/* ---- one call ---- */

typedef struct shared {
  const iso__conv_packers *packers;
  const iso_conv_problem *problem;
  const float *x, *dy;
  float *dw;
  const cut *cut;
  const layout *layout;
  char *workspace;
  int64_t first_panel, n_window; /* of this window */
  int64_t n_units;
  int n_tasks;
} shared;

/* A task: tile of the output and panels [panel0, panel1). */
typedef struct work {
  int64_t group, channel, n_channels, tap0, tap1, strip0, strip1, panel0, panel1;
  float *a, *b, *panel;
  int64_t ld_panel;
  iso__conv_run *runs;
  iso__conv_lines *ahead; /* the next chunk of dy and of x */
} work;

static int add_run(iso__conv_run *runs, int n, int64_t pos, int64_t length, const float *x) {
  if (length <= 0) return n;
  runs[n] = (iso__conv_run){.x = x, .pos = (int32_t)pos, .n = (int32_t)length};
  return n + 1;
}

/* A position's image row in x: the tap's row of depth, height and sample; NULL in the padding. */
static const float *row_of(const shared *s, int64_t n, int64_t d, int64_t h, int64_t channel) {
  const iso_conv_problem *p = s->problem;
  if (d < 0 || d >= p->d || h < 0 || h >= p->h) return NULL;
  return s->x + n * p->d * p->h * p->w * p->c + channel * s->cut->channel + (d * p->h + h) * p->w * s->cut->pixel;
}

/* The runs of tap number `tap` over positions [begin, end), x at channel `channel`. */
static int list_runs(const shared *s, int64_t tap, int64_t channel, int64_t begin, int64_t end, iso__conv_run *runs) {
  const iso_conv_problem *p = s->problem;
  const cut *c = s->cut;
  const int64_t move_d = tap / p->s / p->r * p->dilation_d - p->pad_front,
                move_h = tap / p->s % p->r * p->dilation_h - p->pad_top,
                move_w = tap % p->s * p->dilation_w - p->pad_left;
  const span cols = inside(move_w, p->w, p->stride_w, c->out_w);
  int64_t q = begin % c->out_w, row = begin / c->out_w % c->out_h, o = begin / c->out_w / c->out_h % c->out_d,
          n = begin / c->out_w / c->out_h / c->out_d;
  int n_runs = 0;
  for (int64_t at = begin; at < end;) {
    const int64_t last = iso__min(c->out_w, q + end - at), pos = at - begin - q;
    const float *image_row = row_of(s, n, o * p->stride_d + move_d, row * p->stride_h + move_h, channel);
    if (!image_row) {
      n_runs = add_run(runs, n_runs, pos + q, last - q, NULL);
    } else {
      const int64_t first = iso__min(iso__max(cols.first, q), last), stop = iso__max(iso__min(cols.end, last), first);
      n_runs = add_run(runs, n_runs, pos + q, first - q, NULL);
      if (stop > first) {
        const float *x = image_row + (first * p->stride_w + move_w) * c->pixel;
        n_runs = add_run(runs, n_runs, pos + first, stop - first, x);
      }
      n_runs = add_run(runs, n_runs, pos + stop, last - stop, NULL);
    }
    at += last - q;
    q = 0;
    if (++row < c->out_h) continue;
    row = 0;
    if (++o == c->out_d) o = 0, n++;
  }
  return n_runs;
}

/* Keeps the runs inside the image; returns how many, and their positions. */
static int keep_inside(iso__conv_run *runs, int n_runs, int64_t *n_positions) {
  int n = 0;
  *n_positions = 0;
  for (int i = 0; i < n_runs; i++)
    if (runs[i].x) *n_positions += runs[i].n, runs[n++] = runs[i];
  return n;
}

/* Columns [column, column + n) of a dw row for positions [begin, end), several taps' channels side by side. */
static void pack_mixed(const shared *s, const work *w, int64_t column, int64_t n, int64_t strip, int64_t begin,
                       int64_t end) {
  const iso_conv_problem *p = s->problem;
  const int64_t cg = s->cut->cg, step = p->stride_w * s->cut->pixel, next = s->cut->channel;
  memset(w->b, 0, (size_t)((end - begin) * strip) * sizeof(float));
  for (int64_t at = column; at < column + n;) {
    const int64_t tap = at / cg, channel = at % cg, length = iso__min(cg - channel, column + n - at);
    const int n_runs = list_runs(s, tap, w->group * cg + channel, begin, end, w->runs);
    for (int i = 0; i < n_runs; i++) {
      const float *x = w->runs[i].x;
      float *b = w->b + w->runs[i].pos * strip + at - column;
      if (x)
        for (int pos = 0; pos < w->runs[i].n; pos++, x += step, b += strip)
          for (int64_t j = 0; j < length; j++) b[j] = x[j * next];
    }
    at += length;
  }
}

/* dy of one chunk: element (position t, channel i) of a tile beginning at channel i0 is at a[i0·tile_step + t·step + i
 * − i0], step 0 meaning the tile's height. */
typedef struct dy_view {
  const float *a;
  int64_t tile_step, step;
} dy_view;

/* All tiles of one strip for one chunk. panel: the strip's place in the panel sums. */
static void run_strip(const shared *s, const work *w, iso__fold *fold, float *panel, int64_t column, int64_t vectors,
                      int64_t n_terms, const dy_view *dy) {
  const iso__tiles *tiles = s->packers->tiles;
  const cut *c = s->cut;
  const int64_t n_tiles = iso__tile_count(w->n_channels, tiles->max_rows);
  float *const dw = s->dw + (w->group * c->kg + w->channel) * c->columns + column;
  for (int64_t tile = 0; tile < n_tiles; tile++) {
    const int64_t i = iso__tile_begin(w->n_channels, n_tiles, tile);
    const int64_t rows = iso__tile_begin(w->n_channels, n_tiles, tile + 1) - i;
    fold->c = dw + i * c->columns;
    if (c->window) {
      fold->panel = fold->total = panel + i * w->ld_panel;
    } else {
      fold->total = fold->c;
      fold->panel = fold->first_panel ? fold->c : panel + i * w->ld_panel;
      fold->ld_panel = fold->first_panel ? c->columns : w->ld_panel;
    }
    iso__conv_lines_step(&w->ahead[0]);
    iso__conv_lines_step(&w->ahead[1]);
    tiles->strip[vectors][rows](n_terms, dy->a + i * dy->tile_step, dy->step ? dy->step : rows, w->b,
                                vectors * tiles->width, fold);
  }
}

/* dy of positions [begin, end) in strips as tall as the tiles. */
static dy_view pack_dy(const shared *s, const work *w, const float *dy, int64_t n_terms) {
  s->packers->tall(dy, s->problem->k, w->n_channels, n_terms, w->a);
  return (dy_view){.a = w->a, .tile_step = n_terms};
}

static void run_tap(const shared *s, const work *w, int64_t tap, int64_t begin, int64_t end, iso__fold *fold,
                    dy_view dy) {
  const iso_conv_problem *p = s->problem;
  const cut *c = s->cut;
  const int64_t width = s->packers->tiles->width, nr = 2 * width, padded_step = c->channels + A_PADDING;
  const float *from = s->dy + begin * p->k + w->group * c->kg + w->channel;
  int64_t n_terms = end - begin;
  int n_runs = 0;
  if (c->by_tap) {
    n_runs = list_runs(s, tap, w->group * c->cg + w->strip0 * nr, begin, end, w->runs);
    if (c->leave_out && s->packers->rows(w->runs, n_runs, from, p->k, (int)w->n_channels, padded_step, w->a)) {
      n_runs = keep_inside(w->runs, n_runs, &n_terms);
      dy = (dy_view){.a = w->a, .tile_step = 1, .step = padded_step};
    }
  }
  for (int64_t strip = w->strip0; strip < w->strip1; strip++) {
    const int64_t first = strip * nr, columns = iso__min(nr, (c->by_tap ? c->cg : c->columns) - first);
    const int64_t vectors = columns <= width ? 1 : 2;
    fold->columns = (int)columns;
    if (c->by_tap) {
      if (p->x_first)
        s->packers->columns_first(w->runs, n_runs, p->stride_w, c->channel, (int)columns, (int)(vectors * width), w->b);
      else s->packers->columns(w->runs, n_runs, p->stride_w * p->c, (int)columns, (int)(vectors * width), w->b);
      for (int i = 0; i < n_runs; i++)
        if (w->runs[i].x) w->runs[i].x += nr * c->channel; /* the next strip */
    } else {
      pack_mixed(s, w, first, columns, vectors * width, begin, end);
    }
    float *panel = w->panel + (tap - w->tap0) * (c->window ? c->cg : c->strips * nr) + (strip - w->strip0) * nr;
    run_strip(s, w, fold, panel, (c->by_tap ? tap * c->cg : 0) + first, vectors, n_terms, &dy);
  }
}

/* Where the image row lies that the last tap of a position reads, or the nearest one. */
static const float *end_of_row(const shared *s, int64_t position) {
  const iso_conv_problem *p = s->problem;
  const cut *c = s->cut;
  const int64_t row = position / c->out_w % c->out_h, o = position / c->out_w / c->out_h % c->out_d,
                n = position / c->out_w / c->out_h / c->out_d;
  const int64_t h = row * p->stride_h + (p->r - 1) * p->dilation_h - p->pad_top,
                d = o * p->stride_d + (p->t - 1) * p->dilation_d - p->pad_front;
  const int64_t high = iso__max(iso__min(h, p->h - 1), 0), deep = iso__max(iso__min(d, p->d - 1), 0);
  return s->x + (((n * p->d + deep) * p->h + high) * p->w + p->w) * p->c;
}

/* What chunk [end, after) will read beyond chunk [.., end), for tasks that read most of it. */
static void call_ahead(const shared *s, const work *w, int64_t end, int64_t after) {
  const cut *c = s->cut;
  w->ahead[0] = w->ahead[1] = (iso__conv_lines){0};
  if (after <= end || c->n_tiles_of_output > AHEAD_TASKS) return;
  const int64_t n_steps =
      iso__tile_count(w->n_channels, s->packers->tiles->max_rows) * (w->tap1 - w->tap0) * (w->strip1 - w->strip0);
  w->ahead[0] = iso__conv_lines_of(s->dy + end * s->problem->k, s->dy + after * s->problem->k, n_steps);
  if (!s->problem->x_first) w->ahead[1] = iso__conv_lines_of(end_of_row(s, end - 1), end_of_row(s, after - 1), n_steps);
}

static void run_chunk(const shared *s, const work *w, int64_t begin, int64_t end, iso__fold *fold) {
  const cut *c = s->cut;
  const float *from = s->dy + begin * s->problem->k + w->group * c->kg + w->channel;
  dy_view dy = {.a = from, .tile_step = 1, .step = s->problem->k};
  if (c->pack_dy) dy = pack_dy(s, w, from, end - begin);
  call_ahead(s, w, end, iso__min(end + ISO__CHUNK_TERMS, c->n_positions));
  for (int64_t tap = w->tap0; tap < w->tap1; tap++) run_tap(s, w, tap, begin, end, fold, dy);
}

static void run_work(const shared *s, const work *w) {
  const cut *c = s->cut;
  for (int64_t panel = w->panel0; panel < w->panel1; panel++) {
    const int64_t stop = iso__min((panel + 1) * ISO__PANEL_TERMS, c->n_positions);
    for (int64_t begin = panel * ISO__PANEL_TERMS; begin < stop; begin += ISO__CHUNK_TERMS) {
      iso__fold fold = {.ldc = c->columns, .ld_total = c->window ? w->ld_panel : c->columns, .ld_panel = w->ld_panel};
      iso__fold_place(&fold, begin, c->n_positions);
      if (c->window) fold.first_panel = true, fold.last_panel = false;
      run_chunk(s, w, begin, iso__min(begin + ISO__CHUNK_TERMS, stop), &fold);
    }
  }
}

/* Unit `unit` of a window: a tile of the output and, with slots, a panel. */
static work work_of(const shared *s, int64_t unit, char *mine) {
  const cut *c = s->cut;
  const int64_t nr = 2 * s->packers->tiles->width, panel = unit / c->n_tiles_of_output;
  int64_t rest = unit % c->n_tiles_of_output;
  const int64_t block = rest % c->n_strip_blocks;
  const int64_t taps = (rest /= c->n_strip_blocks) % c->n_tap_blocks;
  const int64_t channels = (rest /= c->n_tap_blocks) % c->n_channel_blocks;
  work w = {.group = rest / c->n_channel_blocks,
            .channel = channels * c->channels,
            .n_channels = iso__min(c->channels, c->kg - channels * c->channels),
            .tap0 = taps * c->taps,
            .tap1 = iso__min((taps + 1) * c->taps, c->n_taps),
            .strip0 = block * c->strips,
            .strip1 = iso__min((block + 1) * c->strips, c->strips_tap),
            .panel0 = 0,
            .panel1 = c->n_panels,
            .a = (float *)(void *)(mine + s->layout->a),
            .b = (float *)(void *)(mine + s->layout->b),
            .panel = (float *)(void *)(mine + s->layout->panel),
            .ld_panel = c->taps * c->strips * nr,
            .runs = (iso__conv_run *)(void *)(mine + s->layout->runs)};
  if (c->window) { /* the slot has dw's shape */
    float *slot = (float *)(void *)(s->workspace + s->layout->slots) + panel * s->problem->k * c->columns;
    w.panel0 = s->first_panel + panel, w.panel1 = w.panel0 + 1;
    w.panel = slot + (w.group * c->kg + w.channel) * c->columns + (c->by_tap ? w.tap0 * c->cg : 0) + w.strip0 * nr;
    w.ld_panel = c->columns;
  }
  return w;
}

static void weights_task(void *arg, int task, int thread) {
  const shared *s = arg;
  char *mine = s->workspace + s->layout->threads + (size_t)thread * s->layout->thread_bytes;
  for (int64_t unit = s->n_units * task / s->n_tasks; unit < s->n_units * (task + 1) / s->n_tasks; unit++) {
    iso__conv_lines ahead[2];
    work w = work_of(s, unit, mine);
    w.ahead = ahead;
    run_work(s, &w);
  }
}

/* dw = dw + slot, slots ascending; the first panel of all begins from +0. */
static void fold_slots(void *arg, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const shared *s = arg;
  const int64_t n = s->problem->k * s->cut->columns;
  for (int64_t panel = 0; panel < s->n_window; panel++) {
    const float *slot = (const float *)(const void *)(s->workspace + s->layout->slots) + panel * n;
    if (s->first_panel + panel == 0)
      for (int64_t i = begin; i < end; i++) s->dw[i] = 0.0f + slot[i];
    else
      for (int64_t i = begin; i < end; i++) s->dw[i] = s->dw[i] + slot[i];
  }
}

void iso__conv_bwd_weights_run(const iso__conv_packers *packers, const iso__call *call) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const iso_conv_args *args = call->args;
  const cut c = choose_cut(packers, p, iso_n_threads(call->ctx));
  const layout l = lay_out(packers, p, &c, iso_n_threads(call->ctx));
  shared s = {.packers = packers,
              .problem = p,
              .x = args->x,
              .dy = args->dy,
              .dw = args->dw,
              .cut = &c,
              .layout = &l,
              .workspace = call->workspace};
  const int64_t n = p->k * c.columns;
  if (c.n_positions == 0) memset(args->dw, 0, (size_t)n * sizeof(float));
  if (n == 0 || c.n_positions == 0) return;
  const bool alone = 2.0 * (double)n * (double)c.n_positions < ISO__CONV_SHARED_FLOPS;
  const int64_t window = c.window ? c.window : c.n_panels;
  for (s.first_panel = 0; s.first_panel < c.n_panels; s.first_panel += window) {
    s.n_window = iso__min(window, c.n_panels - s.first_panel);
    s.n_units = c.n_tiles_of_output * (c.window ? s.n_window : 1);
    s.n_tasks = alone ? 1 : (int)iso__min(s.n_units, MAX_TASKS);
    if (alone) weights_task(&s, 0, 0);
    else iso__parallel(call->ctx, s.n_tasks, weights_task, &s);
    if (!c.window) continue;
    if (alone) fold_slots(&s, 0, n, 0);
    else iso__parallel_range(call->ctx, n, 4096, 16, fold_slots, &s);
  }
}
