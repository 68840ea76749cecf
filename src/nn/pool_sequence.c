/* pool_sequence.c: one vector of a sequence: mean, first position, maximum; what is padding takes no part. */
#include <isobit/sequence.h>
#include <math.h>
#include <stdio.h>
#include "nn/module.h"

iso_tensor *iso_padding_mask(iso_context *ctx, const iso_tensor *lengths, int64_t length) {
  if (iso__failed(ctx) || !lengths) return NULL;
  iso_tensor *ends = iso_unsqueeze(ctx, lengths, -1);
  iso_tensor *at = iso_arange(ctx, iso_tensor_dtype(lengths), 0, (double)length, 1);
  iso_tensor *mask = iso_ge(ctx, at, ends);
  iso_release(ends), iso_release(at);
  return mask;
}

/* (batch,length,width) with `value` in padded positions; an alias without lengths. */
static iso_tensor *without_padding(iso_context *ctx, const iso_tensor *x, const iso_tensor *lengths, double value) {
  if (!lengths) return iso_tensor_alias(ctx, x);
  iso_tensor *mask = iso_padding_mask(ctx, lengths, iso_tensor_shape(x)[1]);
  iso_tensor *wide = mask ? iso_unsqueeze(ctx, mask, -1) : NULL;
  iso_tensor *y = iso_masked_fill(ctx, x, wide, value);
  iso_release(mask), iso_release(wide);
  return y;
}

/* Zeros behind the end change no bit of a sum (NUMERICS §2). */
static iso_tensor *mean(iso_context *ctx, const iso_tensor *x, const iso_tensor *lengths) {
  iso_tensor *there = without_padding(ctx, x, lengths, 0);
  iso_tensor *sum = iso_sum(ctx, there, 1, (const int[]){1}, false);
  iso_release(there);
  if (!lengths) {
    const double n = (double)iso_tensor_shape(x)[1];
    iso_tensor *y = iso_div_scalar(ctx, sum, n > 0 ? n : 1);
    iso_release(sum);
    return y;
  }
  iso_tensor *count = iso_cast(ctx, lengths, iso_tensor_dtype(x));
  iso_tensor *some = iso_clamp(ctx, count, 1, INFINITY); /* an empty text: zeros */
  iso_tensor *column = iso_unsqueeze(ctx, some, -1);
  iso_tensor *y = iso_div(ctx, sum, column);
  iso_release(sum), iso_release(count), iso_release(some), iso_release(column);
  return y;
}

static iso_tensor *largest(iso_context *ctx, const iso_tensor *x, const iso_tensor *lengths) {
  iso_tensor *there = without_padding(ctx, x, lengths, -INFINITY);
  iso_tensor *y = iso_amax(ctx, there, 1, (const int[]){1}, false);
  iso_release(there);
  if (!lengths) return y;
  iso_tensor *none = iso_padding_mask(ctx, lengths, 1); /* (batch,1): no position is there */
  iso_tensor *filled = iso_masked_fill(ctx, y, none, 0);
  iso_release(y), iso_release(none);
  return filled;
}

iso_tensor *iso_pool_sequence(iso_context *ctx, const iso_tensor *x, const iso_tensor *lengths, iso_pooling pooling) {
  if (iso__failed(ctx) || !x) return NULL;
  if (iso_tensor_n_dims(x) != 3 || iso_tensor_shape(x)[1] < 1) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "pool_sequence",
              "x has %d dimensions%s: (batch,length,width) of length 1 or more", iso_tensor_n_dims(x),
              iso_tensor_n_dims(x) == 3 ? " and length 0" : "");
    return NULL;
  }
  switch (pooling) {
  case ISO_POOLING_MEAN: return mean(ctx, x, lengths);
  case ISO_POOLING_CLS: return iso_select(ctx, x, 1, 0);
  case ISO_POOLING_MAX: return largest(ctx, x, lengths);
  }
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "pool_sequence", "pooling %d", (int)pooling);
  return NULL;
}

/* ---- the module ---- */

typedef struct pooling_state {
  iso_pooling pooling;
  bool normalize;
} pooling_state;

static iso_tensor *forward_sequence(iso_module *m, iso_tensor *x, const iso_tensor *lengths) {
  const pooling_state *p = m->state;
  iso_tensor *y = iso_pool_sequence(m->ctx, x, lengths, p->pooling);
  if (!y || !p->normalize) return y;
  iso_tensor *unit = iso_normalize(m->ctx, y, 2, -1, 1e-12);
  iso_release(y);
  return unit;
}
static int describe(const iso_module *m, char *text, size_t n_bytes) {
  static const char *const names[] = {"mean", "cls", "max"};
  const pooling_state *p = m->state;
  return snprintf(text, n_bytes, "(%s%s)", names[p->pooling], p->normalize ? ", normalised" : "");
}
static const iso_module_type type = {.name = "SequencePooling",
                                     .state_bytes = sizeof(pooling_state),
                                     .forward_sequence = forward_sequence,
                                     .describe = describe};

iso_module *iso_sequence_pooling_module(iso_context *ctx, iso_pooling pooling, bool normalize) {
  if (iso__failed(ctx)) return NULL;
  if ((int)pooling < 0 || pooling > ISO_POOLING_MAX) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, type.name, "pooling %d", (int)pooling);
    return NULL;
  }
  return iso_module_new(ctx, &type, &(pooling_state){pooling, normalize});
}
