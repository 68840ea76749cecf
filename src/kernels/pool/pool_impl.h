/* pool_impl.h: pooling of channels-last signals, images and volumes, vectors of channels; included once per instruction
 * set, which names its exports by ISA(name).
 *
 * Forward walks output positions, backward walks input positions and gathers from the windows over them: every element
 * is written once, by one thread, in a fixed order. A task takes a range of rows, numbered through all planes. */
#include "base/pool.h"
#include "kernels/pool/index_vec.h"
#include "kernels/pool/window.h"
#include "numeric/order.h"
#include "numeric/vec.h"

enum { POOL_GRAIN_ELEMENTS = 16384 };

typedef struct job {
  const iso_pool_problem *p;
  const iso_pool_args *a;
  int64_t out[3];
} job;

/* One output position: the window's inside, and x at its kernel position (0,0,0), which may lie outside. */
typedef struct window {
  const iso_pool_problem *p;
  const float *x;
  range r[3];
  int64_t step[3];        /* floats of x from one kernel position to the next along each axis */
  int64_t at[3];          /* the output position */
  int32_t first;          /* of x, as position in the plane */
  int32_t number_step[3]; /* what the winner's number grows by along each axis */
} window;
static void window_open(window *w, const job *j, int64_t image) {
  const iso_pool_problem *p = j->p;
  const iso_pool_axis *a = p->axis;
  *w = (window){.p = p};
  w->x = (const float *)j->a->x + image * iso__pool_in_positions(p) * p->c;
  const int64_t positions[3] = {a[1].in * a[2].in, a[2].in, 1},
                numbers[3] = {a[1].kernel * a[2].kernel, a[2].kernel, 1};
  for (int d = 0; d < 3; d++) {
    w->step[d] = positions[d] * a[d].dilation * p->c;
    w->number_step[d] = (int32_t)(p->wide ? positions[d] * a[d].dilation : numbers[d]);
  }
}
/* The same of the window at output position `at`. */
static window window_at(const window *plane, const int64_t at[3]) {
  const iso_pool_axis *a = plane->p->axis;
  window w = *plane;
  int64_t first = 0;
  for (int d = 0; d < 3; d++) {
    w.r[d] = window_inside(&a[d], at[d]);
    w.at[d] = at[d];
    first = first * a[d].in + window_first(&a[d], at[d]);
  }
  w.x += first * w.p->c;
  if (w.p->wide) w.first = (int32_t)first;
  return w;
}
static bool window_is(const window *w, int64_t t, int64_t h, int64_t v) {
  return w->r[0].end - w->r[0].begin == t && w->r[1].end - w->r[1].begin == h && w->r[2].end - w->r[2].begin == v;
}

/* ---- max, forward ---- */
VEC_FN void winner_store(const window *w, void *index, int64_t c, vi at, size_t n) {
  if (w->p->wide) index_store_wide((int64_t *)index + c, vi_add(at, vi_set1(w->first)), n);
  else index_store((uint8_t *)index + c, at, n);
}
VEC_FN void max_channels(const window *w, int64_t c, size_t n, float *y, void *index) {
  vf best = vf_zero();
  vi at = vi_set1(0);
  bool first = true;
  for (int64_t t = w->r[0].begin; t < w->r[0].end; t++)
    for (int64_t r = w->r[1].begin; r < w->r[1].end; r++) {
      const float *row = w->x + t * w->step[0] + r * w->step[1] + c;
      const int32_t number = (int32_t)t * w->number_step[0] + (int32_t)r * w->number_step[1];
      for (int64_t s = w->r[2].begin; s < w->r[2].end; s++) {
        const vf v = vf_load_n(row + s * w->step[2], n);
        const vi here = vi_set1(number + (int32_t)s * w->number_step[2]);
        if (first) {
          best = v, at = here, first = false;
          continue;
        }
        /* larger, or the first NaN */
        const vm better = vm_and(vm_not(vf_isnan(best)), vm_not(vf_le(v, best)));
        best = vf_select(better, v, best), at = vi_select(better, here, at);
      }
    }
  vf_store_n(y + c, best, n);
  winner_store(w, index, c, at, n);
}
/* The common window: 2×2, wholly inside. Pairs first, which finds the same winner (the later one must be larger),
 * unless there is a NaN. */
VEC_FN void max_channels_2x2(const window *w, int64_t c, size_t n, float *y, void *index) {
  const float *top = w->x + c, *bottom = top + w->step[1];
  const vf v0 = vf_load_n(top, n), v1 = vf_load_n(top + w->step[2], n);
  const vf v2 = vf_load_n(bottom, n), v3 = vf_load_n(bottom + w->step[2], n);
  if (vm_any(vm_or(vf_unordered(v0, v1), vf_unordered(v2, v3)))) {
    max_channels(w, c, n, y, index);
    return;
  }
  const int32_t right = w->number_step[2], down = w->number_step[1];
  const vm right_top = vf_gt(v1, v0), right_bottom = vf_gt(v3, v2);
  const vf best_top = vf_select(right_top, v1, v0), best_bottom = vf_select(right_bottom, v3, v2);
  const vi at_top = vi_select(right_top, vi_set1(right), vi_set1(0));
  const vi at_bottom = vi_select(right_bottom, vi_set1(down + right), vi_set1(down));
  const vm lower = vf_gt(best_bottom, best_top);
  vf_store_n(y + c, vf_select(lower, best_bottom, best_top), n);
  winner_store(w, index, c, vi_select(lower, at_bottom, at_top), n);
}
static void max_position(const window *w, float *y, void *index) {
  const int64_t n = w->p->c;
  int64_t c = 0;
  if (w->r[0].begin == 0 && w->r[1].begin == 0 && w->r[2].begin == 0 && window_is(w, 1, 2, 2)) {
    for (; c + VF_LANES <= n; c += VF_LANES) max_channels_2x2(w, c, VF_LANES, y, index);
    if (c < n) max_channels_2x2(w, c, (size_t)(n - c), y, index);
    return;
  }
  for (; c + VF_LANES <= n; c += VF_LANES) max_channels(w, c, VF_LANES, y, index);
  if (c < n) max_channels(w, c, (size_t)(n - c), y, index);
}

/* ---- average, forward: ordered over the window's positions ---- */
/* The window's positions that count, and what the sum is divided by. */
typedef struct average {
  range all[3];
  float divisor;
} average;
/* `vectors` vectors of channels at once, so that one's additions hide the other's latency; the last may hold n lanes.
 */
VEC_FN void average_channels(const window *w, const average *v, int64_t c, int vectors, size_t n, float *y) {
  enum { MOST = 4 };
  vf chunk[MOST], panel[MOST], total[MOST];
  int64_t k = 0;
#pragma GCC unroll 4
  for (int i = 0; i < vectors; i++) chunk[i] = panel[i] = total[i] = vf_zero();
  for (int64_t t = v->all[0].begin; t < v->all[0].end; t++)
    for (int64_t r = v->all[1].begin; r < v->all[1].end; r++) {
      const float *row = w->x + t * w->step[0] + r * w->step[1] + c;
      const bool inside = t >= w->r[0].begin && t < w->r[0].end && r >= w->r[1].begin && r < w->r[1].end;
      for (int64_t s = v->all[2].begin; s < v->all[2].end; s++) {
        const float *x = row + s * w->step[2];
        /* A padded position adds +0, which changes nothing but k. */
        if (inside && s >= w->r[2].begin && s < w->r[2].end)
#pragma GCC unroll 4
          for (int i = 0; i < vectors; i++) chunk[i] = vf_add(chunk[i], vf_load_n(x + i * VF_LANES, n));
        k++;
        if (k % ISO__CHUNK == 0)
          for (int i = 0; i < vectors; i++) panel[i] = vf_add(panel[i], chunk[i]), chunk[i] = vf_zero();
        if (k % ISO__PANEL == 0)
          for (int i = 0; i < vectors; i++) total[i] = vf_add(total[i], panel[i]), panel[i] = vf_zero();
      }
    }
#pragma GCC unroll 4
  for (int i = 0; i < vectors; i++) {
    const vf sum = vf_add(total[i], vf_add(panel[i], chunk[i]));
    vf_store_n(y + c + i * VF_LANES, vf_div(sum, vf_set1(v->divisor)), n);
  }
}
static void average_position(const window *w, float *y) {
  const int64_t n = w->p->c;
  average v = {.divisor = (float)window_divisor(w->p, w->at)};
  for (int d = 0; d < 3; d++) v.all[d] = w->p->count_padding ? window_padded(&w->p->axis[d], w->at[d]) : w->r[d];
  int64_t c = 0;
  for (; c + 4 * VF_LANES <= n; c += 4 * VF_LANES) average_channels(w, &v, c, 4, VF_LANES, y);
  for (; c + VF_LANES <= n; c += VF_LANES) average_channels(w, &v, c, 1, VF_LANES, y);
  if (c < n) average_channels(w, &v, c, 1, (size_t)(n - c), y);
}

static void run_forward(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const iso_pool_problem *p = j->p;
  const bool max = p->head.op == ISO__OP_MAX_POOL_FWD;
  window plane;
  (void)thread;
  for (int64_t row = begin; row < end; row++) {
    int64_t o[3] = {row / j->out[1] % j->out[0], row % j->out[1], 0};
    if (row == begin || (o[0] == 0 && o[1] == 0)) window_open(&plane, j, row / j->out[1] / j->out[0]);
    for (; o[2] < j->out[2]; o[2]++) {
      const int64_t at = (row * j->out[2] + o[2]) * p->c;
      const window w = window_at(&plane, o);
      if (!max) average_position(&w, (float *)j->a->y + at);
      else if (p->wide) max_position(&w, (float *)j->a->y + at, (int64_t *)j->a->index + at);
      else max_position(&w, (float *)j->a->y + at, (uint8_t *)j->a->index + at);
    }
  }
}

/* ---- backward ---- */

/* What a window over an input position adds to the element's place in dy, the winner's number and the positions
 * counted: one axis' part, or two axes' together. */
typedef struct part {
  int64_t offset, count;
  int32_t number;
} part;
enum { MOST_WINDOWS = 256 };
/* The windows over one input position: the product of those of its depth and row with those of its column. */
typedef struct covering {
  const job *j;
  part rows[MOST_WINDOWS], columns[MOST_WINDOWS];
  int n_rows, n_columns;
} covering;

/* Adds the windows of one axis over position i, each with the parts before it, and returns how many there are. */
static int parts_add(const job *j, int axis, int64_t i, const part *before, int n_before, part *parts) {
  const iso_pool_problem *p = j->p;
  const iso_pool_axis *a = &p->axis[axis];
  const range over = windows_over(a, i, j->out[axis]);
  int n = 0;
  for (int b = 0; b < n_before; b++)
    for (int64_t o = over.begin; o < over.end; o++) {
      const int64_t k = window_position(a, o, i);
      if (k < 0) continue;
      const range all = p->count_padding ? window_padded(a, o) : window_inside(a, o);
      parts[n++] = (part){.offset = before[b].offset * j->out[axis] + o,
                          .count = before[b].count * (all.end - all.begin),
                          .number = (int32_t)(before[b].number * a->kernel + k)};
    }
  return n;
}

/* What a window sends to the position: dy of `n` channels, or +0 where another position won. */
VEC_FN vf max_sent(const job *j, int64_t at, int32_t here, size_t n) {
  const vm won = vi_eq(index_load((const uint8_t *)j->a->index + at, n), vi_set1(here));
  return vf_select(won, vf_load_n((const float *)j->a->dy + at, n), vf_zero());
}
/* `vectors` vectors of channels at once, the last of `n` lanes. Windows that send nothing are left out, or add +0:
 * neither changes a bit of a sum that began at +0. */
VEC_FN void gather_channels(const covering *v, bool is_max, int64_t c, int vectors, size_t n, float *dx) {
  enum { MOST = 4 };
  const job *j = v->j;
  vf sum[MOST];
#pragma GCC unroll 4
  for (int i = 0; i < vectors; i++) sum[i] = vf_zero();
  for (int r = 0; r < v->n_rows; r++)
    for (int k = 0; k < v->n_columns; k++) {
      const int64_t at = (v->rows[r].offset + v->columns[k].offset) * j->p->c + c;
      const int32_t here = v->rows[r].number + v->columns[k].number;
      const int64_t count = j->p->divisor ? j->p->divisor : v->rows[r].count * v->columns[k].count;
      const vf divisor = vf_set1((float)count);
#pragma GCC unroll 4
      for (int i = 0; i < vectors; i++) {
        const int64_t from = at + i * VF_LANES;
        const vf sent =
            is_max ? max_sent(j, from, here, n) : vf_div(vf_load_n((const float *)j->a->dy + from, n), divisor);
        sum[i] = vf_add(sum[i], sent);
      }
    }
#pragma GCC unroll 4
  for (int i = 0; i < vectors; i++) vf_store_n(dx + c + i * VF_LANES, sum[i], n);
}
static void gather_max(const covering *v, float *dx) {
  const int64_t n = v->j->p->c;
  int64_t c = 0;
  for (; c + 4 * VF_LANES <= n; c += 4 * VF_LANES) gather_channels(v, true, c, 4, VF_LANES, dx);
  for (; c + VF_LANES <= n; c += VF_LANES) gather_channels(v, true, c, 1, VF_LANES, dx);
  if (c < n) gather_channels(v, true, c, 1, (size_t)(n - c), dx);
}
static void gather_average(const covering *v, float *dx) {
  const int64_t n = v->j->p->c;
  int64_t c = 0;
  for (; c + 4 * VF_LANES <= n; c += 4 * VF_LANES) gather_channels(v, false, c, 4, VF_LANES, dx);
  for (; c + VF_LANES <= n; c += VF_LANES) gather_channels(v, false, c, 1, VF_LANES, dx);
  if (c < n) gather_channels(v, false, c, 1, (size_t)(n - c), dx);
}

static bool same_parts(const part *a, int n_a, const part *b, int n_b) {
  bool same = n_a == n_b;
  for (int i = 0; same && i < n_a; i++) same = a[i].offset == b[i].offset;
  return same;
}
/* One row. An average sends every position of a window the same, so a position under the windows of the one before it
 * is its copy. */
static void backward_row(covering *v, float *dx) {
  const job *j = v->j;
  const iso_pool_axis *a = &j->p->axis[2];
  const bool is_max = j->p->head.op == ISO__OP_MAX_POOL_BWD;
  const part none = {.count = 1};
  int64_t last_offset = -1;
  int last_n = -1;
  for (int64_t column = 0; column < a->in; column++, dx += j->p->c) {
    v->n_columns = parts_add(j, 2, column, &none, 1, v->columns);
    const int64_t offset = v->n_columns ? v->columns[0].offset : 0;
    if (is_max) gather_max(v, dx);
    else if (v->n_columns == last_n && offset == last_offset) memcpy(dx, dx - j->p->c, (size_t)j->p->c * sizeof *dx);
    else gather_average(v, dx);
    last_n = v->n_columns, last_offset = offset;
  }
}
static void run_backward(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const iso_pool_axis *a = j->p->axis;
  const bool is_max = j->p->head.op == ISO__OP_MAX_POOL_BWD;
  const int64_t line = a[2].in * j->p->c;
  covering v = {.j = j};
  part depths[MOST_WINDOWS], last[MOST_WINDOWS];
  int n_last = -1;
  (void)thread;
  for (int64_t row = begin; row < end; row++) {
    float *dx = (float *)j->a->dx + row * line;
    const part image = {.offset = row / a[1].in / a[0].in, .count = 1};
    const int n_depths = parts_add(j, 0, row / a[1].in % a[0].in, &image, 1, depths);
    v.n_rows = parts_add(j, 1, row % a[1].in, depths, n_depths, v.rows);
    for (int r = 0; r < v.n_rows; r++) v.rows[r].offset *= j->out[2], v.rows[r].number *= (int32_t)a[2].kernel;
    if (!is_max && same_parts(v.rows, v.n_rows, last, n_last)) memcpy(dx, dx - line, (size_t)line * sizeof *dx);
    else backward_row(&v, dx);
    n_last = v.n_rows;
    memcpy(last, v.rows, (size_t)n_last * sizeof *last);
  }
}

/* ---- backward of images whose windows don't overlap: each is read once and spread over its positions ---- */

VEC_FN void spread_channels(const job *j, bool is_max, int64_t at, int64_t c, size_t n, float *dx) {
  const iso_pool_problem *p = j->p;
  const int64_t kernel_h = p->axis[1].kernel, kernel_w = p->axis[2].kernel;
  vf dy = vf_load_n((const float *)j->a->dy + at + c, n);
  const vi won = is_max ? index_load((const uint8_t *)j->a->index + at + c, n) : vi_set1(0);
  /* +0 + dy, as a sum from +0 has it */
  const int64_t divisor = p->divisor ? p->divisor : kernel_h * kernel_w;
  dy = vf_add(is_max ? dy : vf_div(dy, vf_set1((float)divisor)), vf_zero());
  for (int64_t r = 0; r < kernel_h; r++)
    for (int64_t s = 0; s < kernel_w; s++) {
      const vm hit = vi_eq(won, vi_set1((int32_t)(r * kernel_w + s)));
      vf_store_n(dx + (r * p->axis[2].in + s) * p->c + c, is_max ? vf_select(hit, dy, vf_zero()) : dy, n);
    }
}
static void spread_max(const job *j, int64_t at, float *dx) {
  const int64_t n = j->p->c;
  int64_t c = 0;
  for (; c + VF_LANES <= n; c += VF_LANES) spread_channels(j, true, at, c, VF_LANES, dx);
  if (c < n) spread_channels(j, true, at, c, (size_t)(n - c), dx);
}
static void spread_average(const job *j, int64_t at, float *dx) {
  const int64_t n = j->p->c;
  int64_t c = 0;
  for (; c + VF_LANES <= n; c += VF_LANES) spread_channels(j, false, at, c, VF_LANES, dx);
  if (c < n) spread_channels(j, false, at, c, (size_t)(n - c), dx);
}

static void run_spread(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const iso_pool_problem *p = j->p;
  const int64_t kernel_h = p->axis[1].kernel, kernel_w = p->axis[2].kernel, h = p->axis[1].in;
  const int64_t line = p->axis[2].in * p->c, used = j->out[2] * kernel_w * p->c;
  (void)thread;
  for (int64_t row = begin; row < end; row++) {
    const int64_t image = row / j->out[1], oh = row % j->out[1];
    float *dx = (float *)j->a->dx + (image * h + oh * kernel_h) * line;
    for (int64_t ow = 0; ow < j->out[2]; ow++) {
      const int64_t at = (row * j->out[2] + ow) * p->c;
      if (p->head.op == ISO__OP_MAX_POOL_BWD) spread_max(j, at, dx + ow * kernel_w * p->c);
      else spread_average(j, at, dx + ow * kernel_w * p->c);
    }
    /* Positions right of and below the last windows are in none. */
    for (int64_t r = 0; r < kernel_h && used < line; r++)
      memset(dx + r * line + used, 0, (size_t)(line - used) * sizeof *dx);
    if (oh + 1 == j->out[1]) memset(dx + kernel_h * line, 0, (size_t)((h - j->out[1] * kernel_h) * line) * sizeof *dx);
  }
}
/* A window a position at most, all of it inside; depth has windows of one position and is a batch of images. */
static bool windows_lie_apart(const iso_pool_problem *p, const int64_t out[3]) {
  for (int d = 0; d < 3; d++) {
    const iso_pool_axis *a = &p->axis[d];
    if (a->out || a->pad || a->dilation > 1 || a->stride != a->kernel || out[d] * a->kernel > a->in) return false;
  }
  return p->axis[0].kernel == 1;
}

static void run_shared(const iso__call *call, iso__range_fn *fn, job *j, int64_t rows, int64_t per_row) {
  const int64_t grain = POOL_GRAIN_ELEMENTS / (per_row > 0 ? per_row : 1);
  if (j->p->c > 0) iso__parallel_range(call->ctx, rows, grain > 0 ? grain : 1, 1, fn, j);
}
static job job_of(const iso__call *call) {
  const iso_pool_problem *p = (const iso_pool_problem *)call->problem;
  return (job){.p = p, .a = call->args, .out = {iso__pool_out(p, 0), iso__pool_out(p, 1), iso__pool_out(p, 2)}};
}
void ISA(iso__pool_fwd_run)(const iso__call *call) {
  job j = job_of(call);
  const iso_pool_problem *p = j.p;
  run_shared(call, run_forward, &j, p->n * j.out[0] * j.out[1], j.out[2] * p->c * iso__pool_window_volume(p));
}
void ISA(iso__pool_bwd_run)(const iso__call *call) {
  job j = job_of(call);
  const iso_pool_problem *p = j.p;
  const int64_t line = p->axis[2].in * p->c;
  if (windows_lie_apart(p, j.out))
    run_shared(call, run_spread, &j, p->n * j.out[0] * j.out[1], p->axis[1].kernel * line);
  else run_shared(call, run_backward, &j, p->n * p->axis[0].in * p->axis[1].in, line);
}
