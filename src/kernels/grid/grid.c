/* grid.c: the operators `grid_sample.fwd`, `grid_sample.bwd_input`, `grid_sample.bwd_grid`: text, operands, classes,
 * cost. */
#include "kernels/grid/grid.h"
#include "kernels/fields.h"

static const char *const modes[] = {"linear", "nearest", "cubic", NULL};
static const char *const paddings[] = {"zeros", "border", "reflection", NULL};
#define NEEDED(key_, member)                                                                                           \
  { .key = key_, ISO__FIELD(iso_grid_problem, member, .implied = -1) }
static const iso__field fields[] = {
    {.key = "mode", ISO__FIELD(iso_grid_problem, mode, .names = modes)},
    {.key = "padding", ISO__FIELD(iso_grid_problem, padding, .names = paddings)},
    NEEDED("n", n),
    NEEDED("c", c),
    {.key = "t", ISO__FIELD(iso_grid_problem, extent[0], .least = 1, .implied = 1)},
    NEEDED("h", extent[1]),
    NEEDED("w", extent[2]),
    NEEDED("points", points),
    {.key = "dims", ISO__FIELD(iso_grid_problem, dims, .least = 2, .most = 3, .implied = 2)},
    {.key = "corners", ISO__FIELD(iso_grid_problem, corners, .most = 1)},
    {.key = NULL}};

static int grid_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields, problem, text, n_bytes);
}
const char *iso__grid_wrong(const iso_grid_problem *p) {
  for (int d = 0; d < 3; d++)
    if (p->extent[d] < 1 || p->extent[d] >> 24) return "an axis has no position, or 2^24 or more";
  if (p->dims == 2 && p->extent[0] != 1) return "a grid of two coordinates has no depth";
  if (p->dims == 3 && p->mode == ISO__GRID_CUBIC) return "cubic is for two coordinates";
  if (!iso__extents_fit(p->extent[0], p->extent[1], p->extent[2]) || iso__grid_places(p) >> 31 ||
      !iso__extents_fit(iso__grid_places(p), p->n, p->c) || !iso__extents_fit(p->points, p->n, p->c) ||
      !iso__extents_fit(p->points, p->n, p->dims))
    return "the extents hold too many elements";
  return NULL;
}
static const char *grid_parse(iso__problem *problem, const char *key, const char *value) {
  const char *wrong = iso__fields_parse(fields, problem, key, value);
  return key || wrong ? wrong : iso__grid_wrong((const iso_grid_problem *)problem);
}

static int grid_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_grid_problem *p = (const iso_grid_problem *)problem;
  const bool forward = problem->op == ISO__OP_GRID_SAMPLE_FWD, to_input = problem->op == ISO__OP_GRID_SAMPLE_BWD_INPUT;
  const int64_t n_x = p->n * iso__grid_places(p) * p->c, n_y = p->n * p->points * p->c;
  int n = 0;
#define OPERAND(name_, n_, ...)                                                                                        \
  operands[n++] = (iso__operand) {                                                                                     \
    .name = #name_, .offset = offsetof(iso_grid_args, name_), .dtype = (iso_dtype)problem->dtype, .n = n_, __VA_ARGS__ \
  }
  if (!to_input) OPERAND(x, n_x, .input = true);
  OPERAND(grid, p->n * p->points * p->dims, .input = true);
  if (!forward) OPERAND(dy, n_y, .input = true);
  if (forward) OPERAND(y, n_y, .output = true);
  else if (to_input) OPERAND(dx, n_x, .output = true);
  else OPERAND(dgrid, p->n * p->points * p->dims, .output = true);
#undef OPERAND
  return n;
}
static const char *grid_class(const iso__problem *problem, const iso_policy *policy) {
  (void)policy;
  return problem->op == ISO__OP_GRID_SAMPLE_BWD_GRID ? "lanes" : "ordered";
}
static double grid_flops(const iso__problem *problem) {
  const iso_grid_problem *p = (const iso_grid_problem *)problem;
  const double taps = p->mode == ISO__GRID_NEAREST ? 1 : p->mode == ISO__GRID_CUBIC ? 16 : p->dims == 2 ? 4 : 8;
  return 2 * taps * (double)p->n * (double)p->points * (double)p->c *
         (problem->op == ISO__OP_GRID_SAMPLE_BWD_GRID ? p->dims : 1);
}

/* No bound against binary64: a place that rounds across a boundary of the nearest input, of the image or of a fold has
 * another value there. */
#define GRID_OPERATOR(id)                                                                                              \
  const iso__operator iso__operator_##id = {.op = ISO__OP_##id,                                                        \
                                            .family = "grid",                                                          \
                                            .problem_bytes = sizeof(iso_grid_problem),                                 \
                                            .args_bytes = sizeof(iso_grid_args),                                       \
                                            .format = grid_format,                                                     \
                                            .parse = grid_parse,                                                       \
                                            .operands = grid_operands,                                                 \
                                            .class_rule = grid_class,                                                  \
                                            .flops = grid_flops,                                                       \
                                            .bytes = iso__operands_bytes,                                              \
                                            .error_bound = 0}
GRID_OPERATOR(GRID_SAMPLE_FWD);
GRID_OPERATOR(GRID_SAMPLE_BWD_INPUT);
GRID_OPERATOR(GRID_SAMPLE_BWD_GRID);

static double cost(const iso__problem *problem, int n_threads, double lanes) {
  const iso_grid_problem *p = (const iso_grid_problem *)problem;
  const double ns = 15.0 * (double)p->n * (double)p->points + grid_flops(problem) / lanes;
  return 200 + (n_threads > 1 && ns > 3e4 ? 3000 + ns / n_threads : ns);
}
double iso__grid_cost_avx2(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 8); }
double iso__grid_cost_avx512(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 16); }
