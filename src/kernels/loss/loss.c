/* loss.c: the operators `cross_entropy.fwd` and `cross_entropy.bwd`: text, operands, class, cost. */
#include "kernels/loss/loss.h"
#include "kernels/fields.h"

static const iso__field fields[] = {{.key = "rows", ISO__FIELD(iso_cross_entropy_problem, rows, .implied = -1)},
                                    {.key = "n", ISO__FIELD(iso_cross_entropy_problem, n, .least = 1, .implied = -1)},
                                    {.key = "weights", ISO__FIELD(iso_cross_entropy_problem, has_weights, .most = 1)},
                                    {.key = "ignores", ISO__FIELD(iso_cross_entropy_problem, ignores, .most = 1)},
                                    {.key = "row_scale", ISO__FIELD(iso_cross_entropy_problem, row_scale, .most = 1)},
                                    {.key = NULL}};

static int loss_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields, problem, text, n_bytes);
}
static const char *loss_parse(iso__problem *problem, const char *key, const char *value) {
  const iso_cross_entropy_problem *p = (const iso_cross_entropy_problem *)problem;
  const char *wrong = iso__fields_parse(fields, problem, key, value);
  if (key || wrong) return wrong;
  return iso__extents_fit(p->rows, p->n, 1) ? NULL : "the extents hold too many elements";
}

static int loss_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_cross_entropy_problem *p = (const iso_cross_entropy_problem *)problem;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  const int64_t all = p->rows * p->n;
  int n = 0;
#define OPERAND(member, dtype_, n_, ...)                                                                               \
  operands[n++] = (iso__operand){                                                                                      \
      .name = #member, .offset = offsetof(iso_cross_entropy_args, member), .dtype = dtype_, .n = n_, __VA_ARGS__}
  OPERAND(target, ISO_I64, p->rows, .input = true, .fill = ISO__FILL_INDEX, .limit = p->n + p->ignores);
  if (p->has_weights) OPERAND(weights, dtype, p->n, .input = true, .fill = ISO__FILL_POSITIVE);
  if (problem->op == ISO__OP_CROSS_ENTROPY_FWD) {
    OPERAND(x, dtype, all, .input = true);
    OPERAND(y, dtype, all, .output = true);
    OPERAND(row_loss, dtype, p->rows, .output = true);
  } else {
    OPERAND(y_saved, dtype, all, .input = true);
    OPERAND(scale, dtype, p->row_scale ? p->rows : 1, .input = true, .fill = ISO__FILL_POSITIVE);
    OPERAND(dx, dtype, all, .output = true);
  }
  return n;
}

static const char *loss_class(const iso__problem *problem, const iso_policy *policy) {
  (void)problem, (void)policy;
  return "lanes";
}
static double loss_flops(const iso__problem *problem) {
  const iso_cross_entropy_problem *p = (const iso_cross_entropy_problem *)problem;
  return 4.0 * (double)p->rows * (double)p->n;
}
static double loss_bytes(const iso__problem *problem) {
  const iso_cross_entropy_problem *p = (const iso_cross_entropy_problem *)problem;
  return (double)p->rows * (2 * (double)p->n * (double)iso_dtype_size((iso_dtype)problem->dtype) + 12);
}
/* A log-softmax takes its whole row's sum. */
static double loss_element_flops(const iso__problem *problem) {
  const iso_cross_entropy_problem *p = (const iso_cross_entropy_problem *)problem;
  return problem->op == ISO__OP_CROSS_ENTROPY_FWD ? 3.0 * (double)p->n : 4;
}

static double cost(const iso__problem *problem, int n_threads, double ns_per_element) {
  const double n = loss_flops(problem) / 4;
  const bool shared = n_threads > 1 && n > 16384;
  return 100 + (shared ? 3000 : 0) + (n * ns_per_element + loss_bytes(problem) / 14) / (shared ? n_threads : 1);
}
double iso__loss_cost_avx2(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 1); }
double iso__loss_cost_avx512(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 0.5); }

#define LOSS_OPERATOR(id)                                                                                              \
  const iso__operator iso__operator_##id = {.op = ISO__OP_##id,                                                        \
                                            .family = "loss",                                                          \
                                            .problem_bytes = sizeof(iso_cross_entropy_problem),                        \
                                            .args_bytes = sizeof(iso_cross_entropy_args),                              \
                                            .format = loss_format,                                                     \
                                            .parse = loss_parse,                                                       \
                                            .operands = loss_operands,                                                 \
                                            .class_rule = loss_class,                                                  \
                                            .flops = loss_flops,                                                       \
                                            .bytes = loss_bytes,                                                       \
                                            .element_flops = loss_element_flops,                                       \
                                            .error_bound = 2e-5}
LOSS_OPERATOR(CROSS_ENTROPY_FWD);
LOSS_OPERATOR(CROSS_ENTROPY_BWD);
