/* ops/recurrent.h: LSTM, GRU and the plain recurrence. What holds for every operator: ops.h.
 *
 *   iso_recurrent_weights w[] = {{w_ih, w_hh, b_ih, b_hh}};
 *   iso_tensor *h_n, *c_n, *y = iso_lstm(ctx, x, w, &(iso_recurrent_options){.lengths = lengths}, &h_n, &c_n);
 *
 * Gates, names and shapes are PyTorch's. With W, b of the input and U, b' of the state, the sums (W·x + b) + (U·h +
 * b'): lstm (i, f, g, o): i, f, o = σ, g = tanh of them; c' = f·c + i·g; h' = o·tanh(c') gru (r, z, n): r, z = σ of
 * them; n = tanh(W·x + b + r·(U·h + b')); h' = (1−z)·n + z·h rnn: h' = tanh or relu of them All f32 or f64. Class
 * `ordered`; order and roundings: docs/numerics.md §5. A sample's results do not depend on the others, on their lengths
 * or on what its padding holds, NaN included. */
#ifndef ISOBIT_OPS_RECURRENT_H
#define ISOBIT_OPS_RECURRENT_H
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Of one layer and direction: w_ih (gates·hidden,in), w_hh (gates·hidden,hidden), b_ih and b_hh (gates·hidden) or
 * NULL. 4 gates for lstm, 3 for gru, 1 for rnn. */
typedef struct iso_recurrent_weights {
  const iso_tensor *w_ih, *w_hh, *b_ih, *b_hh;
} iso_recurrent_weights;
typedef struct iso_recurrent_options {
  int n_layers;              /* 0: 1 */
  bool bidirectional;        /* a second direction from each sample's own end to its beginning */
  bool time_first;           /* x is (time,batch,in) and y (time,batch,out), else (batch,time,…) */
  const iso_tensor *lengths; /* i64 or i32 (batch), each in [0,time]; NULL: all have `time` */
  const iso_tensor *h0, *c0; /* (layers·directions,batch,hidden); NULL: zeros. c0: lstm's alone */
  double dropout;            /* of each layer's result but the last's, with `training` */
  bool training;
  bool relu; /* iso_rnn: relu instead of tanh */
} iso_recurrent_options;
/* weights: for each layer the forward direction, then the reverse one if there are two. Returns what the last layer's
 * directions gave side by side, (batch,time,hidden·directions), zeros from a sample's length on. *h_n and *c_n (may be
 * NULL): (layers·directions,batch,hidden), the states after each sample's last step, or its initial ones where it has
 * no step. ISO_SHAPE_MISMATCH with both shapes for what does not fit. Gradients for x, weights, biases and initial
 * states; they cannot be differentiated again. x's padding gets none. Hochreiter and Schmidhuber, 1997; Cho et al.,
 * 2014. */
ISO_API iso_tensor *iso_lstm(iso_context *ctx, const iso_tensor *x, const iso_recurrent_weights *weights,
                             const iso_recurrent_options *options, iso_tensor **h_n, iso_tensor **c_n);
ISO_API iso_tensor *iso_gru(iso_context *ctx, const iso_tensor *x, const iso_recurrent_weights *weights,
                            const iso_recurrent_options *options, iso_tensor **h_n);
ISO_API iso_tensor *iso_rnn(iso_context *ctx, const iso_tensor *x, const iso_recurrent_weights *weights,
                            const iso_recurrent_options *options, iso_tensor **h_n);
/* One step: x (batch,in), h and c (batch,hidden) → h', and *c_next. The same bits as a sequence of one. */
ISO_API iso_tensor *iso_lstm_cell(iso_context *ctx, const iso_tensor *x, const iso_tensor *h, const iso_tensor *c,
                                  const iso_recurrent_weights *weights, iso_tensor **c_next);
ISO_API iso_tensor *iso_gru_cell(iso_context *ctx, const iso_tensor *x, const iso_tensor *h,
                                 const iso_recurrent_weights *weights);
ISO_API iso_tensor *iso_rnn_cell(iso_context *ctx, const iso_tensor *x, const iso_tensor *h,
                                 const iso_recurrent_weights *weights, bool relu);

#ifdef __cplusplus
}
#endif
#endif
