/* rows.c: what sorts are made of: the sorted axis is brought to the end, a window of the order is computed there, and
 * brought back. */
#include "ops/sort/sort.h"

/* ---- rows ---- */

bool iso__rows_take(iso_context *ctx, const char *op, const iso_tensor *x, int axis, iso__rows *rows) {
  *rows = (iso__rows){.rows = 1};
  if (!iso__takes(ctx, op, 1, &x)) return false;
  rows->scalar = x->view.n_dims == 0;
  iso_tensor *t = rows->scalar ? iso_reshape(ctx, x, 1, (const int64_t[]){1}) : iso_tensor_alias(ctx, x);
  if (!t) return false;
  const int a = iso__axis(ctx, op, t, axis), last = t->view.n_dims - 1;
  if (a >= 0 && a != last) t = iso__drop(iso_transpose(ctx, t, a, last), t);
  iso_tensor *copy = a >= 0 && t ? iso__contiguous_copy(ctx, t) : NULL;
  if (copy) t = iso__drop(copy, t);
  if (iso__failed(ctx)) return iso_release(t), false;
  rows->x = t;
  rows->axis = a;
  rows->n = t->view.shape[last];
  for (int d = 0; d < last; d++) rows->rows *= t->view.shape[d];
  return true;
}

iso_tensor *iso__rows_return(iso_context *ctx, const iso__rows *rows, iso_tensor *t, bool without_axis) {
  if (!t) return NULL;
  const int last = t->view.n_dims - 1;
  if (rows->scalar)
    return iso__drop(t->view.shape[0] == 1 ? iso_reshape(ctx, t, 0, NULL) : iso_tensor_alias(ctx, t), t);
  if (rows->axis != last) {
    t = iso__drop(iso_transpose(ctx, t, rows->axis, last), t);
    if (t) t = iso__drop(iso_contiguous(ctx, t), t);
  }
  return t && without_axis ? iso__drop(iso_squeeze(ctx, t, rows->axis), t) : t;
}

/* ---- the kernel ---- */

/* Halves are sorted as f32, which keeps their order, and picked as they are. */
static iso_tensor *half_window(iso_context *ctx, const iso__rows *rows, int64_t begin, int64_t count, bool descending,
                               iso_tensor **index) {
  iso__rows wide = *rows;
  iso_no_grad_push(ctx);
  wide.x = iso_cast(ctx, rows->x, ISO_F32);
  iso_tensor *y = wide.x ? iso__sort_window(ctx, &wide, begin, count, descending, index) : NULL;
  iso_no_grad_pop(ctx);
  iso_release(wide.x);
  if (!y) return NULL;
  iso_release(y);
  return iso__pick(ctx, rows->x, *index);
}

iso_tensor *iso__sort_window(iso_context *ctx, const iso__rows *rows, int64_t begin, int64_t count, bool descending,
                             iso_tensor **index) {
  *index = NULL;
  if (iso__is_half(rows->x->view.dtype)) return half_window(ctx, rows, begin, count, descending, index);
  iso_sort_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_SORT, rows->x->view.dtype);
  p.rows = rows->rows, p.n = rows->n, p.begin = begin, p.count = count;
  p.descending = descending;
  iso_tensor *y = iso__rows_new(ctx, rows->x, rows->x->view.dtype, count);
  *index = iso__rows_new(ctx, rows->x, ISO_I64, count);
  const iso_sort_args args = {.x = iso__data(rows->x), .y = iso__data(y), .index = iso__data(*index)};
  const iso_status status = iso__failed(ctx) ? iso_error_code(ctx) : iso__execute(ctx, &p.head, &args);
  y = iso__finish(ctx, y, status, ISO__RULE_SORT_PICK,
                  &(iso__finish_options){
                      .inputs = ISO__TENSORS(rows->x), .n_inputs = 1, .saved = ISO__TENSORS(*index), .n_saved = 1});
  if (!y) iso_release(*index), *index = NULL;
  return y;
}

/* Values and index as results; the index is handed over, or ended where nobody wants it. */
iso_tensor *iso__rows_finish(iso_context *ctx, iso__rows *rows, iso_tensor *y, iso_tensor *index, bool without_axis,
                             iso_tensor **indices) {
  y = iso__rows_return(ctx, rows, y, without_axis);
  if (indices && y) *indices = iso__rows_return(ctx, rows, index, without_axis);
  else iso_release(index);
  iso_release(rows->x);
  return y && indices && !*indices ? iso__drop(NULL, y) : y;
}

iso_tensor *iso__rows_window(iso_context *ctx, iso__rows *rows, int64_t begin, int64_t count, bool descending,
                             bool without_axis, iso_tensor **indices) {
  iso_tensor *index, *y = iso__sort_window(ctx, rows, begin, count, descending, &index);
  return iso__rows_finish(ctx, rows, y, index, without_axis, indices);
}
