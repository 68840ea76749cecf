/* plan_memory.c: what a training job will hold when it holds most, known before it starts.
 *
 * The largest batch of the whole training is loaded, and one forward and backward pass of it is gone through dry: every
 * operator asks for its memory, and no engine runs. What the heap counted is the peak, by owner, in a fraction of a
 * step's time and without the memory itself, so that a job that does not fit is found out by one that does. What would
 * be measured asks for the measurement's memory, and goes on with the rule's choice: another's workspace may differ. */
#include "autograd/tape.h"
#include "base/dry.h"
#include "train/trainer.h"
#include <string.h>

static iso_status check(iso_trainer *t, const iso_memory_plan_options *o) {
  if (!iso__is_on_cpu(t->ctx))
    return ISO__FAIL(t->ctx, ISO_UNSUPPORTED, "plan_memory",
                     "memory is planned for the CPU, not for %s: plan there, activations and weights are as large",
                     iso_context_device(t->ctx));
  if (o->leaves < 0 || o->leaves > 65536 || (o->leaves & (o->leaves - 1)))
    return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "plan_memory", "leaves is %d, must be a power of two", o->leaves);
  if (o->batch_size < 0 || o->batch_size > t->recipe.batch_size)
    return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "plan_memory", "batch_size is %lld, must be 1 to the job's, %lld",
                     (long long)o->batch_size, (long long)t->recipe.batch_size);
  return ISO_OK;
}

/* Only the first n samples. */
static void cut(iso_trainer *t, iso__samples *batch, int64_t n) {
  if (!n || n >= batch->n_total) return;
  batch->x = iso_slice(t->ctx, batch->x, 0, 0, n, 1), batch->y = iso_slice(t->ctx, batch->y, 0, 0, n, 1);
  if (batch->lengths) batch->lengths = iso_slice(t->ctx, batch->lengths, 0, 0, n, 1);
  batch->n_total = n;
}

static void describe(const iso__samples *batch, iso_memory_plan *out) {
  const int64_t *shape = iso_tensor_shape(batch->x);
  const int n_dims = iso_tensor_n_dims(batch->x);
  out->n_samples = batch->n_total;
  if (batch->lengths) out->length = shape[1];
  else if (n_dims == 4) out->height = shape[2], out->width = shape[3];
}

/* What an update changes on the host: how often each parameter was updated. */
typedef struct counts {
  size_t n_bytes[2];
  void *kept[2], *data[2];
} counts;

static iso_status keep_counts(iso_trainer *t, counts *c) {
  size_t n;
  const iso_named_tensor *state = iso_optimizer_state(t->optimizer, &n);
  *c = (counts){0};
  for (size_t i = 0, k = 0; i < n && k < 2; i++) {
    if (strcmp(state[i].name, "steps") != 0 && strcmp(state[i].name, "mu_products") != 0) continue;
    c->n_bytes[k] = state[i].tensor->view.storage->n_bytes, c->data[k] = iso_tensor_data(state[i].tensor);
    if (!(c->kept[k] = iso__alloc(t->ctx, c->n_bytes[k]))) break;
    memcpy(c->kept[k], c->data[k], c->n_bytes[k]);
    k++;
  }
  return t->ctx->error.code;
}

static void restore_counts(iso_trainer *t, counts *c) {
  for (int k = 0; k < 2; k++) {
    if (c->kept[k]) memcpy(c->data[k], c->kept[k], c->n_bytes[k]);
    iso__free(t->ctx, c->kept[k], c->n_bytes[k]);
  }
}

static iso_status step(iso_trainer *t, const iso__samples *batch) {
  iso__samples own = *batch; /* whose handles become the scope's */
  double loss, norm;
  iso_scope_push(t->ctx);
  iso_status status = iso__trainer_gradients(t, &own, &loss);
  if (!status && t->recipe.clip_norm > 0)
    status = iso_optimizer_clip_grad_norm(t->optimizer, 0, &norm); /* to 0: the norm is 0, and all is to be scaled */
  if (!status) status = iso_optimizer_step(t->optimizer);
  iso_optimizer_zero_grad(t->optimizer);
  iso_scope_pop(t->ctx);
  return status;
}

/* A step; nothing is left of it. */
static iso_status go_through(iso_trainer *t, const iso__samples *batch, iso__heap_peak *found) {
  iso__place *place = iso__place_of(t->ctx);
  const iso__place kept = *place;
  iso__heap_peak before;
  counts updates;
  iso_optimizer_zero_grad(t->optimizer);
  iso_status status = keep_counts(t, &updates);
  t->ctx->device_changes(t->ctx); /* the workspace lent so far: this step's alone counts */
  iso__heap_dry_begin(t->ctx->heap, &before);
  if (!status) status = step(t, batch); /* measures, where it may */
  iso_policy policy = *iso_policy_current(t->ctx);
  if (policy.tuning == ISO_TUNING_MEASURE) policy.tuning = ISO_TUNING_RULE;
  if (!status && !(status = iso_policy_push(t->ctx, &policy))) {
    status = step(t, batch); /* with as much workspace as there will be */
    iso_policy_pop(t->ctx);
  }
  t->ctx->device_changes(t->ctx);
  *found = iso__heap_dry_end(t->ctx->heap, &before);
  if (before.n_bytes > found->n_bytes) *found = before; /* making the model took more */
  *place = kept;
  restore_counts(t, &updates);
  return status;
}

/* As the options say, then back to how it was. */
static iso_status with_options(iso_trainer *t, const iso_memory_plan_options *o, const iso__samples *batch,
                               iso__heap_peak *found) {
  iso_policy policy = *iso_policy_current(t->ctx);
  if (o->leaves) policy.leaves = o->leaves;
  iso_status status = iso_policy_push(t->ctx, &policy);
  if (status) return status;
  if (o->checkpointing) iso_module_checkpoint_blocks(t->model, o->checkpointing > 0);
  status = go_through(t, batch, found);
  if (o->checkpointing) iso_module_checkpoint_blocks(t->model, t->recipe.checkpointing);
  iso_policy_pop(t->ctx);
  return status;
}

iso_status iso_trainer_plan_memory(iso_trainer *t, const iso_memory_plan_options *options, iso_memory_plan *out) {
  const iso_memory_plan_options o = options ? *options : (iso_memory_plan_options){0};
  *out = (iso_memory_plan){0};
  if (!t || iso__failed(t->ctx)) return t ? t->ctx->error.code : ISO_INVALID_ARGUMENT;
  iso__samples batch;
  iso__heap_peak found = {0};
  uint32_t epoch;
  int64_t at;
  iso_status status = check(t, &o);
  if (status) return status;
  t->task->position(t->loader, &epoch, &at);
  if ((status = t->task->largest(t, &out->epoch, &out->batch)) ||
      (status = t->task->seek(t->loader, out->epoch, out->batch)))
    return status;
  iso_scope_push(t->ctx);
  if (t->task->next(t->loader, &batch)) {
    cut(t, &batch, o.batch_size);
    describe(&batch, out);
    status = iso__failed(t->ctx) ? t->ctx->error.code : with_options(t, &o, &batch, &found);
  } else {
    status = t->ctx->error.code;
  }
  iso_scope_pop(t->ctx);
  if (!status) status = t->task->seek(t->loader, epoch, at);
  out->peak_bytes = found.n_bytes;
  out->at_peak = iso__owners_of(found.owned);
  out->limit_bytes = iso_memory_get_info(t->ctx).limit_bytes;
  out->n_steps = t->recipe.n_steps;
  return status;
}
