/* planar_impl.h: interpolation and its gradient of planes of one channel, vectors of columns; included once per
 * instruction set, which names its exports by ISA(name).
 *
 * A column's taps are contiguous, so the lanes' k-th taps lie close together: they come by gather_vec.h. A task takes a
 * range of rows, numbered through all planes. */
#include "base/pool.h"
#include "kernels/gather_vec.h"
#include "kernels/resample/planar.h"
#include "kernels/sizes.h"

enum { GRAIN_TERMS = 32768 };

typedef struct job {
  const iso_resample_problem *p;
  iso__taps taps[3];
  iso__columns columns;
  int64_t from[3], to[3];
  const float *in, *end;
  float *out;
} job;

/* The rows of the operand that a row of the result sees: lists of depth and row, and the plane. */
typedef struct row_lists {
  int32_t begin[2], n[2];
  const float *weight[2], *plane;
} row_lists;

VEC_FN vf tap_weight(const job *j, vf both, int64_t k, int64_t column) {
  return vf_mul(both, vf_load(j->columns.weight + k * j->columns.stride + column));
}
VEC_FN vf columns_sum(const job *j, const row_lists *l, int64_t column, bool full) {
  const iso__columns *c = &j->columns;
  const vi begin = vi_load(c->begin + column), n = vi_load(c->n + column);
  const int32_t first = c->begin[column];
  const span s = span_of(first, c->begin[column + VF_LANES - 1]);
  vf sum = vf_zero();
  for (int32_t t = 0; t < l->n[0]; t++)
    for (int32_t h = 0; h < l->n[1]; h++) {
      const vf both = vf_set1(l->weight[0][t] * l->weight[1][h]);
      const float *row = l->plane + ((int64_t)(l->begin[0] + t) * j->from[1] + l->begin[1] + h) * j->from[2];
      for (int32_t k = 0; k < (int32_t)c->longest; k++) {
        const vm used = full ? vm_first(VF_LANES) : vi_gt(n, vi_set1(k));
        const vf x = gather_columns(row, vi_add(begin, vi_set1(k)), first + k, s, used, j->in, j->end);
        const vf next = vf_fma(tap_weight(j, both, k, column), x, sum);
        sum = full ? next : vf_select(used, next, sum);
      }
    }
  return vf_add(sum, vf_zero()); /* a product that underflowed may have left −0 */
}
static bool columns_are_full(const iso__columns *c, int64_t column) {
  for (int64_t i = 0; i < VF_LANES; i++)
    if (c->n[column + i] != (int32_t)c->longest) return false;
  return true;
}

static void run_row(const job *j, int64_t row) {
  row_lists l;
  const int64_t at[2] = {row / j->to[1] % j->to[0], row % j->to[1]};
  for (int d = 0; d < 2; d++) {
    const iso__taps *t = &j->taps[d];
    l.begin[d] = t->begin[at[d]], l.n[d] = t->offset[at[d] + 1] - t->offset[at[d]];
    l.weight[d] = (const float *)t->weight + t->offset[at[d]];
  }
  l.plane = j->in + row / j->to[1] / j->to[0] * j->from[0] * j->from[1] * j->from[2];
  float *out = j->out + row * j->to[2];
  for (int64_t column = 0; column < j->to[2]; column += VF_LANES) {
    const size_t left = (size_t)(j->to[2] - column);
    if (iso__resample_copies(j->p)) {
      const float *from = l.plane + ((int64_t)l.begin[0] * j->from[1] + l.begin[1]) * j->from[2];
      const int32_t *begin = j->columns.begin + column;
      vf_store_n(out + column,
                 gather_columns(from, vi_load(begin), begin[0], span_of(begin[0], begin[VF_LANES - 1]), vm_first(left),
                                j->in, j->end),
                 left);
    } else if (columns_are_full(&j->columns, column)) {
      vf_store_n(out + column, columns_sum(j, &l, column, true), left);
    } else {
      vf_store_n(out + column, columns_sum(j, &l, column, false), left);
    }
  }
}
static void run_rows(void *arg, int64_t begin, int64_t end, int thread) {
  (void)thread;
  for (int64_t row = begin; row < end; row++) run_row(arg, row);
}

void ISA(iso__resample_planar_run)(const iso__call *call) {
  const iso_resample_problem *p = (const iso_resample_problem *)call->problem;
  const iso_resample_args *a = call->args;
  const bool backward = p->head.op == ISO__OP_RESAMPLE_BWD;
  job j = {.p = p, .in = a->in, .out = a->out};
  int64_t terms = 1;
  for (int d = 0; d < 3; d++) {
    j.from[d] = backward ? p->axis[d].out : p->axis[d].in;
    j.to[d] = backward ? p->axis[d].in : p->axis[d].out;
  }
  if (p->n == 0) return;
  j.end = j.in + p->n * j.from[0] * j.from[1] * j.from[2];
  iso__resample_taps(p, call->workspace, j.taps);
  j.columns = iso__resample_columns(p, call->workspace, j.taps);
  for (int d = 0; d < 3; d++) terms *= iso__max(j.taps[d].longest, 1);
  iso__parallel_range(call->ctx, p->n * j.to[0] * j.to[1], iso__max(GRAIN_TERMS / (terms * j.to[2]), 1), 1, run_rows,
                      &j);
}
