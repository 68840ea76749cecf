/* resample.c: the operators `resample.fwd` and `resample.bwd`: text, operands, classes, cost. */
#include "kernels/resample/resample.h"
#include "kernels/cuda/cost.h"
#include "kernels/fields.h"
#include "kernels/resample/taps.h"
#include "kernels/sizes.h"

static const char *const modes[] = {"nearest", "nearest_exact", "linear", "cubic", NULL};
#define NEEDED(key_, member)                                                                                           \
  { .key = key_, ISO__FIELD(iso_resample_problem, member, .implied = -1) }
#define ONE(key_, member)                                                                                              \
  { .key = key_, ISO__FIELD(iso_resample_problem, member, .least = 1, .implied = 1) }
#define STEP(key_, member)                                                                                             \
  { .key = key_, ISO__FIELD(iso_resample_problem, member, .most = INT64_MAX) }
#define FLAG(key_, member)                                                                                             \
  { .key = key_, ISO__FIELD(iso_resample_problem, member, .most = 1) }
static const iso__field fields[] = {{.key = "mode", ISO__FIELD(iso_resample_problem, mode, .names = modes)},
                                    NEEDED("n", n),
                                    NEEDED("c", c),
                                    ONE("t", axis[0].in),
                                    ONE("h", axis[1].in),
                                    ONE("w", axis[2].in),
                                    ONE("ot", axis[0].out),
                                    ONE("oh", axis[1].out),
                                    ONE("ow", axis[2].out),
                                    STEP("stept", axis[0].step), /* the double's bits, as a number */
                                    STEP("steph", axis[1].step),
                                    STEP("stepw", axis[2].step),
                                    FLAG("corners", corners),
                                    FLAG("smooth", smooth),
                                    {.key = NULL}};

static int resample_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields, problem, text, n_bytes);
}
const char *iso__resample_wrong(const iso_resample_problem *p) {
  for (int d = 0; d < 3; d++) {
    const iso_resample_axis *a = &p->axis[d];
    double step;
    memcpy(&step, &a->step, sizeof step);
    if (a->in < 1 || a->out < 1 || a->in >> 30 || a->out >> 30) return "an axis has no position, or 2^30 or more";
    if (a->step && !(step >= 0x1p-30 && step <= 0x1p30)) return "a step is outside 2^-30 … 2^30";
    if (a->step && p->corners) return "corners stand in the place of a step";
    if (!iso__extents_fit(a->out, iso__resample_most_taps(p, d), 1) ||
        a->out * iso__resample_most_taps(p, d) >= (int64_t)1 << 31)
      return "an axis has 2^31 taps or more";
  }
  if (p->mode < ISO__RESAMPLE_LINEAR && (p->corners || p->smooth)) return "corners and smooth are for linear and cubic";
  int64_t in = 1, out = 1;
  for (int d = 0; d < 3; d++) {
    if (!iso__extents_fit(in, p->axis[d].in, 1) || !iso__extents_fit(out, p->axis[d].out, 1))
      return "the extents hold too many elements";
    in *= p->axis[d].in, out *= p->axis[d].out;
  }
  if (!iso__extents_fit(in, p->n, p->c) || !iso__extents_fit(out, p->n, p->c))
    return "the extents hold too many elements";
  return NULL;
}
static const char *resample_parse(iso__problem *problem, const char *key, const char *value) {
  const char *wrong = iso__fields_parse(fields, problem, key, value);
  return key || wrong ? wrong : iso__resample_wrong((const iso_resample_problem *)problem);
}

static int resample_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_resample_problem *p = (const iso_resample_problem *)problem;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  const bool backward = problem->op == ISO__OP_RESAMPLE_BWD;
  int64_t n_in = p->n * p->c, n_out = n_in;
  for (int d = 0; d < 3; d++) n_in *= p->axis[d].in, n_out *= p->axis[d].out;
  operands[0] = (iso__operand){.name = backward ? "dy" : "x",
                               .offset = offsetof(iso_resample_args, in),
                               .dtype = dtype,
                               .n = backward ? n_out : n_in,
                               .input = true};
  operands[1] = (iso__operand){.name = backward ? "dx" : "y",
                               .offset = offsetof(iso_resample_args, out),
                               .dtype = dtype,
                               .n = backward ? n_in : n_out,
                               .output = true};
  return 2;
}
static const char *resample_class(const iso__problem *problem, const iso_policy *policy) {
  (void)problem, (void)policy;
  return "ordered";
}
static double resample_flops(const iso__problem *problem) {
  const iso_resample_problem *p = (const iso_resample_problem *)problem;
  double n = 2.0 * (double)p->n * (double)p->c;
  for (int d = 0; d < 3; d++) n *= (double)p->axis[d].out * (double)iso__resample_most_taps(p, d);
  return n;
}

#define RESAMPLE_OPERATOR(id)                                                                                          \
  const iso__operator iso__operator_##id = {.op = ISO__OP_##id,                                                        \
                                            .family = "resample",                                                      \
                                            .problem_bytes = sizeof(iso_resample_problem),                             \
                                            .args_bytes = sizeof(iso_resample_args),                                   \
                                            .format = resample_format,                                                 \
                                            .parse = resample_parse,                                                   \
                                            .operands = resample_operands,                                             \
                                            .class_rule = resample_class,                                              \
                                            .flops = resample_flops,                                                   \
                                            .bytes = iso__operands_bytes,                                              \
                                            .error_bound = 2e-5}
RESAMPLE_OPERATOR(RESAMPLE_FWD);
RESAMPLE_OPERATOR(RESAMPLE_BWD);

/* ---- what the engines' rows share ---- */

size_t iso__resample_workspace(const iso__problem *problem, int n_threads) {
  (void)n_threads;
  return iso__resample_taps_bytes((const iso_resample_problem *)problem);
}
/* Lanes of channels, of which the last vector may be short; and what a place costs beside them. */
static double channels_cost(const iso__problem *problem, int n_threads, double lanes) {
  const iso_resample_problem *p = (const iso_resample_problem *)problem;
  if (problem->dtype == ISO_F64) lanes /= 2;
  const double vectors = (double)iso__ceil_div(p->c, (int64_t)lanes);
  const double places = p->c > 0 ? resample_flops(problem) / (2 * (double)p->c) : 0;
  const double ns = iso__operands_bytes(problem) / 12 + places * (1.2 + 0.4 * vectors);
  return 400 + (n_threads > 1 && ns > 3e4 ? 3000 + ns / n_threads : ns);
}
double iso__resample_channels_cost_avx2(const iso__problem *problem, int n_threads) {
  return channels_cost(problem, n_threads, 8);
}
double iso__resample_channels_cost_avx512(const iso__problem *problem, int n_threads) {
  return channels_cost(problem, n_threads, 16);
}
/* A tap of a thread that computes every weight anew in binary64: 1 µs, and 18 where all multiprocessors are full. */
double iso__resample_elements_cuda_cost(const iso__problem *problem, int n_multiprocessors) {
  const iso_resample_problem *p = (const iso_resample_problem *)problem;
  double n = (double)p->n * (double)p->c;
  for (int d = 0; d < 3; d++) n *= (double)(problem->op == ISO__OP_RESAMPLE_BWD ? p->axis[d].in : p->axis[d].out);
  const double taps = n > 0 ? resample_flops(problem) / (2 * n) : 0;
  return iso__cuda_memory_cost(problem, 1) + taps * (1000 + 18000 * n / ((double)n_multiprocessors * 2048));
}
