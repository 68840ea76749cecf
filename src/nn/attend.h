/* attend.h (internal): self-attention by modules that belong to somebody. */
#ifndef ISO_NN_ATTEND_H
#define ISO_NN_ATTEND_H
#include "nn/module.h"

typedef struct iso__attend {
  iso_module *query, *key, *value;
  int64_t heads;
  double dropout; /* in training mode */
  bool causal;
} iso__attend;

/* x (batch,length,width) → the heads' results side by side (batch,length,width), before the last linear layer. */
iso_tensor *iso__attend_to(iso_module *m, const iso__attend *a, iso_tensor *x, const iso_tensor *lengths);
/* Whether width, heads and probabilities make attention; else the error is kept. */
bool iso__attend_check(iso_context *ctx, const char *op, int64_t width, int64_t heads, double dropout,
                       double attention_dropout);

/* encoder.c: activate(linear(x)); activation: iso_feedforward. */
iso_tensor *iso__feedforward_wide(iso_module *linear, iso_tensor *x, int activation);
#endif
