/* test_gradients.c: every row of ops.def against finite differences in f64, first and second order.
 *
 * A case is a function of a few tensors. Its gradient of L = Σ c·y (c fixed and uneven) must equal central differences
 * of L; then the same for L2 = Σ d·(∂L/∂x), which runs every rule a second time through create_graph. A row that no
 * case records on the tape fails the test. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "autograd/state.h"
#include "ops/ops.h"

#include "ops/gradients/gradients.h"

static const gradient_case *const topics[] = {
#define TOPIC(topic) iso__gradients_##topic,
#include "ops/gradients/topics.def"
#undef TOPIC
};
enum { N_TOPICS = sizeof topics / sizeof *topics };

/* ---- uneven numbers without a generator's help ---- */
static double fraction(uint64_t seed) {
  seed = (seed + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  seed = (seed ^ (seed >> 29)) * 0x94d049bb133111ebu;
  return (double)(seed >> 40) * 0x1p-24;
}
static int64_t fill(double *values, const int64_t *shape, gradient_domain d, uint64_t seed, int *n_dims) {
  int64_t n = 1;
  for (*n_dims = 0; shape[*n_dims] != END; ++*n_dims) n *= shape[*n_dims];
  for (int64_t i = 0; i < n; i++) {
    const double size = 0.2 + 1.3 * fraction(seed * 1000 + (uint64_t)i);
    values[i] = d == SIGNED && fraction(seed * 777 + 31 * (uint64_t)i) < 0.5 ? -size : size;
  }
  return n;
}
/* Σ weights·t with weights of its own for each `seed`. */
static iso_tensor *weighted_sum(iso_context *ctx, const iso_tensor *t, uint64_t seed) {
  double weights[512];
  int64_t n = iso_tensor_numel(t);
  for (int64_t i = 0; i < n; i++) weights[i] = fraction(seed + 7 * (uint64_t)i) - 0.3;
  iso_tensor *c = iso_tensor_copy_from(ctx, ISO_F64, iso_tensor_n_dims(t), iso_tensor_shape(t), weights);
  return iso_sum_all(ctx, iso_mul(ctx, t, c));
}

/* ---- evaluating ---- */
typedef struct point {
  const gradient_case *c;
  double values[GRADIENT_INPUTS][256];
  int64_t n[GRADIENT_INPUTS];
  int n_dims[GRADIENT_INPUTS];
} point;

static void make_inputs(iso_context *ctx, const point *p, iso_tensor **in) {
  for (int i = 0; i < p->c->n_inputs; i++)
    in[i] = iso_requires_grad(iso_tensor_copy_from(ctx, ISO_F64, p->n_dims[i], p->c->shapes[i], p->values[i]), true);
}

/* L, or L2 with its graph. */
static iso_tensor *scalar_of(iso_context *ctx, const point *p, iso_tensor *const *in, int order) {
  iso_tensor *loss = weighted_sum(ctx, p->c->f(ctx, in), 11);
  if (order == 1 || !loss) return loss;
  iso_tensor *grads[GRADIENT_INPUTS], *total = NULL;
  const iso_tensor *outputs[] = {loss};
  iso_grad_of(1, outputs, NULL, p->c->n_inputs, (const iso_tensor *const *)in,
              &(iso_backward_options){.create_graph = true}, grads);
  for (int i = 0; i < p->c->n_inputs; i++) {
    if (!grads[i]) continue;
    iso_tensor *part = weighted_sum(ctx, grads[i], 23 + (uint64_t)i);
    total = total ? iso_add(ctx, total, part) : part;
  }
  return total;
}

static double value_at(iso_context *ctx, const point *p, int order) {
  double value = 0;
  iso_tensor *in[GRADIENT_INPUTS];
  iso_scope_push(ctx);
  make_inputs(ctx, p, in);
  iso_tensor *loss = scalar_of(ctx, p, in, order);
  if (iso_error_code(ctx)) fail_msg("%s: %s", p->c->rule, iso_error_message(ctx));
  if (loss) assert_int_equal(iso_tensor_item(loss, &value), ISO_OK);
  iso_scope_pop(ctx);
  return value;
}

static bool on_tape(iso_context *ctx, const char *rule) {
  const iso__tape *tape = iso__tape_of(ctx);
  for (size_t i = 0; i < tape->n_nodes; i++)
    if (strcmp(tape->nodes[i]->rule->name, rule) == 0) return true;
  return false;
}

/* The analytic gradients at p into `grads`; whether the rule was recorded. False if L2 depends on nothing. */
static bool analytic(iso_context *ctx, const point *p, int order, double grads[GRADIENT_INPUTS][256], bool *recorded) {
  iso_tensor *in[GRADIENT_INPUTS];
  iso_scope_push(ctx);
  make_inputs(ctx, p, in);
  iso_tensor *loss = scalar_of(ctx, p, in, order);
  if (iso_error_code(ctx)) fail_msg("%s: %s", p->c->rule, iso_error_message(ctx));
  *recorded |= on_tape(ctx, p->c->rule);
  const bool depends = loss && iso_wants_grad(loss);
  if (depends && iso_backward(loss) != ISO_OK) fail_msg("%s: %s", p->c->rule, iso_error_message(ctx));
  for (int i = 0; i < p->c->n_inputs; i++) {
    iso_tensor *g = iso_grad(in[i]);
    memset(grads[i], 0, sizeof grads[i]);
    if (g) assert_int_equal(iso_tensor_copy_to(g, grads[i], (size_t)p->n[i] * sizeof(double)), ISO_OK);
  }
  iso_scope_pop(ctx);
  return depends;
}

static void check_order(iso_context *ctx, point *p, int order, bool *recorded) {
  static double grads[GRADIENT_INPUTS][256];
  if (!analytic(ctx, p, order, grads, recorded)) return;
  const double h = 1e-5;
  for (int i = 0; i < p->c->n_inputs; i++)
    for (int64_t k = 0; k < p->n[i]; k++) {
      double *x = &p->values[i][k];
      const double middle = *x;
      *x = middle + h;
      const double above = value_at(ctx, p, order);
      *x = middle - h;
      const double below = value_at(ctx, p, order);
      *x = middle;
      const double expected = (above - below) / (2 * h), got = grads[i][k];
      if (!(fabs(got - expected) <= 1e-6 * (1 + fabs(expected))))
        fail_msg("%s, order %d, input %d, element %lld: %.12g, by differences %.12g", p->c->rule, order, i,
                 (long long)k, got, expected);
    }
}

static void test_case(void **state) {
  const gradient_case *c = *state;
  iso_policy policy;
  assert_int_equal(iso_policy_preset("reproducible", &policy), ISO_OK);
  iso_context *ctx;
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = 1, .policy = &policy}, &ctx), ISO_OK);
  static point p;
  p = (point){.c = c};
  for (int i = 0; i < c->n_inputs; i++)
    p.n[i] = fill(p.values[i], c->shapes[i], c->domain, 3 + (uint64_t)i, &p.n_dims[i]);
  bool recorded = false, twice = true;
  for (int i = 0; i < ISO__N_RULES; i++)
    if (strcmp(iso__rules[i].name, c->rule) == 0) twice = !iso__rules[i].once;
  check_order(ctx, &p, 1, &recorded);
  if (twice) check_order(ctx, &p, 2, &recorded);
  if (!recorded) fail_msg("%s was not recorded by its own case", c->rule);
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  value_at(ctx, &p, 1);
  assert_int_equal(iso_memory_get_info(ctx).live_bytes, live); /* nothing is left behind */
  iso_context_free(ctx);
}

static void test_every_row_has_a_case(void **state) {
  (void)state;
  for (int i = 0; i < ISO__N_RULES; i++) {
    bool found = false;
    for (int t = 0; t < N_TOPICS; t++)
      for (const gradient_case *c = topics[t]; c->rule; c++) found |= strcmp(c->rule, iso__rules[i].name) == 0;
    if (!found) fail_msg("ops.def's row %s has no case in tests/ops/gradients", iso__rules[i].name);
  }
}

int main(void) {
  int n = 1;
  for (int t = 0; t < N_TOPICS; t++)
    for (const gradient_case *c = topics[t]; c->rule; c++) n++;
  struct CMUnitTest *tests = calloc((size_t)n, sizeof *tests);
  if (!tests) return 1;
  tests[0] = (struct CMUnitTest)cmocka_unit_test(test_every_row_has_a_case);
  n = 1;
  for (int t = 0; t < N_TOPICS; t++)
    for (const gradient_case *c = topics[t]; c->rule; c++)
      tests[n++] = (struct CMUnitTest){.name = c->rule, .test_func = test_case, .initial_state = (void *)(uintptr_t)c};
  const int failed = _cmocka_run_group_tests("gradients", tests, (size_t)n, NULL, NULL);
  free(tests);
  return failed;
}
