/* init_patterns.c: initialisers that make a matrix or a kernel as a whole: identity, dirac, orthogonal, sparse. Each
 * computes a contiguous tensor and assigns it, so that strides have no say. */
#include <math.h>
#include <string.h>
#include "base/fenv.h"
#include "nn/init.h"
#include "ops/ops.h"

static bool check(iso_tensor *t, const char *op, int low, int high) {
  char text[128];
  if (!t || iso__failed(t->ctx)) return false;
  const iso__view *v = &t->view;
  if (v->n_dims >= low && v->n_dims <= high) return true;
  ISO__FAIL(t->ctx, ISO_SHAPE_MISMATCH, op, "%s has %d axes: %d to %d are needed",
            iso__shape_text(v->n_dims, v->shape, text, sizeof text), v->n_dims, low, high);
  return false;
}
static iso_status status_of(const iso_tensor *t) { return t ? t->ctx->error.code : ISO_INVALID_ARGUMENT; }

/* Opens a scope without a tape, on the CPU; finish assigns `made` to t, wherever that lies, and closes it. */
static const iso__device *begin(iso_context *ctx) {
  iso_no_grad_push(ctx);
  iso_scope_push(ctx);
  return iso__host_enter(ctx);
}
static iso_status finish(iso_tensor *t, const iso__device *device, const iso_tensor *made) {
  if (made) iso_tensor_assign(t, made);
  iso__host_leave(t->ctx, device);
  iso_scope_pop(t->ctx);
  iso_no_grad_pop(t->ctx);
  return status_of(t);
}

iso_status iso_init_eye(iso_tensor *t) {
  if (!check(t, "init_eye", 2, 2)) return status_of(t);
  const iso__device *device = begin(t->ctx);
  return finish(t, device, iso_eye(t->ctx, t->view.dtype, t->view.shape[0], t->view.shape[1]));
}

iso_status iso_init_dirac(iso_tensor *t, int64_t groups) {
  if (!check(t, "init_dirac", 3, 5)) return status_of(t);
  const iso__view *v = &t->view;
  const int64_t n_groups = groups ? groups : 1, in = v->shape[1];
  if (n_groups < 0 || v->shape[0] % n_groups)
    return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "init_dirac", "%lld channels are not %lld equal groups",
                     (long long)v->shape[0], (long long)n_groups);
  const iso__device *device = begin(t->ctx);
  iso_tensor *made = iso_tensor_zeros(t->ctx, ISO_U8, v->n_dims, v->shape);
  int64_t kernel = 1, centre = 0;
  for (int d = 2; d < v->n_dims; d++) kernel *= v->shape[d], centre = centre * v->shape[d] + v->shape[d] / 2;
  const int64_t out = v->shape[0] / n_groups, n = out < in ? out : in;
  uint8_t *ones = iso__data(made);
  for (int64_t g = 0; made && kernel > 0 && g < n_groups; g++)
    for (int64_t i = 0; i < n; i++) ones[((g * out + i) * in + i) * kernel + centre] = 1;
  return finish(t, device, made);
}

iso_status iso_init_orthogonal(iso_tensor *t, double gain, uint32_t site) {
  if (!check(t, "init_orthogonal", 2, ISO_MAX_DIMS)) return status_of(t);
  iso_context *ctx = t->ctx;
  const iso__view *v = &t->view;
  const int64_t rows = v->shape[0], numel = iso__view_numel(v);
  if (numel == 0) return ISO_OK;
  const iso__device *device = begin(ctx);
  iso_tensor *normal = iso_tensor_new(ctx, v->dtype, 2, ISO_DIMS(rows, numel / rows)), *r;
  if (!normal || iso_init_normal(normal, 0, 1, site) != ISO_OK) return finish(t, device, NULL);
  const bool wide = rows < numel / rows;
  iso_tensor *q = iso_qr(ctx, wide ? iso_transpose(ctx, normal, 0, 1) : normal, false, &r);
  if (!q) return finish(t, device, NULL);
  iso_tensor *diagonal = iso_diagonal(ctx, r, 0, 0, 1);
  iso_tensor *signs = iso_copysign(ctx, iso_full_like(ctx, diagonal, gain == 0 ? 1 : gain), diagonal);
  iso_tensor *signed_q = iso_mul(ctx, q, signs);
  iso_tensor *back = wide ? iso_transpose(ctx, signed_q, 0, 1) : signed_q;
  return finish(t, device, iso_reshape(ctx, back, v->n_dims, v->shape));
}

/* Zeroes ceil(sparsity·rows) elements of each column of a contiguous matrix. */
static bool thin_out(iso_context *ctx, iso_tensor *made, double sparsity, uint32_t site) {
  const int64_t rows = made->view.shape[0], columns = made->view.shape[1];
  const size_t item = iso_dtype_size(made->view.dtype), n_bytes = 24 * (size_t)rows;
  const iso__fenv saved = iso__fenv_enter();
  const int64_t n_zeros = (int64_t)iso__fenv_pin(ceil(iso__fenv_pin(sparsity) * (double)rows));
  iso__fenv_leave(saved);
  int64_t *order = iso__alloc(ctx, n_bytes);
  if (!order) return false;
  iso_philox at = iso__init_place(made, site);
  bool ok = true;
  for (int64_t c = 0; ok && c < columns; c++) {
    at.leaf = (uint32_t)c + 1;
    ok = iso_philox_permutation(&at, (uint64_t)rows, order, order + rows);
    for (int64_t i = 0; ok && i < n_zeros; i++)
      memset((char *)iso__data(made) + (size_t)(order[i] * columns + c) * item, 0, item);
  }
  iso__free(ctx, order, n_bytes);
  return ok;
}

iso_status iso_init_sparse(iso_tensor *t, double sparsity, double sd, uint32_t site) {
  if (!check(t, "init_sparse", 2, 2)) return status_of(t);
  iso_context *ctx = t->ctx;
  if (!(sparsity >= 0 && sparsity <= 1) || !(sd >= 0))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "init_sparse",
                     "sparsity %g and deviation %g: 0 ≤ sparsity ≤ 1 and a deviation of at least 0 are needed",
                     sparsity, sd);
  const iso__device *device = begin(ctx);
  iso_tensor *made = iso_tensor_new(ctx, t->view.dtype, 2, t->view.shape);
  if (!made || iso_init_normal(made, 0, sd == 0 ? 0.01 : sd, site) != ISO_OK || !thin_out(ctx, made, sparsity, site))
    return finish(t, device, NULL);
  return finish(t, device, made);
}
