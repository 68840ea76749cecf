/* The comparison of a model of one's own: what it finds, and what happens when a run fails, dies or is stopped. */
#include <isobit/isobit.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* What the model does wrong, and when. */
typedef enum fault { NONE, NO_MAKE, FAILING_STEP, DYING, BY_THREADS, NO_FINISH } fault;
typedef struct plan {
  fault fault;
  int n_turns; /* progress stops after so many; 0: never */
} plan;
typedef struct state {
  iso_context *ctx;
  plan plan;
  int n_steps;
  iso_named_tensor weight;
  iso_optimizer *sgd;
} state;

static void *make(void *user, iso_context *ctx) {
  static state s;
  const plan *p = user;
  if (p->fault == NO_MAKE) {
    iso_matmul(ctx, iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(2, 3)),
               iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(5, 2)));
    return NULL;
  }
  s = (state){.ctx = ctx, .plan = *p};
  s.weight = (iso_named_tensor){.name = "weight", .trainable = true};
  s.weight.tensor = iso_keep(iso_requires_grad(iso_random_normal(ctx, ISO_F32, 2, ISO_DIMS(64, 64), 0, 0.1), true));
  s.sgd = iso_sgd_new(ctx, 1, &s.weight, &(iso_sgd_options){.lr = 0.5});
  return &s;
}

static iso_status step(void *user, double *loss) {
  state *s = user;
  if (s->plan.fault == DYING && s->n_steps == 3) _exit(9);
  iso_scope_push(s->ctx);
  iso_tensor *x = iso_random_normal(s->ctx, ISO_F32, 2, ISO_DIMS(32, 64), 0, 1);
  iso_tensor *l =
      iso_mean(s->ctx, iso_relu(s->ctx, iso_matmul(s->ctx, x, s->weight.tensor)), 2, (const int[]){0, 1}, false);
  iso_backward(l);
  iso_tensor_item(l, loss);
  iso_optimizer_step(s->sgd);
  iso_optimizer_zero_grad(s->sgd);
  if (s->plan.fault == FAILING_STEP && s->n_steps == 2) iso_reshape(s->ctx, x, 1, ISO_DIMS(7));
  iso_scope_pop(s->ctx);
  if (s->plan.fault == BY_THREADS && s->n_steps == 4) *loss += iso_n_threads(s->ctx);
  s->n_steps++;
  return iso_error_code(s->ctx);
}

static const iso_named_tensor *tensors(void *user, size_t *n) {
  *n = 1;
  return &((state *)user)->weight;
}

static char *finish(void *user, int run) {
  const state *s = user;
  if (s->plan.fault == NO_FINISH) return NULL;
  char *text = malloc(64);
  if (text) snprintf(text, 64, "run %d made %d steps", run, s->n_steps);
  return text;
}

static void release(void *user) { iso_optimizer_free(((state *)user)->sgd); }

static bool stop_after(void *user, const iso_compare_progress *progress) {
  plan *p = user;
  assert_true(isfinite(progress->loss));
  return !p->n_turns || --p->n_turns;
}

static const iso_compare_model model = {
    .make = make, .step = step, .tensors = tensors, .finish = finish, .free = release};
static const iso_compare_policy policies[] = {{.name = "fast"}, {.name = "default"}, {.name = "plain", .n_steps = 2}};

static iso_status compare(plan *p, iso_comparison **c, char why[256]) {
  const iso_compare_options options = {.model = &model,
                                       .user = p,
                                       .n_policies = 3,
                                       .policies = policies,
                                       .n_steps = 12,
                                       .slice = 3,
                                       .n_threads = {1, 3},
                                       .progress = stop_after};
  return iso_compare(&options, c, why, 256);
}

static void finds_the_same_bits(void **unused) {
  iso_comparison *c;
  char why[256];
  (void)unused;
  assert_int_equal(compare(&(plan){0}, &c, why), ISO_OK);
  assert_int_equal(c->n_rows, 3);
  for (int p = 0; p < 3; p++) {
    const iso_compare_row *row = &c->row[p];
    assert_string_equal(row->name, policies[p].name);
    assert_int_equal(row->run[1].n_threads, 3);
    assert_int_equal(row->run[0].n_steps, p == 2 ? 2 : 12);
    assert_true(row->promise_kept);
    assert_true(row->run[0].peak_memory_mib > 0);
    assert_string_equal(row->run[0].device, "cpu");
    assert_true(row->run[0].peak_device_mib == 0);
    assert_true(row->step_ms.median > 0);
  }
  assert_true(c->row[1].same_bits);
  assert_int_equal(c->row[1].first_differing_step, -1);
  assert_string_equal(c->row[1].run[1].text, "run 1 made 12 steps");
  assert_string_not_equal(c->row[1].run[0].steps[0].hash, c->row[1].run[0].steps[1].hash);
  assert_true(c->row[1].over_fast.median > 0);
  assert_true(isnan(c->row[2].over_fast.median)); /* of another length than fast */
  iso_comparison_free(c);
}

static void finds_other_bits(void **unused) {
  iso_comparison *c;
  char why[256];
  (void)unused;
  assert_int_equal(compare(&(plan){.fault = BY_THREADS}, &c, why), ISO_OK);
  assert_int_equal(c->row[1].first_differing_step, 4);
  assert_false(c->row[1].same_bits);
  assert_false(c->row[1].promise_kept); /* default promises it */
  assert_true(c->row[0].promise_kept);  /* fast does not */
  iso_comparison_free(c);
}

static void failures_name_the_run(void **unused) {
  static const struct {
    fault fault;
    iso_status status;
    const char *says;
  } cases[] = {{NO_MAKE, ISO_SHAPE_MISMATCH, "matmul"},
               {FAILING_STEP, ISO_SHAPE_MISMATCH, "reshape"},
               {DYING, ISO_STATE, "ended early"},
               {NO_FINISH, ISO_STATE, "callback"}};
  (void)unused;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    iso_comparison *c;
    char why[256];
    assert_int_equal(compare(&(plan){.fault = cases[i].fault}, &c, why), cases[i].status);
    assert_null(c);
    assert_non_null(strstr(why, cases[i].says));
    assert_non_null(strstr(why, "policy fast with 1 threads"));
  }
}

static void stops_on_request(void **unused) {
  iso_comparison *c;
  char why[256];
  (void)unused;
  assert_int_equal(compare(&(plan){.n_turns = 4}, &c, why), ISO_INTERRUPTED);
  assert_null(c);
}

static void refuses_what_makes_no_sense(void **unused) {
  static const iso_compare_policy twice[] = {{.name = "fast"}, {.name = "fast"}}, unknown[] = {{.name = "slow"}};
  const iso_compare_options cases[] = {{0},
                                       {.model = &model},
                                       {.model = &model, .n_policies = 2, .policies = twice},
                                       {.model = &model, .n_policies = 17, .policies = twice},
                                       {.model = &model, .n_policies = 1, .policies = twice, .slice = 65},
                                       {.model = &model, .n_policies = 1, .policies = twice, .n_threads = {-1}},
                                       {.model = &(iso_compare_model){0}, .n_policies = 1, .policies = twice}};
  iso_comparison *c;
  char why[256];
  (void)unused;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_int_equal(iso_compare(&cases[i], &c, why, sizeof why), ISO_INVALID_ARGUMENT);
    assert_null(c);
  }
  assert_int_equal(
      iso_compare(&(iso_compare_options){.model = &model, .n_policies = 1, .policies = unknown}, &c, why, sizeof why),
      ISO_NOT_FOUND);
  assert_non_null(strstr(why, "slow"));
}

static void medians_and_their_intervals(void **unused) {
  const double values[] = {9, 1, 8, 2, 7, 3, 6, 4, 5};
  (void)unused;
  const iso_sample_stats s = iso_sample_stats_of(values, 9), one = iso_sample_stats_of(values, 1);
  assert_true(s.median == 5 && s.p95 == 9 && s.low == 2 && s.high == 9);
  assert_true(one.median == 9 && one.low == 9 && one.high == 9);
  assert_true(isnan(iso_sample_stats_of(NULL, 0).median));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_the_same_bits),         cmocka_unit_test(finds_other_bits),
      cmocka_unit_test(failures_name_the_run),       cmocka_unit_test(stops_on_request),
      cmocka_unit_test(refuses_what_makes_no_sense), cmocka_unit_test(medians_and_their_intervals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
