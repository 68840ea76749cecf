/* small.c: what one operator on a few elements costs beside its arithmetic: the call, the result's handle and storage,
 * and with a tape what remembers it. */
#include "median.h"
#include "small.h"
#include <stdlib.h>
#include "clock.h"

typedef iso_tensor *operator_fn(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
static iso_tensor *relu(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return (void)b, iso_relu(ctx, a);
}
static iso_tensor *tanh_of(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  return (void)b, iso_tanh(ctx, a);
}
static operator_fn *const operators[] = {iso_add, iso_mul, relu, tanh_of};
enum { N_OPERATORS = sizeof operators / sizeof *operators, REPEATS = 32, MOST_BLOCKS = 1 << 14 };

/* REPEATS results in a scope, as in a model; ending it, and with it the tape, is part of the price. ns an operator; 0
 * with the context's error set. */
static double time_block(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  const double begin = clock_ns();
  iso_scope_push(ctx);
  bool good = true;
  for (int i = 0; i < REPEATS; i++)
    for (int o = 0; o < N_OPERATORS; o++) good = operators[o](ctx, a, b) && good;
  iso_scope_pop(ctx);
  const double ns = clock_ns() - begin;
  return good ? ns / (REPEATS * N_OPERATORS) : 0;
}

/* The median block of about ms, in µs an operator. */
static double median_us(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double ms) {
  static double ns[MOST_BLOCKS];
  const double end = clock_ns() + ms * 1e6;
  int n = 0;
  do
    if ((ns[n++] = time_block(ctx, a, b)) == 0) return 0;
  while (n < MOST_BLOCKS && clock_ns() < end);
  return median(ns, (size_t)n) / 1e3;
}

json_t *small_operators(const words *w) {
  json_t *reply = NULL;
  int64_t n;
  double ms;
  if (!read_count("n", value_of(w, "n", "64"), &n, &reply) ||
      !read_positive("ms", value_of(w, "ms", "20"), 1e5, &ms, &reply))
    return reply;
  iso_context *ctx;
  if (iso_context_new(&(iso_context_options){.n_threads = 1}, &ctx) != ISO_OK) return failure("no context");
  iso_tensor *a = iso_tensor_full(ctx, ISO_F32, 1, &n, 0.5), *b = iso_tensor_full(ctx, ISO_F32, 1, &n, 0.25);
  const double forward = median_us(ctx, a, b, ms);
  iso_requires_grad(a, true);
  const double taped = median_us(ctx, a, b, ms);
  reply = iso_error_code(ctx) != ISO_OK ? context_failure(ctx)
                                        : json_pack("{s:f, s:f}", "forward_us", forward, "with_tape_us", taped);
  iso_context_free(ctx);
  return reply;
}
