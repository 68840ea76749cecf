/* test_capture.c: captures where nothing can be captured: the reason is said, no error is left, and what follows runs
 * as usual. (What a device replays is compared in tests/cli/test_device.py, where there is one.) */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <pthread.h>
#include <isobit/isobit.h>

static iso_context *open_context(void) {
  iso_context *ctx;
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = 1, .device = "cpu"}, &ctx), ISO_OK);
  return ctx;
}

static void test_the_cpu_says_why(void **state) {
  (void)state;
  iso_context *ctx = open_context();
  iso_capture *c = iso_capture_new(ctx);
  assert_non_null(c);
  assert_string_equal(iso_capture_reason(c), "");
  assert_false(iso_capture_end(c));
  assert_non_null(strstr(iso_capture_reason(c), "no capture has begun"));
  assert_false(iso_capture_begin(c));
  assert_non_null(strstr(iso_capture_reason(c), "CPU"));
  const float values[3] = {-1, 0, 2};
  iso_tensor *x = iso_tensor_copy_from(ctx, ISO_F32, 1, ISO_DIMS(3), values);
  double sum;
  assert_int_equal(iso_tensor_item(iso_sum_all(ctx, iso_relu(ctx, x)), &sum), ISO_OK); /* ran at once */
  assert_true(sum == 2);
  assert_false(iso_capture_end(c));
  assert_non_null(strstr(iso_capture_reason(c), "CPU"));
  assert_int_equal(iso_error_code(ctx), ISO_OK);
  assert_int_equal(iso_capture_replay(c), ISO_STATE);
  assert_non_null(strstr(iso_error_message(ctx), "nothing was recorded"));
  assert_non_null(strstr(iso_error_message(ctx), "CPU"));
  iso_capture_free(c);
  iso_context_free(ctx);
}

static void test_an_error_before_it_is_its_reason(void **state) {
  (void)state;
  iso_context *ctx = open_context();
  iso_capture *c = iso_capture_new(ctx);
  iso_relu(ctx, NULL);
  iso_tensor_new(ctx, ISO_F32, -1, NULL);
  assert_int_not_equal(iso_error_code(ctx), ISO_OK);
  assert_false(iso_capture_begin(c));
  assert_string_equal(iso_capture_reason(c), iso_error_message(ctx));
  assert_null(iso_capture_new(ctx));
  iso_capture_free(c);
  iso_context_free(ctx);
}

static void test_nothing(void **state) {
  (void)state;
  iso_capture_free(NULL);
  assert_false(iso_capture_begin(NULL));
  assert_false(iso_capture_end(NULL));
  assert_int_equal(iso_capture_replay(NULL), ISO_INVALID_ARGUMENT);
  assert_non_null(iso_capture_reason(NULL));
}

/* ---- on a device ---- */

typedef struct job {
  iso_context *ctx;
  iso_module *net;
  iso_optimizer *optimizer;
  iso_tensor *x, *y;
} job;
enum { BATCH = 24, IN = 40, N_STEPS = 7 };

static void fill_batch(const job *j, unsigned step) {
  const char *device = iso_context_device(j->ctx);
  float values[BATCH * IN];
  const iso_philox at = {.seed = 5, .stream = ISO_PHILOX_USER, .site = step};
  assert_true(iso_philox_normal_f32(&at, 0, BATCH * IN, 0, 1, values));
  iso_scope_push(j->ctx);
  iso_context_set_device(j->ctx, "cpu");
  iso_tensor *x = iso_tensor_copy_from(j->ctx, ISO_F32, 2, ISO_DIMS(BATCH, IN), values);
  iso_context_set_device(j->ctx, device);
  assert_int_equal(iso_tensor_assign(j->x, x), ISO_OK);
  iso_scope_pop(j->ctx);
}

static job open_job(const char *device) {
  static const iso_named_tensor *tensors;
  iso_policy policy;
  size_t n;
  job j = {0};
  assert_int_equal(iso_policy_preset("portable", &policy), ISO_OK);
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = 1, .policy = &policy, .device = "cpu"}, &j.ctx),
                   ISO_OK);
  j.net = iso_sequential(j.ctx, 4,
                         (iso_module *[]){iso_linear_module(j.ctx, IN, 50, true), iso_dropout_module(j.ctx, 0.4),
                                          iso_relu_module(j.ctx), iso_linear_module(j.ctx, 50, 10, true)});
  iso_context_set_device(j.ctx, device);
  assert_int_equal(iso_module_to(j.net, device), ISO_OK);
  tensors = iso_module_tensors(j.net, &n);
  j.optimizer = iso_adam_new(j.ctx, n, tensors, NULL);
  j.x = iso_keep(iso_tensor_zeros(j.ctx, ISO_F32, 2, ISO_DIMS(BATCH, IN)));
  j.y = iso_keep(iso_tensor_full(j.ctx, ISO_F32, 2, ISO_DIMS(BATCH, 10), 0.25));
  assert_int_equal(iso_error_code(j.ctx), ISO_OK);
  return j;
}

static void close_job(job *j) {
  iso_optimizer_free(j->optimizer);
  iso_module_free(j->net);
  iso_context_free(j->ctx);
}

static iso_tensor *forward_and_backward(const job *j) {
  iso_tensor *noise = iso_random_uniform(j->ctx, ISO_F32, 2, ISO_DIMS(BATCH, 10), 0, 0.01);
  iso_tensor *loss =
      iso_mse_loss(j->ctx, iso_add(j->ctx, iso_module_forward(j->net, j->x), noise), j->y, ISO_REDUCTION_MEAN);
  if (loss) iso_backward(loss);
  return loss;
}

/* Steps, recorded from the second on if `captured`; one in between run anew; all in one scope of autocast, so that
 * weights change in it. The losses, and the weights' hash. */
static void train(const char *device, bool captured, iso_dtype dtype, double loss[N_STEPS], char hash[33]) {
  job j = open_job(device);
  assert_int_equal(iso_autocast_push(j.ctx, &(iso_autocast_options){.dtype = dtype}), ISO_OK);
  iso_capture *c = iso_capture_new(j.ctx);
  iso_tensor *recorded = NULL;
  for (unsigned step = 0; step < N_STEPS; step++) {
    iso_scope_push(j.ctx);
    fill_batch(&j, step);
    if (captured && step == 1) {
      if (iso_capture_begin(c)) recorded = iso_keep(forward_and_backward(&j));
      assert_true(iso_capture_end(c));
      assert_null(iso_grad(iso_module_tensors(j.net, &(size_t){0})[0].tensor)); /* nothing has run */
    }
    iso_tensor *l = recorded && step != 4 ? recorded : forward_and_backward(&j);
    if (l == recorded) assert_int_equal(iso_capture_replay(c), ISO_OK);
    assert_int_equal(iso_tensor_item(l, &loss[step]), ISO_OK);
    assert_int_equal(iso_optimizer_step(j.optimizer), ISO_OK);
    iso_optimizer_zero_grad(j.optimizer);
    iso_scope_pop(j.ctx);
  }
  assert_int_equal(iso_tensor_hash(iso_module_tensors(j.net, &(size_t){0})[0].tensor, hash), ISO_OK);
  iso_capture_free(c); /* before a tensor that was made in it */
  iso_release(recorded);
  close_job(&j);
}

static bool has_device(void) {
  iso_device_check list[ISO_MAX_DEVICE_CHECKS];
  const int n = iso_device_checks(list);
  return n > 0 && list[n - 1].passed;
}
#define NEEDS_A_DEVICE()                                                                                               \
  do {                                                                                                                 \
    (void)state;                                                                                                       \
    if (!has_device()) skip();                                                                                         \
  } while (0)

static void replays_have_the_bits(iso_dtype dtype) {
  double loss[3][N_STEPS];
  char hash[3][33];
  train("cpu", false, dtype, loss[0], hash[0]);
  train("cuda:0", false, dtype, loss[1], hash[1]);
  train("cuda:0", true, dtype, loss[2], hash[2]);
  for (int i = 1; i < 3; i++) {
    assert_memory_equal(loss[0], loss[i], sizeof loss[0]);
    assert_string_equal(hash[0], hash[i]);
  }
  for (int s = 1; s < N_STEPS; s++) assert_true(loss[0][s] != loss[0][s - 1]);
}

static void test_replays_have_the_bits(void **state) {
  NEEDS_A_DEVICE();
  replays_have_the_bits(ISO_F32);
}
/* Recordings read the weights of their day, not casts of the day they were made. */
static void test_replays_in_low_precision(void **state) {
  NEEDS_A_DEVICE();
  replays_have_the_bits(ISO_BF16);
  replays_have_the_bits(ISO_F16);
}

static void test_what_cannot_be_recorded(void **state) {
  NEEDS_A_DEVICE();
  job j = open_job("cuda:0");
  iso_capture *c = iso_capture_new(j.ctx);
  double value;
  fill_batch(&j, 0);
  forward_and_backward(&j);
  assert_false(iso_capture_begin(c));
  assert_non_null(strstr(iso_capture_reason(c), "gradients are not zeroed"));
  iso_optimizer_zero_grad(j.optimizer);
  iso_tensor *loss = iso_sum_all(j.ctx, iso_module_forward(j.net, j.x)); /* recorded, not yet walked */
  assert_false(iso_capture_begin(c));
  assert_non_null(strstr(iso_capture_reason(c), "tape holds work"));
  iso_no_grad_push(j.ctx); /* what records nothing on the tape leaves it alone, though it fails */
  assert_true(iso_capture_begin(c));
  iso_tensor_item(iso_sum_all(j.ctx, j.x), &value);
  assert_false(iso_capture_end(c));
  iso_no_grad_pop(j.ctx);
  assert_int_equal(iso_backward(loss), ISO_OK);
  assert_non_null(iso_grad(iso_module_tensors(j.net, &(size_t){0})[0].tensor));
  iso_optimizer_zero_grad(j.optimizer);
  assert_true(iso_capture_begin(c)); /* the update */
  forward_and_backward(&j);
  assert_int_equal(iso_optimizer_step(j.optimizer), ISO_STATE);
  assert_false(iso_capture_end(c));
  assert_non_null(strstr(iso_capture_reason(c), "change from step to step"));
  assert_int_equal(iso_error_code(j.ctx), ISO_OK);
  assert_true(iso_capture_begin(c)); /* clipping */
  forward_and_backward(&j);
  assert_int_equal(iso_optimizer_clip_grad_norm(j.optimizer, 1, NULL), ISO_STATE);
  assert_false(iso_capture_end(c));
  assert_non_null(strstr(iso_capture_reason(c), "change from step to step"));
  assert_true(iso_capture_begin(c)); /* the loss is read in between */
  iso_capture *second = iso_capture_new(j.ctx);
  assert_false(iso_capture_begin(second));
  iso_capture_free(second);
  iso_tensor_item(forward_and_backward(&j), &value);
  assert_false(iso_capture_end(c));
  assert_non_null(strstr(iso_capture_reason(c), "between host and device"));
  assert_int_equal(iso_error_code(j.ctx), ISO_OK);
  assert_null(iso_grad(iso_module_tensors(j.net, &(size_t){0})[0].tensor));
  assert_true(iso_capture_begin(c)); /* a shape that does not fit */
  iso_add(j.ctx, j.x, j.y);
  assert_false(iso_capture_end(c));
  assert_non_null(strstr(iso_capture_reason(c), "add"));
  assert_int_equal(iso_error_code(j.ctx), ISO_OK);
  assert_true(iso_capture_begin(c)); /* more memory than there is */
  iso_tensor_zeros(j.ctx, ISO_F32, 1, ISO_DIMS((int64_t)1 << 42));
  assert_false(iso_capture_end(c));
  assert_int_equal(iso_error_code(j.ctx), ISO_OK);
  assert_true(iso_capture_begin(c)); /* a result brought to the host, and looked at before there is one */
  iso_tensor_item(iso_to(j.ctx, iso_sum_all(j.ctx, j.x), "cpu"), &value);
  assert_false(iso_capture_end(c));
  assert_non_null(strstr(iso_capture_reason(c), "waits"));
  /* After all that it works. */
  assert_true(iso_capture_begin(c));
  iso_tensor *sum = iso_keep(iso_sum_all(j.ctx, iso_tensor_full(j.ctx, ISO_F32, 1, ISO_DIMS(64), 0.5)));
  assert_true(iso_capture_end(c));
  assert_int_equal(iso_capture_replay(c), ISO_OK);
  assert_int_equal(iso_tensor_item(sum, &value), ISO_OK);
  assert_true(value == 32);
  assert_false(iso_capture_begin(c));
  assert_non_null(strstr(iso_capture_reason(c), "already"));
  iso_capture_free(c);
  assert_int_equal(iso_tensor_item(sum, &value), ISO_OK);
  close_job(&j);
}

static void test_replays_that_would_differ(void **state) {
  NEEDS_A_DEVICE();
  job j = open_job("cuda:0");
  iso_capture *c = iso_capture_new(j.ctx);
  fill_batch(&j, 0);
  forward_and_backward(&j);
  iso_optimizer_zero_grad(j.optimizer);
  iso_random_set_step(j.ctx, 1);
  assert_true(iso_capture_begin(c));
  forward_and_backward(&j);
  assert_true(iso_capture_end(c));
  assert_int_equal(iso_capture_replay(c), ISO_OK);
  iso_random_set_step(j.ctx, 2);
  assert_int_equal(iso_capture_replay(c), ISO_STATE); /* would have been added up */
  assert_non_null(strstr(iso_error_message(j.ctx), "zero them"));
  iso_clear_error(j.ctx);
  iso_optimizer_zero_grad(j.optimizer);
  iso_random_uniform(j.ctx, ISO_F32, 1, ISO_DIMS(3), 0, 1);
  assert_int_equal(iso_capture_replay(c), ISO_STATE); /* another site */
  assert_non_null(strstr(iso_error_message(j.ctx), "site"));
  iso_clear_error(j.ctx);
  iso_random_set_step(j.ctx, 3);
  assert_int_equal(iso_capture_replay(c), ISO_OK);
  iso_capture_free(c);
  close_job(&j);
}

static void fail_at_a_warning(void *user, const char *sentence) {
  (void)user;
  if (strstr(sentence, "not captured")) fail_msg("%s", sentence);
}

/* Results that a capture brings to the host: small ones and large ones, of any layout. */
static void test_results_on_the_host(void **state) {
  NEEDS_A_DEVICE();
  enum { LARGE = 5000 };
  job j = open_job("cuda:0");
  iso_capture *c = iso_capture_new(j.ctx);
  iso_tensor *large = NULL, *turned = NULL, *sum = NULL;
  iso_tensor *wide = iso_keep(iso_tensor_zeros(j.ctx, ISO_F32, 1, ISO_DIMS(LARGE)));
  assert_true(iso_capture_begin(c));
  sum = iso_keep(iso_to(j.ctx, iso_sum_all(j.ctx, j.x), "cpu"));
  turned = iso_keep(iso_to(j.ctx, iso_transpose(j.ctx, iso_relu(j.ctx, j.x), 0, 1), "cpu"));
  large = iso_keep(iso_to(j.ctx, iso_add_scalar(j.ctx, wide, 3), "cpu"));
  assert_true(iso_capture_end(c));
  for (unsigned step = 0; step < 3; step++) {
    double got, expected;
    char hash[2][33];
    float values[LARGE];
    fill_batch(&j, step);
    assert_int_equal(iso_capture_replay(c), ISO_OK);
    assert_int_equal(iso_tensor_item(sum, &got), ISO_OK);
    assert_int_equal(iso_tensor_item(iso_sum_all(j.ctx, j.x), &expected), ISO_OK);
    assert_true(got == expected && got != 0);
    assert_string_equal(iso_tensor_device(turned), "cpu");
    iso_tensor_hash(turned, hash[0]);
    iso_tensor_hash(iso_transpose(j.ctx, iso_relu(j.ctx, j.x), 0, 1), hash[1]);
    assert_string_equal(hash[0], hash[1]);
    assert_int_equal(iso_tensor_copy_to(large, values, sizeof values), ISO_OK);
    for (int i = 0; i < LARGE; i++) assert_true(values[i] == 3);
  }
  iso_capture_free(c);
  float values[LARGE];
  assert_int_equal(iso_tensor_copy_to(large, values, sizeof values), ISO_OK); /* its memory is still its own */
  close_job(&j);
}

static void *sum_elsewhere(void *sum) {
  iso_context *ctx;
  if (iso_context_new(&(iso_context_options){.n_threads = 1, .device = "cuda:0"}, &ctx) != ISO_OK) return NULL;
  iso_tensor_item(iso_sum_all(ctx, iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(64), 0.5)), sum);
  iso_context_free(ctx);
  return NULL;
}

/* What another thread asks of the device in between runs at once, and is no part of the graph. */
static void test_another_thread_goes_on(void **state) {
  NEEDS_A_DEVICE();
  job j = open_job("cuda:0");
  iso_capture *c = iso_capture_new(j.ctx);
  double elsewhere = 0, got, expected;
  pthread_t thread;
  sum_elsewhere(&elsewhere); /* loads its code */
  elsewhere = 0;
  iso_sum_all(j.ctx, iso_relu(j.ctx, j.x));
  assert_true(iso_capture_begin(c));
  iso_tensor *sum = iso_keep(iso_sum_all(j.ctx, iso_relu(j.ctx, j.x)));
  assert_int_equal(pthread_create(&thread, NULL, sum_elsewhere, &elsewhere), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_true(elsewhere == 32);
  assert_true(iso_capture_end(c));
  for (unsigned step = 0; step < 2; step++) {
    fill_batch(&j, step);
    assert_int_equal(iso_capture_replay(c), ISO_OK);
    assert_int_equal(iso_tensor_item(sum, &got), ISO_OK);
    assert_int_equal(iso_tensor_item(iso_sum_all(j.ctx, iso_relu(j.ctx, j.x)), &expected), ISO_OK);
    assert_true(got == expected && got > 0);
  }
  iso_capture_free(c);
  close_job(&j);
}

/* A trainer's steps: recorded, interrupted by one of four leaves, recorded in leaves from the start. */
static void run_trainer(const char *device, const char *capture, const char *precision, int leaves, char hash[33]) {
  iso_policy policy, other;
  iso_context *ctx;
  assert_int_equal(iso_policy_preset("portable", &policy), ISO_OK);
  policy.leaves = leaves;
  other = policy, other.leaves = 4;
  assert_int_equal(iso_context_new(&(iso_context_options){.policy = &policy, .device = device}, &ctx), ISO_OK);
  iso_set_warning_handler(ctx, fail_at_a_warning, NULL);
  iso_trainer *t = iso_trainer_new(ctx, &(iso_vision_options){.model = "cnn",
                                                              .data_folder = "synthetic",
                                                              .batch_size = 16,
                                                              .n_steps = 6,
                                                              .clip_norm = 0.5,
                                                              .precision = precision,
                                                              .capture = capture});
  for (int s = 0; s < 6; s++) {
    if (s == 3) iso_policy_push(ctx, &other);
    assert_int_equal(iso_trainer_step(t, NULL), ISO_OK);
    if (s == 3) iso_policy_pop(ctx);
  }
  assert_int_equal(iso_trainer_weights_hash(t, hash), ISO_OK);
  assert_int_equal(iso_trainer_is_captured(t), strcmp(capture, "off") != 0 && strcmp(device, "cpu") != 0);
  iso_trainer_free(t);
  iso_context_free(ctx);
}

static void test_trainers(void **state) {
  NEEDS_A_DEVICE();
  static const char *const precisions[] = {"f32", "bf16", "f16"};
  for (int k = 0; k < 3; k++)
    for (int leaves = 1; leaves <= 2; leaves++) {
      char hash[3][33];
      run_trainer("cpu", "auto", precisions[k], leaves, hash[0]);
      run_trainer("cuda:0", "off", precisions[k], leaves, hash[1]);
      run_trainer("cuda:0", "auto", precisions[k], leaves, hash[2]);
      assert_string_equal(hash[0], hash[1]);
      assert_string_equal(hash[0], hash[2]);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_cpu_says_why),
                                     cmocka_unit_test(test_an_error_before_it_is_its_reason),
                                     cmocka_unit_test(test_nothing),
                                     cmocka_unit_test(test_replays_have_the_bits),
                                     cmocka_unit_test(test_replays_in_low_precision),
                                     cmocka_unit_test(test_what_cannot_be_recorded),
                                     cmocka_unit_test(test_replays_that_would_differ),
                                     cmocka_unit_test(test_results_on_the_host),
                                     cmocka_unit_test(test_another_thread_goes_on),
                                     cmocka_unit_test(test_trainers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
