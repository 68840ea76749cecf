/* scan.c: what cumulative operators do with their axis, and the launch. */
#include "ops/reduce/scan.h"

bool iso__scan_takes(iso_context *ctx, const char *op, uint32_t dtypes, const iso_tensor *x, iso__scan_axis *a) {
  if (!iso__takes_dtypes(ctx, op, dtypes, 1, ISO__TENSORS(x))) return false;
  if (x->view.n_dims == 0 && (a->axis == 0 || a->axis == -1)) {
    a->axis = 0;
    return true;
  }
  return (a->axis = iso__axis(ctx, op, x, a->axis)) >= 0;
}

iso_tensor *iso__scan(iso_context *ctx, iso__scan_fn fn, const iso_tensor *x, const iso__scan_axis *a,
                      iso_tensor **index) {
  const iso__view *v = &x->view;
  iso_scan_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_SCAN, v->dtype);
  p.fn = (uint8_t)fn;
  p.reverse = a->reverse;
  p.outer = p.inner = 1;
  p.n = v->n_dims ? v->shape[a->axis] : 1;
  for (int d = 0; d < a->axis; d++) p.outer *= v->shape[d];
  for (int d = a->axis + 1; d < v->n_dims; d++) p.inner *= v->shape[d];
  iso_tensor *copy = iso__contiguous_copy(ctx, x), *at = NULL;
  iso_tensor *y = iso_tensor_new(ctx, iso__scan_result(fn, v->dtype), v->n_dims, v->shape);
  if (index) at = iso_tensor_new(ctx, ISO_I64, v->n_dims, v->shape);
  const iso_scan_args args = {.x = iso__data(copy ? copy : x), .y = iso__data(y), .index = iso__data(at)};
  if (iso__execute(ctx, &p.head, &args) != ISO_OK) /* does nothing after an error */
    iso_release(y), iso_release(at), y = at = NULL;
  if (index) *index = at;
  return iso__drop(y, copy);
}
