/* test_poison.c: the caller's floating-point mode (flush to zero, another rounding) must not change one bit of what the
 * library computes, on its own threads or on the caller's, and must still be set when a call returns. Every scenario
 * runs in the default mode and in each poisoned one, and its results are compared. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/isobit.h>
#if defined(__x86_64__)
#  include <xmmintrin.h>
enum { N_MODES = 5 };
static const unsigned modes[N_MODES] = {0x1f80, 0x1f80 | 0x8040, 0x1f80 | 0x4000, 0x1f80 | 0x2000, 0x1f80 | 0xe040};
static void set_mode(int i) { _mm_setcsr(modes[i]); }
static bool is_mode(int i) { return (_mm_getcsr() & ~0x3fu) == modes[i]; }
#else
#  include <fenv.h>
enum { N_MODES = 3 };
static const int modes[N_MODES] = {FE_TONEAREST, FE_UPWARD, FE_TOWARDZERO};
static void set_mode(int i) { fesetround(modes[i]); }
static bool is_mode(int i) { return fegetround() == modes[i]; }
#endif

/* What a scenario found: numbers, compared bit by bit. */
typedef struct record {
  int n;
  uint64_t bits[4096];
} record;
static void put_bits(record *r, uint64_t bits) {
  if (r->n < 4096) r->bits[r->n++] = bits;
}
static void put(record *r, double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  put_bits(r, bits);
}
static void put_tensor(record *r, const iso_tensor *t) {
  char hex[33] = "";
  put_bits(r, (uint64_t)iso_tensor_hash(t, hex));
  put_bits(r, strtoull(hex + 16, NULL, 16));
}
static void put_f32(record *r, float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  put_bits(r, bits);
}

static iso_context *context_new(void) {
  iso_policy policy;
  iso_context *ctx;
  iso_policy_preset("reproducible", &policy);
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = 2, .policy = &policy}, &ctx), ISO_OK);
  return ctx;
}

static void scenario_numbers(record *r) {
  static const float x[] = {1e-40f, -3e-39f, 0.3f, -0.7f, 2.9f, 17.1f, 1e-38f, 65519.99f, 3.1e-8f};
  static const double w[] = {1e-40, -3e-310, 0.3,      -0.7,  2.9,
                             17.1,  1e-308,  65519.99, 3.1e-8}; /* no arithmetic of ours */

  for (size_t i = 0; i < sizeof x / sizeof x[0]; i++) {
    float (*const f[])(float) = {iso_f32_exp,       iso_f32_exp2,     iso_f32_expm1, iso_f32_log,
                                 iso_f32_log2,      iso_f32_log1p,    iso_f32_tanh,  iso_f32_sigmoid,
                                 iso_f32_silu,      iso_f32_softplus, iso_f32_erf,   iso_f32_gelu,
                                 iso_f32_gelu_tanh, iso_f32_rsqrt,    iso_f32_sinpi, iso_f32_cospi};
    double (*const g[])(double) = {iso_f64_exp,       iso_f64_exp2,     iso_f64_expm1, iso_f64_log,
                                   iso_f64_log2,      iso_f64_log1p,    iso_f64_tanh,  iso_f64_sigmoid,
                                   iso_f64_silu,      iso_f64_softplus, iso_f64_erf,   iso_f64_gelu,
                                   iso_f64_gelu_tanh, iso_f64_rsqrt,    iso_f64_sinpi, iso_f64_cospi};
    for (size_t k = 0; k < sizeof f / sizeof f[0]; k++) put_f32(r, isnan(f[k](x[i])) ? 0 : f[k](x[i]));
    for (size_t k = 0; k < sizeof g / sizeof g[0]; k++) put(r, isnan(g[k](w[i])) ? 0 : g[k](w[i]));
    if (i == 2 || i >= 4) put_f32(r, iso_f32_pow(x[i], 0.37f));
    if (i == 2 || i >= 4) put(r, iso_f64_pow(w[i], 0.37));
    put(r, iso_f64_powi(w[i], 13));
    put_bits(r, iso_f16_from_f32(x[i]));
    put_bits(r, iso_bf16_from_f32(x[i]));
    put_bits(r, iso_f16_from_f64(w[i]));
    put_bits(r, iso_bf16_from_f64(w[i]));
  }
  put_f32(r, iso_f32_from_f16(3));
  put_f32(r, iso_f32_from_bf16(3));
  const iso_philox at = {.seed = 5, .stream = ISO_PHILOX_USER};
  float f[64];
  double d[64];
  assert_true(iso_philox_uniform_f32(&at, 0, 64, -0.3f, 0.9f, f));
  for (int i = 0; i < 64; i++) put_f32(r, f[i]);
  assert_true(iso_philox_uniform_f64(&at, 0, 64, -0.3, 0.9, d));
  for (int i = 0; i < 64; i++) put(r, d[i]);
  assert_true(iso_philox_normal_f32(&at, 0, 64, 1e-39f, 0.9f, f));
  for (int i = 0; i < 64; i++) put_f32(r, f[i]);
  assert_true(iso_philox_normal_f64(&at, 0, 64, -0.3, 0.9, d));
  for (int i = 0; i < 64; i++) put(r, d[i]);
}

static void scenario_schedules(record *r) {
  for (int kind = 0; kind < 3; kind++)
    for (uint64_t step = 0; step < 30; step++)
      put(r, iso_schedule_lr(
                 &(iso_schedule){
                     .kind = (iso_schedule_kind)kind, .lr = 0.1, .warmup_steps = 3, .period = 7, .min_lr = 1e-5},
                 step));
}

static void scenario_tensors(record *r) {
  iso_context *ctx = context_new();
  static const double values[] = {0.1, 1e-40, -1e-310, 1e-46, 3.7e38, 65504.1, 5e-8, -0.3};
  static const iso_dtype dtypes[] = {ISO_F32, ISO_F64, ISO_F16, ISO_BF16, ISO_I64, ISO_I32, ISO_U8, ISO_BOOL};
  double v;
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
    for (int d = 0; d < ISO_DTYPE_COUNT; d++) {
      iso_tensor *t = iso_tensor_full(ctx, dtypes[d], 1, ISO_DIMS(1), values[i]);
      put_tensor(r, t);
      assert_int_equal(iso_tensor_item(t, &v), ISO_OK);
      put(r, v);
      assert_int_equal(iso_tensor_at(t, ISO_DIMS(0), &v), ISO_OK);
      put(r, v);
      iso_tensor *to = iso_tensor_zeros(ctx, ISO_F32, 1, ISO_DIMS(1));
      assert_int_equal(iso_tensor_assign(to, t), ISO_OK);
      put_tensor(r, to);
      put_tensor(r, iso_cast(ctx, to, ISO_F16));
      put_tensor(r, iso_cast(ctx, to, ISO_F64));
    }
  iso_context_free(ctx);
}

/* Every operator whose scalars or counts the host computes with. */
static void scenario_operators(record *r) {
  iso_context *ctx = context_new();
  iso_tensor *x = iso_random_normal(ctx, ISO_F32, 4, ISO_DIMS(3, 5, 7, 3), 0.1, 0.3);
  iso_tensor *z = iso_random_uniform(ctx, ISO_F64, 2, ISO_DIMS(13, 11), 0.1, 0.7);
  iso_requires_grad(x, true), iso_requires_grad(z, true);
  put_tensor(r, iso_random_bernoulli(ctx, ISO_F32, 1, ISO_DIMS(50), 0.3));
  const double scalars[] = {0.1, 1e-40, 1.0 / 3, -2.7};
  for (int i = 0; i < 8; i++) {
    iso_scope_push(ctx);
    const iso_tensor *t = i & 1 ? z : x;
    const double s = scalars[i / 2];
    iso_tensor *const y[] = {iso_add_scalar(ctx, t, s),
                             iso_mul_scalar(ctx, t, s),
                             iso_rsub_scalar(ctx, t, s),
                             iso_div_scalar(ctx, t, s),
                             iso_rdiv_scalar(ctx, t, s),
                             iso_pow_scalar(ctx, iso_abs(ctx, t), s),
                             iso_clamp(ctx, t, -0.1, 0.1),
                             iso_var(ctx, t, 1, (const int[]){0}, false, s),
                             iso_mean_all(ctx, t),
                             iso_mse_loss(ctx, t, iso_mul_scalar(ctx, t, 0.3), &(iso_loss_options){.count = 0.7}),
                             iso_dropout(ctx, t, 0.3, true),
                             iso_softmax(ctx, t, 0)};
    for (size_t k = 0; k < sizeof y / sizeof y[0]; k++) {
      put_tensor(r, y[k]);
      assert_int_equal(iso_backward_with(y[k], NULL, &(iso_backward_options){.retain_graph = true}), ISO_OK);
      put_tensor(r, iso_grad(t));
    }
    iso_tape_clear(ctx);
    iso_scope_pop(ctx);
  }
  iso_tensor *gamma = iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(5), 1.1),
             *beta = iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(5), 0.1);
  iso_tensor *mean = iso_tensor_zeros(ctx, ISO_F32, 1, ISO_DIMS(5)),
             *var = iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(5), 0.7);
  put_tensor(r, iso_batch_norm(ctx, x, gamma, beta, mean, var, &(iso_batch_norm_options){.training = true}));
  put_tensor(r, mean), put_tensor(r, var);
  iso_tensor *logits = iso_detach(ctx, iso_cast(ctx, z, ISO_F32));
  iso_requires_grad(logits, true);
  iso_tensor *target = iso_tensor_full(ctx, ISO_I64, 1, ISO_DIMS(13), 3);
  iso_tensor *weights = iso_random_uniform(ctx, ISO_F32, 1, ISO_DIMS(11), 0.1, 0.9);
  for (int i = 0; i < 4; i++) {
    iso_tensor *loss = iso_cross_entropy(
        ctx, logits, target, &(iso_cross_entropy_options){.weights = i & 1 ? weights : NULL, .count = i & 2 ? 0.3 : 0});
    put_tensor(r, loss);
    assert_int_equal(iso_backward(loss), ISO_OK);
    put_tensor(r, iso_grad(logits));
  }
  iso_tensor *g = iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(11), 0.3);
  iso_no_grad_push(ctx);
  assert_int_equal(iso_accumulate(g, weights, 0.1), ISO_OK);
  iso_no_grad_pop(ctx);
  put_tensor(r, g);
  if (iso_error_code(ctx)) fail_msg("%s", iso_error_message(ctx));
  iso_context_free(ctx);
}

static void scenario_initialisers(record *r) {
  iso_context *ctx = context_new();
  iso_tensor *t = iso_tensor_zeros(ctx, ISO_F32, 4, ISO_DIMS(7, 3, 3, 5));
  iso_init_kaiming_uniform(t, 0, ISO_FAN_IN, 1), put_tensor(r, t);
  iso_init_kaiming_normal(t, 0.3, ISO_FAN_OUT, 1), put_tensor(r, t);
  iso_init_xavier_uniform(t, 0, 1), put_tensor(r, t);
  iso_init_xavier_normal(t, 0.3, 1), put_tensor(r, t);
  iso_init_uniform(t, -0.1, 0.3, 1), put_tensor(r, t);
  iso_init_normal(t, -0.1, 0.3, 1), put_tensor(r, t);
  iso_init_constant(t, 0.1), put_tensor(r, t);
  iso_context_free(ctx);
}

/* Training in leaves, clipping, evaluation, with each optimiser. */
static void scenario_training(record *r) {
  static const char *const optimizers[] = {"sgd",      "adam",   "adamw", "rmsprop", "adagrad",
                                           "adadelta", "adamax", "nadam", "radam"};
  for (int o = 0; o < 9; o++) {
    iso_policy policy;
    iso_context *ctx;
    iso_policy_preset("reproducible", &policy);
    policy.leaves = o == 1 ? 4 : 1;
    assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = 2, .policy = &policy}, &ctx), ISO_OK);
    iso_trainer *t = iso_trainer_new(ctx, &(iso_vision_options){.model = "mlp",
                                                                .data_folder = "synthetic",
                                                                .batch_size = 13,
                                                                .optimizer = optimizers[o],
                                                                .n_steps = 5,
                                                                .warmup_steps = 2,
                                                                .clip_norm = 0.3,
                                                                .augment = true,
                                                                .n_workers = o % 3,
                                                                .nesterov = o == 0});
    if (!t) fail_msg("%s", iso_error_message(ctx));
    for (int i = 0; i < 3; i++) {
      iso_step_info info;
      if (iso_trainer_step(t, &info)) fail_msg("%s", iso_error_message(ctx));
      put(r, info.loss), put(r, info.lr), put(r, info.grad_norm);
    }
    iso_evaluation e;
    char hex[33];
    assert_int_equal(iso_trainer_evaluate(t, 60, &e), ISO_OK);
    put(r, e.loss), put(r, e.accuracy);
    assert_int_equal(iso_trainer_weights_hash(t, hex), ISO_OK);
    put_bits(r, strtoull(hex + 16, NULL, 16));
    put_bits(r, strtoull(iso_trainer_data_info(t, ISO_SPLIT_TRAIN).hash + 16, NULL, 16));
    iso_trainer_free(t);
    iso_context_free(ctx);
  }
}

static void compare(void (*scenario)(record *), const char *name) {
  static record usual, poisoned;
  usual.n = 0;
  set_mode(0);
  scenario(&usual);
  for (int m = 1; m < N_MODES; m++) {
    poisoned.n = 0;
    set_mode(m);
    scenario(&poisoned);
    const bool kept = is_mode(m);
    set_mode(0);
    if (!kept) fail_msg("%s: mode %d was not given back", name, m);
    assert_int_equal(usual.n, poisoned.n);
    for (int i = 0; i < usual.n; i++)
      if (usual.bits[i] != poisoned.bits[i])
        fail_msg("%s: result %d of %d is %016llx, in mode %d %016llx", name, i, usual.n,
                 (unsigned long long)usual.bits[i], m, (unsigned long long)poisoned.bits[i]);
  }
}
#define TEST(name)                                                                                                     \
  static void test_##name(void **state) {                                                                              \
    (void)state;                                                                                                       \
    compare(scenario_##name, #name);                                                                                   \
  }
TEST(numbers)
TEST(schedules)
TEST(tensors)
TEST(operators)
TEST(initialisers)
TEST(training)

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers),      cmocka_unit_test(test_schedules),
                                     cmocka_unit_test(test_tensors),      cmocka_unit_test(test_operators),
                                     cmocka_unit_test(test_initialisers), cmocka_unit_test(test_training)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
