/* ctc.c: the operators `ctc.fwd` and `ctc.bwd`: text, operands, class, cost. */
#include "kernels/ctc/ctc.h"
#include "kernels/fields.h"

static const iso__field fields[] = {{.key = "t", ISO__FIELD(iso_ctc_problem, t, .implied = -1)},
                                    {.key = "n", ISO__FIELD(iso_ctc_problem, n, .implied = -1)},
                                    {.key = "c", ISO__FIELD(iso_ctc_problem, c, .least = 1, .implied = -1)},
                                    {.key = "s", ISO__FIELD(iso_ctc_problem, s, .implied = -1)},
                                    {.key = "blank", ISO__FIELD(iso_ctc_problem, blank)},
                                    {.key = "zero_infinity", ISO__FIELD(iso_ctc_problem, zero_infinity, .most = 1)},
                                    {.key = NULL}};

static int ctc_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields, problem, text, n_bytes);
}
static const char *ctc_parse(iso__problem *problem, const char *key, const char *value) {
  const iso_ctc_problem *p = (const iso_ctc_problem *)problem;
  const char *wrong = iso__fields_parse(fields, problem, key, value);
  if (key || wrong) return wrong;
  if (p->blank >= p->c) return "the blank is one of the classes";
  return iso__extents_fit(p->t, p->n, p->c) && iso__extents_fit(p->t, p->n, 2 * p->s + 1)
             ? NULL
             : "the extents hold too many elements";
}

static int ctc_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_ctc_problem *p = (const iso_ctc_problem *)problem;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  const int64_t frames = p->t * p->n, states = frames * (2 * p->s + 1);
  int n = 0;
#define OPERAND(member, dtype_, n_, ...)                                                                               \
  operands[n++] =                                                                                                      \
      (iso__operand){.name = #member, .offset = offsetof(iso_ctc_args, member), .dtype = dtype_, .n = n_, __VA_ARGS__}
#define INDEX(member, n_, limit_) OPERAND(member, ISO_I64, n_, .input = true, .fill = ISO__FILL_INDEX, .limit = limit_)
  OPERAND(log_p, dtype, frames * p->c, .input = true);
  INDEX(targets, p->n * p->s, p->c);
  INDEX(input_lengths, p->n, p->t + 1);
  INDEX(target_lengths, p->n, p->s + 1);
  if (problem->op == ISO__OP_CTC_FWD) {
    OPERAND(loss, dtype, p->n, .output = true);
    OPERAND(alpha, dtype, states, .output = true);
  } else {
    OPERAND(alpha_saved, dtype, states, .input = true);
    OPERAND(scale, dtype, p->n, .input = true);
    OPERAND(dx, dtype, frames * p->c, .output = true);
  }
  return n;
}

static const char *ctc_class(const iso__problem *problem, const iso_policy *policy) {
  (void)problem, (void)policy;
  return "ctc";
}
static double ctc_flops(const iso__problem *problem) {
  const iso_ctc_problem *p = (const iso_ctc_problem *)problem;
  return 60.0 * (double)p->t * (double)p->n * (double)(2 * p->s + 1);
}

static double cost(const iso__problem *problem, int n_threads, double ns_per_state) {
  const iso_ctc_problem *p = (const iso_ctc_problem *)problem;
  const double states = ctc_flops(problem) / 60;
  const int threads = p->n < n_threads ? (int)p->n : n_threads;
  return 200 + (threads > 1 ? 3000 : 0) +
         (states * ns_per_state + iso__operands_bytes(problem) / 14) / (threads ? threads : 1);
}
double iso__ctc_cost_avx2(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 8); }
double iso__ctc_cost_avx512(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 4); }

/* No bound by terms: rounding grows with the size of the scores, which exp then turns into a factor. */
#define CTC_OPERATOR(id)                                                                                               \
  const iso__operator iso__operator_##id = {.op = ISO__OP_##id,                                                        \
                                            .family = "ctc",                                                           \
                                            .problem_bytes = sizeof(iso_ctc_problem),                                  \
                                            .args_bytes = sizeof(iso_ctc_args),                                        \
                                            .format = ctc_format,                                                      \
                                            .parse = ctc_parse,                                                        \
                                            .operands = ctc_operands,                                                  \
                                            .class_rule = ctc_class,                                                   \
                                            .flops = ctc_flops,                                                        \
                                            .bytes = iso__operands_bytes,                                              \
                                            .error_bound = 0}
CTC_OPERATOR(CTC_FWD);
CTC_OPERATOR(CTC_BWD);
