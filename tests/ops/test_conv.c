/* test_conv.c: the six convolutions as users call them: what is refused and in which words, empty operands, aliases,
 * storage orders, and that dimensions, transposing and epilogues agree with one another bit for bit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/isobit.h>

static iso_context *ctx;

static int setup(void **state) {
  (void)state;
  iso_policy policy;
  if (iso_policy_preset("reproducible", &policy) != ISO_OK) return 1;
  return iso_context_new(&(iso_context_options){.n_threads = 2, .policy = &policy}, &ctx) != ISO_OK;
}
static int teardown(void **state) {
  (void)state;
  iso_context_free(ctx);
  return 0;
}

/* Uneven values, none of them exact sums of others. */
static iso_tensor *uneven(iso_dtype dtype, int n_dims, const int64_t *shape) {
  iso_tensor *t = iso_tensor_new(ctx, ISO_F64, n_dims, shape);
  const int64_t n = iso_tensor_numel(t);
  double *v = iso_tensor_data(t);
  for (int64_t i = 0; i < n; i++) v[i] = sin((double)(i * 7 % 101) + 0.37 * (double)i);
  return iso_cast(ctx, t, dtype);
}
#define X(...) uneven(ISO_F32, sizeof(const int64_t[]){__VA_ARGS__} / 8, ISO_DIMS(__VA_ARGS__))

static void assert_same_at(const iso_tensor *a, const iso_tensor *b, int line) {
  if (!a || !b) fail_msg("%s", iso_error_message(ctx));
  const int n = iso_tensor_n_dims(a);
  assert_int_equal(n, iso_tensor_n_dims(b));
  assert_memory_equal(iso_tensor_shape(a), iso_tensor_shape(b), (size_t)n * sizeof(int64_t));
  char x[33], y[33];
  assert_int_equal(iso_tensor_hash(a, x), ISO_OK);
  assert_int_equal(iso_tensor_hash(b, y), ISO_OK);
  if (strcmp(x, y) != 0) fail_msg("line %d: other bits", line);
}
#define assert_same(a, b) assert_same_at(a, b, __LINE__)
static void assert_all(const iso_tensor *t, double expected) {
  const int64_t n = iso_tensor_numel(t);
  iso_tensor *flat = iso_reshape(ctx, t, 1, &n);
  for (int64_t i = 0; i < n; i++) {
    double v;
    assert_int_equal(iso_tensor_at(flat, &i, &v), ISO_OK);
    assert_true(v == expected);
  }
}

/* ---- what is refused ---- */

/* One call, its status, and words that its message must hold. */
#define REFUSED(X_)                                                                                                    \
  X_(iso_conv1d(ctx, X(2, 3, 8, 1), X(4, 3, 3), NULL, NULL), ISO_SHAPE_MISMATCH,                                       \
     "conv1d: x is (2,3,8,1) and w (4,3,3): both need 3 dimensions")                                                   \
  X_(iso_conv3d(ctx, X(2, 3, 8, 1), X(4, 3, 3, 1), NULL, NULL), ISO_SHAPE_MISMATCH, "conv3d: x is (2,3,8,1)")          \
  X_(iso_conv1d(ctx, X(2, 3, 8), X(4, 3, 3), NULL, &(iso_conv1d_options){.stride = -1}), ISO_INVALID_ARGUMENT,         \
     "conv1d: stride (-1), dilation (1), padding (0) before and (0) after, groups 1: not a convolution")               \
  X_(iso_conv2d(ctx, X(2, 3, 8, 8), X(4, 3, 3, 3), NULL, &(iso_conv2d_options){.dilation_w = -2}),                     \
     ISO_INVALID_ARGUMENT, "dilation (1,-2)")                                                                          \
  X_(iso_conv2d(ctx, X(2, 3, 8, 8), X(4, 3, 3, 3), NULL, &(iso_conv2d_options){.pad_h = 1, .pad_bottom = -1}),         \
     ISO_INVALID_ARGUMENT, "padding (1,0) before and (-1,0) after")                                                    \
  X_(iso_conv2d(ctx, X(2, 3, 8, 8), X(4, 3, 3, 3), NULL, &(iso_conv2d_options){.groups = -1}), ISO_INVALID_ARGUMENT,   \
     "groups -1")                                                                                                      \
  X_(iso_conv3d(ctx, X(1, 1, 2, 2, 2), X(1, 1, 2, 2, 2), NULL, &(iso_conv3d_options){.stride_d = INT64_C(1) << 31}),   \
     ISO_INVALID_ARGUMENT, "stride (2147483648,1,1)")                                                                  \
  X_(iso_conv3d(ctx, X(1, 1, 2, 2, 2), X(1, 1, 2, 2, 2), NULL,                                                         \
                &(iso_conv3d_options){.pad_d = INT64_MAX, .pad_front = INT64_MAX}),                                    \
     ISO_INVALID_ARGUMENT, "padding (9223372036854775807,0,0) before")                                                 \
  X_(iso_conv2d(ctx, X(2, 6, 8, 8), X(4, 2, 3, 3), NULL, &(iso_conv2d_options){.groups = 3}), ISO_SHAPE_MISMATCH,      \
     "3 groups do not divide 6 and 4 channels")                                                                        \
  X_(iso_conv2d(ctx, X(2, 6, 8, 8), X(4, 6, 3, 3), NULL, &(iso_conv2d_options){.groups = 2}), ISO_SHAPE_MISMATCH,      \
     "x (2,6,8,8) has 3 channels a group but w (4,6,3,3) expects 6")                                                   \
  X_(iso_conv1d(ctx, X(2, 3, 4), X(4, 3, 3), NULL, &(iso_conv1d_options){.dilation = 2}), ISO_SHAPE_MISMATCH,          \
     "the kernel of w (4,3,3), stride (1), dilation (2), does not fit x (2,3,4)")                                      \
  X_(iso_conv1d(ctx, X(2, 3, 4), X(4, 3, 0), NULL, NULL), ISO_SHAPE_MISMATCH, "the kernel of w (4,3,0)")               \
  X_(iso_conv1d(ctx, X(2, 3, 4), X(4, 3, 3), NULL, &(iso_conv1d_options){.output_pad = 1}), ISO_INVALID_ARGUMENT,      \
     "output padding (1) with stride (1)")                                                                             \
  X_(iso_conv2d(ctx, X(2, 3, 4, 4), X(4, 3, 3, 3), X(3), NULL), ISO_SHAPE_MISMATCH,                                    \
     "bias is (3) but the result has 4 channels")                                                                      \
  X_(iso_conv2d(ctx, X(2, 3, 4, 4), X(4, 3, 3, 3), NULL, &(iso_conv2d_options){.residual = X(2, 4, 2, 1)}),            \
     ISO_SHAPE_MISMATCH, "residual is (2,4,2,1) but the result (2,4,2,2)")                                             \
  X_(iso_conv2d(ctx, X(2, 3, 4, 4), uneven(ISO_F64, 4, ISO_DIMS(4, 3, 3, 3)), NULL, NULL), ISO_DTYPE_MISMATCH,         \
     "operand 1 is f32 but operand 2 is f64")                                                                          \
  X_(iso_conv2d(ctx, X(1, 1, 1, 1), X(1, 1, 1, 1), NULL, &(iso_conv2d_options){.pad_h = 1 << 29, .pad_w = 1 << 29}),   \
     ISO_INVALID_ARGUMENT, "the result would be (1,1,1073741825,1073741825): more than 2^46 elements")                 \
  X_(iso_conv2d(ctx, X(1, 1, 1, 1), X(1, 1, 1, 1), NULL, &(iso_conv2d_options){.pad_h = INT32_MAX}),                   \
     ISO_SHAPE_MISMATCH, "does not fit x (1,1,1,1), padding (2147483647,0)")                                           \
  X_(iso_conv2d(ctx, iso_tensor_new(ctx, ISO_F32, 4, ISO_DIMS(0, 1, INT64_C(1) << 40, 1)), X(1, 1, 1, 1), NULL, NULL), \
     ISO_INVALID_ARGUMENT, "x is (0,1,1099511627776,1)")                                                               \
  X_(iso_conv_transpose1d(ctx, X(2, 3, 4), X(3, 2, 3), NULL, &(iso_conv1d_options){.stride = 2, .output_pad = 2}),     \
     ISO_INVALID_ARGUMENT, "conv_transpose1d: output padding (2) with stride (2) and padding (0) after: 0 or more")    \
  X_(iso_conv_transpose2d(ctx, X(2, 3, 4, 4), X(3, 2, 3, 3), NULL, &(iso_conv2d_options){.output_pad_w = -1}),         \
     ISO_INVALID_ARGUMENT, "output padding (0,-1)")                                                                    \
  X_(iso_conv_transpose2d(ctx, X(2, 3, 4, 4), X(2, 3, 3, 3), NULL, NULL), ISO_SHAPE_MISMATCH,                          \
     "x (2,3,4,4) has 3 channels but w (2,3,3,3) expects 2")                                                           \
  X_(iso_conv_transpose2d(ctx, X(2, 3, 4, 4), X(3, 2, 3, 3), NULL, &(iso_conv2d_options){.groups = 2}),                \
     ISO_SHAPE_MISMATCH, "2 groups do not divide 3 and 3 channels")                                                    \
  X_(iso_conv_transpose1d(ctx, X(2, 3, 2), X(3, 2, 3), NULL, &(iso_conv1d_options){.pad = 2}), ISO_SHAPE_MISMATCH,     \
     "does not fit x (2,3,2), padding (2) before and (2) after")                                                       \
  X_(iso_conv_transpose1d(ctx, X(2, 3, 4), X(3, 2, 3), X(3), NULL), ISO_SHAPE_MISMATCH,                                \
     "bias is (3) but the result has 2 channels")                                                                      \
  X_(iso_conv_transpose3d(ctx, X(1, 1, 2, 2, 2), X(1, 1, 1, 1, 1), NULL,                                               \
                          &(iso_conv3d_options){.stride_d = 1 << 20, .stride_h = 1 << 20, .stride_w = 1 << 20}),       \
     ISO_INVALID_ARGUMENT, "the result would be (1,1,1048577,1048577,1048577)")                                        \
  X_(iso_conv_transpose1d(ctx, X(1, 1, 3), X(1, 1, 1), NULL, &(iso_conv1d_options){.stride = INT32_MAX}),              \
     ISO_SHAPE_MISMATCH, "stride (2147483647)")                                                                        \
  X_(iso_conv_transpose1d(ctx, iso_tensor_new(ctx, ISO_F32, 3, ISO_DIMS(1, 0, 3)),                                     \
                          iso_tensor_new(ctx, ISO_F32, 3, ISO_DIMS(0, INT32_MAX, 1)), NULL,                            \
                          &(iso_conv1d_options){.groups = INT32_MAX}),                                                 \
     ISO_SHAPE_MISMATCH, "w (0,2147483647,1)")

static void test_refusals(void **state) {
  (void)state;
#define CHECK(call, code, words)                                                                                       \
  iso_scope_push(ctx);                                                                                                 \
  if (call) fail_msg("accepted: %s", #call);                                                                           \
  if (iso_error_code(ctx) != (code) || !strstr(iso_error_message(ctx), words))                                         \
    fail_msg("%s: '%s'", #call, iso_error_message(ctx));                                                               \
  iso_clear_error(ctx);                                                                                                \
  iso_scope_pop(ctx);
  REFUSED(CHECK)
}

/* ---- empty operands ---- */

static void test_empty(void **state) {
  (void)state;
  iso_scope_push(ctx);
  const iso_conv2d_options same = {.pad_h = 1, .pad_w = 1};
  iso_tensor *y = iso_conv2d(ctx, X(0, 3, 4, 5), X(2, 3, 3, 3), NULL, &same);
  assert_memory_equal(iso_tensor_shape(y), ISO_DIMS(0, 2, 4, 5), 4 * sizeof(int64_t));
  y = iso_conv_transpose2d(ctx, X(0, 3, 4, 5), X(3, 2, 3, 3), NULL, &same);
  assert_memory_equal(iso_tensor_shape(y), ISO_DIMS(0, 2, 4, 5), 4 * sizeof(int64_t));
  iso_tensor *bias = iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(2), 0.5);
  assert_all(iso_conv2d(ctx, X(1, 0, 4, 4), X(2, 0, 3, 3), bias, NULL), 0.5); /* no terms: +0, then the bias */
  assert_all(iso_conv_transpose1d(ctx, X(1, 0, 4), X(0, 2, 3), bias, NULL), 0.5);
  assert_all(iso_conv1d(ctx, X(1, 3, 0), X(2, 3, 3), bias, &(iso_conv1d_options){.pad = 2}), 0.5); /* padding alone */
  assert_int_equal(iso_tensor_numel(iso_conv3d(ctx, X(2, 3, 4, 4, 4), X(0, 3, 2, 2, 2), NULL, NULL)), 0);

  /* A batch of none leaves gradients of zero. */
  iso_tensor *x = iso_requires_grad(X(0, 2, 5), true), *w = iso_requires_grad(X(3, 2, 3), true),
             *b = iso_requires_grad(X(3), true);
  assert_int_equal(iso_backward(iso_sum_all(ctx, iso_conv1d(ctx, x, w, b, NULL))), ISO_OK);
  assert_int_equal(iso_tensor_numel(iso_grad(x)), 0);
  assert_all(iso_grad(w), 0);
  assert_all(iso_grad(b), 0);
  iso_scope_pop(ctx);
  if (iso_error_code(ctx)) fail_msg("%s", iso_error_message(ctx));
}

/* ---- one tensor in several places, and every storage order ---- */

static void test_aliases(void **state) {
  (void)state;
  iso_scope_push(ctx);
  iso_tensor *x = X(4, 4, 3, 3), *other = X(4, 4, 3, 3);
  const iso_conv2d_options same = {.pad_h = 1, .pad_w = 1, .residual = x},
                           apart = {.pad_h = 1, .pad_w = 1, .residual = iso_clone(ctx, x)};
  assert_same(iso_conv2d(ctx, x, x, NULL, &same), iso_conv2d(ctx, x, other, NULL, &apart));
  assert_same(iso_conv_transpose2d(ctx, x, x, NULL, &same), iso_conv_transpose2d(ctx, x, other, NULL, &apart));
  assert_same(x, other); /* operands are as they were */

  /* Gradients of one tensor's three uses add up: here against the same three as tensors of their own. */
  iso_tensor *all = iso_requires_grad(iso_clone(ctx, x), true), *parts[3];
  for (int i = 0; i < 3; i++) parts[i] = iso_requires_grad(iso_clone(ctx, x), true);
  iso_conv2d_options o = {.pad_h = 1, .pad_w = 1, .residual = all};
  assert_int_equal(iso_backward(iso_sum_all(ctx, iso_conv2d(ctx, all, all, NULL, &o))), ISO_OK);
  o.residual = parts[2];
  assert_int_equal(iso_backward(iso_sum_all(ctx, iso_conv2d(ctx, parts[0], parts[1], NULL, &o))), ISO_OK);
  iso_tensor *sum = iso_add(ctx, iso_add(ctx, iso_grad(parts[0]), iso_grad(parts[1])), iso_grad(parts[2]));
  assert_same(iso_grad(all), sum);
  iso_scope_pop(ctx);
}

/* The same values from contiguous, channels-last, strided and permuted storage give the same bits. */
static void test_storage_orders(void **state) {
  (void)state;
  iso_scope_push(ctx);
  iso_tensor *x = X(2, 4, 3, 5, 4), *w = X(4, 4, 2, 2, 3), *b = X(4);
  iso_tensor *wide = iso_cat(ctx, 2, (const iso_tensor *const[]){x, x}, 4);
  iso_tensor *turned =
      iso_permute(ctx, iso_contiguous(ctx, iso_permute(ctx, x, (int[]){2, 4, 0, 3, 1})), (int[]){2, 4, 0, 3, 1});
  iso_tensor *pairs = iso_slice(ctx, iso_stack(ctx, 2, (const iso_tensor *const[]){b, b}, 1), 1, 0, 1, 1);
  const iso_tensor *const orders[] = {x, iso_channels_last(ctx, x), iso_slice(ctx, wide, 4, 0, 4, 1), turned};
  const iso_conv3d_options o = {.pad_front = 1, .stride_w = 2, .pad_w = 1, .relu = true};
  iso_tensor *plain = iso_conv3d(ctx, x, w, b, &o), *transposed = iso_conv_transpose3d(ctx, x, w, b, &o);
  assert_true(iso_tensor_is_channels_last(plain) && iso_tensor_is_channels_last(transposed));
  for (int i = 0; i < 4; i++) {
    assert_same(orders[i], x);
    assert_same(iso_conv3d(ctx, orders[i], iso_channels_last(ctx, w), iso_squeeze(ctx, pairs, 1), &o), plain);
    assert_same(iso_conv_transpose3d(ctx, orders[i], iso_channels_last(ctx, w), iso_squeeze(ctx, pairs, 1), &o),
                transposed);
  }
  iso_scope_pop(ctx);
}

/* ---- the six agree ---- */

static iso_tensor *unsqueezed(const iso_tensor *t, int axis) { return iso_unsqueeze(ctx, t, axis); }

static bool has_used(const char *start, const char *word) {
  iso_plan_use use;
  for (size_t i = 0; iso_plan_used(ctx, i, &use); i++)
    if (!strncmp(use.problem, start, strlen(start)) && strstr(use.problem, word)) return true;
  return false;
}

/* An image of few channels is read where it lies: the plans say so, and result and gradients have the same bits. */
static void test_channels_first_image(void **state) {
  (void)state;
  const iso_conv2d_options o = {.stride_h = 2, .stride_w = 2, .pad_h = 3, .pad_w = 3, .relu = true};
  iso_scope_push(ctx);
  iso_tensor *x = X(3, 3, 21, 18), *w = X(16, 3, 7, 7), *y[2], *dw[2];
  assert_false(iso_tensor_is_channels_last(x));
  iso_plan_forget_used(ctx);
  for (int i = 0; i < 2; i++) {
    iso_tensor *v = iso_requires_grad(iso_clone(ctx, w), true);
    y[i] = iso_conv2d(ctx, i ? iso_channels_last(ctx, x) : x, v, NULL, &o);
    assert_int_equal(iso_backward(iso_sum_all(ctx, iso_mul(ctx, y[i], y[i]))), ISO_OK);
    dw[i] = iso_grad(v);
  }
  assert_same(y[0], y[1]);
  assert_same(dw[0], dw[1]);
  assert_true(has_used("conv2d.fwd", " xf1") && has_used("conv2d.bwd_weights", " xf1"));
  iso_scope_pop(ctx);
}

/* An axis of extent 1 changes nothing. */
static void test_dimensions_agree(void **state) {
  (void)state;
  iso_scope_push(ctx);
  iso_tensor *x = X(2, 4, 9), *w = X(4, 2, 3), *b = X(4);
  const iso_conv1d_options one = {.stride = 2, .dilation = 2, .pad = 1, .pad_right = 1, .groups = 2, .relu = true};
  const iso_conv2d_options two = {
      .stride_w = 2, .dilation_w = 2, .pad_w = 1, .pad_right = 1, .groups = 2, .relu = true};
  const iso_conv3d_options three = {
      .stride_w = 2, .dilation_w = 2, .pad_w = 1, .pad_right = 1, .groups = 2, .relu = true};
  iso_tensor *x2 = unsqueezed(x, 2), *w2 = unsqueezed(w, 2), *x3 = unsqueezed(x2, 2), *w3 = unsqueezed(w2, 2);
  assert_same(unsqueezed(iso_conv1d(ctx, x, w, b, &one), 2), iso_conv2d(ctx, x2, w2, b, &two));
  assert_same(unsqueezed(iso_conv2d(ctx, x2, w2, b, &two), 2), iso_conv3d(ctx, x3, w3, b, &three));
  assert_same(unsqueezed(iso_conv_transpose1d(ctx, x, w, b, &one), 2), iso_conv_transpose2d(ctx, x2, w2, b, &two));
  assert_same(unsqueezed(iso_conv_transpose2d(ctx, x2, w2, b, &two), 2), iso_conv_transpose3d(ctx, x3, w3, b, &three));
  iso_scope_pop(ctx);
}

/* A transposed convolution is the input gradient of its mirror, and the mirror is its input gradient. */
static void test_transposed_is_the_gradient(void **state) {
  (void)state;
  iso_scope_push(ctx);
  const iso_conv2d_options o = {
      .stride_h = 3, .stride_w = 2, .pad_h = 1, .pad_left = 2, .dilation_w = 2, .groups = 2, .output_pad_h = 2};
  iso_conv2d_options mirror = o;
  mirror.output_pad_h = 0;
  iso_tensor *x = iso_requires_grad(X(2, 6, 3, 4), true), *w = iso_requires_grad(X(6, 2, 3, 3), true);
  iso_tensor *y = iso_conv_transpose2d(ctx, x, w, NULL, &o);
  iso_tensor *image = iso_requires_grad(uneven(ISO_F32, 4, iso_tensor_shape(y)), true);
  iso_tensor *z = iso_conv2d(ctx, image, w, NULL, &mirror), *dy = iso_detach(ctx, image);
  assert_memory_equal(iso_tensor_shape(z), iso_tensor_shape(x), 4 * sizeof(int64_t));
  assert_int_equal(iso_backward_with(z, iso_detach(ctx, x), NULL), ISO_OK);
  assert_same(iso_grad(image), y);
  iso_tensor *w_grad = iso_clone(ctx, iso_grad(w));
  iso_grad_zero(w);
  y = iso_conv_transpose2d(ctx, x, w, NULL, &o);
  assert_int_equal(iso_backward_with(y, dy, NULL), ISO_OK);
  assert_same(iso_grad(x), iso_detach(ctx, iso_conv2d(ctx, image, w, NULL, &mirror)));
  assert_same(iso_grad(w), w_grad);
  iso_scope_pop(ctx);
}

/* Bias, residual and relu in one go have the bits of the operators one after the other, in values and gradients. */
typedef iso_tensor *convolution(iso_context *c, const iso_tensor *x, const iso_tensor *w, const iso_tensor *bias,
                                const iso_conv2d_options *options);
static void check_epilogue(convolution *conv, iso_dtype dtype, int parts) {
  iso_scope_push(ctx);
  const bool has_bias = parts & 1, has_residual = parts & 2, has_relu = parts & 4;
  iso_conv2d_options o = {.pad_h = 1, .stride_w = 2};
  iso_tensor *grads[2][4], *y[2];
  for (int apart = 0; apart < 2; apart++) {
    iso_tensor *in[4] = {uneven(dtype, 4, ISO_DIMS(2, 5, 6, 7)), uneven(dtype, 4, ISO_DIMS(5, 5, 3, 2)),
                         uneven(dtype, 1, ISO_DIMS(5)), NULL};
    in[3] = uneven(dtype, 4, iso_tensor_shape(conv(ctx, in[0], in[1], NULL, &o)));
    for (int i = 0; i < 4; i++) iso_requires_grad(in[i], true);
    if (apart) {
      o.residual = NULL, o.relu = false;
      y[1] = conv(ctx, in[0], in[1], NULL, &o);
      if (has_bias) y[1] = iso_add(ctx, y[1], iso_reshape(ctx, in[2], 3, ISO_DIMS(5, 1, 1)));
      if (has_residual) y[1] = iso_add(ctx, y[1], in[3]);
      if (has_relu) y[1] = iso_relu(ctx, y[1]);
    } else {
      o.residual = has_residual ? in[3] : NULL, o.relu = has_relu;
      y[0] = conv(ctx, in[0], in[1], has_bias ? in[2] : NULL, &o);
    }
    assert_int_equal(iso_backward_with(y[apart], uneven(dtype, 4, iso_tensor_shape(y[apart])), NULL), ISO_OK);
    for (int i = 0; i < 4; i++) grads[apart][i] = iso_grad(in[i]);
  }
  assert_same(y[0], y[1]);
  for (int i = 0; i < 4; i++)
    if (grads[0][i] || grads[1][i]) assert_same(grads[0][i], grads[1][i]);
  iso_scope_pop(ctx);
}
/* Output padding of a stride and more is padding at the end that is not cut off. */
static void test_output_padding_beyond_the_stride(void **state) {
  (void)state;
  iso_scope_push(ctx);
  iso_tensor *x = X(2, 3, 5), *w = X(3, 2, 3);
  const iso_conv1d_options cut = {.stride = 2, .pad = 4, .dilation = 4, .output_pad = 3};
  const iso_conv1d_options less = {.stride = 2, .pad = 1, .pad_left = 3, .dilation = 4};
  assert_same_at(iso_conv_transpose1d(ctx, x, w, NULL, &cut), iso_conv_transpose1d(ctx, x, w, NULL, &less), __LINE__);
  iso_scope_pop(ctx);
}

static void test_epilogues(void **state) {
  (void)state;
  for (int parts = 0; parts < 8; parts++)
    for (int f64 = 0; f64 < 2; f64++) {
      check_epilogue(iso_conv2d, f64 ? ISO_F64 : ISO_F32, parts);
      check_epilogue(iso_conv_transpose2d, f64 ? ISO_F64 : ISO_F32, parts);
    }
}

/* Weights that are kept in an engine's own form: the same bits, and made again after a change. */
static void test_packed_weights(void **state) {
  (void)state;
  iso_policy policy = *iso_policy_current(ctx);
  policy.accuracy = ISO_ACCURACY_RELAXED;
  assert_int_equal(iso_policy_push(ctx, &policy), ISO_OK);
  iso_scope_push(ctx);
  iso_tensor *x = iso_channels_last(ctx, X(2, 16, 12, 12)), *w = iso_channels_last(ctx, X(16, 16, 3, 3)),
             *plain = iso_clone(ctx, w);
  assert_int_equal(iso_tensor_pack(w), ISO_OK);
  const iso_conv2d_options o = {.pad_h = 1, .pad_w = 1, .relu = true};
  for (int round = 0; round < 3; round++) {
    for (int again = 0; again < 2; again++) {
      assert_same(iso_conv2d(ctx, x, w, NULL, &o), iso_conv2d(ctx, x, plain, NULL, &o));
      assert_same(iso_conv_transpose2d(ctx, x, w, NULL, &o), iso_conv_transpose2d(ctx, x, plain, NULL, &o));
    }
    assert_int_equal(iso_accumulate(w, plain, 0.5), ISO_OK);
    assert_int_equal(iso_tensor_assign(plain, w), ISO_OK);
  }
  iso_scope_pop(ctx);
  iso_policy_pop(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_refusals),
                                     cmocka_unit_test(test_empty),
                                     cmocka_unit_test(test_aliases),
                                     cmocka_unit_test(test_storage_orders),
                                     cmocka_unit_test(test_channels_first_image),
                                     cmocka_unit_test(test_dimensions_agree),
                                     cmocka_unit_test(test_transposed_is_the_gradient),
                                     cmocka_unit_test(test_output_padding_beyond_the_stride),
                                     cmocka_unit_test(test_epilogues),
                                     cmocka_unit_test(test_packed_weights)};
  return cmocka_run_group_tests_name("conv", tests, setup, teardown);
}
