/* random.c: dropout, random tensors and fills, from Philox counters (NUMERICS §7).
 *
 * Element numbers are logical, so tensors in another storage order go through a contiguous copy. */
#include "kernels/rng/rng.h"
#include "ops/ops.h"

/* Where an operator of the forward pass draws from: the next site of the stream "graph". */
static iso_philox next_site(iso_context *ctx) {
  iso__place *place = iso__place_of(ctx);
  return (iso_philox){.seed = iso_policy_current(ctx)->seed,
                      .stream = ISO_PHILOX_GRAPH,
                      .site = place->site++,
                      .leaf = place->leaf,
                      .step = place->step};
}

static iso_rng_args args_at(const iso_philox *at, double a, double b) {
  return (iso_rng_args){
      .seed = at->seed, .stream = at->stream, .site = at->site, .leaf = at->leaf, .step = at->step, .a = a, .b = b};
}

static bool check_count(iso_context *ctx, const char *op, int64_t numel) {
  if ((uint64_t)numel <= ISO_PHILOX_ELEMENTS) return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%lld elements: at most 2^34 have a random number", (long long)numel);
  return false;
}

/* ---- dropout ---- */

typedef struct noise {
  iso_philox at;
  double p;
} noise;

static iso_tensor *drop(iso_context *ctx, const iso_tensor *x, const noise *n) {
  if (iso__failed(ctx) || !x) return NULL;
  iso_tensor *copy = iso__contiguous_copy(ctx, x);
  if (copy) x = copy;
  iso_tensor *y = iso__failed(ctx) ? NULL : iso_tensor_new(ctx, x->view.dtype, x->view.n_dims, x->view.shape);
  iso_rng_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_DROPOUT, x->view.dtype);
  p.n = iso__view_numel(&x->view);
  iso_rng_args args = args_at(&n->at, n->p, 0);
  args.x = iso__data(x), args.y = iso__data(y);
  y = iso__finish(
      ctx, y, y ? iso__execute(ctx, &p.head, &args) : ISO_OUT_OF_MEMORY, ISO__RULE_DROPOUT,
      &(iso__finish_options){.inputs = ISO__TENSORS(x), .n_inputs = 1, .attrs = n, .attr_bytes = sizeof *n});
  return iso__drop(y, copy);
}

iso_tensor *iso_dropout(iso_context *ctx, const iso_tensor *x, double p, bool training) {
  if (!iso__takes_floats(ctx, "dropout", 1, ISO__TENSORS(x))) return NULL;
  if (!(p >= 0 && p < 1)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "dropout", "p is %g: 0 ≤ p < 1 is needed", p);
    return NULL;
  }
  if (!training) return iso_tensor_alias(ctx, x);
  if (!check_count(ctx, "dropout", iso__view_numel(&x->view))) return NULL;
  return drop(ctx, x, &(noise){.at = next_site(ctx), .p = p});
}
/* The same elements of the gradient are kept. */
void iso__dropout_gradient(iso__gradient *g) { g->dx[0] = drop(g->ctx, g->dy[0], iso__attrs(g)); }

/* ---- fills ---- */

static iso_status fill(iso_context *ctx, const char *op, iso_tensor *t, iso__distribution distribution,
                       const iso_philox *at, double a, double b) {
  if (!iso__takes_floats(ctx, op, 1, ISO__TENSORS(t)) || !check_count(ctx, op, iso__view_numel(&t->view)))
    return t ? ctx->error.code : ISO_INVALID_ARGUMENT;
  const bool dense = iso__view_is_contiguous(&t->view);
  iso_tensor *target = dense ? t : iso_tensor_new(ctx, t->view.dtype, t->view.n_dims, t->view.shape);
  if (!target) return ctx->error.code;
  iso_rng_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_RANDOM_FILL, t->view.dtype);
  p.n = iso__view_numel(&t->view);
  p.distribution = (uint8_t)distribution;
  iso_rng_args args = args_at(at, a, b);
  args.y = iso__data(target);
  iso__execute(ctx, &p.head, &args);
  if (!dense) {
    iso__view_copy(ctx, &t->view, &target->view);
    iso_release(target);
  }
  iso_tensor_touch(t);
  return ctx->error.code;
}

iso_status iso_fill_uniform(iso_tensor *t, const iso_philox *at, double a, double b) {
  if (!at || iso__check_in_place(t, "fill_uniform") != ISO_OK)
    return t && at ? t->ctx->error.code : ISO_INVALID_ARGUMENT;
  return fill(t->ctx, "fill_uniform", t, ISO__UNIFORM, at, a, b);
}
iso_status iso_fill_normal(iso_tensor *t, const iso_philox *at, double mean, double sd) {
  if (!at || iso__check_in_place(t, "fill_normal") != ISO_OK)
    return t && at ? t->ctx->error.code : ISO_INVALID_ARGUMENT;
  return fill(t->ctx, "fill_normal", t, ISO__NORMAL, at, mean, sd);
}

static iso_tensor *random_new(iso_context *ctx, const char *op, iso__distribution distribution, iso_dtype dtype,
                              int n_dims, const int64_t *shape, double a, double b) {
  iso_tensor *t = iso_tensor_new(ctx, dtype, n_dims, shape);
  if (!t) return NULL;
  const iso_philox at = next_site(ctx);
  if (fill(ctx, op, t, distribution, &at, a, b) == ISO_OK) return t;
  iso_release(t);
  return NULL;
}

iso_tensor *iso_random_uniform(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, double a,
                               double b) {
  return random_new(ctx, "random_uniform", ISO__UNIFORM, dtype, n_dims, shape, a, b);
}
iso_tensor *iso_random_normal(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, double mean,
                              double sd) {
  return random_new(ctx, "random_normal", ISO__NORMAL, dtype, n_dims, shape, mean, sd);
}
iso_tensor *iso_random_bernoulli(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, double p) {
  if (iso__failed(ctx)) return NULL;
  if (!(p >= 0 && p <= 1)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "random_bernoulli", "p is %g: 0 ≤ p ≤ 1 is needed", p);
    return NULL;
  }
  return random_new(ctx, "random_bernoulli", ISO__BERNOULLI, dtype, n_dims, shape, p, 0);
}
