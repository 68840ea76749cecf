/* encoder.c: transformer encoders, with the norm behind each part (Vaswani et al., 2017) or before it (Xiong et al.,
 * "On layer normalization in the transformer architecture", 2020), and the layer norm they are made with. */
#include <isobit/sequence.h>
#include <stdio.h>
#include "nn/attend.h"
#include "nn/layers.h"
#include "ops/product/linear.h"

/* ---- layer norm ---- */

typedef struct layer_norm {
  int64_t width;
  double eps;
  iso_tensor *weight, *bias; /* the module's; (width) */
} layer_norm;

static iso_tensor *norm_forward(iso_module *m, iso_tensor *x) {
  const layer_norm *n = m->state;
  return iso_layer_norm(m->ctx, x, 1, n->weight, n->bias, n->eps);
}
static int norm_describe(const iso_module *m, char *text, size_t n_bytes) {
  const layer_norm *n = m->state;
  return snprintf(text, n_bytes, "(%lld, eps %g)", (long long)n->width, n->eps);
}
static const iso_module_type norm_type = {
    .name = "LayerNorm", .state_bytes = sizeof(layer_norm), .forward = norm_forward, .describe = norm_describe};

iso_module *iso_layer_norm_module(iso_context *ctx, int64_t width, double eps) {
  if (iso__failed(ctx)) return NULL;
  if (width < 1 || !(eps >= 0)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "LayerNorm", "width %lld, eps %g", (long long)width, eps);
    return NULL;
  }
  layer_norm n = {.width = width, .eps = eps};
  n.weight = iso_tensor_full(ctx, ISO_F32, 1, &width, 1), n.bias = iso_tensor_full(ctx, ISO_F32, 1, &width, 0);
  iso_module *m = iso_module_new(ctx, &norm_type, &n);
  if (!m) return iso_release(n.weight), iso_release(n.bias), NULL;
  if (!(m = iso__module_with(m, "weight", n.weight, true))) return iso_release(n.bias), NULL;
  return iso__module_with(m, "bias", n.bias, true);
}

/* ---- a layer ---- */

/* By iso_feedforward. */
static const struct {
  iso__activation fused;
  iso_tensor *(*alone)(iso_context *ctx, const iso_tensor *x);
} activations[] = {[ISO_FEEDFORWARD_GELU] = {ISO__ACTIVATION_GELU, iso_gelu},
                   [ISO_FEEDFORWARD_GELU_TANH] = {ISO__ACTIVATION_GELU_TANH, iso_gelu_tanh},
                   [ISO_FEEDFORWARD_RELU] = {ISO__ACTIVATION_RELU, iso_relu}};

iso_tensor *iso__feedforward_wide(iso_module *linear, iso_tensor *x, int activation) {
  if (activation < 0 || activation > ISO_FEEDFORWARD_RELU) activation = ISO_FEEDFORWARD_GELU;
  iso_tensor *y = iso__module_forward_fused(linear, x, NULL, (int)activations[activation].fused);
  if (y) return y;
  iso_tensor *wide = iso_module_forward(linear, x);
  y = wide ? activations[activation].alone(linear->ctx, wide) : NULL;
  iso_release(wide);
  return y;
}

typedef struct layer {
  iso_encoder_config c;
  iso_module *attention, *linear1, *linear2, *norm1, *norm2;
} layer;

/* f(x), dropped out; ends f. */
static iso_tensor *drop(iso_module *m, iso_tensor *f) {
  const layer *l = m->state;
  if (!f || !m->training || l->c.dropout == 0) return f;
  iso_tensor *y = iso_dropout(m->ctx, f, l->c.dropout, true);
  iso_release(f);
  return y;
}

static iso_tensor *feed_forward(iso_module *m, iso_tensor *x) {
  const layer *l = m->state;
  iso_tensor *a = drop(m, iso__feedforward_wide(l->linear1, x, (int)l->c.activation));
  iso_tensor *y = iso_module_forward(l->linear2, a);
  iso_release(a);
  return drop(m, y);
}

/* One of the two halves: x + f(norm(x)) or norm(x + f(x)). */
static iso_tensor *half(iso_module *m, iso_tensor *x, const iso_tensor *lengths, bool attends) {
  const layer *l = m->state;
  iso_module *norm = attends ? l->norm1 : l->norm2;
  iso_tensor *in = l->c.norm_first ? iso_module_forward(norm, x) : x;
  iso_tensor *f = attends ? drop(m, iso_module_forward_sequence(l->attention, in, lengths)) : feed_forward(m, in);
  if (in != x) iso_release(in);
  iso_tensor *sum = iso_add(m->ctx, x, f);
  iso_release(f);
  if (l->c.norm_first) return sum;
  iso_tensor *y = iso_module_forward(norm, sum);
  iso_release(sum);
  return y;
}

static iso_tensor *layer_forward(iso_module *m, iso_tensor *x, const iso_tensor *lengths) {
  iso_tensor *h = half(m, x, lengths, true);
  iso_tensor *y = h ? half(m, h, lengths, false) : NULL;
  iso_release(h);
  return y;
}
static int layer_describe(const iso_module *m, char *text, size_t n_bytes) {
  const layer *l = m->state;
  return snprintf(text, n_bytes, "(norm %s, dropout %g)", l->c.norm_first ? "first" : "last", l->c.dropout);
}
static const iso_module_type layer_type = {.name = "TransformerEncoderLayer",
                                           .state_bytes = sizeof(layer),
                                           .forward_sequence = layer_forward,
                                           .describe = layer_describe};

iso_module *iso_transformer_encoder_layer(iso_context *ctx, const iso_encoder_config *config) {
  iso_encoder_config c = config ? *config : (iso_encoder_config){0};
  if (!iso__attend_check(ctx, layer_type.name, c.width, c.heads, c.dropout, c.attention_dropout)) return NULL;
  if (c.feedforward == 0) c.feedforward = 4 * c.width;
  static const char *const names[] = {"self_attn", "linear1", "linear2", "norm1", "norm2"};
  iso_module *const children[] = {
      iso_multi_head_attention_module(ctx, &(iso_multi_head_attention_config){.width = c.width,
                                                                              .heads = c.heads,
                                                                              .dropout = c.attention_dropout,
                                                                              .causal = c.causal}),
      iso_linear_module(ctx, c.width, c.feedforward, true), iso_linear_module(ctx, c.feedforward, c.width, true),
      iso_layer_norm_module(ctx, c.width, c.eps), iso_layer_norm_module(ctx, c.width, c.eps)};
  iso_module *m = iso__module_with_children(ctx, &layer_type, 5, names, children);
  if (!m) return NULL;
  *(layer *)m->state = (layer){c, children[0], children[1], children[2], children[3], children[4]};
  return iso__module_mark_block(m);
}

/* ---- many ---- */

static iso_tensor *encoder_forward(iso_module *m, iso_tensor *x, const iso_tensor *lengths) {
  iso_tensor *y = x;
  for (size_t i = 0; i < m->n_children && y; i++) {
    iso_tensor *next = iso_module_forward_sequence(m->children[i].module, y, lengths);
    if (y != x) iso_release(y);
    y = next;
  }
  return y == x ? iso_tensor_alias(m->ctx, x) : y;
}
static const iso_module_type encoder_type = {.name = "TransformerEncoder", .forward_sequence = encoder_forward};

iso_module *iso_transformer_encoder(iso_context *ctx, int n_layers, const iso_encoder_config *config) {
  if (iso__failed(ctx)) return NULL;
  if (n_layers < 1 || n_layers > 1024) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, encoder_type.name, "%d layers: 1 to 1024", n_layers);
    return NULL;
  }
  iso_module *m = iso_module_new(ctx, &encoder_type, NULL);
  for (int i = 0; i < n_layers && m && !iso__failed(ctx); i++) {
    char name[16];
    snprintf(name, sizeof name, "%d", i);
    iso_module_add_child(m, name, iso_transformer_encoder_layer(ctx, config));
  }
  if (m && config && config->norm_first && !iso__failed(ctx))
    iso_module_add_child(m, "norm", iso_layer_norm_module(ctx, config->width, config->eps));
  if (!iso__failed(ctx)) return m;
  iso_module_free(m);
  return NULL;
}
