/* pad.c: padding by a constant, or by the tensor's own elements, axis by axis from the last one.
 *
 * A constant frame is written first and x copied into it; its gradient is a slice. The other modes join x with slices
 * of itself, so that their gradients are those slices' contributions, added by the tape. */
#include "ops/shape/view.h"

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

/* The elements [begin, end) of an axis, reversed if asked. */
static iso_tensor *piece(iso_context *ctx, const iso_tensor *x, int axis, int64_t begin, int64_t end, bool reverse) {
  iso_tensor *s = iso_slice(ctx, x, axis, begin, end, 1);
  return s && reverse ? iso__drop(iso_flip(ctx, s, 1, &axis), s) : s;
}
/* An edge element `count` times. */
static iso_tensor *edge(iso_context *ctx, const iso_tensor *x, int axis, int64_t at, int64_t count) {
  iso_tensor *s = iso_slice(ctx, x, axis, at, at + 1, 1);
  if (!s) return NULL;
  int64_t shape[ISO_MAX_DIMS];
  memcpy(shape, s->view.shape, sizeof shape);
  shape[axis] = count;
  return iso__drop(iso_expand(ctx, s, s->view.n_dims, shape), s);
}

/* Positive pads. */
static iso_tensor *pad_own(iso_context *ctx, const iso_tensor *x, int axis, int64_t before, int64_t behind,
                           iso_pad_mode mode) {
  const int64_t n = x->view.shape[axis], most = mode == ISO_PAD_REFLECT    ? n - 1
                                                : mode == ISO_PAD_CIRCULAR ? n
                                                                           : INT64_MAX;
  if (before > most || behind > most || n < 1) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "pad",
              "axis %d of extent %lld cannot give %lld elements before and %lld behind", axis, (long long)n,
              (long long)before, (long long)behind);
    return NULL;
  }
  iso_tensor *first, *last;
  if (mode == ISO_PAD_REPLICATE) {
    first = edge(ctx, x, axis, 0, before), last = edge(ctx, x, axis, n - 1, behind);
  } else if (mode == ISO_PAD_REFLECT) {
    first = piece(ctx, x, axis, 1, 1 + before, true), last = piece(ctx, x, axis, n - 1 - behind, n - 1, true);
  } else {
    first = piece(ctx, x, axis, n - before, n, false), last = piece(ctx, x, axis, 0, behind, false);
  }
  iso_tensor *y = iso_cat(ctx, 3, ISO__TENSORS(first, x, last), axis);
  iso_release(last);
  return iso__drop(y, first);
}

/* `left` and `right` elements of an axis left out. */
static iso_tensor *crop(iso_context *ctx, const iso_tensor *x, int axis, int64_t left, int64_t right) {
  const int64_t n = x->view.shape[axis];
  if (left + right <= n) return iso_slice(ctx, x, axis, left, n - right, 1);
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "pad", "axis %d of extent %lld cannot lose %lld elements", axis, (long long)n,
            (long long)(left + right));
  return NULL;
}

/* One axis; what is cropped is still seen by the other side, but not by a circle. */
static iso_tensor *pad_axis(iso_context *ctx, const iso_tensor *x, int axis, int64_t before, int64_t behind,
                            iso_pad_mode mode) {
  const int64_t left = before < 0 ? -before : 0, right = behind < 0 ? -behind : 0;
  if (!left && !right) return pad_own(ctx, x, axis, before, behind, mode);
  iso_tensor *first = mode == ISO_PAD_CIRCULAR ? crop(ctx, x, axis, left, right)
                                               : pad_own(ctx, x, axis, before + left, behind + right, mode);
  if (!first) return NULL;
  return iso__drop(mode == ISO_PAD_CIRCULAR ? pad_own(ctx, first, axis, before + left, behind + right, mode)
                                            : crop(ctx, first, axis, left, right),
                   first);
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
  iso_tensor *y = iso_tensor_alias(ctx, x);
  for (int i = 0; i < n_axes && y; i++) {
    const int axis = x->view.n_dims - 1 - i;
    const int64_t before = pads[2 * i], behind = pads[2 * i + 1], most = INT64_C(1) << 46;
    if (before == 0 && behind == 0) continue;
    if (before < -most || before > most || behind < -most || behind > most) {
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "pad", "pads of %lld and %lld", (long long)before, (long long)behind);
      return iso__drop(NULL, y);
    }
    y = iso__drop(mode == ISO_PAD_CONSTANT ? pad_constant(ctx, y, axis, before, behind, value)
                                           : pad_axis(ctx, y, axis, before, behind, mode),
                  y);
  }
  return y;
}
