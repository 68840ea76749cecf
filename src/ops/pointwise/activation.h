/* activation.h (internal): what the files of activations share.
 *
 * Each f has a kernel f_bwd(saved, dy) = dy·f′, one memory pass. f_bwd is an operator with a rule of its own, so that
 * activations can be differentiated twice: its gradient for an incoming u is u·dy·f″ for saved and f_bwd(saved, u) for
 * dy. Saved is the result where f′ can be told from it. The numbers of f are the attributes of both. */
#ifndef ISO_OPS_POINTWISE_ACTIVATION_H
#define ISO_OPS_POINTWISE_ACTIVATION_H
#include "ops/ops.h"

typedef struct iso__activation {
  const char *name, *bwd_name;
  iso__map_fn fn, bwd_fn;
  iso__rule_id rule, bwd_rule;
  bool saves_result, is_piecewise; /* piecewise linear: f″ = 0 */
} iso__activation;

/* f(x); scalars: three, or NULL where f has none. */
iso_tensor *iso__activate(iso_context *ctx, const iso__activation *f, const iso_tensor *x, const double *scalars);
/* dy·f′(saved), into `out` if that is not NULL. */
iso_tensor *iso__activation_bwd(iso_context *ctx, const iso__activation *f, const iso_tensor *saved,
                                const iso_tensor *dy, const double *scalars, iso_tensor *out);
/* The rules of f and, with f″ of the saved tensor (NULL for a piecewise linear f), of f_bwd. */
void iso__activation_gradient(iso__gradient *g, const iso__activation *f);
void iso__activation_twice(iso__gradient *g, const iso__activation *f, const iso_tensor *second);
/* f″(x) of some. */
iso_tensor *iso__sigmoid_second(iso_context *ctx, const iso_tensor *x);
iso_tensor *iso__gelu_second(iso_context *ctx, const iso_tensor *x);
iso_tensor *iso__gelu_tanh_second(iso_context *ctx, const iso_tensor *x);
iso_tensor *iso__silu_second(iso_context *ctx, const iso_tensor *x);
#endif
