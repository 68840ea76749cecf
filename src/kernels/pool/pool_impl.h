/* pool_impl.h: pooling of channels-last signals, images and volumes, vectors of channels; included once per instruction
 * set, which names its exports by ISA(name).
 *
 * Forward walks output positions, backward walks input positions and gathers from the windows over them: every element
 * is written once, by one thread, in a fixed order. A task takes a range of rows, numbered through all planes. */
#include "base/pool.h"
#include "kernels/pool/window.h"
#include "numeric/order.h"
#include "numeric/vec.h"

enum { POOL_GRAIN_ELEMENTS = 16384 };

/* Indices in memory are bytes or int64, in registers int32 lanes. n of VF_LANES; with the constant VF_LANES whole
 * vectors. */
VEC_FN void index_store(uint8_t *p, vi index, size_t n) {
#if defined(__AVX512F__)
  _mm512_mask_cvtepi32_storeu_epi8(p, vm_first(n), index);
#else
  const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(index), _mm256_extracti128_si256(index, 1));
  const int64_t bytes = _mm_cvtsi128_si64(_mm_packus_epi16(words, words));
  if (n >= VF_LANES) memcpy(p, &bytes, VF_LANES);
  else memcpy(p, &bytes, n);
#endif
}
VEC_FN void index_store_wide(int64_t *p, vi index, size_t n) {
#if defined(__AVX512F__)
  const __m512i low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(index));
  const __m512i high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(index, 1));
  const __mmask16 m = vm_first(n);
  _mm512_mask_storeu_epi64(p, (__mmask8)m, low);
  _mm512_mask_storeu_epi64(p + 8, (__mmask8)(m >> 8), high);
#else
  int32_t lane[VF_LANES];
  vi_store(lane, index);
  for (size_t i = 0; i < n && i < VF_LANES; i++) p[i] = lane[i];
#endif
}
VEC_FN vi index_load(const uint8_t *p, size_t n) {
#if defined(__AVX512F__)
  return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(vm_first(n), p));
#else
  int64_t bytes = 0;
  if (n >= VF_LANES) memcpy(&bytes, p, VF_LANES);
  else memcpy(&bytes, p, n);
  return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(bytes));
#endif
}

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

/* One input position: the windows over it. */
typedef struct covering {
  const job *j;
  range over[3];
  int64_t image, at[3];
} covering;

/* What window o sends to the position: dy of `n` channels from c on, or +0 where another position won. */
VEC_FN vf max_sent(const covering *v, int64_t at, int32_t here, size_t n) {
  const vm won = vi_eq(index_load((const uint8_t *)v->j->a->index + at, n), vi_set1(here));
  return vf_select(won, vf_load_n((const float *)v->j->a->dy + at, n), vf_zero());
}
/* Windows that send nothing are left out, or add +0: neither changes a bit of a sum that began at +0. */
VEC_FN void gather_channels(const covering *v, bool is_max, int64_t c, size_t n, float *dx) {
  const job *j = v->j;
  const iso_pool_axis *a = j->p->axis;
  vf sum = vf_zero();
  int64_t o[3], k[3];
  for (o[0] = v->over[0].begin; o[0] < v->over[0].end; o[0]++) {
    if ((k[0] = window_position(&a[0], o[0], v->at[0])) < 0) continue;
    for (o[1] = v->over[1].begin; o[1] < v->over[1].end; o[1]++) {
      if ((k[1] = window_position(&a[1], o[1], v->at[1])) < 0) continue;
      for (o[2] = v->over[2].begin; o[2] < v->over[2].end; o[2]++) {
        if ((k[2] = window_position(&a[2], o[2], v->at[2])) < 0) continue;
        const int64_t at = (((v->image * j->out[0] + o[0]) * j->out[1] + o[1]) * j->out[2] + o[2]) * j->p->c + c;
        if (is_max) {
          const int32_t here = (int32_t)((k[0] * a[1].kernel + k[1]) * a[2].kernel + k[2]);
          sum = vf_add(sum, max_sent(v, at, here, n));
        } else {
          const vf divisor = vf_set1((float)window_divisor(j->p, o));
          sum = vf_add(sum, vf_div(vf_load_n((const float *)j->a->dy + at, n), divisor));
        }
      }
    }
  }
  vf_store_n(dx + c, sum, n);
}
static void gather_max(const covering *v, float *dx) {
  const int64_t n = v->j->p->c;
  int64_t c = 0;
  for (; c + VF_LANES <= n; c += VF_LANES) gather_channels(v, true, c, VF_LANES, dx);
  if (c < n) gather_channels(v, true, c, (size_t)(n - c), dx);
}
static void gather_average(const covering *v, float *dx) {
  const int64_t n = v->j->p->c;
  int64_t c = 0;
  for (; c + VF_LANES <= n; c += VF_LANES) gather_channels(v, false, c, VF_LANES, dx);
  if (c < n) gather_channels(v, false, c, (size_t)(n - c), dx);
}

static void run_backward(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const iso_pool_problem *p = j->p;
  const iso_pool_axis *a = p->axis;
  (void)thread;
  for (int64_t row = begin; row < end; row++) {
    covering v = {.j = j, .image = row / a[1].in / a[0].in, .at = {row / a[1].in % a[0].in, row % a[1].in, 0}};
    for (int d = 0; d < 2; d++) v.over[d] = windows_over(&a[d], v.at[d], j->out[d]);
    for (; v.at[2] < a[2].in; v.at[2]++) {
      float *dx = (float *)j->a->dx + (row * a[2].in + v.at[2]) * p->c;
      v.over[2] = windows_over(&a[2], v.at[2], j->out[2]);
      if (p->head.op == ISO__OP_MAX_POOL_BWD) gather_max(&v, dx);
      else gather_average(&v, dx);
    }
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
