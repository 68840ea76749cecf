/* support.c: checks, recording and the launch of pointwise kernels, for every operator. */
#include <stdio.h>
#include "kernels/map/functions.h"
#include "ops/ops.h"

/* ---- arguments ---- */

/* Operators whose code beside the kernels reads and writes no tensor's elements, or does so on the CPU. */
static bool runs_everywhere(const char *op) {
  static const char *const names[] = {
#define EVERYWHERE(name) #name,
#include "ops/everywhere.def"
#undef EVERYWHERE
  };
  if (strncmp(op, "iso_", 4) == 0) op += 4;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(op, names[i])) return true;
  return false;
}

/* A device other than the CPU takes part. */
static bool is_on_device(iso_context *ctx, const char *op, const iso_tensor *t) {
  const char *lies = t->view.storage->device->name, *computes = iso__device_of(ctx)->name;
  if (t->view.storage->device != iso__device_of(ctx))
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op,
              "a tensor lies on %s, but the context computes on %s: iso_to copies it over", lies, computes);
  else if (!runs_everywhere(op))
    ISO__FAIL(ctx, ISO_UNSUPPORTED, op, "is not there on %s yet: copy its operands to the CPU", computes);
  return !iso__failed(ctx);
}

static bool is_of(iso_context *ctx, const char *op, const iso_tensor *t) {
#ifdef ISO_DEBUG
  if (t->magic != ISO__TENSOR_ALIVE) {
    ISO__FAIL(ctx, ISO_STALE_HANDLE, op, "a handle was used after its scope ended");
    return false;
  }
#endif
  if (t->ctx != ctx) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "a tensor belongs to another context");
    return false;
  }
  return (!ctx->device && t->view.storage->device == &iso__device_cpu) || is_on_device(ctx, op, t);
}

bool iso__takes(iso_context *ctx, const char *op, int n, const iso_tensor *const *t) {
  if (iso__failed(ctx)) return false;
  for (int i = 0; i < n; i++)
    if (!t[i] || !is_of(ctx, op, t[i])) return false;
  return true;
}

/* "f32, f64 and i64" */
static const char *dtypes_text(uint32_t dtypes, char *text, size_t n_bytes) {
  int length = 0;
  text[0] = 0;
  for (int d = 0, left = __builtin_popcount(dtypes); d < ISO_DTYPE_COUNT; d++) {
    if (!(dtypes & ISO__DTYPE_BIT(d))) continue;
    left--;
    length += snprintf(text + length, n_bytes - (size_t)length, "%s%s", iso_dtype_name((iso_dtype)d),
                       left > 1 ? ", "
                       : left   ? " and "
                                : "");
  }
  return text;
}

bool iso__takes_dtypes(iso_context *ctx, const char *op, uint32_t dtypes, int n, const iso_tensor *const *t) {
  if (!iso__takes(ctx, op, 1, t)) return false;
  const iso_dtype dtype = t[0]->view.dtype;
  if (!(dtypes & ISO__DTYPE_BIT(dtype))) {
    char text[80];
    ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, op, "%s is not computed here: %s are", iso_dtype_name(dtype),
              dtypes_text(dtypes, text, sizeof text));
    return false;
  }
  for (int i = 1; i < n; i++) {
    if (!t[i]) continue;
    if (!is_of(ctx, op, t[i])) return false;
    if (t[i]->view.dtype != dtype) {
      ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, op, "operand 1 is %s but operand %d is %s", iso_dtype_name(dtype), i + 1,
                iso_dtype_name(t[i]->view.dtype));
      return false;
    }
  }
  return true;
}

bool iso__takes_floats(iso_context *ctx, const char *op, int n, const iso_tensor *const *t) {
  return iso__takes_dtypes(ctx, op, ISO__FLOAT_DTYPES, n, t);
}

int iso__axis(iso_context *ctx, const char *op, const iso_tensor *t, int axis) {
  const int n = t->view.n_dims, positive = axis < 0 ? axis + n : axis;
  if (positive >= 0 && positive < n) return positive;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "axis %d of a tensor with %d dimensions", axis, n);
  return -1;
}

bool iso__same_shape(const iso__view *a, const iso__view *b) {
  return a->n_dims == b->n_dims && memcmp(a->shape, b->shape, sizeof a->shape[0] * (size_t)a->n_dims) == 0;
}

bool iso__needs_cpu(iso_context *ctx, const char *op, const char *what) {
  if (!iso__failed(ctx) && !iso__is_on_cpu(ctx))
    ISO__FAIL(ctx, ISO_UNSUPPORTED, op, "%s is not there on %s yet", what, ctx->device->name);
  return !iso__failed(ctx);
}

/* ---- results ---- */

iso_tensor *iso__finish(iso_context *ctx, iso_tensor *y, iso_status status, iso__rule_id rule,
                        const iso__finish_options *o) {
  if (!y) {
    iso_release(o->second), iso_release(o->third);
    return NULL;
  }
  if (status == ISO_OK && !iso__is_recorded(ctx, o->n_inputs, o->inputs)) return y;
  if (status == ISO_OK && iso__record(ctx, &(iso__recording){.rule = &iso__rules[rule],
                                                             .inputs = o->inputs,
                                                             .n_inputs = o->n_inputs,
                                                             .outputs = (iso_tensor *const[]){y, o->second, o->third},
                                                             .n_outputs = o->third    ? 3
                                                                          : o->second ? 2
                                                                                      : 1,
                                                             .saved = o->saved,
                                                             .n_saved = o->n_saved,
                                                             .attrs = o->attrs,
                                                             .attr_bytes = o->attr_bytes}))
    return y;
  iso_release(y), iso_release(o->second), iso_release(o->third);
  return NULL;
}

iso_tensor *iso__host_finish(iso_context *ctx, const iso__device *device, iso_tensor *t) {
  iso__host_leave(ctx, device);
  return t && device ? iso__drop(iso__tensor_to(ctx, &t->view, device), t) : t;
}

/* ---- pointwise kernels ---- */

static bool is_dense_like(const iso__view *v, const iso__view *out) {
  if (!iso__same_shape(v, out)) return false;
  for (int d = 0; d < v->n_dims; d++)
    if (v->shape[d] > 1 && v->strides[d] != out->strides[d]) return false;
  return true;
}

/* Strides of v as an operand of a result of that shape: 0 where it is repeated. */
void iso__broadcast_strides(const iso__view *v, const iso__view *out, int64_t *strides) {
  const int lead = out->n_dims - v->n_dims;
  for (int d = 0; d < out->n_dims; d++)
    strides[d] = d < lead || (v->shape[d - lead] == 1 && out->shape[d] != 1) ? 0 : v->strides[d - lead];
}

/* The result takes the storage order of the first operand of its shape. */
iso_tensor *iso__map_result(iso_context *ctx, const char *op, iso_dtype dtype, int n, const iso_tensor *const *in) {
  const iso__view *like = &in[0]->view;
  bool same = true;
  for (int i = 1; i < n && same; i++) same = iso__same_shape(&in[i]->view, like);
  if (same) return iso__tensor_new_like(ctx, like, dtype);
  iso__view form = *like;
  for (int i = 1; i < n; i++) {
    int64_t shape[ISO_MAX_DIMS];
    int n_dims;
    if (!iso__broadcast(ctx, op, &form, &in[i]->view, &n_dims, shape)) return NULL;
    form.n_dims = n_dims;
    memcpy(form.shape, shape, sizeof shape);
  }
  for (int i = 0; i < n; i++)
    if (iso__same_shape(&in[i]->view, &form)) return iso__tensor_new_like(ctx, &in[i]->view, dtype);
  return iso_tensor_new(ctx, dtype, form.n_dims, form.shape);
}

/* t's elements cast, without history. */
static iso_tensor *cast_copy(iso_context *ctx, const iso_tensor *t, iso_tensor *copy) {
  if (copy && t) iso__view_copy(ctx, &copy->view, &t->view);
  return copy;
}

/* f16 and bf16 by the kernels of f32, which are the fast ones on a device: widened, computed, rounded once; scalars are
 * rounded to the dtype first, as everywhere. */
static iso_tensor *map_widened(iso_context *ctx, const char *op, iso__map_fn fn, int n, const iso_tensor *const *in,
                               const double *scalars, iso_tensor *out) {
  const iso_dtype dtype = in[iso__map_kind_of(fn) == ISO__MAP_CHOICE]->view.dtype;
  iso_tensor *made[3] = {NULL};
  const iso_tensor *wide[3] = {NULL};
  double rounded[3] = {0};
  for (int i = 0; i < n; i++) {
    wide[i] = in[i];
    if (iso__is_half(in[i]->view.dtype))
      wide[i] = made[i] = cast_copy(ctx, in[i], iso__tensor_new_in_order(ctx, &in[i]->view, ISO_F32));
  }
  for (int i = 0; i < 3 && scalars; i++) rounded[i] = (double)iso__map_scalar_f32(scalars[i], dtype);
  iso_tensor *y = iso__failed(ctx) ? NULL : iso__map(ctx, op, fn, n, wide, rounded, NULL);
  for (int i = 0; i < n; i++) iso_release(made[i]);
  if (!y || iso__map_kind_of(fn) == ISO__MAP_TRUTH) return y;
  return iso__drop(cast_copy(ctx, y, out ? out : iso__tensor_new_like(ctx, &y->view, dtype)), y);
}

iso_tensor *iso__map(iso_context *ctx, const char *op, iso__map_fn fn, int n, const iso_tensor *const *in,
                     const double *scalars, iso_tensor *out) {
  const iso_dtype dtype = in[iso__map_kind_of(fn) == ISO__MAP_CHOICE]->view.dtype;
  if (iso__is_half(dtype) && !iso__is_on_cpu(ctx)) return map_widened(ctx, op, fn, n, in, scalars, out);
  iso_tensor *y = out ? out : iso__map_result(ctx, op, iso__map_operand_dtype(fn, dtype, 0), n, in);
  if (!y) return NULL;
  iso_map_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_MAP, dtype);
  p.fn = (uint16_t)fn;
  iso_map_args args = {.out = iso__data(y)};
  bool dense = iso__view_is_contiguous(&y->view) || iso__view_is_channels_last(&y->view);
  for (int i = 0; i < n; i++) {
    args.in[i] = iso__data(in[i]);
    dense = dense && is_dense_like(&in[i]->view, &y->view);
  }
  if (scalars) memcpy(args.scalar, scalars, sizeof args.scalar);
  if (dense) {
    p.n_dims = 1;
    p.shape[0] = iso__view_numel(&y->view);
    for (int i = 0; i <= n; i++) p.strides[i][0] = 1;
  } else {
    int64_t strides[3][ISO_MAX_DIMS];
    const int64_t *operands[4] = {y->view.strides};
    for (int i = 0; i < n; i++) {
      iso__broadcast_strides(&in[i]->view, &y->view, strides[i]);
      operands[i + 1] = strides[i];
    }
    iso__map_collapse(&p, n + 1, y->view.n_dims, y->view.shape, operands);
  }
  if (iso__execute(ctx, &p.head, &args) == ISO_OK) return y;
  if (!out) iso_release(y);
  return NULL;
}

iso_tensor *iso__reusable_dy(const iso__gradient *g) {
  iso_tensor *dy = g->dy[0];
  if (iso__creates_graph(g) || !iso__storage_is_exclusive(dy->view.storage)) return NULL;
  return iso__view_is_contiguous(&dy->view) || iso__view_is_channels_last(&dy->view) ? dy : NULL;
}

iso_tensor *iso__scalar(iso_context *ctx, iso_dtype dtype, double value) {
  return iso_tensor_full(ctx, dtype, 0, NULL, value);
}
