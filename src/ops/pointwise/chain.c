/* chain.c: a formula of pointwise functions in one pass over memory.
 *
 * The text is compiled into at most eight steps; equal subexpressions are one step. Results are bit for bit those of
 * the separate operators, and so is the gradient: the rule computes the separate operators once more, on a tape of its
 * own, and walks it. */
#include "kernels/map/chain.h"
#include <ctype.h>
#include "autograd/tape.h"
#include "ops/ops.h"

typedef iso_tensor *unary_fn(iso_context *ctx, const iso_tensor *x);
typedef iso_tensor *binary_fn(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
typedef iso_tensor *scalar_fn(iso_context *ctx, const iso_tensor *x, double s);
typedef iso_tensor *range_fn(iso_context *ctx, const iso_tensor *x, double s, double t);

/* What a formula may call: the operator of that name. */
static const struct function {
  const char *name;
  iso__map_fn fn;
  unary_fn *unary;
  binary_fn *binary;
  scalar_fn *scalar;
  range_fn *range;
} functions[] = {{"add", ISO__MAP_ADD, .binary = iso_add},
                 {"sub", ISO__MAP_SUB, .binary = iso_sub},
                 {"mul", ISO__MAP_MUL, .binary = iso_mul},
                 {"div", ISO__MAP_DIV, .binary = iso_div},
                 {"maximum", ISO__MAP_MAXIMUM, .binary = iso_maximum},
                 {"minimum", ISO__MAP_MINIMUM, .binary = iso_minimum},
                 {"hypot", ISO__MAP_HYPOT, .binary = iso_hypot},
                 {"add_relu", ISO__MAP_ADD_RELU, .binary = iso_add_relu},
                 {"swiglu", ISO__MAP_SWIGLU, .binary = iso_swiglu},
                 {"geglu", ISO__MAP_GEGLU, .binary = iso_geglu},
                 {"add_scalar", ISO__MAP_ADD_SCALAR, .scalar = iso_add_scalar},
                 {"mul_scalar", ISO__MAP_MUL_SCALAR, .scalar = iso_mul_scalar},
                 {"rsub_scalar", ISO__MAP_RSUB_SCALAR, .scalar = iso_rsub_scalar},
                 {"rdiv_scalar", ISO__MAP_RDIV_SCALAR, .scalar = iso_rdiv_scalar},
                 {"pow_scalar", ISO__MAP_POW_SCALAR, .scalar = iso_pow_scalar},
                 {"leaky_relu", ISO__MAP_LEAKY_RELU, .scalar = iso_leaky_relu},
                 {"clamp", ISO__MAP_CLAMP, .range = iso_clamp},
                 {"neg", ISO__MAP_NEG, .unary = iso_neg},
                 {"abs", ISO__MAP_ABS, .unary = iso_abs},
                 {"square", ISO__MAP_SQUARE, .unary = iso_square},
                 {"sqrt", ISO__MAP_SQRT, .unary = iso_sqrt},
                 {"rsqrt", ISO__MAP_RSQRT, .unary = iso_rsqrt},
                 {"reciprocal", ISO__MAP_RECIPROCAL, .unary = iso_reciprocal},
                 {"exp", ISO__MAP_EXP, .unary = iso_exp},
                 {"exp2", ISO__MAP_EXP2, .unary = iso_exp2},
                 {"expm1", ISO__MAP_EXPM1, .unary = iso_expm1},
                 {"log", ISO__MAP_LOG, .unary = iso_log},
                 {"log2", ISO__MAP_LOG2, .unary = iso_log2},
                 {"log1p", ISO__MAP_LOG1P, .unary = iso_log1p},
                 {"erf", ISO__MAP_ERF, .unary = iso_erf},
                 {"sin", ISO__MAP_SIN, .unary = iso_sin},
                 {"cos", ISO__MAP_COS, .unary = iso_cos},
                 {"tanh", ISO__MAP_TANH, .unary = iso_tanh},
                 {"sigmoid", ISO__MAP_SIGMOID, .unary = iso_sigmoid},
                 {"relu", ISO__MAP_RELU, .unary = iso_relu},
                 {"gelu", ISO__MAP_GELU, .unary = iso_gelu},
                 {"gelu_tanh", ISO__MAP_GELU_TANH, .unary = iso_gelu_tanh},
                 {"silu", ISO__MAP_SILU, .unary = iso_silu},
                 {"softplus", ISO__MAP_SOFTPLUS, .unary = iso_softplus},
                 {"softsign", ISO__MAP_SOFTSIGN, .unary = iso_softsign},
                 {"logsigmoid", ISO__MAP_LOGSIGMOID, .unary = iso_logsigmoid},
                 {"mish", ISO__MAP_MISH, .unary = iso_mish},
                 {"hardswish", ISO__MAP_HARDSWISH, .unary = iso_hardswish},
                 {"hardsigmoid", ISO__MAP_HARDSIGMOID, .unary = iso_hardsigmoid}};
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

static int n_scalars_of(const struct function *f) { return f->range ? 2 : f->scalar ? 1 : 0; }

/* ---- compiling ---- */

typedef struct step {
  uint8_t function, arg[2]; /* operands as in kernels/map/chain.h */
  double scalar[3];
} step;
/* Plain bytes: a node's attributes. */
typedef struct program {
  int n_steps, n_inputs;
  step steps[ISO__CHAIN_STEPS];
} program;

typedef struct compiler {
  const char *at; /* the rest of the text */
  program *out;
  int n_inputs, n_scalars;
  const double *scalars;
  const char *wrong; /* a sentence */
} compiler;

static int fail(compiler *c, const char *wrong) {
  if (!c->wrong) c->wrong = wrong;
  return 0;
}
static bool eat(compiler *c, char wanted) {
  while (isspace((unsigned char)*c->at)) c->at++;
  return *c->at == wanted ? c->at++, true : false;
}
/* A name's length; the text stands on it. */
static size_t name_length(compiler *c) {
  size_t n = 0;
  while (isspace((unsigned char)*c->at)) c->at++;
  while (isalnum((unsigned char)c->at[n]) || c->at[n] == '_') n++;
  return n;
}

/* The operand that the step computes: an equal one if there is one. */
static int add_step(compiler *c, const step *s) {
  program *p = c->out;
  for (int k = 0; k < p->n_steps; k++)
    if (memcmp(&p->steps[k], s, sizeof *s) == 0) return ISO__CHAIN_INPUTS + k;
  if (p->n_steps == ISO__CHAIN_STEPS) return fail(c, "a formula has at most 8 different steps");
  p->steps[p->n_steps] = *s;
  return ISO__CHAIN_INPUTS + p->n_steps++;
}

static double scalar_argument(compiler *c) {
  const size_t n = name_length(c);
  const int i = n == 2 && c->at[0] == 's' ? c->at[1] - '0' : -1;
  if (i < 0 || i >= c->n_scalars) return fail(c, "a number is s0 … s7, as many as there are");
  c->at += n;
  return c->scalars[i];
}

/* name(operand, …, number, …), or an input a … d. Depth is bounded by the steps that it would need. */
static int expression(compiler *c, int depth) {
  const size_t n = name_length(c);
  const char *name = c->at;
  step s;
  memset(&s, 0, sizeof s); /* padding too: steps are compared as bytes */
  c->at += n;
  if (n == 1 && !eat(c, '(')) {
    const int input = name[0] - 'a';
    return input >= 0 && input < c->n_inputs ? input : fail(c, "an operand is none of the inputs");
  }
  while (s.function < N_FUNCTIONS &&
         (strlen(functions[s.function].name) != n || memcmp(functions[s.function].name, name, n)))
    s.function++;
  if (s.function == N_FUNCTIONS) return fail(c, "a name is none of the functions that formulas have");
  const struct function *f = &functions[s.function];
  if (depth == 2 * ISO__CHAIN_STEPS) return fail(c, "a formula has at most 8 different steps");
  if (!eat(c, '(')) return fail(c, "a function's operands are missing");
  for (int i = 0; i < (f->binary ? 2 : 1) && !c->wrong; i++) {
    if (i && !eat(c, ',')) return fail(c, "a function has too few operands");
    s.arg[i] = (uint8_t)expression(c, depth + 1);
  }
  for (int i = 0; i < n_scalars_of(f) && !c->wrong; i++)
    s.scalar[i] = eat(c, ',') ? scalar_argument(c) : fail(c, "a function's number is missing");
  if (!c->wrong && !eat(c, ')')) return fail(c, "a function's operands do not end");
  return c->wrong ? 0 : add_step(c, &s);
}

/* ---- computing ---- */

/* One operator after the other, from inputs to the last result. */
static iso_tensor *separately(iso_context *ctx, const program *p, const iso_tensor *const *inputs) {
  const iso_tensor *value[ISO__CHAIN_INPUTS + ISO__CHAIN_STEPS] = {NULL};
  iso_tensor *result = NULL;
  for (int i = 0; i < p->n_inputs; i++) value[i] = inputs[i];
  for (int k = 0; k < p->n_steps; k++) {
    const step *s = &p->steps[k];
    const struct function *f = &functions[s->function];
    const iso_tensor *a = value[s->arg[0]], *b = value[s->arg[1]];
    result = f->unary    ? f->unary(ctx, a)
             : f->binary ? f->binary(ctx, a, b)
             : f->scalar ? f->scalar(ctx, a, s->scalar[0])
                         : f->range(ctx, a, s->scalar[0], s->scalar[1]);
    value[ISO__CHAIN_INPUTS + k] = result;
  }
  return result;
}

/* The same for dtypes without a kernel. */
static iso_tensor *unrecorded(iso_context *ctx, const program *p, const iso_tensor *const *inputs) {
  iso_no_grad_push(ctx);
  iso__enter(ctx);
  iso_tensor *y = iso__leave(ctx, separately(ctx, p, inputs));
  iso_no_grad_pop(ctx);
  return y;
}

static iso_tensor *fused(iso_context *ctx, const program *p, const iso_tensor *const *inputs) {
  iso_tensor *y = iso__map_result(ctx, "chain", ISO_F32, p->n_inputs, inputs);
  if (!y) return NULL;
  iso_chain_problem problem;
  iso_chain_args args = {.out = iso__data(y)};
  int64_t strides[ISO__CHAIN_INPUTS][ISO_MAX_DIMS];
  const int64_t *operands[1 + ISO__CHAIN_INPUTS] = {y->view.strides};
  ISO__PROBLEM_INIT(problem, ISO__OP_CHAIN, y->view.dtype);
  problem.n_steps = (uint8_t)p->n_steps, problem.n_inputs = (uint8_t)p->n_inputs;
  for (int k = 0; k < p->n_steps; k++) {
    const step *s = &p->steps[k];
    problem.fn[k] = (uint16_t)functions[s->function].fn;
    for (int i = 0; i < 2; i++) problem.arg[k][i] = s->arg[i];
    memcpy(args.scalar[k], s->scalar, sizeof s->scalar);
  }
  for (int i = 0; i < p->n_inputs; i++) {
    args.in[i] = iso__data(inputs[i]);
    iso__broadcast_strides(&inputs[i]->view, &y->view, strides[i]);
    operands[i + 1] = strides[i];
  }
  iso__chain_collapse(&problem, y->view.n_dims, y->view.shape, operands);
  if (iso__execute(ctx, &problem.head, &args) == ISO_OK) return y;
  iso_release(y);
  return NULL;
}

/* Every input must be read, so that the result has the shape of all of them. */
static bool reads_all(const program *p) {
  unsigned read = 0;
  for (int k = 0; k < p->n_steps; k++)
    for (int i = 0; i < 2; i++)
      if (i == 0 || functions[p->steps[k].function].binary) read |= 1u << p->steps[k].arg[i];
  return (read & ((1u << p->n_inputs) - 1)) == (1u << p->n_inputs) - 1;
}

iso_tensor *iso_chain(iso_context *ctx, const char *formula, int n, const iso_tensor *const *inputs, int n_scalars,
                      const double *scalars) {
  if (iso__failed(ctx)) return NULL;
  if (!formula || n < 1 || n > ISO__CHAIN_INPUTS || !inputs || n_scalars < 0 || (n_scalars && !scalars)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "chain", "a formula of 1 to %d inputs is needed", ISO__CHAIN_INPUTS);
    return NULL;
  }
  if (!iso__takes(ctx, "chain", n, inputs) || !iso__takes_dtypes(ctx, "chain", ISO__REAL_DTYPES, n, inputs))
    return NULL;
  program p;
  memset(&p, 0, sizeof p);
  p.n_inputs = n;
  compiler c = {.at = formula, .out = &p, .n_inputs = n, .n_scalars = n_scalars, .scalars = scalars};
  const int last = expression(&c, 0);
  while (isspace((unsigned char)*c.at)) c.at++;
  if (!c.wrong && *c.at) fail(&c, "something follows the formula");
  if (!c.wrong && last != ISO__CHAIN_INPUTS + p.n_steps - 1) fail(&c, "the formula has no step");
  if (!c.wrong && !reads_all(&p)) fail(&c, "an input is not read");
  if (c.wrong) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "chain", "'%.100s': %s", formula, c.wrong);
    return NULL;
  }
  iso_tensor *y = inputs[0]->view.dtype == ISO_F32 ? fused(ctx, &p, inputs) : unrecorded(ctx, &p, inputs);
  return iso__finish(
      ctx, y, ISO_OK, ISO__RULE_CHAIN,
      &(iso__finish_options){
          .inputs = inputs, .n_inputs = n, .saved = inputs, .n_saved = n, .attrs = &p, .attr_bytes = sizeof p});
}

static iso_tensor *recompute(iso_context *ctx, const void *attrs, const iso_tensor *const *inputs) {
  return separately(ctx, attrs, inputs);
}
void iso__chain_gradient(iso__gradient *g) {
  const program *p = iso__attrs(g);
  iso_tensor *inputs[ISO__CHAIN_INPUTS];
  for (int i = 0; i < p->n_inputs; i++) inputs[i] = iso__saved(g, i);
  iso__gradient_recomputed(g, recompute, p->n_inputs, inputs);
}
