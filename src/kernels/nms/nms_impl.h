/* nms_impl.h: greedy suppression, one staying box against a vector of later ones; included once per instruction set,
 * which names its export by ISA(name).
 *
 * Only boxes that stay are compared with the rest, so that crowded scenes, which suppress most, are the cheap ones.
 * Runs of groups are shared among threads. */
#include <math.h>
#include "base/context.h"
#include "base/pool.h"
#include "kernels/nms/nms.h"
#include "numeric/vec.h"

typedef struct nms_job {
  const iso_nms_problem *p;
  const iso_nms_args *a;
  float *x1, *y1, *x2, *y2, *area;
  uint32_t *suppressed;
  float threshold; /* the largest float not above it: the same comparison */
} nms_job;

static void nms_spread(const nms_job *j, int64_t begin, int64_t end) {
  const float *boxes = j->a->boxes;
  for (int64_t i = begin; i < end; i++) {
    const float *b = boxes + 4 * i;
    j->x1[i] = b[0], j->y1[i] = b[1], j->x2[i] = b[2], j->y2[i] = b[3];
    j->area[i] = (b[2] - b[0]) * (b[3] - b[1]);
    j->suppressed[i] = 0;
  }
}

/* Boxes from begin on against one. */
static void nms_suppress(const nms_job *j, int64_t box, int64_t begin, int64_t end) {
  const vf left = vf_set1(j->x1[box]), top = vf_set1(j->y1[box]), right = vf_set1(j->x2[box]),
           bottom = vf_set1(j->y2[box]);
  const vf area = vf_set1(j->area[box]), threshold = vf_set1(j->threshold);
  const int64_t n = end - begin;
#define STEP(k, left_over)                                                                                             \
  {                                                                                                                    \
    const int64_t at = begin + (k);                                                                                    \
    const vf w =                                                                                                       \
        vf_sub(vf_min(vf_load_n(j->x2 + at, left_over), right), vf_max(vf_load_n(j->x1 + at, left_over), left));       \
    const vf h =                                                                                                       \
        vf_sub(vf_min(vf_load_n(j->y2 + at, left_over), bottom), vf_max(vf_load_n(j->y1 + at, left_over), top));       \
    const vf inter = vf_mul(vf_max(w, vf_zero()), vf_max(h, vf_zero()));                                               \
    const vf all = vf_sub(vf_add(area, vf_load_n(j->area + at, left_over)), inter);                                    \
    const vm over = vf_gt(vf_div(inter, all), threshold);                                                              \
    const vf before = vf_load_n((const float *)(const void *)(j->suppressed + at), left_over);                         \
    vf_store_n((float *)(void *)(j->suppressed + at), vf_select(over, vf_from_bits(vi_set1(1)), before), left_over);   \
  }
  VEC_EACH(n, STEP);
#undef STEP
}

static void nms_runs(void *arg, int64_t begin, int64_t end, int thread) {
  const nms_job *j = arg;
  const int64_t *group = j->a->group;
  (void)thread;
  for (int64_t i = begin; i < end;) { /* runs that begin here */
    if (i > 0 && !j->p->grouped) return;
    if (i > 0 && group[i] == group[i - 1]) {
      i++;
      continue;
    }
    const int64_t run_end = iso__nms_run_end(j->p, group, i);
    nms_spread(j, i, run_end);
    for (int64_t k = i; k < run_end; k++) {
      j->a->keep[k] = !j->suppressed[k];
      if (j->a->keep[k]) nms_suppress(j, k, k + 1, run_end);
    }
    i = run_end;
  }
}

void ISA(iso__nms_run)(const iso__call *call) {
  const iso_nms_problem *p = (const iso_nms_problem *)call->problem;
  const iso_nms_args *a = call->args;
  float *w = call->workspace;
  nms_job j = {.p = p,
               .a = a,
               .x1 = w,
               .y1 = w + p->n,
               .x2 = w + 2 * p->n,
               .y2 = w + 3 * p->n,
               .area = w + 4 * p->n,
               .suppressed = (uint32_t *)(void *)(w + 5 * p->n),
               .threshold = (float)a->threshold};
  if ((double)j.threshold > a->threshold) j.threshold = nextafterf(j.threshold, -INFINITY);
  iso__parallel_range(call->ctx, p->n, 512, 1, nms_runs, &j);
}
