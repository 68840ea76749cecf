/* recipe.c: what every task's options say of how it learns: checked, and made into optimiser and schedule. */
#include <math.h>
#include <string.h>
#include "train/trainer.h"

enum { MAX_TEXT_BYTES = 4096 };

const char *iso__trainer_text(iso_trainer *t, const char *text, const char *usual) {
  if (!text || !*text) text = usual;
  const size_t n_bytes = strlen(text) + 1;
  if (n_bytes > MAX_TEXT_BYTES) {
    ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "train", "'%.40s…' is longer than %d bytes", text, MAX_TEXT_BYTES - 1);
    return "";
  }
  char *copy = iso__alloc(t->ctx, n_bytes);
  if (!copy) return "";
  t->texts[t->n_texts++] = copy;
  return memcpy(copy, text, n_bytes);
}

void iso__trainer_free_texts(iso_trainer *t) {
  for (int i = 0; i < t->n_texts; i++) iso__free(t->ctx, t->texts[i], strlen(t->texts[i]) + 1);
}

iso_status iso__recipe_check(iso_trainer *t, int n_workers) {
  const iso__recipe *r = &t->recipe;
  iso_context *ctx = t->ctx;
  if (r->batch_size < 1)
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "train", "batch_size is %lld, must be at least 1",
                     (long long)r->batch_size);
  if (!(r->lr > 0) || isinf(r->lr))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "train", "lr is %g, must be positive and finite", r->lr);
  if (!(r->momentum < 1))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "train", "momentum is %g, must be below 1", r->momentum);
  if (n_workers < 0 || n_workers > 256)
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "train", "n_workers is %d, must be 0 to 256", n_workers);
  if (r->clip_norm < 0 || isnan(r->clip_norm))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "train", "clip_norm is %g, must not be negative", r->clip_norm);
  if (strcmp(r->capture, "auto") != 0 && strcmp(r->capture, "off") != 0)
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "train", "capture is '%.40s'; there are auto, off", r->capture);
  if (r->pass_leaves < 0 || r->pass_leaves > 64 || (r->pass_leaves & (r->pass_leaves - 1)))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "train", "pass_leaves is %d, must be a power of two, at most 64",
                     r->pass_leaves);
  if (!(r->warmup_share < 1))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "train", "warmup_share is %g, must be below 1", r->warmup_share);
  if (!isfinite(r->weight_decay))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "train", "weight_decay is %g, must be finite", r->weight_decay);
  return ISO_OK;
}

iso_status iso__recipe_open_optimizer(iso_trainer *t) {
  size_t n;
  const iso_named_tensor *tensors = iso_module_tensors(t->model, &n);
  t->optimizer = iso__optimizer_by_name(t->ctx, n, tensors, &t->recipe);
  iso_optimizer_decay_matrices_only(t->optimizer, t->recipe.matrices_only);
  return t->optimizer ? ISO_OK : t->ctx->error.code;
}

iso_status iso__recipe_open_precision(iso_trainer *t) {
  static const struct {
    const char *name;
    iso_dtype dtype;
  } all[] = {{"f32", ISO_F32}, {"bf16", ISO_BF16}, {"f16", ISO_F16}};
  const iso__recipe *r = &t->recipe;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (strcmp(r->precision, all[i].name) != 0) continue;
    t->dtype = all[i].dtype;
    if (*r->autocast && t->dtype == ISO_F32)
      return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "train", "autocast is '%.60s', but precision is f32", r->autocast);
    /* A list that can't be is told now, not after the first batch. */
    if (iso_autocast_push(t->ctx, &(iso_autocast_options){.dtype = t->dtype, .overrides = r->autocast}))
      return t->ctx->error.code;
    iso_autocast_pop(t->ctx);
    if (t->dtype == ISO_F16) t->scaler = iso_grad_scaler_new(t->ctx, NULL);
    return t->ctx->error.code;
  }
  return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "train", "precision is '%.40s'; there are f32, bf16, f16",
                   r->precision);
}

iso_status iso__recipe_open_schedule(iso_trainer *t) {
  static const char *const names[] = {"constant", "step", "cosine", "linear"};
  iso__recipe *r = &t->recipe;
  if (!r->warmup_steps) r->warmup_steps = (uint64_t)((double)r->n_steps * r->warmup_share);
  for (int k = 0; k < 4; k++) {
    if (strcmp(r->schedule, names[k]) != 0) continue;
    const uint64_t n = r->n_steps > r->warmup_steps ? r->n_steps - r->warmup_steps : 1;
    t->schedule = (iso_schedule){.kind = (iso_schedule_kind)k,
                                 .lr = r->lr,
                                 .warmup_steps = r->warmup_steps,
                                 .period = k == ISO_SCHEDULE_STEP ? (n + 2) / 3 : n};
    return ISO_OK;
  }
  return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "train", "schedule is '%s'; there are constant, step, cosine, linear",
                   r->schedule);
}

void iso__recipe_facts(const iso_trainer *t, iso__facts *f) {
  const iso__recipe *r = &t->recipe;
  iso__facts_text(f, "model", true, r->model);
  iso__facts_number(f, "batch_size", true, (uint64_t)r->batch_size);
  iso__facts_text(f, "optimizer", true, r->optimizer);
  iso__facts_double(f, "lr", r->lr);
  iso__facts_double(f, "momentum", r->momentum);
  iso__facts_double(f, "weight_decay", r->weight_decay);
  iso__facts_double(f, "clip_norm", r->clip_norm);
  iso__facts_text(f, "precision", true, r->precision);
  iso__facts_text(f, "autocast", true, r->autocast);
  iso__facts_number(f, "nesterov", true, r->nesterov);
  iso__facts_text(f, "schedule", true, r->schedule);
  iso__facts_number(f, "schedule_steps", strcmp(r->schedule, "constant") != 0, r->n_steps);
  iso__facts_number(f, "warmup_steps", true, r->warmup_steps);
}
