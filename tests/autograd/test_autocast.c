/* test_autocast.c: what operators compute in inside autocast, that bits are those of casts written by hand whatever the
 * threads and the instruction set, that gradients of f32 weights are f32, that casts of weights are kept and dropped,
 * that what is saved is saved narrow, and that errors and lack of memory are clean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/isobit.h>
#include "autograd/autocast.h"

static iso_context *ctx;
static int n_warnings;
static void count_warnings(void *user, const char *sentence) {
  (void)user;
  n_warnings += strstr(sentence, "memory, not time") != NULL;
}
static iso_context *context_new(int n_threads, const char *isa) {
  iso_policy policy;
  iso_context *made;
  assert_int_equal(iso_policy_preset("reproducible", &policy), ISO_OK);
  assert_int_equal(
      iso_context_new(&(iso_context_options){.n_threads = n_threads, .isa = isa, .policy = &policy}, &made), ISO_OK);
  iso_set_warning_handler(made, count_warnings, NULL);
  return made;
}
static int setup(void **state) {
  (void)state;
  ctx = context_new(2, NULL);
  iso_scope_push(ctx);
  return 0;
}
static int teardown(void **state) {
  (void)state;
  iso_scope_pop(ctx);
  iso_context_free(ctx);
  return 0;
}
static void expect_error(iso_status code, const char *words) {
  assert_int_equal(iso_error_code(ctx), code);
  if (!strstr(iso_error_message(ctx), words)) fail_msg("'%s' does not say '%s'", iso_error_message(ctx), words);
  iso_clear_error(ctx);
}
static void expect_ok(void) {
  if (iso_error_code(ctx)) fail_msg("%s", iso_error_message(ctx));
}
static iso_tensor *normal(uint64_t seed, int n_dims, const int64_t *shape) {
  const iso_philox at = {.seed = seed, .stream = ISO_PHILOX_USER};
  iso_tensor *x = iso_tensor_new(ctx, ISO_F32, n_dims, shape);
  assert_int_equal(iso_fill_normal(x, &at, 0, 0.5), ISO_OK);
  return x;
}
static void push(iso_dtype dtype, const char *overrides) {
  assert_int_equal(iso_autocast_push(ctx, &(iso_autocast_options){.dtype = dtype, .overrides = overrides}), ISO_OK);
}
static void pop(void) { assert_int_equal(iso_autocast_pop(ctx), ISO_OK); }
static void expect_dtype(const char *what, const iso_tensor *t, iso_dtype dtype) {
  expect_ok();
  if (iso_tensor_dtype(t) != dtype)
    fail_msg("%s is %s, not %s", what, iso_dtype_name(iso_tensor_dtype(t)), iso_dtype_name(dtype));
}
static void expect_same(const char *what, const iso_tensor *a, const iso_tensor *b) {
  char hash_a[33], hash_b[33];
  expect_ok();
  assert_int_equal(iso_tensor_hash(a, hash_a), ISO_OK);
  assert_int_equal(iso_tensor_hash(b, hash_b), ISO_OK);
  if (strcmp(hash_a, hash_b) != 0) fail_msg("%s differs", what);
}

/* ---- the list ---- */

static void test_list(void **state) {
  (void)state;
  int n, n_operators, n_kinds[ISO_AUTOCAST_N_KINDS] = {0};
  const iso_autocast_row *rows = iso_autocast_list(&n);
  const iso_operator_info *operators = iso_operator_list(&n_operators);
  for (int i = 0; i < n; i++) {
    bool known = false;
    for (int k = 0; k < n_operators && !known; k++) known = operators[k].name && !strcmp(operators[k].name, rows[i].op);
    if (!known) fail_msg("'%s' is no operator", rows[i].op);
    if (i && strcmp(rows[i - 1].op, rows[i].op) >= 0) fail_msg("'%s' is out of order", rows[i].op);
    n_kinds[rows[i].kind]++;
  }
  for (int k = 0; k < ISO_AUTOCAST_N_KINDS; k++) assert_true(n_kinds[k] > 5 && iso_autocast_kind_name(k));
  assert_null(iso_autocast_kind_name(ISO_AUTOCAST_N_KINDS));
}

/* One call an operator: the kinds' dtypes. */
static void test_kinds(void **state) {
  (void)state;
  const iso_dtype lows[] = {ISO_BF16, ISO_F16};
  for (int k = 0; k < 2; k++) {
    const iso_dtype low = lows[k];
    iso_tensor *x = normal(1, 2, ISO_DIMS(6, 8)), *w = normal(2, 2, ISO_DIMS(5, 8));
    iso_tensor *image = normal(3, 4, ISO_DIMS(2, 4, 6, 6)), *filter = normal(4, 4, ISO_DIMS(4, 4, 3, 3));
    iso_tensor *channel = iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(4), 1), *q = normal(5, 3, ISO_DIMS(2, 5, 4));
    push(low, NULL);
    assert_int_equal(iso_autocast_dtype(ctx), low);
    iso_tensor *y = iso_linear(ctx, x, w, NULL, false), *z = iso_conv2d(ctx, image, filter, channel, NULL);
    expect_dtype("linear", y, low);
    expect_dtype("matmul", iso_matmul(ctx, x, iso_transpose(ctx, w, 0, 1)), low);
    expect_dtype("conv2d", z, low);
    expect_dtype("attention", iso_scaled_dot_product_attention(ctx, q, q, q, NULL), low);
    expect_dtype("einsum", iso_einsum(ctx, "ij,kj->ik", 2, (const iso_tensor *const[]){x, w}), low);
    expect_dtype("addmm",
                 iso_addmm(ctx, iso_tensor_zeros(ctx, ISO_F32, 1, ISO_DIMS(6)), w, iso_transpose(ctx, x, 0, 1), 1, 1),
                 low);
    expect_dtype("softmax", iso_softmax(ctx, y, -1), ISO_F32);
    expect_dtype("layer_norm", iso_layer_norm(ctx, y, 1, NULL, NULL, 0), ISO_F32);
    expect_dtype("exp", iso_exp(ctx, y), ISO_F32);
    expect_dtype("pow_scalar", iso_pow_scalar(ctx, y, 2), ISO_F32);
    expect_dtype("softplus", iso_softplus(ctx, y), ISO_F32);
    expect_dtype("sum", iso_sum_all(ctx, y), ISO_F32);
    expect_dtype("cumsum", iso_cumsum(ctx, y, 1), ISO_F32);
    expect_dtype("mse_loss", iso_mse_loss(ctx, y, iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(6, 5)), NULL), ISO_F32);
    expect_dtype("cross_entropy", iso_cross_entropy(ctx, y, iso_tensor_zeros(ctx, ISO_I64, 1, ISO_DIMS(6)), NULL),
                 ISO_F32);
    expect_dtype("gelu", iso_gelu(ctx, y), low);
    expect_dtype("gelu of f32", iso_gelu(ctx, x), ISO_F32);
    expect_dtype("dropout", iso_dropout(ctx, y, 0.5, true), low);
    expect_dtype(
        "batch_norm",
        iso_batch_norm(ctx, z, channel, channel, NULL, NULL, &(iso_batch_norm_options){.training = true, .relu = true}),
        low);
    expect_dtype("max_pool2d", iso_max_pool2d(ctx, z, &(iso_pool2d_options){.kernel_h = 2, .kernel_w = 2}), low);
    expect_dtype("adaptive_avg_pool2d", iso_adaptive_avg_pool2d(ctx, z, 1, 1), low);
    expect_dtype("add of one dtype", iso_add(ctx, y, y), low);
    expect_dtype("add", iso_add(ctx, y, iso_cast(ctx, y, ISO_F32)), ISO_F32);
    expect_dtype("cat", iso_cat(ctx, 2, (const iso_tensor *const[]){y, iso_cast(ctx, y, ISO_F32)}, 0), ISO_F32);
    expect_dtype("eq", iso_eq(ctx, y, iso_cast(ctx, y, ISO_F32)), ISO_BOOL);
    expect_dtype("matmul of f64",
                 iso_matmul(ctx, iso_cast(ctx, x, ISO_F64), iso_tensor_zeros(ctx, ISO_F64, 1, ISO_DIMS(8))), ISO_F64);
    pop();
    assert_int_equal(iso_autocast_dtype(ctx), ISO_F32);
    expect_dtype("linear outside", iso_linear(ctx, x, w, NULL, false), ISO_F32);
  }
}

static void test_scopes(void **state) {
  (void)state;
  iso_tensor *x = normal(1, 2, ISO_DIMS(4, 4));
  push(ISO_BF16, "softmax=low,linear=f32");
  iso_tensor *low = iso_matmul(ctx, x, x);
  expect_dtype("linear=f32", iso_linear(ctx, low, x, NULL, false), ISO_F32);
  assert_int_equal(iso_autocast_kind_of(ctx, "softmax"), ISO_AUTOCAST_LOW);
  push(ISO_F16, NULL);
  expect_dtype("inner matmul", iso_matmul(ctx, low, x), ISO_F16);
  assert_int_equal(iso_autocast_kind_of(ctx, "softmax"), ISO_AUTOCAST_F32);
  push(ISO_F32, NULL);
  expect_dtype("matmul, off", iso_matmul(ctx, x, x), ISO_F32);
  pop();
  pop();
  expect_dtype("matmul, outer again", iso_matmul(ctx, x, x), ISO_BF16);
  pop();
}

static void test_refusals(void **state) {
  (void)state;
  static const struct {
    iso_autocast_options options;
    const char *words;
  } bad[] = {{{.dtype = ISO_F64}, "f64"},
             {{.dtype = (iso_dtype)77}, "none"},
             {{.dtype = ISO_BF16, .overrides = "softmx=low"}, "'softmx' is no operator"},
             {{.dtype = ISO_BF16, .overrides = "softmax"}, "'softmax' does not say"},
             {{.dtype = ISO_BF16, .overrides = "linear=f32,softmax=bf16"}, "'softmax=bf16' does not say"},
             {{.dtype = ISO_BF16, .overrides = "=low"}, "'' is no operator"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(iso_autocast_push(ctx, &bad[i].options), ISO_INVALID_ARGUMENT);
    expect_error(ISO_INVALID_ARGUMENT, bad[i].words);
    assert_int_equal(iso_autocast_dtype(ctx), ISO_F32);
  }
  assert_int_equal(iso_autocast_pop(ctx), ISO_STATE);
  expect_error(ISO_STATE, "more pops than pushes");
  assert_int_equal(iso_autocast_pop(NULL), ISO_INVALID_ARGUMENT);
  iso_tensor *half = iso_cast(ctx, normal(1, 2, ISO_DIMS(2, 2)), ISO_F16); /* outside, dtypes have to agree */
  assert_null(iso_linear(ctx, half, normal(2, 2, ISO_DIMS(2, 2)), NULL, false));
  expect_error(ISO_DTYPE_MISMATCH, "operand 1 is f16");
  n_warnings = 0;
  iso_context *fresh = context_new(1, NULL);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(iso_autocast_push(fresh, &(iso_autocast_options){.dtype = ISO_BF16}), ISO_OK);
    assert_int_equal(iso_autocast_pop(fresh), ISO_OK);
  }
  assert_int_equal(n_warnings, 1);
  assert_int_equal(iso_autocast_push(fresh, &(iso_autocast_options){.dtype = ISO_BF16}), ISO_OK); /* freed with it */
  iso_context_free(fresh);
}

/* ---- values ---- */

static iso_tensor *by_hand(iso_tensor *t, iso_dtype low) { return iso_cast(ctx, iso_cast(ctx, t, low), ISO_F32); }

/* Products of halves are those of f32 with rounded operands, rounded once; so are their gradients. */
static void test_products(void **state) {
  (void)state;
  const iso_dtype lows[] = {ISO_BF16, ISO_F16};
  for (int k = 0; k < 2; k++) {
    const iso_dtype low = lows[k];
    iso_tensor *dy = normal(9, 2, ISO_DIMS(300, 70)), *in[2][3], *y[2];
    for (int hand = 0; hand < 2; hand++) {
      in[hand][0] = iso_requires_grad(normal(1, 2, ISO_DIMS(300, 500)), true);
      in[hand][1] = iso_requires_grad(normal(2, 2, ISO_DIMS(70, 500)), true);
      in[hand][2] = iso_requires_grad(normal(3, 1, ISO_DIMS(70)), true);
      if (hand) {
        iso_tensor *z = iso_linear(ctx, by_hand(in[1][0], low), by_hand(in[1][1], low), by_hand(in[1][2], low), false);
        y[1] = iso_relu(ctx, iso_cast(ctx, z, low));
      } else {
        push(low, NULL);
        y[0] = iso_linear(ctx, in[0][0], in[0][1], in[0][2], true);
        pop();
      }
      assert_int_equal(iso_backward_with(y[hand], iso_cast(ctx, dy, low), NULL), ISO_OK);
    }
    expect_same("linear", y[0], y[1]);
    for (int i = 0; i < 3; i++) {
      expect_dtype("a weight's gradient", iso_grad(in[0][i]), ISO_F32);
      expect_same("linear's gradient", iso_grad(in[0][i]), iso_grad(in[1][i]));
    }
    iso_tensor *image[2], *filter[2], *z[2];
    for (int hand = 0; hand < 2; hand++) {
      image[hand] = iso_requires_grad(normal(1, 4, ISO_DIMS(3, 8, 13, 11)), true);
      filter[hand] = iso_requires_grad(normal(2, 4, ISO_DIMS(16, 8, 3, 3)), true);
      push(hand ? ISO_F32 : low, NULL);
      z[hand] =
          hand ? iso_relu(
                     ctx,
                     iso_cast(ctx, iso_conv2d(ctx, by_hand(image[1], low), by_hand(filter[1], low), NULL, NULL), low))
               : iso_conv2d(ctx, image[0], filter[0], NULL, &(iso_conv2d_options){.relu = true});
      pop();
      assert_int_equal(iso_backward(iso_sum_all(ctx, iso_square(ctx, iso_cast(ctx, z[hand], ISO_F32)))), ISO_OK);
    }
    expect_same("conv2d", z[0], z[1]);
    expect_same("conv2d's gradient for x", iso_grad(image[0]), iso_grad(image[1]));
    expect_same("conv2d's gradient for w", iso_grad(filter[0]), iso_grad(filter[1]));
  }
}

/* ---- a network with most of what models do ---- */

typedef struct net {
  iso_tensor *w[6], *x, *target;
} net;

static net net_new(void) {
  net n = {.x = normal(1, 3, ISO_DIMS(4, 16, 32)), .target = iso_tensor_zeros(ctx, ISO_I64, 1, ISO_DIMS(4))};
  static const int64_t shapes[6][2] = {{32, 32}, {32, 32}, {32, 32}, {128, 32}, {32, 128}, {10, 32}};
  for (int i = 0; i < 6; i++) n.w[i] = iso_requires_grad(normal(10 + (uint64_t)i, 2, shapes[i]), true);
  return n;
}
static iso_tensor *block(iso_context *c, void *user, iso_tensor *const *inputs) {
  const net *n = *(net *const *)user;
  iso_tensor *x = inputs[0], *q = iso_linear(c, x, n->w[0], NULL, false), *k = iso_linear(c, x, n->w[1], NULL, false);
  iso_tensor *v = iso_linear(c, x, n->w[2], NULL, false);
  iso_tensor *h = iso_dropout(c, iso_scaled_dot_product_attention(c, q, k, v, NULL), 0.25, true);
  h = iso_layer_norm(c, iso_add(c, x, h), 1, NULL, NULL, 0);
  iso_tensor *inner = iso_linear(c, iso_gelu(c, iso_linear(c, h, n->w[3], NULL, false)), n->w[4], NULL, false);
  return iso_layer_norm(c, iso_add(c, h, inner), 1, NULL, NULL, 0);
}
static iso_tensor *loss_of(const net *n, bool checkpoint) {
  iso_tensor *x = n->x;
  for (int i = 0; i < 3; i++) x = checkpoint ? iso_checkpoint(ctx, block, &n, sizeof n, 1, &x) : block(ctx, &n, &x);
  iso_tensor *pooled = iso_mean(ctx, x, 1, (int[]){1}, false);
  return iso_cross_entropy(ctx, iso_linear(ctx, pooled, n->w[5], NULL, false), n->target, NULL);
}
/* Loss and gradients under one hash. */
static void step(iso_dtype dtype, bool checkpoint, char hash[33]) {
  net n = net_new();
  iso_random_set_step(ctx, 3);
  push(dtype, NULL);
  iso_tensor *loss = loss_of(&n, checkpoint);
  pop();
  expect_ok();
  assert_int_equal(iso_backward(loss), ISO_OK);
  const iso_tensor *all[7] = {iso_reshape(ctx, loss, 1, ISO_DIMS(1))};
  for (int i = 0; i < 6; i++) {
    expect_dtype("gradient", iso_grad(n.w[i]), ISO_F32);
    all[i + 1] = iso_reshape(ctx, iso_grad(n.w[i]), 1, ISO_DIMS(-1));
  }
  assert_int_equal(iso_tensor_hash(iso_cat(ctx, 7, all, 0), hash), ISO_OK);
}

static void test_invariance(void **state) {
  (void)state;
  static const struct {
    int n_threads;
    const char *isa;
  } how[] = {{1, "scalar"}, {1, "avx2"}, {3, "avx2"}, {1, "avx512"}, {2, "avx512"}};
  iso_context *const before = ctx;
  for (int k = 0; k < 2; k++) {
    char expected[33], got[33];
    step(k ? ISO_F16 : ISO_BF16, false, expected);
    step(k ? ISO_F16 : ISO_BF16, true, got);
    if (strcmp(expected, got) != 0) fail_msg("checkpointing changes bits");
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
      ctx = context_new(how[i].n_threads, how[i].isa);
      iso_scope_push(ctx);
      step(k ? ISO_F16 : ISO_BF16, false, got);
      iso_scope_pop(ctx);
      iso_context_free(ctx);
      ctx = before;
      if (strcmp(expected, got) != 0) fail_msg("%d threads, %s: other bits", how[i].n_threads, how[i].isa);
    }
  }
}

/* Low precision is near f32, and not the same. */
static void test_accuracy(void **state) {
  (void)state;
  double loss[3];
  for (int k = 0; k < 3; k++) {
    net n = net_new();
    iso_random_set_step(ctx, 3);
    push(k == 0 ? ISO_F32 : k == 1 ? ISO_BF16 : ISO_F16, NULL);
    assert_int_equal(iso_tensor_item(loss_of(&n, false), &loss[k]), ISO_OK);
    pop();
    iso_tape_clear(ctx);
  }
  for (int k = 1; k < 3; k++) {
    const double far = loss[k] > loss[0] ? loss[k] - loss[0] : loss[0] - loss[k];
    if (far == 0 || far > (k == 1 ? 0.05 : 0.006)) fail_msg("loss %.9g, in f32 %.9g", loss[k], loss[0]);
  }
}

/* ---- what is kept ---- */

static void test_weights(void **state) {
  (void)state;
  iso_tensor *w = iso_requires_grad(normal(1, 2, ISO_DIMS(64, 64)), true), *x = normal(2, 2, ISO_DIMS(4, 64));
  for (int warm = 0; warm < 2; warm++) { /* plans and workspace are there */
    push(ISO_BF16, NULL);
    iso_tensor *y = iso_linear(ctx, iso_linear(ctx, x, w, NULL, false), w, NULL, false);
    assert_int_equal(iso_backward(iso_sum_all(ctx, y)), ISO_OK);
    assert_int_equal(iso_grad_zero(w), ISO_OK);
    pop();
  }
  const size_t before = iso_memory_get_info(ctx).live_bytes;
  iso_scope_push(ctx);
  push(ISO_BF16, NULL);
  iso_tensor *first = iso_linear(ctx, x, w, NULL, false);
  const iso__autocast_scope *scope = iso__autocast_of(ctx)->scope;
  assert_int_equal(scope->n_weights, 1);
  const void *kept = iso_tensor_data(scope->weights[0].low);
  iso_tensor *second = iso_linear(ctx, first, w, NULL, false);
  assert_int_equal(scope->n_weights, 1);
  assert_ptr_equal(iso_tensor_data(scope->weights[0].low), kept);
  assert_int_equal(iso_backward(iso_sum_all(ctx, second)), ISO_OK);
  /* Other values: cast anew, in the same place of the list. */
  iso_tensor *zeros = iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(64, 64));
  iso_no_grad_push(ctx);
  assert_int_equal(iso_tensor_assign(w, zeros), ISO_OK);
  iso_tensor *third = iso_linear(ctx, x, w, NULL, false);
  iso_no_grad_pop(ctx);
  assert_int_equal(scope->n_weights, 1);
  expect_same("the weight's new values", third, iso_tensor_zeros(ctx, ISO_BF16, 2, ISO_DIMS(4, 64)));
  assert_int_equal(iso_grad_zero(w), ISO_OK);
  iso_scope_pop(ctx);
  assert_true(iso_memory_get_info(ctx).live_bytes >= before + 64 * 64 * 2);
  pop();
  assert_true(iso_memory_get_info(ctx).live_bytes <= before);
}

/* Three products of one tensor keep one copy of it; their contributions to its gradient add up in f32. */
static void test_shared_operand(void **state) {
  (void)state;
  iso_tensor *w[3], *grads[2];
  for (int i = 0; i < 3; i++) w[i] = normal(1 + (uint64_t)i, 2, ISO_DIMS(32, 32));
  for (int hand = 0; hand < 2; hand++) {
    iso_tensor *x = iso_requires_grad(normal(7, 2, ISO_DIMS(16, 32)), true), *h = iso_tanh(ctx, x), *y[3], *sum = NULL;
    push(hand ? ISO_F32 : ISO_BF16, NULL);
    for (int i = 0; i < 3; i++)
      y[i] =
          hand ? iso_matmul(ctx, iso_cast(ctx, h, ISO_BF16), iso_cast(ctx, w[i], ISO_BF16)) : iso_matmul(ctx, h, w[i]);
    for (int i = 0; i < 3; i++) {
      iso_tensor *s = iso_sum_all(ctx, iso_square(ctx, iso_cast(ctx, y[i], ISO_F32)));
      sum = sum ? iso_add(ctx, sum, s) : s;
    }
    pop();
    assert_int_equal(iso_backward(sum), ISO_OK);
    grads[hand] = iso_clone(ctx, iso_grad(x));
  }
  expect_same("the sum of contributions", grads[0], grads[1]);
}

/* Bytes that the tape holds after the forward pass. */
static size_t held(iso_dtype dtype, bool is_conv) {
  net n = net_new();
  iso_tensor *filter = iso_requires_grad(normal(1, 4, ISO_DIMS(16, 16, 3, 3)), true);
  iso_tensor *one = iso_requires_grad(iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(16), 1), true), *y, *loss;
  iso_tensor *image = normal(2, 4, ISO_DIMS(8, 16, 24, 24));
  n.x = normal(1, 3, ISO_DIMS(64, 8, 32));
  n.target = iso_tensor_zeros(ctx, ISO_I64, 1, ISO_DIMS(64));
  const size_t before = iso_memory_get_info(ctx).live_bytes;
  iso_scope_push(ctx);
  push(dtype, NULL);
  y = image;
  for (int i = 0; i < 4 && is_conv; i++)
    y = iso_batch_norm(ctx, iso_conv2d(ctx, y, filter, NULL, &(iso_conv2d_options){.pad_h = 1, .pad_w = 1}), one, one,
                       NULL, NULL, &(iso_batch_norm_options){.training = true, .relu = true});
  loss = is_conv ? iso_mean_all(ctx, iso_square(ctx, y)) : loss_of(&n, false);
  pop();
  expect_ok();
  iso_escape(loss);
  iso_scope_pop(ctx);
  const size_t bytes = iso_memory_get_info(ctx).live_bytes - before;
  assert_int_equal(iso_backward(loss), ISO_OK);
  return bytes;
}

/* Halves hold half, but for the f32 sums that layer norm reads, and attention's weights. */
static void test_memory(void **state) {
  (void)state;
  for (int is_conv = 0; is_conv < 2; is_conv++) {
    const double wide = (double)held(ISO_F32, is_conv), low = (double)held(ISO_BF16, is_conv);
    print_message("%s: the tape holds %.0f bytes in f32, %.0f in bf16 (%.3f)\n",
                  is_conv ? "convolutions" : "a transformer", wide, low, low / wide);
    assert_true(low < (is_conv ? 0.58 : 0.64) * wide);
  }
}

/* Every allocation fails in turn. */
static void test_no_memory(void **state) {
  (void)state;
  iso_context *const before = ctx;
  char expected[33], got[33];
  ctx = context_new(1, NULL);
  for (int warm = 0; warm < 2; warm++) {
    iso_scope_push(ctx);
    step(ISO_BF16, false, expected);
    iso_scope_pop(ctx);
  }
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  for (uint64_t at = 1; at < 20000; at += at < 200 ? 1 : 7) {
    iso_scope_push(ctx);
    net n = net_new();
    iso_random_set_step(ctx, 3);
    iso_memory_fail_at(ctx, at);
    const bool pushed = iso_autocast_push(ctx, &(iso_autocast_options){.dtype = ISO_BF16}) == ISO_OK;
    iso_tensor *loss = pushed ? loss_of(&n, false) : NULL;
    if (pushed) iso_autocast_pop(ctx);
    const bool done = loss && iso_backward(loss) == ISO_OK;
    iso_memory_fail_at(ctx, 0);
    if (!done) assert_int_equal(iso_error_code(ctx), ISO_OUT_OF_MEMORY);
    iso_clear_error(ctx);
    iso_scope_pop(ctx);
    if (iso_memory_get_info(ctx).live_bytes != live) fail_msg("allocation %d left bytes", (int)at);
    if (done) {
      assert_true(at > 100);
      break;
    }
  }
  iso_scope_push(ctx);
  step(ISO_BF16, false, got);
  iso_scope_pop(ctx);
  assert_string_equal(expected, got);
  iso_context_free(ctx);
  ctx = before;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_list),     cmocka_unit_test(test_kinds),    cmocka_unit_test(test_scopes),
      cmocka_unit_test(test_refusals), cmocka_unit_test(test_products), cmocka_unit_test(test_invariance),
      cmocka_unit_test(test_accuracy), cmocka_unit_test(test_weights),  cmocka_unit_test(test_shared_operand),
      cmocka_unit_test(test_memory),   cmocka_unit_test(test_no_memory)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
