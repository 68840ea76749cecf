/* rows.c: attention in plain C for every dtype and size, a row of q, or of k and v, at a time: its scores are computed
 * once for all its columns, where the reference computes them for each. What needs no vectors, and what they do not
 * take: f64, heads wider than 256. */
#include <math.h>
#include "base/pool.h"
#include "kernels/attention/attention.h"
#include "numeric/half.h"
#include "numeric/math_f32.h"
#include "numeric/math_f64.h"
#include "numeric/order.h"
#include "numeric/philox.h"

typedef struct work {
  const iso_attention_problem *p;
  const iso_attention_args *a;
  char *workspace;
  size_t thread_bytes;
} work;

#include "numeric/real_f32.h"
#include "kernels/attention/reference_body.h"
#include "kernels/attention/rows_body.h"
#include "numeric/real_f64.h"
#include "kernels/attention/reference_body.h"
#include "kernels/attention/rows_body.h"

/* Sums for a row of dk and one of dv, or of dq, or o. */
size_t iso__attention_rows_workspace(const iso__problem *problem, int n_threads) {
  const iso_attention_problem *p = (const iso_attention_problem *)problem;
  return (size_t)n_threads * (size_t)(p->e + p->f) * sizeof(struct iso__ordered_f64);
}

static work work_of(const iso__call *call) {
  const iso_attention_problem *p = (const iso_attention_problem *)call->problem;
  return (work){.p = p,
                .a = call->args,
                .workspace = call->workspace,
                .thread_bytes = (size_t)(p->e + p->f) * sizeof(struct iso__ordered_f64)};
}
/* So many rows, each of which looks at `others`, are worth a thread. */
static int64_t grain(const iso_attention_problem *p, int64_t others) {
  return 20000 / (others * (p->e + p->f + 16) + 1) + 1;
}

void iso__attention_fwd_rows_run(const iso__call *call) {
  work w = work_of(call);
  const iso_attention_problem *p = w.p;
  iso__parallel_range(call->ctx, p->batch * p->heads * p->l, grain(p, p->s), 1,
                      p->head.dtype == ISO_F64 ? forward_rows_f64 : forward_rows_f32, &w);
}

void iso__attention_bwd_rows_run(const iso__call *call) {
  work w = work_of(call);
  const iso_attention_problem *p = w.p;
  const bool wide = p->head.dtype == ISO_F64;
  iso__parallel_range(call->ctx, p->batch * p->heads * p->l, grain(p, p->s), 1,
                      wide ? gradient_q_rows_f64 : gradient_q_rows_f32, &w);
  iso__parallel_range(call->ctx, p->batch * (p->heads / p->group) * p->s, grain(p, p->l * p->group), 1,
                      wide ? gradient_kv_rows_f64 : gradient_kv_rows_f32, &w);
}
