/* test_scaler.c: the gradient scaler: PyTorch's sequence of scales (scaler_torch.txt, made by scaler_torch.py), its
 * floor, what it names where a gradient overflows, its state, refusals, and memory that runs out. */
#include <math.h>
#include <stdio.h>
#include "ops/fixture.h"

static void expect_ok(void) {
  if (iso_error_code(ctx)) fail_msg("%s", iso_error_message(ctx));
}

/* Two parameters, and SGD over them. */
typedef struct model {
  iso_tensor *a, *b;
  iso_optimizer *sgd;
} model;
static model model_new(double momentum) {
  model m = {.a = iso_requires_grad(iso_tensor_copy_from(ctx, ISO_F32, 1, ISO_DIMS(2), (float[]){1, -2}), true),
             .b = iso_requires_grad(iso_tensor_copy_from(ctx, ISO_F32, 2, ISO_DIMS(2, 3), (float[6]){1, 2, 3, 4, 5, 6}),
                                    true)};
  m.sgd = iso_sgd_new(ctx, 2,
                      (iso_named_tensor[]){{.name = "layer.weight", .tensor = m.a, .trainable = true},
                                           {.name = "layer.bias", .tensor = m.b, .trainable = true}},
                      &(iso_sgd_options){.lr = 0.125, .momentum = momentum});
  expect_ok();
  return m;
}
static double element(const iso_tensor *t, int64_t i) {
  float values[16];
  assert_int_equal(iso_tensor_copy_to(t, values, (size_t)iso_tensor_numel(t) * sizeof *values), ISO_OK);
  return (double)values[i];
}
/* d/da (a·(0.5,0.25)), through the scale. */
static void backward(iso_grad_scaler *s, const model *m) {
  iso_tensor *k = iso_tensor_copy_from(ctx, ISO_F32, 1, ISO_DIMS(2), (float[]){0.5F, 0.25F});
  assert_int_equal(iso_backward(iso_grad_scaler_scale(s, iso_sum_all(ctx, iso_mul(ctx, m->a, k)))), ISO_OK);
}
/* Element i of the gradient becomes `value`. */
static void spoil(iso_tensor *parameter, int64_t i, float value) {
  iso_tensor *grad = iso_clone(ctx, iso_grad(parameter));
  ((float *)iso_tensor_data(grad))[i] = value;
  assert_int_equal(iso_grad_set(parameter, grad), ISO_OK);
}

static void test_torch(void **state) {
  (void)state;
  FILE *f = fopen("tests/optim/scaler_torch.txt", "r");
  char line[200];
  iso_grad_scaler *s = NULL;
  model m = {NULL};
  int n_steps = 0, n_cases = 0;
  bool below = false;
  assert_non_null(f);
  while (fgets(line, sizeof line, f)) {
    iso_grad_scaler_options o = {0};
    long long interval, tracker;
    int overflows, stepped;
    double scale, weight;
    if (line[0] == '#') continue;
    if (sscanf(line, "case %lf %lf %lf %lld", &o.init_scale, &o.growth_factor, &o.backoff_factor, &interval) == 4) {
      o.growth_interval = interval;
      iso_grad_scaler_free(s);
      iso_optimizer_free(m.sgd);
      s = iso_grad_scaler_new(ctx, &o);
      m = model_new(0);
      below = false, n_cases++;
      continue;
    }
    assert_int_equal(sscanf(line, "%d %la %lld %d %la", &overflows, &scale, &tracker, &stepped, &weight), 5);
    if (below) continue;
    backward(s, &m);
    if (overflows) spoil(m.a, 1, INFINITY);
    bool made;
    assert_int_equal(iso_grad_scaler_step(s, m.sgd, &made), ISO_OK);
    assert_int_equal(iso_grad_scaler_update(s), ISO_OK);
    iso_optimizer_zero_grad(m.sgd);
    size_t n;
    double own_tracker;
    assert_int_equal(iso_tensor_item(iso_grad_scaler_state(s, &n)[1].tensor, &own_tracker), ISO_OK);
    assert_int_equal(made, stepped);
    assert_int_equal((long long)own_tracker, tracker);
    assert_true(element(m.a, 0) == weight);
    below = scale < 1; /* from there on PyTorch goes lower */
    if (iso_grad_scaler_get_scale(s) != (below ? 1 : scale))
      fail_msg("case %d: scale %a, PyTorch's %a", n_cases, iso_grad_scaler_get_scale(s), scale);
    n_steps++;
  }
  fclose(f);
  assert_int_equal(n_cases, 4);
  assert_true(n_steps > 50);
  iso_grad_scaler_free(s);
  iso_optimizer_free(m.sgd);
}

static void test_report(void **state) {
  (void)state;
  iso_grad_scaler *s = iso_grad_scaler_new(ctx, NULL);
  model m = model_new(0.9);
  iso_tensor *loss = iso_add(ctx, iso_sum_all(ctx, m.a), iso_sum_all(ctx, iso_mul_scalar(ctx, m.b, 0.5)));
  assert_int_equal(iso_backward(iso_grad_scaler_scale(s, loss)), ISO_OK);
  assert_true(element(iso_grad(m.b), 0) == 32768);
  spoil(m.b, 4, -INFINITY);
  assert_int_equal(iso_grad_scaler_unscale(s, m.sgd), ISO_OK);
  assert_true(element(iso_grad(m.a), 0) == 1 && element(iso_grad(m.b), 5) == 0.5); /* unscaled before the step */
  iso_grad_scaler_report r = iso_grad_scaler_get_report(s);
  assert_true(r.found && r.element == 4 && r.value == -INFINITY && r.scale == 65536 && r.n_skipped == 0);
  assert_string_equal(r.tensor, "layer.bias");
  bool made = true;
  assert_int_equal(iso_grad_scaler_step(s, m.sgd, &made), ISO_OK);
  assert_false(made);
  assert_true(element(m.b, 0) == 1 && element(m.a, 1) == -2);
  assert_int_equal(iso_grad_scaler_get_report(s).n_skipped, 1);
  assert_int_equal(iso_grad_scaler_update(s), ISO_OK);
  assert_true(iso_grad_scaler_get_scale(s) == 32768);
  /* Squares that overflow are no overflow; the first tensor is named, a NaN as one. */
  iso_optimizer_zero_grad(m.sgd);
  backward(s, &m);
  spoil(m.a, 0, 3e38F);
  assert_int_equal(iso_grad_scaler_step(s, m.sgd, &made), ISO_OK);
  assert_true(made && !iso_grad_scaler_get_report(s).found);
  assert_int_equal(iso_grad_scaler_update(s), ISO_OK);
  iso_optimizer_zero_grad(m.sgd);
  backward(s, &m);
  spoil(m.a, 1, NAN);
  assert_int_equal(iso_grad_scaler_unscale(s, m.sgd), ISO_OK);
  r = iso_grad_scaler_get_report(s);
  assert_true(r.found && r.element == 1 && isnan(r.value));
  assert_string_equal(r.tensor, "layer.weight");
  iso_grad_scaler_free(s);
  iso_optimizer_free(m.sgd);
}

/* A run that goes on from its state has the same steps. */
static void test_state(void **state) {
  (void)state;
  iso_grad_scaler_options o = {.growth_interval = 2};
  iso_grad_scaler *s = iso_grad_scaler_new(ctx, &o), *again = iso_grad_scaler_new(ctx, &o);
  model m = model_new(0);
  for (int i = 0; i < 3; i++) {
    backward(s, &m);
    if (i == 1) spoil(m.a, 0, NAN);
    assert_int_equal(iso_grad_scaler_step(s, m.sgd, NULL), ISO_OK);
    assert_int_equal(iso_grad_scaler_update(s), ISO_OK);
    iso_optimizer_zero_grad(m.sgd);
  }
  size_t n, k;
  const iso_named_tensor *from = iso_grad_scaler_state(s, &n), *to = iso_grad_scaler_state(again, &k);
  assert_int_equal(n, 3);
  for (size_t i = 0; i < n; i++) {
    assert_string_equal(from[i].name, to[i].name);
    assert_int_equal(iso_tensor_assign(to[i].tensor, from[i].tensor), ISO_OK);
  }
  iso_grad_scaler *both[] = {s, again};
  double scale[2];
  for (int i = 0; i < 2; i++) {
    backward(both[i], &m);
    assert_true(element(iso_grad(m.a), 0) == 0.5 * 32768);
    assert_int_equal(iso_grad_scaler_step(both[i], m.sgd, NULL), ISO_OK);
    assert_int_equal(iso_grad_scaler_update(both[i]), ISO_OK);
    iso_optimizer_zero_grad(m.sgd);
    scale[i] = iso_grad_scaler_get_scale(both[i]);
    assert_int_equal(iso_grad_scaler_get_report(both[i]).n_skipped, 1);
  }
  assert_true(scale[0] == scale[1] && scale[0] == 65536);
  iso_grad_scaler_free(s);
  iso_grad_scaler_free(again);
  iso_optimizer_free(m.sgd);
}

static void test_refusals(void **state) {
  (void)state;
  assert_null(iso_grad_scaler_new(ctx, &(iso_grad_scaler_options){.init_scale = 0.5}));
  expect_error(ISO_INVALID_ARGUMENT, "init_scale 0.5");
  assert_null(iso_grad_scaler_new(ctx, &(iso_grad_scaler_options){.growth_factor = 1}));
  expect_error(ISO_INVALID_ARGUMENT, "growth_factor 1");
  assert_null(iso_grad_scaler_new(ctx, &(iso_grad_scaler_options){.backoff_factor = 1.5}));
  expect_error(ISO_INVALID_ARGUMENT, "backoff_factor 1.5");
  assert_null(iso_grad_scaler_new(ctx, &(iso_grad_scaler_options){.growth_interval = -1}));
  expect_error(ISO_INVALID_ARGUMENT, "growth_interval -1");
  iso_grad_scaler *s = iso_grad_scaler_new(ctx, NULL);
  model m = model_new(0);
  assert_int_equal(iso_grad_scaler_update(s), ISO_STATE);
  expect_error(ISO_STATE, "no gradients were unscaled");
  backward(s, &m);
  assert_int_equal(iso_grad_scaler_unscale(s, m.sgd), ISO_OK);
  assert_int_equal(iso_grad_scaler_unscale(s, m.sgd), ISO_STATE);
  expect_error(ISO_STATE, "were unscaled since");
  assert_int_equal(iso_grad_scaler_step(s, m.sgd, NULL), ISO_OK);
  assert_int_equal(iso_grad_scaler_step(s, m.sgd, NULL), ISO_STATE);
  expect_error(ISO_STATE, "made its step since");
  assert_int_equal(iso_grad_scaler_update(s), ISO_OK);
  assert_null(iso_grad_scaler_scale(s, iso_tensor_full(ctx, ISO_I64, 0, NULL, 1)));
  expect_error(ISO_DTYPE_MISMATCH, "i64");
  assert_null(iso_grad_scaler_scale(NULL, NULL));
  iso_grad_scaler_free(NULL);
  iso_grad_scaler_free(s);
  iso_optimizer_free(m.sgd);
}

/* Every allocation of a step fails in turn. */
static void test_no_memory(void **state) {
  (void)state;
  for (uint64_t at = 1;; at++) {
    assert_true(at < 1000);
    iso_scope_push(ctx);
    model m = model_new(0);
    iso_grad_scaler *s = iso_grad_scaler_new(ctx, NULL);
    backward(s, &m);
    spoil(m.a, 1, INFINITY);
    iso_memory_fail_at(ctx, at);
    bool made = true;
    const iso_status status = iso_grad_scaler_step(s, m.sgd, &made);
    const iso_status updated = status ? status : iso_grad_scaler_update(s);
    iso_memory_fail_at(ctx, 0);
    if (updated) assert_int_equal(iso_error_code(ctx), ISO_OUT_OF_MEMORY);
    else assert_true(!made && iso_grad_scaler_get_scale(s) == 32768);
    iso_clear_error(ctx);
    iso_grad_scaler_free(s);
    iso_optimizer_free(m.sgd);
    iso_scope_pop(ctx);
    if (!updated) {
      assert_true(at > 3);
      break;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_torch), cmocka_unit_test(test_report),
                                     cmocka_unit_test(test_state), cmocka_unit_test(test_refusals),
                                     cmocka_unit_test(test_no_memory)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
