/* bwd_weights.c: chunks, panels and threads of the weights' gradient of depthwise convolution (bwd_weights.h). */
#include "kernels/conv/depthwise/bwd_weights.h"
#include "base/pool.h"
#include "numeric/order.h"

enum {
  SLOT_BYTES = 2 << 20, /* of all slots together */
  MAX_SLOTS = 64,
  GROUP_POSITIONS = 56, /* that all channels pass before the next are read: their rows stay in L2 */
  TASK_NS = 20000,      /* below two of these another thread costs more than it saves */
};

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

const char *iso__dw_bwd_weights_applicable(const iso__dw_summers *summers, const iso_conv_problem *p) {
  const char *reason = iso__dw_is_depthwise(p);
  if (reason) return reason;
  if (p->c < summers->width) return "fewer channels than lanes";
  return NULL;
}

/* How a problem is cut; of no effect on bits. */
typedef struct cut {
  int64_t out_h, out_w, n_positions, n_panels;
  int64_t n_vectors, vector_floats; /* of sums */
  int64_t slots;                    /* panels at a time; 0: threads share channels */
  int64_t n_parts;                  /* of the channels */
} cut;

static double work_ns(const iso__dw_summers *summers, const iso_conv_problem *p) {
  const double positions = (double)(p->n * iso__conv_out_h(p) * iso__conv_out_w(p));
  return positions * (double)ceil_div(p->c, summers->width) * 0.22 * (double)(p->r * p->s + 1);
}

static cut choose_cut(const iso__dw_summers *summers, const iso_conv_problem *p, int n_threads) {
  cut c = {.out_h = iso__conv_out_h(p), .out_w = iso__conv_out_w(p)};
  c.n_positions = p->n * c.out_h * c.out_w;
  c.n_panels = ceil_div(c.n_positions, ISO__PANEL);
  c.n_vectors = ceil_div(p->c, summers->width);
  c.vector_floats = p->r * p->s * summers->width;
  const int64_t wanted = min64(n_threads, 1 + (int64_t)(work_ns(summers, p) / TASK_NS / 2));
  c.n_parts = min64(wanted, c.n_vectors);
  const bool uneven = ceil_div(c.n_vectors, wanted) * wanted * 10 > c.n_vectors * 11;
  const int64_t fit = SLOT_BYTES / (int64_t)sizeof(float) / max64(c.n_vectors * c.vector_floats, 1);
  if (uneven && c.n_panels >= 2 && fit >= 2) c.slots = min64(min64(fit, MAX_SLOTS), c.n_panels);
  return c;
}

/* ---- workspace: slots, total, then one part a thread ---- */

typedef struct layout {
  size_t slots, total, threads;  /* offsets */
  size_t chunk, panel, segments; /* within a thread's part */
  size_t thread_bytes, n_bytes;
} layout;

static size_t take(size_t *at, int64_t n, size_t item_bytes) {
  const size_t begin = *at;
  *at = (begin + (size_t)n * item_bytes + 63) / 64 * 64;
  return begin;
}

static layout lay_out(const cut *c, int n_threads) {
  const int64_t floats = c->n_vectors * c->vector_floats;
  layout l;
  size_t at = 0;
  l.slots = take(&at, c->slots * floats, sizeof(float));
  l.total = take(&at, floats, sizeof(float));
  l.threads = at;
  at = 0;
  l.chunk = take(&at, floats, sizeof(float));
  l.panel = take(&at, c->slots ? 0 : floats, sizeof(float));
  l.segments = take(&at, ISO__CHUNK, sizeof(iso__dw_segment));
  l.thread_bytes = at + 64; /* threads' parts begin in lines of different sets */
  l.n_bytes = l.threads + (size_t)n_threads * l.thread_bytes;
  return l;
}

size_t iso__dw_bwd_weights_workspace(const iso__dw_summers *summers, const iso_conv_problem *p, int n_threads) {
  const cut c = choose_cut(summers, p, n_threads);
  return lay_out(&c, n_threads).n_bytes;
}

double iso__dw_bwd_weights_cost(const iso__dw_summers *summers, const iso_conv_problem *p, int n_threads) {
  const double read = (double)(p->n * p->c) * (double)(p->h * p->w + iso__conv_out_h(p) * iso__conv_out_w(p)) * 4 / 14;
  const double work = work_ns(summers, p);
  return 2000 + (double)(p->r * p->s * p->c) + (work > read ? work : read) / n_threads;
}

/* ---- one call ---- */

typedef struct shared {
  const iso__dw_summers *summers;
  const iso_conv_problem *problem;
  const iso_conv_args *args;
  const cut *cut;
  const layout *layout;
  char *workspace;
  int64_t first_panel; /* of the window */
} shared;

static float *floats_at(const shared *s, size_t offset) { return (float *)(void *)(s->workspace + offset); }

/* Output columns or rows [first, end) that see tap `move` columns or rows away inside the image. */
static iso__conv_range seen(int64_t move, int64_t extent, int64_t stride, int64_t out) {
  const int64_t first = move < 0 ? min64(ceil_div(-move, stride), out) : 0,
                end = extent - move > 0 ? min64(ceil_div(extent - move, stride), out) : 0;
  return (iso__conv_range){(int32_t)first, (int32_t)max64(end, first)};
}

/* Kernel rows inside the image at output row `row`. */
static iso__conv_range rows_inside(const iso_conv_problem *p, int64_t row) {
  const int64_t top = row * p->stride_h - p->pad_top;
  const int64_t first = top < 0 ? min64(ceil_div(-top, p->dilation_h), p->r) : 0,
                end = p->h - top > 0 ? min64(ceil_div(p->h - top, p->dilation_h), p->r) : 0;
  return (iso__conv_range){(int32_t)first, (int32_t)max64(end, first)};
}

/* Positions [begin, end) by output rows; returns how many segments. */
static int list_segments(const shared *s, int64_t begin, int64_t end, iso__dw_segment *segments) {
  const iso_conv_problem *p = s->problem;
  const cut *c = s->cut;
  const iso__conv_range first_tap = seen(-p->pad_left, p->w, p->stride_w, c->out_w),
                        last_tap = seen((p->s - 1) * p->dilation_w - p->pad_left, p->w, p->stride_w, c->out_w);
  int n_segments = 0;
  for (int64_t at = begin; at < end;) {
    const int64_t q = at % c->out_w, row = at / c->out_w % c->out_h, n = at / c->out_w / c->out_h;
    const int64_t length = min64(c->out_w - q, end - at);
    iso__dw_segment *g = &segments[n_segments++];
    g->column = q * p->stride_w - p->pad_left;
    g->x = ((n * p->h + row * p->stride_h - p->pad_top) * p->w + g->column) * p->c;
    g->dy = at * p->c;
    g->n = (int32_t)length;
    g->inside = (int32_t)min64(max64(first_tap.first - q, 0), length);
    g->inside_end = (int32_t)max64(min64(last_tap.end - q, length), g->inside);
    g->rows = rows_inside(p, row);
    at += length;
  }
  return n_segments;
}

/* All tiles of taps for some segments. */
static void run_tiles(const iso__dw_summers *summers, const iso__dw_sums *sums) {
  const int64_t n_blocks = ceil_div(sums->n_taps, ISO__DW_TILE_TAPS);
  const int64_t apart = sums->pixel_step % sums->tap_step == 0 && sums->pixel_step / sums->tap_step <= 2
                            ? sums->pixel_step / sums->tap_step
                            : 0;
  for (int64_t b = 0; b < n_blocks; b++) {
    const int64_t tap = sums->n_taps * b / n_blocks, taps = sums->n_taps * (b + 1) / n_blocks - tap;
    const int64_t most = min64(ISO__DW_TILE / taps, ISO__DW_TILE_ROWS);
    const int64_t pieces = ceil_div(sums->n_rows, most);
    for (int64_t i = 0; i < pieces; i++) {
      const int64_t row = sums->n_rows * i / pieces, rows = sums->n_rows * (i + 1) / pieces - row;
      summers->tile[rows - 1][taps - 1][apart](sums, row, tap);
    }
  }
}

/* The chunks of one panel, folded into `panel`: channel vectors [first, end). */
static void run_panel(const shared *s, int64_t index, int64_t first, int64_t end, float *panel, char *mine) {
  const iso_conv_problem *p = s->problem;
  const int64_t n = (end - first) * s->cut->vector_floats;
  float *chunk = (float *)(void *)(mine + s->layout->chunk);
  iso__dw_segment *segments = (iso__dw_segment *)(void *)(mine + s->layout->segments);
  iso__dw_sums sums = {.x = s->args->x,
                       .dy = s->args->dy,
                       .x_row = p->dilation_h * p->w * p->c,
                       .x_tap = p->dilation_w * p->c,
                       .x_pixel = p->stride_w * p->c,
                       .dy_pixel = p->c,
                       .tap_step = p->dilation_w,
                       .pixel_step = p->stride_w,
                       .width = p->w,
                       .first_vector = first,
                       .end_vector = end,
                       .n_channels = p->c,
                       .n_rows = p->r,
                       .n_taps = p->s,
                       .sums = chunk};
  memset(chunk, 0, (size_t)n * sizeof(float));
  const int64_t last = min64((index + 1) * ISO__PANEL, s->cut->n_positions);
  for (int64_t at = index * ISO__PANEL; at < last; at += ISO__CHUNK) {
    const int n_segments = list_segments(s, at, min64(at + ISO__CHUNK, last), segments);
    for (int g = 0; g < n_segments;) {
      int64_t positions = 0;
      sums.segments = segments + g;
      for (sums.n_segments = 0; g < n_segments && positions < GROUP_POSITIONS; g++, sums.n_segments++)
        positions += segments[g].n;
      run_tiles(s->summers, &sums);
    }
    s->summers->fold(panel, chunk, n, at % ISO__PANEL == 0);
  }
}

/* dw (c,r,s) from the sums of channel vectors [first, end). */
static void store(const shared *s, const float *total, int64_t first, int64_t end) {
  const iso_conv_problem *p = s->problem;
  const int64_t taps = p->r * p->s, width = s->summers->width;
  float *dw = s->args->dw;
  for (int64_t v = first; v < end; v++, total += s->cut->vector_floats) {
    const int64_t c = min64(v * width, p->c - width);
    for (int64_t lane = 0; lane < width; lane++)
      for (int64_t tap = 0; tap < taps; tap++) dw[(c + lane) * taps + tap] = total[tap * width + lane];
  }
}

/* A share of the channels through all panels. */
static void channels_task(void *arg, int task, int thread) {
  const shared *s = arg;
  const cut *c = s->cut;
  char *mine = s->workspace + s->layout->threads + (size_t)thread * s->layout->thread_bytes;
  const int64_t first = c->n_vectors * task / c->n_parts, end = c->n_vectors * (task + 1) / c->n_parts;
  float *total = floats_at(s, s->layout->total) + first * c->vector_floats,
        *panel = (float *)(void *)(mine + s->layout->panel);
  for (int64_t i = 0; i < c->n_panels; i++) {
    run_panel(s, i, first, end, panel, mine);
    s->summers->fold(total, panel, (end - first) * c->vector_floats, i == 0);
  }
  store(s, total, first, end);
}

static void slot_task(void *arg, int task, int thread) {
  const shared *s = arg;
  const cut *c = s->cut;
  char *mine = s->workspace + s->layout->threads + (size_t)thread * s->layout->thread_bytes;
  run_panel(s, s->first_panel + task, 0, c->n_vectors,
            floats_at(s, s->layout->slots) + task * c->n_vectors * c->vector_floats, mine);
}

static void run_windows(shared *s, iso_context *ctx) {
  const cut *c = s->cut;
  const int64_t n = c->n_vectors * c->vector_floats;
  float *total = floats_at(s, s->layout->total), *slots = floats_at(s, s->layout->slots);
  for (s->first_panel = 0; s->first_panel < c->n_panels; s->first_panel += c->slots) {
    const int64_t n_panels = min64(c->slots, c->n_panels - s->first_panel);
    iso__parallel(ctx, (int)n_panels, slot_task, s);
    for (int64_t i = 0; i < n_panels; i++) s->summers->fold(total, slots + i * n, n, s->first_panel + i == 0);
  }
  store(s, total, 0, c->n_vectors);
}

void iso__dw_bwd_weights_run(const iso__dw_summers *summers, const iso__call *call) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const int n_threads = iso_n_threads(call->ctx);
  const cut c = choose_cut(summers, p, n_threads);
  const layout l = lay_out(&c, n_threads);
  shared s = {
      .summers = summers, .problem = p, .args = call->args, .cut = &c, .layout = &l, .workspace = call->workspace};
  if (c.n_positions == 0) memset(s.args->dw, 0, (size_t)(p->c * p->r * p->s) * sizeof(float));
  else if (c.slots) run_windows(&s, call->ctx);
  else iso__parallel(call->ctx, (int)c.n_parts, channels_task, &s);
}
