/* affine.c: β·c + α·product: addmm, baddbmm, addmv, addr and addbmm. Each step has its own rounding, those by 1 are
 * left out, and β = 0 does not read c, so that what is not a number there does not matter. */
#include "ops/ops.h"

static bool has_dims(iso_context *ctx, const char *op, const char *name, const iso_tensor *t, int n) {
  char text[128];
  if (t->view.n_dims == n) return true;
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "%s is %s: %d dimension%s expected", name,
            iso__shape_text(t->view.n_dims, t->view.shape, text, sizeof text), n, n == 1 ? " is" : "s are");
  return false;
}

/* c, a and b are there, of one dtype, a and b with as many dimensions. */
static bool check(iso_context *ctx, const char *op, const iso_tensor *const *cab, int dims_a, int dims_b) {
  return iso__takes(ctx, op, 3, cab) && iso__takes_dtypes(ctx, op, ISO__REAL_DTYPES, 3, cab) &&
         has_dims(ctx, op, "a", cab[1], dims_a) && has_dims(ctx, op, "b", cab[2], dims_b);
}

static bool expands_to(iso_context *ctx, const char *op, const iso__view *c, const iso__view *to) {
  bool fits = c->n_dims <= to->n_dims;
  for (int i = 0; fits && i < c->n_dims; i++) {
    const int64_t extent = c->shape[c->n_dims - 1 - i];
    fits = extent == 1 || extent == to->shape[to->n_dims - 1 - i];
  }
  char tc[128], tp[128];
  if (!fits)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "c is %s, which does not expand to the product's %s",
              iso__shape_text(c->n_dims, c->shape, tc, sizeof tc),
              iso__shape_text(to->n_dims, to->shape, tp, sizeof tp));
  return fits;
}

/* Takes over the product. */
static iso_tensor *affine(iso_context *ctx, const char *op, const iso_tensor *c, double beta, iso_tensor *product,
                          double alpha) {
  if (!product) return NULL;
  if (!expands_to(ctx, op, &c->view, &product->view)) return iso__drop(NULL, product);
  if (alpha != 1) product = iso__drop(iso_mul_scalar(ctx, product, alpha), product);
  if (beta == 0) return product;
  iso_tensor *scaled = beta == 1 ? NULL : iso_mul_scalar(ctx, c, beta);
  iso_tensor *y = iso_add(ctx, scaled ? scaled : c, product);
  iso_release(scaled);
  return iso__drop(y, product);
}

iso_tensor *iso_addmm(iso_context *ctx, const iso_tensor *c, const iso_tensor *a, const iso_tensor *b, double beta,
                      double alpha) {
  ISO__AUTOCAST(ctx, "addmm", iso_addmm(ctx, c, a, b, beta, alpha), &c, &a, &b);
  if (!check(ctx, "addmm", ISO__TENSORS(c, a, b), 2, 2)) return NULL;
  return affine(ctx, "addmm", c, beta, iso_matmul(ctx, a, b), alpha);
}

iso_tensor *iso_addmv(iso_context *ctx, const iso_tensor *c, const iso_tensor *a, const iso_tensor *b, double beta,
                      double alpha) {
  ISO__AUTOCAST(ctx, "addmv", iso_addmv(ctx, c, a, b, beta, alpha), &c, &a, &b);
  if (!check(ctx, "addmv", ISO__TENSORS(c, a, b), 2, 1)) return NULL;
  return affine(ctx, "addmv", c, beta, iso_matmul(ctx, a, b), alpha);
}

iso_tensor *iso_addr(iso_context *ctx, const iso_tensor *c, const iso_tensor *a, const iso_tensor *b, double beta,
                     double alpha) {
  ISO__AUTOCAST(ctx, "addr", iso_addr(ctx, c, a, b, beta, alpha), &c, &a, &b);
  if (!check(ctx, "addr", ISO__TENSORS(c, a, b), 1, 1)) return NULL;
  return affine(ctx, "addr", c, beta, iso_outer(ctx, a, b), alpha);
}

/* Stacks of one length: what matmul would stretch is a mistake here. */
static bool check_stacks(iso_context *ctx, const char *op, const iso_tensor *a, const iso_tensor *b) {
  if (a->view.shape[0] == b->view.shape[0]) return true;
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "a has %lld matrices and b %lld", (long long)a->view.shape[0],
            (long long)b->view.shape[0]);
  return false;
}

iso_tensor *iso_baddbmm(iso_context *ctx, const iso_tensor *c, const iso_tensor *a, const iso_tensor *b, double beta,
                        double alpha) {
  ISO__AUTOCAST(ctx, "baddbmm", iso_baddbmm(ctx, c, a, b, beta, alpha), &c, &a, &b);
  if (!check(ctx, "baddbmm", ISO__TENSORS(c, a, b), 3, 3) || !check_stacks(ctx, "baddbmm", a, b)) return NULL;
  return affine(ctx, "baddbmm", c, beta, iso_matmul(ctx, a, b), alpha);
}

/* Σ_i a_i·b_i is one product: the matrices of a beside each other times those of b under each other. */
iso_tensor *iso_addbmm(iso_context *ctx, const iso_tensor *c, const iso_tensor *a, const iso_tensor *b, double beta,
                       double alpha) {
  ISO__AUTOCAST(ctx, "addbmm", iso_addbmm(ctx, c, a, b, beta, alpha), &c, &a, &b);
  if (!check(ctx, "addbmm", ISO__TENSORS(c, a, b), 3, 3) || !check_stacks(ctx, "addbmm", a, b)) return NULL;
  const int64_t *sa = a->view.shape, *sb = b->view.shape;
  iso_tensor *rows = iso_permute(ctx, a, (const int[]){1, 0, 2});
  iso_tensor *wide = iso_reshape(ctx, rows, 2, (const int64_t[]){sa[1], sa[0] * sa[2]});
  iso_tensor *tall = iso_reshape(ctx, b, 2, (const int64_t[]){sb[0] * sb[1], sb[2]});
  iso_tensor *product = iso_matmul(ctx, wide, tall);
  iso_release(rows);
  iso_release(wide);
  iso_release(tall);
  return affine(ctx, "addbmm", c, beta, product, alpha);
}
