/* smooth.c: activations with a second derivative. */
#include "base/fenv.h"
#include "ops/pointwise/activation.h"

static const iso__activation TANH = {
    .name = "tanh",
    .bwd_name = "tanh_bwd",
    .fn = ISO__MAP_TANH,
    .bwd_fn = ISO__MAP_TANH_BWD,
    .rule = ISO__RULE_TANH,
    .bwd_rule = ISO__RULE_TANH_BWD,
    .saves_result = true,
};
static const iso__activation SIGMOID = {
    .name = "sigmoid",
    .bwd_name = "sigmoid_bwd",
    .fn = ISO__MAP_SIGMOID,
    .bwd_fn = ISO__MAP_SIGMOID_BWD,
    .rule = ISO__RULE_SIGMOID,
    .bwd_rule = ISO__RULE_SIGMOID_BWD,
    .saves_result = true,
};
static const iso__activation GELU = {
    .name = "gelu",
    .bwd_name = "gelu_bwd",
    .fn = ISO__MAP_GELU,
    .bwd_fn = ISO__MAP_GELU_BWD,
    .rule = ISO__RULE_GELU,
    .bwd_rule = ISO__RULE_GELU_BWD,
};
static const iso__activation GELU_TANH = {
    .name = "gelu_tanh",
    .bwd_name = "gelu_tanh_bwd",
    .fn = ISO__MAP_GELU_TANH,
    .bwd_fn = ISO__MAP_GELU_TANH_BWD,
    .rule = ISO__RULE_GELU_TANH,
    .bwd_rule = ISO__RULE_GELU_TANH_BWD,
};
static const iso__activation SILU = {
    .name = "silu",
    .bwd_name = "silu_bwd",
    .fn = ISO__MAP_SILU,
    .bwd_fn = ISO__MAP_SILU_BWD,
    .rule = ISO__RULE_SILU,
    .bwd_rule = ISO__RULE_SILU_BWD,
};
static const iso__activation SOFTPLUS = {
    .name = "softplus",
    .bwd_name = "softplus_bwd",
    .fn = ISO__MAP_SOFTPLUS,
    .bwd_fn = ISO__MAP_SOFTPLUS_BWD,
    .rule = ISO__RULE_SOFTPLUS,
    .bwd_rule = ISO__RULE_SOFTPLUS_BWD,
};
static const iso__activation SOFTPLUS_BETA = {
    .name = "softplus_beta",
    .bwd_name = "softplus_beta_bwd",
    .fn = ISO__MAP_SOFTPLUS_SCALED,
    .bwd_fn = ISO__MAP_SOFTPLUS_SCALED_BWD,
    .rule = ISO__RULE_SOFTPLUS_BETA,
    .bwd_rule = ISO__RULE_SOFTPLUS_BETA_BWD,
};
static const iso__activation LOGSIGMOID = {
    .name = "logsigmoid",
    .bwd_name = "logsigmoid_bwd",
    .fn = ISO__MAP_LOGSIGMOID,
    .bwd_fn = ISO__MAP_LOGSIGMOID_BWD,
    .rule = ISO__RULE_LOGSIGMOID,
    .bwd_rule = ISO__RULE_LOGSIGMOID_BWD,
};
static const iso__activation SOFTSIGN = {
    .name = "softsign",
    .bwd_name = "softsign_bwd",
    .fn = ISO__MAP_SOFTSIGN,
    .bwd_fn = ISO__MAP_SOFTSIGN_BWD,
    .rule = ISO__RULE_SOFTSIGN,
    .bwd_rule = ISO__RULE_SOFTSIGN_BWD,
};
static const iso__activation MISH = {
    .name = "mish",
    .bwd_name = "mish_bwd",
    .fn = ISO__MAP_MISH,
    .bwd_fn = ISO__MAP_MISH_BWD,
    .rule = ISO__RULE_MISH,
    .bwd_rule = ISO__RULE_MISH_BWD,
};
static const iso__activation ELU = {
    .name = "elu",
    .bwd_name = "elu_bwd",
    .fn = ISO__MAP_ELU,
    .bwd_fn = ISO__MAP_ELU_BWD,
    .rule = ISO__RULE_ELU,
    .bwd_rule = ISO__RULE_ELU_BWD,
};

iso_tensor *iso_tanh(iso_context *ctx, const iso_tensor *x) { return iso__activate(ctx, &TANH, x, NULL); }
void iso__tanh_gradient(iso__gradient *g) { iso__activation_gradient(g, &TANH); }
void iso__tanh_bwd_gradient(iso__gradient *g) { /* dy·(1−y²): −2y */
  iso__activation_twice(g, &TANH, iso_mul_scalar(g->ctx, iso__saved(g, 0), -2));
}

iso_tensor *iso_sigmoid(iso_context *ctx, const iso_tensor *x) { return iso__activate(ctx, &SIGMOID, x, NULL); }
void iso__sigmoid_gradient(iso__gradient *g) { iso__activation_gradient(g, &SIGMOID); }
void iso__sigmoid_bwd_gradient(iso__gradient *g) { /* dy·y(1−y): 1−2y */
  iso__activation_twice(g, &SIGMOID, iso_rsub_scalar(g->ctx, iso_mul_scalar(g->ctx, iso__saved(g, 0), 2), 1));
}

/* sigmoid″ = s(1−s)(1−2s) */
iso_tensor *iso__sigmoid_second(iso_context *ctx, const iso_tensor *x) {
  iso_tensor *s = iso_sigmoid(ctx, x);
  iso_tensor *bell = iso_mul(ctx, s, iso_rsub_scalar(ctx, s, 1));
  return iso_mul(ctx, bell, iso_rsub_scalar(ctx, iso_mul_scalar(ctx, s, 2), 1));
}

/* gelu″ = φ(x)·(2−x²), φ(x) = exp(−x²/2)/√(2π) */
iso_tensor *iso_gelu(iso_context *ctx, const iso_tensor *x) { return iso__activate(ctx, &GELU, x, NULL); }
void iso__gelu_gradient(iso__gradient *g) { iso__activation_gradient(g, &GELU); }
iso_tensor *iso__gelu_second(iso_context *ctx, const iso_tensor *x) {
  iso_tensor *xx = iso_square(ctx, x);
  iso_tensor *phi = iso_mul_scalar(ctx, iso_exp(ctx, iso_mul_scalar(ctx, xx, -0.5)), 0x1.9884533d43651p-2);
  return iso_mul(ctx, phi, iso_rsub_scalar(ctx, xx, 2));
}
void iso__gelu_bwd_gradient(iso__gradient *g) {
  iso__activation_twice(g, &GELU, iso__gelu_second(g->ctx, iso__saved(g, 0)));
}

/* f = x(1+t)/2, t = tanh(u), u = k(x + c·x³): f″ = (1−t²)·(u′ + x·(u″/2 − t·u′²)), u′ = k(1+3c·x²), u″ = 6kc·x */
iso_tensor *iso_gelu_tanh(iso_context *ctx, const iso_tensor *x) { return iso__activate(ctx, &GELU_TANH, x, NULL); }
void iso__gelu_tanh_gradient(iso__gradient *g) { iso__activation_gradient(g, &GELU_TANH); }
iso_tensor *iso__gelu_tanh_second(iso_context *ctx, const iso_tensor *x) {
  const double k = 0x1.9884533d43651p-1 /* √(2/π) */, c = 0.044715;
  iso_tensor *xx = iso_square(ctx, x);
  iso_tensor *kx = iso_mul_scalar(ctx, x, k);
  iso_tensor *u = iso_mul(ctx, kx, iso_add_scalar(ctx, iso_mul_scalar(ctx, xx, c), 1));
  iso_tensor *t = iso_tanh(ctx, u);
  iso_tensor *du = iso_mul_scalar(ctx, iso_add_scalar(ctx, iso_mul_scalar(ctx, xx, 3 * c), 1), k);
  iso_tensor *half_ddu = iso_mul_scalar(ctx, x, 3 * k * c);
  iso_tensor *inner = iso_sub(ctx, half_ddu, iso_mul(ctx, t, iso_square(ctx, du)));
  iso_tensor *sum = iso_add(ctx, du, iso_mul(ctx, x, inner));
  return iso_mul(ctx, iso_rsub_scalar(ctx, iso_square(ctx, t), 1), sum);
}
void iso__gelu_tanh_bwd_gradient(iso__gradient *g) {
  iso__activation_twice(g, &GELU_TANH, iso__gelu_tanh_second(g->ctx, iso__saved(g, 0)));
}

/* silu″ = s(1−s)·(2 + x(1−2s)), s = sigmoid(x) */
iso_tensor *iso_silu(iso_context *ctx, const iso_tensor *x) { return iso__activate(ctx, &SILU, x, NULL); }
void iso__silu_gradient(iso__gradient *g) { iso__activation_gradient(g, &SILU); }
iso_tensor *iso__silu_second(iso_context *ctx, const iso_tensor *x) {
  iso_tensor *s = iso_sigmoid(ctx, x);
  iso_tensor *bell = iso_mul(ctx, s, iso_rsub_scalar(ctx, s, 1));
  iso_tensor *tilt = iso_mul(ctx, x, iso_rsub_scalar(ctx, iso_mul_scalar(ctx, s, 2), 1));
  return iso_mul(ctx, bell, iso_add_scalar(ctx, tilt, 2));
}
void iso__silu_bwd_gradient(iso__gradient *g) {
  iso__activation_twice(g, &SILU, iso__silu_second(g->ctx, iso__saved(g, 0)));
}

/* With parameters: β scales softplus, which is the identity where β·x passes the threshold. softplus″ = s(1−s). */
static iso_tensor *bell_of(iso_context *ctx, const iso_tensor *x) {
  iso_tensor *s = iso_sigmoid(ctx, x);
  return iso_mul(ctx, s, iso_rsub_scalar(ctx, s, 1));
}
iso_tensor *iso_softplus(iso_context *ctx, const iso_tensor *x) { return iso__activate(ctx, &SOFTPLUS, x, NULL); }
void iso__softplus_gradient(iso__gradient *g) { iso__activation_gradient(g, &SOFTPLUS); }
void iso__softplus_bwd_gradient(iso__gradient *g) {
  iso__activation_twice(g, &SOFTPLUS, bell_of(g->ctx, iso__saved(g, 0)));
}

iso_tensor *iso_softplus_beta(iso_context *ctx, const iso_tensor *x, double beta, double threshold) {
  return iso__activate(ctx, &SOFTPLUS_BETA, x, (const double[3]){beta, threshold});
}
void iso__softplus_beta_gradient(iso__gradient *g) { iso__activation_gradient(g, &SOFTPLUS_BETA); }
void iso__softplus_beta_bwd_gradient(iso__gradient *g) { /* β·s(1−s) below the threshold */
  iso_context *ctx = g->ctx;
  const double *s = iso__attrs(g);
  iso_tensor *z = iso_mul_scalar(ctx, iso__saved(g, 0), s[0]);
  if (!z) return;
  iso_tensor *second = iso_mul_scalar(ctx, bell_of(ctx, z), s[0]), *limit = iso__scalar(ctx, z->view.dtype, s[1]);
  second = iso_where(ctx, iso_gt(ctx, z, limit), iso__scalar(ctx, z->view.dtype, 0), second);
  iso__activation_twice(g, &SOFTPLUS_BETA, second);
}

/* log(sigmoid(x)): −s(1−s) */
iso_tensor *iso_logsigmoid(iso_context *ctx, const iso_tensor *x) { return iso__activate(ctx, &LOGSIGMOID, x, NULL); }
void iso__logsigmoid_gradient(iso__gradient *g) { iso__activation_gradient(g, &LOGSIGMOID); }
void iso__logsigmoid_bwd_gradient(iso__gradient *g) {
  iso__activation_twice(g, &LOGSIGMOID, iso_neg(g->ctx, bell_of(g->ctx, iso__saved(g, 0))));
}

/* x/(1+|x|): −2·sign(x)/(1+|x|)³ */
iso_tensor *iso_softsign(iso_context *ctx, const iso_tensor *x) { return iso__activate(ctx, &SOFTSIGN, x, NULL); }
void iso__softsign_gradient(iso__gradient *g) { iso__activation_gradient(g, &SOFTSIGN); }
void iso__softsign_bwd_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *x = iso__saved(g, 0), *d = iso_add_scalar(ctx, iso_abs(ctx, x), 1);
  iso_tensor *sign = iso_sign(ctx, x), *second = iso_div(ctx, sign, iso_pow_scalar(ctx, d, 3));
  iso__activation_twice(g, &SOFTSIGN, iso_mul_scalar(ctx, second, -2));
}

/* mish′ = t + x·s·(1−t²) with t = tanh(softplus(x)), s = sigmoid(x):
 * mish″ = (1−t²)·s·(2 + x·(1−s) − 2·x·t·s) */
iso_tensor *iso_mish(iso_context *ctx, const iso_tensor *x) { return iso__activate(ctx, &MISH, x, NULL); }
void iso__mish_gradient(iso__gradient *g) { iso__activation_gradient(g, &MISH); }
void iso__mish_bwd_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *x = iso__saved(g, 0), *s = iso_sigmoid(ctx, x), *t = iso_tanh(ctx, iso_softplus(ctx, x));
  iso_tensor *outer = iso_mul(ctx, iso_rsub_scalar(ctx, iso_square(ctx, t), 1), s);
  iso_tensor *not_s = iso_rsub_scalar(ctx, s, 1);
  iso_tensor *rest = iso_sub(ctx, not_s, iso_mul_scalar(ctx, iso_mul(ctx, t, s), 2));
  iso__activation_twice(g, &MISH, iso_mul(ctx, outer, iso_add_scalar(ctx, iso_mul(ctx, x, rest), 2)));
}

/* The numbers of ELU's kernel: of negative values, of positive ones, of the exponent. elu″ = below·inner²·exp(inner·x)
 * where x ≤ 0, else 0. */
iso_tensor *iso_elu(iso_context *ctx, const iso_tensor *x, double alpha) {
  return iso__activate(ctx, &ELU, x, (const double[3]){alpha, 1, 1});
}
iso_tensor *iso_celu(iso_context *ctx, const iso_tensor *x, double alpha) {
  if (alpha != 0) return iso__activate(ctx, &ELU, x, (const double[3]){alpha, 1, iso__fenv_div(1, alpha)});
  if (!iso__failed(ctx) && x) ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "celu", "alpha is 0: the exponent is divided by it");
  return NULL;
}
iso_tensor *iso_selu(iso_context *ctx, const iso_tensor *x) {
  const double alpha = 1.6732632423543772848170429916717, scale = 1.0507009873554804934193349852946;
  return iso__activate(ctx, &ELU, x, (const double[3]){alpha * scale, scale, 1});
}
void iso__elu_gradient(iso__gradient *g) { iso__activation_gradient(g, &ELU); }
void iso__elu_bwd_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const double *s = iso__attrs(g);
  iso_tensor *x = iso__saved(g, 0);
  if (!x) return;
  iso_tensor *zero = iso__scalar(ctx, x->view.dtype, 0);
  iso_tensor *e = iso_mul_scalar(ctx, iso_exp(ctx, iso_mul_scalar(ctx, x, s[2])), s[0] * s[2] * s[2]);
  iso__activation_twice(g, &ELU, iso_where(ctx, iso_gt(ctx, x, zero), zero, e));
}

/* x − tanh(x) */
iso_tensor *iso_tanhshrink(iso_context *ctx, const iso_tensor *x) {
  iso_tensor *t = iso_tanh(ctx, x);
  return iso__drop(iso_sub(ctx, x, t), t);
}
