/* nms.c: the operator `nms`: text, operands, class, cost. */
#include "kernels/nms/nms.h"
#include "kernels/fields.h"

static const iso__field fields[] = {{.key = "n", ISO__FIELD(iso_nms_problem, n, .implied = -1)},
                                    {.key = "grouped", ISO__FIELD(iso_nms_problem, grouped, .most = 1)},
                                    {.key = NULL}};

static int nms_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields, problem, text, n_bytes);
}
static const char *nms_parse(iso__problem *problem, const char *key, const char *value) {
  const iso_nms_problem *p = (const iso_nms_problem *)problem;
  const char *wrong = iso__fields_parse(fields, problem, key, value);
  if (key || wrong) return wrong;
  return iso__extents_fit(p->n, 4, 1) ? NULL : "there are too many boxes";
}

static int nms_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_nms_problem *p = (const iso_nms_problem *)problem;
  int n = 0;
  operands[n++] = (iso__operand){.name = "boxes",
                                 .offset = offsetof(iso_nms_args, boxes),
                                 .dtype = (iso_dtype)problem->dtype,
                                 .n = 4 * p->n,
                                 .input = true};
  if (p->grouped)
    operands[n++] = (iso__operand){.name = "group",
                                   .offset = offsetof(iso_nms_args, group),
                                   .dtype = ISO_I64,
                                   .n = p->n,
                                   .input = true,
                                   .fill = ISO__FILL_INDEX,
                                   .limit = 2};
  operands[n++] = (iso__operand){
      .name = "keep", .offset = offsetof(iso_nms_args, keep), .dtype = ISO_BOOL, .n = p->n, .output = true};
  return n;
}

static void nms_scalars(const iso__problem *problem, void *args) {
  (void)problem;
  ((iso_nms_args *)args)->threshold = 0.3;
}
static const char *nms_class(const iso__problem *problem, const iso_policy *policy) {
  (void)problem, (void)policy;
  return "greedy";
}
static double nms_flops(const iso__problem *problem) {
  const double n = (double)((const iso_nms_problem *)problem)->n;
  return 12 * n * n / 2;
}

/* The rows of 4 become 5 arrays, with the areas; a word a box says that it is suppressed. */
size_t iso__nms_workspace(const iso__problem *problem, int n_threads) {
  (void)n_threads;
  return (5 * sizeof(float) + sizeof(uint32_t)) * (size_t)((const iso_nms_problem *)problem)->n;
}
double iso__nms_cost_avx2(const iso__problem *problem, int n_threads) {
  (void)n_threads;
  return 200 + nms_flops(problem) * 0.1;
}
double iso__nms_cost_avx512(const iso__problem *problem, int n_threads) {
  (void)n_threads;
  return 200 + nms_flops(problem) * 0.06;
}

const iso__operator iso__operator_NMS = {.op = ISO__OP_NMS,
                                         .family = "nms",
                                         .problem_bytes = sizeof(iso_nms_problem),
                                         .args_bytes = sizeof(iso_nms_args),
                                         .format = nms_format,
                                         .parse = nms_parse,
                                         .operands = nms_operands,
                                         .scalars = nms_scalars,
                                         .class_rule = nms_class,
                                         .flops = nms_flops,
                                         .bytes = iso__operands_bytes};
