/* matrix.c: powers, the exponential, small products and statistics of matrices, made of other operators. */
#include <math.h>
#include "base/fenv.h"
#include "ops/linalg/linalg.h"

iso_tensor *iso_matrix_power(iso_context *ctx, const iso_tensor *a, int64_t n) {
  if (!iso__takes_matrix(ctx, "matrix_power", a, true)) return NULL;
  const iso__view *v = &a->view;
  uint64_t rest = n < 0 ? -(uint64_t)n : (uint64_t)n;
  iso__enter(ctx);
  iso_tensor *square = n < 0 ? iso_inv(ctx, a) : iso_tensor_alias(ctx, a), *y = NULL;
  for (; rest && square; rest >>= 1) {
    if (rest & 1) y = y ? iso_matmul(ctx, y, square) : square;
    if (rest > 1) square = iso_matmul(ctx, square, square);
  }
  const int64_t order = v->shape[v->n_dims - 1];
  if (n == 0) y = iso_contiguous(ctx, iso_expand(ctx, iso_eye(ctx, v->dtype, order, order), v->n_dims, v->shape));
  return iso__leave(ctx, iso__failed(ctx) ? NULL : y == square && n == 1 ? iso_clone(ctx, y) : y);
}

/* The halvings after which every column sum is below 1 (f32: 2); 0 where it is not finite. */
static int halvings(iso_context *ctx, const iso_tensor *a) {
  double sum = 0;
  iso_no_grad_push(ctx);
  iso_tensor *columns = iso_sum(ctx, iso_abs(ctx, a), 1, (const int[]){-2}, false);
  if (columns && iso__view_numel(&columns->view)) iso_tensor_item(iso_amax(ctx, columns, 0, NULL, false), &sum);
  iso_no_grad_pop(ctx);
  int e = 0;
  if (isfinite(sum)) (void)frexp(sum, &e); /* sum < 2^e */
  if (a->view.dtype == ISO_F32) e--;
  return e > 0 ? e : 0;
}

iso_tensor *iso_matrix_exp(iso_context *ctx, const iso_tensor *a) {
  if (!iso__takes_matrix(ctx, "matrix_exp", a, true)) return NULL;
  enum { DEGREE = 18 }; /* 1/19! is below 2^−56, 2^19/19! below 2^−37 */
  const iso__view *v = &a->view;
  const int64_t n = v->shape[v->n_dims - 1];
  iso__enter(ctx);
  const int s = halvings(ctx, a);
  iso_tensor *x = iso_mul_scalar(ctx, a, ldexp(1, -s)), *one = iso_eye(ctx, v->dtype, n, n);
  iso_tensor *y = iso_add(ctx, iso_mul_scalar(ctx, x, iso__fenv_div(1, DEGREE)), one);
  for (int i = DEGREE - 1; i > 0 && y; i--)
    y = iso_add(ctx, iso_mul_scalar(ctx, iso_matmul(ctx, x, y), iso__fenv_div(1, i)), one);
  for (int i = 0; i < s && y; i++) y = iso_matmul(ctx, y, y);
  return iso__leave(ctx, y);
}

iso_tensor *iso_cross(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, int axis) {
  if (!iso__takes_floats(ctx, "cross", 2, ISO__TENSORS(a, b)) || !b) return NULL;
  const int n = a->view.n_dims > b->view.n_dims ? a->view.n_dims : b->view.n_dims,
            from_end = axis < 0 ? axis : axis - n;
  iso__enter(ctx);
  iso_tensor *x = iso_atleast(ctx, a, n), *y = iso_atleast(ctx, b, n);
  const int at = x ? iso__axis(ctx, "cross", x, from_end) : -1;
  if (at >= 0 && y && (x->view.shape[at] != 3 || y->view.shape[at] != 3))
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "cross", "axis %d has extents %lld and %lld: 3 is needed", axis,
              (long long)x->view.shape[at], (long long)y->view.shape[at]);
  if (iso__failed(ctx)) return iso__leave(ctx, NULL);
  /* c_i = a_(i+1)·b_(i+2) − a_(i+2)·b_(i+1) */
  iso_tensor *a1 = iso_roll(ctx, x, 1, ISO_DIMS(-1), &at), *a2 = iso_roll(ctx, x, 1, ISO_DIMS(-2), &at),
             *b1 = iso_roll(ctx, y, 1, ISO_DIMS(-1), &at), *b2 = iso_roll(ctx, y, 1, ISO_DIMS(-2), &at);
  iso_tensor *plus = iso_mul(ctx, a1, b2), *minus = iso_mul(ctx, a2, b1);
  return iso__leave(ctx, iso_sub(ctx, plus, minus));
}

iso_tensor *iso_vander(iso_context *ctx, const iso_tensor *x, int64_t columns) {
  if (!iso__takes_floats(ctx, "vander", 1, &x)) return NULL;
  if (columns < 0 || columns > INT32_MAX) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "vander", "%lld powers of a tensor with %d dimensions", (long long)columns,
              x->view.n_dims);
    return NULL;
  }
  iso_tensor **powers = iso__zalloc(ctx, sizeof *powers * (size_t)(columns + 1));
  if (!powers) return NULL;
  iso__enter(ctx);
  for (int64_t i = 0; i < columns; i++)
    powers[i] = i == 0 ? iso_full_like(ctx, x, 1) : i == 1 ? iso_tensor_alias(ctx, x) : iso_mul(ctx, powers[i - 1], x);
  iso_tensor *y = columns ? iso_stack(ctx, (int)columns, (const iso_tensor *const *)powers, -1)
                          : iso_slice(ctx, iso_unsqueeze(ctx, x, -1), -1, 0, 0, 1);
  y = iso__leave(ctx, iso__failed(ctx) ? NULL : y);
  iso__free(ctx, powers, sizeof *powers * (size_t)(columns + 1));
  return y;
}

iso_tensor *iso_cdist(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double p) {
  if (!iso__takes_floats(ctx, "cdist", 2, ISO__TENSORS(a, b)) || !b || !iso__takes_matrix(ctx, "cdist", a, false) ||
      !iso__takes_matrix(ctx, "cdist", b, false))
    return NULL;
  iso__enter(ctx);
  iso_tensor *rows = iso_unsqueeze(ctx, a, -2), *columns = iso_unsqueeze(ctx, b, -3), *d = iso_sub(ctx, rows, columns);
  return iso__leave(ctx, d ? iso_vector_norm(ctx, d, p, 1, (const int[]){-1}, false) : NULL);
}

/* A vector of weights in x's dtype, or ones. */
static iso_tensor *weights_of(iso_context *ctx, const iso_tensor *w, const iso_tensor *x) {
  const int64_t n = x->view.shape[1];
  if (!w) return iso_tensor_full(ctx, x->view.dtype, 1, &n, 1);
  if (w->view.n_dims == 1 && w->view.shape[0] == n) return iso_cast(ctx, w, x->view.dtype);
  char text[128];
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "cov", "weights are %s where (%lld) is needed",
            iso__shape_text(w->view.n_dims, w->view.shape, text, sizeof text), (long long)n);
  return NULL;
}

iso_tensor *iso_cov(iso_context *ctx, const iso_tensor *x, double correction, const iso_cov_options *options) {
  static const iso_cov_options none;
  const iso_cov_options *o = options ? options : &none;
  if (!iso__takes_floats(ctx, "cov", 1, &x)) return NULL;
  if (x->view.n_dims > 2) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "cov", "x has %d dimensions: at most 2 are possible", x->view.n_dims);
    return NULL;
  }
  iso__enter(ctx);
  iso_tensor *rows = iso_atleast(ctx, x, 2);
  iso_tensor *f = rows ? weights_of(ctx, o->counts, rows) : NULL, *a = f ? weights_of(ctx, o->weights, rows) : NULL;
  iso_tensor *w = iso_mul(ctx, f, a), *sum = w ? iso_sum_all(ctx, w) : NULL;
  iso_tensor *mean = sum ? iso_sum(ctx, iso_mul(ctx, rows, w), 1, (const int[]){1}, true) : NULL;
  iso_tensor *d = iso_sub(ctx, rows, iso_div(ctx, mean, sum));
  iso_tensor *less = o->weights ? iso_div(ctx, iso_sum_all(ctx, iso_mul(ctx, w, a)), sum)
                                : iso_tensor_full(ctx, x->view.dtype, 0, NULL, 1);
  iso_tensor *n = iso_sub(ctx, sum, iso_mul_scalar(ctx, less, correction)), *zero = iso_full_like(ctx, n, 0);
  iso_tensor *weighed = iso_mul(ctx, d, w), *products = iso_matmul(ctx, weighed, iso__turned(ctx, d));
  iso_tensor *y = iso_div(ctx, products, iso_maximum(ctx, n, zero));
  return iso__leave(ctx, y && y->view.shape[0] == 1 ? iso_reshape(ctx, y, 0, NULL) : y);
}

iso_tensor *iso_corrcoef(iso_context *ctx, const iso_tensor *x) {
  iso__enter(ctx);
  iso_tensor *c = iso_cov(ctx, x, 1, NULL);
  if (!c || c->view.n_dims == 0) return iso__leave(ctx, c ? iso_div(ctx, c, c) : NULL);
  iso_tensor *sd = iso_sqrt(ctx, iso_diagonal(ctx, c, 0, 0, 1));
  iso_tensor *by_rows = iso_div(ctx, c, iso_unsqueeze(ctx, sd, 1));
  iso_tensor *y = iso_div(ctx, by_rows, iso_unsqueeze(ctx, sd, 0));
  return iso__leave(ctx, iso_clamp(ctx, y, -1, 1));
}
