/* index.c: gradient cases of ops/index; gradients.h explains them. Indices repeat, so that sums are sums and some
 * sources lose. */
#include "ops/gradients/gradients.h"

#define A in[0]
#define B in[1]
static iso_tensor *index_of(iso_context *ctx, int n_dims, const int64_t *shape) {
  static const int64_t v[] = {2, 0, 2, 1, 1, 0, 2, 2, 0, 1, 2, 0};
  return iso_tensor_copy_from(ctx, ISO_I64, n_dims, shape, v);
}
#define LIST4 index_of(ctx, 1, ISO_DIMS(4))
#define GRID43 index_of(ctx, 2, ISO_DIMS(4, 3))
#define GRID42 index_of(ctx, 2, ISO_DIMS(4, 2))
#define CASE(name, ...)                                                                                                \
  static iso_tensor *name(iso_context *ctx, iso_tensor *const *in) { return __VA_ARGS__; }
CASE(f_gather, iso_gather(ctx, A, 0, GRID43))
CASE(f_gather_smaller, iso_gather(ctx, A, 0, GRID42))
CASE(f_take_along, iso_take_along_dim(ctx, A, index_of(ctx, 2, ISO_DIMS(4, 1)), 0))
CASE(f_index_select, iso_index_select(ctx, A, 1, LIST4))
CASE(f_take, iso_take(ctx, A, GRID43))
CASE(f_index, iso_index(ctx, A, 3, (const iso_tensor *const[]){LIST4, NULL, index_of(ctx, 2, ISO_DIMS(2, 4))}))
CASE(f_index_together, iso_index(ctx, A, 3, (const iso_tensor *const[]){NULL, LIST4, LIST4}))
CASE(f_masked_select, iso_masked_select(ctx, A, iso_gt(ctx, A, iso_tensor_full(ctx, ISO_F64, 0, NULL, 0.3))))
CASE(f_embedding, iso_embedding(ctx, GRID42, A, NULL))
CASE(f_embedding_padding,
     iso_embedding(ctx, GRID42, iso_cat(ctx, 2, (const iso_tensor *const[]){A, iso_detach(ctx, A)}, 0),
                   &(iso_embedding_options){.has_padding = true, .padding = -1}))
CASE(f_scatter_add, iso_scatter_add(ctx, A, 0, GRID43, B))
CASE(f_scatter_add_smaller, iso_scatter_add(ctx, A, 0, GRID42, B))
CASE(f_index_add, iso_index_add(ctx, A, 1, LIST4, B, 0.5))
CASE(f_index_put_add, iso_index_put(ctx, A, 3, (const iso_tensor *const[]){LIST4, NULL, LIST4}, B, true))
CASE(f_bincount, iso_bincount_weighted(ctx, LIST4, A, 5))
CASE(f_scatter, iso_scatter(ctx, A, 0, GRID43, B))
CASE(f_scatter_smaller, iso_scatter(ctx, A, 0, GRID42, B))
CASE(f_index_copy, iso_index_copy(ctx, A, 1, LIST4, B))
CASE(f_index_put, iso_index_put(ctx, A, 2, (const iso_tensor *const[]){LIST4, LIST4}, B, false))
CASE(f_put, iso_put(ctx, A, LIST4, B, false))
CASE(f_masked_scatter, iso_masked_scatter(ctx, A, iso_gt(ctx, A, iso_tensor_full(ctx, ISO_F64, 0, NULL, 0.3)), B))
CASE(f_index_fill, iso_index_fill(ctx, A, 1, LIST4, 7))
#define REDUCE(name, combine, include)                                                                                 \
  CASE(name, iso_scatter_reduce(ctx, A, 0, GRID43, B, ISO_COMBINE_##combine, include))
REDUCE(f_sum, SUM, false)
REDUCE(f_mean, MEAN, true)
REDUCE(f_mean_alone, MEAN, false)
REDUCE(f_prod, PROD, true)
REDUCE(f_prod_alone, PROD, false)
REDUCE(f_amax, AMAX, true)
REDUCE(f_amin_alone, AMIN, false)
CASE(f_index_reduce, iso_index_reduce(ctx, A, 1, LIST4, B, ISO_COMBINE_PROD, true))
/* As with a factor that is 0: the others' product. */
CASE(f_prod_zero,
     iso_scatter_reduce(ctx, A, 0, GRID43,
                        iso_mul(ctx, B, iso_tensor_copy_from(ctx, ISO_F64, 1, ISO_DIMS(3), (const double[]){0, 1, 0})),
                        ISO_COMBINE_PROD, true))
static iso_tensor *bag(iso_context *ctx, const iso_tensor *table, iso_embedding_bag_options o) {
  static const int64_t offsets[] = {0, 2, 2, 5};
  o.offsets = iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(4), offsets);
  return iso_embedding_bag(ctx, index_of(ctx, 1, ISO_DIMS(9)), table, &o);
}
CASE(f_bag_sum, bag(ctx, A, (iso_embedding_bag_options){.mode = ISO_BAG_SUM}))
CASE(f_bag_mean, bag(ctx, A, (iso_embedding_bag_options){.mode = ISO_BAG_MEAN, .has_padding = true, .padding = 0}))
CASE(f_bag_max, bag(ctx, A, (iso_embedding_bag_options){.mode = ISO_BAG_MAX}))
CASE(f_bag_weighted, bag(ctx, A, (iso_embedding_bag_options){.mode = ISO_BAG_SUM, .per_sample_weights = B}))
CASE(f_bag_grid,
     iso_embedding_bag(ctx, GRID43, A, &(iso_embedding_bag_options){.mode = ISO_BAG_SUM, .per_sample_weights = B}))
CASE(f_bag_squared, iso_square(ctx, f_bag_sum(ctx, in)))
static iso_tensor *segments(iso_context *ctx, const iso_tensor *x, iso_combine combine, bool initial) {
  static const int64_t lengths[] = {2, 0, 3};
  iso_tensor *t = iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(3), lengths);
  return iso_segment_reduce(ctx, x, combine,
                            &(iso_segment_options){.lengths = t, .axis = 1, .has_initial = initial, .initial = 0.5});
}
CASE(f_segment_sum, segments(ctx, A, ISO_COMBINE_SUM, false))
CASE(f_segment_mean, segments(ctx, A, ISO_COMBINE_MEAN, true))
CASE(f_segment_prod, segments(ctx, A, ISO_COMBINE_PROD, true))
CASE(f_segment_max, segments(ctx, A, ISO_COMBINE_AMAX, true))
#undef A
#undef B

const gradient_case iso__gradients_index[] = {
    {"gather", f_gather, SIGNED, 1, {{3, 3, END}}},
    {"gather", f_gather_smaller, SIGNED, 1, {{3, 3, END}}},
    {"gather", f_take_along, SIGNED, 1, {{3, 3, END}}},
    {"gather", f_index_select, SIGNED, 1, {{2, 3, 2, END}}},
    {"gather", f_take, SIGNED, 1, {{2, 2, END}}},
    {"gather", f_index, SIGNED, 1, {{3, 2, 3, END}}},
    {"gather", f_index_together, SIGNED, 1, {{2, 3, 3, END}}},
    {"gather", f_masked_select, SIGNED, 1, {{3, 4, END}}},
    {"gather", f_embedding, SIGNED, 1, {{3, 4, END}}},
    {"gather", f_embedding_padding, SIGNED, 1, {{3, 4, END}}},
    {"scatter_sum", f_scatter_add, SIGNED, 2, {{3, 3, END}, {4, 3, END}}},
    {"scatter_sum", f_scatter_add_smaller, SIGNED, 2, {{3, 3, END}, {5, 3, END}}},
    {"scatter_sum", f_index_add, SIGNED, 2, {{2, 3, 2, END}, {2, 4, 2, END}}},
    {"scatter_sum", f_index_put_add, SIGNED, 2, {{3, 2, 3, END}, {4, 2, END}}},
    {"scatter_sum", f_bincount, SIGNED, 1, {{4, END}}},
    {"scatter_set", f_scatter, SIGNED, 2, {{3, 3, END}, {4, 3, END}}},
    {"scatter_set", f_scatter_smaller, SIGNED, 2, {{3, 3, END}, {5, 3, END}}},
    {"scatter_set", f_index_copy, SIGNED, 2, {{2, 3, 2, END}, {2, 4, 2, END}}},
    {"scatter_set", f_index_put, SIGNED, 2, {{3, 3, 2, END}, {1, 2, END}}},
    {"scatter_set", f_put, SIGNED, 2, {{3, 3, END}, {4, END}}},
    {"scatter_set", f_masked_scatter, SIGNED, 2, {{3, 3, END}, {12, END}}},
    {"scatter_set", f_index_fill, SIGNED, 1, {{2, 3, 2, END}}},
    {"scatter_reduce", f_sum, SIGNED, 2, {{3, 3, END}, {4, 3, END}}},
    {"scatter_reduce", f_mean, SIGNED, 2, {{3, 3, END}, {4, 3, END}}},
    {"scatter_reduce", f_mean_alone, SIGNED, 2, {{3, 3, END}, {4, 3, END}}},
    {"scatter_reduce", f_prod, SIGNED, 2, {{3, 3, END}, {4, 3, END}}},
    {"scatter_reduce", f_prod_alone, SIGNED, 2, {{3, 3, END}, {4, 3, END}}},
    {"scatter_reduce", f_prod_zero, SIGNED, 2, {{3, 3, END}, {4, 3, END}}},
    {"scatter_reduce", f_amax, SIGNED, 2, {{3, 3, END}, {4, 3, END}}},
    {"scatter_reduce", f_amin_alone, SIGNED, 2, {{3, 3, END}, {4, 3, END}}},
    {"scatter_reduce", f_index_reduce, SIGNED, 2, {{2, 3, 2, END}, {2, 4, 2, END}}},
    {"bag_sum", f_bag_sum, SIGNED, 1, {{3, 2, END}}},
    {"bag_sum", f_bag_mean, SIGNED, 1, {{3, 2, END}}},
    {"gather", f_bag_max, SIGNED, 1, {{3, 2, END}}},
    {"bag_sum", f_bag_weighted, SIGNED, 2, {{3, 2, END}, {9, END}}},
    {"bag_sum", f_bag_grid, SIGNED, 2, {{3, 2, END}, {4, 3, END}}},
    {"bag_bwd", f_bag_squared, SIGNED, 1, {{3, 2, END}}},
    {"scatter_reduce", f_segment_sum, SIGNED, 1, {{2, 5, END}}},
    {"scatter_sum", f_segment_mean, SIGNED, 1, {{2, 5, END}}},
    {"scatter_reduce", f_segment_prod, SIGNED, 1, {{2, 5, END}}},
    {"scatter_reduce", f_segment_max, SIGNED, 1, {{2, 5, END}}},
    {NULL}};
