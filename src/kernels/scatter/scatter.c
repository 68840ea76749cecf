/* scatter.c: the operator `scatter`: text, operands, classes, costs, and which engine takes which problem. */
#include "kernels/scatter/scatter.h"
#include "kernels/fields.h"
#include "kernels/scatter/engines.h"

static const char *const function_names[] = {
#define ISO__SCATTER_NAME(id, name) name,
    ISO__SCATTER_LIST(ISO__SCATTER_NAME)
#undef ISO__SCATTER_NAME
        NULL};
static const char *const base_names[] = {"none", "excluded", "included", NULL};

#define EXTENT(name)                                                                                                   \
  { .key = #name, ISO__FIELD(iso_scatter_problem, name, .implied = -1) }
static const iso__field fields[] = {{.key = "fn", ISO__FIELD(iso_scatter_problem, fn, .names = function_names)},
                                    {.key = "base", ISO__FIELD(iso_scatter_problem, base, .names = base_names)},
                                    EXTENT(outer),
                                    EXTENT(n),
                                    EXTENT(inner),
                                    EXTENT(extent),
                                    {.key = "sources", ISO__FIELD(iso_scatter_problem, sources)},
                                    {.key = "each", ISO__FIELD(iso_scatter_problem, each, .most = 1)},
                                    {.key = "scale", ISO__FIELD(iso_scatter_problem, has_scale, .most = 1)},
                                    {.key = "run", ISO__FIELD(iso_scatter_problem, run)},
                                    {.key = NULL}};

static int scatter_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields, problem, text, n_bytes);
}
static const char *scatter_parse(iso__problem *problem, const char *key, const char *value) {
  const iso_scatter_problem *p = (const iso_scatter_problem *)problem;
  const char *wrong = iso__fields_parse(fields, problem, key, value);
  if (key || wrong) return wrong;
  if (!iso__extents_fit(p->outer, p->n, p->inner) || !iso__extents_fit(p->outer, p->extent, p->inner) ||
      !iso__extents_fit(p->outer, p->sources, p->inner))
    return "the extents hold too many elements";
  if (p->extent == 0 && p->n > 0) return "there is nowhere to scatter to";
  if (p->each && (p->sources || p->has_scale)) return "sources and scale are for whole rows, not for each element";
  if (p->has_scale && p->fn != ISO__SCATTER_ADD) return "scale is for sums";
  if (p->run && p->sources * p->run != p->n) return "n is not sources·run";
  if (p->fn == ISO__SCATTER_MEAN && !iso_dtype_is_float((iso_dtype)problem->dtype)) return "means are of floats";
  return NULL;
}

static int scatter_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_scatter_problem *p = (const iso_scatter_problem *)problem;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  const int64_t lines = p->outer * p->inner;
  int n = 0;
#define OPERAND(member, dtype_, n_, ...)                                                                               \
  operands[n++] = (iso__operand){                                                                                      \
      .name = #member, .offset = offsetof(iso_scatter_args, member), .dtype = dtype_, .n = n_, __VA_ARGS__}
  OPERAND(x, dtype, lines * (p->sources ? p->sources : p->n), .input = true);
  OPERAND(index, ISO_I64, p->each ? lines * p->n : p->n, .input = true, .fill = ISO__FILL_INDEX, .limit = p->extent);
  if (p->sources && !p->run)
    OPERAND(source, ISO_I64, p->n, .input = true, .fill = ISO__FILL_INDEX, .limit = p->sources);
  if (p->has_scale) OPERAND(scale, dtype, p->n, .input = true);
  if (p->base) OPERAND(base, dtype, lines * p->extent, .input = true);
  OPERAND(y, dtype, lines * p->extent, .output = true);
  return n;
}

static const char *scatter_class(const iso__problem *problem, const iso_policy *policy) {
  const iso_scatter_problem *p = (const iso_scatter_problem *)problem;
  (void)policy;
  return p->fn == ISO__SCATTER_SET ? "last" : iso__scatter_is_extremum(p->fn) ? "extremum" : "ordered";
}
static double arrivals(const iso__problem *problem) {
  const iso_scatter_problem *p = (const iso_scatter_problem *)problem;
  return (double)p->outer * (double)p->n * (double)p->inner;
}
/* What the reference does: every destination looks at every index. */
static double scatter_flops(const iso__problem *problem) {
  return arrivals(problem) * (double)((const iso_scatter_problem *)problem)->extent;
}

/* ---- which rows take what ---- */

const char *iso__scatter_is_sum(const iso__problem *problem) {
  return strcmp(scatter_class(problem, NULL), "ordered") ? "computes sums, means and products" : NULL;
}
const char *iso__scatter_is_choice(const iso__problem *problem) {
  return strcmp(scatter_class(problem, NULL), "extremum") ? "computes extrema" : NULL;
}
const char *iso__scatter_is_set(const iso__problem *problem) {
  const iso_scatter_problem *p = (const iso_scatter_problem *)problem;
  if (p->fn != ISO__SCATTER_SET) return "overwrites";
  return !p->each && p->n >= UINT32_MAX ? "numbers sources in 32 bits" : NULL;
}
static const char *sortable(const iso__problem *problem) {
  const iso_scatter_problem *p = (const iso_scatter_problem *)problem;
  const double lines = p->each ? (double)p->outer * (double)p->inner : 1;
  return lines * (double)p->n >= UINT32_MAX || lines * (double)p->extent >= UINT32_MAX
             ? "numbers sources and destinations in 32 bits"
             : NULL;
}
const char *iso__scatter_sorted_sum(const iso__problem *problem) {
  const char *why = iso__scatter_is_sum(problem);
  return why ? why : sortable(problem);
}
const char *iso__scatter_sorted_choice(const iso__problem *problem) {
  const char *why = iso__scatter_is_choice(problem);
  return why ? why : sortable(problem);
}

/* ---- costs in ns ---- */

/* y is written, and the base read; each of which waits for memory when it is large. */
static double base_cost(const iso__problem *problem) {
  const iso_scatter_problem *p = (const iso_scatter_problem *)problem;
  const double bytes = (double)p->outer * (double)p->extent * (double)p->inner *
                       (double)iso_dtype_size((iso_dtype)problem->dtype) * (p->base ? 2 : 1);
  return bytes / 12;
}
static double shared(double ns, int n_threads) { return n_threads > 1 && ns > 8000 ? 3000 + ns / n_threads : ns; }

static double direct_cost(const iso__problem *problem, int n_threads, double lanes) {
  const iso_scatter_problem *p = (const iso_scatter_problem *)problem;
  const iso__scatter_blocks b = iso__scatter_blocks_of(p, n_threads);
  const double scans = (double)p->outer * (double)b.n_rows * (double)b.n_columns * (double)p->n;
  const double taken = arrivals(problem);
  const double look = b.n_rows == 1 ? 0.2 : 0.7;
  const double take = iso__scatter_is_plain_column(p) ? 1.1
                      : p->each                       ? 1.5
                      : p->inner == 1                 ? 1.3 + 2 / lanes
                                                      : 0.3 + 2 / lanes;
  const double work = scans * (p->each ? (double)b.columns : 1) * look + taken * take;
  const int threads = (int)iso__min(n_threads, p->outer * b.n_rows * b.n_columns);
  return 300 + shared(work + base_cost(problem), threads);
}
double iso__scatter_direct_cost(const iso__problem *problem, int n_threads) {
  return direct_cost(problem, n_threads, 2);
}
double iso__scatter_direct_cost_avx2(const iso__problem *problem, int n_threads) {
  return direct_cost(problem, n_threads, 8);
}
double iso__scatter_direct_cost_avx512(const iso__problem *problem, int n_threads) {
  return direct_cost(problem, n_threads, 16);
}

static double sorted_cost(const iso__problem *problem, int n_threads, double lanes) {
  const iso_scatter_problem *p = (const iso_scatter_problem *)problem;
  const double lines = p->each ? (double)p->outer * (double)p->inner : 1;
  const double items = lines * (double)p->n, slots = lines * (double)p->extent;
  const double sort = items * (slots > 65536 ? 6 : 2.5) + slots * 0.7;
  const double rows = arrivals(problem) * (0.3 + 2 / lanes) + items * 4 + slots * 3;
  return 400 + sort + shared(rows + base_cost(problem), n_threads);
}
double iso__scatter_sorted_cost(const iso__problem *problem, int n_threads) {
  return sorted_cost(problem, n_threads, 2);
}
double iso__scatter_sorted_cost_avx2(const iso__problem *problem, int n_threads) {
  return sorted_cost(problem, n_threads, 8);
}
double iso__scatter_sorted_cost_avx512(const iso__problem *problem, int n_threads) {
  return sorted_cost(problem, n_threads, 16);
}

double iso__scatter_last_cost(const iso__problem *problem, int n_threads) {
  return 300 + shared(base_cost(problem) + arrivals(problem), n_threads);
}

const iso__operator iso__operator_SCATTER = {.op = ISO__OP_SCATTER,
                                             .family = "scatter",
                                             .problem_bytes = sizeof(iso_scatter_problem),
                                             .args_bytes = sizeof(iso_scatter_args),
                                             .format = scatter_format,
                                             .parse = scatter_parse,
                                             .operands = scatter_operands,
                                             .class_rule = scatter_class,
                                             .flops = scatter_flops,
                                             .bytes = iso__operands_bytes,
                                             .error_bound = 2e-5};
