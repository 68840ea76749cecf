/* norm.c: the four operators of batch normalisation: text, operands, classes, workspace, cost. */
#include "kernels/norm/norm.h"
#include "kernels/fields.h"
#include "kernels/norm/slots.h"

#define FLAG(key_, member)                                                                                             \
  { .key = key_, ISO__FIELD(iso_batch_norm_problem, member, .most = 1) }
static const iso__field fields[] = {{.key = "rows", ISO__FIELD(iso_batch_norm_problem, rows, .implied = -1)},
                                    {.key = "c", ISO__FIELD(iso_batch_norm_problem, c, .implied = -1)},
                                    FLAG("relu", activation),
                                    FLAG("residual", has_residual),
                                    FLAG("training", training),
                                    FLAG("recompute", recomputes),
                                    {.key = NULL}};

static int norm_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields, problem, text, n_bytes);
}
static const char *norm_parse(iso__problem *problem, const char *key, const char *value) {
  const iso_batch_norm_problem *p = (const iso_batch_norm_problem *)problem;
  const char *wrong = iso__fields_parse(fields, problem, key, value);
  if (key || wrong) return wrong;
  if (p->recomputes && (!p->activation || p->has_residual))
    return "a mask is recomputed for relu without residual only";
  if (p->recomputes && problem->op != ISO__OP_BATCH_NORM_BWD_REDUCE &&
      !(problem->op == ISO__OP_BATCH_NORM_BWD_DATA && p->training))
    return "a mask is recomputed by bwd_reduce, and by bwd_data in training";
  if (!iso__extents_fit(p->rows, p->c, 1)) return "the extents hold too many elements";
  return NULL;
}

/* ---- operands: each operator's list, a mark for those that depend on attributes ---- */
typedef enum when { ALWAYS, IF_SAVED, IF_RECOMPUTED, IF_RESIDUAL, IF_TRAINING } when;
typedef struct row {
  const char *name;
  size_t offset;
  bool per_channel, output;
  when when;
  iso__fill fill;
} row;
#define ROW(member, ...)                                                                                               \
  { .name = #member, .offset = offsetof(iso_batch_norm_args, member), __VA_ARGS__ }
#define CHANNELS .per_channel = true
static const row stats_rows[] = {ROW(x, .when = ALWAYS),
                                 ROW(mean, CHANNELS, .output = true),
                                 ROW(var, CHANNELS, .output = true),
                                 ROW(unbiased, CHANNELS, .output = true),
                                 {.name = NULL}};
static const row fwd_rows[] = {
    ROW(x, .when = ALWAYS), ROW(mean, CHANNELS), ROW(var, CHANNELS, .fill = ISO__FILL_POSITIVE),
    ROW(gamma, CHANNELS),   ROW(beta, CHANNELS), ROW(residual, .when = IF_RESIDUAL),
    ROW(y, .output = true), {.name = NULL}};
static const row bwd_reduce_rows[] = {ROW(x, .when = ALWAYS),
                                      ROW(mean, CHANNELS),
                                      ROW(var, CHANNELS, .fill = ISO__FILL_POSITIVE),
                                      ROW(dy, .when = ALWAYS),
                                      ROW(y_saved, .when = IF_SAVED),
                                      ROW(gamma, CHANNELS, .when = IF_RECOMPUTED),
                                      ROW(beta, CHANNELS, .when = IF_RECOMPUTED),
                                      ROW(dgamma, CHANNELS, .output = true),
                                      ROW(dbeta, CHANNELS, .output = true),
                                      ROW(dz, .output = true, .when = IF_RESIDUAL),
                                      {.name = NULL}};
static const row bwd_data_rows[] = {ROW(x, .when = IF_TRAINING),
                                    ROW(mean, CHANNELS, .when = IF_TRAINING),
                                    ROW(var, CHANNELS, .fill = ISO__FILL_POSITIVE),
                                    ROW(gamma, CHANNELS),
                                    ROW(dy, .when = ALWAYS),
                                    ROW(y_saved, .when = IF_SAVED),
                                    ROW(beta, CHANNELS, .when = IF_RECOMPUTED),
                                    ROW(dgamma, CHANNELS, .when = IF_TRAINING),
                                    ROW(dbeta, CHANNELS, .when = IF_TRAINING),
                                    ROW(dx, .output = true),
                                    {.name = NULL}};

static const row *rows_of(const iso__problem *problem) {
  switch (problem->op) {
  case ISO__OP_BATCH_NORM_STATS: return stats_rows;
  case ISO__OP_BATCH_NORM_FWD: return fwd_rows;
  case ISO__OP_BATCH_NORM_BWD_REDUCE: return bwd_reduce_rows;
  default: return bwd_data_rows;
  }
}

static int norm_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_batch_norm_problem *p = (const iso_batch_norm_problem *)problem;
  const bool holds[] = {[ALWAYS] = true,
                        [IF_SAVED] = p->activation && !p->recomputes,
                        [IF_RECOMPUTED] = p->recomputes,
                        [IF_RESIDUAL] = p->has_residual,
                        [IF_TRAINING] = p->training};
  int n = 0;
  for (const row *r = rows_of(problem); r->name; r++)
    if (holds[r->when])
      operands[n++] = (iso__operand){.name = r->name,
                                     .offset = r->offset,
                                     .dtype = (iso_dtype)problem->dtype,
                                     .n = r->per_channel ? p->c : p->rows * p->c,
                                     .input = !r->output,
                                     .output = r->output,
                                     .fill = r->fill};
  return n;
}

static void norm_scalars(const iso__problem *problem, void *args) {
  (void)problem;
  ((iso_batch_norm_args *)args)->eps = 1e-5;
}

static const char *norm_class(const iso__problem *problem, const iso_policy *policy) {
  (void)policy;
  return problem->op == ISO__OP_BATCH_NORM_STATS        ? "moments"
         : problem->op == ISO__OP_BATCH_NORM_BWD_REDUCE ? "ordered"
                                                        : "map";
}

static double norm_flops(const iso__problem *problem) {
  const iso_batch_norm_problem *p = (const iso_batch_norm_problem *)problem;
  return 4.0 * (double)p->rows * (double)p->c;
}
/* ---- workspace and cost ---- */
static size_t n_chunks(const iso_batch_norm_problem *p) { return ((size_t)p->rows + ISO__CHUNK - 1) / ISO__CHUNK; }

/* Every chunk's sum and squared deviation, (chunk, channel): 1/128 of the input. */
size_t iso__norm_stats_workspace(const iso__problem *problem, int n_threads) {
  const iso_batch_norm_problem *p = (const iso_batch_norm_problem *)problem;
  (void)n_threads;
  return 2 * n_chunks(p) * (size_t)p->c * sizeof(float);
}
/* One wave's sums for dγ and dβ; a single thread folds as it goes. */
size_t iso__norm_bwd_workspace(const iso__problem *problem, int n_threads) {
  const iso_batch_norm_problem *p = (const iso_batch_norm_problem *)problem;
  const size_t wave = n_chunks(p) < NORM_WAVE ? n_chunks(p) : NORM_WAVE;
  return n_threads == 1 ? 0 : 2 * wave * (size_t)p->c * sizeof(float);
}

static double cost(const iso__problem *problem, int n_threads, double bytes_per_ns) {
  const double bytes = iso__operands_bytes(problem);
  const bool shared = n_threads > 1 && bytes > 262144;
  return 150 + (shared ? 3000 : 0) + bytes / bytes_per_ns / (shared ? n_threads : 1);
}
double iso__norm_cost_avx2(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 11); }
double iso__norm_cost_avx512(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 13); }
/* Reads the input twice. */
double iso__norm_cost_twice_avx2(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 6); }
double iso__norm_cost_twice_avx512(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 7); }

/* The bound is wide because x − mean and a residual may cancel, which absolute inputs don't show. */
#define NORM_OPERATOR(id)                                                                                              \
  const iso__operator iso__operator_##id = {.op = ISO__OP_##id,                                                        \
                                            .family = "norm",                                                          \
                                            .problem_bytes = sizeof(iso_batch_norm_problem),                           \
                                            .args_bytes = sizeof(iso_batch_norm_args),                                 \
                                            .format = norm_format,                                                     \
                                            .parse = norm_parse,                                                       \
                                            .operands = norm_operands,                                                 \
                                            .scalars = norm_scalars,                                                   \
                                            .class_rule = norm_class,                                                  \
                                            .flops = norm_flops,                                                       \
                                            .bytes = iso__operands_bytes,                                              \
                                            .error_bound = 1e-4}
NORM_OPERATOR(BATCH_NORM_STATS);
NORM_OPERATOR(BATCH_NORM_FWD);
NORM_OPERATOR(BATCH_NORM_BWD_REDUCE);
NORM_OPERATOR(BATCH_NORM_BWD_DATA);
