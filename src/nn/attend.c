/* attend.c: multi-head self-attention (Vaswani et al., "Attention is all you need", 2017): heads are read in place from
 * what the linear layers wrote, (batch,length,heads·e), as views (batch,heads,length,e). */
#include <isobit/sequence.h>
#include <stdio.h>
#include "nn/attend.h"

bool iso__attend_check(iso_context *ctx, const char *op, int64_t width, int64_t heads, double dropout,
                       double attention_dropout) {
  if (iso__failed(ctx)) return false;
  if (width < 1 || heads < 1 || width % heads != 0)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "width %lld, heads %lld: heads must divide width", (long long)width,
              (long long)heads);
  else if (!(dropout >= 0 && dropout < 1) || !(attention_dropout >= 0 && attention_dropout < 1))
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "dropout %g, of the attention weights %g: in [0,1)", dropout,
              attention_dropout);
  return !iso__failed(ctx);
}

/* (batch,length,width) → (batch,heads,length,e), a view. Ends x. */
static iso_tensor *split(iso_context *ctx, iso_tensor *x, int64_t heads) {
  if (!x) return NULL;
  const int64_t *shape = iso_tensor_shape(x);
  iso_tensor *parts = iso_reshape(ctx, x, 4, (const int64_t[]){shape[0], shape[1], heads, shape[2] / heads});
  iso_tensor *y = parts ? iso_transpose(ctx, parts, 1, 2) : NULL;
  iso_release(parts), iso_release(x);
  return y;
}

iso_tensor *iso__attend_to(iso_module *m, const iso__attend *a, iso_tensor *x, const iso_tensor *lengths) {
  iso_context *ctx = m->ctx;
  if (iso_tensor_n_dims(x) != 3) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, m->type->name, "x has %d dimensions: (batch,length,width) is expected",
              iso_tensor_n_dims(x));
    return NULL;
  }
  iso_tensor *q = split(ctx, iso_module_forward(a->query, x), a->heads);
  iso_tensor *k = split(ctx, iso_module_forward(a->key, x), a->heads);
  iso_tensor *v = split(ctx, iso_module_forward(a->value, x), a->heads);
  iso_tensor *y = iso_scaled_dot_product_attention(
      ctx, q, k, v,
      &(iso_attention_options){
          .causal = a->causal, .dropout = m->training ? a->dropout : 0, .lengths = lengths, .query_lengths = lengths});
  iso_release(q), iso_release(k), iso_release(v);
  iso_tensor *turned = y ? iso_transpose(ctx, y, 1, 2) : NULL;
  iso_release(y);
  y = turned ? iso_reshape(ctx, turned, 3, iso_tensor_shape(x)) : NULL;
  iso_release(turned);
  return y;
}

/* ---- the module ---- */

typedef struct attention {
  iso_multi_head_attention_config c;
  iso__attend attend;
  iso_module *out;
} attention;

static iso_tensor *forward_sequence(iso_module *m, iso_tensor *x, const iso_tensor *lengths) {
  const attention *a = m->state;
  iso_tensor *heads = iso__attend_to(m, &a->attend, x, lengths);
  iso_tensor *y = iso_module_forward(a->out, heads);
  iso_release(heads);
  return y;
}
static int describe(const iso_module *m, char *text, size_t n_bytes) {
  const attention *a = m->state;
  return snprintf(text, n_bytes, "(%lld, %lld heads%s, dropout %g)", (long long)a->c.width, (long long)a->c.heads,
                  a->c.causal ? ", causal" : "", a->c.dropout);
}
static const iso_module_type type = {.name = "MultiHeadAttention",
                                     .state_bytes = sizeof(attention),
                                     .forward_sequence = forward_sequence,
                                     .describe = describe};

iso_module *iso_multi_head_attention_module(iso_context *ctx, const iso_multi_head_attention_config *config) {
  const iso_multi_head_attention_config c = config ? *config : (iso_multi_head_attention_config){0};
  if (!iso__attend_check(ctx, type.name, c.width, c.heads, 0, c.dropout)) return NULL;
  iso_module *children[4];
  for (int i = 0; i < 4; i++) children[i] = iso_linear_module(ctx, c.width, c.width, !c.no_bias);
  iso_module *m =
      iso__module_with_children(ctx, &type, 4, (const char *const[]){"query", "key", "value", "out"}, children);
  if (!m) return NULL;
  *(attention *)m->state = (attention){.c = c,
                                       .attend = {.query = children[0],
                                                  .key = children[1],
                                                  .value = children[2],
                                                  .heads = c.heads,
                                                  .dropout = c.dropout,
                                                  .causal = c.causal},
                                       .out = children[3]};
  return m;
}
