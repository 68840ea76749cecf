/* apply_impl.h: batch norm forward and the gradient of its input, a few operations an element; included once per
 * instruction set, which names its exports by ISA(name).
 *
 * A task takes a range of rows. What depends on the channel alone (r, γ·r, dγ/n, dβ/n) is computed once a block of
 * channels and stays in L1; residual, relu and relu's gradient are done on the way, so each array is touched once. */
#include "base/pool.h"
#include "kernels/norm/mask.h"
#include "kernels/norm/norm.h"
#include "numeric/vec.h"

enum { APPLY_COLUMNS = 512, APPLY_GRAIN_ELEMENTS = 16384 };

typedef struct task {
  const iso_batch_norm_problem *p;
  const iso_batch_norm_args *a;
} task;

/* r = 1/sqrt(var + eps) of m channels */
VEC_FN void rstd(float *r, const float *var, float eps, int64_t m) {
  for (int64_t j = 0; j < m; j += VF_LANES) {
    const size_t n = (size_t)(m - j);
    vf_store_n(r + j, vf_div(vf_set1(1), vf_sqrt(vf_add(vf_load_n(var + j, n), vf_set1(eps)))), n);
  }
}

/* ---- forward ---- */
typedef struct forward {
  const float *x, *residual; /* first row and channel */
  float *y;
  const float *mean, *r, *gamma, *beta; /* of the block's channels */
  int64_t ld, rows, m;
} forward;

VEC_FN void forward_at(const forward *f, bool has_residual, bool has_relu, int64_t at, int64_t j, size_t n) {
  const vf d = vf_sub(vf_load_n(f->x + at + j, n), vf_load_n(f->mean + j, n));
  vf y = vf_fma(vf_mul(d, vf_load_n(f->r + j, n)), vf_load_n(f->gamma + j, n), vf_load_n(f->beta + j, n));
  if (has_residual) y = vf_add(y, vf_load_n(f->residual + at + j, n));
  if (has_relu) y = vf_relu(y);
  vf_store_n(f->y + at + j, y, n);
}
VEC_FN void forward_rows(const forward *f, bool has_residual, bool has_relu) {
  for (int64_t row = 0; row < f->rows; row++) {
    const int64_t at = row * f->ld;
    int64_t j = 0;
    for (; j + VF_LANES <= f->m; j += VF_LANES) forward_at(f, has_residual, has_relu, at, j, VF_LANES);
    if (j < f->m) forward_at(f, has_residual, has_relu, at, j, (size_t)(f->m - j));
  }
}
static void forward_plain(const forward *f) { forward_rows(f, false, false); }
static void forward_relu(const forward *f) { forward_rows(f, false, true); }
static void forward_residual(const forward *f) { forward_rows(f, true, false); }
static void forward_residual_relu(const forward *f) { forward_rows(f, true, true); }

static void run_forward(void *arg, int64_t begin, int64_t end, int thread) {
  static void (*const variants[2][2])(const forward *) = {{forward_plain, forward_relu},
                                                          {forward_residual, forward_residual_relu}};
  const task *job = arg;
  const iso_batch_norm_problem *p = job->p;
  const iso_batch_norm_args *a = job->a;
  float r[APPLY_COLUMNS];
  (void)thread;
  for (int64_t first = 0; first < p->c; first += APPLY_COLUMNS) {
    const int64_t m = p->c - first < APPLY_COLUMNS ? p->c - first : APPLY_COLUMNS, at = begin * p->c + first;
    rstd(r, (const float *)a->var + first, (float)a->eps, m);
    const forward f = {.x = (const float *)a->x + at,
                       .residual = p->has_residual ? (const float *)a->residual + at : NULL,
                       .y = (float *)a->y + at,
                       .mean = (const float *)a->mean + first,
                       .r = r,
                       .gamma = (const float *)a->gamma + first,
                       .beta = (const float *)a->beta + first,
                       .ld = p->c,
                       .rows = end - begin,
                       .m = m};
    variants[p->has_residual != 0][p->activation != 0](&f);
  }
}

/* ---- gradient of the input ---- */
typedef struct backward {
  const float *x, *dy, *y_saved;
  float *dx;
  const float *mean, *r, *factor, *from_var, *from_mean, *gamma, *beta;
  int64_t ld, rows, m;
} backward;

VEC_FN void backward_at(const backward *b, bool training, const mask m, int64_t at, int64_t j, size_t n) {
  vf dy = vf_load_n(b->dy + at + j, n);
  if (m == MASK_OF_Y) dy = vf_relu_gradient(vf_load_n(b->y_saved + at + j, n), dy);
  const vf factor = vf_load_n(b->factor + j, n);
  if (!training) {
    vf_store_n(b->dx + at + j, vf_mul(dy, factor), n);
    return;
  }
  const vf h = vf_mul(vf_sub(vf_load_n(b->x + at + j, n), vf_load_n(b->mean + j, n)), vf_load_n(b->r + j, n));
  if (m == MASK_OF_X) dy = vf_relu_gradient(vf_fma(h, vf_load_n(b->gamma + j, n), vf_load_n(b->beta + j, n)), dy);
  const vf inner = vf_fnma(h, vf_load_n(b->from_var + j, n), vf_sub(dy, vf_load_n(b->from_mean + j, n)));
  vf_store_n(b->dx + at + j, vf_mul(factor, inner), n);
}
VEC_FN void backward_rows(const backward *b, bool training, const mask m) {
  for (int64_t row = 0; row < b->rows; row++) {
    const int64_t at = row * b->ld;
    int64_t j = 0;
    for (; j + VF_LANES <= b->m; j += VF_LANES) backward_at(b, training, m, at, j, VF_LANES);
    if (j < b->m) backward_at(b, training, m, at, j, (size_t)(b->m - j));
  }
}
static void backward_constant(const backward *b) { backward_rows(b, false, NO_MASK); }
static void backward_constant_relu(const backward *b) { backward_rows(b, false, MASK_OF_Y); }
static void backward_training(const backward *b) { backward_rows(b, true, NO_MASK); }
static void backward_training_relu(const backward *b) { backward_rows(b, true, MASK_OF_Y); }
static void backward_training_recompute(const backward *b) { backward_rows(b, true, MASK_OF_X); }

static void run_backward(void *arg, int64_t begin, int64_t end, int thread) {
  static void (*const variants[2][3])(const backward *) = {
      {backward_constant, backward_constant_relu},
      {backward_training, backward_training_relu, backward_training_recompute}};
  const task *job = arg;
  const iso_batch_norm_problem *p = job->p;
  const iso_batch_norm_args *a = job->a;
  const float n = (float)p->rows;
  float r[APPLY_COLUMNS], factor[APPLY_COLUMNS], from_var[APPLY_COLUMNS], from_mean[APPLY_COLUMNS];
  (void)thread;
  for (int64_t first = 0; first < p->c; first += APPLY_COLUMNS) {
    const int64_t m = p->c - first < APPLY_COLUMNS ? p->c - first : APPLY_COLUMNS, at = begin * p->c + first;
    const float *gamma = (const float *)a->gamma + first;
    rstd(r, (const float *)a->var + first, (float)a->eps, m);
    for (int64_t j = 0; j < m; j++) factor[j] = gamma[j] * r[j];
    for (int64_t j = 0; p->training && j < m; j++)
      from_var[j] = ((const float *)a->dgamma)[first + j] / n, from_mean[j] = ((const float *)a->dbeta)[first + j] / n;
    const backward b = {.x = p->training ? (const float *)a->x + at : NULL,
                        .dy = (const float *)a->dy + at,
                        .y_saved = p->activation && !p->recomputes ? (const float *)a->y_saved + at : NULL,
                        .gamma = gamma,
                        .beta = p->recomputes ? (const float *)a->beta + first : NULL,
                        .dx = (float *)a->dx + at,
                        .mean = p->training ? (const float *)a->mean + first : NULL,
                        .r = r,
                        .factor = factor,
                        .from_var = from_var,
                        .from_mean = from_mean,
                        .ld = p->c,
                        .rows = end - begin,
                        .m = m};
    variants[p->training != 0][mask_of(p)](&b);
  }
}

static void run_shared(const iso__call *call, iso__range_fn *fn) {
  task j = {.p = (const iso_batch_norm_problem *)call->problem, .a = call->args};
  const int64_t c = j.p->c > 0 ? j.p->c : 1;
  iso__parallel_range(call->ctx, j.p->rows, (APPLY_GRAIN_ELEMENTS + c - 1) / c, 1, fn, &j);
}
void ISA(iso__norm_fwd_run)(const iso__call *call) { run_shared(call, run_forward); }
void ISA(iso__norm_bwd_data_run)(const iso__call *call) { run_shared(call, run_backward); }
