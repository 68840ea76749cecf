/* pool_impl.h: pooling of channels-last images, vectors of channels; included once per instruction set, which names its
 * exports by ISA(name).
 *
 * Forward walks output positions, backward walks input positions and gathers from the windows over them: every element
 * is written once, by one thread, in a fixed order. A task takes a range of image rows. */
#include "base/pool.h"
#include "kernels/pool/window.h"
#include "numeric/order.h"
#include "numeric/vec.h"

enum { POOL_GRAIN_ELEMENTS = 16384 };

/* Indices in memory are bytes, in registers int32 lanes. n of VF_LANES; with the constant VF_LANES whole vectors. */
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
  int64_t out_h, out_w;
} job;

/* One output position: the window's inside, and x at its kernel position (0, 0), which may lie outside the image. */
typedef struct window {
  const iso_pool_problem *p;
  const float *x;
  range rows, columns;
} window;
static window window_at(const job *j, int64_t image, int64_t oh, int64_t ow) {
  const iso_pool_problem *p = j->p;
  const int64_t row = oh * p->stride_h - p->pad_h, column = ow * p->stride_w - p->pad_w;
  return (window){.p = p,
                  .x = (const float *)j->a->x + ((image * p->h + row) * p->w + column) * p->c,
                  .rows = window_inside(oh, p->stride_h, p->pad_h, p->kernel_h, p->h),
                  .columns = window_inside(ow, p->stride_w, p->pad_w, p->kernel_w, p->w)};
}

/* ---- max, forward ---- */
VEC_FN void max_channels(const window *w, int64_t c, size_t n, float *y, uint8_t *index) {
  vf best = vf_zero();
  vi at = vi_set1(0);
  bool first = true;
  for (int64_t r = w->rows.begin; r < w->rows.end; r++)
    for (int64_t s = w->columns.begin; s < w->columns.end; s++) {
      const vf v = vf_load_n(w->x + (r * w->p->w + s) * w->p->c + c, n);
      const vi here = vi_set1((int32_t)(r * w->p->kernel_w + s));
      if (first) {
        best = v, at = here, first = false;
        continue;
      }
      /* larger, or the first NaN */
      const vm better = vm_and(vm_not(vf_isnan(best)), vm_not(vf_le(v, best)));
      best = vf_select(better, v, best), at = vi_select(better, here, at);
    }
  vf_store_n(y + c, best, n);
  index_store(index + c, at, n);
}
/* The common window: 2×2, wholly inside. Pairs first, which finds the same winner (the later one must be larger),
 * unless there is a NaN. */
VEC_FN void max_channels_2x2(const window *w, int64_t c, size_t n, float *y, uint8_t *index) {
  const float *top = w->x + c, *bottom = top + w->p->w * w->p->c;
  const vf v0 = vf_load_n(top, n), v1 = vf_load_n(top + w->p->c, n);
  const vf v2 = vf_load_n(bottom, n), v3 = vf_load_n(bottom + w->p->c, n);
  if (vm_any(vm_or(vf_unordered(v0, v1), vf_unordered(v2, v3)))) {
    max_channels(w, c, n, y, index);
    return;
  }
  const vm right_top = vf_gt(v1, v0), right_bottom = vf_gt(v3, v2);
  const vf best_top = vf_select(right_top, v1, v0), best_bottom = vf_select(right_bottom, v3, v2);
  const vi at_top = vi_select(right_top, vi_set1(1), vi_set1(0));
  const vi at_bottom = vi_select(right_bottom, vi_set1(3), vi_set1(2));
  const vm lower = vf_gt(best_bottom, best_top);
  vf_store_n(y + c, vf_select(lower, best_bottom, best_top), n);
  index_store(index + c, vi_select(lower, at_bottom, at_top), n);
}
static void max_position(const window *w, float *y, uint8_t *index) {
  const int64_t n = w->p->c;
  int64_t c = 0;
  if (w->p->kernel_h == 2 && w->p->kernel_w == 2 && w->rows.end - w->rows.begin == 2 &&
      w->columns.end - w->columns.begin == 2) {
    for (; c + VF_LANES <= n; c += VF_LANES) max_channels_2x2(w, c, VF_LANES, y, index);
    if (c < n) max_channels_2x2(w, c, (size_t)(n - c), y, index);
    return;
  }
  for (; c + VF_LANES <= n; c += VF_LANES) max_channels(w, c, VF_LANES, y, index);
  if (c < n) max_channels(w, c, (size_t)(n - c), y, index);
}

/* ---- average, forward: ordered over the window's positions ---- */
/* `vectors` vectors of channels at once, so that one's additions hide the other's latency; the last may hold n lanes.
 */
VEC_FN void average_channels(const window *w, int64_t c, int vectors, size_t n, float *y) {
  enum { MOST = 4 };
  const iso_pool_problem *p = w->p;
  vf chunk[MOST], panel[MOST], total[MOST];
  int64_t k = 0;
  const range rows = p->count_padding ? (range){0, p->kernel_h} : w->rows;
  const range columns = p->count_padding ? (range){0, p->kernel_w} : w->columns;
#pragma GCC unroll 4
  for (int v = 0; v < vectors; v++) chunk[v] = panel[v] = total[v] = vf_zero();
  for (int64_t r = rows.begin; r < rows.end; r++)
    for (int64_t s = columns.begin; s < columns.end; s++) {
      const float *x = w->x + (r * p->w + s) * p->c + c;
      /* A padded position adds +0, which changes nothing but k. */
      if (r >= w->rows.begin && r < w->rows.end && s >= w->columns.begin && s < w->columns.end)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) chunk[v] = vf_add(chunk[v], vf_load_n(x + v * VF_LANES, n));
      k++;
      if (k % ISO__CHUNK == 0)
        for (int v = 0; v < vectors; v++) panel[v] = vf_add(panel[v], chunk[v]), chunk[v] = vf_zero();
      if (k % ISO__PANEL == 0)
        for (int v = 0; v < vectors; v++) total[v] = vf_add(total[v], panel[v]), panel[v] = vf_zero();
    }
#pragma GCC unroll 4
  for (int v = 0; v < vectors; v++) {
    const vf sum = vf_add(total[v], vf_add(panel[v], chunk[v]));
    vf_store_n(y + c + v * VF_LANES, vf_div(sum, vf_set1((float)k)), n);
  }
}
static void average_position(const window *w, float *y) {
  const int64_t n = w->p->c;
  int64_t c = 0;
  for (; c + 4 * VF_LANES <= n; c += 4 * VF_LANES) average_channels(w, c, 4, VF_LANES, y);
  for (; c + VF_LANES <= n; c += VF_LANES) average_channels(w, c, 1, VF_LANES, y);
  if (c < n) average_channels(w, c, 1, (size_t)(n - c), y);
}

/* Rows are numbered through all images. */
static void run_forward(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const iso_pool_problem *p = j->p;
  (void)thread;
  for (int64_t row = begin; row < end; row++)
    for (int64_t ow = 0; ow < j->out_w; ow++) {
      const int64_t at = (row * j->out_w + ow) * p->c;
      const window w = window_at(j, row / j->out_h, row % j->out_h, ow);
      if (p->head.op == ISO__OP_MAX_POOL_FWD) max_position(&w, (float *)j->a->y + at, j->a->index + at);
      else average_position(&w, (float *)j->a->y + at);
    }
}

/* ---- backward ---- */

/* One input position: the windows over it. */
typedef struct covering {
  const job *j;
  range rows, columns;
  int64_t image, row, column;
} covering;

VEC_FN void gather_channels(const covering *v, bool is_max, int64_t c, size_t n, float *dx) {
  const iso_pool_problem *p = v->j->p;
  vf sum = vf_zero();
  for (int64_t oh = v->rows.begin; oh < v->rows.end; oh++)
    for (int64_t ow = v->columns.begin; ow < v->columns.end; ow++) {
      const int64_t at = ((v->image * v->j->out_h + oh) * v->j->out_w + ow) * p->c + c;
      const vf dy = vf_load_n((const float *)v->j->a->dy + at, n);
      if (is_max) {
        /* The windows that this position did not win send nothing; adding +0 changes no bit of a sum that began at +0.
         */
        const int64_t here =
            (v->row + p->pad_h - oh * p->stride_h) * p->kernel_w + v->column + p->pad_w - ow * p->stride_w;
        const vm won = vi_eq(index_load(v->j->a->index + at, n), vi_set1((int32_t)here));
        sum = vf_add(sum, vf_select(won, dy, vf_zero()));
      } else {
        sum = vf_add(sum, vf_div(dy, vf_set1((float)window_count(p, oh, ow))));
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
  (void)thread;
  for (int64_t row = begin; row < end; row++)
    for (int64_t column = 0; column < p->w; column++) {
      float *dx = (float *)j->a->dx + (row * p->w + column) * p->c;
      const covering v = {.j = j,
                          .image = row / p->h,
                          .row = row % p->h,
                          .column = column,
                          .rows = windows_over(row % p->h, p->stride_h, p->pad_h, p->kernel_h, j->out_h),
                          .columns = windows_over(column, p->stride_w, p->pad_w, p->kernel_w, j->out_w)};
      if (p->head.op == ISO__OP_MAX_POOL_BWD) gather_max(&v, dx);
      else gather_average(&v, dx);
    }
}

/* ---- backward where windows don't overlap: each is read once and spread over its positions ---- */

VEC_FN void spread_channels(const job *j, bool is_max, int64_t at, int64_t c, size_t n, float *dx) {
  const iso_pool_problem *p = j->p;
  vf dy = vf_load_n((const float *)j->a->dy + at + c, n);
  const vi won = is_max ? index_load(j->a->index + at + c, n) : vi_set1(0);
  /* +0 + dy, as a sum from +0 has it */
  dy = vf_add(is_max ? dy : vf_div(dy, vf_set1((float)(p->kernel_h * p->kernel_w))), vf_zero());
  for (int64_t r = 0; r < p->kernel_h; r++)
    for (int64_t s = 0; s < p->kernel_w; s++) {
      const vm hit = vi_eq(won, vi_set1((int32_t)(r * p->kernel_w + s)));
      vf_store_n(dx + (r * p->w + s) * p->c + c, is_max ? vf_select(hit, dy, vf_zero()) : dy, n);
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
  const int64_t line = p->w * p->c, used = j->out_w * p->kernel_w * p->c;
  (void)thread;
  for (int64_t row = begin; row < end; row++) {
    const int64_t image = row / j->out_h, oh = row % j->out_h;
    float *dx = (float *)j->a->dx + (image * p->h + oh * p->kernel_h) * line;
    for (int64_t ow = 0; ow < j->out_w; ow++) {
      const int64_t at = (row * j->out_w + ow) * p->c;
      if (p->head.op == ISO__OP_MAX_POOL_BWD) spread_max(j, at, dx + ow * p->kernel_w * p->c);
      else spread_average(j, at, dx + ow * p->kernel_w * p->c);
    }
    /* Positions right of and below the last windows are in none. */
    for (int64_t r = 0; r < p->kernel_h && used < line; r++)
      memset(dx + r * line + used, 0, (size_t)(line - used) * sizeof *dx);
    if (oh + 1 == j->out_h)
      memset(dx + p->kernel_h * line, 0, (size_t)((p->h - j->out_h * p->kernel_h) * line) * sizeof *dx);
  }
}

static void run_shared(const iso__call *call, iso__range_fn *fn, int64_t rows, int64_t per_row) {
  const iso_pool_problem *p = (const iso_pool_problem *)call->problem;
  job j = {.p = p, .a = call->args, .out_h = iso__pool_out_h(p), .out_w = iso__pool_out_w(p)};
  const int64_t grain = POOL_GRAIN_ELEMENTS / (per_row > 0 ? per_row : 1);
  if (p->c > 0) iso__parallel_range(call->ctx, rows, grain > 0 ? grain : 1, 1, fn, &j);
}
void ISA(iso__pool_fwd_run)(const iso__call *call) {
  const iso_pool_problem *p = (const iso_pool_problem *)call->problem;
  run_shared(call, run_forward, p->n * iso__pool_out_h(p), iso__pool_out_w(p) * p->c * p->kernel_h * p->kernel_w);
}
void ISA(iso__pool_bwd_run)(const iso__call *call) {
  const iso_pool_problem *p = (const iso_pool_problem *)call->problem;
  const bool apart = p->stride_h == p->kernel_h && p->stride_w == p->kernel_w && p->pad_h == 0 && p->pad_w == 0;
  if (apart) run_shared(call, run_spread, p->n * iso__pool_out_h(p), p->kernel_h * p->w * p->c);
  else run_shared(call, run_backward, p->n * p->h, p->w * p->c);
}
