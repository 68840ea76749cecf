/* map.c: the operators `map` and `copy`: how their problems read as text, which operands they have, what they cost. */
#include "kernels/map/map.h"
#include "kernels/map/functions.h"
#include "kernels/map/grid.h"

static const char *const names[ISO__N_MAPS] = {
#define ISO__MAP_NAME(id, name, n_inputs, kind) [ISO__MAP_##id] = name,
    ISO__MAP_LIST(ISO__MAP_NAME)
#undef ISO__MAP_NAME
};
const char *iso__map_name(iso__map_fn fn) { return names[fn]; }

static int problem_n_inputs(const iso_map_problem *p) {
  return p->head.op == ISO__OP_COPY ? 1 : iso__map_n_inputs((iso__map_fn)p->fn);
}
static iso__grid grid_of(const iso_map_problem *p) {
  iso_map_problem *q = (iso_map_problem *)(uintptr_t)p; /* only parsing and collapsing write */
  return (iso__grid){
      .n_operands = problem_n_inputs(p) + 1, .n_dims = p->n_dims, .shape = q->shape, .strides = q->strides};
}

void iso__map_collapse(iso_map_problem *problem, int n_operands, int n_dims, const int64_t *shape,
                       const int64_t *const *strides) {
  iso__grid g = {.n_operands = n_operands, .shape = problem->shape, .strides = problem->strides};
  memset(problem->shape, 0, sizeof problem->shape);
  memset(problem->strides, 0, sizeof problem->strides);
  iso__grid_collapse(&g, n_dims, shape, strides);
  problem->n_dims = (uint8_t)g.n_dims;
}

/* ---- text: "add 64x3136 b0x1" ---- */

static int map_format(const iso__problem *problem, char *text, size_t n_bytes) {
  const iso_map_problem *p = (const iso_map_problem *)problem;
  iso__words words = {.text = text, .n_bytes = n_bytes};
  const iso__grid g = grid_of(p);
  if (n_bytes) text[0] = 0;
  if (problem->op == ISO__OP_COPY) iso__words_add(&words, "from%s", iso_dtype_name((iso_dtype)p->from_dtype));
  else iso__words_add(&words, "%s", iso__map_name((iso__map_fn)p->fn));
  iso__grid_format(&g, &words);
  return words.length;
}

static const char *map_parse(iso__problem *problem, const char *key, const char *value) {
  iso_map_problem *p = (iso_map_problem *)problem;
  char word[ISO__MAP_MAX_DIMS * 22 + 8];
  iso_dtype from;
  iso__grid g = grid_of(p);
  if (!key) {
    const bool is_real = iso_dtype_is_float((iso_dtype)p->head.dtype);
    if (problem->op == ISO__OP_MAP && iso__map_kind_of((iso__map_fn)p->fn) == ISO__MAP_INTEGER && is_real)
      return "the function is one of integers";
    return iso__grid_check(&g);
  }
  iso__word_join(key, value, word, sizeof word);
  if (problem->op == ISO__OP_COPY && !strncmp(word, "from", 4)) {
    if (!iso_dtype_parse(word + 4, &from)) return "the input's dtype is unknown";
    p->from_dtype = (uint8_t)from;
    return NULL;
  }
  for (int f = 0; problem->op == ISO__OP_MAP && f < ISO__N_MAPS; f++)
    if (!strcmp(word, names[f])) return p->fn = (uint16_t)f, NULL;
  const char *wrong = iso__grid_parse(&g, word);
  p->n_dims = (uint8_t)g.n_dims;
  return wrong;
}

/* ---- operands and cost ---- */

static int map_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_map_problem *p = (const iso_map_problem *)problem;
  const iso__grid g = grid_of(p);
  const bool copies = problem->op == ISO__OP_COPY;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  for (int o = 1; o < g.n_operands; o++)
    operands[o - 1] =
        iso__grid_operand(&g, o, offsetof(iso_map_args, in) + (size_t)(o - 1) * sizeof(void *),
                          copies ? (iso_dtype)p->from_dtype : iso__map_operand_dtype((iso__map_fn)p->fn, dtype, o));
  operands[g.n_operands - 1] = iso__grid_operand(&g, 0, offsetof(iso_map_args, out),
                                                 copies ? dtype : iso__map_operand_dtype((iso__map_fn)p->fn, dtype, 0));
  return g.n_operands;
}

static void map_scalars(const iso__problem *problem, void *args) {
  iso_map_args *a = args;
  const iso__map_fn fn = (iso__map_fn)((const iso_map_problem *)problem)->fn;
  const bool is_low = fn == ISO__MAP_CLAMP || fn == ISO__MAP_CLAMP_BWD || fn == ISO__MAP_HARDTANH_BWD;
  a->scalar[0] = is_low ? -0.75 : 0.625;
  a->scalar[1] = 1.5;
  a->scalar[2] = 0.75;
}

static double n_elements(const iso__problem *problem) {
  const iso__grid g = grid_of((const iso_map_problem *)problem);
  return iso__grid_elements(&g);
}

/* Nanoseconds of arithmetic an element, beside the memory's: a polynomial or two; the others are a few cheap
 * operations.
 */
static const float polynomial_ns[ISO__N_MAPS] = {
    [ISO__MAP_POW] = 2,
    [ISO__MAP_POW_SCALAR] = 2,
    [ISO__MAP_LOGADDEXP2] = 2,
    [ISO__MAP_LOGIT] = 2,
    [ISO__MAP_MISH] = 2,
    [ISO__MAP_MISH_BWD] = 2,
    [ISO__MAP_SIN] = 1,
    [ISO__MAP_COS] = 1,
    [ISO__MAP_TAN] = 1,
    [ISO__MAP_ASIN] = 1,
    [ISO__MAP_ACOS] = 1,
    [ISO__MAP_ATAN] = 1,
    [ISO__MAP_SINH] = 1,
    [ISO__MAP_COSH] = 1,
    [ISO__MAP_ASINH] = 1,
    [ISO__MAP_ACOSH] = 1,
    [ISO__MAP_ATANH] = 1,
    [ISO__MAP_LOG10] = 1,
    [ISO__MAP_ERFC] = 1,
    [ISO__MAP_ATAN2] = 1,
    [ISO__MAP_LGAMMA] = 3,
    [ISO__MAP_DIGAMMA] = 3,
    [ISO__MAP_TRIGAMMA] = 3,
    [ISO__MAP_ERFINV] = 2,
    [ISO__MAP_NDTRI] = 2,
    [ISO__MAP_I0] = 2,
    [ISO__MAP_I0E] = 2,
    [ISO__MAP_I1] = 2,
    [ISO__MAP_I1E] = 2,
    [ISO__MAP_EXP] = 1,
    [ISO__MAP_EXP2] = 1,
    [ISO__MAP_EXPM1] = 1,
    [ISO__MAP_LOG] = 1,
    [ISO__MAP_LOG2] = 1,
    [ISO__MAP_LOG1P] = 1,
    [ISO__MAP_ERF] = 1,
    [ISO__MAP_TANH] = 1,
    [ISO__MAP_SIGMOID] = 1,
    [ISO__MAP_SINPI] = 1,
    [ISO__MAP_COSPI] = 1,
    [ISO__MAP_GELU] = 1,
    [ISO__MAP_GELU_TANH] = 1,
    [ISO__MAP_SILU] = 1,
    [ISO__MAP_SOFTPLUS] = 1,
    [ISO__MAP_SILU_BWD] = 1,
    [ISO__MAP_SOFTPLUS_BWD] = 1,
    [ISO__MAP_GELU_TANH_BWD] = 1,
    [ISO__MAP_GELU_BWD] = 1,
    [ISO__MAP_LOGADDEXP] = 1,
    [ISO__MAP_XLOGY] = 1,
    [ISO__MAP_XLOG1PY] = 1,
    [ISO__MAP_ENTR] = 1,
    [ISO__MAP_SINC] = 1,
    [ISO__MAP_ELU] = 1,
    [ISO__MAP_SOFTPLUS_SCALED] = 1,
    [ISO__MAP_LOGSIGMOID] = 1,
    [ISO__MAP_GLU] = 1,
    [ISO__MAP_SWIGLU] = 1,
    [ISO__MAP_GEGLU] = 1,
    [ISO__MAP_GEGLU_TANH] = 1,
    [ISO__MAP_ELU_BWD] = 1,
    [ISO__MAP_SOFTPLUS_SCALED_BWD] = 1,
    [ISO__MAP_LOGSIGMOID_BWD] = 1,
    [ISO__MAP_GLU_BWD] = 1,
    [ISO__MAP_SWIGLU_BWD] = 1,
    [ISO__MAP_GEGLU_BWD] = 1,
    [ISO__MAP_GEGLU_TANH_BWD] = 1,
};
double iso__map_arithmetic_ns(iso__map_fn fn) { return polynomial_ns[fn] > 0 ? (double)polynomial_ns[fn] : 0.1; }

static double map_flops(const iso__problem *problem) {
  const bool polynomial = iso__map_arithmetic_ns((iso__map_fn)((const iso_map_problem *)problem)->fn) >= 1;
  return n_elements(problem) * (polynomial ? 20 : 1);
}

static const char *map_class(const iso__problem *problem, const iso_policy *policy) {
  (void)problem, (void)policy;
  return "map";
}

int64_t iso__map_grain(iso__map_fn fn) { return iso__map_arithmetic_ns(fn) < 1 ? 16384 : 4096; }

static double cost(const iso__problem *problem, int n_threads, double lanes) {
  const iso__map_fn fn = (iso__map_fn)((const iso_map_problem *)problem)->fn;
  const double n = n_elements(problem);
  const bool shared = n_threads > 1 && n >= 2.0 * (double)iso__map_grain(fn);
  return 100 + (shared ? 3000 : 0) +
         (iso__operands_bytes(problem) / 12 + n * iso__map_arithmetic_ns(fn) * 16 / lanes) / (shared ? n_threads : 1);
}
double iso__map_cost_avx2(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 8); }
double iso__map_cost_avx512(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 16); }
double iso__map_cost_typed(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 1); }
double iso__copy_cost(const iso__problem *problem, int n_threads) {
  return 50 + iso__operands_bytes(problem) / 8 / n_threads;
}

const iso__operator iso__operator_MAP = {.op = ISO__OP_MAP,
                                         .family = "map",
                                         .problem_bytes = sizeof(iso_map_problem),
                                         .args_bytes = sizeof(iso_map_args),
                                         .format = map_format,
                                         .parse = map_parse,
                                         .operands = map_operands,
                                         .scalars = map_scalars,
                                         .class_rule = map_class,
                                         .flops = map_flops,
                                         .bytes = iso__operands_bytes,
                                         .error_bound = 1e-6};
const iso__operator iso__operator_COPY = {.op = ISO__OP_COPY,
                                          .family = "map",
                                          .problem_bytes = sizeof(iso_map_problem),
                                          .args_bytes = sizeof(iso_map_args),
                                          .format = map_format,
                                          .parse = map_parse,
                                          .operands = map_operands,
                                          .class_rule = map_class,
                                          .flops = n_elements,
                                          .bytes = iso__operands_bytes,
                                          .error_bound = 1e-6};
