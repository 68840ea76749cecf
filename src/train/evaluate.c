/* evaluate.c: loss and accuracy on the test split. */
#include "base/fenv.h"
#include "train/trainer.h"

/* Adds one batch; losses are summed in f64, batches ascending. */
static iso_status add_batch(iso_trainer *t, iso__samples *batch, int64_t n, iso_evaluation *e) {
  iso_context *ctx = t->ctx;
  const int64_t *want = iso_tensor_data(batch->y); /* its first n: a batch is dense */
  iso__batch_to_device(t, batch);
  iso_tensor *y = iso_slice(ctx, batch->y, 0, 0, n, 1), *logits = iso__trainer_forward(t, batch, 0, n);
  iso_tensor *loss = iso_cross_entropy(ctx, logits, y, &(iso_cross_entropy_options){.count = 1});
  iso_tensor *best = iso_to(ctx, iso_argmax(ctx, logits, 1, false), "cpu");
  double sum;
  if (!best || iso_tensor_item(loss, &sum)) return ctx->error.code;
  const int64_t *got = iso_tensor_data(best);
  for (int64_t i = 0; i < n; i++) e->n_correct += got[i] == want[i];
  e->loss += sum;
  e->n_samples += n;
  return ISO_OK;
}

static iso_status evaluate(iso_trainer *t, void *loader, int64_t limit, iso_evaluation *e) {
  iso_status status = ISO_OK;
  iso__samples batch;
  while (!status && e->n_samples < limit) {
    iso_scope_push(t->ctx);
    const int64_t left = limit - e->n_samples;
    if (t->task->next(loader, &batch)) status = add_batch(t, &batch, batch.n_total < left ? batch.n_total : left, e);
    else status = t->ctx->error.code, limit = 0;
    iso_scope_pop(t->ctx);
  }
  return status;
}

iso_status iso_trainer_evaluate(iso_trainer *t, int64_t limit, iso_evaluation *out) {
  if (!t || !out || iso__failed(t->ctx)) return t && iso__failed(t->ctx) ? t->ctx->error.code : ISO_INVALID_ARGUMENT;
  *out = (iso_evaluation){0};
  const int64_t n = t->task->info(t, ISO_SPLIT_TEST).n_samples;
  void *loader = t->task->loader_new(t, ISO_SPLIT_TEST, limit > 0 && limit < n);
  if (!loader) return t->ctx->error.code;
  iso_no_grad_push(t->ctx);
  iso_module_train(t->model, false);
  const iso__fenv saved = iso__fenv_enter(); /* the sum over batches and the means are the host's */
  iso_status status = iso_module_pack(t->model, true);
  if (status == ISO_OK) status = evaluate(t, loader, limit > 0 && limit < n ? limit : n, out);
  if (out->n_samples)
    out->loss /= (double)out->n_samples, out->accuracy = (double)out->n_correct / (double)out->n_samples;
  iso__fenv_leave(saved);
  iso_module_pack(t->model, false);
  iso_module_train(t->model, true);
  iso_no_grad_pop(t->ctx);
  t->task->loader_free(loader);
  return status;
}
