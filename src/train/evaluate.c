/* evaluate.c: loss and accuracy of a model over a loader's batches: the test split's, of a trainer. */
#include "train/evaluate.h"
#include "base/fenv.h"
#include "train/trainer.h"

/* Adds one batch; losses are summed in f64, batches ascending. */
static iso_status add_batch(const iso__evaluating *job, iso__samples *batch, int64_t n, iso_evaluation *e) {
  iso_context *ctx = job->ctx;
  const int64_t *want = iso_tensor_data(batch->y); /* its first n: a batch is dense */
  iso__samples_to_device(ctx, batch);
  iso_tensor *y = iso_slice(ctx, batch->y, 0, 0, n, 1), *logits = iso__samples_forward(job->model, batch, 0, n);
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

static iso_status add_batches(const iso__evaluating *job, iso_evaluation *e) {
  iso_status status = ISO_OK;
  iso__samples batch;
  bool more = true;
  while (more && !status && e->n_samples < job->limit) {
    iso_scope_push(job->ctx);
    const int64_t left = job->limit - e->n_samples;
    more = job->next(job->loader, &batch);
    status = more ? add_batch(job, &batch, batch.n_total < left ? batch.n_total : left, e) : job->ctx->error.code;
    iso_scope_pop(job->ctx);
  }
  return status;
}

iso_status iso__evaluate(const iso__evaluating *job, iso_evaluation *out) {
  iso_no_grad_push(job->ctx);
  iso_module_train(job->model, false);
  const iso__fenv saved = iso__fenv_enter(); /* the sum over batches and the means are the host's */
  iso_status status = iso_module_pack(job->model, true);
  if (status == ISO_OK) status = add_batches(job, out);
  if (out->n_samples)
    out->loss /= (double)out->n_samples, out->accuracy = (double)out->n_correct / (double)out->n_samples;
  iso__fenv_leave(saved);
  iso_module_pack(job->model, false);
  iso_module_train(job->model, true);
  iso_no_grad_pop(job->ctx);
  return status;
}

iso_status iso_trainer_evaluate(iso_trainer *t, int64_t limit, iso_evaluation *out) {
  if (!t || !out || iso__failed(t->ctx)) return t && iso__failed(t->ctx) ? t->ctx->error.code : ISO_INVALID_ARGUMENT;
  *out = (iso_evaluation){0};
  const int64_t n = t->task->info(t, ISO_SPLIT_TEST).n_samples;
  const bool part = limit > 0 && limit < n;
  void *loader = t->task->loader_new(t, ISO_SPLIT_TEST, part);
  if (!loader) return t->ctx->error.code;
  const iso__evaluating job = {
      .ctx = t->ctx, .model = t->model, .loader = loader, .next = t->task->next, .limit = part ? limit : n};
  const iso_status status = iso__evaluate(&job, out);
  t->task->loader_free(loader);
  return status;
}
