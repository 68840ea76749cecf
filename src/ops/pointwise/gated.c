/* gated.c: gated linear units: one operand's activation times the other, in one pass forward and one a gradient.
 *
 * With f the activation of operand `gate` and p the other, y = f(gate)·p: the gradient of p is dy·f(gate), the same
 * kernel again; that of the gate is (dy·p)·f′(gate), an operator with a rule of its own, whose f′ and f″ are the
 * activation's. */
#include "ops/pointwise/activation.h"
#include "ops/pointwise/unary.h"

typedef struct unit {
  const char *name, *bwd_name;
  iso__map_fn fn, bwd_fn;
  iso__rule_id rule, bwd_rule;
  int gate;                                                     /* which operand */
  iso_tensor *(*second)(iso_context *ctx, const iso_tensor *x); /* f″ */
} unit;

static const unit GLU = {"glu", "glu_bwd",          ISO__MAP_GLU, ISO__MAP_GLU_BWD, ISO__RULE_GLU, ISO__RULE_GLU_BWD,
                         1,     iso__sigmoid_second};
static const unit SWIGLU = {
    "swiglu", "swiglu_bwd",    ISO__MAP_SWIGLU, ISO__MAP_SWIGLU_BWD, ISO__RULE_SWIGLU, ISO__RULE_SWIGLU_BWD,
    0,        iso__silu_second};
static const unit GEGLU = {
    "geglu", "geglu_bwd",     ISO__MAP_GEGLU, ISO__MAP_GEGLU_BWD, ISO__RULE_GEGLU, ISO__RULE_GEGLU_BWD,
    0,       iso__gelu_second};
static const unit GEGLU_TANH = {"geglu_tanh",
                                "geglu_tanh_bwd",
                                ISO__MAP_GEGLU_TANH,
                                ISO__MAP_GEGLU_TANH_BWD,
                                ISO__RULE_GEGLU_TANH,
                                ISO__RULE_GEGLU_TANH_BWD,
                                0,
                                iso__gelu_tanh_second};

static iso_tensor *forward(iso_context *ctx, const unit *u, const iso_tensor *a, const iso_tensor *b) {
  return iso__pointwise(ctx, u->name, u->fn, u->rule, SAVE_X, ISO__REAL_DTYPES, 2, ISO__TENSORS(a, b), NULL);
}

/* (dy·p)·f′(gate) */
static iso_tensor *backward(iso_context *ctx, const unit *u, const iso_tensor *a, const iso_tensor *b,
                            const iso_tensor *dy) {
  const iso_tensor *const in[] = {a, b, dy};
  if (!iso__takes(ctx, u->bwd_name, 3, in)) return NULL;
  iso_tensor *dx = iso__map(ctx, u->bwd_name, u->bwd_fn, 3, in, NULL, NULL);
  return iso__finish(ctx, dx, ISO_OK, u->bwd_rule,
                     &(iso__finish_options){.inputs = in, .n_inputs = 3, .saved = in, .n_saved = 3});
}

/* The operands with p in the other's place. */
static iso_tensor *with_other(iso_context *ctx, const unit *u, const iso_tensor *gate, const iso_tensor *p) {
  return u->gate == 0 ? forward(ctx, u, gate, p) : forward(ctx, u, p, gate);
}
static void gradient(iso__gradient *g, const unit *u) {
  iso_tensor *a = iso__saved(g, 0), *b = iso__saved(g, 1);
  const int gate = u->gate, other = 1 - gate;
  if (iso__needs(g, gate))
    g->dx[gate] = iso__sum_to(g->ctx, backward(g->ctx, u, a, b, g->dy[0]), iso__input_view(g, gate));
  if (iso__needs(g, other))
    g->dx[other] = iso__sum_to(g->ctx, with_other(g->ctx, u, gate == 0 ? a : b, g->dy[0]), iso__input_view(g, other));
}

/* Of (dy·p)·f′(gate), for an incoming v: v·dy·p·f″ for the gate, which is what differentiating f twice gives;
 * v·dy·f′ for p; v·p·f′ for dy. */
static void twice(iso__gradient *g, const unit *u) {
  iso_context *ctx = g->ctx;
  iso_tensor *const in[] = {iso__saved(g, 0), iso__saved(g, 1), iso__saved(g, 2)};
  iso_tensor *v = g->dy[0], *gate = in[u->gate], *p = in[1 - u->gate], *dy = in[2];
  if (!gate || !p || !dy) return;
  const int other = 1 - u->gate;
  iso_tensor *one = iso__scalar(ctx, gate->view.dtype, 1);
  if (iso__needs(g, u->gate)) {
    iso_tensor *second = u->second(ctx, gate);
    iso_tensor *dx = iso_mul(ctx, iso_mul(ctx, iso_mul(ctx, v, dy), p), second);
    g->dx[u->gate] = iso__sum_to(ctx, dx, iso__input_view(g, u->gate));
  }
  if (iso__needs(g, other)) {
    iso_tensor *dx = u->gate == 0 ? backward(ctx, u, gate, iso_mul(ctx, v, dy), one)
                                  : backward(ctx, u, iso_mul(ctx, v, dy), gate, one);
    g->dx[other] = iso__sum_to(ctx, dx, iso__input_view(g, other));
  }
  if (iso__needs(g, 2)) g->dx[2] = iso__sum_to(ctx, backward(ctx, u, in[0], in[1], v), iso__input_view(g, 2));
}

iso_tensor *iso_swiglu(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return forward(ctx, &SWIGLU, a, b);
}
void iso__swiglu_gradient(iso__gradient *g) { gradient(g, &SWIGLU); }
void iso__swiglu_bwd_gradient(iso__gradient *g) { twice(g, &SWIGLU); }

iso_tensor *iso_geglu(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) { return forward(ctx, &GEGLU, a, b); }
void iso__geglu_gradient(iso__gradient *g) { gradient(g, &GEGLU); }
void iso__geglu_bwd_gradient(iso__gradient *g) { twice(g, &GEGLU); }

iso_tensor *iso_geglu_tanh(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return forward(ctx, &GEGLU_TANH, a, b);
}
void iso__geglu_tanh_gradient(iso__gradient *g) { gradient(g, &GEGLU_TANH); }
void iso__geglu_tanh_bwd_gradient(iso__gradient *g) { twice(g, &GEGLU_TANH); }

/* The two halves along an axis. */
iso_tensor *iso_glu(iso_context *ctx, const iso_tensor *x, int axis) {
  if (!iso__takes(ctx, "glu", 1, ISO__TENSORS(x)) || (axis = iso__axis(ctx, "glu", x, axis)) < 0) return NULL;
  const int64_t n = x->view.shape[axis];
  if (n % 2) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "glu", "axis %d has %lld elements: an even number can be halved", axis,
              (long long)n);
    return NULL;
  }
  iso_tensor *a = iso_slice(ctx, x, axis, 0, n / 2, 1), *b = iso_slice(ctx, x, axis, n / 2, n, 1);
  return iso__drop(iso__drop(forward(ctx, &GLU, a, b), a), b);
}
void iso__glu_gradient(iso__gradient *g) { gradient(g, &GLU); }
void iso__glu_bwd_gradient(iso__gradient *g) { twice(g, &GLU); }
