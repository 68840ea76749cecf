/* fractional.c: fractional max pooling; its gradient is max unpooling's sum. */
#include "base/fenv.h"
#include "kernels/fractional/fractional.h"
#include "ops/pool/pool.h"

/* Options of two or three axes, depth first; the first of two axes is 1 throughout. */
typedef struct request {
  const char *op;
  int n_axes;
  int64_t kernel[3], out[3];
  double ratio[3];
  const iso_tensor *samples;
} request;

typedef struct pooling {
  iso_fractional_problem problem;
  iso__planes form;
} pooling;

static bool pooling_of(iso_context *ctx, const request *r, const iso_tensor *x, pooling *g) {
  int64_t extent[3];
  memset(g, 0, sizeof *g);
  ISO__PROBLEM_INIT(g->problem, ISO__OP_FRACTIONAL_MAX_POOL, x->view.dtype);
  const iso__fenv saved = iso__fenv_enter(); /* the caller's rounding has no say */
  iso__planes_extent(x, extent);
  g->form = iso__planes_of(x);
  g->problem.n = iso__planes_n(&g->form), g->problem.c = iso__planes_c(&g->form);
  for (int d = 0; d < 3; d++) {
    int64_t out = r->out[d];
    const double scaled = iso__fenv_pin((double)extent[d] * iso__fenv_pin(r->ratio[d]));
    if (out == 0 && scaled >= 1 && scaled <= (double)extent[d]) out = (int64_t)scaled;
    g->problem.axis[d] = (iso_fractional_axis){.in = extent[d], .kernel = r->kernel[d], .out = out};
  }
  iso__fenv_leave(saved);
  const char *wrong = iso__fractional_wrong(&g->problem);
  if (!wrong) return true;
  char text[128];
  const iso_fractional_axis *a = g->problem.axis;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, r->op, "%s: x is %s, kernel (%lld,%lld,%lld), output (%lld,%lld,%lld)", wrong,
            iso__shape_text(x->view.n_dims, x->view.shape, text, sizeof text), (long long)a[0].kernel,
            (long long)a[1].kernel, (long long)a[2].kernel, (long long)a[0].out, (long long)a[1].out,
            (long long)a[2].out);
  return false;
}

/* (N,C,3) contiguous: the given samples with a column for a missing depth before them, or drawn. */
static iso_tensor *samples_of(iso_context *ctx, const request *r, const iso_tensor *x) {
  const int64_t shape[3] = {x->view.shape[0], x->view.shape[1], 3};
  if (!r->samples) return iso_random_uniform(ctx, x->view.dtype, 3, shape, 0, 1);
  if (!iso__takes_floats(ctx, r->op, 2, ISO__TENSORS(x, r->samples))) return NULL;
  const iso__view *v = &r->samples->view;
  if (v->n_dims != 3 || v->shape[0] != shape[0] || v->shape[1] != shape[1] || v->shape[2] != r->n_axes) {
    char text[128];
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, r->op, "samples are %s: (%lld,%lld,%d) is needed",
              iso__shape_text(v->n_dims, v->shape, text, sizeof text), (long long)shape[0], (long long)shape[1],
              r->n_axes);
    return NULL;
  }
  iso_tensor *all = iso_tensor_zeros(ctx, v->dtype, 3, shape);
  /* Of an image the samples come as (width, height), of a volume as (depth, height, width). */
  for (int i = 0; all && i < r->n_axes; i++) {
    iso__view from = *v, to = all->view;
    const int d = r->n_axes == 2 ? 2 - i : i;
    if (!iso__view_slice(ctx, v, 2, i, i + 1, 1, &from) || !iso__view_slice(ctx, &all->view, 2, d, d + 1, 1, &to))
      break;
    iso__view_copy(ctx, &to, &from);
  }
  return all;
}

static iso_tensor *run(iso_context *ctx, const iso_tensor *x, const pooling *g, const iso_tensor *samples,
                       iso_tensor **indices) {
  const iso_fractional_axis *a = g->problem.axis;
  const int64_t out[3] = {a[0].out, a[1].out, a[2].out};
  iso__unpooling u;
  memset(&u, 0, sizeof u);
  u.form = g->form;
  for (int d = 0; d < 3; d++) u.places[d] = a[d].in, u.picks[d] = out[d];
  iso_tensor *copy = iso__planes_copy(ctx, &g->form, x);
  if (copy) x = copy;
  iso_tensor *index = iso__failed(ctx) ? NULL : iso__planes_new(ctx, &g->form, ISO_I64, out);
  iso_tensor *y = index ? iso__planes_new(ctx, &g->form, x->view.dtype, out) : NULL;
  const iso_fractional_args args = {
      .x = iso__data(x), .samples = iso__data(samples), .y = iso__data(y), .index = iso__data(index)};
  y = iso__finish(ctx, y, y ? iso__execute(ctx, &g->problem.head, &args) : ISO_OUT_OF_MEMORY,
                  ISO__RULE_FRACTIONAL_MAX_POOL,
                  &(iso__finish_options){.inputs = ISO__TENSORS(x),
                                         .n_inputs = 1,
                                         .saved = ISO__TENSORS(index),
                                         .n_saved = 1,
                                         .attrs = &u,
                                         .attr_bytes = sizeof u});
  if (indices && y) *indices = index;
  else iso_release(index);
  return iso__drop(y, copy);
}
void iso__fractional_max_pool_gradient(iso__gradient *g) { iso__unpool_pick_gradient(g); }

static iso_tensor *fractional(iso_context *ctx, const iso_tensor *x, const request *r, iso_tensor **indices) {
  bool batched = false;
  pooling g;
  iso_tensor *image = iso__batch(ctx, r->op, x, r->n_axes, &batched), *y = NULL, *index = NULL;
  if (indices) *indices = NULL;
  if (image && pooling_of(ctx, r, image, &g)) {
    iso_tensor *samples = samples_of(ctx, r, image);
    if (!iso__failed(ctx)) y = run(ctx, image, &g, samples, indices ? &index : NULL);
    iso_release(samples);
  }
  iso_release(image);
  y = iso__unbatch(ctx, y, batched);
  if (index) *indices = iso__unbatch(ctx, index, batched);
  return y;
}
iso_tensor *iso_fractional_max_pool2d(iso_context *ctx, const iso_tensor *x, const iso_fractional_pool2d_options *o,
                                      iso_tensor **indices) {
  if (indices) *indices = NULL;
  if (!o) return NULL;
  const request r = {.op = "fractional_max_pool2d",
                     .n_axes = 2,
                     .kernel = {1, o->kernel_h, o->kernel_w},
                     .out = {1, o->out_h, o->out_w},
                     .ratio = {1, o->ratio_h, o->ratio_w},
                     .samples = o->samples};
  return fractional(ctx, x, &r, indices);
}
iso_tensor *iso_fractional_max_pool3d(iso_context *ctx, const iso_tensor *x, const iso_fractional_pool3d_options *o,
                                      iso_tensor **indices) {
  if (indices) *indices = NULL;
  if (!o) return NULL;
  const request r = {.op = "fractional_max_pool3d",
                     .n_axes = 3,
                     .kernel = {o->kernel_d, o->kernel_h, o->kernel_w},
                     .out = {o->out_d, o->out_h, o->out_w},
                     .ratio = {o->ratio_d, o->ratio_h, o->ratio_w},
                     .samples = o->samples};
  return fractional(ctx, x, &r, indices);
}
