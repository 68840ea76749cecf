/* test_faults.c: every operator while memory runs out: each allocation of a gradient case, forward, backward and the
 * gradient's own gradient, fails in turn. The call must end in OUT_OF_MEMORY, hold nothing afterwards, and compute the
 * same bits as before once there is memory again. The cases are test_gradients' (ops/gradients). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "ops/ops.h"
#include "ops/gradients/gradients.h"

static const gradient_case *const topics[] = {
#define TOPIC(topic) iso__gradients_##topic,
#include "ops/gradients/topics.def"
#undef TOPIC
};
enum { N_TOPICS = sizeof topics / sizeof *topics };

static iso_tensor *input(iso_context *ctx, const gradient_case *c, int i) {
  double values[256];
  int n_dims = 0;
  int64_t n = 1;
  for (; c->shapes[i][n_dims] != END; n_dims++) n *= c->shapes[i][n_dims];
  for (int64_t k = 0; k < n; k++) {
    const double size = 0.25 + (double)(k * 7919 % 97 + 13 * i) / 80;
    values[k] = c->domain == SIGNED && k % 3 == 1 ? -size : size;
  }
  iso_tensor *t = iso_tensor_copy_from(ctx, ISO_F64, n_dims, c->shapes[i], values);
  return t ? iso_requires_grad(t, true) : NULL;
}

/* The hash of all gradients of Σ y², or of the gradient of that; "" after an error. */
static void run(iso_context *ctx, const gradient_case *c, int order, char hash[33 * GRADIENT_INPUTS]) {
  iso_tensor *in[GRADIENT_INPUTS] = {NULL}, *grads[GRADIENT_INPUTS] = {NULL};
  hash[0] = 0;
  iso_scope_push(ctx);
  for (int i = 0; i < c->n_inputs; i++) in[i] = input(ctx, c, i);
  iso_tensor *y = in[c->n_inputs - 1] ? c->f(ctx, in) : NULL, *loss = iso_sum_all(ctx, iso_square(ctx, y));
  const iso_backward_options graph = {.create_graph = true};
  if (loss && order == 2) {
    iso_tensor *total = NULL;
    if (iso_grad_of(1, (const iso_tensor *const[]){loss}, NULL, c->n_inputs, (const iso_tensor *const *)in, &graph,
                    grads) == ISO_OK)
      for (int i = 0; i < c->n_inputs; i++) {
        iso_tensor *part = grads[i] ? iso_sum_all(ctx, iso_square(ctx, grads[i])) : NULL;
        total = total && part ? iso_add(ctx, total, part) : part ? part : total;
      }
    loss = total;
  }
  if (loss && iso_wants_grad(loss) && iso_backward(loss) == ISO_OK)
    for (int i = 0; i < c->n_inputs; i++) {
      char own[33] = "none";
      iso_tensor *g = iso_grad(in[i]);
      if (g && iso_tensor_hash(g, own) != ISO_OK) break;
      strcat(hash, own);
    }
  iso_scope_pop(ctx);
}

static void fail_each(const gradient_case *c, int order) {
  iso_policy policy;
  iso_context *ctx;
  char expected[33 * GRADIENT_INPUTS], got[33 * GRADIENT_INPUTS];
  assert_int_equal(iso_policy_preset("reproducible", &policy), ISO_OK);
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = 1, .policy = &policy}, &ctx), ISO_OK);
  run(ctx, c, order, expected); /* lends workspace and fills caches */
  if (iso_error_code(ctx)) fail_msg("%s: %s", c->rule, iso_error_message(ctx));
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  for (uint64_t at = 1;; at++) {
    iso_memory_fail_at(ctx, at);
    run(ctx, c, order, got);
    iso_memory_fail_at(ctx, 0);
    if (!iso_error_code(ctx)) {
      assert_true(at > 5); /* inputs, results and nodes need memory */
      break;
    }
    if (iso_error_code(ctx) != ISO_OUT_OF_MEMORY)
      fail_msg("%s, order %d, allocation %d: '%s'", c->rule, order, (int)at, iso_error_message(ctx));
    iso_clear_error(ctx);
    if (iso_memory_get_info(ctx).live_bytes != live)
      fail_msg("%s, order %d, allocation %d left %zd bytes", c->rule, order, (int)at,
               (ssize_t)(iso_memory_get_info(ctx).live_bytes - live));
    assert_true(at < 100000);
  }
  assert_string_equal(got, expected); /* nothing failed this time */
  iso_context_free(ctx);
}

static void test_case(void **state) {
  const gradient_case *c = *state;
  fail_each(c, 1);
  for (int i = 0; i < ISO__N_RULES; i++)
    if (!strcmp(iso__rules[i].name, c->rule) && !iso__rules[i].once) fail_each(c, 2);
}

int main(void) {
  int n = 0;
  for (int t = 0; t < N_TOPICS; t++)
    for (const gradient_case *c = topics[t]; c->rule; c++) n++;
  struct CMUnitTest *tests = calloc((size_t)n, sizeof *tests);
  if (!tests) return 1;
  n = 0;
  for (int t = 0; t < N_TOPICS; t++)
    for (const gradient_case *c = topics[t]; c->rule; c++)
      tests[n++] = (struct CMUnitTest){.name = c->rule, .test_func = test_case, .initial_state = (void *)(uintptr_t)c};
  const int failed = _cmocka_run_group_tests("faults", tests, (size_t)n, NULL, NULL);
  free(tests);
  return failed;
}
