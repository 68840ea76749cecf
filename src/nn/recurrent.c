/* recurrent.c: LSTM, GRU and RNN as modules with PyTorch's names, and the text classifier made of the first. */
#include "nn/recurrent.h"
#include <stdio.h>
#include "nn/init.h"
#include "nn/module.h"

typedef iso_tensor *operator_fn(iso_context *ctx, const iso_tensor *x, const iso_recurrent_weights *weights,
                                const iso_recurrent_options *options, iso_tensor **h_n, iso_tensor **c_n);
static iso_tensor *gru(iso_context *ctx, const iso_tensor *x, const iso_recurrent_weights *weights,
                       const iso_recurrent_options *options, iso_tensor **h_n, iso_tensor **c_n) {
  (void)c_n;
  return iso_gru(ctx, x, weights, options, h_n);
}
static iso_tensor *rnn(iso_context *ctx, const iso_tensor *x, const iso_recurrent_weights *weights,
                       const iso_recurrent_options *options, iso_tensor **h_n, iso_tensor **c_n) {
  (void)c_n;
  return iso_rnn(ctx, x, weights, options, h_n);
}

enum { MOST_LAYERS = 16 };
typedef struct recurrent {
  iso_recurrent_config c;
  operator_fn *f;
  iso_recurrent_weights weights[2 * MOST_LAYERS]; /* the module's */
} recurrent;

static iso_tensor *run(iso_module *m, iso_tensor *x, const iso_recurrent_options *more, iso_tensor **h_n,
                       iso_tensor **c_n) {
  const recurrent *r = m->state;
  iso_recurrent_options o = *more;
  o.n_layers = r->c.layers, o.bidirectional = r->c.bidirectional, o.relu = r->c.relu;
  o.dropout = r->c.dropout, o.training = m->training;
  return r->f(m->ctx, x, r->weights, &o, h_n, c_n);
}
static iso_tensor *forward_sequence(iso_module *m, iso_tensor *x, const iso_tensor *lengths) {
  return run(m, x, &(iso_recurrent_options){.lengths = lengths}, NULL, NULL);
}
static int describe(const iso_module *m, char *text, size_t n_bytes) {
  const iso_recurrent_config *c = &((const recurrent *)m->state)->c;
  char dropout[40] = "";
  if (c->dropout > 0) snprintf(dropout, sizeof dropout, ", dropout %g", c->dropout);
  return snprintf(text, n_bytes, "(%lld → %lld, %d layer%s%s%s%s%s)", (long long)c->in, (long long)c->hidden, c->layers,
                  c->layers == 1 ? "" : "s", c->bidirectional ? ", both directions" : "", c->relu ? ", relu" : "",
                  c->no_bias ? ", no bias" : "", dropout);
}
#define TYPE(name_)                                                                                                    \
  { .name = name_, .state_bytes = sizeof(recurrent), .forward_sequence = forward_sequence, .describe = describe }
static const iso_module_type lstm_type = TYPE("LSTM"), gru_type = TYPE("GRU"), rnn_type = TYPE("RNN");
#undef TYPE

iso_tensor *iso_recurrent_forward(iso_module *m, iso_tensor *x, const iso_recurrent_options *options, iso_tensor **h_n,
                                  iso_tensor **c_n) {
  if (h_n) *h_n = NULL;
  if (c_n) *c_n = NULL;
  if (!m || !x || iso__failed(m->ctx)) return NULL;
  if (m->type != &lstm_type && m->type != &gru_type && m->type != &rnn_type) {
    ISO__FAIL(m->ctx, ISO_INVALID_ARGUMENT, __func__, "%s is no LSTM, GRU or RNN", m->type->name);
    return NULL;
  }
  const size_t outer = iso__module_enter(m);
  const iso_recurrent_options o = options ? *options : (iso_recurrent_options){0};
  iso_tensor *y = run(m, x, &o, h_n, c_n);
  iso__module_leave(m, outer);
  return y;
}

/* ---- making ---- */

static bool check(iso_context *ctx, const iso_module_type *type, const iso_recurrent_config *c) {
  if (iso__failed(ctx)) return false;
  if (c && c->in >= 1 && c->hidden >= 1 && c->layers >= 0 && c->layers <= MOST_LAYERS && c->dropout >= 0 &&
      c->dropout <= 1)
    return true;
  if (!c) ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, type->name, "there is no configuration");
  else
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, type->name,
              "in %lld, hidden %lld: at least 1 each; %d layers: at most %d; dropout %g: 0 to 1", (long long)c->in,
              (long long)c->hidden, c->layers, MOST_LAYERS, c->dropout);
  return false;
}

/* One parameter, "weight_ih_l0_reverse": U(−b,b), b = 1/√hidden, as PyTorch's; NULL and the module freed on failure. */
static iso_module *with(iso_module *m, const char *kind, int at, int n_dims, const int64_t *shape,
                        const iso_tensor **out) {
  if (!m) return NULL;
  const recurrent *r = m->state;
  const int directions = r->c.bidirectional ? 2 : 1;
  char name[40];
  snprintf(name, sizeof name, "%s_l%d%s", kind, at / directions, at % directions ? "_reverse" : "");
  iso_tensor *t = iso__init_default(m->ctx, iso_tensor_new(m->ctx, ISO_F32, n_dims, shape), (double)r->c.hidden);
  *out = t;
  return iso__module_with(m, name, t, true);
}

static iso_module *make(iso_context *ctx, const iso_module_type *type, operator_fn *f, int gates,
                        const iso_recurrent_config *config) {
  if (!check(ctx, type, config)) return NULL;
  iso_module *m = iso_module_new(ctx, type, NULL);
  if (!m) return NULL;
  recurrent *r = m->state;
  r->c = *config, r->f = f;
  if (r->c.layers == 0) r->c.layers = 1;
  const iso_recurrent_config c = r->c;
  const int64_t directions = c.bidirectional ? 2 : 1, rows = gates * c.hidden;
  for (int at = 0; at < c.layers * directions && m; at++) {
    iso_recurrent_weights *w = &r->weights[at];
    const int64_t in = at < directions ? c.in : directions * c.hidden;
    m = with(m, "weight_ih", at, 2, (const int64_t[]){rows, in}, &w->w_ih);
    m = with(m, "weight_hh", at, 2, (const int64_t[]){rows, c.hidden}, &w->w_hh);
    if (c.no_bias) continue;
    m = with(m, "bias_ih", at, 1, &rows, &w->b_ih);
    m = with(m, "bias_hh", at, 1, &rows, &w->b_hh);
  }
  return m;
}

iso_module *iso_lstm_module(iso_context *ctx, const iso_recurrent_config *config) {
  return make(ctx, &lstm_type, iso_lstm, 4, config);
}
iso_module *iso_gru_module(iso_context *ctx, const iso_recurrent_config *config) {
  return make(ctx, &gru_type, gru, 3, config);
}
iso_module *iso_rnn_module(iso_context *ctx, const iso_recurrent_config *config) {
  return make(ctx, &rnn_type, rnn, 1, config);
}

/* ---- the classifier: embedding, LSTM, its state after each text's last token, linear ---- */

typedef struct text_lstm {
  iso_module *embedding, *lstm, *linear;
  double dropout;
} text_lstm;

static iso_tensor *classify(iso_module *m, iso_tensor *ids, const iso_tensor *lengths) {
  const text_lstm *t = m->state;
  iso_context *ctx = m->ctx;
  iso_tensor *x = iso_module_forward(t->embedding, ids), *h = NULL;
  iso_release(x ? iso_recurrent_forward(t->lstm, x, &(iso_recurrent_options){.lengths = lengths}, &h, NULL) : NULL);
  iso_release(x);
  iso_tensor *last = h ? iso_select(ctx, h, 0, 0) : NULL;
  iso_release(h);
  iso_tensor *kept = last && m->training && t->dropout > 0 ? iso_dropout(ctx, last, t->dropout, true) : NULL;
  iso_tensor *y = last ? iso_module_forward(t->linear, kept ? kept : last) : NULL;
  iso_release(last), iso_release(kept);
  return y;
}
static const iso_module_type text_type = {
    .name = "TextLSTM", .state_bytes = sizeof(text_lstm), .forward_sequence = classify};

iso_module *iso__text_lstm_new(iso_context *ctx, const iso_text_model_config *c) {
  static const char *const names[] = {"embedding", "lstm", "linear"};
  iso_module *children[3];
  children[0] = iso_embedding_module(
      ctx,
      &(iso_embedding_config){.rows = c->vocabulary, .width = c->width, .has_padding = true, .padding = c->padding});
  children[1] = iso_lstm_module(ctx, &(iso_recurrent_config){.in = c->width, .hidden = c->width});
  children[2] = iso_linear_module(ctx, c->width, c->classes, true);
  iso_module *m = iso__module_with_children(ctx, &text_type, 3, names, children);
  if (m)
    *(text_lstm *)m->state =
        (text_lstm){.embedding = children[0], .lstm = children[1], .linear = children[2], .dropout = c->dropout};
  return m;
}
