/* map.c: the operators `map` and `copy`: how their problems read as text, which operands they have, what they cost. */
#include "kernels/map/map.h"
#include <stdio.h>
#include "kernels/fields.h"
#include "kernels/map/functions.h"

static const struct {
  const char *name;
  int n_inputs;
  iso__map_kind kind;
} functions[ISO__N_MAPS] = {
#define ISO__MAP_ROW(id, name_, n_inputs_, kind_) [ISO__MAP_##id] = {name_, n_inputs_, ISO__MAP_##kind_},
    ISO__MAP_LIST(ISO__MAP_ROW)
#undef ISO__MAP_ROW
};
int iso__map_n_inputs(iso__map_fn fn) { return functions[fn].n_inputs; }
const char *iso__map_name(iso__map_fn fn) { return functions[fn].name; }
iso__map_kind iso__map_kind_of(iso__map_fn fn) { return functions[fn].kind; }

/* ---- collapsing ---- */

/* Whether dimension a belongs outside b: the larger step first, by the output and then by the inputs. */
static bool goes_outside(int n_operands, const int64_t *const *strides, int a, int b) {
  for (int o = 0; o < n_operands; o++) {
    const int64_t x = llabs(strides[o][a]), y = llabs(strides[o][b]);
    if (x != y) return x > y;
  }
  return false;
}

void iso__map_collapse(iso_map_problem *problem, int n_operands, int n_dims, const int64_t *shape,
                       const int64_t *const *strides) {
  int order[ISO__MAP_MAX_DIMS], n = 0;
  bool empty = false;
  /* Elements are independent of each other, so dimensions may be visited in any order: descending steps reads memory
   * as it lies, and makes more of them mergeable. Extents of 1 say nothing. */
  for (int d = 0; d < n_dims; d++) {
    empty |= shape[d] == 0;
    if (shape[d] == 1) continue;
    int at = n++;
    for (; at > 0 && goes_outside(n_operands, strides, d, order[at - 1]); at--) order[at] = order[at - 1];
    order[at] = d;
  }
  memset(problem->shape, 0, sizeof problem->shape);
  memset(problem->strides, 0, sizeof problem->strides);
  problem->n_dims = 1;
  problem->shape[0] = empty ? 0 : 1;
  for (int o = 0; o < n_operands; o++) problem->strides[o][0] = 1;
  if (empty || n == 0) return;
  int last = -1;
  for (int i = 0; i < n; i++) {
    const int d = order[i];
    bool merges = last >= 0;
    for (int o = 0; merges && o < n_operands; o++) merges = problem->strides[o][last] == strides[o][d] * shape[d];
    if (!merges) problem->shape[++last] = 1;
    problem->shape[last] *= shape[d];
    for (int o = 0; o < n_operands; o++) problem->strides[o][last] = strides[o][d];
  }
  problem->n_dims = (uint8_t)(last + 1);
}

/* ---- text: "add 64x3136", then the strides of every operand that is not contiguous: "b0x1" ---- */

static const char *const stride_keys[4] = {"out", "a", "b", "c"};

static int problem_n_inputs(const iso_map_problem *p) {
  return p->head.op == ISO__OP_COPY ? 1 : iso__map_n_inputs((iso__map_fn)p->fn);
}

static void contiguous_strides(const iso_map_problem *p, int64_t *strides) {
  int64_t step = 1;
  for (int d = p->n_dims - 1; d >= 0; d--) strides[d] = step, step *= p->shape[d] > 0 ? p->shape[d] : 1;
}

static void list_format(iso__words *words, const char *key, const int64_t *list, int n) {
  char text[ISO__MAP_MAX_DIMS * 22];
  int length = 0;
  for (int i = 0; i < n; i++)
    length += snprintf(text + length, sizeof text - (size_t)length, i ? "x%lld" : "%lld", (long long)list[i]);
  iso__words_add(words, "%s%s", key, text);
}

static int map_format(const iso__problem *problem, char *text, size_t n_bytes) {
  const iso_map_problem *p = (const iso_map_problem *)problem;
  iso__words words = {.text = text, .n_bytes = n_bytes};
  int64_t contiguous[ISO__MAP_MAX_DIMS];
  if (n_bytes) text[0] = 0;
  if (problem->op == ISO__OP_COPY) iso__words_add(&words, "from%s", iso_dtype_name((iso_dtype)p->from_dtype));
  else iso__words_add(&words, "%s", iso__map_name((iso__map_fn)p->fn));
  list_format(&words, "", p->shape, p->n_dims);
  contiguous_strides(p, contiguous);
  for (int o = 0; o <= problem_n_inputs(p); o++)
    if (memcmp(p->strides[o], contiguous, (size_t)p->n_dims * sizeof *contiguous) != 0)
      list_format(&words, stride_keys[o], p->strides[o], p->n_dims);
  return words.length;
}

/* "64x3136" into list; how many, or 0 when it is no list. */
static int list_parse(const char *text, int64_t *list) {
  for (int n = 0; n < ISO__MAP_MAX_DIMS; n++) {
    char number[24];
    const size_t length = strcspn(text, "x");
    if (length >= sizeof number) return 0;
    memcpy(number, text, length);
    number[length] = 0;
    if (!iso__number_parse(number, &list[n])) return 0;
    if (!text[length]) return n + 1;
    text += length + 1;
  }
  return 0;
}

static const char *check_extents(const iso_map_problem *p) {
  int64_t n = 1;
  if (p->head.op == ISO__OP_MAP && functions[p->fn].kind == ISO__MAP_INTEGER &&
      iso_dtype_is_float((iso_dtype)p->head.dtype))
    return "the function is one of integers";
  if (!p->n_dims) return "the shape is missing";
  for (int d = 0; d < p->n_dims; d++) {
    if (p->shape[d] < 0) return "an extent is negative";
    if (!iso__extents_fit(n, p->shape[d], 1)) return "the shape holds too many elements";
    n *= p->shape[d];
  }
  for (int o = 0; o <= problem_n_inputs(p); o++) {
    int64_t hull = 1;
    for (int d = 0; d < p->n_dims; d++) {
      const int64_t stride = p->strides[o][d];
      if (stride < -((int64_t)1 << ISO__MAX_EXTENT_BITS) || !iso__extents_fit(llabs(stride), p->shape[d], 1))
        return "a stride is too large";
      if (o == 0 && stride == 0 && p->shape[d] > 1) return "the output's strides must not be 0";
      hull += p->shape[d] > 1 ? (p->shape[d] - 1) * llabs(stride) : 0;
      if (hull >> ISO__MAX_EXTENT_BITS) return "a stride is too large";
    }
  }
  return NULL;
}

static const char *map_parse(iso__problem *problem, const char *key, const char *value) {
  iso_map_problem *p = (iso_map_problem *)problem;
  char word[ISO__MAP_MAX_DIMS * 22 + 8];
  iso_dtype from;
  if (!key) return check_extents(p);
  iso__word_join(key, value, word, sizeof word);
  if (problem->op == ISO__OP_COPY && !strncmp(word, "from", 4)) {
    if (!iso_dtype_parse(word + 4, &from)) return "the input's dtype is unknown";
    p->from_dtype = (uint8_t)from;
    return NULL;
  }
  for (int f = 0; problem->op == ISO__OP_MAP && f < ISO__N_MAPS; f++)
    if (!strcmp(word, functions[f].name)) return p->fn = (uint16_t)f, NULL;
  if (*word >= '0' && *word <= '9') {
    const int n = list_parse(word, p->shape);
    if (!n) return "the shape is not of the form 4x5x6";
    p->n_dims = (uint8_t)n;
    for (int o = 0; o < 4; o++) contiguous_strides(p, p->strides[o]);
    for (int o = problem_n_inputs(p) + 1; o < 4; o++) memset(p->strides[o], 0, sizeof p->strides[o]);
    return NULL;
  }
  for (int o = 0; o <= problem_n_inputs(p); o++) {
    const size_t length = strlen(stride_keys[o]);
    if (strncmp(word, stride_keys[o], length) != 0) continue;
    if (!p->n_dims || list_parse(word + length, p->strides[o]) != p->n_dims)
      return "strides need one number a dimension, after the shape";
    return NULL;
  }
  return "neither a function, nor a shape, nor strides";
}

/* ---- operands and cost ---- */

/* Truths are filled with both of them. */
static iso__operand operand(const iso_map_problem *p, int o, const char *name, size_t offset, iso_dtype dtype) {
  int64_t n = 1, origin = 0;
  for (int d = 0; d < p->n_dims; d++) {
    const int64_t reach = (p->shape[d] - 1) * p->strides[o][d];
    if (p->shape[d] == 0) n = INT64_MIN / 2;
    n += llabs(reach);
    if (reach < 0 && p->shape[d] > 1) origin -= reach;
  }
  if (n < 0) n = origin = 0;
  return (iso__operand){.name = name,
                        .offset = offset,
                        .dtype = dtype,
                        .n = n,
                        .origin = origin,
                        .input = o > 0,
                        .output = o == 0,
                        .fill = dtype == ISO_BOOL ? ISO__FILL_INDEX : ISO__FILL_NORMAL,
                        .limit = dtype == ISO_BOOL ? 2 : 0};
}

static int map_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_map_problem *p = (const iso_map_problem *)problem;
  static const char *const names[3] = {"a", "b", "c"};
  const int n = problem_n_inputs(p);
  const bool copies = problem->op == ISO__OP_COPY;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  for (int i = 0; i < n; i++)
    operands[i] = operand(p, i + 1, names[i], offsetof(iso_map_args, in) + (size_t)i * sizeof(void *),
                          copies ? (iso_dtype)p->from_dtype : iso__map_operand_dtype((iso__map_fn)p->fn, dtype, i + 1));
  operands[n] = operand(p, 0, "out", offsetof(iso_map_args, out),
                        copies ? dtype : iso__map_operand_dtype((iso__map_fn)p->fn, dtype, 0));
  return n + 1;
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
  const iso_map_problem *p = (const iso_map_problem *)problem;
  double n = 1;
  for (int d = 0; d < p->n_dims; d++) n *= (double)p->shape[d];
  return n;
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
static double arithmetic_ns(iso__map_fn fn) { return polynomial_ns[fn] > 0 ? (double)polynomial_ns[fn] : 0.1; }

static double map_flops(const iso__problem *problem) {
  const bool polynomial = arithmetic_ns((iso__map_fn)((const iso_map_problem *)problem)->fn) >= 1;
  return n_elements(problem) * (polynomial ? 20 : 1);
}

static const char *map_class(const iso__problem *problem, const iso_policy *policy) {
  (void)problem, (void)policy;
  return "map";
}

int64_t iso__map_grain(iso__map_fn fn) { return arithmetic_ns(fn) < 1 ? 16384 : 4096; }

static double cost(const iso__problem *problem, int n_threads, double lanes) {
  const iso__map_fn fn = (iso__map_fn)((const iso_map_problem *)problem)->fn;
  const double n = n_elements(problem);
  const bool shared = n_threads > 1 && n >= 2.0 * (double)iso__map_grain(fn);
  return 100 + (shared ? 3000 : 0) +
         (iso__operands_bytes(problem) / 12 + n * arithmetic_ns(fn) * 16 / lanes) / (shared ? n_threads : 1);
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
