/* loss_impl.h: cross entropy of logits, threads over rows; included once per instruction set, which names its exports
 * by ISA(name).
 *
 * Forward is log-softmax and one element a row. Backward runs over blocks of rows that stay in L1: exp of the whole
 * block, then 1 less at each target, then the scale, so that short rows cost no horizontal step and no masks. */
#include "base/pool.h"
#include "kernels/loss/loss.h"
#include "kernels/softmax/rows_impl.h"

enum { LOSS_GRAIN_ELEMENTS = 8192, BLOCK_ELEMENTS = 2048 };

typedef struct job {
  const iso_cross_entropy_problem *p;
  const iso_cross_entropy_args *a;
} job;

static void run_forward(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const int64_t n = j->p->n;
  float *y = j->a->y, *row_loss = j->a->row_loss;
  const float *weights = j->a->weights;
  (void)thread;
  softmax_rows((const float *)j->a->x + begin * n, y + begin * n, end - begin, n, true);
  for (int64_t row = begin; row < end; row++) {
    const int64_t t = j->a->target[row];
    if (t == n) row_loss[row] = 0;
    else row_loss[row] = j->p->has_weights ? weights[t] * -y[row * n + t] : -y[row * n + t];
  }
}

static void multiply(float *x, float factor, int64_t n) {
  for (int64_t i = 0; i < n; i++) x[i] = x[i] * factor;
}

static void run_backward(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const int64_t n = j->p->n, block = BLOCK_ELEMENTS / n > 0 ? BLOCK_ELEMENTS / n : 1;
  const float *scale = j->a->scale, *weights = j->a->weights;
  const bool by_row = j->p->has_weights || j->p->row_scale || j->p->ignores;
  (void)thread;
  for (int64_t first = begin; first < end; first += block) {
    const int64_t rows = end - first < block ? end - first : block, m = rows * n;
    const float *y = (const float *)j->a->y_saved + first * n;
    float *dx = (float *)j->a->dx + first * n;
#define EXP(i, left) vf_store_n(dx + i, v_exp(vf_load_n(y + i, left)), left)
    VEC_EACH(m, EXP);
#undef EXP
    for (int64_t r = 0; r < rows; r++) {
      const int64_t t = j->a->target[first + r];
      if (t < n) dx[r * n + t] = dx[r * n + t] - 1;
    }
    if (!by_row) multiply(dx, *scale, m);
    for (int64_t r = 0; by_row && r < rows; r++) {
      const int64_t t = j->a->target[first + r];
      const float s = scale[j->p->row_scale ? first + r : 0];
      if (t == n) memset(dx + r * n, 0, (size_t)n * sizeof *dx);
      else multiply(dx + r * n, j->p->has_weights ? s * weights[t] : s, n);
    }
  }
}

static void run_shared(const iso__call *call, iso__range_fn *fn) {
  job j = {.p = (const iso_cross_entropy_problem *)call->problem, .a = call->args};
  iso__parallel_range(call->ctx, j.p->rows, (LOSS_GRAIN_ELEMENTS + j.p->n - 1) / j.p->n, VF_LANES, fn, &j);
}
void ISA(iso__cross_entropy_fwd_run)(const iso__call *call) { run_shared(call, run_forward); }
void ISA(iso__cross_entropy_bwd_run)(const iso__call *call) { run_shared(call, run_backward); }
