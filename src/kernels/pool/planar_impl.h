/* planar_impl.h: pooling of planes of one channel, as tensors (N,C,…) lie when they are contiguous; included once per
 * instruction set, which names its exports by ISA(name).
 *
 * Forward: vectors of columns; a kernel position's elements come by gather_vec.h. Backward: a plane is cleared and its
 * windows, ascending, add to it what they send; every sum ascends by window as it stands. Windows are of at most 256
 * positions and no position is in more windows, so a sum is one chunk. */
#include "base/pool.h"
#include "kernels/gather_vec.h"
#include "kernels/pool/index_vec.h"
#include "kernels/pool/planar.h"

enum { GRAIN_TERMS = 16384 };

typedef struct job {
  const iso_pool_problem *p;
  const iso_pool_args *a;
  iso__pool_columns columns;
  int64_t out[3];
  const float *begin, *end; /* of x */
} job;

/* A row of windows: its plane and which of the kernel's planes and rows lie inside. */
typedef struct window_row {
  const float *plane;
  int64_t first[2];
  range r[2];
} window_row;
static window_row row_at(const job *j, const float *plane, int64_t t, int64_t h) {
  const iso_pool_axis *a = j->p->axis;
  return (window_row){.plane = plane,
                      .first = {window_first(&a[0], t), window_first(&a[1], h)},
                      .r = {window_inside(&a[0], t), window_inside(&a[1], h)}};
}
/* The position in the plane of kernel position (t,h) at column 0. */
static int64_t line_at(const job *j, const window_row *w, int64_t t, int64_t h) {
  const iso_pool_axis *a = j->p->axis;
  return ((w->first[0] + t * a[0].dilation) * a[1].in + w->first[1] + h * a[1].dilation) * a[2].in;
}

/* ---- forward ---- */

/* The lanes of one vector of windows. */
typedef struct lanes {
  vi first, lo, hi;
  int32_t first_lane, dilation;
  span s;
  bool full;
} lanes;
VEC_FN lanes lanes_at(const job *j, int64_t column) {
  const iso__pool_columns *c = &j->columns;
  return (lanes){.first = vi_load(c->first + column),
                 .lo = vi_load(c->lo + column),
                 .hi = vi_load(c->hi + column),
                 .first_lane = c->first[column],
                 .dilation = (int32_t)j->p->axis[2].dilation,
                 .s = span_of(c->first[column], c->first[column + VF_LANES - 1]),
                 .full = c->full[column / ISO__POOL_COLUMNS]};
}
VEC_FN vm lanes_used(const lanes *l, bool full, int32_t s) {
  return full ? vm_first(VF_LANES) : vm_and(vi_gt(l->hi, vi_set1(s)), vm_not(vi_gt(l->lo, vi_set1(s))));
}
VEC_FN vf lanes_load(const job *j, const lanes *l, const float *line, int32_t s, vm used) {
  const int32_t step = s * l->dilation;
  return gather_columns(line, vi_add(l->first, vi_set1(step)), l->first_lane + step, l->s, used, j->begin, j->end);
}

VEC_FN void max_columns(const job *j, const window_row *w, const lanes *l, bool full, int64_t at, size_t left) {
  const iso_pool_problem *p = j->p;
  const vi dilation = vi_set1(l->dilation);
  vf best = vf_set1(-INFINITY);
  vi number = l->lo; /* a window of −∞ alone has its first position */
  if (p->wide)
    number = vi_add(vi_set1((int32_t)line_at(j, w, w->r[0].begin, w->r[1].begin)),
                    vi_add(l->first, vi_mul(l->lo, dilation)));
  else
    number =
        vi_add(number, vi_set1((int32_t)((w->r[0].begin * p->axis[1].kernel + w->r[1].begin) * p->axis[2].kernel)));
  for (int64_t t = w->r[0].begin; t < w->r[0].end; t++)
    for (int64_t h = w->r[1].begin; h < w->r[1].end; h++) {
      const int64_t line = line_at(j, w, t, h);
      const vi base = p->wide ? vi_add(l->first, vi_set1((int32_t)line))
                              : vi_set1((int32_t)((t * p->axis[1].kernel + h) * p->axis[2].kernel));
      for (int32_t s = 0; s < (int32_t)j->columns.longest; s++) {
        const vm used = lanes_used(l, full, s);
        const vf v = lanes_load(j, l, w->plane + line, s, used);
        /* larger, or the first NaN */
        const vm better = vm_and(used, vm_and(vm_not(vf_isnan(best)), vm_not(vf_le(v, best))));
        best = vf_select(better, v, best);
        number = vi_select(better, vi_add(base, vi_set1(p->wide ? s * l->dilation : s)), number);
      }
    }
  vf_store_n((float *)j->a->y + at, best, left);
  if (p->wide) index_store_wide((int64_t *)j->a->index + at, number, left);
  else index_store((uint8_t *)j->a->index + at, number, left);
}

/* rows: those of the kernel that count, times its planes. */
VEC_FN void average_columns(const job *j, const window_row *w, const lanes *l, bool full, int64_t at, int64_t column,
                            float rows) {
  vf sum = vf_zero();
  for (int64_t t = w->r[0].begin; t < w->r[0].end; t++)
    for (int64_t h = w->r[1].begin; h < w->r[1].end; h++) {
      const float *line = w->plane + line_at(j, w, t, h);
      for (int32_t s = 0; s < (int32_t)j->columns.longest; s++) {
        const vm used = lanes_used(l, full, s);
        const vf next = vf_add(sum, lanes_load(j, l, line, s, used));
        sum = full ? next : vf_select(used, next, sum);
      }
    }
  const vf divisor =
      j->p->divisor ? vf_set1((float)j->p->divisor) : vf_mul(vf_set1(rows), vf_load(j->columns.n + column));
  vf_store_n((float *)j->a->y + at, vf_div(sum, divisor), (size_t)(j->out[2] - column));
}

/* Positions of the kernel's planes and rows that an average counts. */
static float rows_counted(const job *j, int64_t t, int64_t h) {
  const iso_pool_axis *a = j->p->axis;
  const range r0 = j->p->count_padding ? window_padded(&a[0], t) : window_inside(&a[0], t);
  const range r1 = j->p->count_padding ? window_padded(&a[1], h) : window_inside(&a[1], h);
  return (float)((r0.end - r0.begin) * (r1.end - r1.begin));
}

static void run_forward(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const bool max = j->p->head.op == ISO__OP_MAX_POOL_FWD;
  const int64_t plane = iso__pool_in_positions(j->p);
  (void)thread;
  for (int64_t row = begin; row < end; row++) {
    const int64_t h = row % j->out[1], t = row / j->out[1] % j->out[0];
    const window_row w = row_at(j, j->begin + row / j->out[1] / j->out[0] * plane, t, h);
    const float rows = max ? 0 : rows_counted(j, t, h);
    for (int64_t column = 0; column < j->out[2]; column += VF_LANES) {
      const lanes l = lanes_at(j, column);
      const int64_t at = row * j->out[2] + column;
      const size_t left = (size_t)(j->out[2] - column);
      if (max && l.full) max_columns(j, &w, &l, true, at, left);
      else if (max) max_columns(j, &w, &l, false, at, left);
      else if (l.full) average_columns(j, &w, &l, true, at, column, rows);
      else average_columns(j, &w, &l, false, at, column, rows);
    }
  }
}

/* ---- backward ---- */

/* What kernel position k (a byte) stands for. */
typedef struct places {
  int32_t offset[256]; /* in the plane, from the window's first */
  uint8_t t[256], h[256], w[256];
} places;
static void places_make(const iso_pool_problem *p, places *k) {
  const iso_pool_axis *a = p->axis;
  int n = 0;
  memset(k, 0, sizeof *k);
  for (int64_t t = 0; t < a[0].kernel; t++)
    for (int64_t h = 0; h < a[1].kernel; h++)
      for (int64_t w = 0; w < a[2].kernel; w++, n++) {
        k->offset[n] = (int32_t)((t * a[0].dilation * a[1].in + h * a[1].dilation) * a[2].in + w * a[2].dilation);
        k->t[n] = (uint8_t)t, k->h[n] = (uint8_t)h, k->w[n] = (uint8_t)w;
      }
}
static void max_send_row(const job *j, const places *k, const window_row *w, float *dx, int64_t at) {
  const iso__pool_columns *c = &j->columns;
  const iso_pool_axis *a = j->p->axis;
  const float *dy = (const float *)j->a->dy + at;
  const uint8_t *index = (const uint8_t *)j->a->index + at;
  const int64_t line = line_at(j, w, 0, 0);
  const bool rows_full =
      w->r[0].begin == 0 && w->r[1].begin == 0 && w->r[0].end == a[0].kernel && w->r[1].end == a[1].kernel;
  const int64_t volume = a[0].kernel * a[1].kernel * a[2].kernel;
  for (int64_t o = 0; o < j->out[2]; o++) {
    const uint8_t i = index[o];
    const bool inside = (rows_full || (k->t[i] >= w->r[0].begin && k->t[i] < w->r[0].end && k->h[i] >= w->r[1].begin &&
                                       k->h[i] < w->r[1].end)) &&
                        k->w[i] >= c->lo[o] && k->w[i] < c->hi[o] && i < volume;
    float *to = dx + line + c->first[o] + k->offset[i];
    if (inside) *to = *to + dy[o];
  }
}
static void average_send_row(const job *j, const window_row *w, float *dx, int64_t at, float rows) {
  const iso__pool_columns *c = &j->columns;
  const float *dy = (const float *)j->a->dy + at;
  for (int64_t o = 0; o < j->out[2]; o++) {
    const float sent = dy[o] / (j->p->divisor ? (float)j->p->divisor : rows * c->n[o]);
    for (int64_t t = w->r[0].begin; t < w->r[0].end; t++)
      for (int64_t h = w->r[1].begin; h < w->r[1].end; h++) {
        float *line = dx + line_at(j, w, t, h) + c->first[o];
        for (int32_t s = c->lo[o]; s < c->hi[o]; s++) line[s] = line[s] + sent;
      }
  }
}
static void run_backward(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const bool max = j->p->head.op == ISO__OP_MAX_POOL_BWD;
  const int64_t plane = iso__pool_in_positions(j->p), windows = iso__pool_out_positions(j->p);
  places k;
  (void)thread;
  if (max) places_make(j->p, &k);
  for (int64_t n = begin; n < end; n++) {
    float *dx = (float *)j->a->dx + n * plane;
    int64_t at = n * windows;
    memset(dx, 0, (size_t)plane * sizeof *dx);
    for (int64_t t = 0; t < j->out[0]; t++)
      for (int64_t h = 0; h < j->out[1]; h++, at += j->out[2]) {
        const window_row w = row_at(j, NULL, t, h);
        if (max) max_send_row(j, &k, &w, dx, at);
        else average_send_row(j, &w, dx, at, rows_counted(j, t, h));
      }
  }
}

static job job_of(const iso__call *call) {
  const iso_pool_problem *p = (const iso_pool_problem *)call->problem;
  const iso_pool_args *a = call->args;
  job j = {.p = p, .a = a, .out = {iso__pool_out(p, 0), iso__pool_out(p, 1), iso__pool_out(p, 2)}};
  j.columns = iso__pool_columns_make(p, call->workspace);
  if (a->x) j.begin = a->x, j.end = j.begin + p->n * iso__pool_in_positions(p);
  return j;
}
void ISA(iso__pool_planar_fwd_run)(const iso__call *call) {
  job j = job_of(call);
  const int64_t per_row = iso__max(j.out[2] * iso__pool_window_volume(j.p), 1);
  iso__parallel_range(call->ctx, j.p->n * j.out[0] * j.out[1], iso__max(GRAIN_TERMS / per_row, 1), 1, run_forward, &j);
}
void ISA(iso__pool_planar_bwd_run)(const iso__call *call) {
  job j = job_of(call);
  iso__parallel_range(call->ctx, j.p->n, iso__max(GRAIN_TERMS / iso__pool_in_positions(j.p), 1), 1, run_backward, &j);
}
