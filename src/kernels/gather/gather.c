/* gather.c: the operator `gather`: text, operands, class, cost. */
#include "kernels/gather/gather.h"
#include "kernels/fields.h"

#define EXTENT(name)                                                                                                   \
  { .key = #name, ISO__FIELD(iso_gather_problem, name, .implied = -1) }
static const iso__field fields[] = {EXTENT(outer),
                                    EXTENT(n),
                                    EXTENT(inner),
                                    EXTENT(extent),
                                    {.key = "each", ISO__FIELD(iso_gather_problem, each, .most = 1)},
                                    {.key = NULL}};

static int gather_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields, problem, text, n_bytes);
}
static const char *gather_parse(iso__problem *problem, const char *key, const char *value) {
  const iso_gather_problem *p = (const iso_gather_problem *)problem;
  const char *wrong = iso__fields_parse(fields, problem, key, value);
  if (key || wrong) return wrong;
  if (!iso__extents_fit(p->outer, p->n, p->inner) || !iso__extents_fit(p->outer, p->extent, p->inner))
    return "the extents hold too many elements";
  return p->extent == 0 && p->n > 0 ? "there is nothing to gather from" : NULL;
}

static int gather_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_gather_problem *p = (const iso_gather_problem *)problem;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  const int64_t lines = p->outer * p->inner;
  operands[0] = (iso__operand){
      .name = "x", .offset = offsetof(iso_gather_args, x), .dtype = dtype, .n = lines * p->extent, .input = true};
  operands[1] = (iso__operand){.name = "index",
                               .offset = offsetof(iso_gather_args, index),
                               .dtype = ISO_I64,
                               .n = p->each ? lines * p->n : p->n,
                               .input = true,
                               .fill = ISO__FILL_INDEX,
                               .limit = p->extent};
  operands[2] = (iso__operand){
      .name = "y", .offset = offsetof(iso_gather_args, y), .dtype = dtype, .n = lines * p->n, .output = true};
  return 3;
}

static const char *gather_class(const iso__problem *problem, const iso_policy *policy) {
  (void)problem, (void)policy;
  return "map";
}
static double moved(const iso__problem *problem) {
  const iso_gather_problem *p = (const iso_gather_problem *)problem;
  return (double)p->outer * (double)p->n * (double)p->inner;
}
/* What is read of x, not all of it: the rest is never touched. */
static double gather_bytes(const iso__problem *problem) {
  const iso_gather_problem *p = (const iso_gather_problem *)problem;
  return 2 * moved(problem) * (double)iso_dtype_size((iso_dtype)problem->dtype) +
         8 * (p->each ? moved(problem) : (double)p->n);
}

double iso__gather_cost(const iso__problem *problem, int n_threads) {
  const bool shared = n_threads > 1 && gather_bytes(problem) > 131072;
  return 100 + (shared ? 3000 : 0) + (gather_bytes(problem) / 10 + moved(problem) * 0.2) / (shared ? n_threads : 1);
}

const iso__operator iso__operator_GATHER = {.op = ISO__OP_GATHER,
                                            .family = "gather",
                                            .problem_bytes = sizeof(iso_gather_problem),
                                            .args_bytes = sizeof(iso_gather_args),
                                            .format = gather_format,
                                            .parse = gather_parse,
                                            .operands = gather_operands,
                                            .class_rule = gather_class,
                                            .flops = moved,
                                            .bytes = gather_bytes,
                                            .error_bound = 1e-6};
