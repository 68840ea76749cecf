/* matmul.c: batched matrix products.
 *
 * The kernel takes row-major matrices of any row distance, transposed or not, at one distance between batch items, so
 * most views go in as they are. Broadcast batches that have no single distance, and matrices with neither unit stride,
 * are copied. A stack of matrices times one shared matrix is a single taller product: the same sums, so the same bits.
 */
#include "kernels/gemm/gemm.h"
#include "ops/ops.h"

/* One operand as the kernel wants it. */
typedef struct operand {
  const void *data;
  bool transposed;
  int64_t ld, batch_stride;
  iso_tensor *copy; /* to be released */
} operand;

static bool matrix_layout(const iso__view *v, operand *out) {
  const int r = v->n_dims - 2, c = v->n_dims - 1;
  const int64_t rows = v->shape[r], columns = v->shape[c];
  if ((v->strides[c] == 1 || columns <= 1) && (v->strides[r] >= columns || rows <= 1)) {
    out->transposed = false;
    out->ld = rows <= 1 ? columns : v->strides[r];
  } else if ((v->strides[r] == 1 || rows <= 1) && (v->strides[c] >= rows || columns <= 1)) {
    out->transposed = true;
    out->ld = columns <= 1 ? rows : v->strides[c];
  } else {
    return false;
  }
  if (out->ld < 1) out->ld = 1;
  return true;
}

/* One distance between consecutive items of the (expanded) batch dimensions; 0: the same matrix every time. */
static bool batch_layout(const iso__view *v, int64_t *stride) {
  int64_t distance = 0, expected = 0;
  bool any = false;
  for (int d = v->n_dims - 3; d >= 0; d--) {
    if (v->shape[d] == 1) continue;
    if (!any) distance = v->strides[d], any = true;
    else if (v->strides[d] != expected) return false;
    expected = v->strides[d] * v->shape[d];
  }
  *stride = distance;
  return distance >= 0;
}

static bool prepare(iso_context *ctx, const iso_tensor *t, int n_dims, const int64_t *shape, operand *out) {
  iso__view v;
  if (!iso__view_expand(ctx, &t->view, n_dims, shape, &v)) return false;
  if (!matrix_layout(&v, out) || !batch_layout(&v, &out->batch_stride)) {
    out->copy = iso_tensor_new(ctx, v.dtype, n_dims, shape);
    if (!out->copy) return false;
    iso__view_copy(ctx, &out->copy->view, &v);
    v = out->copy->view;
    matrix_layout(&v, out);
    batch_layout(&v, &out->batch_stride);
  }
  out->data = iso__view_data(&v);
  return true;
}

/* The product of two operands of at least two dimensions, whose shapes have been checked; y is (batch…,m,n). */
static iso_status multiply(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, iso_tensor *y) {
  const iso__view *v = &y->view;
  const int n_dims = v->n_dims;
  const int64_t m = v->shape[n_dims - 2], n = v->shape[n_dims - 1], k = a->view.shape[a->view.n_dims - 1];
  int64_t shape[ISO_MAX_DIMS];
  memcpy(shape, v->shape, sizeof shape);
  operand oa = {0}, ob = {0};
  shape[n_dims - 1] = k;
  bool ok = prepare(ctx, a, n_dims, shape, &oa);
  shape[n_dims - 2] = k, shape[n_dims - 1] = n;
  ok = ok && prepare(ctx, b, n_dims, shape, &ob);
  if (ok) {
    iso_gemm_problem p;
    ISO__PROBLEM_INIT(p, ISO__OP_GEMM, v->dtype);
    p.m = m, p.n = n, p.k = k, p.batch = 1;
    for (int d = 0; d < n_dims - 2; d++) p.batch *= v->shape[d];
    p.lda = oa.ld, p.ldb = ob.ld, p.ldc = n > 0 ? n : 1;
    p.trans_a = oa.transposed, p.trans_b = ob.transposed;
    if (p.batch > 1 && ob.batch_stride == 0 && !oa.transposed && oa.batch_stride == m * oa.ld) {
      p.m *= p.batch;
      p.batch = 1;
    }
    if (p.batch != 1) {
      p.batch_stride_a = oa.batch_stride, p.batch_stride_b = ob.batch_stride;
      p.batch_stride_c = m * n;
    }
    const iso_gemm_args args = {.a = oa.data, .b = ob.data, .c = iso__data(y)};
    if (ob.copy) iso__execute(ctx, &p.head, &args);
    else iso__execute_with(ctx, &p.head, &args, b);
  }
  iso_release(oa.copy);
  iso_release(ob.copy);
  return ctx->error.code;
}

/* Operands of at least two dimensions. */
static iso_tensor *product(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  const iso__view *va = &a->view, *vb = &b->view;
  if (va->shape[va->n_dims - 1] != vb->shape[vb->n_dims - 2]) {
    char ta[128], tb[128];
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "matmul", "a is %s but b is %s: inner extents %lld and %lld differ",
              iso__shape_text(va->n_dims, va->shape, ta, sizeof ta),
              iso__shape_text(vb->n_dims, vb->shape, tb, sizeof tb), (long long)va->shape[va->n_dims - 1],
              (long long)vb->shape[vb->n_dims - 2]);
    return NULL;
  }
  iso__view batch_a = *va, batch_b = *vb;
  batch_a.n_dims -= 2, batch_b.n_dims -= 2;
  int64_t shape[ISO_MAX_DIMS];
  int n_dims;
  if (!iso__broadcast(ctx, "matmul", &batch_a, &batch_b, &n_dims, shape)) return NULL;
  shape[n_dims] = va->shape[va->n_dims - 2], shape[n_dims + 1] = vb->shape[vb->n_dims - 1];
  iso_tensor *y = iso_tensor_new(ctx, va->dtype, n_dims + 2, shape);
  return iso__finish(
      ctx, y, y ? multiply(ctx, a, b, y) : ISO_OUT_OF_MEMORY, ISO__RULE_MATMUL,
      &(iso__finish_options){.inputs = ISO__TENSORS(a, b),
                             .n_inputs = 2,
                             .saved = ISO__TENSORS(iso__saves_for(b) ? a : NULL, iso__saves_for(a) ? b : NULL),
                             .n_saved = 2});
}

iso_tensor *iso_matmul(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  ISO__AUTOCAST(ctx, "matmul", iso_matmul(ctx, a, b), &a, &b);
  if (!iso__takes(ctx, "matmul", 2, ISO__TENSORS(a, b)) ||
      !iso__takes_dtypes(ctx, "matmul", ISO__REAL_DTYPES, 2, ISO__TENSORS(a, b)))
    return NULL;
  if (!iso__is_on_cpu(ctx)) ISO__HALVES(ctx, iso_matmul(ctx, a, b), &a, &b); /* the kernels of f32 are the fast ones */
  if (a->view.n_dims == 0 || b->view.n_dims == 0) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "matmul", "operand %d has no dimensions", a->view.n_dims == 0 ? 1 : 2);
    return NULL;
  }
  iso_tensor *row = a->view.n_dims == 1 ? iso_unsqueeze(ctx, a, 0) : NULL;
  iso_tensor *column = b->view.n_dims == 1 ? iso_unsqueeze(ctx, b, 1) : NULL;
  iso_tensor *y = iso__failed(ctx) ? NULL : product(ctx, row ? row : a, column ? column : b);
  if (column) y = iso__drop(iso_squeeze(ctx, y, -1), y);
  if (row) y = iso__drop(iso_squeeze(ctx, y, column ? -1 : -2), y);
  iso_release(row);
  iso_release(column);
  return y;
}

/* da = dy·bᵀ, db = aᵀ·dy, each summed over the batch dimensions it was repeated along. */
void iso__matmul_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  if (iso__needs(g, 0)) {
    iso_tensor *bt = iso_transpose(ctx, iso__saved(g, 1), -1, -2);
    g->dx[0] = iso__sum_to(ctx, iso_matmul(ctx, g->dy[0], bt), iso__input_view(g, 0));
  }
  if (iso__needs(g, 1)) {
    iso_tensor *at = iso_transpose(ctx, iso__saved(g, 0), -1, -2);
    g->dx[1] = iso__sum_to(ctx, iso_matmul(ctx, at, g->dy[0]), iso__input_view(g, 1));
  }
}
