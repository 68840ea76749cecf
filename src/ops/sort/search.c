/* search.c: where values belong in a sorted row, and whether they are there. */
#include "base/pool.h"
#include "kernels/sort/keys.h"
#include "ops/index/index.h"
#include "ops/sort/sort.h"

/* ---- searchsorted ---- */

static bool check_shapes(iso_context *ctx, const char *op, const iso_tensor *sorted, const iso_tensor *values,
                         const iso_tensor *sorter) {
  const iso__view *s = &sorted->view, *v = &values->view;
  char a[128], b[128];
  iso__shape_text(s->n_dims, s->shape, a, sizeof a);
  bool fits = s->n_dims == 1 || s->n_dims == v->n_dims;
  for (int d = 0; d < s->n_dims - 1 && fits; d++) fits = s->shape[d] == v->shape[d];
  if (s->n_dims < 1 || !fits)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "sorted is %s but values %s: they may differ in the last axis only", a,
              iso__shape_text(v->n_dims, v->shape, b, sizeof b));
  else if (s->dtype != v->dtype)
    ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, op, "sorted is %s but values are %s", iso_dtype_name(s->dtype),
              iso_dtype_name(v->dtype));
  else if (sorter && sorter->view.dtype != ISO_I64)
    ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, op, "sorter is %s: i64 is needed", iso_dtype_name(sorter->view.dtype));
  else if (sorter && !iso__same_shape(&sorter->view, s))
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "sorted is %s but sorter %s", a,
              iso__shape_text(sorter->view.n_dims, sorter->view.shape, b, sizeof b));
  return !iso__failed(ctx);
}

/* t for the kernel: contiguous, halves as f32. A handle of its own. */
static iso_tensor *plain(iso_context *ctx, const iso_tensor *t) {
  iso_tensor *wide = iso__is_half(t->view.dtype) ? iso_cast(ctx, t, ISO_F32) : iso_tensor_alias(ctx, t);
  return wide ? iso__drop(iso_contiguous(ctx, wide), wide) : NULL;
}

static iso_tensor *search(iso_context *ctx, const char *op, const iso_tensor *sorted, const iso_tensor *values,
                          bool right, const iso_tensor *sorter) {
  if (!iso__takes(ctx, op, 2, ISO__TENSORS(sorted, values)) || (sorter && !iso__takes(ctx, op, 1, &sorter)) ||
      !check_shapes(ctx, op, sorted, values, sorter))
    return NULL;
  iso_no_grad_push(ctx);
  const int64_t n = sorted->view.shape[sorted->view.n_dims - 1];
  iso_tensor *s = plain(ctx, sorted), *v = plain(ctx, values);
  iso_tensor *o = sorter ? iso__index_read(ctx, op, "sorter", sorter, n, false) : NULL;
  iso_no_grad_pop(ctx);
  iso_tensor *index = iso_tensor_new(ctx, ISO_I64, values->view.n_dims, values->view.shape);
  if (!iso__failed(ctx)) {
    iso_search_problem p;
    ISO__PROBLEM_INIT(p, ISO__OP_SEARCH_SORTED, s->view.dtype);
    p.shared = sorted->view.n_dims == 1;
    p.right = right, p.has_sorter = sorter != NULL;
    p.n = n;
    p.m = p.shared ? iso__view_numel(&values->view) : values->view.shape[values->view.n_dims - 1];
    p.rows = 1;
    for (int d = 0; d < sorted->view.n_dims - 1; d++) p.rows *= sorted->view.shape[d];
    iso__execute(
        ctx, &p.head,
        &(iso_search_args){
            .sorted = iso__data(s), .values = iso__data(v), .sorter = iso__data(o), .index = iso__data(index)});
  }
  iso_release(s), iso_release(v), iso_release(o);
  return iso__failed(ctx) ? iso__drop(NULL, index) : index;
}

iso_tensor *iso_searchsorted(iso_context *ctx, const iso_tensor *sorted, const iso_tensor *values, bool right,
                             const iso_tensor *sorter) {
  return search(ctx, "searchsorted", sorted, values, right, sorter);
}

iso_tensor *iso_bucketize(iso_context *ctx, const iso_tensor *x, const iso_tensor *boundaries, bool right) {
  if (!iso__takes(ctx, "bucketize", 2, ISO__TENSORS(x, boundaries))) return NULL;
  if (boundaries->view.n_dims != 1) {
    char text[128];
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "bucketize", "boundaries are %s: (n) is needed",
              iso__shape_text(boundaries->view.n_dims, boundaries->view.shape, text, sizeof text));
    return NULL;
  }
  return search(ctx, "bucketize", boundaries, x, right, NULL);
}

/* ---- isin ---- */

typedef struct membership {
  const void *x, *sorted;
  const int64_t *at;
  unsigned char *out;
  int64_t n_sorted;
  iso_dtype dtype;
  bool invert;
} membership;

static void look_up(void *arg, int64_t begin, int64_t end, int thread) {
  const membership *m = arg;
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    const bool is_nan = iso__first_nan((const char *)m->x + (size_t)i * iso_dtype_size(m->dtype), m->dtype, 1) == 0;
    const bool held = !is_nan && m->at[i] < m->n_sorted &&
                      iso__key_at(m->sorted, m->dtype, m->at[i]) == iso__key_at(m->x, m->dtype, i);
    m->out[i] = held != m->invert;
  }
}

iso_tensor *iso_isin(iso_context *ctx, const iso_tensor *elements, const iso_tensor *among, bool invert) {
  if (!iso__takes(ctx, "isin", 2, ISO__TENSORS(elements, among))) return NULL;
  if (elements->view.dtype != among->view.dtype) { /* halves of two kinds too, though both are compared as f32 */
    ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, "isin", "elements are %s but among is %s", iso_dtype_name(elements->view.dtype),
              iso_dtype_name(among->view.dtype));
    return NULL;
  }
  iso_no_grad_push(ctx);
  iso_tensor *x = plain(ctx, elements), *narrow = iso_reshape(ctx, among, 1, (const int64_t[]){-1});
  iso_tensor *flat = narrow ? plain(ctx, narrow) : NULL, *sorted = flat ? iso_sort(ctx, flat, 0, false, NULL) : NULL;
  iso_tensor *at = sorted && x ? search(ctx, "isin", sorted, x, false, NULL) : NULL;
  iso_tensor *y = at ? iso_tensor_new(ctx, ISO_BOOL, elements->view.n_dims, elements->view.shape) : NULL;
  iso_no_grad_pop(ctx);
  if (y) {
    membership m = {.x = iso__data(x),
                    .sorted = iso__data(sorted),
                    .at = iso__data(at),
                    .out = iso__data(y),
                    .n_sorted = sorted->view.shape[0],
                    .dtype = x->view.dtype,
                    .invert = invert};
    iso__parallel_range(ctx, iso__view_numel(&x->view), 8192, 64, look_up, &m);
  }
  iso_release(x), iso_release(narrow), iso_release(flat), iso_release(sorted), iso_release(at);
  return y;
}
