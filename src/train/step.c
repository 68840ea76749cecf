/* step.c: forward and backward of a batch: run, or on a CUDA device recorded once and replayed.
 *
 * The first step of a form runs as usual: it makes the plans. If the next has the same form it is recorded with tensors
 * of its own for the batch, and every later one of that form copies its batch there and replays. Others (another size
 * of images, another policy), and steps that are traced, run as usual in between. The update stays outside: its numbers
 * change from step to step.
 */
#include "train/trainer.h"
#include <string.h>
#include "autograd/tape.h"
#include "device/trace.h"
#include "train/evaluate.h"
#include "train/passes.h"

void iso__samples_to_device(iso_context *ctx, iso__samples *batch) {
  const char *device = iso_context_device(ctx);
  batch->x = iso_to(ctx, batch->x, device);
  if (batch->y) batch->y = iso_to(ctx, batch->y, device);
  if (batch->lengths) batch->lengths = iso_to(ctx, batch->lengths, device);
}

/* ---- forward and backward ---- */

iso_tensor *iso__samples_forward(iso_module *model, const iso__samples *batch, int64_t begin, int64_t end) {
  iso_context *ctx = iso_module_context(model);
  iso_tensor *x = iso_slice(ctx, batch->x, 0, begin, end, 1);
  if (!batch->lengths) return iso_module_forward(model, x);
  return iso_module_forward_sequence(model, x, iso_slice(ctx, batch->lengths, 0, begin, end, 1));
}

/* Loss of samples [begin, end) of the batch, in the job's precision. */
static iso_tensor *loss_of(iso_trainer *t, const iso__samples *batch, int64_t begin, int64_t end) {
  iso_context *ctx = t->ctx;
  if (iso_autocast_push(ctx, &(iso_autocast_options){.dtype = t->dtype, .overrides = t->recipe.autocast})) return NULL;
  iso_tensor *y = iso_slice(ctx, batch->y, 0, begin, end, 1);
  iso_tensor *loss = iso_cross_entropy(
      ctx, iso__samples_forward(t->model, batch, begin, end), y,
      &(iso_cross_entropy_options){.count = (double)batch->n_total, .label_smoothing = t->recipe.label_smoothing});
  iso_autocast_pop(ctx);
  return loss;
}

iso_status iso__trainer_leaf(iso_trainer *t, const iso__samples *batch, int64_t begin, int64_t end, iso_tensor **loss) {
  const size_t span = iso__span_enter(t->ctx, "forward", ISO_TRACE_FORWARD);
  *loss = loss_of(t, batch, begin, end);
  const iso_tensor *scaled = t->scaler ? iso_grad_scaler_scale(t->scaler, *loss) : *loss;
  iso__mark_leave(t->ctx, span);
  return scaled ? iso_backward(scaled) : t->ctx->error.code;
}

static iso_status in_leaves(iso_trainer *t, const iso__samples *batch, int n_leaves, iso_tensor **loss) {
  iso_status status = iso_step_begin(t->ctx, n_leaves);
  const bool in_passes = iso__passes_leaves(t, n_leaves) > 1;
  if (in_passes && !status) status = iso__passes_run(t, batch, n_leaves);
  for (int g = 0; g < n_leaves && !status && !in_passes; g++) {
    int64_t begin, end;
    iso_leaf_range(batch->n_total, n_leaves, g, &begin, &end);
    if (begin == end) continue;
    iso_tensor *l = NULL;
    iso_scope_push(t->ctx);
    (void)((status = iso_leaf_begin(t->ctx, g)) || (status = iso__trainer_leaf(t, batch, begin, end, &l)) ||
           (status = iso_leaf_end(t->ctx, l)));
    iso_scope_pop(t->ctx);
  }
  if (!status) return iso__step_end(t->ctx, loss);
  iso_step_abandon(t->ctx);
  return status;
}

/* The batch lies on the device; *loss is the caller's, in no scope. */
static iso_status compute(iso_trainer *t, const iso__samples *batch, iso_tensor **loss) {
  const int n_leaves = iso_policy_current(t->ctx)->leaves;
  if (n_leaves > 1) return in_leaves(t, batch, n_leaves, loss);
  const iso_status status = iso__trainer_leaf(t, batch, 0, batch->n_total, loss);
  if (*loss) iso__handle_leave(&(*loss)->handle);
  return status;
}

static iso_status run_anew(iso_trainer *t, iso__samples *batch, double *loss) {
  iso_tensor *l = NULL;
  iso__samples_to_device(t->ctx, batch);
  iso_status status = compute(t, batch, &l);
  if (!status) status = iso_tensor_item(l, loss);
  iso_release(l);
  return status;
}

/* ---- the capture ---- */

/* What of a batch a recording reads; lengths may be NULL. */
static void list_tensors(const iso__samples *batch, iso_tensor *list[ISO__N_READ]) {
  list[0] = batch->x, list[1] = batch->y, list[2] = batch->lengths;
}

static bool has_form(const iso_tensor *t, const iso__view *v) {
  const iso__view *own = &t->view;
  return own->dtype == v->dtype && own->n_dims == v->n_dims &&
         !memcmp(own->shape, v->shape, sizeof own->shape[0] * (size_t)v->n_dims) &&
         !memcmp(own->strides, v->strides, sizeof own->strides[0] * (size_t)v->n_dims);
}

static bool has_last_form(const iso__captured *c, const iso__samples *batch) {
  iso_tensor *list[ISO__N_READ];
  list_tensors(batch, list);
  for (int i = 0; i < ISO__N_READ; i++)
    if (list[i] && !has_form(list[i], &c->last[i])) return false;
  return true;
}

static bool has_recorded_form(const iso__captured *c, const iso__samples *batch) {
  iso_tensor *list[ISO__N_READ];
  list_tensors(batch, list);
  for (int i = 0; i < ISO__N_READ; i++)
    if (list[i] && !has_form(list[i], &c->read[i]->view)) return false;
  return true;
}

static void note_form(iso__captured *c, const iso__samples *batch) {
  iso_tensor *list[ISO__N_READ];
  list_tensors(batch, list);
  for (int i = 0; i < ISO__N_READ; i++) {
    if (list[i]) c->last[i] = list[i]->view;
    c->last[i].storage = NULL;
  }
}

/* What decides about a step's numbers. */
static bool decide_alike(const iso_policy *a, const iso_policy *b) {
  return a->repro == b->repro && a->accuracy == b->accuracy && a->math_matmul == b->math_matmul &&
         a->math_conv == b->math_conv && a->vendor == b->vendor && a->references_only == b->references_only &&
         a->rule == b->rule && a->leaves == b->leaves && a->seed == b->seed && a->workspace_limit == b->workspace_limit;
}

/* The recording took labels below the number of classes for granted, if it could. */
static bool can_replay(const iso_trainer *t, const iso__samples *batch) {
  const iso__captured *c = &t->captured;
  return c->loss && !iso__trace_of(t->ctx) && has_recorded_form(c, batch) &&
         batch->y->view.storage->indices_below == c->read[1]->view.storage->indices_below &&
         decide_alike(iso_policy_current(t->ctx), &c->policy);
}

static bool is_worth_recording(const iso_trainer *t, const iso__samples *batch) {
  const iso__captured *c = &t->captured;
  return !iso__is_on_cpu(t->ctx) && !iso__trace_of(t->ctx) && strcmp(t->recipe.capture, "off") != 0 && !c->capture &&
         !c->is_refused && has_last_form(c, batch);
}

static iso_status replay(iso_trainer *t, const iso__samples *batch, double *loss) {
  const iso__captured *c = &t->captured;
  iso_tensor *list[ISO__N_READ];
  iso_status status = ISO_OK;
  list_tensors(batch, list);
  for (int i = 0; i < ISO__N_READ && !status; i++)
    if (list[i]) status = iso_tensor_assign(c->read[i], list[i]);
  (void)(status || (status = iso_capture_replay(c->capture)) || (status = iso_tensor_item(c->loss, loss)));
  return status;
}

void iso__captured_release(iso_trainer *t) {
  iso__captured *c = &t->captured;
  for (int i = 0; i < ISO__N_READ; i++) iso_release(c->read[i]);
  iso_release(c->loss);
  iso_capture_free(c->capture);
  *c = (iso__captured){.is_refused = c->is_refused};
}

/* A copy on the context's device, in no scope. */
static iso_tensor *own_copy(iso_context *ctx, const iso_tensor *t) {
  iso_tensor *copy = iso__tensor_to(ctx, &t->view, iso__device_of(ctx));
  if (copy) iso__handle_leave(&copy->handle);
  return copy;
}

/* What cannot be recorded is told once. */
static void record(iso_trainer *t, const iso__samples *batch) {
  iso__captured *c = &t->captured;
  iso_tensor *list[ISO__N_READ];
  c->policy = *iso_policy_current(t->ctx);
  list_tensors(batch, list);
  for (int i = 0; i < ISO__N_READ; i++) c->read[i] = list[i] ? own_copy(t->ctx, list[i]) : NULL;
  const iso__samples own = {.x = c->read[0], .y = c->read[1], .lengths = c->read[2], .n_total = batch->n_total};
  c->capture = iso_capture_new(t->ctx);
  const bool has_memory = !iso__failed(t->ctx);
  iso_tensor *loss = NULL;
  if (has_memory && iso_capture_begin(c->capture) && !compute(t, &own, &loss))
    c->loss = iso_keep(iso_to(t->ctx, iso_detach(t->ctx, loss), "cpu"));
  iso_release(loss);
  if (has_memory && iso_capture_end(c->capture)) return;
  iso__warn(t->ctx, "steps are not captured into a CUDA graph: %s",
            has_memory ? iso_capture_reason(c->capture) : iso_error_message(t->ctx));
  iso_clear_error(t->ctx);
  c->is_refused = true;
  iso__captured_release(t);
}

iso_status iso__trainer_gradients(iso_trainer *t, iso__samples *batch, double *loss) {
  iso__captured *c = &t->captured;
  if (is_worth_recording(t, batch)) record(t, batch);
  if (can_replay(t, batch)) return replay(t, batch, loss);
  note_form(c, batch);
  return run_anew(t, batch, loss);
}
