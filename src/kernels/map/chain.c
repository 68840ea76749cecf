/* chain.c: the operator `chain`: how its problems read as text, which operands they have, what they cost. */
#include "kernels/map/chain.h"
#include "kernels/map/functions.h"
#include "kernels/map/grid.h"

static iso__grid grid_of(const iso_chain_problem *p) {
  iso_chain_problem *q = (iso_chain_problem *)(uintptr_t)p; /* only parsing and collapsing write */
  return (iso__grid){.n_operands = p->n_inputs + 1, .n_dims = p->n_dims, .shape = q->shape, .strides = q->strides};
}

void iso__chain_collapse(iso_chain_problem *problem, int n_dims, const int64_t *shape, const int64_t *const *strides) {
  iso__grid g = grid_of(problem);
  iso__grid_collapse(&g, n_dims, shape, strides);
  problem->n_dims = (uint8_t)g.n_dims;
}

/* ---- text: "do=mul(a,b) do=tanh(e) 64x768 b0x1": inputs are a … d, steps' results e, f … ---- */

static int chain_format(const iso__problem *problem, char *text, size_t n_bytes) {
  const iso_chain_problem *p = (const iso_chain_problem *)problem;
  iso__words words = {.text = text, .n_bytes = n_bytes};
  const iso__grid g = grid_of(p);
  if (n_bytes) text[0] = 0;
  for (int k = 0; k < p->n_steps; k++) {
    const iso__map_fn fn = (iso__map_fn)p->fn[k];
    char list[8] = "";
    for (int i = 0, at = 0; i < iso__map_n_inputs(fn); i++) {
      if (i) list[at++] = ',';
      list[at++] = (char)('a' + p->arg[k][i]), list[at] = 0;
    }
    iso__words_add(&words, "do=%s(%s)", iso__map_name(fn), list);
  }
  iso__grid_format(&g, &words);
  return words.length;
}

/* "mul(a,b)" as the next step. */
static const char *step_parse(iso_chain_problem *p, const char *value) {
  const size_t length = strcspn(value, "(");
  int fn = 0, n = 0;
  if (p->n_steps == ISO__CHAIN_STEPS) return "a chain has at most 8 steps";
  while (fn < ISO__N_MAPS &&
         (strlen(iso__map_name((iso__map_fn)fn)) != length || memcmp(iso__map_name((iso__map_fn)fn), value, length)))
    fn++;
  if (fn == ISO__N_MAPS || iso__map_kind_of((iso__map_fn)fn) != ISO__MAP_PLAIN)
    return "a step is no function whose operands and result have one dtype";
  for (value += length; *value == '(' || *value == ','; value += 2, n++) {
    const int arg = value[1] - 'a';
    if (n == 3 || arg < 0 || arg >= ISO__CHAIN_INPUTS + p->n_steps) return "a step has an operand that is not there";
    if (arg < ISO__CHAIN_INPUTS && arg >= p->n_inputs) p->n_inputs = (uint8_t)(arg + 1);
    p->arg[p->n_steps][n] = (uint8_t)arg;
  }
  if (strcmp(value, ")") || n != iso__map_n_inputs((iso__map_fn)fn)) return "a step is not of the form do=mul(a,b)";
  p->fn[p->n_steps++] = (uint16_t)fn;
  return NULL;
}

static const char *chain_parse(iso__problem *problem, const char *key, const char *value) {
  iso_chain_problem *p = (iso_chain_problem *)problem;
  char word[ISO__MAP_MAX_DIMS * 22 + 8];
  if (key && !strcmp(key, "do")) return p->n_dims ? "steps come before the shape" : step_parse(p, value);
  iso__grid g = grid_of(p);
  if (!key) return !p->n_steps || !p->n_inputs ? "a chain needs a step with an input" : iso__grid_check(&g);
  iso__word_join(key, value, word, sizeof word);
  const char *wrong = iso__grid_parse(&g, word);
  p->n_dims = (uint8_t)g.n_dims;
  return wrong;
}

static int chain_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_chain_problem *p = (const iso_chain_problem *)problem;
  const iso__grid g = grid_of(p);
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  for (int i = 0; i < p->n_inputs; i++)
    operands[i] = iso__grid_operand(&g, i + 1, offsetof(iso_chain_args, in) + (size_t)i * sizeof(void *), dtype);
  operands[p->n_inputs] = iso__grid_operand(&g, 0, offsetof(iso_chain_args, out), dtype);
  return p->n_inputs + 1;
}

static void chain_scalars(const iso__problem *problem, void *args) {
  const iso_chain_problem *p = (const iso_chain_problem *)problem;
  iso_chain_args *a = args;
  for (int k = 0; k < p->n_steps; k++) {
    a->scalar[k][0] = p->fn[k] == ISO__MAP_CLAMP ? -0.75 : 0.625;
    a->scalar[k][1] = 1.5, a->scalar[k][2] = 0.75;
  }
}

static const char *chain_class(const iso__problem *problem, const iso_policy *policy) {
  (void)problem, (void)policy;
  return "map";
}

static double arithmetic_ns(const iso_chain_problem *p) {
  double ns = 0;
  for (int k = 0; k < p->n_steps; k++) ns += iso__map_arithmetic_ns((iso__map_fn)p->fn[k]);
  return ns;
}
static double chain_flops(const iso__problem *problem) {
  const iso_chain_problem *p = (const iso_chain_problem *)problem;
  const iso__grid g = grid_of(p);
  return iso__grid_elements(&g) * arithmetic_ns(p) * 20;
}

static double cost(const iso__problem *problem, int n_threads, double lanes) {
  const iso_chain_problem *p = (const iso_chain_problem *)problem;
  const iso__grid g = grid_of(p);
  const double n = iso__grid_elements(&g);
  return 100 + 50 * p->n_steps +
         (iso__operands_bytes(problem) / 12 + n * arithmetic_ns(p) * 16 / lanes) / (n > 1e4 ? n_threads : 1);
}
double iso__chain_cost_avx2(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 8); }
double iso__chain_cost_avx512(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 16); }

const iso__operator iso__operator_CHAIN = {.op = ISO__OP_CHAIN,
                                           .family = "map",
                                           .problem_bytes = sizeof(iso_chain_problem),
                                           .args_bytes = sizeof(iso_chain_args),
                                           .format = chain_format,
                                           .parse = chain_parse,
                                           .operands = chain_operands,
                                           .scalars = chain_scalars,
                                           .class_rule = chain_class,
                                           .flops = chain_flops,
                                           .bytes = iso__operands_bytes,
                                           .error_bound = 1e-5};
_Static_assert(sizeof(iso_chain_problem) <= ISO__MAX_PROBLEM_BYTES, "a problem fits its buffers");
