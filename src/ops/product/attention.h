/* attention.h: what attention's node on the tape keeps. */
#ifndef ISO_OPS_PRODUCT_ATTENTION_H
#define ISO_OPS_PRODUCT_ATTENTION_H
#include "ops/random/random.h"

typedef struct iso__attention {
  double scale, dropout;
  iso_philox place; /* of the dropout's random numbers */
  int64_t repeat;   /* batch items that share a length */
  bool causal;
} iso__attention;

/* All (batch,heads,rows,columns) but the lengths, which are (batch/repeat); NULL: none. */
typedef struct iso__attention_operands {
  const iso_tensor *q, *k, *v, *mask, *key_lengths, *query_lengths;
} iso__attention_operands;

/* The gradient in operators, which has a gradient itself: bits of its own, quadratic memory. */
void iso__attention_gradient_twice(iso__gradient *g, const iso__attention_operands *t);
#endif
