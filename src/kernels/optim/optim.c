/* optim.c: the operators `sgd.step`, `adam.step` and the other optimisers': text, operands, usual scalars, cost. */
#include "kernels/optim/optim.h"
#include "kernels/fields.h"

/* Rows that update one tensor a call. */
const char *iso__optim_takes_one(const iso__problem *problem) {
  return ((const iso_optim_problem *)problem)->n_tensors ? "updates one tensor at a time" : NULL;
}

#define ELEMENTS                                                                                                       \
  {.key = "n", ISO__FIELD(iso_optim_problem, n, .implied = -1)}, {                                                     \
    .key = "tensors", ISO__FIELD(iso_optim_problem, n_tensors, .most = 1 << 20)                                        \
  }
#define FLAG(key_, member)                                                                                             \
  { .key = key_, ISO__FIELD(iso_optim_problem, member, .most = 1) }
static const iso__field sgd_fields[] = {ELEMENTS,
                                        FLAG("momentum", momentum),
                                        FLAG("nesterov", nesterov),
                                        FLAG("first", first_step),
                                        FLAG("decay", weight_decay),
                                        FLAG("scale", has_scale),
                                        {.key = NULL}};
static const iso__field adam_fields[] = {
    ELEMENTS, FLAG("decay", weight_decay), FLAG("decoupled", decoupled), FLAG("scale", has_scale), {.key = NULL}};
static const iso__field radam_fields[] = {ELEMENTS,
                                          FLAG("decay", weight_decay),
                                          FLAG("decoupled", decoupled),
                                          FLAG("rectified", rectified),
                                          FLAG("scale", has_scale),
                                          {.key = NULL}};
static const iso__field rmsprop_fields[] = {ELEMENTS,
                                            FLAG("momentum", momentum),
                                            FLAG("centered", centered),
                                            FLAG("decay", weight_decay),
                                            FLAG("scale", has_scale),
                                            {.key = NULL}};
static const iso__field plain_fields[] = {
    ELEMENTS, FLAG("decay", weight_decay), FLAG("scale", has_scale), {.key = NULL}};
static const iso__field *fields_of(const iso__problem *problem) {
  switch (problem->op) {
  case ISO__OP_SGD_STEP: return sgd_fields;
  case ISO__OP_RMSPROP_STEP: return rmsprop_fields;
  case ISO__OP_RADAM_STEP: return radam_fields;
  case ISO__OP_ADAM_STEP:
  case ISO__OP_NADAM_STEP: return adam_fields;
  default: return plain_fields;
  }
}

static int optim_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields_of(problem), problem, text, n_bytes);
}
static const char *optim_parse(iso__problem *problem, const char *key, const char *value) {
  const iso_optim_problem *p = (const iso_optim_problem *)problem;
  const char *wrong = iso__fields_parse(fields_of(problem), problem, key, value);
  if (key || wrong) return wrong;
  if ((p->nesterov || p->first_step) && !p->momentum) return "nesterov1 and first1 need momentum1";
  return NULL;
}

#define OPERAND(name_, member, n_, ...)                                                                                \
  (iso__operand) { .name = name_, .offset = offsetof(iso_optim_args, member), .dtype = dtype, .n = n_, __VA_ARGS__ }
static int optim_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_optim_problem *p = (const iso_optim_problem *)problem;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  int n = 0;
  operands[n++] = OPERAND("g", g, p->n, .input = true);
  if (p->has_scale) operands[n++] = OPERAND("grad_scale", grad_scale, 1, .input = true, .fill = ISO__FILL_POSITIVE);
  operands[n++] = OPERAND("p", p, p->n, .input = true, .output = true);
  const iso__fill of_squares = problem->op == ISO__OP_SGD_STEP ? ISO__FILL_NORMAL : ISO__FILL_POSITIVE;
  const iso__fill of_u = problem->op == ISO__OP_ADADELTA_STEP ? ISO__FILL_POSITIVE : ISO__FILL_NORMAL;
  if (iso__optim_has(p, ISO__OPTIM_M)) operands[n++] = OPERAND("m", m, p->n, .input = true, .output = true);
  if (iso__optim_has(p, ISO__OPTIM_V))
    operands[n++] = OPERAND("v", v, p->n, .input = !p->first_step, .output = true, .fill = of_squares);
  if (iso__optim_has(p, ISO__OPTIM_U))
    operands[n++] = OPERAND("u", u, p->n, .input = true, .output = true, .fill = of_u);
  return n;
}

static void optim_scalars(const iso__problem *problem, void *args) {
  iso_optim_args *a = args;
  /* A negative rate, so that with positive data every term adds up: the error bound is relative to the sum of |terms|.
   */
  a->lr = -0.1, a->weight_decay = 5e-4, a->momentum = 0.9, a->dampening = 0.1;
  a->b1 = 0.9, a->one_minus_b1 = 1 - 0.9, a->b2 = 0.999, a->one_minus_b2 = 1 - 0.999;
  a->minus_lr_over_bc1 = 1e-3 / (1 - 0.9 * 0.9), a->inv_sqrt_bc2 = 22.366272; /* the second step's */
  a->eps = 1e-8, a->decay = 1 - 1e-3 * 1e-2, a->minus_gradient_rate = 2e-3;
  /* A mean small enough that the variance v − m² keeps most of its digits, as the bound takes for granted. */
  if (problem->op == ISO__OP_RMSPROP_STEP) a->b1 = 0.05, a->one_minus_b1 = 0.03;
}

static const char *optim_class(const iso__problem *problem, const iso_policy *policy) {
  (void)problem, (void)policy;
  return "map";
}
static double optim_flops(const iso__problem *problem) {
  return (problem->op == ISO__OP_SGD_STEP ? 4 : 10) * (double)((const iso_optim_problem *)problem)->n;
}
static double optim_bytes(const iso__problem *problem) {
  iso__operand operands[ISO__MAX_OPERANDS];
  const int n = optim_operands(problem, operands);
  double bytes = 0;
  for (int i = 0; i < n; i++)
    bytes +=
        (double)operands[i].n * (operands[i].input + operands[i].output) * (double)iso_dtype_size(operands[i].dtype);
  return bytes;
}

static double cost(const iso__problem *problem, int n_threads, double bytes_per_ns) {
  const double n = (double)((const iso_optim_problem *)problem)->n;
  const bool shared = n_threads > 1 && n > 32768;
  return 60 + (shared ? 3000 : 0) + optim_bytes(problem) / bytes_per_ns / (shared ? n_threads : 1);
}
double iso__optim_cost_avx2(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 12); }
double iso__optim_cost_avx512(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 14); }

#define OPTIM_OPERATOR(id)                                                                                             \
  const iso__operator iso__operator_##id = {.op = ISO__OP_##id,                                                        \
                                            .family = "optim",                                                         \
                                            .problem_bytes = sizeof(iso_optim_problem),                                \
                                            .args_bytes = sizeof(iso_optim_args),                                      \
                                            .format = optim_format,                                                    \
                                            .parse = optim_parse,                                                      \
                                            .operands = optim_operands,                                                \
                                            .scalars = optim_scalars,                                                  \
                                            .class_rule = optim_class,                                                 \
                                            .flops = optim_flops,                                                      \
                                            .bytes = optim_bytes,                                                      \
                                            .error_bound = 2e-6}
OPTIM_OPERATOR(SGD_STEP);
OPTIM_OPERATOR(ADAM_STEP);
OPTIM_OPERATOR(RMSPROP_STEP);
OPTIM_OPERATOR(ADAGRAD_STEP);
OPTIM_OPERATOR(ADADELTA_STEP);
OPTIM_OPERATOR(ADAMAX_STEP);
OPTIM_OPERATOR(NADAM_STEP);
OPTIM_OPERATOR(RADAM_STEP);
