/* linalg.c: gradient cases of ops/linalg; gradients.h explains them. */
#include "ops/gradients/gradients.h"

#define A in[0]
#define B in[1]
/* a·aᵀ + 2: symmetric, positive definite. */
static iso_tensor *definite(iso_context *ctx, const iso_tensor *a) {
  const int64_t n = iso_tensor_shape(a)[0];
  return iso_add(ctx, iso_matmul(ctx, a, iso_transpose(ctx, a, -1, -2)),
                 iso_mul_scalar(ctx, iso_eye(ctx, ISO_F64, n, n), 2));
}
/* Entries of its own, far from singular. */
static iso_tensor *regular(iso_context *ctx, const iso_tensor *a) {
  const int64_t n = iso_tensor_shape(a)[iso_tensor_n_dims(a) - 1];
  return iso_add(ctx, a, iso_mul_scalar(ctx, iso_eye(ctx, ISO_F64, n, n), 3));
}
static iso_tensor *f_cholesky(iso_context *ctx, iso_tensor *const *in) {
  return iso_cholesky(ctx, definite(ctx, A), false);
}
static iso_tensor *f_cholesky_upper(iso_context *ctx, iso_tensor *const *in) {
  return iso_cholesky(ctx, definite(ctx, A), true);
}
static iso_tensor *f_cholesky_solve(iso_context *ctx, iso_tensor *const *in) {
  return iso_cholesky_solve(ctx, B, iso_tril(ctx, regular(ctx, A), 0), false);
}
static iso_tensor *f_triangular(iso_context *ctx, iso_tensor *const *in) {
  return iso_triangular_solve(ctx, regular(ctx, A), B, NULL);
}
static iso_tensor *f_triangular_upper(iso_context *ctx, iso_tensor *const *in) {
  return iso_triangular_solve(ctx, regular(ctx, A), B, &(iso_triangular_options){.upper = true, .transposed = true});
}
static iso_tensor *f_triangular_right(iso_context *ctx, iso_tensor *const *in) {
  return iso_triangular_solve(ctx, A, B, &(iso_triangular_options){.unit = true, .right = true});
}
static iso_tensor *f_solve(iso_context *ctx, iso_tensor *const *in) { return iso_solve(ctx, regular(ctx, A), B); }
static iso_tensor *f_inv(iso_context *ctx, iso_tensor *const *in) { return iso_inv(ctx, regular(ctx, A)); }
static iso_tensor *f_det(iso_context *ctx, iso_tensor *const *in) { return iso_det(ctx, regular(ctx, A)); }
static iso_tensor *f_slogdet(iso_context *ctx, iso_tensor *const *in) {
  iso_tensor *log = NULL;
  iso_slogdet(ctx, regular(ctx, A), &log);
  return log;
}
static iso_tensor *both(iso_context *ctx, iso_tensor *a, iso_tensor *b) {
  return iso_cat(
      ctx, 2, (const iso_tensor *const[]){iso_reshape(ctx, a, 1, ISO_DIMS(-1)), iso_reshape(ctx, b, 1, ISO_DIMS(-1))},
      0);
}
static iso_tensor *f_qr(iso_context *ctx, iso_tensor *const *in) {
  iso_tensor *r = NULL, *q = iso_qr(ctx, A, false, &r);
  return q ? both(ctx, q, r) : NULL;
}
static iso_tensor *f_eigh(iso_context *ctx, iso_tensor *const *in) {
  iso_tensor *v = NULL, *values = iso_eigh(ctx, definite(ctx, A), true, &v);
  return values ? both(ctx, values, v) : NULL;
}
static iso_tensor *f_svd(iso_context *ctx, iso_tensor *const *in) {
  iso_tensor *s = NULL, *vt = NULL, *u = iso_svd(ctx, A, false, &s, &vt);
  return u ? both(ctx, both(ctx, u, s), vt) : NULL;
}
static iso_tensor *f_svd_full(iso_context *ctx, iso_tensor *const *in) { /* what completes the bases has none */
  iso_tensor *s = NULL, *vt = NULL, *u = iso_svd(ctx, A, true, &s, &vt);
  return u ? both(ctx, iso_slice(ctx, u, 1, 0, 2, 1), iso_slice(ctx, vt, 0, 0, 2, 1)) : NULL;
}
static iso_tensor *f_power(iso_context *ctx, iso_tensor *const *in) {
  return iso_matrix_power(ctx, regular(ctx, A), -3);
}
static iso_tensor *f_exp(iso_context *ctx, iso_tensor *const *in) { return iso_matrix_exp(ctx, A); }
static iso_tensor *f_cross(iso_context *ctx, iso_tensor *const *in) { return iso_cross(ctx, A, B, -1); }
static iso_tensor *f_corrcoef(iso_context *ctx, iso_tensor *const *in) { return iso_corrcoef(ctx, A); }
static iso_tensor *f_cdist(iso_context *ctx, iso_tensor *const *in) { return iso_cdist(ctx, A, B, 2); }
#undef A
#undef B

const gradient_case iso__gradients_linalg[] = {
    {"cholesky", f_cholesky, SIGNED, 1, {{3, 3, END}}},
    {"cholesky", f_cholesky_upper, SIGNED, 1, {{2, 2, END}}},
    {"triangular_solve", f_cholesky_solve, POSITIVE, 2, {{3, 3, END}, {3, 2, END}}},
    {"triangular_solve", f_triangular, SIGNED, 2, {{2, 3, 3, END}, {3, 2, END}}},
    {"triangular_solve", f_triangular_upper, SIGNED, 2, {{3, 3, END}, {3, 1, END}}},
    {"triangular_solve", f_triangular_right, SIGNED, 2, {{3, 3, END}, {2, 3, END}}},
    {"solve", f_solve, SIGNED, 2, {{3, 3, END}, {2, 3, 2, END}}},
    {"solve", f_inv, SIGNED, 1, {{2, 2, 2, END}}},
    {"solve", f_power, SIGNED, 1, {{2, 2, END}}},
    {"det", f_det, SIGNED, 1, {{2, 3, 3, END}}},
    {"slogdet", f_slogdet, SIGNED, 1, {{3, 3, END}}},
    {"qr", f_qr, SIGNED, 1, {{4, 2, END}}},
    {"qr", f_qr, SIGNED, 1, {{2, 3, END}}},
    {"eigh", f_eigh, SIGNED, 1, {{3, 3, END}}},
    {"svd", f_svd, SIGNED, 1, {{3, 2, END}}},
    {"svd", f_svd, SIGNED, 1, {{2, 3, END}}},
    {"svd", f_svd_full, SIGNED, 1, {{3, 2, END}}},
    {"svd", f_svd_full, SIGNED, 1, {{2, 3, END}}},
    {"matmul", f_exp, SIGNED, 1, {{2, 2, END}}},
    {"mul", f_cross, SIGNED, 2, {{2, 3, END}, {1, 3, END}}},
    {"div", f_corrcoef, SIGNED, 1, {{2, 4, END}}},
    {"sub", f_cdist, SIGNED, 2, {{2, 3, END}, {3, 3, END}}},
    {NULL}};
