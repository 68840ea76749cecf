/* bag.c: bags of embeddings.
 *
 * A bag's sum reads rows where they lie and adds them in L1 (kernels/scatter, `segment`): no copy of all rows is made.
 * Its gradient sends every bag's dy to its rows in one ordered scatter, and both are each other's gradients. A maximum
 * is, once it is known who won, a gather. */
#include "ops/index/index.h"

/* What bags are: index (n), and offsets (bags+1) or none: then every bag has `each` entries; all checked. */
typedef struct bags {
  int64_t padding, rows; /* −1: none; rows of the table */
  int64_t each, n_bags;
  bool mean;
} bags;

/* ---- the two kernels ---- */

/* More results of a bag's kernel; each is made if its place is not NULL. */
typedef struct extras {
  iso_tensor **at;    /* (bags,d): which entry was the maximum, −1 for an empty bag */
  iso_tensor **count; /* (bags,1): of means, the entries that are present, at least 1 */
} extras;

static iso_tensor *bag_run(iso_context *ctx, iso__scatter_fn fn, const iso_tensor *table, const iso_tensor *index,
                           const iso_tensor *offsets, const iso_tensor *scale, const bags *a, extras more) {
  if (iso__failed(ctx) || !table || !index) return NULL;
  iso_segment_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_SEGMENT, table->view.dtype);
  p.segments = a->n_bags, p.each = offsets ? 0 : a->each, p.n = iso__view_numel(&index->view);
  p.rows = table->view.shape[0], p.inner = table->view.shape[1];
  p.skip = a->padding + 1, p.fn = (uint8_t)fn, p.has_index = 1, p.empty_zero = 1;
  p.has_scale = scale != NULL, p.has_at = more.at != NULL, p.has_count = more.count != NULL;
  const int64_t shape[] = {p.segments, p.inner};
  iso_tensor *copies[] = {iso__contiguous_copy(ctx, table), scale ? iso__contiguous_copy(ctx, scale) : NULL};
  iso_tensor *y = iso_tensor_new(ctx, table->view.dtype, 2, shape);
  if (more.at) *more.at = iso_tensor_new(ctx, ISO_I64, 2, shape);
  if (more.count) *more.count = iso_tensor_new(ctx, table->view.dtype, 2, ISO_DIMS(p.segments, 1));
  const iso_segment_args args = {.x = iso__data(copies[0] ? copies[0] : table),
                                 .scale = iso__data(copies[1] ? copies[1] : scale),
                                 .index = iso__data(index),
                                 .offsets = iso__data(offsets),
                                 .y = iso__data(y),
                                 .at = more.at ? iso__data(*more.at) : NULL,
                                 .count = more.count ? iso__data(*more.count) : NULL};
  const iso_status status = iso__failed(ctx) ? ctx->error.code : iso__execute(ctx, &p.head, &args);
  for (int i = 0; i < 2; i++) iso_release(copies[i]);
  return status == ISO_OK ? y : iso__drop(NULL, y);
}

/* (n): the bag of every entry, from the offsets. */
static iso_tensor *bag_of(iso_context *ctx, const iso_tensor *offsets, int64_t n) {
  iso_tensor *t = iso_tensor_new(ctx, ISO_I64, 1, &n);
  if (!t || n == 0) return t;
  const int64_t *o = iso__data(offsets), n_bags = offsets->view.shape[0] - 1;
  int64_t *to = iso__data(t);
  for (int64_t b = 0; b < n_bags; b++)
    for (int64_t k = o[b]; k < o[b + 1]; k++) to[k] = b;
  return t;
}

static iso_tensor *unbag_run(iso_context *ctx, const iso_tensor *dy, const iso_tensor *index, const iso_tensor *offsets,
                             const iso_tensor *scale, const bags *a) {
  if (iso__failed(ctx) || !dy || !index) return NULL;
  iso_scatter_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_SCATTER, dy->view.dtype);
  p.outer = 1, p.n = iso__view_numel(&index->view), p.inner = dy->view.shape[1], p.extent = a->rows;
  p.sources = p.n ? dy->view.shape[0] : 0, p.run = p.n && !offsets ? a->each : 0;
  p.fn = ISO__SCATTER_ADD, p.has_scale = scale != NULL;
  iso_tensor *source = offsets ? bag_of(ctx, offsets, p.n) : NULL,
             *copies[] = {iso__contiguous_copy(ctx, dy), scale ? iso__contiguous_copy(ctx, scale) : NULL};
  iso_tensor *y = iso_tensor_new(ctx, dy->view.dtype, 2, ISO_DIMS(p.extent, p.inner));
  const iso_scatter_args args = {.x = iso__data(copies[0] ? copies[0] : dy),
                                 .scale = iso__data(copies[1] ? copies[1] : scale),
                                 .index = iso__data(index),
                                 .source = iso__data(source),
                                 .y = iso__data(y)};
  const iso_status status = iso__failed(ctx) ? ctx->error.code : iso__execute(ctx, &p.head, &args);
  for (int i = 0; i < 2; i++) iso_release(copies[i]);
  iso_release(source);
  if (status != ISO_OK) return iso__drop(NULL, y);
  const size_t row_bytes = (size_t)p.inner * iso_dtype_size(dy->view.dtype);
  if (a->padding >= 0) iso__clear_bytes(y, (size_t)a->padding * row_bytes, row_bytes);
  return y;
}

/* ---- both as operators ---- */

static iso_tensor *finish(iso_context *ctx, iso_tensor *y, iso__rule_id rule, const iso_tensor *t,
                          const iso_tensor *index, const iso_tensor *offsets, const iso_tensor *scale,
                          const iso_tensor *count, const bags *a) {
  return iso__finish(ctx, y, ISO_OK, rule,
                     &(iso__finish_options){
                         .inputs = ISO__TENSORS(t, scale),
                         .n_inputs = 2,
                         .saved = ISO__TENSORS(index, offsets, scale && iso__saves_for(scale) ? t : NULL, scale, count),
                         .n_saved = 5,
                         .attrs = a,
                         .attr_bytes = sizeof *a});
}
static iso_tensor *bag_sum(iso_context *ctx, const iso_tensor *table, const iso_tensor *index,
                           const iso_tensor *offsets, const iso_tensor *scale, const bags *a) {
  const iso__scatter_fn fn = a->mean ? ISO__SCATTER_MEAN : ISO__SCATTER_ADD;
  const bool recorded = iso__is_recorded(ctx, 1, &table);
  iso_tensor *count = NULL;
  iso_tensor *y =
      bag_run(ctx, fn, table, index, offsets, scale, a, (extras){.count = a->mean && recorded ? &count : NULL});
  return iso__drop(finish(ctx, y, ISO__RULE_BAG_SUM, table, index, offsets, scale, count, a), count);
}
static iso_tensor *unbag(iso_context *ctx, const iso_tensor *dy, const iso_tensor *index, const iso_tensor *offsets,
                         const iso_tensor *scale, const bags *a) {
  return finish(ctx, unbag_run(ctx, dy, index, offsets, scale, a), ISO__RULE_BAG_BWD, dy, index, offsets, scale, NULL,
                a);
}

/* Each entry's row of per_bag, its bag's: (n,d). */
static iso_tensor *of_entries(iso_context *ctx, const iso_tensor *per_bag, const iso_tensor *offsets, int64_t n,
                              const bags *a) {
  if (offsets) return iso__gather_at(ctx, per_bag, bag_of(ctx, offsets, n), &(iso__indexing){.padding = -1});
  const int64_t d = per_bag->view.shape[1];
  iso_tensor *wide = iso_expand(ctx, iso_unsqueeze(ctx, per_bag, 1), 3, ISO_DIMS(a->n_bags, a->each, d));
  return iso_reshape(ctx, wide, 2, ISO_DIMS(n, d));
}
/* Each entry's product of its row of `table` and its bag's row of `per_bag`: the gradient of its weight. */
static iso_tensor *products(iso_context *ctx, const iso_tensor *table, const iso_tensor *per_bag,
                            const iso_tensor *index, const iso_tensor *offsets, const bags *a) {
  iso_tensor *rows = iso__gather_at(ctx, table, index, &(iso__indexing){.padding = a->padding, .zeroes = true});
  iso_tensor *dy = per_bag ? of_entries(ctx, per_bag, offsets, iso__view_numel(&index->view), a) : NULL;
  return rows && dy ? iso_sum(ctx, iso_mul(ctx, rows, dy), 1, (const int[]){1}, false) : NULL;
}

void iso__bag_sum_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  bags a = *(const bags *)iso__attrs(g);
  iso_tensor *index = iso__saved(g, 0), *offsets = iso__saved(g, 1), *dy = g->dy[0];
  if (iso__failed(ctx)) return;
  if (a.mean) dy = iso_div(ctx, dy, iso__saved(g, 4)), a.mean = false;
  if (iso__needs(g, 0)) g->dx[0] = unbag(ctx, dy, index, offsets, iso__saved(g, 3), &a);
  if (iso__needs(g, 1)) g->dx[1] = products(ctx, iso__saved(g, 2), dy, index, offsets, &a);
}
void iso__bag_bwd_gradient(iso__gradient *g) {
  const bags *a = iso__attrs(g);
  iso_tensor *index = iso__saved(g, 0), *offsets = iso__saved(g, 1), *dy = g->dy[0];
  if (iso__failed(g->ctx)) return;
  if (iso__needs(g, 0)) g->dx[0] = bag_sum(g->ctx, dy, index, offsets, iso__saved(g, 3), a);
  if (iso__needs(g, 1)) g->dx[1] = products(g->ctx, dy, iso__saved(g, 2), index, offsets, a);
}

/* ---- maximum: a gather of those that won ---- */

static iso_tensor *bag_max(iso_context *ctx, const iso_tensor *table, const iso_tensor *index,
                           const iso_tensor *offsets, const bags *a) {
  const bool recorded = iso__is_recorded(ctx, 1, &table); /* else nobody asks who won */
  iso_tensor *at = NULL, *y = bag_run(ctx, ISO__SCATTER_AMAX, table, index, offsets, NULL, a,
                                      (extras){.at = recorded ? &at : NULL});
  if (!y || !recorded) return y;
  const int64_t n = iso__view_numel(&y->view), inner = table->view.shape[1], *k = iso__data(at), *v = iso__data(index);
  int64_t n_full = 0;
  for (int64_t i = 0; i < n; i++) n_full += k[i] >= 0;
  iso_tensor *from = iso_tensor_new(ctx, ISO_I64, 1, &n_full), *to = iso_tensor_new(ctx, ISO_I64, 1, &n_full);
  if (!from || !to) return NULL;
  int64_t *f = iso__data(from), *t = iso__data(to);
  for (int64_t i = 0; i < n; i++)
    if (k[i] >= 0) *f++ = v[k[i]] * inner + i % inner, *t++ = i;
  iso_tensor *flat = iso_reshape(ctx, table, 1, ISO_DIMS(iso__view_numel(&table->view)));
  iso_tensor *won = iso__gather_at(ctx, flat, from, &(iso__indexing){.padding = -1});
  /* A maximum of zeros is +0. */
  iso_tensor *placed = iso__scatter_sum(ctx, NULL, won, to, &(iso__indexing){.extent = n, .padding = -1});
  return placed ? iso_reshape(ctx, placed, 2, y->view.shape) : NULL;
}

/* ---- arguments ---- */

/* (bags+1) in [0,n], ascending. */
static iso_tensor *read_offsets(iso_context *ctx, const char *op, const iso_tensor *offsets, int64_t n, bool has_last) {
  if (offsets->view.n_dims != 1 || (has_last && offsets->view.shape[0] == 0)) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op,
              "offsets have %d axes and %lld elements: one axis, and with a last offset one element",
              offsets->view.n_dims, (long long)iso__view_numel(&offsets->view));
    return NULL;
  }
  iso_tensor *v = iso__index_read(ctx, op, "offsets", offsets, n + 1, false);
  const int64_t m = v ? v->view.shape[0] : 0, n_bags = has_last ? m - 1 : m, size = n_bags + 1;
  iso_tensor *t = v ? iso_tensor_new(ctx, ISO_I64, 1, &size) : NULL;
  if (!t) return NULL;
  int64_t *to = iso__data(t);
  const int64_t *from = iso__data(v);
  to[n_bags] = n_bags ? n : 0;
  for (int64_t i = 0; i < m; i++) {
    to[i] = from[i];
    if (i == 0 ? from[0] == 0 : from[i] >= from[i - 1]) continue;
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "offsets[%lld] is %lld: they begin with 0 and ascend", (long long)i,
              (long long)from[i]);
    return NULL;
  }
  return t;
}

static bool check_bag(iso_context *ctx, const iso_tensor *index, const iso_tensor *weights,
                      const iso_embedding_bag_options *o) {
  const char *op = "embedding_bag";
  if (!iso__is_table(ctx, op, weights)) return false;
  if (index->view.n_dims != (o->offsets ? 1 : 2))
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "index has %d axes: (n) with offsets, (bags,n) without", index->view.n_dims);
  else if ((unsigned)o->mode > ISO_BAG_MAX) ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "mode %d is not known", o->mode);
  else if (o->per_sample_weights && o->mode != ISO_BAG_SUM)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "per_sample_weights are for sums");
  else if (o->per_sample_weights && !iso__same_shape(&o->per_sample_weights->view, &index->view))
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "per_sample_weights have not index's shape");
  return !iso__failed(ctx);
}

iso_tensor *iso_embedding_bag(iso_context *ctx, const iso_tensor *index, const iso_tensor *weights,
                              const iso_embedding_bag_options *options) {
  const iso_embedding_bag_options o = options ? *options : (iso_embedding_bag_options){0};
  if (!iso__takes(ctx, "embedding_bag", 2, ISO__TENSORS(index, weights)) ||
      !iso__takes_floats(ctx, "embedding_bag", 2, ISO__TENSORS(weights, o.per_sample_weights)) ||
      (o.offsets && !iso__takes(ctx, "embedding_bag", 1, &o.offsets)) || !check_bag(ctx, index, weights, &o))
    return NULL;
  if (o.mode == ISO_BAG_MAX && !iso__needs_cpu(ctx, "embedding_bag", "a maximum")) return NULL;
  if (o.offsets && !iso__needs_cpu(ctx, "embedding_bag", "a list of offsets")) return NULL;
  bags a = {.rows = weights->view.shape[0], .mean = o.mode == ISO_BAG_MEAN};
  if (!iso__padding_row(ctx, "embedding_bag", o.has_padding, o.padding, a.rows, &a.padding)) return NULL;
  iso__enter(ctx);
  const int64_t n = iso__view_numel(&index->view);
  iso_tensor *v = iso__index_read(ctx, "embedding_bag", "index", index, a.rows, false), *y = NULL;
  iso_tensor *offsets = NULL;
  if (o.offsets) offsets = read_offsets(ctx, "embedding_bag", o.offsets, n, o.include_last_offset);
  else if (n == 0) offsets = iso_tensor_zeros(ctx, ISO_I64, 1, ISO_DIMS(index->view.shape[0] + 1));
  iso_tensor *scale = o.per_sample_weights ? iso_reshape(ctx, o.per_sample_weights, 1, ISO_DIMS(n)) : NULL;
  if (v && !iso__failed(ctx)) {
    v = iso_reshape(ctx, v, 1, ISO_DIMS(n));
    a.n_bags = offsets ? offsets->view.shape[0] - 1 : index->view.shape[0];
    a.each = offsets ? 0 : index->view.shape[1];
  }
  if (v && o.offsets && offsets) { /* entries behind the last bag are in none */
    const int64_t end = ((const int64_t *)iso__data(offsets))[a.n_bags];
    if (end < n) v = iso_slice(ctx, v, 0, 0, end, 1);
    if (end < n && scale) scale = iso_slice(ctx, scale, 0, 0, end, 1);
  }
  if (v && !iso__failed(ctx))
    y = o.mode == ISO_BAG_MAX ? bag_max(ctx, weights, v, offsets, &a) : bag_sum(ctx, weights, v, offsets, scale, &a);
  return iso__leave(ctx, y);
}
