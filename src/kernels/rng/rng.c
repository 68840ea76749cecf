/* rng.c: the operators `dropout` and `random_fill`: text, operands, usual scalars, class, cost. */
#include "kernels/rng/rng.h"
#include "kernels/fields.h"

static const char *const distributions[] = {
    [ISO__UNIFORM] = "uniform", [ISO__NORMAL] = "normal", [ISO__BERNOULLI] = "bernoulli", NULL};

/* A counter has 32 bits for blocks of four elements; f64 takes two words an element. */
#define ELEMENTS                                                                                                       \
  { .key = "n", ISO__FIELD(iso_rng_problem, n, .most = (int64_t)1 << 33, .implied = -1) }
static const iso__field dropout_fields[] = {
    ELEMENTS, {.key = "bits", ISO__FIELD(iso_rng_problem, bits, .most = ISO__BITS_READ)}, {.key = NULL}};
static const iso__field fill_fields[] = {
    {.key = "distribution", ISO__FIELD(iso_rng_problem, distribution, .names = distributions)},
    ELEMENTS,
    {.key = NULL}};
static const iso__field *fields_of(const iso__problem *problem) {
  return problem->op == ISO__OP_DROPOUT ? dropout_fields : fill_fields;
}

static int rng_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields_of(problem), problem, text, n_bytes);
}
static const char *rng_parse(iso__problem *problem, const char *key, const char *value) {
  return iso__fields_parse(fields_of(problem), problem, key, value);
}

static int rng_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_rng_problem *p = (const iso_rng_problem *)problem;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  int n = 0;
  if (problem->op == ISO__OP_DROPOUT)
    operands[n++] =
        (iso__operand){.name = "x", .offset = offsetof(iso_rng_args, x), .dtype = dtype, .n = p->n, .input = true};
  const iso__operand bits = {.name = "bits",
                             .offset = offsetof(iso_rng_args, bits),
                             .dtype = ISO_U8,
                             .n = iso__dropout_bytes(p->n),
                             .fill = ISO__FILL_INDEX,
                             .limit = 256};
  if (p->bits == ISO__BITS_READ) operands[n] = bits, operands[n++].input = true;
  operands[n++] =
      (iso__operand){.name = "y", .offset = offsetof(iso_rng_args, y), .dtype = dtype, .n = p->n, .output = true};
  if (p->bits == ISO__BITS_WRITTEN) operands[n] = bits, operands[n++].output = true;
  return n;
}

static void rng_scalars(const iso__problem *problem, void *args) {
  iso_rng_args *a = args;
  a->seed = 0x123456789abcdef0u, a->site = 3, a->leaf = 1, a->step = 1000;
  a->a = problem->op == ISO__OP_DROPOUT ? 0.3 : 0.25, a->b = 1.5;
}

static const char *rng_class(const iso__problem *problem, const iso_policy *policy) {
  (void)problem, (void)policy;
  return "philox";
}
static double rng_flops(const iso__problem *problem) { return 30.0 * (double)((const iso_rng_problem *)problem)->n; }
static double rng_bytes(const iso__problem *problem) {
  return (problem->op == ISO__OP_DROPOUT ? 2 : 1) * (double)((const iso_rng_problem *)problem)->n *
         (double)iso_dtype_size((iso_dtype)problem->dtype);
}

static double cost(const iso__problem *problem, int n_threads, double ns_per_element) {
  const double n = (double)((const iso_rng_problem *)problem)->n;
  const bool shared = n_threads > 1 && n > 16384;
  return 100 + (shared ? 3000 : 0) + (n * ns_per_element + rng_bytes(problem) / 14) / (shared ? n_threads : 1);
}
double iso__rng_cost_avx2(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 0.8); }
double iso__rng_cost_avx512(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 0.4); }

/* Uniform numbers are exact and kept elements one product; normals pass through log and cospi. */
#define RNG_OPERATOR(id)                                                                                               \
  const iso__operator iso__operator_##id = {.op = ISO__OP_##id,                                                        \
                                            .family = "rng",                                                           \
                                            .problem_bytes = sizeof(iso_rng_problem),                                  \
                                            .args_bytes = sizeof(iso_rng_args),                                        \
                                            .format = rng_format,                                                      \
                                            .parse = rng_parse,                                                        \
                                            .operands = rng_operands,                                                  \
                                            .scalars = rng_scalars,                                                    \
                                            .class_rule = rng_class,                                                   \
                                            .flops = rng_flops,                                                        \
                                            .bytes = rng_bytes,                                                        \
                                            .error_bound = ERROR_BOUND}
#define ERROR_BOUND 1e-6
RNG_OPERATOR(DROPOUT);
#undef ERROR_BOUND
#define ERROR_BOUND 0 /* f64 fills draw other words than f32 ones: there is nothing to compare with */
RNG_OPERATOR(RANDOM_FILL);
