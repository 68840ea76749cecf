/* activation.c: how activations are computed, recorded and differentiated; activation.h says which form they have. */
#include "ops/pointwise/activation.h"

enum { N_SCALARS = 3 };
static const double no_scalars[N_SCALARS];

iso_tensor *iso__activate(iso_context *ctx, const iso__activation *f, const iso_tensor *x, const double *scalars) {
  ISO__AUTOCAST(ctx, f->name, iso__activate(ctx, f, x, scalars), &x);
  if (!iso__takes_dtypes(ctx, f->name, ISO__REAL_DTYPES, 1, ISO__TENSORS(x))) return NULL;
  iso_tensor *y = iso__map(ctx, f->name, f->fn, 1, ISO__TENSORS(x), scalars, NULL);
  return iso__finish(ctx, y, ISO_OK, f->rule,
                     &(iso__finish_options){.inputs = ISO__TENSORS(x),
                                            .n_inputs = 1,
                                            .saved = ISO__TENSORS(f->saves_result ? y : x),
                                            .n_saved = 1,
                                            .attrs = scalars ? scalars : no_scalars,
                                            .attr_bytes = sizeof no_scalars});
}

iso_tensor *iso__activation_bwd(iso_context *ctx, const iso__activation *f, const iso_tensor *saved,
                                const iso_tensor *dy, const double *scalars, iso_tensor *out) {
  if (!iso__takes(ctx, f->bwd_name, 2, ISO__TENSORS(saved, dy))) return NULL;
  iso_tensor *dx = iso__map(ctx, f->bwd_name, f->bwd_fn, 2, ISO__TENSORS(saved, dy), scalars, out);
  if (out) return dx; /* only where nothing is recorded */
  return iso__finish(ctx, dx, ISO_OK, f->bwd_rule,
                     &(iso__finish_options){.inputs = ISO__TENSORS(f->is_piecewise ? NULL : saved, dy),
                                            .n_inputs = 2,
                                            .saved = ISO__TENSORS(saved, dy),
                                            .n_saved = f->is_piecewise ? 1 : 2,
                                            .attrs = scalars ? scalars : no_scalars,
                                            .attr_bytes = sizeof no_scalars});
}

void iso__activation_gradient(iso__gradient *g, const iso__activation *f) {
  g->dx[0] = iso__activation_bwd(g->ctx, f, iso__saved(g, 0), g->dy[0], iso__attrs(g), iso__reusable_dy(g));
}

void iso__activation_twice(iso__gradient *g, const iso__activation *f, const iso_tensor *second) {
  if (second && iso__needs(g, 0)) g->dx[0] = iso_mul(g->ctx, iso_mul(g->ctx, g->dy[0], iso__saved(g, 1)), second);
  if (iso__needs(g, 1)) g->dx[1] = iso__activation_bwd(g->ctx, f, iso__saved(g, 0), g->dy[0], iso__attrs(g), NULL);
}
