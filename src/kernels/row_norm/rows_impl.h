/* rows_impl.h: row normalisation forward and its input gradient, threads over rows; included once per instruction set,
 * which names its exports by ISA(name).
 *
 * A row is read three times: sum, squared deviation, result; it stays in L1 or L2. Where its elements do not lie side
 * by side (groups of an image's channels) it is first gathered into the thread's scratch, and γ and β are spread to its
 * length, so that everything after that is one kind of row. */
#include "base/pool.h"
#include "kernels/row_norm/row_norm.h"
#include "numeric/lanes.h"

enum { GRAIN_ELEMENTS = 16384 };

typedef struct job {
  const iso_row_norm_problem *p;
  const iso_row_norm_args *a;
  char *workspace;
  int64_t n, width, scratch; /* row length, channels of a group, floats of one scratch row */
} job;

/* One row with everything at its length; gamma, beta NULL: absent. */
typedef struct row {
  const float *x, *dy, *gamma, *beta;
  float *out;
  int64_t n;
  float mean, rstd;
  bool rms;
  int64_t ahead; /* how far on the next row lies, see ahead_of */
} row;

/* The next row is fetched while this one is computed: rows are short, so that without it memory would rest meanwhile,
 * and be waited for at each row's start. 0: there is none, or rows fill L1 by themselves. */
static int64_t ahead_of(int64_t n, bool more) { return more && n <= 2048 ? n : 0; }
VEC_FN void fetch_ahead(const row *r, int64_t i) {
  __builtin_prefetch(r->x + r->ahead + i, 0, 3);
  __builtin_prefetch(r->dy + r->ahead + i, 0, 3);
  __builtin_prefetch(r->out + r->ahead + i, 1, 3);
}

VEC_FN vf normalised(const row *r, int64_t i, size_t n) {
  const vf x = vf_load_n(r->x + i, n);
  return vf_mul(r->rms ? x : vf_sub(x, vf_set1(r->mean)), vf_set1(r->rstd));
}
VEC_FN vf upstream(const row *r, int64_t i, size_t n) { /* g */
  const vf dy = vf_load_n(r->dy + i, n);
  return r->gamma ? vf_mul(dy, vf_load_n(r->gamma + i, n)) : dy;
}

VEC_FN void forward_row(row *r, float eps) {
  const float n = (float)r->n;
  r->mean = r->rms ? 0 : lanes_sum(r->x, (size_t)r->n) / n;
  const float squares =
      r->rms ? lanes_dot(r->x, r->x, (size_t)r->n) : lanes_square_deviation(r->x, r->mean, (size_t)r->n);
  r->rstd = 1 / sqrtf(squares / n + eps);
#define BOTH(i, left)                                                                                                  \
  vf_store_n(r->out + i, vf_fma(normalised(r, i, left), vf_load_n(r->gamma + i, left), vf_load_n(r->beta + i, left)),  \
             left)
#define GAMMA(i, left) vf_store_n(r->out + i, vf_mul(normalised(r, i, left), vf_load_n(r->gamma + i, left)), left)
#define BETA(i, left) vf_store_n(r->out + i, vf_add(normalised(r, i, left), vf_load_n(r->beta + i, left)), left)
#define NEITHER(i, left) vf_store_n(r->out + i, normalised(r, i, left), left)
  if (r->gamma && r->beta) VEC_EACH(r->n, BOTH);
  else if (r->gamma) VEC_EACH(r->n, GAMMA);
  else if (r->beta) VEC_EACH(r->n, BETA);
  else VEC_EACH(r->n, NEITHER);
}

VEC_FN vf step_gh(vf lane, const void *args, size_t i, size_t n) {
  const row *r = args;
  return vf_fma(upstream(r, (int64_t)i, n), normalised(r, (int64_t)i, n), lane);
}
VEC_FN vf step_g(vf lane, const void *args, size_t i, size_t n) { return vf_add(lane, upstream(args, (int64_t)i, n)); }
VEC_FN void backward_row(const row *r) {
  const float n = (float)r->n;
  const vf gh = vf_set1(lanes_row(step_gh, r, (size_t)r->n) / n);
  const vf g = vf_set1(r->rms ? 0 : lanes_row(step_g, r, (size_t)r->n) / n), rstd = vf_set1(r->rstd);
#define CENTRED(i, left)                                                                                               \
  fetch_ahead(r, i),                                                                                                   \
      vf_store_n(r->out + i, vf_mul(rstd, vf_fnma(normalised(r, i, left), gh, vf_sub(upstream(r, i, left), g))), left)
#define RMS(i, left)                                                                                                   \
  fetch_ahead(r, i),                                                                                                   \
      vf_store_n(r->out + i, vf_mul(rstd, vf_fnma(normalised(r, i, left), gh, upstream(r, i, left))), left)
  if (r->rms) VEC_EACH(r->n, RMS);
  else VEC_EACH(r->n, CENTRED);
}

/* ---- rows that lie apart ---- */

/* Runs of `width` floats, one `from_step` apart in one place and `to_step` in the other. */
VEC_FN void copy_runs(const float *from, int64_t from_step, float *to, int64_t to_step, int64_t n_runs, int64_t width) {
  for (int64_t i = 0; i < n_runs; i++, from += from_step, to += to_step)
    for (int64_t c = 0; c < width; c++) to[c] = from[c];
}
/* Widths that networks have, as constants: a run is then a few instructions. */
static void copy_any(const float *from, int64_t from_step, float *to, int64_t to_step, int64_t n_runs, int64_t width) {
  if (width == 1) copy_runs(from, from_step, to, to_step, n_runs, 1);
  else if (width == 2) copy_runs(from, from_step, to, to_step, n_runs, 2);
  else if (width == 4) copy_runs(from, from_step, to, to_step, n_runs, 4);
  else if (width == 8) copy_runs(from, from_step, to, to_step, n_runs, 8);
  else if (width == 16) copy_runs(from, from_step, to, to_step, n_runs, 16);
  else copy_runs(from, from_step, to, to_step, n_runs, width);
}
static void gather(const job *j, const float *from, float *to) {
  copy_any(from, j->p->channels, to, j->width, j->p->positions, j->width);
}
static void scatter(const job *j, const float *from, float *to) {
  copy_any(from, j->width, to, j->p->channels, j->p->positions, j->width);
}
static void spread(const job *j, const float *per_channel, float *to) {
  copy_any(per_channel, 0, to, j->width, j->p->positions, j->width);
}

typedef struct places {
  float *x, *dy, *gamma, *beta, *out;
} places;
static places scratch_of(const job *j, int thread) {
  float *s = (float *)(void *)j->workspace + (int64_t)thread * 5 * j->scratch;
  return (places){s, s + j->scratch, s + 2 * j->scratch, s + 3 * j->scratch, s + 4 * j->scratch};
}

/* ---- tasks ---- */

/* Row `index`, its data brought side by side; `group` is the one whose γ and β lie in the scratch. */
static row open_row(const job *j, int64_t index, int thread, float *result, int64_t *group) {
  const iso_row_norm_problem *p = j->p;
  const int64_t g = index % p->groups, at = index / p->groups * p->positions * p->channels + g * j->width;
  const float *gamma = p->has_gamma ? (const float *)j->a->gamma + g * j->width : NULL;
  const float *beta = p->has_beta && j->a->beta ? (const float *)j->a->beta + g * j->width : NULL;
  row r = {.x = (const float *)j->a->x + at,
           .dy = j->a->dy ? (const float *)j->a->dy + at : NULL,
           .gamma = gamma,
           .beta = beta,
           .out = result + at,
           .n = j->n,
           .rms = p->rms};
  if (p->positions == 1) return r;
  const places s = scratch_of(j, thread);
  if (*group != g) {
    if (gamma) spread(j, gamma, s.gamma);
    if (beta) spread(j, beta, s.beta);
    *group = g;
  }
  if (gamma) r.gamma = s.gamma;
  if (beta) r.beta = s.beta;
  if (p->groups == 1) return r;
  gather(j, r.x, s.x), r.x = s.x;
  if (r.dy) gather(j, r.dy, s.dy), r.dy = s.dy;
  r.out = s.out;
  return r;
}
static void close_row(const job *j, int64_t index, const row *r, float *result) {
  if (iso__row_norm_is_dense(j->p)) return;
  scatter(j, r->out,
          result + index / j->p->groups * j->p->positions * j->p->channels + index % j->p->groups * j->width);
}

static void run_forward(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  int64_t group = -1;
  for (int64_t i = begin; i < end; i++) {
    row r = open_row(j, i, thread, j->a->y, &group);
    forward_row(&r, (float)j->a->eps);
    close_row(j, i, &r, j->a->y);
    if (!j->p->rms) ((float *)j->a->mean)[i] = r.mean;
    ((float *)j->a->rstd)[i] = r.rstd;
  }
}
static void run_backward(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  int64_t group = -1;
  for (int64_t i = begin; i < end; i++) {
    row r = open_row(j, i, thread, j->a->dx, &group);
    if (!j->p->rms) r.mean = ((const float *)j->a->mean)[i];
    r.rstd = ((const float *)j->a->rstd)[i];
    if (iso__row_norm_is_dense(j->p)) r.ahead = ahead_of(r.n, i + 1 < end);
    backward_row(&r);
    close_row(j, i, &r, j->a->dx);
  }
}

/* ---- dx, dγ and dβ in one pass ---- */

typedef struct wave {
  const iso_row_norm_problem *p;
  const iso_row_norm_args *a;
  float *slots; /* (chunks of a wave, 2, channels) */
  int64_t first_chunk;
} wave;

/* A row's dx; its dy·h and dy are added to the chunk's sums on the way. */
VEC_FN void backward_whole_row(const row *r, float *dgamma, float *dbeta) {
  const float n = (float)r->n;
  const vf gh = vf_set1(lanes_row(step_gh, r, (size_t)r->n) / n);
  const vf g = vf_set1(r->rms ? 0 : lanes_row(step_g, r, (size_t)r->n) / n), rstd = vf_set1(r->rstd);
#define STEP(i, left)                                                                                                  \
  do {                                                                                                                 \
    fetch_ahead(r, i);                                                                                                 \
    const vf h = normalised(r, i, left), dy = vf_load_n(r->dy + i, left);                                              \
    const vf up = vf_mul(dy, vf_load_n(r->gamma + i, left));                                                           \
    vf_store_n(dgamma + i, vf_fma(dy, h, vf_load_n(dgamma + i, left)), left);                                          \
    if (dbeta) vf_store_n(dbeta + i, vf_add(vf_load_n(dbeta + i, left), dy), left);                                    \
    vf_store_n(r->out + i, vf_mul(rstd, vf_fnma(h, gh, r->rms ? up : vf_sub(up, g))), left);                           \
  } while (0)
  VEC_EACH(r->n, STEP);
#undef STEP
}

static void run_chunks(void *arg, int64_t begin, int64_t end, int thread) {
  const wave *w = arg;
  const int64_t c = w->p->channels;
  (void)thread;
  for (int64_t slot = begin; slot < end; slot++) {
    float *dgamma = w->slots + 2 * slot * c, *dbeta = w->p->has_beta ? dgamma + c : NULL;
    const int64_t first = (w->first_chunk + slot) * ISO__CHUNK;
    const int64_t last = first + ISO__CHUNK < w->p->samples ? first + ISO__CHUNK : w->p->samples;
    if (c) memset(dgamma, 0, (size_t)(2 * c) * sizeof *dgamma);
    for (int64_t k = first; k < last; k++) {
      const row r = {.x = (const float *)w->a->x + k * c,
                     .dy = (const float *)w->a->dy + k * c,
                     .gamma = w->a->gamma,
                     .out = (float *)w->a->dx + k * c,
                     .n = c,
                     .mean = w->p->rms ? 0 : ((const float *)w->a->mean)[k],
                     .rstd = ((const float *)w->a->rstd)[k],
                     .rms = w->p->rms,
                     .ahead = ahead_of(c, k + 1 < last)};
      if (r.rms) backward_whole_row(&r, dgamma, dbeta);
      else backward_whole_row(&r, dgamma, dbeta);
    }
  }
}

/* The totals wait in the outputs. A wave is whole panels, so none is open between two. */
void ISA(iso__row_norm_bwd_run)(const iso__call *call) {
  const iso_row_norm_problem *p = (const iso_row_norm_problem *)call->problem;
  wave w = {.p = p, .a = call->args, .slots = call->workspace};
  const int64_t c = p->channels, chunks = (p->samples + ISO__CHUNK - 1) / ISO__CHUNK,
                per_panel = ISO__PANEL / ISO__CHUNK;
  float *dgamma = w.a->dgamma, *dbeta = w.a->dbeta;
  memset(dgamma, 0, (size_t)c * sizeof *dgamma);
  if (p->has_beta) memset(dbeta, 0, (size_t)c * sizeof *dbeta);
  for (; w.first_chunk < chunks; w.first_chunk += ISO__ROW_NORM_WAVE) {
    const int64_t n = chunks - w.first_chunk < ISO__ROW_NORM_WAVE ? chunks - w.first_chunk : ISO__ROW_NORM_WAVE;
    iso__parallel_range(call->ctx, n, GRAIN_ELEMENTS / (c * ISO__CHUNK + 1) + 1, 1, run_chunks, &w);
    for (int64_t k = 0; k < n; k += per_panel) {
      float *panel = w.slots + 2 * k * c; /* +0 + the first chunk's sum is that sum: no chunk's sum is −0 */
      for (int64_t q = k + 1; q < k + per_panel && q < n; q++) vec_join(panel, w.slots + 2 * q * c, 2 * c);
      vec_join(dgamma, panel, c);
      if (p->has_beta) vec_join(dbeta, panel + c, c);
    }
  }
}

static void run_shared(const iso__call *call, iso__range_fn *fn) {
  const iso_row_norm_problem *p = (const iso_row_norm_problem *)call->problem;
  const int64_t n = iso__row_norm_n(p);
  job j = {.p = p,
           .a = call->args,
           .workspace = call->workspace,
           .n = n,
           .width = p->channels / p->groups,
           .scratch = (n + 15) & ~(int64_t)15};
  iso__parallel_range(call->ctx, p->samples * p->groups, GRAIN_ELEMENTS / (n + 1) + 1, 1, fn, &j);
}
void ISA(iso__row_norm_fwd_run)(const iso__call *call) { run_shared(call, run_forward); }
void ISA(iso__row_norm_bwd_data_run)(const iso__call *call) { run_shared(call, run_backward); }
