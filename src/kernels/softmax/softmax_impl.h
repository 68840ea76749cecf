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

static void run_backward(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const int64_t n = j->p->n;
  (void)thread;
  for (int64_t row = begin; row < end; row++) {
    const float *y = (const float *)j->a->y_saved + row * n, *dy = (const float *)j->a->dy + row * n;
    float *dx = (float *)j->a->dx + row * n;
    const vf sum = vf_set1(j->p->log ? lanes_sum(dy, (size_t)n) : lanes_dot(dy, y, (size_t)n));
#define LOG(i, left) vf_store_n(dx + i, vf_fnma(v_exp(vf_load_n(y + i, left)), sum, vf_load_n(dy + i, left)), left)
#define PLAIN(i, left) vf_store_n(dx + i, vf_mul(vf_load_n(y + i, left), vf_sub(vf_load_n(dy + i, left), sum)), left)
    if (j->p->log) VEC_EACH(n, LOG);
    else VEC_EACH(n, PLAIN);
#undef LOG
#undef PLAIN
  }
}

static void run_shared(const iso__call *call, iso__range_fn *fn) {
  job j = {.p = (const iso_softmax_problem *)call->problem, .a = call->args};
  if (j.p->n > 0)
    iso__parallel_range(call->ctx, j.p->rows, (SOFTMAX_GRAIN_ELEMENTS + j.p->n - 1) / j.p->n, VF_LANES, fn, &j);
}
void ISA(iso__softmax_fwd_run)(const iso__call *call) { run_shared(call, run_forward); }
void ISA(iso__softmax_bwd_run)(const iso__call *call) { run_shared(call, run_backward); }
