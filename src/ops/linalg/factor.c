/* factor.c: Cholesky, QR and LU, with the gradients of the first two.
 *
 * Cholesky's gradient: Murray, "Differentiation of the Cholesky decomposition" (2016); QR's: Roberts and Roberts, "QR
 * and LQ decomposition matrix backpropagation algorithms" (2020). */
#include <math.h>
#include "ops/linalg/linalg.h"

static bool is_no_root(double d) { return !(d > 0); }

/* ---- Cholesky ---- */

static iso_tensor *lower(iso_context *ctx, const iso_tensor *a) {
  iso_linalg_problem p;
  iso__linalg_problem(&p, ISO__OP_CHOLESKY, a);
  iso_tensor *dense = iso__contiguous_copy(ctx, a), *l = iso__batch_of(ctx, a, a->view.dtype, p.n, p.n);
  const iso_linalg_args args = {.a = iso__data(dense ? dense : a), .x = iso__data(l)};
  const iso_status status = iso__failed(ctx) ? ISO_OUT_OF_MEMORY : iso__execute(ctx, &p.head, &args);
  iso_release(dense);
  const int64_t bad = status == ISO_OK && l ? iso__find_diagonal(l, is_no_root) : -1;
  if (bad >= 0)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "cholesky", "matrix %lld of the batch is not positive definite",
              (long long)(bad / p.n));
  return iso__finish(
      ctx, l, bad >= 0 ? ISO_INVALID_ARGUMENT : status, ISO__RULE_CHOLESKY,
      &(iso__finish_options){.inputs = ISO__TENSORS(a), .n_inputs = 1, .saved = ISO__TENSORS(l), .n_saved = 1});
}

iso_tensor *iso_cholesky(iso_context *ctx, const iso_tensor *a, bool upper) {
  if (!iso__takes_matrix(ctx, "cholesky", a, true)) return NULL;
  if (!upper) return lower(ctx, a);
  iso__enter(ctx);
  iso_tensor *turned = iso__turned(ctx, a);
  return iso__leave(ctx, iso__turned(ctx, turned ? lower(ctx, turned) : NULL));
}

/* S = L⁻ᵀ·Φ(Lᵀ·dL)·L⁻¹, Φ the lower triangle with half the diagonal; da = (S + Sᵀ)/2. */
void iso__cholesky_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const iso_tensor *l = iso__saved(g, 0);
  const iso_triangular_options by_transpose = {.transposed = true};
  iso_tensor *p = iso_matmul(ctx, iso__turned(ctx, l), g->dy[0]);
  iso_tensor *lower = iso_tril(ctx, p, 0), *strict = iso_tril(ctx, p, -1);
  iso_tensor *phi = iso_mul_scalar(ctx, iso_add(ctx, lower, strict), 0.5);
  iso_tensor *x = iso_triangular_solve(ctx, l, phi, &by_transpose);
  iso_tensor *s = iso_triangular_solve(ctx, l, iso__turned(ctx, x), &by_transpose);
  g->dx[0] = iso_mul_scalar(ctx, iso_add(ctx, s, iso__turned(ctx, s)), 0.5);
}

/* ---- QR ---- */

iso_tensor *iso_qr(iso_context *ctx, const iso_tensor *a, bool complete, iso_tensor **r) {
  if (r) *r = NULL;
  if (!iso__takes_matrix(ctx, "qr", a, false)) return NULL;
  iso_linalg_problem p;
  iso__linalg_problem(&p, ISO__OP_QR, a);
  p.k = complete ? p.m : iso__linalg_least(&p);
  iso_tensor *dense = iso__contiguous_copy(ctx, a);
  iso_tensor *q = iso__batch_of(ctx, a, a->view.dtype, p.m, p.k), *up = iso__batch_of(ctx, a, a->view.dtype, p.k, p.n);
  const iso_linalg_args args = {.a = iso__data(dense ? dense : a), .x = iso__data(q), .y = iso__data(up)};
  iso_status status = iso__failed(ctx) ? ISO_OUT_OF_MEMORY : iso__execute(ctx, &p.head, &args);
  iso_release(dense);
  q = iso__finish(ctx, q, status, ISO__RULE_QR,
                  &(iso__finish_options){.inputs = ISO__TENSORS(a),
                                         .n_inputs = 1,
                                         .saved = ISO__TENSORS(q, up, p.n > p.m ? a : NULL),
                                         .n_saved = 3,
                                         .second = up});
  if (q && r) *r = up;
  else if (q) iso_release(up);
  return q;
}

/* Square R: da = (dQ + Q·copyltu(R·dRᵀ − dQᵀ·Q))·R⁻ᵀ, copyltu the lower triangle and its mirror image. */
static iso_tensor *qr_tall(iso_context *ctx, const iso_tensor *q, const iso_tensor *r, const iso_tensor *dq,
                           const iso_tensor *dr) {
  iso_tensor *of_r = iso_matmul(ctx, r, iso__turned(ctx, dr)), *of_q = iso_matmul(ctx, iso__turned(ctx, dq), q);
  iso_tensor *m = iso_sub(ctx, of_r, of_q), *lower = iso_tril(ctx, m, 0), *strict = iso_tril(ctx, m, -1);
  iso_tensor *both = iso_add(ctx, lower, iso__turned(ctx, strict));
  iso_tensor *b = iso_add(ctx, dq, iso_matmul(ctx, q, both));
  return iso_triangular_solve(ctx, r, b, &(iso_triangular_options){.upper = true, .transposed = true, .right = true});
}

static iso_tensor *zeros_like(iso_context *ctx, const iso__view *v) {
  return iso_tensor_zeros(ctx, v->dtype, v->n_dims, v->shape);
}

/* Wide: a = (X Y), R = (U V): V = Qᵀ·Y, so dY = Q·dV and dQ takes Y·dVᵀ. */
void iso__qr_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const iso_tensor *q = iso__saved(g, 0), *r = iso__saved(g, 1);
  const iso__view *form = iso__input_view(g, 0);
  const int64_t m = form->shape[form->n_dims - 2], n = form->shape[form->n_dims - 1];
  const iso__view *qv = iso__output_view(g, 0), *rv = iso__output_view(g, 1);
  if (qv->shape[qv->n_dims - 1] > n) {
    ISO__FAIL(ctx, ISO_STATE, "qr", "a complete Q of more rows than columns has no gradient");
    return;
  }
  iso_tensor *dq = g->dy[0] ? g->dy[0] : zeros_like(ctx, qv), *dr = g->dy[1] ? g->dy[1] : zeros_like(ctx, rv);
  if (m >= n) {
    g->dx[0] = qr_tall(ctx, q, r, dq, dr);
    return;
  }
  iso_tensor *y = iso_slice(ctx, iso__saved(g, 2), -1, m, n, 1), *dv = iso_slice(ctx, dr, -1, m, n, 1);
  dq = iso_add(ctx, dq, iso_matmul(ctx, y, iso__turned(ctx, dv)));
  iso_tensor *u = iso_slice(ctx, r, -1, 0, m, 1), *du = iso_slice(ctx, dr, -1, 0, m, 1);
  iso_tensor *dx = qr_tall(ctx, q, u, dq, du);
  iso_tensor *dy = iso_matmul(ctx, q, dv);
  g->dx[0] = iso_cat(ctx, 2, ISO__TENSORS(dx, dy), -1);
}

/* ---- LU ---- */

iso_tensor *iso_lu_factor(iso_context *ctx, const iso_tensor *a, iso_tensor **pivots) {
  if (pivots) *pivots = NULL;
  if (!iso__takes_matrix(ctx, "lu_factor", a, false)) return NULL;
  iso_linalg_problem p;
  iso__linalg_problem(&p, ISO__OP_LU, a);
  iso_tensor *dense = iso__contiguous_copy(ctx, a), *x = iso__batch_of(ctx, a, a->view.dtype, p.m, p.n),
             *exchanged = iso__batch_of(ctx, a, ISO_I32, iso__linalg_least(&p), -1);
  const iso_linalg_args args = {.a = iso__data(dense ? dense : a), .x = iso__data(x), .pivots = iso__data(exchanged)};
  if (!iso__failed(ctx)) iso__execute(ctx, &p.head, &args);
  iso_release(dense);
  if (iso__failed(ctx)) {
    iso_release(exchanged);
    return iso__drop(NULL, x);
  }
  if (pivots) *pivots = exchanged;
  else iso_release(exchanged);
  return x;
}

/* The rows' exchanges as a permutation matrix P, a = P·L·U. */
static iso_tensor *permutation(iso_context *ctx, const iso_tensor *a, const iso_tensor *pivots) {
  const iso__view *v = &a->view;
  const int64_t m = v->shape[v->n_dims - 2], k = pivots->view.shape[pivots->view.n_dims - 1];
  iso_tensor *p = iso__batch_of(ctx, a, v->dtype, m, m);
  if (!p) return NULL;
  memset(iso__data(p), 0, (size_t)iso__view_numel(&p->view) * iso_dtype_size(v->dtype));
  int64_t *row = iso__zalloc(ctx, (size_t)(m + 1) * sizeof *row);
  const int64_t batch = m ? iso__view_numel(&p->view) / (m * m) : 0;
  for (int64_t i = 0; i < batch && row; i++) {
    const int32_t *exchange = (const int32_t *)iso__data(pivots) + i * k;
    for (int64_t r = 0; r < m; r++) row[r] = r;
    for (int64_t s = 0; s < k; s++) {
      const int64_t other = row[s];
      row[s] = row[exchange[s]], row[exchange[s]] = other;
    }
    for (int64_t s = 0; s < m; s++) {
      const int64_t at = (i * m + row[s]) * m + s;
      if (v->dtype == ISO_F64) ((double *)iso__data(p))[at] = 1;
      else ((float *)iso__data(p))[at] = 1;
    }
  }
  if (!row) return iso__drop(NULL, p);
  iso__free(ctx, row, (size_t)(m + 1) * sizeof *row);
  return p;
}

iso_tensor *iso_lu(iso_context *ctx, const iso_tensor *a, iso_tensor **l, iso_tensor **u) {
  iso_tensor *pivots;
  if (l) *l = NULL;
  if (u) *u = NULL;
  iso_no_grad_push(ctx);
  iso__enter(ctx);
  iso_tensor *x = iso_lu_factor(ctx, a, &pivots), *p = x ? permutation(ctx, a, pivots) : NULL;
  if (p) {
    const int64_t k = pivots->view.shape[pivots->view.n_dims - 1];
    iso_tensor *ones = iso_tensor_full(ctx, x->view.dtype, pivots->view.n_dims, pivots->view.shape, 1);
    iso_tensor *below = iso__with_diagonal(ctx, iso_tril(ctx, iso_slice(ctx, x, -1, 0, k, 1), -1), ones);
    iso_tensor *above = iso_triu(ctx, iso_slice(ctx, x, -2, 0, k, 1), 0);
    if (!below || !above) p = NULL;
    if (p && l) *l = iso_escape(below);
    if (p && u) *u = iso_escape(above);
  }
  p = iso__leave(ctx, p);
  iso_no_grad_pop(ctx);
  return p;
}
