/* activation.c: activations and their gradients.
 *
 * Each f has a kernel f_bwd(saved, dy) = dy·f′, one memory pass. f_bwd is an operator with a rule of its own, written
 * in elementary operators, so that activations can be differentiated twice. Saved is the result where f′ can be told
 * from it. */
#include "ops/ops.h"

typedef struct activation {
  const char *name, *bwd_name;
  iso__map_fn fn, bwd_fn;
  iso__rule_id rule, bwd_rule;
  bool saves_result;
} activation;

static const activation RELU = {"relu",         "relu_bwd",         ISO__MAP_RELU, ISO__MAP_RELU_BWD,
                                ISO__RULE_RELU, ISO__RULE_RELU_BWD, true};
static const activation TANH = {"tanh",         "tanh_bwd",         ISO__MAP_TANH, ISO__MAP_TANH_BWD,
                                ISO__RULE_TANH, ISO__RULE_TANH_BWD, true};
static const activation SIGMOID = {
    "sigmoid", "sigmoid_bwd", ISO__MAP_SIGMOID, ISO__MAP_SIGMOID_BWD, ISO__RULE_SIGMOID, ISO__RULE_SIGMOID_BWD, true};
static const activation GELU = {"gelu",         "gelu_bwd",         ISO__MAP_GELU, ISO__MAP_GELU_BWD,
                                ISO__RULE_GELU, ISO__RULE_GELU_BWD, false};
static const activation GELU_TANH = {"gelu_tanh",
                                     "gelu_tanh_bwd",
                                     ISO__MAP_GELU_TANH,
                                     ISO__MAP_GELU_TANH_BWD,
                                     ISO__RULE_GELU_TANH,
                                     ISO__RULE_GELU_TANH_BWD,
                                     false};
static const activation SILU = {"silu",         "silu_bwd",         ISO__MAP_SILU, ISO__MAP_SILU_BWD,
                                ISO__RULE_SILU, ISO__RULE_SILU_BWD, false};
static const activation SOFTPLUS = {
    "softplus", "softplus_bwd", ISO__MAP_SOFTPLUS, ISO__MAP_SOFTPLUS_BWD, ISO__RULE_SOFTPLUS, ISO__RULE_SOFTPLUS_BWD,
    false};

static iso_tensor *forward(iso_context *ctx, const activation *f, const iso_tensor *x) {
  if (!iso__takes_dtypes(ctx, f->name, ISO__REAL_DTYPES, 1, ISO__TENSORS(x))) return NULL;
  iso_tensor *y = iso__map(ctx, f->name, f->fn, 1, ISO__TENSORS(x), NULL, NULL);
  return iso__finish(
      ctx, y, ISO_OK, f->rule,
      &(iso__finish_options){
          .inputs = ISO__TENSORS(x), .n_inputs = 1, .saved = ISO__TENSORS(f->saves_result ? y : x), .n_saved = 1});
}

/* dy·f′(saved), into `out` if that is not NULL. */
static iso_tensor *backward(iso_context *ctx, const activation *f, const iso_tensor *saved, const iso_tensor *dy,
                            iso_tensor *out) {
  if (!iso__takes(ctx, f->bwd_name, 2, ISO__TENSORS(saved, dy))) return NULL;
  iso_tensor *dx = iso__map(ctx, f->bwd_name, f->bwd_fn, 2, ISO__TENSORS(saved, dy), NULL, out);
  if (out) return dx; /* only where nothing is recorded */
  return iso__finish(ctx, dx, ISO_OK, f->bwd_rule,
                     &(iso__finish_options){.inputs = ISO__TENSORS(f == &RELU ? NULL : saved, dy),
                                            .n_inputs = 2,
                                            .saved = ISO__TENSORS(saved, dy),
                                            .n_saved = f == &RELU ? 1 : 2});
}

static void gradient(iso__gradient *g, const activation *f) {
  g->dx[0] = backward(g->ctx, f, iso__saved(g, 0), g->dy[0], iso__reusable_dy(g));
}

/* The gradient of f_bwd(s, dy) for an incoming u: u·dy·f″ for s (`second` is f″, or what stands for it), f_bwd(s, u)
 * for dy. */
static void twice(iso__gradient *g, const activation *f, const iso_tensor *second) {
  if (iso__needs(g, 0)) g->dx[0] = iso_mul(g->ctx, iso_mul(g->ctx, g->dy[0], iso__saved(g, 1)), second);
  if (iso__needs(g, 1)) g->dx[1] = backward(g->ctx, f, iso__saved(g, 0), g->dy[0], NULL);
}

iso_tensor *iso_relu(iso_context *ctx, const iso_tensor *x) { return forward(ctx, &RELU, x); }
iso_tensor *iso__relu_bwd(iso_context *ctx, const iso_tensor *y, const iso_tensor *dy, iso_tensor *out) {
  return backward(ctx, &RELU, y, dy, out);
}
void iso__relu_gradient(iso__gradient *g) { gradient(g, &RELU); }
void iso__relu_bwd_gradient(iso__gradient *g) {
  if (iso__needs(g, 1)) g->dx[1] = backward(g->ctx, &RELU, iso__saved(g, 0), g->dy[0], NULL);
}

iso_tensor *iso_tanh(iso_context *ctx, const iso_tensor *x) { return forward(ctx, &TANH, x); }
void iso__tanh_gradient(iso__gradient *g) { gradient(g, &TANH); }
void iso__tanh_bwd_gradient(iso__gradient *g) { /* dy·(1−y²): −2y */
  twice(g, &TANH, iso_mul_scalar(g->ctx, iso__saved(g, 0), -2));
}

iso_tensor *iso_sigmoid(iso_context *ctx, const iso_tensor *x) { return forward(ctx, &SIGMOID, x); }
void iso__sigmoid_gradient(iso__gradient *g) { gradient(g, &SIGMOID); }
void iso__sigmoid_bwd_gradient(iso__gradient *g) { /* dy·y(1−y): 1−2y */
  twice(g, &SIGMOID, iso_rsub_scalar(g->ctx, iso_mul_scalar(g->ctx, iso__saved(g, 0), 2), 1));
}

/* gelu″ = φ(x)·(2−x²), φ(x) = exp(−x²/2)/√(2π) */
iso_tensor *iso_gelu(iso_context *ctx, const iso_tensor *x) { return forward(ctx, &GELU, x); }
void iso__gelu_gradient(iso__gradient *g) { gradient(g, &GELU); }
void iso__gelu_bwd_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *xx = iso_square(ctx, iso__saved(g, 0));
  iso_tensor *phi = iso_mul_scalar(ctx, iso_exp(ctx, iso_mul_scalar(ctx, xx, -0.5)), 0x1.9884533d43651p-2);
  twice(g, &GELU, iso_mul(ctx, phi, iso_rsub_scalar(ctx, xx, 2)));
}

/* f = x(1+t)/2, t = tanh(u), u = k(x + c·x³): f″ = (1−t²)·(u′ + x·(u″/2 − t·u′²)), u′ = k(1+3c·x²), u″ = 6kc·x */
iso_tensor *iso_gelu_tanh(iso_context *ctx, const iso_tensor *x) { return forward(ctx, &GELU_TANH, x); }
void iso__gelu_tanh_gradient(iso__gradient *g) { gradient(g, &GELU_TANH); }
void iso__gelu_tanh_bwd_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const double k = 0x1.9884533d43651p-1 /* √(2/π) */, c = 0.044715;
  iso_tensor *x = iso__saved(g, 0), *xx = iso_square(ctx, x);
  iso_tensor *u = iso_mul(ctx, iso_mul_scalar(ctx, x, k), iso_add_scalar(ctx, iso_mul_scalar(ctx, xx, c), 1));
  iso_tensor *t = iso_tanh(ctx, u);
  iso_tensor *du = iso_mul_scalar(ctx, iso_add_scalar(ctx, iso_mul_scalar(ctx, xx, 3 * c), 1), k);
  iso_tensor *inner = iso_sub(ctx, iso_mul_scalar(ctx, x, 3 * k * c), iso_mul(ctx, t, iso_square(ctx, du)));
  iso_tensor *sum = iso_add(ctx, du, iso_mul(ctx, x, inner));
  twice(g, &GELU_TANH, iso_mul(ctx, iso_rsub_scalar(ctx, iso_square(ctx, t), 1), sum));
}

/* silu″ = s(1−s)·(2 + x(1−2s)), s = sigmoid(x) */
iso_tensor *iso_silu(iso_context *ctx, const iso_tensor *x) { return forward(ctx, &SILU, x); }
void iso__silu_gradient(iso__gradient *g) { gradient(g, &SILU); }
void iso__silu_bwd_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *x = iso__saved(g, 0), *s = iso_sigmoid(ctx, x);
  iso_tensor *bell = iso_mul(ctx, s, iso_rsub_scalar(ctx, s, 1));
  iso_tensor *tilt = iso_mul(ctx, x, iso_rsub_scalar(ctx, iso_mul_scalar(ctx, s, 2), 1));
  twice(g, &SILU, iso_mul(ctx, bell, iso_add_scalar(ctx, tilt, 2)));
}

/* softplus″ = s(1−s) */
iso_tensor *iso_softplus(iso_context *ctx, const iso_tensor *x) { return forward(ctx, &SOFTPLUS, x); }
void iso__softplus_gradient(iso__gradient *g) { gradient(g, &SOFTPLUS); }
void iso__softplus_bwd_gradient(iso__gradient *g) {
  iso_tensor *s = iso_sigmoid(g->ctx, iso__saved(g, 0));
  twice(g, &SOFTPLUS, iso_mul(g->ctx, s, iso_rsub_scalar(g->ctx, s, 1)));
}
