/* bwd_weights.c: spans, chunks, panels and threads of the weights' gradient of depthwise convolution (bwd_weights.h).
 */
#include "kernels/conv/depthwise/bwd_weights.h"
#include "kernels/sizes.h"
#include "base/pool.h"
#include "numeric/order.h"

enum {
  SLOT_BYTES = 2 << 20, /* of all slots together */
  MAX_SLOTS = 64,
  SLICE_BYTES = 16 << 10, /* of sums that a thread works on */
  TASK_NS = 20000,        /* below two of these another thread costs more than it saves */
};

const char *iso__dw_bwd_weights_applicable(const iso__dw_summers *summers, const iso_conv_problem *p) {
  const char *reason = iso__dw_is_depthwise(p);
  if (reason) return reason;
  if (p->c < summers->width) return "fewer channels than lanes";
  return NULL;
}

const char *iso__grouped_bwd_weights_applicable(const iso__dw_summers *summers, const iso_conv_problem *p) {
  return iso__grouped_channels_applicable(summers->width, p);
}

/* How a problem is cut; of no effect on bits. */
typedef struct cut {
  int64_t out_h, out_w, n_positions, n_panels;
  int64_t n_vectors, vector_floats; /* of sums */
  int64_t depth;                    /* channels of a group */
  int64_t slots;                    /* panels at a time; 0: threads share channels */
  int64_t n_parts, slice;           /* of the channels; vectors that a thread works on at a time */
  int64_t inside, inside_end;       /* output columns all of whose taps are in the image */
} cut;

static double work_ns(const iso__dw_summers *summers, const iso_conv_problem *p) {
  const double positions = (double)(p->n * iso__conv_out_h(p) * iso__conv_out_w(p));
  const double tap_ns = p->groups == p->c ? 0.22 : summers->width > 8 ? 0.55 : 0.31; /* measured */
  return positions * (double)iso__ceil_div(p->c, summers->width) * tap_ns *
         (double)(p->r * p->s * (p->c / p->groups) + 1);
}

static cut choose_cut(const iso__dw_summers *summers, const iso_conv_problem *p, int n_threads) {
  cut c = {.out_h = iso__conv_out_h(p), .out_w = iso__conv_out_w(p)};
  c.n_positions = p->n * c.out_h * c.out_w;
  c.n_panels = iso__ceil_div(c.n_positions, ISO__PANEL);
  c.inside = iso__min(iso__ceil_div(p->pad_left, p->stride_w), c.out_w);
  const int64_t room = p->w + p->pad_left - (p->s - 1) * p->dilation_w; /* columns where the last tap is inside */
  c.inside_end = iso__max(room > 0 ? iso__min(iso__ceil_div(room, p->stride_w), c.out_w) : 0, c.inside);
  c.n_vectors = iso__ceil_div(p->c, summers->width);
  c.depth = p->c / p->groups;
  c.vector_floats = p->r * p->s * c.depth * summers->width;
  const int64_t wanted = iso__min(n_threads, 1 + (int64_t)(work_ns(summers, p) / TASK_NS / 2));
  c.n_parts = iso__min(wanted, c.n_vectors);
  c.slice = iso__max(SLICE_BYTES / (int64_t)sizeof(float) / iso__max(c.vector_floats, 1), 1);
  const bool uneven = iso__ceil_div(c.n_vectors, wanted) * wanted * 10 > c.n_vectors * 11,
             many = wanted > 1 && c.n_panels >= 4 * wanted; /* whole pixels are read faster than halves of them */
  const int64_t fit = SLOT_BYTES / (int64_t)sizeof(float) / iso__max(c.n_vectors * c.vector_floats, 1);
  if ((uneven || many) && c.n_panels >= 2 && fit >= 2) c.slots = iso__min(iso__min(fit, MAX_SLOTS), c.n_panels);
  return c;
}

/* ---- workspace: slots, total, then one part a thread ---- */

typedef struct layout {
  size_t slots, total, threads; /* offsets */
  size_t chunk, panel;          /* within a thread's part */
  size_t thread_bytes, n_bytes;
} layout;

static layout lay_out(const cut *c, int n_threads) {
  const int64_t floats = c->n_vectors * c->vector_floats;
  layout l;
  size_t at = 0;
  l.slots = iso__take(&at, c->slots * floats, sizeof(float));
  l.total = iso__take(&at, floats, sizeof(float));
  l.threads = at;
  at = 0;
  const int64_t slice = iso__min(c->slice, c->n_vectors) * c->vector_floats;
  l.chunk = iso__take(&at, slice, sizeof(float));
  l.panel = iso__take(&at, c->slots ? 0 : slice, sizeof(float));
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
  return 2000 + (double)(p->r * p->s * p->c * (p->c / p->groups)) + (work > read ? work : read) / n_threads;
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

/* What a thread works on: a range of channel vectors, their sums of the current chunk, and the sample's place. */
typedef struct work {
  const shared *shared;
  int64_t first, end; /* channel vectors */
  float *chunk;
} work;

/* Taps [first, end) of kernel columns, rows [top, bottom), for positions [q, q + n) of one output row. */
typedef struct span {
  int64_t x, dy; /* offsets of tap (0, 0) and of the first position, channel 0 */
  int64_t n;
  iso__conv_range rows, cols;
} span;

static iso__dw_block block_of(const work *w, const span *a, int64_t row, int64_t tap) {
  const shared *s = w->shared;
  const iso_conv_problem *p = s->problem;
  const int64_t width = s->summers->width, c = w->first * width, end = iso__min(w->end * width, p->c);
  iso__dw_block b = {.x_row = p->dilation_h * p->w * p->c,
                     .x_tap = p->dilation_w * p->c,
                     .x_pixel = p->stride_w * p->c,
                     .dy_pixel = p->c,
                     .sums_row = p->s * s->cut->depth * width,
                     .sums_tap = s->cut->depth * width,
                     .depth = (int)s->cut->depth,
                     .sums_vector = s->cut->vector_floats,
                     .n_vectors = w->end - w->first,
                     .last = end - width - c};
  b.x = (const float *)s->args->x + (a->x + row * b.x_row + tap * b.x_tap + c);
  b.dy = (const float *)s->args->dy + (a->dy + c);
  b.sums = w->chunk + row * b.sums_row + tap * b.sums_tap;
  return b;
}

/* The same block about the next channel of its groups. */
static void next_channel(const work *w, iso__dw_block *b) {
  b->channel++;
  b->sums += w->shared->summers->width;
}

/* One group of taps for all positions of the span. */
static void run_group(const work *w, const span *a, int64_t row, int64_t tap, int64_t rows, int64_t taps, int apart) {
  iso__dw_block b = block_of(w, a, row, tap);
  iso__dw_block_fn *const *const fn = w->shared->summers->group[rows - 1][taps - 1][apart - 1];
  for (int64_t left = a->n; left;) {
    const int64_t now = iso__ceil_div(left, iso__ceil_div(left, ISO__DW_BLOCK));
    for (iso__dw_block one = b; one.channel < one.depth; next_channel(w, &one)) fn[now - 1](&one);
    b.x += now * b.x_pixel;
    b.dy += now * b.dy_pixel;
    left -= now;
  }
}

/* How many of `n` taps the next group takes. */
static int64_t group_taps(int64_t n, int apart) {
  static const int8_t taps[ISO__DW_GROUP_TAPS + 1] = {0, 1, 2, 3, 2, 5, 3, 7};
  if (apart == 0) return 1;
  return n <= ISO__DW_GROUP_TAPS ? taps[n] : n < 2 * ISO__DW_GROUP_TAPS ? 5 : ISO__DW_GROUP_TAPS;
}

/* All taps of the span that lie in the image. */
static void run_inside(const work *w, const span *a) {
  const iso_conv_problem *p = w->shared->problem;
  const int apart = p->stride_w == p->dilation_w ? 1 : p->stride_w == 2 * p->dilation_w ? 2 : 0;
  for (int64_t tap = a->cols.first; tap < a->cols.end;) {
    const int64_t taps = group_taps(a->cols.end - tap, apart),
                  most = taps <= ISO__DW_GROUP_ROWS ? ISO__DW_GROUP_ROWS : 1;
    for (int64_t row = a->rows.first; row < a->rows.end;) {
      const int64_t rows = iso__min(a->rows.end - row, most);
      run_group(w, a, row, tap, rows, taps, apart ? apart : 1);
      row += rows;
    }
    tap += taps;
  }
}

/* All taps, one position and one tap at a time: those in the padding multiply by zero. */
static void run_padded(const work *w, const span *a) {
  const iso_conv_problem *p = w->shared->problem;
  for (int64_t i = 0; i < a->n; i++) {
    const span one = {a->x + i * p->stride_w * p->c, a->dy + i * p->c, 1, a->rows, a->cols};
    for (int64_t row = 0; row < p->r; row++)
      for (int64_t tap = 0; tap < p->s; tap++) {
        if (row >= a->rows.first && row < a->rows.end && tap >= a->cols.first && tap < a->cols.end) continue;
        for (iso__dw_block b = block_of(w, &one, row, tap); b.channel < b.depth; next_channel(w, &b))
          w->shared->summers->add_zero(&b);
      }
  }
}

static bool is_finite(const work *w, const span *a) {
  const shared *s = w->shared;
  const iso__dw_block b = block_of(w, a, 0, 0);
  const int64_t first = iso__min(b.last, 0); /* the last vector begins before the slice where channels end within it */
  for (int64_t i = 0; i < a->n; i++)
    if (!s->summers->is_finite(b.dy + i * b.dy_pixel + first, b.last + s->summers->width - first)) return false;
  return true;
}

static void run_span(const work *w, const span *a) {
  const iso_conv_problem *p = w->shared->problem;
  if (a->n == 0) return;
  const bool whole = a->rows.first == 0 && a->rows.end == p->r && a->cols.first == 0 && a->cols.end == p->s;
  if (!whole && !is_finite(w, a)) run_padded(w, a);
  run_inside(w, a);
}

/* Kernel rows or columns [first, end) inside an image of `extent`, for tap 0 at `at`. */
static iso__conv_range taps_inside(int64_t at, int64_t extent, int64_t kernel, int64_t dilation) {
  const int64_t first = at < 0 ? iso__min(iso__ceil_div(-at, dilation), kernel) : 0,
                end = extent > at ? iso__min(iso__ceil_div(extent - at, dilation), kernel) : 0;
  return (iso__conv_range){(int32_t)first, (int32_t)iso__max(end, first)};
}

/* Positions [q, end) of output row `row`: borders position by position, the others together. */
static void run_row(const work *w, int64_t n, int64_t row, int64_t q, int64_t end) {
  const iso_conv_problem *p = w->shared->problem;
  const cut *c = w->shared->cut;
  const int64_t top = row * p->stride_h - p->pad_top;
  const iso__conv_range rows = taps_inside(top, p->h, p->r, p->dilation_h);
  while (q < end) {
    const int64_t left = q * p->stride_w - p->pad_left;
    span a = {.x = ((n * p->h + top) * p->w + left) * p->c,
              .dy = ((n * c->out_h + row) * c->out_w + q) * p->c,
              .n = 1,
              .rows = rows,
              .cols = taps_inside(left, p->w, p->s, p->dilation_w)};
    if (q >= c->inside && q < c->inside_end) a.n = iso__min(c->inside_end, end) - q;
    run_span(w, &a);
    q += a.n;
  }
}

/* The chunks of one panel, folded into `panel`. */
static void run_panel(const work *w, int64_t index, float *panel) {
  const cut *c = w->shared->cut;
  const int64_t n = (w->end - w->first) * c->vector_floats;
  memset(w->chunk, 0, (size_t)n * sizeof(float));
  const int64_t last = iso__min((index + 1) * ISO__PANEL, c->n_positions);
  for (int64_t chunk = index * ISO__PANEL; chunk < last; chunk += ISO__CHUNK) {
    const int64_t end = iso__min(chunk + ISO__CHUNK, last);
    for (int64_t at = chunk; at < end;) {
      const int64_t q = at % c->out_w, length = iso__min(c->out_w - q, end - at);
      run_row(w, at / c->out_w / c->out_h, at / c->out_w % c->out_h, q, q + length);
      at += length;
    }
    w->shared->summers->fold(panel, w->chunk, n, chunk % ISO__PANEL == 0);
  }
}

/* dw (c,r,s) from the sums of channel vectors [first, end). */
static void store(const shared *s, const float *total, int64_t first, int64_t end) {
  const iso_conv_problem *p = s->problem;
  const int64_t taps = p->r * p->s * s->cut->depth, width = s->summers->width; /* of (r,s,channel of the group) */
  float *dw = s->args->dw;
  for (int64_t v = first; v < end; v++, total += s->cut->vector_floats) {
    const int64_t c = iso__min(v * width, p->c - width);
    for (int64_t lane = 0; lane < width; lane++)
      for (int64_t at = 0; at < taps; at++) dw[(c + lane) * taps + at] = total[at * width + lane];
  }
}

static float *floats_of_thread(const shared *s, int thread, size_t offset) {
  return floats_at(s, s->layout->threads + (size_t)thread * s->layout->thread_bytes + offset);
}

/* A share of the channels through all panels, in slices whose sums stay in L1. */
static void channels_task(void *arg, int task, int thread) {
  const shared *s = arg;
  const cut *c = s->cut;
  float *panel = floats_of_thread(s, thread, s->layout->panel);
  const int64_t begin = c->n_vectors * task / c->n_parts, stop = c->n_vectors * (task + 1) / c->n_parts;
  for (int64_t first = begin; first < stop; first += c->slice) {
    const work w = {s, first, iso__min(first + c->slice, stop), floats_of_thread(s, thread, s->layout->chunk)};
    float *total = floats_at(s, s->layout->total) + first * c->vector_floats;
    for (int64_t i = 0; i < c->n_panels; i++) {
      run_panel(&w, i, panel);
      s->summers->fold(total, panel, (w.end - w.first) * c->vector_floats, i == 0);
    }
    store(s, total, w.first, w.end);
  }
}

static void slot_task(void *arg, int task, int thread) {
  const shared *s = arg;
  const cut *c = s->cut;
  float *slot = floats_at(s, s->layout->slots) + task * c->n_vectors * c->vector_floats;
  for (int64_t first = 0; first < c->n_vectors; first += c->slice) {
    const work w = {s, first, iso__min(first + c->slice, c->n_vectors), floats_of_thread(s, thread, s->layout->chunk)};
    run_panel(&w, s->first_panel + task, slot + first * c->vector_floats);
  }
}

static void run_windows(shared *s, iso_context *ctx) {
  const cut *c = s->cut;
  const int64_t n = c->n_vectors * c->vector_floats;
  float *total = floats_at(s, s->layout->total), *slots = floats_at(s, s->layout->slots);
  for (s->first_panel = 0; s->first_panel < c->n_panels; s->first_panel += c->slots) {
    const int64_t n_panels = iso__min(c->slots, c->n_panels - s->first_panel);
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
  if (c.n_positions == 0) memset(s.args->dw, 0, (size_t)(p->c * p->r * p->s * c.depth) * sizeof(float));
  else if (c.slots) run_windows(&s, call->ctx);
  else iso__parallel(call->ctx, (int)c.n_parts, channels_task, &s);
}
