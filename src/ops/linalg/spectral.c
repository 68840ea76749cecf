/* spectral.c: symmetric eigenvalues and singular values, by Jacobi rotations, with the gradients that
 * Townsend, "Differentiating the singular value decomposition" (2016), and Giles (2008) give: they divide by
 * differences of values, so equal values make them infinite. */
#include <math.h>
#include "ops/linalg/linalg.h"

/* 1/(v_j − v_i) off the diagonal, 0 on it: (…,n) → (…,n,n). */
static iso_tensor *inverse_gaps(iso_context *ctx, const iso_tensor *v) {
  iso_tensor *row = iso_unsqueeze(ctx, v, -2), *column = iso_unsqueeze(ctx, v, -1), *gaps = iso_sub(ctx, row, column);
  iso_tensor *ones = iso_full_like(ctx, v, 1), *zeros = iso_full_like(ctx, v, 0);
  iso_tensor *safe = iso__with_diagonal(ctx, gaps, ones);
  return iso__with_diagonal(ctx, iso_reciprocal(ctx, safe), zeros);
}

/* ---- eigenvalues ---- */

iso_tensor *iso_eigh(iso_context *ctx, const iso_tensor *a, bool upper, iso_tensor **vectors) {
  if (vectors) *vectors = NULL;
  if (!iso__takes_matrix(ctx, "eigh", a, true)) return NULL;
  iso_linalg_problem p;
  iso__linalg_problem(&p, ISO__OP_EIGH, a);
  iso_no_grad_push(ctx); /* the triangle that is read does not matter to the gradient */
  iso_tensor *turned = upper ? iso__turned(ctx, a) : NULL, *dense = iso__contiguous_copy(ctx, turned ? turned : a);
  iso_release(turned);
  iso_no_grad_pop(ctx);
  iso_tensor *values = iso__batch_of(ctx, a, a->view.dtype, p.n, -1),
             *v = iso__batch_of(ctx, a, a->view.dtype, p.n, p.n);
  const iso_linalg_args args = {.a = iso__data(dense ? dense : a), .x = iso__data(values), .y = iso__data(v)};
  const iso_status status = iso__failed(ctx) ? ISO_OUT_OF_MEMORY : iso__execute(ctx, &p.head, &args);
  iso_release(dense);
  values = iso__finish(
      ctx, values, status, ISO__RULE_EIGH,
      &(iso__finish_options){
          .inputs = ISO__TENSORS(a), .n_inputs = 1, .saved = ISO__TENSORS(values, v), .n_saved = 2, .second = v});
  if (values && vectors) *vectors = v;
  else if (values) iso_release(v);
  return values;
}
/* The symmetric part of V·(diag(dλ) + (Vᵀ·dV)/gaps)·Vᵀ. */
void iso__eigh_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const iso_tensor *values = iso__saved(g, 0), *v = iso__saved(g, 1);
  iso_tensor *turned = iso__turned(ctx, v), *inner = NULL;
  if (g->dy[1]) inner = iso_matmul(ctx, turned, g->dy[1]), inner = iso_mul(ctx, inner, inverse_gaps(ctx, values));
  if (g->dy[0]) inner = inner ? iso__with_diagonal(ctx, inner, g->dy[0]) : iso_diag_embed(ctx, g->dy[0], 0, -2, -1);
  iso_tensor *da = iso_matmul(ctx, v, iso_matmul(ctx, inner, turned));
  g->dx[0] = iso_mul_scalar(ctx, iso_add(ctx, da, iso__turned(ctx, da)), 0.5);
}

/* ---- singular values ---- */

/* min(m,n) columns of U and rows of Vᵀ; the caller's to release. */
static iso_tensor *thin_svd(iso_context *ctx, const iso_tensor *a, iso_tensor **s, iso_tensor **vt) {
  if (!iso__takes_matrix(ctx, "svd", a, false)) return NULL;
  iso_linalg_problem p;
  iso__linalg_problem(&p, ISO__OP_SVD, a);
  const iso_dtype dtype = a->view.dtype;
  const int64_t k = iso__linalg_least(&p);
  iso_tensor *dense = iso__contiguous_copy(ctx, a), *u = iso__batch_of(ctx, a, dtype, p.m, k),
             *values = iso__batch_of(ctx, a, dtype, k, -1), *rows = iso__batch_of(ctx, a, dtype, k, p.n);
  const iso_linalg_args args = {
      .a = iso__data(dense ? dense : a), .x = iso__data(u), .y = iso__data(values), .z = iso__data(rows)};
  const iso_status status = iso__failed(ctx) ? ISO_OUT_OF_MEMORY : iso__execute(ctx, &p.head, &args);
  iso_release(dense);
  u = iso__finish(ctx, u, status, ISO__RULE_SVD,
                  &(iso__finish_options){.inputs = ISO__TENSORS(a),
                                         .n_inputs = 1,
                                         .saved = ISO__TENSORS(u, values, rows),
                                         .n_saved = 3,
                                         .second = values,
                                         .third = rows});
  if (u) *s = values, *vt = rows;
  return u;
}
/* Orthonormal columns (axis −1) or rows (−2), and behind them others that make a whole base: the last ones of the
 * complete QR of the former. They are any such base, so no gradient goes through them. */
static iso_tensor *with_complement(iso_context *ctx, const iso_tensor *t, int axis) {
  const iso_tensor *columns = axis == -2 ? iso__turned(ctx, t) : t;
  iso_tensor *q = iso_qr(ctx, iso_detach(ctx, columns), true, NULL);
  if (!q) return NULL;
  const iso__view *v = &q->view;
  iso_tensor *rest = iso_slice(ctx, q, -1, t->view.shape[v->n_dims + axis], v->shape[v->n_dims - 1], 1);
  if (axis == -2) rest = iso__turned(ctx, rest);
  return iso_cat(ctx, 2, ISO__TENSORS(t, rest), axis);
}
iso_tensor *iso_svd(iso_context *ctx, const iso_tensor *a, bool full_matrices, iso_tensor **s, iso_tensor **vt) {
  if (s) *s = NULL;
  if (vt) *vt = NULL;
  iso__enter(ctx);
  iso_tensor *values = NULL, *rows = NULL, *u = thin_svd(ctx, a, &values, &rows);
  if (u && full_matrices) {
    const int64_t *extents = &a->view.shape[a->view.n_dims - 2];
    if (extents[0] > extents[1]) u = with_complement(ctx, u, -1);
    if (extents[1] > extents[0] && vt) rows = with_complement(ctx, rows, -2);
    if (!rows) u = NULL;
  }
  if (u && s) *s = iso_escape(values);
  if (u && vt) *vt = iso_escape(rows);
  return iso__leave(ctx, u);
}

/* x − xᵀ */
static iso_tensor *skew(iso_context *ctx, const iso_tensor *x) { return iso_sub(ctx, x, iso__turned(ctx, x)); }
/* x − p·pᵀ·x, p's columns being orthonormal. */
static iso_tensor *outside(iso_context *ctx, const iso_tensor *p, const iso_tensor *x) {
  return iso_sub(ctx, x, iso_matmul(ctx, p, iso_matmul(ctx, iso__turned(ctx, p), x)));
}

/* da = U·(skew(Uᵀ·dU)∘F·S + S·skew(Vᵀ·dV)∘F + diag(ds))·Vᵀ, F = 1/(s_j² − s_i²), and what of dU and dV lies outside the
 * spaces of U and V, divided by s. */
void iso__svd_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const iso_tensor *u = iso__saved(g, 0), *s = iso__saved(g, 1), *vt = iso__saved(g, 2);
  const iso_tensor *v = iso__turned(ctx, vt), *dv = g->dy[2] ? iso__turned(ctx, g->dy[2]) : NULL, *du = g->dy[0];
  iso_tensor *f = du || dv ? inverse_gaps(ctx, iso_square(ctx, s)) : NULL, *column = iso_unsqueeze(ctx, s, -1);
  iso_tensor *inner = g->dy[1] ? iso_diag_embed(ctx, g->dy[1], 0, -2, -1) : NULL;
  if (du) {
    iso_tensor *turn = iso_mul(ctx, skew(ctx, iso_matmul(ctx, iso__turned(ctx, u), du)), f);
    turn = iso__scale_columns(ctx, turn, s);
    inner = inner ? iso_add(ctx, inner, turn) : turn;
  }
  if (dv) {
    iso_tensor *turn = iso_mul(ctx, skew(ctx, iso_matmul(ctx, vt, dv)), f);
    turn = iso_mul(ctx, column, turn);
    inner = inner ? iso_add(ctx, inner, turn) : turn;
  }
  iso_tensor *da = iso_matmul(ctx, iso_matmul(ctx, u, inner), vt);
  const iso__view *form = iso__input_view(g, 0);
  const int64_t m = form->shape[form->n_dims - 2], n = form->shape[form->n_dims - 1];
  iso_tensor *inverse = iso_reciprocal(ctx, s);
  if (du && m > n) da = iso_add(ctx, da, iso_matmul(ctx, iso__scale_columns(ctx, outside(ctx, u, du), inverse), vt));
  if (dv && n > m) {
    iso_tensor *scaled = iso__scale_columns(ctx, u, inverse);
    da = iso_add(ctx, da, iso_matmul(ctx, scaled, iso__turned(ctx, outside(ctx, v, dv))));
  }
  g->dx[0] = da;
}

iso_tensor *iso_schatten_norm(iso_context *ctx, const iso_tensor *a, double p) {
  iso_tensor *s = NULL;
  iso__enter(ctx);
  iso_tensor *u = iso_svd(ctx, a, false, &s, NULL);
  return iso__leave(ctx, u ? iso_vector_norm(ctx, s, p, 1, (const int[]){-1}, false) : NULL);
}
