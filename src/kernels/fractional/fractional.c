/* fractional.c: the operator `fractional_max_pool`: text, operands, class. */
#include "kernels/fractional/fractional.h"
#include "kernels/fields.h"

#define NEEDED(key_, member)                                                                                           \
  { .key = key_, ISO__FIELD(iso_fractional_problem, member, .implied = -1) }
#define ONE(key_, member)                                                                                              \
  { .key = key_, ISO__FIELD(iso_fractional_problem, member, .least = 1, .implied = 1) }
static const iso__field fields[] = {NEEDED("n", n),
                                    NEEDED("c", c),
                                    ONE("t", axis[0].in),
                                    ONE("h", axis[1].in),
                                    ONE("w", axis[2].in),
                                    ONE("kt", axis[0].kernel),
                                    ONE("kh", axis[1].kernel),
                                    ONE("kw", axis[2].kernel),
                                    ONE("ot", axis[0].out),
                                    ONE("oh", axis[1].out),
                                    ONE("ow", axis[2].out),
                                    {.key = NULL}};

static int fractional_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields, problem, text, n_bytes);
}
const char *iso__fractional_wrong(const iso_fractional_problem *p) {
  for (int d = 0; d < 3; d++) {
    const iso_fractional_axis *a = &p->axis[d];
    if (a->in < 1 || a->kernel < 1 || a->out < 1) return "extents, kernel and output are at least 1";
    if (a->in >> 24 || a->kernel > a->in || a->out > a->in - a->kernel + 1)
      return "the windows do not fit: output + kernel - 1 is at most the extent, which is below 2^24";
  }
  if (!iso__extents_fit(p->axis[0].in, p->axis[1].in, p->axis[2].in) ||
      !iso__extents_fit(p->axis[0].in * p->axis[1].in * p->axis[2].in, p->n, p->c))
    return "the extents hold too many elements";
  return NULL;
}
static const char *fractional_parse(iso__problem *problem, const char *key, const char *value) {
  const char *wrong = iso__fields_parse(fields, problem, key, value);
  return key || wrong ? wrong : iso__fractional_wrong((const iso_fractional_problem *)problem);
}

static int fractional_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_fractional_problem *p = (const iso_fractional_problem *)problem;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  int64_t n_in = p->n * p->c, n_out = n_in;
  for (int d = 0; d < 3; d++) n_in *= p->axis[d].in, n_out *= p->axis[d].out;
  operands[0] =
      (iso__operand){.name = "x", .offset = offsetof(iso_fractional_args, x), .dtype = dtype, .n = n_in, .input = true};
  operands[1] = (iso__operand){.name = "samples",
                               .offset = offsetof(iso_fractional_args, samples),
                               .dtype = dtype,
                               .n = p->n * p->c * 3,
                               .input = true,
                               .fill = ISO__FILL_POSITIVE};
  operands[2] = (iso__operand){
      .name = "y", .offset = offsetof(iso_fractional_args, y), .dtype = dtype, .n = n_out, .output = true};
  operands[3] = (iso__operand){
      .name = "index", .offset = offsetof(iso_fractional_args, index), .dtype = ISO_I64, .n = n_out, .output = true};
  return 4;
}
static const char *fractional_class(const iso__problem *problem, const iso_policy *policy) {
  (void)problem, (void)policy;
  return "extremum";
}
static double fractional_flops(const iso__problem *problem) {
  const iso_fractional_problem *p = (const iso_fractional_problem *)problem;
  double n = 2.0 * (double)p->n * (double)p->c;
  for (int d = 0; d < 3; d++) n *= (double)p->axis[d].out * (double)p->axis[d].kernel;
  return n;
}
const iso__operator iso__operator_FRACTIONAL_MAX_POOL = {.op = ISO__OP_FRACTIONAL_MAX_POOL,
                                                         .family = "fractional",
                                                         .problem_bytes = sizeof(iso_fractional_problem),
                                                         .args_bytes = sizeof(iso_fractional_args),
                                                         .format = fractional_format,
                                                         .parse = fractional_parse,
                                                         .operands = fractional_operands,
                                                         .class_rule = fractional_class,
                                                         .flops = fractional_flops,
                                                         .bytes = iso__operands_bytes,
                                                         .error_bound = 0};
