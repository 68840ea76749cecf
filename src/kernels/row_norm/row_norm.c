/* row_norm.c: the three operators of row normalisation: text, operands, classes, workspace, cost. */
#include "kernels/row_norm/row_norm.h"
#include "kernels/fields.h"
#include "numeric/order.h"

#define EXTENT(key_, member, ...)                                                                                      \
  { .key = key_, ISO__FIELD(iso_row_norm_problem, member, __VA_ARGS__) }
static const iso__field fields[] = {
    EXTENT("n", samples, .implied = -1),  EXTENT("p", positions, .implied = 1, .least = 1),
    EXTENT("c", channels, .implied = -1), EXTENT("g", groups, .implied = 1, .least = 1),
    EXTENT("rms", rms, .most = 1),        EXTENT("gamma", has_gamma, .most = 1),
    EXTENT("beta", has_beta, .most = 1),  {.key = NULL}};

static const iso_row_norm_problem *row_norm_of(const iso__problem *problem) {
  return (const iso_row_norm_problem *)problem;
}

static int row_norm_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields, problem, text, n_bytes);
}
static const char *row_norm_parse(iso__problem *problem, const char *key, const char *value) {
  const iso_row_norm_problem *p = row_norm_of(problem);
  const char *wrong = iso__fields_parse(fields, problem, key, value);
  if (key || wrong) return wrong;
  if (p->channels % p->groups) return "g must divide the channels c";
  if (problem->op == ISO__OP_ROW_NORM_BWD && (p->positions != 1 || p->groups != 1 || !p->has_gamma))
    return "needs p1, g1 and gamma1";
  return iso__extents_fit(p->samples, p->positions, p->channels) ? NULL : "the extents hold too many elements";
}

/* ---- operands ---- */

typedef struct operand_list {
  const iso_row_norm_problem *p;
  iso__operand *operands;
  int n;
} operand_list;
static void add(operand_list *l, const char *name, size_t offset, int64_t n, bool output) {
  l->operands[l->n++] = (iso__operand){
      .name = name, .offset = offset, .dtype = (iso_dtype)l->p->head.dtype, .n = n, .input = !output, .output = output};
}
#define ADD(member, n, output) add(&l, #member, offsetof(iso_row_norm_args, member), n, output)

static int row_norm_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_row_norm_problem *p = row_norm_of(problem);
  operand_list l = {.p = p, .operands = operands};
  const int64_t all = p->samples * p->positions * p->channels, rows = p->samples * p->groups;
  const bool is_fwd = problem->op == ISO__OP_ROW_NORM_FWD;
  ADD(x, all, false);
  if (is_fwd) {
    if (p->has_gamma) ADD(gamma, p->channels, false);
    if (p->has_beta) ADD(beta, p->channels, false);
    ADD(y, all, true);
  }
  if (!p->rms) ADD(mean, rows, is_fwd);
  ADD(rstd, rows, is_fwd);
  if (!is_fwd) {
    operands[l.n - 1].fill = ISO__FILL_POSITIVE;
    ADD(dy, all, false);
  }
  if (problem->op == ISO__OP_ROW_NORM_BWD) {
    ADD(gamma, p->channels, false);
    ADD(dx, all, true);
    ADD(dgamma, p->channels, true);
    if (p->has_beta) ADD(dbeta, p->channels, true);
  } else if (problem->op == ISO__OP_ROW_NORM_BWD_DATA) {
    if (p->has_gamma) ADD(gamma, p->channels, false);
    ADD(dx, all, true);
  } else if (!is_fwd) {
    if (p->has_gamma) ADD(dgamma, p->channels, true);
    if (p->has_beta) ADD(dbeta, p->channels, true);
  }
  return l.n;
}

static void row_norm_scalars(const iso__problem *problem, void *args) {
  (void)problem;
  ((iso_row_norm_args *)args)->eps = 1e-5;
}

static const char *row_norm_class(const iso__problem *problem, const iso_policy *policy) {
  (void)policy;
  return problem->op == ISO__OP_ROW_NORM_BWD_WEIGHTS ? "ordered" : "lanes";
}
static double row_norm_flops(const iso__problem *problem) {
  const iso_row_norm_problem *p = row_norm_of(problem);
  return 8.0 * (double)(p->samples * p->positions * p->channels);
}
/* A reference sums its group for each element anew; of a weight's gradient, all rows. */
static double row_norm_element_flops(const iso__problem *problem) {
  const iso_row_norm_problem *p = row_norm_of(problem);
  const bool of_weights = problem->op == ISO__OP_ROW_NORM_BWD_WEIGHTS;
  return of_weights ? 8.0 * (double)(p->samples * p->positions) : (double)iso__row_norm_n(p) + 8;
}

/* ---- workspace and cost ---- */

/* A thread's row of x, dy, γ, β and result, where they do not lie side by side. */
size_t iso__row_norm_workspace(const iso__problem *problem, int n_threads) {
  const iso_row_norm_problem *p = row_norm_of(problem);
  if (p->positions == 1) return 0;
  return (size_t)n_threads * 5 * (((size_t)iso__row_norm_n(p) * sizeof(float) + 63) & ~(size_t)63);
}

/* A wave of chunks' sums of dγ and dβ. */
size_t iso__row_norm_bwd_workspace(const iso__problem *problem, int n_threads) {
  const iso_row_norm_problem *p = row_norm_of(problem);
  const int64_t chunks = (p->samples + ISO__CHUNK - 1) / ISO__CHUNK;
  (void)n_threads;
  return (size_t)(2 * p->channels * (chunks < ISO__ROW_NORM_WAVE ? chunks : ISO__ROW_NORM_WAVE)) * sizeof(float);
}

/* Rows that lie apart are gathered and scattered at a few bytes a ns. */
static double cost(const iso__problem *problem, int n_threads, double bytes_per_ns) {
  const bool gathers = !iso__row_norm_is_dense(row_norm_of(problem)) && problem->op != ISO__OP_ROW_NORM_BWD_WEIGHTS;
  const double bytes = iso__operands_bytes(problem) * (gathers ? 6 : 1);
  const bool shared = n_threads > 1 && bytes > 262144;
  return 150 + (shared ? 3000 : 0) + bytes / bytes_per_ns / (shared ? n_threads : 1);
}
static double groups_cost(const iso__problem *problem, int n_threads, double bytes_per_ns) {
  const iso_row_norm_problem *p = row_norm_of(problem);
  const double bytes = iso__operands_bytes(problem), trees = (double)(p->samples * p->groups) * 60;
  const bool shared = n_threads > 1 && bytes > 262144;
  return 150 + (shared ? 3000 : 0) + (trees + bytes / bytes_per_ns) / (shared ? n_threads : 1);
}
double iso__row_norm_groups_cost_avx2(const iso__problem *problem, int n_threads) {
  return groups_cost(problem, n_threads, 9);
}
double iso__row_norm_groups_cost_avx512(const iso__problem *problem, int n_threads) {
  return groups_cost(problem, n_threads, 11);
}
const char *iso__row_norm_groups_applicable(const iso__problem *problem) {
  const iso_row_norm_problem *p = row_norm_of(problem);
  if (iso__row_norm_is_dense(p)) return "rows lie side by side";
  if (!p->channels) return "there are no channels";
  return ISO__LANES % (p->channels / p->groups) ? "a group's width does not divide the 64 lanes" : NULL;
}
double iso__row_norm_cost_avx2(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 9); }
double iso__row_norm_cost_avx512(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 11); }

/* The bound is wide because x − mean may cancel, which absolute inputs don't show. */
#define ROW_NORM_OPERATOR(id)                                                                                          \
  const iso__operator iso__operator_##id = {.op = ISO__OP_##id,                                                        \
                                            .family = "row_norm",                                                      \
                                            .problem_bytes = sizeof(iso_row_norm_problem),                             \
                                            .args_bytes = sizeof(iso_row_norm_args),                                   \
                                            .format = row_norm_format,                                                 \
                                            .parse = row_norm_parse,                                                   \
                                            .operands = row_norm_operands,                                             \
                                            .scalars = row_norm_scalars,                                               \
                                            .class_rule = row_norm_class,                                              \
                                            .flops = row_norm_flops,                                                   \
                                            .element_flops = row_norm_element_flops,                                   \
                                            .bytes = iso__operands_bytes,                                              \
                                            .error_bound = 1e-4}
ROW_NORM_OPERATOR(ROW_NORM_FWD);
ROW_NORM_OPERATOR(ROW_NORM_BWD_DATA);
ROW_NORM_OPERATOR(ROW_NORM_BWD_WEIGHTS);
ROW_NORM_OPERATOR(ROW_NORM_BWD);
