/* view.c: arithmetic on shapes and strides; no memory is touched. */
#include <stdio.h>
#include <string.h>
#include "tensor/tensor.h"

int64_t iso__view_numel(const iso__view *v) {
  int64_t n = 1;
  for (int i = 0; i < v->n_dims; i++) n *= v->shape[i];
  return n;
}

void iso__strides_contiguous(int n_dims, const int64_t *shape, int64_t *strides) {
  int64_t step = 1;
  for (int i = n_dims - 1; i >= 0; i--) {
    strides[i] = step;
    if (shape[i] > 1) step *= shape[i];
  }
}

/* Whether going through the dims in this order, innermost first, visits memory densely; extents of 1 have no say. */
static bool is_dense_in_order(const iso__view *v, const int *innermost_first) {
  int64_t step = 1;
  for (int i = 0; i < v->n_dims; i++) {
    int d = innermost_first[i];
    if (v->shape[d] == 0) return true;
    if (v->shape[d] == 1) continue;
    if (v->strides[d] != step) return false;
    step *= v->shape[d];
  }
  return true;
}

static bool is_empty(const iso__view *v) {
  for (int i = 0; i < v->n_dims; i++)
    if (v->shape[i] == 0) return true;
  return false;
}

bool iso__view_is_contiguous(const iso__view *v) {
  int order[ISO_MAX_DIMS];
  for (int i = 0; i < v->n_dims; i++) order[i] = v->n_dims - 1 - i;
  return is_empty(v) || is_dense_in_order(v, order);
}

bool iso__view_is_channels_last(const iso__view *v) {
  if (!iso__has_channels(v->n_dims)) return false;
  int order[ISO_MAX_DIMS] = {1};
  for (int i = 1; i < v->n_dims - 1; i++) order[i] = v->n_dims - i;
  order[v->n_dims - 1] = 0;
  return is_empty(v) || is_dense_in_order(v, order);
}

/* ---- shapes ---- */

/* The first dim at which the bytes exceed what can be addressed, or that is negative; n_dims if there is none. Zero
 * extents count as 1 here, so that strides cannot overflow either. */
static int bad_extent(int n_dims, const int64_t *shape, size_t item_bytes) {
  int64_t n_bytes = (int64_t)item_bytes;
  for (int i = 0; i < n_dims; i++)
    if (shape[i] < 0 || (shape[i] > 0 && __builtin_mul_overflow(n_bytes, shape[i], &n_bytes))) return i;
  return n_dims;
}

bool iso__shape_numel(int n_dims, const int64_t *shape, size_t item_bytes, int64_t *numel) {
  if (n_dims < 0 || n_dims > ISO_MAX_DIMS || bad_extent(n_dims, shape, item_bytes) != n_dims) return false;
  *numel = 1;
  for (int i = 0; i < n_dims; i++) *numel *= shape[i];
  return true;
}

bool iso__shape_check(iso_context *ctx, const char *op, iso_dtype dtype, int n_dims, const int64_t *shape,
                      int64_t *numel) {
  size_t item_bytes = iso_dtype_size(dtype);
  if (item_bytes == 0) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%d is no dtype", (int)dtype);
    return false;
  }
  if (n_dims < 0 || n_dims > ISO_MAX_DIMS) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%d dims; 0 to %d are possible", n_dims, ISO_MAX_DIMS);
    return false;
  }
  if (n_dims > 0 && !shape) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "the shape is NULL");
    return false;
  }
  if (iso__shape_numel(n_dims, shape, item_bytes, numel)) return true;
  int bad = bad_extent(n_dims, shape, item_bytes);
  char text[200];
  iso__shape_text(n_dims, shape, text, sizeof text);
  if (shape[bad] < 0)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "extent %lld of dim %d in %s is negative", (long long)shape[bad], bad,
              text);
  else
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%s of %s has more bytes than can be addressed (extent %lld of dim %d)",
              text, iso_dtype_name(dtype), (long long)shape[bad], bad);
  return false;
}

char *iso__shape_text(int n_dims, const int64_t *shape, char *text, size_t n_bytes) {
  size_t n = 0;
  if (n_bytes == 0) return text;
  text[0] = '\0';
  for (int i = 0; i <= n_dims && n < n_bytes; i++) {
    const char *before = i == 0 ? "(" : i < n_dims ? "," : "";
    int k = i < n_dims ? snprintf(text + n, n_bytes - n, "%s%lld", before, (long long)shape[i])
                       : snprintf(text + n, n_bytes - n, "%s)", before);
    n += (size_t)(k < 0 ? 0 : k);
  }
  return text;
}

bool iso__broadcast(iso_context *ctx, const char *op, const iso__view *a, const iso__view *b, int *n_dims,
                    int64_t *shape) {
  int n = a->n_dims > b->n_dims ? a->n_dims : b->n_dims;
  for (int i = 0; i < n; i++) { /* i counts from the innermost dim */
    int64_t x = i < a->n_dims ? a->shape[a->n_dims - 1 - i] : 1;
    int64_t y = i < b->n_dims ? b->shape[b->n_dims - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      char left[200], right[200];
      ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op,
                "%s and %s do not broadcast: extents %lld and %lld, counted %d from the end",
                iso__shape_text(a->n_dims, a->shape, left, sizeof left),
                iso__shape_text(b->n_dims, b->shape, right, sizeof right), (long long)x, (long long)y, i + 1);
      return false;
    }
    shape[n - 1 - i] = x == 1 ? y : x;
  }
  *n_dims = n;
  return true;
}

/* ---- views of views ---- */

bool iso__view_permute(iso_context *ctx, const iso__view *v, const int *axes, iso__view *out) {
  iso__view result = *v;
  unsigned seen = 0;
  if (!axes && v->n_dims > 0) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "permute", "the axes are NULL");
    return false;
  }
  for (int i = 0; i < v->n_dims; i++) {
    int axis = axes[i] < 0 ? axes[i] + v->n_dims : axes[i];
    if (axis < 0 || axis >= v->n_dims || (seen >> axis & 1)) {
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "permute", "axis %d at place %d is %s; there are %d dims", axes[i], i,
                axis < 0 || axis >= v->n_dims ? "out of range" : "named twice", v->n_dims);
      return false;
    }
    seen |= 1u << axis;
    result.shape[i] = v->shape[axis];
    result.strides[i] = v->strides[axis];
  }
  *out = result;
  return true;
}

static int64_t clip(int64_t index, int64_t extent) {
  if (index < 0) index += extent;
  return index < 0 ? 0 : index > extent ? extent : index;
}

bool iso__view_slice(iso_context *ctx, const iso__view *v, int axis, int64_t begin, int64_t end, int64_t step,
                     iso__view *out) {
  int a = axis < 0 ? axis + v->n_dims : axis;
  if (a < 0 || a >= v->n_dims) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "slice", "axis %d is out of range; there are %d dims", axis, v->n_dims);
    return false;
  }
  if (step < 1) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "slice", "step %lld; at least 1 is possible", (long long)step);
    return false;
  }
  begin = clip(begin, v->shape[a]);
  end = clip(end, v->shape[a]);
  iso__view result = *v;
  int64_t n = end > begin ? (end - begin - 1) / step + 1 : 0;
  if (n > 0) result.offset += begin * v->strides[a]; /* an empty slice must not point past the storage */
  result.shape[a] = n;
  result.strides[a] = n > 1 ? v->strides[a] * step : v->strides[a];
  *out = result;
  return true;
}

/* Resolves one −1 in `shape` into `full`. */
static bool infer_shape(iso_context *ctx, const iso__view *v, int n_dims, const int64_t *shape, int64_t *full) {
  char from[200], to[200];
  iso__shape_text(v->n_dims, v->shape, from, sizeof from);
  int unknown = -1;
  int64_t n = iso__view_numel(v), known = 1;
  if (n_dims < 0 || n_dims > ISO_MAX_DIMS) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "reshape", "%d dims; 0 to %d are possible", n_dims, ISO_MAX_DIMS);
    return false;
  }
  iso__shape_text(n_dims, shape, to, sizeof to);
  for (int i = 0; i < n_dims; i++) {
    full[i] = shape[i];
    if (shape[i] == -1 && unknown < 0) {
      unknown = i;
    } else if (shape[i] < 0 || __builtin_mul_overflow(known, shape[i], &known)) {
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "reshape", "extent %lld of dim %d in %s is not possible",
                (long long)shape[i], i, to);
      return false;
    }
  }
  if (unknown >= 0) {
    if (known == 0 || n % known != 0) {
      ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "reshape", "%s does not fit %s: no whole number for the -1", from, to);
      return false;
    }
    full[unknown] = n / known;
  } else if (known != n) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "reshape", "%s has %lld elements, %s has %lld", from, (long long)n, to,
              (long long)known);
    return false;
  }
  return true;
}

/* Runs of old dims that lie densely in each other may be cut anew; each new dim must fall inside one run. */
bool iso__view_reshape(iso_context *ctx, const iso__view *v, int n_dims, const int64_t *shape, iso__view *out) {
  iso__view result = *v;
  if (!infer_shape(ctx, v, n_dims, shape, result.shape)) return false;
  result.n_dims = n_dims;
  iso__strides_contiguous(n_dims, result.shape, result.strides);
  iso__view from = *v;
  *out = result;
  if (is_empty(&from) || iso__view_is_contiguous(&from)) return true;

  int new_dim = n_dims - 1;
  for (int old = from.n_dims - 1; old >= 0;) {
    int64_t run = from.shape[old], stride = from.strides[old];
    while (old > 0 && (run == 1 || from.shape[old - 1] == 1 || from.strides[old - 1] == stride * run)) {
      old--;
      if (run == 1) stride = from.strides[old];
      run *= from.shape[old];
    }
    old--;
    int64_t filled = 1;
    while (new_dim >= 0 && filled * result.shape[new_dim] <= run) {
      result.strides[new_dim] = stride * filled;
      filled *= result.shape[new_dim];
      new_dim--;
      if (filled == run && (new_dim < 0 || result.shape[new_dim] != 1)) break;
    }
    if (filled != run) return false;
  }
  *out = result;
  return true;
}

bool iso__view_expand(iso_context *ctx, const iso__view *v, int n_dims, const int64_t *shape, iso__view *out) {
  int64_t numel;
  if (!iso__shape_check(ctx, "expand", v->dtype, n_dims, shape, &numel)) return false;
  iso__view result = *v;
  char from[200], to[200];
  int n_new = n_dims - v->n_dims;
  if (n_new < 0) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "expand", "%s has more dims than %s",
              iso__shape_text(v->n_dims, v->shape, from, sizeof from), iso__shape_text(n_dims, shape, to, sizeof to));
    return false;
  }
  result.n_dims = n_dims;
  for (int i = 0; i < n_dims; i++) {
    int64_t extent = i < n_new ? 1 : v->shape[i - n_new];
    if (extent != shape[i] && extent != 1) {
      ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "expand", "%s does not fit %s: extent %lld of dim %d is not 1",
                iso__shape_text(v->n_dims, v->shape, from, sizeof from), iso__shape_text(n_dims, shape, to, sizeof to),
                (long long)extent, i - n_new);
      return false;
    }
    result.shape[i] = shape[i];
    result.strides[i] = extent == shape[i] && i >= n_new ? v->strides[i - n_new] : 0;
  }
  *out = result;
  return true;
}
