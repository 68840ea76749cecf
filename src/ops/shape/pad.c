/* pad.c: padding by a constant, or by the tensor's own elements.
 *
 * A constant frame is written first and x copied into it; its gradient is a slice. The other modes are one operator,
 * frame.c, for all axes at once. */
#include "ops/shape/view.h"

#define MOST_PAD (INT64_C(1) << 46)

/* ---- constant ---- */

static iso_tensor *pad_constant(iso_context *ctx, const iso_tensor *x, int axis, int64_t before, int64_t behind,
                                double value) {
  const iso__view *v = &x->view;
  const int64_t extent = v->shape[axis], left = before < 0 ? -before : 0, right = behind < 0 ? -behind : 0;
  int64_t shape[ISO_MAX_DIMS];
  memcpy(shape, v->shape, sizeof shape);
  if (left + right > extent || __builtin_add_overflow(extent, before, &shape[axis]) ||
      __builtin_add_overflow(shape[axis], behind, &shape[axis])) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "pad", "axis %d of extent %lld with %lld before and %lld behind", axis,
              (long long)extent, (long long)before, (long long)behind);
    return NULL;
  }
  iso_tensor *part = left || right ? iso_slice(ctx, x, axis, left, extent - right, 1) : iso_tensor_alias(ctx, x);
  if ((before <= 0 && behind <= 0) || !part) return part;
  const iso__slice s = {.axis = axis, .begin = before > 0 ? before : 0, .step = 1};
  iso_tensor *frame = iso_tensor_full(ctx, v->dtype, v->n_dims, shape, value);
  iso_tensor *y =
      frame ? iso_slice_scatter(ctx, frame, part, axis, s.begin, s.begin + part->view.shape[axis], 1) : NULL;
  iso_release(frame);
  return iso__drop(y, part);
}

/* ---- from x itself ---- */

/* One axis of extent n: what is cropped is still seen by the other side, but not by a circle. */
static bool check_own(iso_context *ctx, const iso__frame *f, int axis) {
  const int64_t before = f->before[axis], behind = f->behind[axis], left = before < 0 ? -before : 0,
                right = behind < 0 ? -behind : 0, added = (before > 0 ? before : 0) + (behind > 0 ? behind : 0);
  const bool circular = f->mode == ISO_PAD_CIRCULAR;
  const int64_t whole = f->extent[axis] + (circular ? 0 : added);
  const int64_t n = f->extent[axis] - (circular ? left + right : 0);
  const int64_t most = f->mode == ISO_PAD_REFLECT ? n - 1 : circular ? n : INT64_MAX;
  if (left + right > whole)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "pad", "axis %d of extent %lld cannot lose %lld elements", axis,
              (long long)whole, (long long)(left + right));
  else if (before > most || behind > most || n < 1)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "pad",
              "axis %d of extent %lld cannot give %lld elements before and %lld behind", axis, (long long)n,
              (long long)before, (long long)behind);
  return !iso__failed(ctx);
}

static iso_tensor *pad_own(iso_context *ctx, const iso_tensor *x, int n_axes, const int64_t *pads, iso_pad_mode mode) {
  iso__frame f;
  bool any = false;
  memset(&f, 0, sizeof f);
  f.mode = mode, f.n_dims = x->view.n_dims;
  memcpy(f.extent, x->view.shape, sizeof f.extent[0] * (size_t)f.n_dims);
  for (int i = 0; i < n_axes; i++) {
    const int axis = f.n_dims - 1 - i;
    f.before[axis] = pads[2 * i], f.behind[axis] = pads[2 * i + 1];
    if (f.before[axis] == 0 && f.behind[axis] == 0) continue;
    if (!check_own(ctx, &f, axis)) return NULL;
    any = true;
  }
  return any ? iso__frame_pad(ctx, x, &f) : iso_tensor_alias(ctx, x);
}

iso_tensor *iso_pad(iso_context *ctx, const iso_tensor *x, int n_pads, const int64_t *pads, iso_pad_mode mode,
                    double value) {
  if (!iso__takes(ctx, "pad", 1, &x)) return NULL;
  const int n_axes = n_pads / 2;
  if (n_pads < 0 || n_pads % 2 || n_axes > x->view.n_dims || (n_pads > 0 && !pads) || mode < ISO_PAD_CONSTANT ||
      mode > ISO_PAD_CIRCULAR) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "pad", "%d pads for %d dimensions, mode %d%s", n_pads, x->view.n_dims,
              (int)mode, pads ? "" : ", and their list is NULL");
    return NULL;
  }
  for (int i = 0; i < n_pads; i++)
    if (pads[i] < -MOST_PAD || pads[i] > MOST_PAD) {
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "pad", "pads of %lld and %lld", (long long)pads[i / 2 * 2],
                (long long)pads[i / 2 * 2 + 1]);
      return NULL;
    }
  if (mode != ISO_PAD_CONSTANT) return pad_own(ctx, x, n_axes, pads, mode);
  iso_tensor *y = iso_tensor_alias(ctx, x);
  for (int i = 0; i < n_axes && y; i++) {
    const int axis = x->view.n_dims - 1 - i;
    if (pads[2 * i] == 0 && pads[2 * i + 1] == 0) continue;
    y = iso__drop(pad_constant(ctx, y, axis, pads[2 * i], pads[2 * i + 1], value), y);
  }
  return y;
}
