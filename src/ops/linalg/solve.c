/* solve.c: systems, inverses and determinants, by substitution and by LU. */
#include "ops/linalg/linalg.h"

/* Both with the same batch axes, contiguous; false with an error kept. Handles are the scope's. */
static bool meet(iso_context *ctx, const char *op, const iso_tensor *a, const iso_tensor *b, iso_tensor **a_out,
                 iso_tensor **b_out) {
  const int64_t n = a->view.shape[a->view.n_dims - 1], rows = b->view.shape[b->view.n_dims - 2];
  if (n != rows) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "a has %lld columns but b has %lld rows", (long long)n, (long long)rows);
    return false;
  }
  iso__view va = a->view, vb = b->view;
  va.n_dims -= 2, vb.n_dims -= 2;
  int n_dims;
  int64_t shape[ISO_MAX_DIMS];
  if (!iso__broadcast(ctx, op, &va, &vb, &n_dims, shape)) return false;
  shape[n_dims] = shape[n_dims + 1] = n;
  *a_out = iso_contiguous(ctx, iso_expand(ctx, a, n_dims + 2, shape));
  shape[n_dims + 1] = b->view.shape[b->view.n_dims - 1];
  *b_out = iso_contiguous(ctx, iso_expand(ctx, b, n_dims + 2, shape));
  return *a_out && *b_out;
}

/* ---- triangular ---- */

static iso_tensor *substitute(iso_context *ctx, const iso_tensor *a, const iso_tensor *b,
                              const iso_triangular_options *o) {
  if (!a || !b) return NULL;
  iso_linalg_problem p;
  iso__linalg_problem(&p, ISO__OP_TRIANGULAR_SOLVE, a);
  p.k = b->view.shape[b->view.n_dims - 1];
  p.upper = o->upper, p.transposed = o->transposed, p.unit = o->unit;
  iso_tensor *x = iso_tensor_new(ctx, b->view.dtype, b->view.n_dims, b->view.shape);
  const iso_linalg_args args = {.a = iso__data(a), .b = iso__data(b), .x = iso__data(x)};
  const iso_status status = x ? iso__execute(ctx, &p.head, &args) : ISO_OUT_OF_MEMORY;
  return iso__finish(ctx, x, status, ISO__RULE_TRIANGULAR_SOLVE,
                     &(iso__finish_options){.inputs = ISO__TENSORS(a, b),
                                            .n_inputs = 2,
                                            .saved = ISO__TENSORS(a, x),
                                            .n_saved = 2,
                                            .attrs = o,
                                            .attr_bytes = sizeof *o});
}
/* db = a⁻ᵀ·dx; da = −db·xᵀ (or its transpose), of a's triangle. */
void iso__triangular_solve_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const iso_triangular_options *o = iso__attrs(g);
  iso_triangular_options other = *o;
  other.transposed = !o->transposed;
  iso_tensor *db = substitute(ctx, iso__saved(g, 0), iso_contiguous(ctx, g->dy[0]), &other);
  if (iso__needs(g, 0)) {
    const iso_tensor *x = iso__saved(g, 1);
    iso_tensor *da = iso_neg(ctx, o->transposed ? iso_matmul(ctx, x, iso__turned(ctx, db))
                                                : iso_matmul(ctx, db, iso__turned(ctx, x)));
    g->dx[0] = o->upper ? iso_triu(ctx, da, o->unit) : iso_tril(ctx, da, -(int64_t)o->unit);
  }
  if (iso__needs(g, 1)) g->dx[1] = db;
}

iso_tensor *iso_triangular_solve(iso_context *ctx, const iso_tensor *a, const iso_tensor *b,
                                 const iso_triangular_options *options) {
  static const iso_triangular_options none;
  if (!options) options = &none;
  if (!iso__takes_floats(ctx, "triangular_solve", 2, ISO__TENSORS(a, b)) || !b ||
      !iso__takes_matrix(ctx, "triangular_solve", a, true) || !iso__takes_matrix(ctx, "triangular_solve", b, false))
    return NULL;
  iso_triangular_options o;
  memset(&o, 0, sizeof o);
  o.upper = options->upper, o.unit = options->unit, o.transposed = options->transposed != options->right;
  iso__enter(ctx);
  iso_tensor *full_a, *full_b, *x = NULL;
  const iso_tensor *rows = options->right ? iso__turned(ctx, b) : b;
  if (rows && meet(ctx, "triangular_solve", a, rows, &full_a, &full_b)) x = substitute(ctx, full_a, full_b, &o);
  if (x && options->right) x = iso__turned(ctx, x);
  return iso__leave(ctx, x);
}

/* ---- by LU ---- */

/* Rows of b (contiguous) exchanged as `pivots` say. */
static iso_tensor *exchange_rows(iso_context *ctx, const iso_tensor *b, const iso_tensor *pivots) {
  iso_tensor *y = iso_clone(ctx, b);
  const int64_t n = b->view.shape[b->view.n_dims - 2], k = b->view.shape[b->view.n_dims - 1];
  const size_t row_bytes = (size_t)k * iso_dtype_size(b->view.dtype);
  char *other = iso__zalloc(ctx, row_bytes + 1);
  const int64_t batch = n > 0 && k > 0 ? iso__view_numel(&b->view) / (n * k) : 0;
  for (int64_t i = 0; i < batch && y && other; i++) {
    const int32_t *exchange = (const int32_t *)iso__data(pivots) + i * n;
    char *rows = (char *)iso__data(y) + (size_t)(i * n) * row_bytes;
    for (int64_t r = 0; r < n; r++) {
      if (exchange[r] == r) continue;
      char *one = rows + (size_t)r * row_bytes, *two = rows + (size_t)exchange[r] * row_bytes;
      memcpy(other, one, row_bytes), memcpy(one, two, row_bytes), memcpy(two, other, row_bytes);
    }
  }
  if (!other) return iso__drop(NULL, y);
  iso__free(ctx, other, row_bytes + 1);
  return y;
}

static bool is_zero(double d) { return d == 0; }
static bool is_regular(iso_context *ctx, const char *op, const iso_tensor *lu) {
  const int64_t n = lu->view.shape[lu->view.n_dims - 1], bad = iso__find_diagonal(lu, is_zero);
  if (bad >= 0)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "matrix %lld of the batch is singular: pivot %lld is 0",
              (long long)(bad / n), (long long)(bad % n));
  return bad < 0;
}

static iso_tensor *by_lu(iso_context *ctx, const iso_tensor *lu, const iso_tensor *pivots, const iso_tensor *b) {
  iso_tensor *y = exchange_rows(ctx, b, pivots);
  if (y) y = substitute(ctx, lu, y, &(iso_triangular_options){.unit = true});
  return y ? substitute(ctx, lu, y, &(iso_triangular_options){.upper = true}) : NULL;
}

iso_tensor *iso_solve(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  if (!iso__takes_floats(ctx, "solve", 2, ISO__TENSORS(a, b)) || !b || !iso__takes_matrix(ctx, "solve", a, true) ||
      !iso__takes_matrix(ctx, "solve", b, false))
    return NULL;
  iso__enter(ctx);
  iso_tensor *full_a, *full_b, *pivots, *x = NULL;
  if (meet(ctx, "solve", a, b, &full_a, &full_b)) {
    iso_no_grad_push(ctx);
    iso_tensor *lu = iso_lu_factor(ctx, full_a, &pivots);
    if (lu && is_regular(ctx, "solve", lu)) x = by_lu(ctx, lu, pivots, full_b);
    iso_no_grad_pop(ctx);
    x = iso__finish(
        ctx, x, ctx->error.code, ISO__RULE_SOLVE,
        &(iso__finish_options){
            .inputs = ISO__TENSORS(full_a, full_b), .n_inputs = 2, .saved = ISO__TENSORS(full_a, x), .n_saved = 2});
  }
  return iso__leave(ctx, x);
}
/* db = a⁻ᵀ·dx, da = −db·xᵀ. */
void iso__solve_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_tensor *db = iso_solve(ctx, iso__turned(ctx, iso__saved(g, 0)), g->dy[0]);
  if (iso__needs(g, 0)) g->dx[0] = iso_neg(ctx, iso_matmul(ctx, db, iso__turned(ctx, iso__saved(g, 1))));
  if (iso__needs(g, 1)) g->dx[1] = db;
}

iso_tensor *iso_lu_solve(iso_context *ctx, const iso_tensor *lu, const iso_tensor *pivots, const iso_tensor *b) {
  if (!iso__takes_floats(ctx, "lu_solve", 2, ISO__TENSORS(lu, b)) || !b || !iso__takes(ctx, "lu_solve", 1, &pivots) ||
      !iso__takes_matrix(ctx, "lu_solve", lu, true) || !iso__takes_matrix(ctx, "lu_solve", b, false))
    return NULL;
  const int64_t n = lu->view.shape[lu->view.n_dims - 1];
  iso__enter(ctx);
  iso_tensor *full_lu, *full_b, *x = NULL;
  iso_tensor *places = iso_contiguous(ctx, iso_cast(ctx, pivots, ISO_I32));
  bool fits = places && meet(ctx, "lu_solve", lu, b, &full_lu, &full_b);
  if (fits) {
    int64_t shape[ISO_MAX_DIMS];
    memcpy(shape, full_lu->view.shape, sizeof shape);
    places = iso_contiguous(ctx, iso_expand(ctx, places, full_lu->view.n_dims - 1, shape));
    for (int64_t i = 0; places && i < iso__view_numel(&places->view) && fits; i++) {
      const int32_t at = ((const int32_t *)iso__data(places))[i];
      fits = at >= 0 && at < n;
      if (!fits)
        ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "lu_solve", "pivots[%lld] is %d; there are %lld rows", (long long)i, at,
                  (long long)n);
    }
    iso_tensor *own = fits && places ? iso_detach(ctx, full_lu) : NULL;
    if (own) x = exchange_rows(ctx, full_b, places);
    if (x && !iso_wants_grad(full_b)) x = by_lu(ctx, own, places, full_b);
    else if (x) ISO__FAIL(ctx, ISO_STATE, "lu_solve", "b wants a gradient, which only iso_solve gives");
  }
  return iso__leave(ctx, iso__failed(ctx) ? NULL : x);
}

iso_tensor *iso_cholesky_solve(iso_context *ctx, const iso_tensor *b, const iso_tensor *l, bool upper) {
  const iso_triangular_options first = {.upper = upper, .transposed = upper},
                               second = {.upper = upper, .transposed = !upper};
  iso__enter(ctx);
  iso_tensor *y = iso_triangular_solve(ctx, l, b, &first);
  return iso__leave(ctx, iso_triangular_solve(ctx, l, y, &second));
}

/* Identity matrices for a's batch. */
static iso_tensor *ones_for(iso_context *ctx, const iso_tensor *a) {
  const int64_t n = a->view.shape[a->view.n_dims - 1];
  return iso_expand(ctx, iso_eye(ctx, a->view.dtype, n, n), a->view.n_dims, a->view.shape);
}
iso_tensor *iso_inv(iso_context *ctx, const iso_tensor *a) {
  if (!iso__takes_matrix(ctx, "inv", a, true)) return NULL;
  iso__enter(ctx);
  return iso__leave(ctx, iso_solve(ctx, a, ones_for(ctx, a)));
}
iso_tensor *iso_cholesky_inverse(iso_context *ctx, const iso_tensor *l, bool upper) {
  if (!iso__takes_matrix(ctx, "cholesky_inverse", l, true)) return NULL;
  iso__enter(ctx);
  return iso__leave(ctx, iso_cholesky_solve(ctx, ones_for(ctx, l), l, upper));
}

/* ---- determinants ---- */

/* +1 or −1 a matrix: whether its rows were exchanged an even number of times. */
static iso_tensor *exchange_sign(iso_context *ctx, const iso_tensor *a, const iso_tensor *pivots) {
  const int n_dims = a->view.n_dims - 2;
  const int64_t n = a->view.shape[n_dims];
  iso_tensor *sign = iso_tensor_new(ctx, a->view.dtype, n_dims, a->view.shape);
  for (int64_t i = 0; sign && i < iso__view_numel(&sign->view); i++) {
    bool odd = false;
    for (int64_t k = 0; k < n; k++) odd ^= ((const int32_t *)iso__data(pivots))[i * n + k] != k;
    if (a->view.dtype == ISO_F64) ((double *)iso__data(sign))[i] = odd ? -1 : 1;
    else ((float *)iso__data(sign))[i] = odd ? -1 : 1;
  }
  return sign;
}

/* U's diagonal and the exchanges' sign; false with an error kept. */
static bool diagonal_of_lu(iso_context *ctx, const iso_tensor *a, iso_tensor **diagonal, iso_tensor **sign) {
  iso_tensor *pivots, *lu = iso_lu_factor(ctx, a, &pivots);
  *diagonal = iso_contiguous(ctx, iso_diagonal(ctx, lu, 0, -2, -1));
  *sign = lu ? exchange_sign(ctx, a, pivots) : NULL;
  return *diagonal && *sign;
}

iso_tensor *iso_det(iso_context *ctx, const iso_tensor *a) {
  if (!iso__takes_matrix(ctx, "det", a, true)) return NULL;
  iso_tensor *d, *sign, *y = NULL;
  iso__enter(ctx);
  iso_no_grad_push(ctx);
  if (diagonal_of_lu(ctx, a, &d, &sign)) y = iso_mul(ctx, iso_prod(ctx, d, 1, (const int[]){-1}, false), sign);
  iso_no_grad_pop(ctx);
  y = iso__finish(
      ctx, y, ctx->error.code, ISO__RULE_DET,
      &(iso__finish_options){.inputs = ISO__TENSORS(a), .n_inputs = 1, .saved = ISO__TENSORS(a, y), .n_saved = 2});
  return iso__leave(ctx, y);
}
/* A scalar a matrix times a⁻ᵀ. */
static iso_tensor *times_inverse(iso_context *ctx, const iso_tensor *scale, const iso_tensor *a) {
  iso_tensor *wide = iso_unsqueeze(ctx, iso_unsqueeze(ctx, scale, -1), -1);
  return iso_mul(ctx, wide, iso__turned(ctx, iso_inv(ctx, a)));
}
void iso__det_gradient(iso__gradient *g) {
  g->dx[0] = times_inverse(g->ctx, iso_mul(g->ctx, g->dy[0], iso__saved(g, 1)), iso__saved(g, 0));
}

iso_tensor *iso_slogdet(iso_context *ctx, const iso_tensor *a, iso_tensor **log_abs) {
  if (log_abs) *log_abs = NULL;
  if (!iso__takes_matrix(ctx, "slogdet", a, true)) return NULL;
  iso_tensor *d, *sign, *log = NULL, *whole = NULL;
  iso__enter(ctx);
  iso_no_grad_push(ctx);
  if (diagonal_of_lu(ctx, a, &d, &sign)) {
    whole = iso_mul(ctx, iso_prod(ctx, iso_sign(ctx, d), 1, (const int[]){-1}, false), sign);
    log = iso_sum(ctx, iso_log(ctx, iso_abs(ctx, d)), 1, (const int[]){-1}, false);
  }
  iso_no_grad_pop(ctx);
  log = iso__finish(
      ctx, log, ctx->error.code, ISO__RULE_SLOGDET,
      &(iso__finish_options){.inputs = ISO__TENSORS(a), .n_inputs = 1, .saved = ISO__TENSORS(a), .n_saved = 1});
  if (log && log_abs) *log_abs = iso_escape(log);
  return iso__leave(ctx, iso__failed(ctx) ? NULL : whole);
}
void iso__slogdet_gradient(iso__gradient *g) { g->dx[0] = times_inverse(g->ctx, g->dy[0], iso__saved(g, 0)); }

iso_tensor *iso_logdet(iso_context *ctx, const iso_tensor *a) {
  iso_tensor *log = NULL;
  iso__enter(ctx);
  iso_tensor *sign = iso_slogdet(ctx, a, &log);
  iso_tensor *none = sign ? iso__scalar(ctx, sign->view.dtype, 0) : NULL;
  iso_tensor *is_negative = iso_lt(ctx, sign, none), *nan = iso_div(ctx, none, none);
  return iso__leave(ctx, iso_where(ctx, is_negative, nan, log));
}
