/* pool.c: the operators `max_pool2d` and `avg_pool2d`, forward and backward, and max pooling's `pick`: text, operands,
 * classes, cost. */
#include "kernels/pool/window.h"
#include "kernels/fields.h"

#define EXTENT(key_, member)                                                                                           \
  { .key = key_, ISO__FIELD(iso_pool_problem, member, .implied = -1) }
#define ONE(key_, member)                                                                                              \
  { .key = key_, ISO__FIELD(iso_pool_problem, member, .least = 1, .implied = 1) }
#define NONE(key_, member)                                                                                             \
  { .key = key_, ISO__FIELD(iso_pool_problem, member) }
#define FLAG(key_, member)                                                                                             \
  { .key = key_, ISO__FIELD(iso_pool_problem, member, .most = 1) }
static const iso__field fields[] = {EXTENT("n", n),
                                    EXTENT("c", c),
                                    ONE("t", axis[0].in),
                                    EXTENT("h", axis[1].in),
                                    EXTENT("w", axis[2].in),
                                    ONE("kt", axis[0].kernel),
                                    ONE("kh", axis[1].kernel),
                                    ONE("kw", axis[2].kernel),
                                    ONE("st", axis[0].stride),
                                    ONE("sh", axis[1].stride),
                                    ONE("sw", axis[2].stride),
                                    NONE("pt", axis[0].pad),
                                    NONE("ph", axis[1].pad),
                                    NONE("pw", axis[2].pad),
                                    ONE("dt", axis[0].dilation),
                                    ONE("dh", axis[1].dilation),
                                    ONE("dw", axis[2].dilation),
                                    NONE("ot", axis[0].out),
                                    NONE("oh", axis[1].out),
                                    NONE("ow", axis[2].out),
                                    FLAG("count", count_padding),
                                    FLAG("ceil", ceil_),
                                    FLAG("wide", wide),
                                    {.key = "div", ISO__FIELD(iso_pool_problem, divisor, .least = -(1LL << 46))},
                                    {.key = NULL}};

static bool is_average(const iso__problem *problem) {
  return problem->op == ISO__OP_AVG_POOL_FWD || problem->op == ISO__OP_AVG_POOL_BWD;
}
static bool is_backward(const iso__problem *problem) {
  return problem->op == ISO__OP_MAX_POOL_BWD || problem->op == ISO__OP_AVG_POOL_BWD;
}

static int pool_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields, problem, text, n_bytes);
}

/* Windows without a real position: only where a dilation steps over a short axis. */
static bool every_window_holds(const iso_pool_problem *p, int axis) {
  const iso_pool_axis *a = &p->axis[axis];
  if (a->out || a->dilation == 1) return true;
  const int64_t n_out = iso__pool_out(p, axis);
  for (int64_t o = 0; o < n_out && window_first(a, o) < 0; o++) {
    const range r = window_inside(a, o);
    if (r.begin >= r.end) return false;
  }
  return true;
}

static const char *axis_wrong(const iso_pool_problem *p, int axis) {
  const iso_pool_axis *a = &p->axis[axis];
  const int64_t most = ((int64_t)1 << 31) - 1; /* so that sums and products of two stay in range */
  if (a->in < 1 || a->in > most) return "an axis has no position, or more than 2^31 - 1";
  if (a->out < 0 || a->out > most) return "the number of windows is below 1, or more than 2^31 - 1";
  if (a->kernel < 1 || a->stride < 1 || a->dilation < 1 || a->pad < 0)
    return "kernel, stride and dilation are at least 1, padding at least 0";
  if (a->kernel > most || a->stride > most || a->dilation > most || a->pad > most)
    return "kernel, stride, dilation and padding are at most 2^31 - 1";
  if (a->out && (a->kernel > 1 || a->stride > 1 || a->dilation > 1 || a->pad))
    return "an adaptive axis has no kernel, stride, dilation or padding";
  const int64_t reach = a->dilation * (a->kernel - 1) + 1;
  if (a->pad > reach / 2) return "padding is at most half the kernel";
  if (!a->out && reach > a->in + 2 * a->pad) return "the kernel does not fit into the padded input";
  return every_window_holds(p, axis) ? NULL : "a dilated window holds no position of the input";
}

int64_t iso__pool_window_volume(const iso_pool_problem *p) {
  int64_t volume = 1;
  for (int d = 0; d < 3; d++) {
    const iso_pool_axis *a = &p->axis[d];
    volume *= a->out ? iso__min(iso__ceil_div(a->in, a->out) + 1, a->in) : a->kernel;
  }
  return volume;
}

const char *iso__pool_wrong(const iso_pool_problem *p) {
  const iso__problem *problem = &p->head;
  for (int d = 0; d < 3; d++) {
    const char *wrong = axis_wrong(p, d);
    if (wrong) return wrong;
    if (is_average(problem) && p->axis[d].dilation > 1) return "average pooling has no dilation";
  }
  if (!iso__extents_fit(p->axis[0].kernel, p->axis[1].kernel, p->axis[2].kernel)) return "the kernel is too large";
  const bool adaptive = p->axis[0].out || p->axis[1].out || p->axis[2].out;
  if (problem->op != ISO__OP_MAX_POOL_FWD && p->wide) return "wide is for max pooling forward";
  if (!is_average(problem) && !p->wide && (adaptive || iso__pool_window_volume(p) > 255))
    return "an index of one byte is for kernels of at most 255 positions";
  if (!is_average(problem) && (p->count_padding || p->divisor)) return "count and div are for average pooling";
  if (!iso__extents_fit(p->axis[0].in, p->axis[1].in, p->axis[2].in) ||
      !iso__extents_fit(iso__pool_in_positions(p), p->n, p->c) ||
      !iso__extents_fit(iso__pool_out(p, 0), iso__pool_out(p, 1), iso__pool_out(p, 2)) ||
      !iso__extents_fit(iso__pool_out_positions(p), p->n, p->c))
    return "the extents hold too many elements";
  return NULL;
}

static const char *pool_parse(iso__problem *problem, const char *key, const char *value) {
  const char *wrong = iso__fields_parse(fields, problem, key, value);
  return key || wrong ? wrong : iso__pool_wrong((const iso_pool_problem *)problem);
}

static int pool_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_pool_problem *p = (const iso_pool_problem *)problem;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  const int64_t n_in = p->n * iso__pool_in_positions(p) * p->c, n_out = p->n * iso__pool_out_positions(p) * p->c;
  int n = 0;
  if (is_backward(problem)) {
    operands[n++] =
        (iso__operand){.name = "dy", .offset = offsetof(iso_pool_args, dy), .dtype = dtype, .n = n_out, .input = true};
    operands[n++] =
        (iso__operand){.name = "dx", .offset = offsetof(iso_pool_args, dx), .dtype = dtype, .n = n_in, .output = true};
  } else {
    operands[n++] =
        (iso__operand){.name = "x", .offset = offsetof(iso_pool_args, x), .dtype = dtype, .n = n_in, .input = true};
    operands[n++] =
        (iso__operand){.name = "y", .offset = offsetof(iso_pool_args, y), .dtype = dtype, .n = n_out, .output = true};
  }
  if (!is_average(problem))
    operands[n++] = (iso__operand){.name = "index",
                                   .offset = offsetof(iso_pool_args, index),
                                   .dtype = p->wide ? ISO_I64 : ISO_U8,
                                   .n = n_out,
                                   .input = problem->op != ISO__OP_MAX_POOL_FWD,
                                   .output = problem->op == ISO__OP_MAX_POOL_FWD,
                                   .fill = ISO__FILL_INDEX,
                                   .limit = iso__pool_window_volume(p)};
  return n;
}

static const char *pool_class(const iso__problem *problem, const iso_policy *policy) {
  (void)policy;
  return problem->op == ISO__OP_MAX_POOL_FWD || problem->op == ISO__OP_MAX_POOL_PICK ? "extremum" : "ordered";
}

static double pool_flops(const iso__problem *problem) {
  const iso_pool_problem *p = (const iso_pool_problem *)problem;
  double per_channel = (double)p->n * (double)p->c;
  if (problem->op == ISO__OP_MAX_POOL_PICK) return per_channel * (double)iso__pool_out_positions(p);
  for (int d = 0; d < 3; d++) {
    const iso_pool_axis *a = &p->axis[d];
    const double windows = (double)iso__pool_out(p, d);
    per_channel *= a->out ? (double)iso__max(a->in, a->out) : windows * (double)a->kernel;
  }
  return per_channel;
}

/* Positions in registers are of 32 bits. */
const char *iso__pool_max_applicable(const iso__problem *problem) {
  return iso__pool_in_positions((const iso_pool_problem *)problem) >> 31 ? "a plane has 2^31 positions or more" : NULL;
}
/* A gradient whose position lies in more than one chunk of windows needs a fold, which the reference has. */
const char *iso__pool_bwd_applicable(const iso__problem *problem) {
  const iso_pool_problem *p = (const iso_pool_problem *)problem;
  int64_t most[3];
  for (int d = 0; d < 3; d++) {
    const iso_pool_axis *a = &p->axis[d];
    most[d] = a->out ? iso__ceil_div(a->out, a->in) + 1 : iso__ceil_div(a->dilation * (a->kernel - 1) + 1, a->stride);
  }
  return iso__extents_fit(most[0], most[1], most[2]) && most[0] * most[1] * most[2] <= 256
             ? NULL
             : "more than 256 windows cover a position";
}

static double cost(const iso__problem *problem, int n_threads, double lanes) {
  const iso_pool_problem *p = (const iso_pool_problem *)problem;
  const double bytes = iso__operands_bytes(problem);
  const double used = p->c > 0 ? (double)p->c / (double)iso__round_up(p->c, (int64_t)lanes) : 1;
  const bool shared = n_threads > 1 && bytes > 262144;
  return 150 + (shared ? 3000 : 0) + (bytes / 12 + pool_flops(problem) / (lanes * used)) / (shared ? n_threads : 1);
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
POOL_OPERATOR(MAX_POOL_PICK);
