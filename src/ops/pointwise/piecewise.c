/* piecewise.c: piecewise linear activations: the gradient's gradient is only through dy. At the joints the slope is
 * PyTorch's. */
#include "base/fenv.h"
#include "ops/pointwise/activation.h"
#include "ops/pointwise/unary.h"

static const iso__activation RELU = {.name = "relu",
                                     .bwd_name = "relu_bwd",
                                     .fn = ISO__MAP_RELU,
                                     .bwd_fn = ISO__MAP_RELU_BWD,
                                     .rule = ISO__RULE_RELU,
                                     .bwd_rule = ISO__RULE_RELU_BWD,
                                     .saves_result = true,
                                     .is_piecewise = true};
static const iso__activation HARDTANH = {.name = "hardtanh",
                                         .bwd_name = "hardtanh_bwd",
                                         .fn = ISO__MAP_CLAMP,
                                         .bwd_fn = ISO__MAP_HARDTANH_BWD,
                                         .rule = ISO__RULE_HARDTANH,
                                         .bwd_rule = ISO__RULE_HARDTANH_BWD,
                                         .is_piecewise = true};
static const iso__activation LEAKY_RELU = {.name = "leaky_relu",
                                           .bwd_name = "leaky_relu_bwd",
                                           .fn = ISO__MAP_LEAKY_RELU,
                                           .bwd_fn = ISO__MAP_LEAKY_RELU_BWD,
                                           .rule = ISO__RULE_LEAKY_RELU,
                                           .bwd_rule = ISO__RULE_LEAKY_RELU_BWD,
                                           .is_piecewise = true};
static const iso__activation HARDSIGMOID = {.name = "hardsigmoid",
                                            .bwd_name = "hardsigmoid_bwd",
                                            .fn = ISO__MAP_HARDSIGMOID,
                                            .bwd_fn = ISO__MAP_HARDSIGMOID_BWD,
                                            .rule = ISO__RULE_HARDSIGMOID,
                                            .bwd_rule = ISO__RULE_HARDSIGMOID_BWD,
                                            .is_piecewise = true};
static const iso__activation HARDSHRINK = {.name = "hardshrink",
                                           .bwd_name = "hardshrink_bwd",
                                           .fn = ISO__MAP_HARDSHRINK,
                                           .bwd_fn = ISO__MAP_SHRINK_BWD,
                                           .rule = ISO__RULE_HARDSHRINK,
                                           .bwd_rule = ISO__RULE_HARDSHRINK_BWD,
                                           .is_piecewise = true};
static const iso__activation SOFTSHRINK = {.name = "softshrink",
                                           .bwd_name = "softshrink_bwd",
                                           .fn = ISO__MAP_SOFTSHRINK,
                                           .bwd_fn = ISO__MAP_SHRINK_BWD,
                                           .rule = ISO__RULE_SOFTSHRINK,
                                           .bwd_rule = ISO__RULE_SOFTSHRINK_BWD,
                                           .is_piecewise = true};
static const iso__activation THRESHOLD = {.name = "threshold",
                                          .bwd_name = "threshold_bwd",
                                          .fn = ISO__MAP_THRESHOLD,
                                          .bwd_fn = ISO__MAP_THRESHOLD_BWD,
                                          .rule = ISO__RULE_THRESHOLD,
                                          .bwd_rule = ISO__RULE_THRESHOLD_BWD,
                                          .is_piecewise = true};
static const iso__activation HARDSWISH = {
    .name = "hardswish",
    .bwd_name = "hardswish_bwd",
    .fn = ISO__MAP_HARDSWISH,
    .bwd_fn = ISO__MAP_HARDSWISH_BWD,
    .rule = ISO__RULE_HARDSWISH,
    .bwd_rule = ISO__RULE_HARDSWISH_BWD,
};

iso_tensor *iso__then_relu(iso_context *ctx, iso_tensor *y) { return y ? iso__drop(iso_relu(ctx, y), y) : NULL; }

iso_tensor *iso_relu(iso_context *ctx, const iso_tensor *x) { return iso__activate(ctx, &RELU, x, NULL); }
iso_tensor *iso__relu_bwd(iso_context *ctx, const iso_tensor *y, const iso_tensor *dy, iso_tensor *out) {
  return iso__activation_bwd(ctx, &RELU, y, dy, NULL, out);
}
void iso__relu_gradient(iso__gradient *g) { iso__activation_gradient(g, &RELU); }
void iso__relu_bwd_gradient(iso__gradient *g) { iso__activation_twice(g, &RELU, NULL); }

iso_tensor *iso_hardtanh(iso_context *ctx, const iso_tensor *x, double low, double high) {
  if (iso__failed(ctx) || !x) return NULL;
  if (low <= high) return iso__activate(ctx, &HARDTANH, x, (const double[3]){low, high});
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "hardtanh", "low %g is not at most high %g", low, high);
  return NULL;
}
iso_tensor *iso_relu6(iso_context *ctx, const iso_tensor *x) { return iso_hardtanh(ctx, x, 0, 6); }
void iso__hardtanh_gradient(iso__gradient *g) { iso__activation_gradient(g, &HARDTANH); }
void iso__hardtanh_bwd_gradient(iso__gradient *g) { iso__activation_twice(g, &HARDTANH, NULL); }

iso_tensor *iso_leaky_relu(iso_context *ctx, const iso_tensor *x, double slope) {
  return iso__activate(ctx, &LEAKY_RELU, x, (const double[3]){slope});
}
void iso__leaky_relu_gradient(iso__gradient *g) { iso__activation_gradient(g, &LEAKY_RELU); }
void iso__leaky_relu_bwd_gradient(iso__gradient *g) { iso__activation_twice(g, &LEAKY_RELU, NULL); }

iso_tensor *iso_hardsigmoid(iso_context *ctx, const iso_tensor *x) { return iso__activate(ctx, &HARDSIGMOID, x, NULL); }
void iso__hardsigmoid_gradient(iso__gradient *g) { iso__activation_gradient(g, &HARDSIGMOID); }
void iso__hardsigmoid_bwd_gradient(iso__gradient *g) { iso__activation_twice(g, &HARDSIGMOID, NULL); }

iso_tensor *iso_hardshrink(iso_context *ctx, const iso_tensor *x, double lambda) {
  return iso__activate(ctx, &HARDSHRINK, x, (const double[3]){lambda});
}
void iso__hardshrink_gradient(iso__gradient *g) { iso__activation_gradient(g, &HARDSHRINK); }
void iso__hardshrink_bwd_gradient(iso__gradient *g) { iso__activation_twice(g, &HARDSHRINK, NULL); }

iso_tensor *iso_softshrink(iso_context *ctx, const iso_tensor *x, double lambda) {
  if (iso__failed(ctx) || !x) return NULL;
  if (lambda >= 0) return iso__activate(ctx, &SOFTSHRINK, x, (const double[3]){lambda});
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "softshrink", "lambda is %g: it must be at least 0", lambda);
  return NULL;
}
void iso__softshrink_gradient(iso__gradient *g) { iso__activation_gradient(g, &SOFTSHRINK); }
void iso__softshrink_bwd_gradient(iso__gradient *g) { iso__activation_twice(g, &SOFTSHRINK, NULL); }

iso_tensor *iso_threshold(iso_context *ctx, const iso_tensor *x, double threshold, double value) {
  return iso__activate(ctx, &THRESHOLD, x, (const double[3]){threshold, value});
}
void iso__threshold_gradient(iso__gradient *g) { iso__activation_gradient(g, &THRESHOLD); }
void iso__threshold_bwd_gradient(iso__gradient *g) { iso__activation_twice(g, &THRESHOLD, NULL); }

/* Between −3 and 3 a parabola: f″ = 1/3 */
iso_tensor *iso_hardswish(iso_context *ctx, const iso_tensor *x) { return iso__activate(ctx, &HARDSWISH, x, NULL); }
void iso__hardswish_gradient(iso__gradient *g) { iso__activation_gradient(g, &HARDSWISH); }
void iso__hardswish_bwd_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *x = iso__saved(g, 0);
  if (!x) return;
  const iso_dtype dtype = x->view.dtype;
  iso_tensor *inside = iso_lt(ctx, iso_abs(ctx, x), iso__scalar(ctx, dtype, 3));
  iso__activation_twice(g, &HARDSWISH,
                        iso_where(ctx, inside, iso__scalar(ctx, dtype, 1.0 / 3), iso__scalar(ctx, dtype, 0)));
}

/* ---- slopes that are tensors ---- */

/* x > 0 ? x : x·slope, broadcast */
static iso_tensor *sloped(iso_context *ctx, const iso_tensor *x, const iso_tensor *slope) {
  return iso__pointwise(ctx, "prelu", ISO__MAP_PRELU, ISO__RULE_PRELU, SAVE_X, ISO__REAL_DTYPES, 2,
                        ISO__TENSORS(x, slope), NULL);
}
void iso__prelu_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *x = iso__saved(g, 0), *slope = iso__saved(g, 1), *dy = g->dy[0];
  if (!x || !slope) return;
  iso_tensor *zero = iso__scalar(ctx, x->view.dtype, 0), *positive = iso_gt(ctx, x, zero);
  if (iso__needs(g, 0)) {
    iso_tensor *dx = iso_where(ctx, positive, dy, iso_mul(ctx, dy, slope));
    g->dx[0] = iso__sum_to(ctx, dx, iso__input_view(g, 0));
  }
  if (iso__needs(g, 1)) {
    iso_tensor *dw = iso_where(ctx, positive, zero, iso_mul(ctx, dy, x));
    g->dx[1] = iso__sum_to(ctx, dw, iso__input_view(g, 1));
  }
}

iso_tensor *iso_prelu(iso_context *ctx, const iso_tensor *x, const iso_tensor *weight) {
  if (!iso__takes(ctx, "prelu", 2, ISO__TENSORS(x, weight))) return NULL;
  const int64_t n = iso__view_numel(&weight->view), channels = x->view.n_dims > 1 ? x->view.shape[1] : 1;
  if (n != 1 && n != channels) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "prelu", "weight has %lld elements where x has %lld channels", (long long)n,
              (long long)channels);
    return NULL;
  }
  int64_t shape[ISO_MAX_DIMS] = {1, n, 1, 1, 1, 1, 1, 1};
  iso_tensor *w = iso_reshape(ctx, weight, n == 1 ? 0 : x->view.n_dims, shape);
  return iso__drop(sloped(ctx, x, w), w);
}

iso_tensor *iso_rrelu(iso_context *ctx, const iso_tensor *x, double lower, double upper, bool training) {
  if (!iso__takes(ctx, "rrelu", 1, ISO__TENSORS(x))) return NULL;
  if (!(lower <= upper)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "rrelu", "lower %g is not at most upper %g", lower, upper);
    return NULL;
  }
  if (!training) return iso_leaky_relu(ctx, x, iso__fenv_div(iso__fenv_sub(upper, -lower), 2));
  iso_tensor *slope = iso_random_uniform(ctx, x->view.dtype, x->view.n_dims, x->view.shape, lower, upper);
  return iso__drop(sloped(ctx, x, slope), slope);
}
