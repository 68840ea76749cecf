/* random.c: random tensors and fills of the kernel family, from Philox counters (NUMERICS §7).
 *
 * Element numbers are logical, so tensors in another storage order go through a contiguous copy. */
#include "kernels/rng/rng.h"
#include "ops/random/random.h"

iso_philox iso__random_next_site(iso_context *ctx) {
  iso__place *place = iso__place_of(ctx);
  place->n_drawn++;
  return (iso_philox){.seed = iso_policy_current(ctx)->seed,
                      .stream = ISO_PHILOX_GRAPH,
                      .site = place->site++,
                      .leaf = place->leaf,
                      .step = place->step};
}

const uint32_t *iso__random_step_at(const iso_context *ctx) { return iso__place_of(ctx)->step_at; }

bool iso__random_check_count(iso_context *ctx, const char *op, int64_t numel, int words) {
  if ((uint64_t)numel <= ISO_PHILOX_ELEMENTS / (uint64_t)words) return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%lld elements: at most 2^%d have a random number", (long long)numel,
            words == 1 ? 34 : 33);
  return false;
}

/* ---- fills ---- */

typedef struct source {
  const iso_philox *at;
  const uint32_t *step_at; /* of a site of the context's; NULL: the caller's own place */
} source;

static iso_status fill(iso_context *ctx, const char *op, iso_tensor *t, iso__distribution distribution, source from,
                       double a, double b) {
  if (!iso__takes_floats(ctx, op, 1, ISO__TENSORS(t)) ||
      !iso__random_check_count(ctx, op, iso__view_numel(&t->view), t->view.dtype == ISO_F64 ? 2 : 1))
    return t ? ctx->error.code : ISO_INVALID_ARGUMENT;
  const bool dense = iso__view_is_contiguous(&t->view);
  iso_tensor *target = dense ? t : iso_tensor_new(ctx, t->view.dtype, t->view.n_dims, t->view.shape);
  if (!target) return ctx->error.code;
  iso_rng_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_RANDOM_FILL, t->view.dtype);
  p.n = iso__view_numel(&t->view);
  p.distribution = (uint8_t)distribution;
  const iso_rng_args args = {.seed = from.at->seed,
                             .stream = from.at->stream,
                             .site = from.at->site,
                             .leaf = from.at->leaf,
                             .step = from.at->step,
                             .step_at = from.step_at,
                             .a = a,
                             .b = b,
                             .y = iso__data(target)};
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
  return fill(t->ctx, "fill_uniform", t, ISO__UNIFORM, (source){.at = at}, a, b);
}
iso_status iso_fill_normal(iso_tensor *t, const iso_philox *at, double mean, double sd) {
  if (!at || iso__check_in_place(t, "fill_normal") != ISO_OK)
    return t && at ? t->ctx->error.code : ISO_INVALID_ARGUMENT;
  return fill(t->ctx, "fill_normal", t, ISO__NORMAL, (source){.at = at}, mean, sd);
}

static iso_tensor *random_new(iso_context *ctx, const char *op, iso__distribution distribution, iso_dtype dtype,
                              int n_dims, const int64_t *shape, double a, double b) {
  iso_tensor *t = iso_tensor_new(ctx, dtype, n_dims, shape);
  if (!t) return NULL;
  const iso_philox at = iso__random_next_site(ctx);
  if (fill(ctx, op, t, distribution, (source){&at, iso__random_step_at(ctx)}, a, b) == ISO_OK) return t;
  iso_release(t);
  return NULL;
}

iso_tensor *iso__random_bernoulli_at(iso_context *ctx, const char *op, iso_dtype dtype, int n_dims,
                                     const int64_t *shape, double p, const iso_philox *at) {
  iso_tensor *t = iso_tensor_new(ctx, dtype, n_dims, shape);
  if (!t || fill(ctx, op, t, ISO__BERNOULLI, (source){at, iso__random_step_at(ctx)}, p, 0) == ISO_OK) return t;
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

iso_tensor *iso_rand_like(iso_context *ctx, const iso_tensor *x) {
  if (!iso__takes_floats(ctx, "rand_like", 1, ISO__TENSORS(x))) return NULL;
  return random_new(ctx, "rand_like", ISO__UNIFORM, x->view.dtype, x->view.n_dims, x->view.shape, 0, 1);
}
iso_tensor *iso_randn_like(iso_context *ctx, const iso_tensor *x) {
  if (!iso__takes_floats(ctx, "randn_like", 1, ISO__TENSORS(x))) return NULL;
  return random_new(ctx, "randn_like", ISO__NORMAL, x->view.dtype, x->view.n_dims, x->view.shape, 0, 1);
}
