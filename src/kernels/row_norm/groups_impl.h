/* groups_impl.h: group and instance norm of images, channels innermost, for groups whose width divides the 64 lanes;
 * included once per instruction set, which names its exports by ISA(name).
 *
 * A group's rows of an image lie apart, but all groups of a position lie side by side: they are summed together, in
 * memory's order. A position p gives its channels to lanes (p mod 64/width)·width … of their groups, so lanes are kept
 * as (64/width, channels), a vector of channels is one addition, and only panels' ends look at groups by themselves.
 *
 * Absent parameters are neutral ones: γ = 1, β = −0 (fma(h,1,−0) = h for both zeros), and without a mean x − 0 = x. */
#include "base/pool.h"
#include "kernels/row_norm/row_norm.h"
#include "numeric/lanes.h"

enum { GRAIN_ELEMENTS = 16384, GROUPS = ISO__ROW_NORM_GROUPS, CHANNELS = ISO__LANES * GROUPS, LINE = 16 };

typedef struct scratch {
  float lanes[2][CHANNELS];
  float mean[CHANNELS], rstd[CHANNELS], gamma[CHANNELS], beta[CHANNELS]; /* of channels, whatever is a group's too */
  float gh[CHANNELS], g[CHANNELS];
  struct lanes_panels panels[2][GROUPS];
} scratch;
size_t ISA(iso__row_norm_groups_workspace)(const iso__problem *problem, int n_threads) {
  (void)problem;
  return (size_t)n_threads * sizeof(scratch);
}

typedef struct job {
  const iso_row_norm_problem *p;
  const iso_row_norm_args *a;
  scratch *scratch;
  int64_t width, block, n_blocks; /* channels of a group, groups of a block */
} job;

/* A block of one sample's groups: m channels at `at` of each position. */
typedef struct tile {
  const job *j;
  scratch *s;
  int64_t sample, first, n_groups, m, at;
} tile;

/* ---- sums by lanes ---- */

typedef enum sum_kind { SUM, SQUARES, GRADIENTS } sum_kind;

/* What a position's loop reads of its block, apart from what it writes. */
#define PARAMETERS(t)                                                                                                  \
  const int64_t m = (t)->m;                                                                                            \
  const float *restrict mean = (t)->s->mean, *restrict rstd = (t)->s->rstd, *restrict gamma = (t)->s->gamma;           \
  (void)mean, (void)rstd, (void)gamma
#define NORMALISED(x, i, n) vf_mul(vf_sub(vf_load_n(x + i, n), vf_load_n(mean + i, n)), vf_load_n(rstd + i, n))

VEC_FN void add_position(const tile *t, const float *restrict x, const float *restrict dy, int64_t slot,
                         sum_kind kind) {
  float *restrict a = t->s->lanes[0] + slot, *restrict b = t->s->lanes[1] + slot;
  PARAMETERS(t);
#define STEP(i, left)                                                                                                  \
  do {                                                                                                                 \
    const vf lane = vf_load_n(a + i, left);                                                                            \
    if (kind == SUM) {                                                                                                 \
      vf_store_n(a + i, vf_add(lane, vf_load_n(x + i, left)), left);                                                   \
    } else if (kind == SQUARES) {                                                                                      \
      const vf d = vf_sub(vf_load_n(x + i, left), vf_load_n(mean + i, left));                                          \
      vf_store_n(a + i, vf_fma(d, d, lane), left);                                                                     \
    } else {                                                                                                           \
      const vf g = vf_mul(vf_load_n(dy + i, left), vf_load_n(gamma + i, left));                                        \
      vf_store_n(a + i, vf_fma(g, NORMALISED(x, i, left), lane), left);                                                \
      vf_store_n(b + i, vf_add(vf_load_n(b + i, left), g), left);                                                      \
    }                                                                                                                  \
  } while (0)
  VEC_EACH(m, STEP);
#undef STEP
}

/* The tree over one group's lanes. */
static float tree_of(const tile *t, const float *lanes, int64_t group) {
  const int64_t width = t->j->width;
  float row[ISO__LANES];
  struct lanes l;
  for (int64_t q = 0; q < ISO__LANES / width; q++)
    memcpy(row + q * width, lanes + q * t->m + group * width, (size_t)width * sizeof *row);
  for (int k = 0; k < LANES_VECTORS; k++) l.v[k] = vf_load(row + k * VF_LANES);
  return lanes_tree(&l);
}

/* Leaves each group's sum in `panels`: one, or both of the gradients. */
VEC_FN void sum_lanes(const tile *t, sum_kind kind) {
  const iso_row_norm_problem *p = t->j->p;
  const int64_t panel = ISO__ROW_PANEL / t->j->width, period = ISO__LANES / t->j->width;
  const float *x = (const float *)t->j->a->x + t->at, *dy = kind == GRADIENTS ? (const float *)t->j->a->dy + t->at : x;
  const int n_sums = kind == GRADIENTS ? 2 : 1;
  for (int k = 0; k < n_sums; k++)
    for (int64_t g = 0; g < t->n_groups; g++) t->s->panels[k][g].n = 0;
  for (int64_t first = 0; first < p->positions; first += panel) {
    const int64_t last = p->positions - first < panel ? p->positions : first + panel;
    for (int k = 0; k < n_sums; k++) memset(t->s->lanes[k], 0, (size_t)(period * t->m) * sizeof(float));
    for (int64_t q = first; q < last; q++)
      add_position(t, x + q * p->channels, dy + q * p->channels, q % period * t->m, kind);
    for (int k = 0; k < n_sums; k++)
      for (int64_t g = 0; g < t->n_groups; g++) lanes_panels_push(&t->s->panels[k][g], tree_of(t, t->s->lanes[k], g));
  }
}
static void sum_x(const tile *t) { sum_lanes(t, SUM); }
static void sum_squares(const tile *t) { sum_lanes(t, SQUARES); }
static void sum_gradients(const tile *t) { sum_lanes(t, GRADIENTS); }
static float mean_of(const tile *t, int sum, int64_t group) {
  return lanes_panels_end(&t->s->panels[sum][group]) / (float)(t->j->p->positions * t->j->width);
}

/* ---- values of groups and of channels ---- */

static void spread(const tile *t, float *channels, int64_t group, float value) {
  for (int64_t c = group * t->j->width; c < (group + 1) * t->j->width; c++) channels[c] = value;
}
static void parameter(const tile *t, float *channels, const void *values, float neutral) {
  const float *from = values ? (const float *)values + t->first * t->j->width : NULL;
  for (int64_t c = 0; c < t->m; c++) channels[c] = from ? from[c] : neutral;
}
static tile open_tile(const job *j, int64_t index, int thread) {
  tile t = {.j = j, .s = j->scratch + thread, .sample = index / j->n_blocks, .first = index % j->n_blocks * j->block};
  t.n_groups = j->p->groups - t.first < j->block ? j->p->groups - t.first : j->block;
  t.m = t.n_groups * j->width;
  t.at = t.sample * j->p->positions * j->p->channels + t.first * j->width;
  parameter(&t, t.s->gamma, j->p->has_gamma ? j->a->gamma : NULL, 1);
  return t;
}

/* ---- tasks ---- */

static void normalise(const tile *t) {
  const iso_row_norm_problem *p = t->j->p;
  const float *restrict beta = t->s->beta;
  PARAMETERS(t);
  for (int64_t q = 0; q < p->positions; q++) {
    const float *restrict x = (const float *)t->j->a->x + t->at + q * p->channels;
    float *restrict y = (float *)t->j->a->y + t->at + q * p->channels;
#define STEP(i, left)                                                                                                  \
  vf_store_n(y + i, vf_fma(NORMALISED(x, i, left), vf_load_n(gamma + i, left), vf_load_n(beta + i, left)), left)
    VEC_EACH(m, STEP);
#undef STEP
  }
}
static void run_forward(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  for (int64_t index = begin; index < end; index++) {
    const tile t = open_tile(j, index, thread);
    const int64_t rows = t.sample * j->p->groups + t.first;
    parameter(&t, t.s->beta, j->p->has_beta ? j->a->beta : NULL, -0.0f);
    if (!j->p->rms) sum_x(&t);
    for (int64_t g = 0; g < t.n_groups; g++) {
      const float mean = j->p->rms ? 0 : mean_of(&t, 0, g);
      spread(&t, t.s->mean, g, mean);
      if (!j->p->rms) ((float *)j->a->mean)[rows + g] = mean;
    }
    sum_squares(&t);
    for (int64_t g = 0; g < t.n_groups; g++) {
      const float rstd = 1 / sqrtf(mean_of(&t, 0, g) + (float)j->a->eps);
      spread(&t, t.s->rstd, g, rstd);
      ((float *)j->a->rstd)[rows + g] = rstd;
    }
    normalise(&t);
  }
}

static void differentiate(const tile *t) {
  const iso_row_norm_problem *p = t->j->p;
  const float *restrict mean_gh = t->s->gh, *restrict mean_g = t->s->g;
  PARAMETERS(t);
  for (int64_t q = 0; q < p->positions; q++) {
    const int64_t at = t->at + q * p->channels;
    const float *restrict x = (const float *)t->j->a->x + at, *restrict dy = (const float *)t->j->a->dy + at;
    float *restrict dx = (float *)t->j->a->dx + at;
#define STEP(i, left)                                                                                                  \
  do {                                                                                                                 \
    const vf g = vf_mul(vf_load_n(dy + i, left), vf_load_n(gamma + i, left));                                          \
    const vf centred = vf_sub(g, vf_load_n(mean_g + i, left));                                                         \
    const vf d = vf_fnma(NORMALISED(x, i, left), vf_load_n(mean_gh + i, left), centred);                               \
    vf_store_n(dx + i, vf_mul(vf_load_n(rstd + i, left), d), left);                                                    \
  } while (0)
    VEC_EACH(m, STEP);
#undef STEP
  }
}
static void run_backward(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  for (int64_t index = begin; index < end; index++) {
    const tile t = open_tile(j, index, thread);
    const int64_t rows = t.sample * j->p->groups + t.first;
    for (int64_t g = 0; g < t.n_groups; g++) {
      spread(&t, t.s->mean, g, j->p->rms ? 0 : ((const float *)j->a->mean)[rows + g]);
      spread(&t, t.s->rstd, g, ((const float *)j->a->rstd)[rows + g]);
    }
    sum_gradients(&t);
    for (int64_t g = 0; g < t.n_groups; g++) {
      spread(&t, t.s->gh, g, mean_of(&t, 0, g));
      spread(&t, t.s->g, g, j->p->rms ? 0 : mean_of(&t, 1, g));
    }
    differentiate(&t);
  }
}

/* Blocks of all groups, or of fewer where samples alone would leave threads idle, but of a cache line of channels. */
static void run_shared(const iso__call *call, iso__range_fn *fn) {
  const iso_row_norm_problem *p = (const iso_row_norm_problem *)call->problem;
  job j = {.p = p, .a = call->args, .scratch = call->workspace, .width = p->channels / p->groups};
  const int64_t n_threads = iso_n_threads(call->ctx), least = j.width < LINE ? LINE / j.width : 1;
  const int64_t parts = p->samples && p->samples < n_threads ? (n_threads + p->samples - 1) / p->samples : 1;
  j.block = (p->groups + parts - 1) / parts;
  if (j.block < least) j.block = least;
  if (j.block > GROUPS) j.block = GROUPS;
  j.n_blocks = (p->groups + j.block - 1) / j.block;
  iso__parallel_range(call->ctx, p->samples * j.n_blocks, GRAIN_ELEMENTS / (p->positions * j.block * j.width + 1) + 1,
                      1, fn, &j);
}
void ISA(iso__row_norm_groups_fwd_run)(const iso__call *call) { run_shared(call, run_forward); }
void ISA(iso__row_norm_groups_bwd_data_run)(const iso__call *call) { run_shared(call, run_backward); }
