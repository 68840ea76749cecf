/* shuffle.c: channels traded for pixels, and channels among groups: reshape, permute, reshape; of a channels-last image
 * with the channels behind, so that the result is one, too. */
#include "ops/ops.h"

/* x reshaped to `wide`, permuted, reshaped to `shape`. */
static iso_tensor *regroup(iso_context *ctx, const iso_tensor *x, int n_wide, const int64_t *wide, const int *order,
                           int n_dims, const int64_t *shape) {
  iso_tensor *split = iso_reshape(ctx, x, n_wide, wide), *turned = split ? iso_permute(ctx, split, order) : NULL;
  iso_release(split);
  return turned ? iso__drop(iso_reshape(ctx, turned, n_dims, shape), turned) : NULL;
}

static bool lies_channels_last(const iso_tensor *x) {
  return x->view.n_dims == 4 && iso__view_is_channels_last(&x->view) && !iso__view_is_contiguous(&x->view);
}
/* The same of x (N,C,H,W) as (N,H,W,C); `shape` is (N,H′,W′,C′). */
static iso_tensor *regroup_last(iso_context *ctx, const iso_tensor *x, const int64_t *wide, const int *order,
                                const int64_t *shape) {
  iso__enter(ctx);
  iso_tensor *rows = iso_permute(ctx, x, (const int[]){0, 2, 3, 1});
  iso_tensor *y = rows ? regroup(ctx, rows, 6, wide, order, 4, shape) : NULL;
  return iso__leave(ctx, iso_permute(ctx, y, (const int[]){0, 3, 1, 2}));
}

static bool check_factor(iso_context *ctx, const char *op, const iso_tensor *x, int64_t factor) {
  if (!iso__takes(ctx, op, 1, &x)) return false;
  if (x->view.n_dims < 3)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "x has %d dimensions: (…,C,H,W) is needed", x->view.n_dims);
  else if (factor < 1 || factor > INT32_MAX)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "the factor is %lld", (long long)factor);
  return !iso__failed(ctx);
}

iso_tensor *iso_pixel_shuffle(iso_context *ctx, const iso_tensor *x, int64_t factor) {
  if (!check_factor(ctx, "pixel_shuffle", x, factor)) return NULL;
  const int n_dims = x->view.n_dims;
  const int64_t *s = x->view.shape + n_dims - 3, c = s[0] / (factor * factor);
  if (s[0] % (factor * factor)) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "pixel_shuffle", "%lld channels are no multiple of %lld²", (long long)s[0],
              (long long)factor);
    return NULL;
  }
  int64_t shape[ISO_MAX_DIMS], batch = 1;
  memcpy(shape, x->view.shape, sizeof shape);
  for (int d = 0; d < n_dims - 3; d++) batch *= shape[d];
  shape[n_dims - 3] = c, shape[n_dims - 2] = s[1] * factor, shape[n_dims - 1] = s[2] * factor;
  if (lies_channels_last(x))
    return regroup_last(ctx, x, ISO_DIMS(batch, s[1], s[2], c, factor, factor), (const int[]){0, 1, 4, 2, 5, 3},
                        ISO_DIMS(batch, s[1] * factor, s[2] * factor, c));
  return regroup(ctx, x, 6, ISO_DIMS(batch, c, factor, factor, s[1], s[2]), (const int[]){0, 1, 4, 2, 5, 3}, n_dims,
                 shape);
}

iso_tensor *iso_pixel_unshuffle(iso_context *ctx, const iso_tensor *x, int64_t factor) {
  if (!check_factor(ctx, "pixel_unshuffle", x, factor)) return NULL;
  const int n_dims = x->view.n_dims;
  const int64_t *s = x->view.shape + n_dims - 3, h = s[1] / factor, w = s[2] / factor;
  if (s[1] % factor || s[2] % factor) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "pixel_unshuffle", "%lld×%lld pixels are no multiples of %lld", (long long)s[1],
              (long long)s[2], (long long)factor);
    return NULL;
  }
  int64_t shape[ISO_MAX_DIMS], batch = 1;
  memcpy(shape, x->view.shape, sizeof shape);
  for (int d = 0; d < n_dims - 3; d++) batch *= shape[d];
  shape[n_dims - 3] = s[0] * factor * factor, shape[n_dims - 2] = h, shape[n_dims - 1] = w;
  if (lies_channels_last(x))
    return regroup_last(ctx, x, ISO_DIMS(batch, h, factor, w, factor, s[0]), (const int[]){0, 1, 3, 5, 2, 4},
                        ISO_DIMS(batch, h, w, s[0] * factor * factor));
  return regroup(ctx, x, 6, ISO_DIMS(batch, s[0], h, factor, w, factor), (const int[]){0, 1, 3, 5, 2, 4}, n_dims,
                 shape);
}

iso_tensor *iso_channel_shuffle(iso_context *ctx, const iso_tensor *x, int64_t groups) {
  if (!iso__takes(ctx, "channel_shuffle", 1, &x)) return NULL;
  const iso__view *v = &x->view;
  if (v->n_dims < 3 || groups < 1 || v->shape[1] % groups) {
    char text[128];
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "channel_shuffle", "%s, (N,C,…), in %lld groups",
              iso__shape_text(v->n_dims, v->shape, text, sizeof text), (long long)groups);
    return NULL;
  }
  int64_t rest = 1;
  for (int d = 2; d < v->n_dims; d++) rest *= v->shape[d];
  return regroup(ctx, x, 4, ISO_DIMS(v->shape[0], groups, v->shape[1] / groups, rest), (const int[]){0, 2, 1, 3},
                 v->n_dims, v->shape);
}
