/* recurrent.c: gradient cases of ops/recurrent; gradients.h explains them. Inputs: x, w_ih, w_hh, and a bias or h0. */
#include "ops/gradients/gradients.h"

#define X in[0]
/* Result and last states, each with a weight of its own. */
static iso_tensor *joined(iso_context *ctx, iso_tensor *y, iso_tensor *h, iso_tensor *c) {
  iso_tensor *parts[] = {iso_flatten(ctx, y, 0, -1), iso_flatten(ctx, iso_mul_scalar(ctx, h, 0.7), 0, -1),
                         c ? iso_flatten(ctx, iso_mul_scalar(ctx, c, -1.3), 0, -1) : NULL};
  return iso_cat(ctx, c ? 3 : 2, (const iso_tensor *const *)parts, 0);
}
static iso_tensor *lengths(iso_context *ctx, int64_t batch) { /* of 3 steps */
  static const int64_t length[] = {2, 3, 0, 1};
  return iso_tensor_copy_from(ctx, ISO_I64, 1, &batch, length);
}
static iso_tensor *f_lstm(iso_context *ctx, iso_tensor *const *in) {
  iso_tensor *h, *c;
  iso_tensor *y = iso_lstm(ctx, X, &(iso_recurrent_weights){in[1], in[2], in[3], in[3]}, NULL, &h, &c);
  return joined(ctx, y, h, c);
}
static iso_tensor *f_lstm_states(iso_context *ctx, iso_tensor *const *in) {
  iso_tensor *h, *c;
  const iso_recurrent_options o = {
      .time_first = true, .lengths = lengths(ctx, 4), .h0 = in[3], .c0 = iso_mul_scalar(ctx, in[3], 2)};
  iso_tensor *y = iso_lstm(ctx, X, &(iso_recurrent_weights){.w_ih = in[1], .w_hh = in[2]}, &o, &h, &c);
  return joined(ctx, y, h, c);
}
/* Two directions of two layers from the same matrices; the second layer's input is 2·hidden = in wide. */
static iso_tensor *deep(iso_context *ctx, iso_tensor *const *in, bool is_lstm) {
  iso_tensor *h, *c = NULL;
  const iso_recurrent_weights w = {in[1], in[2], in[3], NULL}, v = {iso_neg(ctx, in[1]), in[2], NULL, in[3]};
  const iso_recurrent_options o = {.n_layers = 2, .bidirectional = true, .lengths = lengths(ctx, 2)};
  const iso_recurrent_weights all[] = {w, v, v, w};
  iso_tensor *y = is_lstm ? iso_lstm(ctx, X, all, &o, &h, &c) : iso_gru(ctx, X, all, &o, &h);
  return joined(ctx, y, h, c);
}
static iso_tensor *f_lstm_deep(iso_context *ctx, iso_tensor *const *in) { return deep(ctx, in, true); }
static iso_tensor *f_gru_deep(iso_context *ctx, iso_tensor *const *in) { return deep(ctx, in, false); }
static iso_tensor *f_gru(iso_context *ctx, iso_tensor *const *in) {
  iso_tensor *h;
  iso_tensor *y = iso_gru(ctx, X, &(iso_recurrent_weights){in[1], in[2], in[3], in[3]}, NULL, &h);
  return joined(ctx, y, h, NULL);
}
static iso_tensor *f_gru_states(iso_context *ctx, iso_tensor *const *in) {
  iso_tensor *h;
  const iso_recurrent_options o = {.time_first = true, .lengths = lengths(ctx, 4), .h0 = in[3]};
  iso_tensor *y = iso_gru(ctx, X, &(iso_recurrent_weights){.w_ih = in[1], .w_hh = in[2]}, &o, &h);
  return joined(ctx, y, h, NULL);
}
static iso_tensor *rnn(iso_context *ctx, iso_tensor *const *in, bool relu) {
  iso_tensor *h;
  const iso_recurrent_options o = {.time_first = true, .lengths = lengths(ctx, 4), .h0 = in[3], .relu = relu};
  iso_tensor *y = iso_rnn(ctx, X, &(iso_recurrent_weights){.w_ih = in[1], .w_hh = in[2]}, &o, &h);
  return joined(ctx, y, h, NULL);
}
static iso_tensor *f_rnn_tanh(iso_context *ctx, iso_tensor *const *in) { return rnn(ctx, in, false); }
static iso_tensor *f_rnn_relu(iso_context *ctx, iso_tensor *const *in) { return rnn(ctx, in, true); }
static iso_tensor *f_lstm_cell(iso_context *ctx, iso_tensor *const *in) {
  iso_tensor *c;
  const iso_recurrent_weights w = {.w_ih = in[1], .w_hh = in[2]};
  iso_tensor *h = iso_lstm_cell(ctx, X, in[3], iso_mul_scalar(ctx, in[3], -1), &w, &c);
  return joined(ctx, h, c, NULL);
}
static iso_tensor *f_gru_cell(iso_context *ctx, iso_tensor *const *in) {
  return iso_gru_cell(ctx, X, in[3], &(iso_recurrent_weights){.w_ih = in[1], .w_hh = in[2]});
}
static iso_tensor *f_rnn_cell(iso_context *ctx, iso_tensor *const *in) {
  return iso_rnn_cell(ctx, X, in[3], &(iso_recurrent_weights){.w_ih = in[1], .w_hh = in[2]}, false);
}
#undef X

const gradient_case iso__gradients_recurrent[] = {
    {"recurrent", f_lstm, SIGNED, 4, {{2, 3, 2, END}, {12, 2, END}, {12, 3, END}, {12, END}}},
    {"recurrent", f_lstm_states, SIGNED, 4, {{3, 4, 2, END}, {8, 2, END}, {8, 2, END}, {1, 4, 2, END}}},
    {"recurrent", f_lstm_deep, SIGNED, 4, {{2, 3, 4, END}, {8, 4, END}, {8, 2, END}, {8, END}}},
    {"recurrent", f_gru, SIGNED, 4, {{2, 3, 2, END}, {9, 2, END}, {9, 3, END}, {9, END}}},
    {"recurrent", f_gru_states, SIGNED, 4, {{3, 4, 2, END}, {6, 2, END}, {6, 2, END}, {1, 4, 2, END}}},
    {"recurrent", f_gru_deep, SIGNED, 4, {{2, 3, 4, END}, {6, 4, END}, {6, 2, END}, {6, END}}},
    {"recurrent", f_rnn_tanh, SIGNED, 4, {{3, 4, 2, END}, {3, 2, END}, {3, 3, END}, {1, 4, 3, END}}},
    {"recurrent", f_rnn_relu, SIGNED, 4, {{3, 4, 2, END}, {3, 2, END}, {3, 3, END}, {1, 4, 3, END}}},
    {"recurrent", f_lstm_cell, SIGNED, 4, {{3, 2, END}, {8, 2, END}, {8, 2, END}, {3, 2, END}}},
    {"recurrent", f_gru_cell, SIGNED, 4, {{3, 2, END}, {6, 2, END}, {6, 2, END}, {3, 2, END}}},
    {"recurrent", f_rnn_cell, SIGNED, 4, {{3, 2, END}, {2, 2, END}, {2, 2, END}, {3, 2, END}}},
    {NULL}};
