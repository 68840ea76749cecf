/* pick.c: elements of rows by their places, and the reverse: what sorts, order statistics and quantiles differentiate
 * through. The two are each other's gradient. */
#include "base/pool.h"
#include "ops/sort/sort.h"

typedef struct job {
  const void *from;
  void *to;
  const int64_t *index;
  int64_t n, k; /* of a row: elements, and picks */
  iso_dtype dtype;
} job;

static iso_tensor *run(iso_context *ctx, iso_tensor *to, const iso_tensor *from, const iso_tensor *index, int64_t n,
                       iso__range_fn *fn) {
  const int64_t k = index->view.shape[index->view.n_dims - 1];
  job j = {.from = iso__data(from),
           .to = iso__data(to),
           .index = iso__data(index),
           .n = n,
           .k = k,
           .dtype = from->view.dtype};
  if (k > 0) iso__parallel_range(ctx, iso__view_numel(&index->view) / k, 1 + 16384 / (n + k), 1, fn, &j);
  return to;
}

static inline __attribute__((always_inline)) void pick_of_size(const job *j, int64_t begin, int64_t end, size_t size) {
  for (int64_t r = begin; r < end; r++)
    for (int64_t i = 0; i < j->k; i++)
      memcpy((char *)j->to + (size_t)(r * j->k + i) * size,
             (const char *)j->from + (size_t)(r * j->n + j->index[r * j->k + i]) * size, size);
}
static void pick_rows(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  (void)thread;
  switch (iso_dtype_size(j->dtype)) {
  case 1: pick_of_size(j, begin, end, 1); break;
  case 2: pick_of_size(j, begin, end, 2); break;
  case 4: pick_of_size(j, begin, end, 4); break;
  default: pick_of_size(j, begin, end, 8); break;
  }
}

iso_tensor *iso__rows_new(iso_context *ctx, const iso_tensor *t, iso_dtype dtype, int64_t n) {
  int64_t shape[ISO_MAX_DIMS];
  if (iso__failed(ctx) || !t) return NULL;
  memcpy(shape, t->view.shape, sizeof shape);
  shape[t->view.n_dims - 1] = n;
  return iso_tensor_new(ctx, dtype, t->view.n_dims, shape);
}

static iso_tensor *recorded(iso_context *ctx, iso_tensor *y, iso__rule_id rule, const iso_tensor *x,
                            const iso_tensor *index) {
  return iso__finish(
      ctx, y, ISO_OK, rule,
      &(iso__finish_options){.inputs = ISO__TENSORS(x), .n_inputs = 1, .saved = ISO__TENSORS(index), .n_saved = 1});
}

iso_tensor *iso__pick(iso_context *ctx, const iso_tensor *x, const iso_tensor *index) {
  iso_tensor *y = index ? iso__rows_new(ctx, x, x->view.dtype, index->view.shape[index->view.n_dims - 1]) : NULL;
  if (!y) return NULL;
  run(ctx, y, x, index, x->view.shape[x->view.n_dims - 1], pick_rows);
  return recorded(ctx, y, ISO__RULE_SORT_PICK, x, index);
}

/* Zeros, then t added at the places of index. */
#define PLACE(real)                                                                                                    \
  for (int64_t r = begin; r < end; r++) {                                                                              \
    real *to = (real *)j->to + r * j->n;                                                                               \
    const real *from = (const real *)j->from + r * j->k;                                                               \
    memset(to, 0, sizeof *to *(size_t)j->n);                                                                           \
    for (int64_t i = 0; i < j->k; i++) {                                                                               \
      const int64_t at = j->index[r * j->k + i];                                                                       \
      to[at] = to[at] + from[i];                                                                                       \
    }                                                                                                                  \
  }
static void place_rows(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  (void)thread;
  if (j->dtype == ISO_F64) PLACE(double) else PLACE(float)
}

static iso_tensor *place(iso_context *ctx, const iso_tensor *t, const iso_tensor *index, int64_t n) {
  if (iso__failed(ctx) || !t || !index) return NULL;
  iso_tensor *copy = iso__contiguous_copy(ctx, t), *y = iso__rows_new(ctx, t, t->view.dtype, n);
  if (y && !iso__failed(ctx)) run(ctx, y, copy ? copy : t, index, n, place_rows);
  y = recorded(ctx, y, ISO__RULE_SORT_PLACE, t, index);
  return iso__drop(y, copy);
}

void iso__sort_pick_gradient(iso__gradient *g) {
  const iso__view *form = iso__input_view(g, 0);
  iso_tensor *index = iso__saved(g, 0), *dy = g->dy[0];
  const bool narrow = iso__is_half(form->dtype);
  if (narrow) dy = iso_cast(g->ctx, dy, ISO_F32);
  g->dx[0] = place(g->ctx, dy, index, form->shape[form->n_dims - 1]);
  if (narrow) g->dx[0] = iso_cast(g->ctx, g->dx[0], form->dtype);
}

void iso__sort_place_gradient(iso__gradient *g) {
  iso_tensor *dy = iso__contiguous_copy(g->ctx, g->dy[0]);
  g->dx[0] = iso__pick(g->ctx, dy ? dy : g->dy[0], iso__saved(g, 0));
}
