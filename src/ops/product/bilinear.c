/* bilinear.c: y_o = x1ᵀ·w_o·x2 + bias_o: first x1·w as one product over all outputs, then each row of it with x2. */
#include "ops/ops.h"

static bool check(iso_context *ctx, const iso_tensor *x1, const iso_tensor *x2, const iso_tensor *w,
                  const iso_tensor *bias) {
  static const char op[] = "bilinear";
  if (!iso__takes(ctx, op, 3, ISO__TENSORS(x1, x2, w)) ||
      !iso__takes_dtypes(ctx, op, ISO__REAL_DTYPES, 4, ISO__TENSORS(x1, x2, w, bias)))
    return false;
  const iso__view *a = &x1->view, *b = &x2->view, *v = &w->view;
  bool fits = a->n_dims >= 1 && a->n_dims == b->n_dims && v->n_dims == 3;
  for (int i = 0; fits && i < a->n_dims - 1; i++) fits = a->shape[i] == b->shape[i];
  fits = fits && a->shape[a->n_dims - 1] == v->shape[1] && b->shape[b->n_dims - 1] == v->shape[2];
  char ta[128], tb[128], tw[128];
  if (!fits)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "x1 is %s, x2 %s and w %s: (…,in1), (…,in2) and (out,in1,in2) are expected",
              iso__shape_text(a->n_dims, a->shape, ta, sizeof ta), iso__shape_text(b->n_dims, b->shape, tb, sizeof tb),
              iso__shape_text(v->n_dims, v->shape, tw, sizeof tw));
  else if (bias && (bias->view.n_dims != 1 || bias->view.shape[0] != v->shape[0]))
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "bias has %lld elements and w %lld outputs",
              (long long)iso__view_numel(&bias->view), (long long)v->shape[0]);
  return !iso__failed(ctx);
}

iso_tensor *iso_bilinear(iso_context *ctx, const iso_tensor *x1, const iso_tensor *x2, const iso_tensor *w,
                         const iso_tensor *bias) {
  ISO__AUTOCAST(ctx, "bilinear", iso_bilinear(ctx, x1, x2, w, bias), &x1, &x2, &w, &bias);
  if (!check(ctx, x1, x2, w, bias)) return NULL;
  const int64_t out = w->view.shape[0], in1 = w->view.shape[1], in2 = w->view.shape[2];
  const int n_dims = x1->view.n_dims;
  int64_t rows = 1, shape[ISO_MAX_DIMS];
  for (int i = 0; i < n_dims - 1; i++) rows *= shape[i] = x1->view.shape[i];
  shape[n_dims - 1] = out;
  iso_tensor *left = iso_reshape(ctx, x1, 2, (const int64_t[]){rows, in1});
  iso_tensor *right = iso_reshape(ctx, x2, 3, (const int64_t[]){rows, in2, 1});
  iso_tensor *by_input = iso_permute(ctx, w, (const int[]){1, 0, 2});
  iso_tensor *wide = iso_reshape(ctx, by_input, 2, (const int64_t[]){in1, out * in2});
  iso_tensor *product = iso_matmul(ctx, left, wide);
  iso_tensor *stack = iso_reshape(ctx, product, 3, (const int64_t[]){rows, out, in2});
  iso_tensor *sums = iso_matmul(ctx, stack, right);
  iso_tensor *y = iso_reshape(ctx, sums, n_dims, shape);
  if (bias) y = iso__drop(iso_add(ctx, y, bias), y);
  iso_tensor *const used[] = {left, right, by_input, wide, product, stack, sums};
  for (size_t i = 0; i < sizeof used / sizeof *used; i++) iso_release(used[i]);
  return y;
}
