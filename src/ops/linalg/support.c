/* support.c: checks and shapes of matrices, and two small products. */
#include "ops/linalg/linalg.h"
#include "numeric/dtype.h"

bool iso__takes_matrix(iso_context *ctx, const char *op, const iso_tensor *a, bool square) {
  if (!iso__takes_floats(ctx, op, 1, &a)) return false;
  const iso__view *v = &a->view;
  const int n_dims = v->n_dims;
  if (n_dims >= 2 && (!square || v->shape[n_dims - 1] == v->shape[n_dims - 2])) return true;
  char text[128];
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "a is %s: %s are needed", iso__shape_text(n_dims, v->shape, text, sizeof text),
            square ? "square matrices" : "matrices");
  return false;
}

void iso__linalg_problem(iso_linalg_problem *p, iso__op op, const iso_tensor *a) {
  const iso__view *v = &a->view;
  memset(p, 0, sizeof *p);
  ISO__PROBLEM_INIT(*p, op, v->dtype);
  p->batch = 1;
  for (int d = 0; d < v->n_dims - 2; d++) p->batch *= v->shape[d];
  p->m = v->shape[v->n_dims - 2], p->n = v->shape[v->n_dims - 1];
}

int64_t iso__find_diagonal(const iso_tensor *t, bool (*is_bad)(double)) {
  const int64_t n = t->view.shape[t->view.n_dims - 1], n_rows = n ? iso__view_numel(&t->view) / n : 0;
  const size_t item = iso_dtype_size(t->view.dtype);
  for (int64_t i = 0; i < n_rows; i++) {
    double d;
    iso__cast_element((const char *)iso__data(t) + (size_t)(i * n + i % n) * item, t->view.dtype, &d, ISO_F64);
    if (is_bad(d)) return i;
  }
  return -1;
}

iso_tensor *iso__batch_of(iso_context *ctx, const iso_tensor *a, iso_dtype dtype, int64_t rows, int64_t columns) {
  int64_t shape[ISO_MAX_DIMS];
  const int lead = a->view.n_dims - 2;
  memcpy(shape, a->view.shape, sizeof shape);
  shape[lead] = rows;
  if (columns >= 0) shape[lead + 1] = columns;
  return iso_tensor_new(ctx, dtype, lead + (columns >= 0 ? 2 : 1), shape);
}

iso_tensor *iso__scale_columns(iso_context *ctx, const iso_tensor *a, const iso_tensor *d) {
  iso_tensor *row = iso_unsqueeze(ctx, d, -2);
  return row ? iso__drop(iso_mul(ctx, a, row), row) : NULL;
}

iso_tensor *iso__with_diagonal(iso_context *ctx, const iso_tensor *a, const iso_tensor *diagonal) {
  return iso_diagonal_scatter(ctx, a, diagonal, 0, -2, -1);
}
