/* interpolate.c: interpolation and its gradient, two operators each of which is the other's gradient. */
#include "base/fenv.h"
#include "kernels/resample/resample.h"
#include "kernels/sizes.h"
#include "ops/pool/pool.h"
#include <math.h>

typedef struct resampling {
  iso_resample_problem problem; /* forward */
  iso__planes form;
} resampling;

static iso_tensor *resample(iso_context *ctx, const resampling *g, bool backward, const iso_tensor *in) {
  if (iso__failed(ctx) || !in) return NULL;
  iso_resample_problem p = g->problem;
  p.head.op = backward ? ISO__OP_RESAMPLE_BWD : ISO__OP_RESAMPLE_FWD;
  int64_t extent[3];
  for (int d = 0; d < 3; d++) extent[d] = backward ? p.axis[d].in : p.axis[d].out;
  iso_tensor *copy = iso__planes_copy(ctx, &g->form, in);
  if (copy) in = copy;
  iso_tensor *out = iso__failed(ctx) ? NULL : iso__planes_new(ctx, &g->form, in->view.dtype, extent);
  const iso_resample_args args = {.in = iso__data(in), .out = iso__data(out)};
  out = iso__finish(
      ctx, out, out ? iso__execute(ctx, &p.head, &args) : ISO_OUT_OF_MEMORY,
      backward ? ISO__RULE_INTERPOLATE_BWD : ISO__RULE_INTERPOLATE,
      &(iso__finish_options){.inputs = ISO__TENSORS(in), .n_inputs = 1, .attrs = g, .attr_bytes = sizeof *g});
  return iso__drop(out, copy);
}
void iso__interpolate_gradient(iso__gradient *g) { g->dx[0] = resample(g->ctx, iso__attrs(g), true, g->dy[0]); }
void iso__interpolate_bwd_gradient(iso__gradient *g) { g->dx[0] = resample(g->ctx, iso__attrs(g), false, g->dy[0]); }

/* ---- from options to axes ---- */

/* in·scale and 1/scale, whatever the caller's rounding. */
static void scaled_by(int64_t in, double scale, double *size, double *step) {
  const iso__fenv saved = iso__fenv_enter();
  const double pinned = iso__fenv_pin(scale);
  *size = iso__fenv_pin(floor((double)in * pinned));
  *step = iso__fenv_pin(1 / pinned);
  iso__fenv_leave(saved);
}

/* Sizes of the axes and, where scales count, steps. */
static bool sizes_of(iso_context *ctx, const iso_tensor *x, const iso_interpolate_options *o,
                     iso_resample_axis axis[3]) {
  const int64_t size[3] = {o->size_d, o->size_h, o->size_w};
  const double scale[3] = {o->scale_d, o->scale_h, o->scale_w};
  int64_t extent[3];
  iso__planes_extent(x, extent);
  for (int d = 0; d < 3; d++) {
    axis[d] = (iso_resample_axis){.in = extent[d], .out = extent[d]};
    if (d < 5 - x->view.n_dims) continue;
    double scaled, step;
    scaled_by(extent[d], scale[d], &scaled, &step);
    if (size[d] == 0 && scale[d] == 0) {
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "interpolate", "axis %d has neither size nor scale", x->view.n_dims - 3 + d);
      return false;
    }
    if (size[d] < 0 || (!size[d] && !(scaled >= 1 && scaled < 0x1p30))) {
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "interpolate",
                "axis %d of extent %lld, size %lld, scale %g: the result has less than one position, or 2^30 and more",
                x->view.n_dims - 3 + d, (long long)extent[d], (long long)size[d], scale[d]);
      return false;
    }
    axis[d].out = size[d] ? size[d] : (int64_t)scaled;
    if (scale[d] == 0 || o->recompute_scale_factor || o->align_corners) continue;
    memcpy(&axis[d].step, &step, sizeof step);
  }
  return true;
}

static bool mode_of(iso_context *ctx, const iso_interpolate_options *o, uint8_t *mode) {
  static const uint8_t modes[] = {[ISO_INTERPOLATE_NEAREST] = ISO__RESAMPLE_NEAREST,
                                  [ISO_INTERPOLATE_LINEAR] = ISO__RESAMPLE_LINEAR,
                                  [ISO_INTERPOLATE_CUBIC] = ISO__RESAMPLE_CUBIC,
                                  [ISO_INTERPOLATE_NEAREST_EXACT] = ISO__RESAMPLE_NEAREST_EXACT,
                                  [ISO_INTERPOLATE_AREA] = ISO__RESAMPLE_NEAREST};
  if ((unsigned)o->mode > ISO_INTERPOLATE_AREA) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "interpolate", "mode is %d: 0 to %d are possible", (int)o->mode,
              (int)ISO_INTERPOLATE_AREA);
    return false;
  }
  const bool smooth = o->mode == ISO_INTERPOLATE_LINEAR || o->mode == ISO_INTERPOLATE_CUBIC;
  if (!smooth && (o->align_corners || o->antialias)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "interpolate", "mode %d has no %s: linear (%d) and cubic (%d) have",
              (int)o->mode, o->align_corners ? "align_corners" : "antialias", (int)ISO_INTERPOLATE_LINEAR,
              (int)ISO_INTERPOLATE_CUBIC);
    return false;
  }
  *mode = modes[o->mode];
  return true;
}

static iso_tensor *area(iso_context *ctx, const iso_tensor *x, const iso_resample_axis axis[3]) {
  if (x->view.n_dims == 3) return iso_adaptive_avg_pool1d(ctx, x, axis[2].out);
  if (x->view.n_dims == 4) return iso_adaptive_avg_pool2d(ctx, x, axis[1].out, axis[2].out);
  return iso_adaptive_avg_pool3d(ctx, x, axis[0].out, axis[1].out, axis[2].out);
}

iso_tensor *iso_interpolate(iso_context *ctx, const iso_tensor *x, const iso_interpolate_options *options) {
  ISO__AUTOCAST(ctx, "interpolate", iso_interpolate(ctx, x, options), &x);
  ISO__HALVES(ctx, iso_interpolate(ctx, x, options), &x);
  if (!options || !iso__takes_floats(ctx, "interpolate", 1, ISO__TENSORS(x))) return NULL;
  bool batched = false;
  const int n_axes = x->view.n_dims - 2;
  if (n_axes < 1 || n_axes > 3) {
    char text[128];
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "interpolate", "x is %s: (N,C,L), (N,C,H,W) or (N,C,D,H,W) is needed",
              iso__shape_text(x->view.n_dims, x->view.shape, text, sizeof text));
    return NULL;
  }
  iso_tensor *image = iso__batch(ctx, "interpolate", x, n_axes, &batched), *y = NULL;
  resampling g;
  memset(&g, 0, sizeof g);
  ISO__PROBLEM_INIT(g.problem, ISO__OP_RESAMPLE_FWD, x->view.dtype);
  if (image && mode_of(ctx, options, &g.problem.mode) && sizes_of(ctx, image, options, g.problem.axis)) {
    g.form = iso__planes_of(image);
    g.problem.n = iso__planes_n(&g.form), g.problem.c = iso__planes_c(&g.form);
    g.problem.corners = options->align_corners, g.problem.smooth = options->antialias;
    const char *wrong = options->mode == ISO_INTERPOLATE_AREA ? NULL : iso__resample_wrong(&g.problem);
    if (wrong) ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "interpolate", "%s", wrong);
    else y = options->mode == ISO_INTERPOLATE_AREA ? area(ctx, image, g.problem.axis) : resample(ctx, &g, false, image);
  }
  return iso__drop(y, image);
}
