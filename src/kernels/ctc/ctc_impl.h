/* ctc_impl.h: CTC with a vector of states at a time, threads over samples; included once per instruction set, which
 * names its exports by ISA(name).
 *
 * Within a frame all states are independent. Blanks and targets lie in rows of their own, since a blank's step takes
 * one exp and one score for all, a target's two exps and its class's score. Rows live in the thread's scratch between
 * guards of −inf, so that neighbours are plain unaligned loads. */
#include "base/pool.h"
#include "kernels/ctc/ctc.h"
#include "numeric/lanes.h"
#include "numeric/math_f32.h"

enum { GUARD = 16, ROWS = 7, CTC_GRAIN_STATES = 2048 };

typedef struct job {
  const iso_ctc_problem *p;
  const iso_ctc_args *a;
  char *workspace;
  int64_t row; /* floats of a scratch row, guards included */
} job;

/* Rows of s+1 floats in whole vectors, GUARD more before and behind. */
typedef struct rows {
  float *follows; /* 1 where target k may follow target k−1 */
  float *e;       /* scores of the targets' classes in a frame */
  float *blank, *letter, *new_blank, *new_letter, *w;
} rows;

static int64_t row_floats(const iso_ctc_problem *p) { return ((p->s + 1 + 15) & ~(int64_t)15) + 2 * GUARD; }

static rows rows_of(const job *j, const iso__ctc_sample *q, int thread) {
  float *first = (float *)(void *)j->workspace + (int64_t)thread * ROWS * j->row, *row[ROWS];
  for (int64_t i = 0; i < ROWS * j->row; i++) first[i] = -INFINITY;
  for (int i = 0; i < ROWS; i++) row[i] = first + i * j->row + GUARD;
  for (int64_t k = 0; k < q->letters; k++) row[0][k] = iso__ctc_follows(q, k);
  return (rows){row[0], row[1], row[2], row[3], row[4], row[5], row[6]};
}
static void gather(const iso__ctc_sample *q, const rows *r, const float *frame) {
  for (int64_t k = 0; k < q->letters; k++) r->e[k] = frame[q->target[k]];
}
/* The new rows become the current ones; behind them is −inf again. */
static void turn(const iso__ctc_sample *q, rows *r) {
  float *blank = r->new_blank, *letter = r->new_letter;
  for (int k = 0; k < GUARD; k++) blank[q->letters + 1 + k] = letter[q->letters + k] = -INFINITY;
  r->new_blank = r->blank, r->blank = blank;
  r->new_letter = r->letter, r->letter = letter;
}

VEC_FN vf lse2(vf x, vf y) {
  const vm above = vf_gt(x, y);
  const vf hi = vf_select(above, x, y), lo = vf_select(above, y, x);
  const vm none = vf_eq(hi, vf_set1(-INFINITY));
  const vf m = vf_select(none, vf_zero(), hi), one = vf_select(none, vf_zero(), vf_set1(1));
  return vf_add(v_log(vf_add(one, v_exp(vf_sub(lo, m)))), m);
}
VEC_FN vf lse3(vf x, vf y, vf z) {
  const vm above = vf_gt(x, y);
  const vf hi = vf_select(above, x, y), lo = vf_select(above, y, x);
  const vm first = vf_gt(hi, z);
  const vf top = vf_select(first, hi, z), r = vf_select(first, z, hi);
  const vm none = vf_eq(top, vf_set1(-INFINITY));
  const vf m = vf_select(none, vf_zero(), top), one = vf_select(none, vf_zero(), vf_set1(1));
  return vf_add(v_log(vf_add(vf_add(one, v_exp(vf_sub(r, m))), v_exp(vf_sub(lo, m)))), m);
}
VEC_FN vf where_follows(const float *follows, const float *letter) {
  return vf_select(vf_eq(vf_load(follows), vf_set1(1)), vf_load(letter), vf_set1(-INFINITY));
}

static float loss_of(const iso__ctc_sample *q, const float *alpha) {
  if (q->frames == 0) return q->letters == 0 ? 0 : INFINITY;
  const float *blank = alpha + (q->frames - 1) * (2 * q->s + 1), *letter = blank + q->s + 1;
  float loss[VF_LANES];
  vf_store(loss, vf_neg(lse2(vf_set1(blank[q->letters]), vf_set1(q->letters ? letter[q->letters - 1] : -INFINITY))));
  return loss[0];
}

static void forward_step(const iso__ctc_sample *q, const rows *r, float blank_score) {
  const vf e = vf_set1(blank_score);
  for (int64_t k = 0; k <= q->letters; k += VF_LANES)
    vf_store(r->new_blank + k, vf_add(lse2(vf_load(r->blank + k), vf_load(r->letter + k - 1)), e));
  for (int64_t k = 0; k < q->letters; k += VF_LANES)
    vf_store(r->new_letter + k, vf_add(lse3(vf_load(r->letter + k), vf_load(r->blank + k),
                                            where_follows(r->follows + k, r->letter + k - 1)),
                                       vf_load(r->e + k)));
}
static void forward(const iso__ctc_sample *q, rows r, const float *log_p, float *alpha, float *loss) {
  for (int64_t i = 0; i < q->t; i++) {
    float *blank = alpha + i * (2 * q->s + 1), *letter = blank + q->s + 1;
    const float *frame = log_p + i * q->frame_step;
    int64_t done = -1;
    if (i < q->frames) {
      gather(q, &r, frame);
      if (i == 0) r.new_blank[0] = frame[q->blank], r.new_letter[0] = q->letters ? r.e[0] : -INFINITY;
      else forward_step(q, &r, frame[q->blank]);
      turn(q, &r);
      done = q->letters;
      memcpy(blank, r.blank, (size_t)(done + 1) * sizeof *blank),
          memcpy(letter, r.letter, (size_t)done * sizeof *blank);
    }
    for (int64_t k = done + 1; k <= q->s; k++) blank[k] = -INFINITY;
    for (int64_t k = done < 0 ? 0 : done; k < q->s; k++) letter[k] = -INFINITY;
  }
  *loss = loss_of(q, alpha);
}

/* v in the place of b, then b of the frame before. */
static void backward_step(const iso__ctc_sample *q, const rows *r, float blank_score) {
  const vf e = vf_set1(blank_score);
  for (int64_t k = 0; k <= q->letters; k += VF_LANES) vf_store(r->blank + k, vf_add(vf_load(r->blank + k), e));
  for (int64_t k = 0; k < q->letters; k += VF_LANES)
    vf_store(r->letter + k, vf_add(vf_load(r->letter + k), vf_load(r->e + k)));
  for (int k = 0; k < GUARD; k++) r->blank[q->letters + 1 + k] = r->letter[q->letters + k] = -INFINITY;
  for (int64_t k = 0; k <= q->letters; k += VF_LANES)
    vf_store(r->new_blank + k, lse2(vf_load(r->blank + k), vf_load(r->letter + k)));
  for (int64_t k = 0; k < q->letters; k += VF_LANES)
    vf_store(r->new_letter + k, lse3(vf_load(r->letter + k), vf_load(r->blank + k + 1),
                                     where_follows(r->follows + k + 1, r->letter + k + 1)));
}
/* w = exp((alpha + b) + loss) of n states. */
VEC_FN void shares(float *w, const float *alpha, const float *b, float loss, int64_t n) {
#define SHARE(i, left) vf_store(w + i, v_exp(vf_add(vf_add(vf_load_n(alpha + i, left), vf_load(b + i)), vf_set1(loss))))
  VEC_EACH(n, SHARE);
#undef SHARE
}
static void backward(const iso__ctc_sample *q, rows r, const float *log_p, const float *alpha, float scale, float *dx) {
  const float loss = loss_of(q, alpha);
  const int64_t frames = q->zero_infinity && loss == INFINITY ? 0 : q->frames;
  for (int64_t i = frames; i < q->t; i++) memset(dx + i * q->frame_step, 0, (size_t)q->c * sizeof *dx);
  r.new_blank[q->letters] = 0;
  if (q->letters) r.new_letter[q->letters - 1] = 0;
  for (int64_t i = frames; i-- > 0;) {
    float *d = dx + i * q->frame_step;
    const float *frame = log_p + i * q->frame_step, *blank = alpha + i * (2 * q->s + 1);
    if (i + 1 < frames) backward_step(q, &r, frame[q->frame_step + q->blank]);
    turn(q, &r);
    gather(q, &r, frame);
    memset(d, 0, (size_t)q->c * sizeof *d);
    shares(r.w, blank, r.blank, loss, q->letters + 1);
    d[q->blank] = lanes_sum(r.w, (size_t)(q->letters + 1));
    shares(r.w, blank + q->s + 1, r.letter, loss, q->letters);
    for (int64_t k = 0; k < q->letters; k++) d[q->target[k]] += r.w[k];
    for (int64_t k = 0; k < q->c; k++) d[k] = -scale * d[k];
  }
}

static void run_samples(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const iso_ctc_args *a = j->a;
  for (int64_t i = begin; i < end; i++) {
    const iso__ctc_sample q = iso__ctc_sample_of(j->p, a, i);
    const rows r = rows_of(j, &q, thread);
    const float *log_p = (const float *)a->log_p + i * j->p->c;
    const int64_t states = i * j->p->t * (2 * j->p->s + 1);
    if (j->p->head.op == ISO__OP_CTC_FWD) forward(&q, r, log_p, (float *)a->alpha + states, (float *)a->loss + i);
    else
      backward(&q, r, log_p, (const float *)a->alpha_saved + states, ((const float *)a->scale)[i],
               (float *)a->dx + i * j->p->c);
  }
}

size_t ISA(iso__ctc_workspace)(const iso__problem *problem, int n_threads) {
  return (size_t)(n_threads * ROWS * row_floats((const iso_ctc_problem *)problem)) * sizeof(float);
}
void ISA(iso__ctc_run)(const iso__call *call) {
  const iso_ctc_problem *p = (const iso_ctc_problem *)call->problem;
  job j = {.p = p, .a = call->args, .workspace = call->workspace, .row = row_floats(p)};
  iso__parallel_range(call->ctx, p->n, CTC_GRAIN_STATES / (p->t * (2 * p->s + 1) + 1) + 1, 1, run_samples, &j);
}
