/* sequence.h: modules and models for sequences: attention, transformer encoders, LSTM and GRU, pooling, BERT, text
 * classifiers.
 *
 *   iso_module *net = iso_bert_new(ctx, &(iso_bert_config){.classes = 77});
 *   iso_tensor *y = iso_module_forward_sequence(net, ids, lengths);      // i64 (batch,length), i64 (batch) →
 * (batch,77)
 *
 * x is (batch,length,width) unless said. Modules follow nn.h: PyTorch's or Hugging Face's names, NULL with the
 * context's error kept. A sample's bits don't depend on the batch, on how far it is filled up, or on what is in padded
 * positions (NaN included), in evaluation mode and in its gradient with respect to x. In what modules return, padded
 * positions hold what the position-wise operators make of them; pooling leaves them out. */
#ifndef ISOBIT_SEQUENCE_H
#define ISOBIT_SEQUENCE_H
#include <isobit/nn.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- layers ---- */
/* Over the last axis; eps 0: 1e-5. Tensors: weight, bias (width). */
ISO_API iso_module *iso_layer_norm_module(iso_context *ctx, int64_t width, double eps);

typedef struct iso_multi_head_attention_config {
  int64_t width, heads; /* width a multiple of heads */
  double dropout;       /* of the weights */
  bool causal;          /* position i attends to j ≤ i */
  bool no_bias;
} iso_multi_head_attention_config;
/* Self-attention (Vaswani et al., 2017): softmax(q·kᵀ/√(width/heads))·v a head, q, k, v and the result by a linear
 * layer each. Children: query, key, value, out. A padded position attends to nothing. */
ISO_API iso_module *iso_multi_head_attention_module(iso_context *ctx, const iso_multi_head_attention_config *config);

typedef enum iso_feedforward {
  ISO_FEEDFORWARD_GELU = 0,
  ISO_FEEDFORWARD_GELU_TANH,
  ISO_FEEDFORWARD_RELU
} iso_feedforward;
typedef struct iso_encoder_config {
  int64_t width, heads;
  int64_t feedforward; /* 0: 4·width */
  iso_feedforward activation;
  double dropout, attention_dropout;
  double eps;      /* of the norms; 0: 1e-5 */
  bool norm_first; /* x + f(norm(x)) instead of norm(x + f(x)) */
  bool causal;
} iso_encoder_config;
/* Children: self_attn, linear1, linear2, norm1, norm2. */
ISO_API iso_module *iso_transformer_encoder_layer(iso_context *ctx, const iso_encoder_config *config);
/* Children "0" … "n−1"; with norm_first a last one "norm". Each layer is a block of iso_module_checkpoint_blocks. */
ISO_API iso_module *iso_transformer_encoder(iso_context *ctx, int n_layers, const iso_encoder_config *config);

typedef struct iso_recurrent_config {
  int64_t in, hidden;
  int layers;         /* 0: 1; at most 16 */
  bool bidirectional; /* the result is (batch,length,2·hidden): forward, then reverse from each sample's own end */
  bool no_bias;
  bool relu;      /* of RNN, instead of tanh */
  double dropout; /* of each layer's result but the last's */
} iso_recurrent_config;
/* iso_lstm, iso_gru, iso_rnn (ops/recurrent.h): (batch,length,in) → (batch,length,hidden), zeros in padded positions.
 * Tensors: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_ih_l0_reverse, …, weight_ih_l1, …, which start as
 * U(−b,b), b = 1/√hidden. */
ISO_API iso_module *iso_lstm_module(iso_context *ctx, const iso_recurrent_config *config);
ISO_API iso_module *iso_gru_module(iso_context *ctx, const iso_recurrent_config *config);
ISO_API iso_module *iso_rnn_module(iso_context *ctx, const iso_recurrent_config *config);
/* The forward of such a module from given states, with its last ones: options' lengths, h0, c0 and time_first count,
 * the rest is the module's. *h_n and *c_n as iso_lstm's; may be NULL. */
ISO_API iso_tensor *iso_recurrent_forward(iso_module *module, iso_tensor *x, const iso_recurrent_options *options,
                                          iso_tensor **h_n, iso_tensor **c_n);

typedef enum iso_pooling {
  ISO_POOLING_MEAN = 0, /* over the positions that are there; none: zeros */
  ISO_POOLING_CLS,      /* the first position */
  ISO_POOLING_MAX       /* over the positions that are there; none: zeros */
} iso_pooling;
/* (batch,length,width) → (batch,width). Sums `ordered` over positions. */
ISO_API iso_tensor *iso_pool_sequence(iso_context *ctx, const iso_tensor *x, const iso_tensor *lengths,
                                      iso_pooling pooling);
/* The same as a module. normalize: divided by the Euclidean norm, at least 1e-12. */
ISO_API iso_module *iso_sequence_pooling_module(iso_context *ctx, iso_pooling pooling, bool normalize);
/* bool (batch,length): true where position ≥ lengths[b]. */
ISO_API iso_tensor *iso_padding_mask(iso_context *ctx, const iso_tensor *lengths, int64_t length);

/* ---- BERT (Devlin et al., 2019) ---- */
/* Zero: the default in brackets, those of all-MiniLM-L6-v2. Negative probabilities: 0. */
typedef struct iso_bert_config {
  int64_t vocabulary, width, layers, heads, feedforward; /* [30522, 384, 6, 12, 4·width] */
  int64_t positions, token_types;                        /* [512, 2] */
  iso_feedforward activation;
  double dropout, attention_dropout; /* [0.1] */
  double eps;                        /* of the norms [1e-12] */
  iso_pooling pooling;               /* of what is returned */
  bool pooler;     /* tanh(linear(first position)) instead of `pooling`, as BERT's classifiers have it */
  bool normalize;  /* the pooled vector has length 1 */
  bool hidden;     /* nothing is pooled: (batch,length,width) */
  int64_t classes; /* > 0: dropout and a linear layer behind the pooled vector */
} iso_bert_config;
/* Ids (batch,length) → (batch,width), (batch,classes) or (batch,length,width). Names are those of Hugging Face's
 * BertModel ("encoder.layer.0.attention.self.query.weight"), and "classifier.weight", "classifier.bias". Weights start
 * as N(0, 0.02²), biases as 0. Lengths beyond `positions`: ISO_SHAPE_MISMATCH. */
ISO_API iso_module *iso_bert_new(iso_context *ctx, const iso_bert_config *config);
/* The configuration of a module that iso_bert_new made; NULL for another. */
ISO_API const iso_bert_config *iso_bert_get_config(const iso_module *module);

/* ---- models by name ---- */
typedef struct iso_text_model_config {
  int64_t vocabulary, classes; /* needed */
  int64_t width;               /* 0: 128 */
  double dropout;              /* 0: none; of bert: its own default */
  int64_t padding;             /* the id that fills up */
  const iso_bert_config *bert; /* of bert, with vocabulary and classes as above; NULL: its defaults */
} iso_text_model_config;
/* "textclassifier" (iso_text_classifier_new), "textcnn" (convolutions of 3, 4 and 5 tokens, maximum over time, dropout,
 * linear; Kim, 2014), "lstm" (its state after the last token, dropout, linear), "bert". ISO_NOT_FOUND kept for another
 * name. Ids (batch,length) → (batch,classes). */
ISO_API iso_module *iso_text_model_new(iso_context *ctx, const char *name, const iso_text_model_config *config);
/* NULL-terminated. */
ISO_API const char *const *iso_text_model_names(void);

#ifdef __cplusplus
}
#endif
#endif
