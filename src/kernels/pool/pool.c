/* pool.c: the operators `max_pool2d` and `avg_pool2d`, forward and backward: text, operands, classes, cost. */
#include "kernels/pool/pool.h"
#include "kernels/fields.h"

#define EXTENT(key_, member)                                                                                           \
  { .key = key_, ISO__FIELD(iso_pool_problem, member, .implied = -1) }
#define STEP(key_, member)                                                                                             \
  { .key = key_, ISO__FIELD(iso_pool_problem, member, .least = 1, .implied = -1) }
static const iso__field fields[] = {EXTENT("n", n),
                                    EXTENT("c", c),
                                    EXTENT("h", h),
                                    EXTENT("w", w),
                                    STEP("kh", kernel_h),
                                    STEP("kw", kernel_w),
                                    STEP("sh", stride_h),
                                    STEP("sw", stride_w),
                                    {.key = "ph", ISO__FIELD(iso_pool_problem, pad_h, .implied = 0)},
                                    {.key = "pw", ISO__FIELD(iso_pool_problem, pad_w, .implied = 0)},
                                    {.key = "count", ISO__FIELD(iso_pool_problem, count_padding, .most = 1)},
                                    {.key = NULL}};

static bool is_max(const iso__problem *problem) {
  return problem->op == ISO__OP_MAX_POOL_FWD || problem->op == ISO__OP_MAX_POOL_BWD;
}
static bool is_forward(const iso__problem *problem) {
  return problem->op == ISO__OP_MAX_POOL_FWD || problem->op == ISO__OP_AVG_POOL_FWD;
}

static int pool_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields, problem, text, n_bytes);
}
static const char *pool_parse(iso__problem *problem, const char *key, const char *value) {
  const iso_pool_problem *p = (const iso_pool_problem *)problem;
  const char *wrong = iso__fields_parse(fields, problem, key, value);
  if (key || wrong) return wrong;
  if (p->pad_h > p->kernel_h / 2 || p->pad_w > p->kernel_w / 2) return "the padding is larger than half the kernel";
  if (p->h + 2 * p->pad_h < p->kernel_h || p->w + 2 * p->pad_w < p->kernel_w)
    return "the kernel is larger than the padded image";
  if (is_max(problem) && !(iso__extents_fit(p->kernel_h, p->kernel_w, 1) && p->kernel_h * p->kernel_w <= 255))
    return "max pooling's kernel has more than 255 positions";
  if (is_max(problem) && p->count_padding) return "count is for average pooling";
  if (!iso__extents_fit(p->h, p->w, p->c) || !iso__extents_fit(p->h * p->w * p->c, p->n, 1))
    return "the extents hold too many elements";
  if (!iso__extents_fit(iso__pool_out_h(p), iso__pool_out_w(p), p->c) ||
      !iso__extents_fit(iso__pool_out_h(p) * iso__pool_out_w(p) * p->c, p->n, 1))
    return "the extents hold too many elements";
  return NULL;
}

static int pool_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_pool_problem *p = (const iso_pool_problem *)problem;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  const int64_t n_in = p->n * p->h * p->w * p->c, n_out = p->n * iso__pool_out_h(p) * iso__pool_out_w(p) * p->c;
  const bool forward = is_forward(problem);
  int n = 0;
  if (forward) {
    operands[n++] =
        (iso__operand){.name = "x", .offset = offsetof(iso_pool_args, x), .dtype = dtype, .n = n_in, .input = true};
    operands[n++] =
        (iso__operand){.name = "y", .offset = offsetof(iso_pool_args, y), .dtype = dtype, .n = n_out, .output = true};
  } else {
    operands[n++] =
        (iso__operand){.name = "dy", .offset = offsetof(iso_pool_args, dy), .dtype = dtype, .n = n_out, .input = true};
    operands[n++] =
        (iso__operand){.name = "dx", .offset = offsetof(iso_pool_args, dx), .dtype = dtype, .n = n_in, .output = true};
  }
  if (is_max(problem))
    operands[n++] = (iso__operand){.name = "index",
                                   .offset = offsetof(iso_pool_args, index),
                                   .dtype = ISO_U8,
                                   .n = n_out,
                                   .input = !forward,
                                   .output = forward,
                                   .fill = ISO__FILL_INDEX,
                                   .limit = p->kernel_h * p->kernel_w};
  return n;
}

static const char *pool_class(const iso__problem *problem, const iso_policy *policy) {
  (void)policy;
  return problem->op == ISO__OP_MAX_POOL_FWD ? "extremum" : "ordered";
}

static double pool_flops(const iso__problem *problem) {
  const iso_pool_problem *p = (const iso_pool_problem *)problem;
  return (double)p->n * (double)iso__pool_out_h(p) * (double)iso__pool_out_w(p) * (double)p->c * (double)p->kernel_h *
         (double)p->kernel_w;
}
/* A gradient whose position lies in more than one chunk of windows needs a fold, which the reference has. */
const char *iso__pool_bwd_applicable(const iso__problem *problem) {
  const iso_pool_problem *p = (const iso_pool_problem *)problem;
  const int64_t rows = (p->kernel_h + p->stride_h - 1) / p->stride_h,
                columns = (p->kernel_w + p->stride_w - 1) / p->stride_w;
  return iso__extents_fit(rows, columns, 1) && rows * columns <= 256 ? NULL : "more than 256 windows cover a position";
}

static double cost(const iso__problem *problem, int n_threads, double lanes) {
  const double bytes = iso__operands_bytes(problem);
  const bool shared = n_threads > 1 && bytes > 262144;
  return 150 + (shared ? 3000 : 0) + (bytes / 12 + pool_flops(problem) / lanes) / (shared ? n_threads : 1);
}
double iso__pool_cost_avx2(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 8); }
double iso__pool_cost_avx512(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 16); }

#define POOL_OPERATOR(id)                                                                                              \
  const iso__operator iso__operator_##id = {.op = ISO__OP_##id,                                                        \
                                            .family = "pool",                                                          \
                                            .problem_bytes = sizeof(iso_pool_problem),                                 \
                                            .args_bytes = sizeof(iso_pool_args),                                       \
                                            .format = pool_format,                                                     \
                                            .parse = pool_parse,                                                       \
                                            .operands = pool_operands,                                                 \
                                            .class_rule = pool_class,                                                  \
                                            .flops = pool_flops,                                                       \
                                            .bytes = iso__operands_bytes,                                              \
                                            .error_bound = 2e-5}
POOL_OPERATOR(MAX_POOL_FWD);
POOL_OPERATOR(MAX_POOL_BWD);
POOL_OPERATOR(AVG_POOL_FWD);
POOL_OPERATOR(AVG_POOL_BWD);
