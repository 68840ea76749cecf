/* roi.c: the operators `roi_align.fwd`, `roi_align.bwd` and `roi_pool`: text, operands, classes, cost. */
#include "kernels/roi/roi.h"
#include "kernels/fields.h"

static const iso__field fields[] = {{.key = "n", ISO__FIELD(iso_roi_problem, n, .implied = -1)},
                                    {.key = "c", ISO__FIELD(iso_roi_problem, c, .implied = -1)},
                                    {.key = "h", ISO__FIELD(iso_roi_problem, h, .implied = -1)},
                                    {.key = "w", ISO__FIELD(iso_roi_problem, w, .implied = -1)},
                                    {.key = "k", ISO__FIELD(iso_roi_problem, k, .implied = -1)},
                                    {.key = "p", ISO__FIELD(iso_roi_problem, out_h, .implied = -1)},
                                    {.key = "q", ISO__FIELD(iso_roi_problem, out_w, .implied = -1)},
                                    {.key = "samples", ISO__FIELD(iso_roi_problem, samples, .most = 1 << 16)},
                                    {.key = "aligned", ISO__FIELD(iso_roi_problem, aligned, .most = 1)},
                                    {.key = NULL}};

static int roi_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields, problem, text, n_bytes);
}
static const char *roi_parse(iso__problem *problem, const char *key, const char *value) {
  const iso_roi_problem *p = (const iso_roi_problem *)problem;
  const char *wrong = iso__fields_parse(fields, problem, key, value);
  if (key || wrong) return wrong;
  if (!iso__extents_fit(p->n, p->c, p->h) || !iso__extents_fit(p->n * p->c, p->h, p->w))
    return "the images are too large";
  if (!iso__extents_fit(p->k, p->c, p->out_h) || !iso__extents_fit(p->k * p->c, p->out_h, p->out_w))
    return "the bins are too many";
  return p->n > 0 || p->k == 0 ? NULL : "regions need an image";
}

static int roi_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_roi_problem *p = (const iso_roi_problem *)problem;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  const int64_t image = p->n * p->c * p->h * p->w, bins = p->k * p->out_h * p->out_w * p->c;
  const iso__operand rois = {.name = "rois",
                             .offset = offsetof(iso_roi_args, rois),
                             .dtype = dtype,
                             .n = 5 * p->k,
                             .input = true,
                             .fill = ISO__FILL_INDEX,
                             .limit = p->n}; /* numbers of images serve as corners, too */
#define OPERAND(name_, member, dtype_, n_, is_output)                                                                  \
  (iso__operand){.name = name_,                                                                                        \
                 .offset = offsetof(iso_roi_args, member),                                                             \
                 .dtype = dtype_,                                                                                      \
                 .n = n_,                                                                                              \
                 .input = !is_output,                                                                                  \
                 .output = is_output}
  operands[1] = rois;
  if (problem->op == ISO__OP_ROI_ALIGN_BWD) {
    operands[0] = OPERAND("dy", dy, dtype, bins, false), operands[2] = OPERAND("dx", dx, dtype, image, true);
  } else {
    operands[0] = OPERAND("x", x, dtype, image, false);
    operands[2] = problem->op == ISO__OP_ROI_POOL ? OPERAND("index", index, ISO_I64, bins, true)
                                                  : OPERAND("y", y, dtype, bins, true);
  }
  return 3;
}

/* Corners are small integers in tests: stretched over the image. */
static void roi_scalars(const iso__problem *problem, void *args) {
  const iso_roi_problem *p = (const iso_roi_problem *)problem;
  ((iso_roi_args *)args)->scale = 1.1 * (double)(p->h < p->w ? p->h : p->w) / (double)(p->n > 1 ? p->n - 1 : 1);
}
static const char *roi_class(const iso__problem *problem, const iso_policy *policy) {
  (void)policy;
  return problem->op == ISO__OP_ROI_POOL ? "extremum" : "ordered";
}
static double roi_flops(const iso__problem *problem) {
  const iso_roi_problem *p = (const iso_roi_problem *)problem;
  const double side = p->samples ? (double)p->samples : 2;
  return 8 * side * side * (double)p->k * (double)p->out_h * (double)p->out_w * (double)p->c;
}

/* One image's chunk and panel sums, and how many terms each pixel has had for each share of the channels. */
size_t iso__roi_bwd_workspace(const iso__problem *problem, int n_threads) {
  const iso_roi_problem *p = (const iso_roi_problem *)problem;
  return sizeof(float) * 2 * (size_t)(p->h * p->w * p->c) + sizeof(uint32_t) * (size_t)(p->h * p->w * n_threads);
}
static double cost(const iso__problem *problem, int n_threads, double ns_per_flop) {
  const double work = roi_flops(problem) * ns_per_flop + iso__operands_bytes(problem) / 10;
  return 300 + (work > 30000 ? 4000 + work / n_threads : work);
}
double iso__roi_cost_avx2(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 0.12); }
double iso__roi_cost_avx512(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 0.08); }

#define ROI_OPERATOR(id, bound)                                                                                        \
  const iso__operator iso__operator_##id = {.op = ISO__OP_##id,                                                        \
                                            .family = "roi",                                                           \
                                            .problem_bytes = sizeof(iso_roi_problem),                                  \
                                            .args_bytes = sizeof(iso_roi_args),                                        \
                                            .format = roi_format,                                                      \
                                            .parse = roi_parse,                                                        \
                                            .operands = roi_operands,                                                  \
                                            .scalars = roi_scalars,                                                    \
                                            .class_rule = roi_class,                                                   \
                                            .flops = roi_flops,                                                        \
                                            .bytes = iso__operands_bytes,                                              \
                                            .error_bound = bound}
ROI_OPERATOR(ROI_ALIGN_FWD, 0);
ROI_OPERATOR(ROI_ALIGN_BWD, 0);
ROI_OPERATOR(ROI_POOL, 0);
