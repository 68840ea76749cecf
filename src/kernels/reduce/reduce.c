/* reduce.c: the operators `reduce.rows` and `reduce.columns`: text, operands, classes, cost. */
#include "kernels/reduce/reduce.h"
#include "kernels/fields.h"
#include "kernels/reduce/columns.h"

static const char *const function_names[] = {
#define ISO__REDUCE_NAME(id, name) name,
    ISO__REDUCE_LIST(ISO__REDUCE_NAME)
#undef ISO__REDUCE_NAME
        NULL};

#define FN                                                                                                             \
  { .key = "fn", ISO__FIELD(iso_reduce_problem, fn, .names = function_names) }
#define OUTER                                                                                                          \
  { .key = "outer", ISO__FIELD(iso_reduce_problem, outer, .implied = -1) }
#define N                                                                                                              \
  { .key = "n", ISO__FIELD(iso_reduce_problem, n, .implied = -1) }
#define INNER                                                                                                          \
  { .key = "inner", ISO__FIELD(iso_reduce_problem, inner, .implied = -1) }
#define TAIL                                                                                                           \
  { .key = "tail", ISO__FIELD(iso_reduce_problem, tail, .implied = 0) }
static const iso__field row_fields[] = {FN, OUTER, N, {.key = NULL}};
static const iso__field column_fields[] = {FN, OUTER, N, INNER, TAIL, {.key = NULL}};
static const iso__field *fields_of(const iso__problem *problem) {
  return problem->op == ISO__OP_REDUCE_ROWS ? row_fields : column_fields;
}

static int reduce_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields_of(problem), problem, text, n_bytes);
}
static const char *reduce_parse(iso__problem *problem, const char *key, const char *value) {
  iso_reduce_problem *p = (iso_reduce_problem *)problem;
  const char *wrong = iso__fields_parse(fields_of(problem), problem, key, value);
  if (key || wrong) return wrong;
  if (problem->op == ISO__OP_REDUCE_ROWS) p->inner = 1;
  if (!iso__extents_fit(p->outer, p->n, p->inner)) return "the extents hold too many elements";
  const iso__reduce_fn fn = (iso__reduce_fn)p->fn;
  const bool whole = iso__reduce_is_whole((iso_dtype)problem->dtype);
  if (whole &&
      ((iso__reduce_is_sum(fn) && fn != ISO__REDUCE_SUM && fn != ISO__REDUCE_PROD) || iso__reduce_is_magnitude(fn)))
    return "of integers there are sum, prod, max, min, their positions, any, all and count";
  if (p->tail == 1) p->tail = 0;
  if (p->tail && p->n % p->tail) return "the tail doesn't divide n";
  if (p->tail && !iso__reduce_takes_tail(p)) return "only sums and products of floats are cut into tails";
  if (iso__reduce_is_extremum(fn) && p->n == 0 && p->outer && p->inner) return "an extremum of nothing is not defined";
  return NULL;
}

static int reduce_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)problem;
  const iso__reduce_fn fn = (iso__reduce_fn)p->fn;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  const int64_t n_results = p->outer * p->inner;
  operands[0] = (iso__operand){
      .name = "x", .offset = offsetof(iso_reduce_args, x), .dtype = dtype, .n = n_results * p->n, .input = true};
  operands[1] = (iso__operand){.name = "y",
                               .offset = offsetof(iso_reduce_args, y),
                               .dtype = iso__reduce_result(fn, dtype),
                               .n = n_results,
                               .output = true};
  if (iso__reduce_is_whole(dtype)) operands[0].fill = ISO__FILL_INDEX, operands[0].limit = dtype == ISO_BOOL ? 2 : 200;
  operands[2] = operands[1];
  operands[2].dtype = iso__reduce_is_spread(fn) ? dtype : ISO_I64;
  operands[2].name = iso__reduce_is_spread(fn) ? "mean" : "index";
  operands[2].offset = iso__reduce_is_spread(fn) ? offsetof(iso_reduce_args, mean) : offsetof(iso_reduce_args, index);
  return iso__reduce_is_spread(fn) || fn == ISO__REDUCE_MAX_AT || fn == ISO__REDUCE_MIN_AT ? 3 : 2;
}
static void reduce_scalars(const iso__problem *problem, void *args) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)problem;
  ((iso_reduce_args *)args)->divisor = p->n > 1 ? (double)(p->n - 1) : 1;
}

static const char *reduce_class(const iso__problem *problem, const iso_policy *policy) {
  const iso__reduce_fn fn = (iso__reduce_fn)((const iso_reduce_problem *)problem)->fn;
  (void)policy;
  if (iso__reduce_is_extremum(fn)) return "extremum";
  if (iso__reduce_is_truth(fn) || iso__reduce_is_whole((iso_dtype)problem->dtype)) return "integer";
  return problem->op == ISO__OP_REDUCE_ROWS ? "lanes" : "ordered";
}

static double reduce_flops(const iso__problem *problem) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)problem;
  return (double)p->outer * (double)p->n * (double)p->inner;
}
static double reduce_bytes(const iso__problem *problem) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)problem;
  return (double)iso_dtype_size((iso_dtype)problem->dtype) *
         ((double)p->outer * (double)p->n * (double)p->inner + (double)p->outer * (double)p->inner);
}

/* ---- applicability and cost of the rows in engines.def ---- */
static bool is_class(const iso__problem *problem, char initial) { return *reduce_class(problem, NULL) == initial; }
const char *iso__reduce_sums(const iso__problem *problem) {
  return is_class(problem, 'l') || is_class(problem, 'o') ? NULL : "computes sums and products of floats";
}
const char *iso__reduce_integers(const iso__problem *problem) {
  return is_class(problem, 'i') ? NULL : "computes sums of integers, and truths";
}
const char *iso__reduce_extrema(const iso__problem *problem) {
  return is_class(problem, 'e') ? NULL : "computes extrema only";
}
const char *iso__reduce_narrow_extrema(const iso__problem *problem) {
  if (((const iso_reduce_problem *)problem)->n > INT32_MAX) return "counts positions in 32 bits";
  return iso__reduce_extrema(problem);
}

/* Slots for one wave of chunk sums, where columns are too few to be shared out. */
size_t iso__reduce_columns_workspace(const iso__problem *problem, int n_threads) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)problem;
  if (n_threads == 1 || p->outer != 1 || p->inner == 1 || p->tail || p->inner > COLUMN_BLOCK || p->n < 512 ||
      p->fn == ISO__REDUCE_LOGSUMEXP)
    return 0;
  return (size_t)COLUMN_WAVE * (size_t)p->inner * iso_dtype_size((iso_dtype)problem->dtype);
}

static double cost(const iso__problem *problem, int n_threads, double bytes_per_ns) {
  const iso_reduce_problem *p = (const iso_reduce_problem *)problem;
  const double bytes = reduce_bytes(problem);
  const bool shared = n_threads > 1 && bytes > 131072;
  return 100 + 8 * (double)p->outer + (shared ? 3000 : 0) + bytes / bytes_per_ns / (shared ? n_threads : 1);
}
double iso__reduce_cost_avx2(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 14); }
double iso__reduce_cost_avx512(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 16); }

#define REDUCE_OPERATOR(id)                                                                                            \
  const iso__operator iso__operator_##id = {.op = ISO__OP_##id,                                                        \
                                            .family = "reduce",                                                        \
                                            .problem_bytes = sizeof(iso_reduce_problem),                               \
                                            .args_bytes = sizeof(iso_reduce_args),                                     \
                                            .format = reduce_format,                                                   \
                                            .parse = reduce_parse,                                                     \
                                            .operands = reduce_operands,                                               \
                                            .scalars = reduce_scalars,                                                 \
                                            .class_rule = reduce_class,                                                \
                                            .flops = reduce_flops,                                                     \
                                            .bytes = reduce_bytes,                                                     \
                                            .error_bound = 2e-5}
REDUCE_OPERATOR(REDUCE_ROWS);
REDUCE_OPERATOR(REDUCE_COLUMNS);
