/* train_mlp.c: trains a small classifier twice, on one thread and on two, and compares the weights bit for bit. */
#include <isobit/isobit.h>
#include <stdio.h>
#include <string.h>

static bool train(int n_threads, char hash[33]) {
  iso_context *ctx;
  if (iso_context_new(&(iso_context_options){.n_threads = n_threads}, &ctx) != ISO_OK) return false;
  iso_module *net = iso_sequential(ctx, 3,
                                   (iso_module *[]){iso_linear_module(ctx, 16, 64, true), iso_relu_module(ctx),
                                                    iso_linear_module(ctx, 64, 4, true)});
  size_t n;
  const iso_named_tensor *weights = iso_module_tensors(net, &n);
  iso_optimizer *sgd = iso_sgd_new(ctx, n, weights, &(iso_sgd_options){.lr = 0.1, .momentum = 0.9});
  iso_tensor *x = iso_random_normal(ctx, ISO_F32, 2, ISO_DIMS(512, 16), 0, 1);
  iso_tensor *y = iso_argmax(ctx, iso_slice(ctx, x, 1, 0, 4, 1), 1, false); /* which of the first four is largest */
  double value = 0;
  for (int step = 0; step < 200; step++) {
    iso_scope_push(ctx);
    iso_tensor *loss = iso_cross_entropy(ctx, iso_module_forward(net, x), y, NULL);
    iso_backward(loss);
    iso_optimizer_step(sgd);
    iso_optimizer_zero_grad(sgd);
    iso_tensor_item(loss, &value);
    iso_scope_pop(ctx); /* everything the step made is gone */
  }
  bool ok = iso_error_code(ctx) == ISO_OK && iso_tensor_hash(weights[0].tensor, hash) == ISO_OK;
  printf("%d threads: loss %.6f, weights %s%s\n", n_threads, value, hash, iso_error_message(ctx));
  iso_optimizer_free(sgd);
  iso_module_free(net);
  iso_context_free(ctx);
  return ok;
}

int main(void) {
  char one[33] = "", two[33] = "";
  bool same = train(1, one) && train(2, two) && strcmp(one, two) == 0;
  puts(same ? "the same bits" : "not the same bits");
  return !same;
}
