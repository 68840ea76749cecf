/* trainer.c: a training job of any task: what it is made of, and one step of it. */
#include <math.h>
#include "base/clock.h"
#include "device/trace.h"
#include "tensor/tensor.h"
#include "train/passes.h"
#include "train/trainer.h"

static iso_status open_loader(iso_trainer *t) {
  iso__recipe *r = &t->recipe;
  t->loader = t->task->loader_new(t, ISO_SPLIT_TRAIN, false);
  if (!t->loader) return t->ctx->error.code;
  const uint64_t n_batches = (uint64_t)t->task->n_batches(t->loader);
  if (n_batches == 0)
    return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "train",
                     "batch_size %lld is larger than the data set of %lld samples", (long long)r->batch_size,
                     (long long)t->task->info(t, ISO_SPLIT_TRAIN).n_samples);
  if (!r->n_steps && __builtin_mul_overflow(n_batches, r->n_epochs ? r->n_epochs : 1, &r->n_steps))
    return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "train", "n_epochs is %llu: too many steps to count",
                     (unsigned long long)r->n_epochs);
  return ISO_OK;
}

/* Data sets stay on the CPU, from which batches are copied to the context's device; weights start there too. */
static iso_status open_on_host(iso_trainer *t) {
  const iso__device *device = iso__host_enter(t->ctx);
  const iso_status status = t->task->open(t);
  iso__host_leave(t->ctx, device);
  return status;
}

static iso_status checkpoint_blocks(iso_trainer *t) {
  if (t->recipe.checkpointing && iso_module_checkpoint_blocks(t->model, true) == 0)
    iso__warn(t->ctx, "model %s is not made of blocks: checkpointing changes nothing", t->recipe.model);
  return t->ctx->error.code;
}

iso_trainer *iso__trainer_new(iso_context *ctx, const iso__task *task, const void *options,
                              void (*fill)(iso_trainer *t, const void *options)) {
  iso_trainer *t = iso__failed(ctx) ? NULL : iso__zalloc(ctx, sizeof *t);
  if (!t) return NULL;
  t->ctx = ctx, t->task = task;
  fill(t, options);
  if (iso__failed(ctx) || open_on_host(t) || checkpoint_blocks(t) || iso_module_to(t->model, iso_context_device(ctx)) ||
      iso__recipe_open_optimizer(t) || open_loader(t) || iso__recipe_open_schedule(t) ||
      iso__recipe_open_precision(t)) {
    iso_trainer_free(t);
    return NULL;
  }
  return t;
}

void iso_trainer_free(iso_trainer *t) {
  if (!t) return;
  iso__hash_log_close(t);
  iso__captured_release(t);
  iso__passes_release(t);
  if (t->loader) t->task->loader_free(t->loader);
  iso_grad_scaler_free(t->scaler);
  iso_optimizer_free(t->optimizer);
  iso_module_free(t->model);
  t->task->close(t);
  iso__trainer_free_texts(t);
  iso__free(t->ctx, t, sizeof *t);
}

/* In f16: what was scaled before backward; *found: a gradient is not finite, and the step is skipped. */
static iso_status unscale(iso_trainer *t, bool *found) {
  const iso_status status = t->scaler ? iso_grad_scaler_unscale(t->scaler, t->optimizer) : ISO_OK;
  *found = t->scaler && iso_grad_scaler_get_report(t->scaler).found;
  return status;
}

static iso_status end_scaled(iso_trainer *t, iso_step_info *info) {
  bool stepped;
  const iso_grad_scaler_report r = iso_grad_scaler_get_report(t->scaler);
  iso_status status;
  if ((status = iso_grad_scaler_step(t->scaler, t->optimizer, &stepped)) ||
      (status = iso_grad_scaler_update(t->scaler)))
    return status;
  info->skipped = !stepped;
  if (!stepped)
    iso__warn(t->ctx, "step %llu is skipped: the gradient of '%s' is %g at element %lld (scale %g, now %g)",
              (unsigned long long)t->step, r.tensor, r.value, (long long)r.element, r.scale,
              iso_grad_scaler_get_scale(t->scaler));
  return ISO_OK;
}

/* Clips if asked, then updates. */
static iso_status update(iso_trainer *t, iso_step_info *info) {
  bool found;
  iso_status status = unscale(t, &found);
  if (!status && t->recipe.clip_norm > 0 && !found)
    status = iso_optimizer_clip_grad_norm(t->optimizer, t->recipe.clip_norm, &info->grad_norm);
  if (status) return status;
  iso_optimizer_set_lr(t->optimizer, info->lr);
  return t->scaler ? end_scaled(t, info) : iso_optimizer_step(t->optimizer);
}

/* In f16 an overflow of the forward pass skips the step like one of backward, as long as there is a scale to take back.
 */
static bool is_lost(const iso_trainer *t, double loss) {
  return !isfinite(loss) && !(t->scaler && iso_grad_scaler_get_scale(t->scaler) > 1);
}

static iso_status step_in_scope(iso_trainer *t, iso_step_info *info) {
  const uint64_t begin = iso__clock_ns();
  iso__samples batch;
  const size_t span = iso__span_enter(t->ctx, "data", ISO_TRACE_DATA);
  const bool has_batch = t->task->next(t->loader, &batch);
  iso__mark_leave(t->ctx, span);
  if (!has_batch) return t->ctx->error.code;
  if (t->log && iso__hash_log_batch(t, batch.x, batch.y)) return t->ctx->error.code;
  *info = (iso_step_info){.step = t->step,
                          .epoch = batch.epoch,
                          .n_samples = batch.n_total,
                          .n_tokens = batch.n_tokens,
                          .n_padding = batch.n_padding,
                          .scale = iso_grad_scaler_get_scale(t->scaler),
                          .lr = iso_schedule_lr(&t->schedule, t->step)};
  iso_status status = iso__trainer_gradients(t, &batch, &info->loss);
  if (status) return status;
  if (is_lost(t, info->loss))
    return ISO__FAIL(t->ctx, ISO_DIVERGED, "train", "the loss of step %llu is %g", (unsigned long long)t->step,
                     info->loss);
  uint64_t hashing = iso__clock_ns();
  if (t->log && (status = iso__hash_log_gradients(t, info->loss))) return status;
  hashing = iso__clock_ns() - hashing;
  if ((status = update(t, info))) return status;
  info->time_ms = (double)(iso__clock_ns() - begin - hashing) / 1e6;
  if (t->log && (status = iso__hash_log_weights(t))) return status;
  t->step++;
  return ISO_OK;
}

iso_status iso_trainer_step(iso_trainer *t, iso_step_info *info) {
  if (!t || iso__failed(t->ctx)) return t ? t->ctx->error.code : ISO_INVALID_ARGUMENT;
  iso_step_info unused;
  iso__trace *trace = iso__trace_of(t->ctx);
  if (trace) trace->step = t->step;
  const size_t span = iso__span_enter(t->ctx, "step", ISO_TRACE_FORWARD);
  iso_scope_push(t->ctx);
  iso_status status = iso__hash_log_begin(t);
  if (!status) status = step_in_scope(t, info ? info : &unused);
  iso__hash_log_end(t);
  iso_optimizer_zero_grad(t->optimizer);
  iso_scope_pop(t->ctx);
  iso__mark_leave(t->ctx, span);
  return status;
}

bool iso_trainer_is_captured(const iso_trainer *t) { return t && t->captured.loss; }
uint64_t iso_trainer_next_step(const iso_trainer *t) { return t ? t->step : 0; }
const char *iso_trainer_precision(const iso_trainer *t) { return t ? t->recipe.precision : "f32"; }
uint64_t iso_trainer_n_skipped(const iso_trainer *t) { return t ? iso_grad_scaler_get_report(t->scaler).n_skipped : 0; }
uint64_t iso_trainer_n_steps(const iso_trainer *t) { return t ? t->recipe.n_steps : 0; }
uint64_t iso_trainer_steps_per_epoch(const iso_trainer *t) { return t ? (uint64_t)t->task->n_batches(t->loader) : 0; }
iso_module *iso_trainer_model(const iso_trainer *t) { return t ? t->model : NULL; }
iso_dataset_info iso_trainer_data_info(const iso_trainer *t, iso_split split) {
  const bool known = t && (split == ISO_SPLIT_TRAIN || split == ISO_SPLIT_TEST);
  return known ? t->task->info(t, split) : (iso_dataset_info){0};
}
