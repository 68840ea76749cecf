/* softmax_impl.h: softmax and log-softmax, forward and backward, threads over rows; included once per instruction set,
 * which names its exports by ISA(name). */
#include "base/pool.h"
#include "kernels/softmax/rows_impl.h"
#include "kernels/softmax/softmax.h"

enum { SOFTMAX_GRAIN_ELEMENTS = 8192 };

typedef struct job {
  const iso_softmax_problem *p;
  const iso_softmax_args *a;
} job;

static void run_forward(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const int64_t n = j->p->n, at = begin * n;
  (void)thread;
  const float *x = (const float *)j->a->x + at;
  float *y = (float *)j->a->y + at;
  if (j->p->log) softmax_rows(x, y, end - begin, n, true);
  else softmax_rows(x, y, end - begin, n, false);
}

/* The next row is fetched while this one is computed, as in the forward pass. */
VEC_FN void backward_row(const float *y, const float *dy, float *dx, int64_t n, int64_t ahead, bool log) {
  const vf sum = vf_set1(log ? lanes_sum(dy, (size_t)n) : lanes_dot(dy, y, (size_t)n));
#define STEP(i, left)                                                                                                  \
  do {                                                                                                                 \
    __builtin_prefetch(y + ahead + i, 0, 3), __builtin_prefetch(dy + ahead + i, 0, 3);                                 \
    __builtin_prefetch(dx + ahead + i, 1, 3);                                                                          \
    const vf v = vf_load_n(y + i, left), up = vf_load_n(dy + i, left);                                                 \
    vf_store_n(dx + i, log ? vf_fnma(v_exp(v), sum, up) : vf_mul(v, vf_sub(up, sum)), left);                           \
  } while (0)
  VEC_EACH(n, STEP);
#undef STEP
}
static void run_backward(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const int64_t n = j->p->n;
  (void)thread;
  for (int64_t row = begin; row < end; row++) {
    const float *y = (const float *)j->a->y_saved + row * n, *dy = (const float *)j->a->dy + row * n;
    float *dx = (float *)j->a->dx + row * n;
    const int64_t ahead = softmax_ahead(n, row + 1 < end);
    if (j->p->log) backward_row(y, dy, dx, n, ahead, true);
    else backward_row(y, dy, dx, n, ahead, false);
  }
}

static void run_shared(const iso__call *call, iso__range_fn *fn) {
  job j = {.p = (const iso_softmax_problem *)call->problem, .a = call->args};
  if (j.p->n > 0)
    iso__parallel_range(call->ctx, j.p->rows, (SOFTMAX_GRAIN_ELEMENTS + j.p->n - 1) / j.p->n, VF_LANES, fn, &j);
}
void ISA(iso__softmax_fwd_run)(const iso__call *call) { run_shared(call, run_forward); }
void ISA(iso__softmax_bwd_run)(const iso__call *call) { run_shared(call, run_backward); }
