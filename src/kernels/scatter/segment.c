/* segment.c: the operator `segment`: text, operands, classes, costs. */
#include "kernels/fields.h"
#include "kernels/scatter/scatter.h"

static const char *const function_names[] = {
#define ISO__SCATTER_NAME(id, name) name,
    ISO__SCATTER_LIST(ISO__SCATTER_NAME)
#undef ISO__SCATTER_NAME
        NULL};

#define EXTENT(name)                                                                                                   \
  { .key = #name, ISO__FIELD(iso_segment_problem, name, .implied = -1) }
#define FLAG(key_, member)                                                                                             \
  { .key = key_, ISO__FIELD(iso_segment_problem, member, .most = 1) }
static const iso__field fields[] = {{.key = "fn", ISO__FIELD(iso_segment_problem, fn, .names = function_names)},
                                    EXTENT(segments),
                                    EXTENT(n),
                                    EXTENT(inner),
                                    EXTENT(rows),
                                    {.key = "skip", ISO__FIELD(iso_segment_problem, skip)},
                                    FLAG("index", has_index),
                                    FLAG("scale", has_scale),
                                    FLAG("at", has_at),
                                    FLAG("empty_zero", empty_zero),
                                    {.key = "each", ISO__FIELD(iso_segment_problem, each)},
                                    FLAG("count", has_count),
                                    {.key = NULL}};

static int segment_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields, problem, text, n_bytes);
}
static bool is_extremum(const iso__problem *problem) {
  return iso__scatter_is_extremum(((const iso_segment_problem *)problem)->fn);
}
static const char *segment_parse(iso__problem *problem, const char *key, const char *value) {
  const iso_segment_problem *p = (const iso_segment_problem *)problem;
  const char *wrong = iso__fields_parse(fields, problem, key, value);
  if (key || wrong) return wrong;
  if (!iso__extents_fit(p->segments + 1, p->inner, 1) || !iso__extents_fit(p->rows, p->inner, 1) ||
      !iso__extents_fit(p->n, p->inner, 1))
    return "the extents hold too many elements";
  if (p->fn == ISO__SCATTER_SET) return "segments are combined, not set";
  if (p->rows == 0 && p->n > 0) return "there are no rows to list";
  if (!p->has_index && p->rows < p->n) return "without an index every listed row is a row of x";
  if (p->has_scale && p->fn != ISO__SCATTER_ADD) return "scale is for sums";
  if (p->has_at && !is_extremum(problem)) return "positions are of extrema";
  if (p->has_count && p->fn != ISO__SCATTER_MEAN) return "counts are of means";
  if (p->each && p->segments * p->each != p->n) return "n is not segments·each";
  if (p->fn == ISO__SCATTER_MEAN && !iso_dtype_is_float((iso_dtype)problem->dtype)) return "means are of floats";
  return NULL;
}

static int segment_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_segment_problem *p = (const iso_segment_problem *)problem;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  int n = 0;
#define OPERAND(member, dtype_, n_, ...)                                                                               \
  operands[n++] = (iso__operand){                                                                                      \
      .name = #member, .offset = offsetof(iso_segment_args, member), .dtype = dtype_, .n = n_, __VA_ARGS__}
  OPERAND(x, dtype, p->rows * p->inner, .input = true);
  if (!p->each) OPERAND(offsets, ISO_I64, p->segments + 1, .input = true, .fill = ISO__FILL_INDEX, .limit = p->n + 1);
  if (p->has_index) OPERAND(index, ISO_I64, p->n, .input = true, .fill = ISO__FILL_INDEX, .limit = p->rows);
  if (p->has_scale) OPERAND(scale, dtype, p->n, .input = true);
  OPERAND(y, dtype, p->segments * p->inner, .output = true);
  if (p->has_at) OPERAND(at, ISO_I64, p->segments * p->inner, .output = true);
  if (p->has_count) OPERAND(count, dtype, p->segments, .output = true);
  return n;
}

static const char *segment_class(const iso__problem *problem, const iso_policy *policy) {
  (void)policy;
  return is_extremum(problem) ? "extremum" : "ordered";
}
static double segment_flops(const iso__problem *problem) {
  const iso_segment_problem *p = (const iso_segment_problem *)problem;
  return (double)p->n * (double)p->inner;
}

const char *iso__segment_is_sum(const iso__problem *problem) {
  return is_extremum(problem) ? "computes sums, means and products" : NULL;
}
const char *iso__segment_is_choice(const iso__problem *problem) {
  return is_extremum(problem) ? NULL : "computes extrema";
}

static double cost(const iso__problem *problem, int n_threads, double lanes) {
  const iso_segment_problem *p = (const iso_segment_problem *)problem;
  const double ns = segment_flops(problem) * (0.3 + 2 / lanes) * (p->has_at ? 4 : 1) + (double)p->segments * 10;
  return 200 + (n_threads > 1 && ns > 8000 ? 3000 + ns / n_threads : ns);
}
double iso__segment_cost(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 2); }
double iso__segment_cost_avx2(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 8); }
double iso__segment_cost_avx512(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 16); }

const iso__operator iso__operator_SEGMENT = {.op = ISO__OP_SEGMENT,
                                             .family = "scatter",
                                             .problem_bytes = sizeof(iso_segment_problem),
                                             .args_bytes = sizeof(iso_segment_args),
                                             .format = segment_format,
                                             .parse = segment_parse,
                                             .operands = segment_operands,
                                             .class_rule = segment_class,
                                             .flops = segment_flops,
                                             .bytes = iso__operands_bytes,
                                             .error_bound = 2e-5};
