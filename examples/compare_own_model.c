/* compare_own_model.c: what do the policies cost on a model of one's own? Each runs twice, with two thread counts, and
 * the steps' hashes say whether the two gave the same bits. */
#include <isobit/isobit.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct model {
  iso_context *ctx;
  iso_module *net;
  iso_optimizer *adam;
  iso_tensor *x, *y;
} model;

/* In the run's own process. */
static void *make(void *user, iso_context *ctx) {
  model *m = calloc(1, sizeof *m);
  (void)user;
  if (!m) return NULL;
  m->ctx = ctx;
  m->net = iso_sequential(
      ctx, 5,
      (iso_module *[]){iso_conv2d_module(ctx, &(iso_conv2d_config){.in = 3, .out = 16, .kernel = 3, .pad = 1}),
                       iso_relu_module(ctx), iso_max_pool2d_module(ctx, 2, 2, 0), iso_flatten_module(ctx),
                       iso_linear_module(ctx, 16 * 8 * 8, 10, true)});
  size_t n;
  const iso_named_tensor *weights = iso_module_tensors(m->net, &n);
  m->adam = iso_adam_new(ctx, n, weights, NULL);
  m->x = iso_keep(iso_random_normal(ctx, ISO_F32, 4, ISO_DIMS(32, 3, 16, 16), 0, 1));
  m->y = iso_keep(
      iso_argmax(ctx, iso_mean(ctx, m->x, 2, (const int[]){2, 3}, false), 1, false)); /* the brightest channel */
  return m;
}

static iso_status step(void *state, double *loss) {
  model *m = state;
  iso_scope_push(m->ctx);
  iso_tensor *l = iso_cross_entropy(m->ctx, iso_module_forward(m->net, m->x), m->y, NULL);
  iso_backward(l);
  iso_optimizer_step(m->adam);
  iso_optimizer_zero_grad(m->adam);
  iso_tensor_item(l, loss);
  iso_scope_pop(m->ctx);
  return iso_error_code(m->ctx);
}

static const iso_named_tensor *tensors(void *state, size_t *n) { return iso_module_tensors(((model *)state)->net, n); }

static void release(void *state) {
  model *m = state;
  iso_optimizer_free(m->adam);
  iso_module_free(m->net);
  free(m);
}

int main(int argc, char **argv) {
  static const iso_compare_model own = {.make = make, .step = step, .tensors = tensors, .free = release};
  static const iso_compare_policy policies[] = {{.name = "fast"}, {.name = "balanced"}, {.name = "default"}};
  const iso_compare_options options = {
      .model = &own, .n_policies = 3, .policies = policies, .n_steps = argc > 1 ? strtoull(argv[1], NULL, 10) : 100};
  iso_comparison *c;
  char why[256];
  if (iso_compare(&options, &c, why, sizeof why)) return fprintf(stderr, "%s\n", why), 1;
  bool kept = true;
  for (int p = 0; p < c->n_rows; p++) {
    const iso_compare_row *row = &c->row[p];
    const iso_compare_run *run = &row->run[0];
    printf("%-10s %6.2f ms a step, %.1f MiB, loss %.6f, %d and %d threads: %s bits\n", row->name, row->step_ms.median,
           run->peak_memory_mib, run->steps[run->n_steps - 1].loss, run->n_threads, row->run[1].n_threads,
           row->same_bits ? "the same" : "other");
    kept &= row->promise_kept;
  }
  iso_comparison_free(c);
  return !kept;
}
