/* softmax.c: the operators `softmax.fwd` and `softmax.bwd`: text, operands, class, cost. */
#include "kernels/softmax/softmax.h"
#include "kernels/fields.h"

static const iso__field fields[] = {{.key = "rows", ISO__FIELD(iso_softmax_problem, rows, .implied = -1)},
                                    {.key = "n", ISO__FIELD(iso_softmax_problem, n, .implied = -1)},
                                    {.key = "log", ISO__FIELD(iso_softmax_problem, log, .most = 1)},
                                    {.key = NULL}};

static int softmax_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields, problem, text, n_bytes);
}
static const char *softmax_parse(iso__problem *problem, const char *key, const char *value) {
  const iso_softmax_problem *p = (const iso_softmax_problem *)problem;
  const char *wrong = iso__fields_parse(fields, problem, key, value);
  if (key || wrong) return wrong;
  return iso__extents_fit(p->rows, p->n, 1) ? NULL : "the extents hold too many elements";
}

static int softmax_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_softmax_problem *p = (const iso_softmax_problem *)problem;
  const iso__operand all = {.dtype = (iso_dtype)problem->dtype, .n = p->rows * p->n};
  int n = 0;
#define OPERAND(name_, member, is_output)                                                                              \
  (operands[n] = all, operands[n].name = name_, operands[n].offset = offsetof(iso_softmax_args, member),               \
   operands[n].input = !is_output, operands[n++].output = is_output)
  if (problem->op == ISO__OP_SOFTMAX_FWD) {
    OPERAND("x", x, false), OPERAND("y", y, true);
  } else {
    OPERAND("y", y_saved, false), OPERAND("dy", dy, false), OPERAND("dx", dx, true);
  }
  return n;
}

static const char *softmax_class(const iso__problem *problem, const iso_policy *policy) {
  (void)problem, (void)policy;
  return "lanes";
}
static double softmax_flops(const iso__problem *problem) {
  const iso_softmax_problem *p = (const iso_softmax_problem *)problem;
  return 4.0 * (double)p->rows * (double)p->n;
}
static double softmax_bytes(const iso__problem *problem) {
  const iso_softmax_problem *p = (const iso_softmax_problem *)problem;
  const int arrays = problem->op == ISO__OP_SOFTMAX_FWD ? 2 : 3;
  return arrays * (double)p->rows * (double)p->n * (double)iso_dtype_size((iso_dtype)problem->dtype);
}
/* An element's sum is its whole row's. */
static double softmax_element_flops(const iso__problem *problem) {
  return 3.0 * (double)((const iso_softmax_problem *)problem)->n;
}

static double cost(const iso__problem *problem, int n_threads, double ns_per_element) {
  const double n = softmax_flops(problem) / 4;
  const bool shared = n_threads > 1 && n > 16384;
  return 100 + (shared ? 3000 : 0) + (n * ns_per_element + softmax_bytes(problem) / 14) / (shared ? n_threads : 1);
}
double iso__softmax_cost_avx2(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 1); }
double iso__softmax_cost_avx512(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 0.5); }

#define SOFTMAX_OPERATOR(id)                                                                                           \
  const iso__operator iso__operator_##id = {.op = ISO__OP_##id,                                                        \
                                            .family = "softmax",                                                       \
                                            .problem_bytes = sizeof(iso_softmax_problem),                              \
                                            .args_bytes = sizeof(iso_softmax_args),                                    \
                                            .format = softmax_format,                                                  \
                                            .parse = softmax_parse,                                                    \
                                            .operands = softmax_operands,                                              \
                                            .class_rule = softmax_class,                                               \
                                            .flops = softmax_flops,                                                    \
                                            .bytes = softmax_bytes,                                                    \
                                            .element_flops = softmax_element_flops,                                    \
                                            .error_bound = 2e-5}
SOFTMAX_OPERATOR(SOFTMAX_FWD);
SOFTMAX_OPERATOR(SOFTMAX_BWD);
