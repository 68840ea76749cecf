/* scan.c: the operator `scan`: text, operands, class, cost. */
#include "kernels/scan/scan.h"
#include "kernels/fields.h"

static const char *const function_names[] = {"sum", "prod", "logsumexp", "max", "min", NULL};
static const iso__field fields[] = {{.key = "fn", ISO__FIELD(iso_scan_problem, fn, .names = function_names)},
                                    {.key = "outer", ISO__FIELD(iso_scan_problem, outer, .implied = -1)},
                                    {.key = "n", ISO__FIELD(iso_scan_problem, n, .implied = -1)},
                                    {.key = "inner", ISO__FIELD(iso_scan_problem, inner, .implied = -1)},
                                    {.key = "reverse", ISO__FIELD(iso_scan_problem, reverse, .most = 1)},
                                    {.key = NULL}};

static int scan_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields, problem, text, n_bytes);
}
static const char *scan_parse(iso__problem *problem, const char *key, const char *value) {
  const iso_scan_problem *p = (const iso_scan_problem *)problem;
  const char *wrong = iso__fields_parse(fields, problem, key, value);
  if (key || wrong) return wrong;
  if (p->fn == ISO__SCAN_LOGSUMEXP && problem->dtype >= ISO_I64) return "log-sum-exps are of floats";
  return iso__extents_fit(p->outer, p->n, p->inner) ? NULL : "the extents hold too many elements";
}

static int scan_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_scan_problem *p = (const iso_scan_problem *)problem;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  const int64_t n = p->outer * p->n * p->inner;
  operands[0] =
      (iso__operand){.name = "x", .offset = offsetof(iso_scan_args, x), .dtype = dtype, .n = n, .input = true};
  if (dtype >= ISO_I64) operands[0].fill = ISO__FILL_INDEX, operands[0].limit = dtype == ISO_BOOL ? 2 : 200;
  operands[1] = (iso__operand){.name = "y",
                               .offset = offsetof(iso_scan_args, y),
                               .dtype = iso__scan_result(p->fn, dtype),
                               .n = n,
                               .output = true};
  operands[2] = (iso__operand){
      .name = "index", .offset = offsetof(iso_scan_args, index), .dtype = ISO_I64, .n = n, .output = true};
  return iso__scan_is_extremum(p->fn) ? 3 : 2;
}

static const char *scan_class(const iso__problem *problem, const iso_policy *policy) {
  (void)policy;
  if (iso__scan_is_extremum(((const iso_scan_problem *)problem)->fn)) return "extremum";
  return problem->dtype >= ISO_I64 ? "integer" : "scan";
}

static double scan_flops(const iso__problem *problem) {
  const iso_scan_problem *p = (const iso_scan_problem *)problem;
  return 2.0 * (double)p->outer * (double)p->n * (double)p->inner;
}

static double scan_element_flops(const iso__problem *problem) { return (double)((const iso_scan_problem *)problem)->n; }

/* ---- applicability and cost of the rows in engines.def ---- */
static bool is_class(const iso__problem *problem, char initial) { return *scan_class(problem, NULL) == initial; }
const char *iso__scan_panels(const iso__problem *problem) {
  return is_class(problem, 's') ? NULL : "computes sums, products and log-sum-exps of floats";
}
const char *iso__scan_integers(const iso__problem *problem) {
  return is_class(problem, 'i') ? NULL : "computes sums and products of integers";
}
const char *iso__scan_extrema(const iso__problem *problem) {
  return is_class(problem, 'e') ? NULL : "computes extrema";
}
static double cost(const iso__problem *problem, int n_threads, double element_ns) {
  const iso_scan_problem *p = (const iso_scan_problem *)problem;
  const double elements = (double)p->outer * (double)p->n * (double)p->inner;
  const bool shared = n_threads > 1 && elements > 65536;
  if (p->fn == ISO__SCAN_LOGSUMEXP) element_ns *= 10;
  return 200 + (shared ? 3000 : 0) + elements * element_ns / (shared ? n_threads : 1);
}
double iso__scan_cost_avx2(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 0.4); }
double iso__scan_cost_avx512(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 0.35); }

/* No sum passes through more than 1024 + n/1024 roundings. */
const iso__operator iso__operator_SCAN = {.op = ISO__OP_SCAN,
                                          .family = "scan",
                                          .problem_bytes = sizeof(iso_scan_problem),
                                          .args_bytes = sizeof(iso_scan_args),
                                          .format = scan_format,
                                          .parse = scan_parse,
                                          .operands = scan_operands,
                                          .class_rule = scan_class,
                                          .flops = scan_flops,
                                          .bytes = iso__operands_bytes,
                                          .element_flops = scan_element_flops,
                                          .error_bound = 1100 * 0x1p-24};
