/* unpool.c: the operators `unpool.pick`, `unpool.put` and `unpool.add`: text, operands, classes. */
#include "kernels/unpool/unpool.h"
#include "kernels/fields.h"

static const iso__field fields[] = {{.key = "n", ISO__FIELD(iso_unpool_problem, n, .implied = -1)},
                                    {.key = "c", ISO__FIELD(iso_unpool_problem, c, .implied = -1)},
                                    {.key = "places", ISO__FIELD(iso_unpool_problem, places, .implied = -1)},
                                    {.key = "picks", ISO__FIELD(iso_unpool_problem, picks, .implied = -1)},
                                    {.key = NULL}};

static int unpool_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields, problem, text, n_bytes);
}
static const char *unpool_parse(iso__problem *problem, const char *key, const char *value) {
  const iso_unpool_problem *p = (const iso_unpool_problem *)problem;
  const char *wrong = iso__fields_parse(fields, problem, key, value);
  if (key || wrong) return wrong;
  if (!iso__extents_fit(p->n, p->c, p->places) || !iso__extents_fit(p->n, p->c, p->picks))
    return "the extents hold too many elements";
  return p->picks && !p->places ? "there is no place to pick" : NULL;
}

static int unpool_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_unpool_problem *p = (const iso_unpool_problem *)problem;
  const bool pick = problem->op == ISO__OP_UNPOOL_PICK;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  const int64_t n_u = p->n * p->c * p->places, n_v = p->n * p->c * p->picks;
  operands[0] = (iso__operand){.name = pick ? "u" : "v",
                               .offset = offsetof(iso_unpool_args, in),
                               .dtype = dtype,
                               .n = pick ? n_u : n_v,
                               .input = true};
  operands[1] = (iso__operand){.name = pick ? "v" : "u",
                               .offset = offsetof(iso_unpool_args, out),
                               .dtype = dtype,
                               .n = pick ? n_v : n_u,
                               .output = true};
  operands[2] = (iso__operand){.name = "index",
                               .offset = offsetof(iso_unpool_args, index),
                               .dtype = ISO_I64,
                               .n = n_v,
                               .input = true,
                               .fill = ISO__FILL_INDEX,
                               .limit = p->places};
  return 3;
}

static const char *unpool_class(const iso__problem *problem, const iso_policy *policy) {
  (void)policy;
  return problem->op == ISO__OP_UNPOOL_ADD ? "ordered" : "move";
}
static double unpool_flops(const iso__problem *problem) {
  const iso_unpool_problem *p = (const iso_unpool_problem *)problem;
  return (double)p->n * (double)p->c * (double)(p->picks + p->places);
}

#define UNPOOL_OPERATOR(id)                                                                                            \
  const iso__operator iso__operator_##id = {.op = ISO__OP_##id,                                                        \
                                            .family = "unpool",                                                        \
                                            .problem_bytes = sizeof(iso_unpool_problem),                               \
                                            .args_bytes = sizeof(iso_unpool_args),                                     \
                                            .format = unpool_format,                                                   \
                                            .parse = unpool_parse,                                                     \
                                            .operands = unpool_operands,                                               \
                                            .class_rule = unpool_class,                                                \
                                            .flops = unpool_flops,                                                     \
                                            .bytes = iso__operands_bytes,                                              \
                                            .error_bound = 0} /* whole results are not held against binary64 */
UNPOOL_OPERATOR(UNPOOL_PICK);
UNPOOL_OPERATOR(UNPOOL_PUT);
UNPOOL_OPERATOR(UNPOOL_ADD);
