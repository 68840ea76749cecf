/* trainer.c: a vision training job: what it is made of, and one step of it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/clock.h"
#include "device/trace.h"
#include "tensor/tensor.h"
#include "train/trainer.h"

static const char *or_default(const char *text, const char *usual) { return text && *text ? text : usual; }

/* Zeros become the usual values; strings move into the trainer. */
static void fill_defaults(iso_trainer *t, const iso_vision_options *options) {
  iso_vision_options *o = &t->options;
  *o = options ? *options : (iso_vision_options){0};
  const char *const texts[6] = {or_default(o->model, "cnn"),     or_default(o->data_folder, ISO_FASHION_MNIST_FOLDER),
                                or_default(o->optimizer, "sgd"), or_default(o->schedule, "cosine"),
                                or_default(o->image_sizes, ""),  or_default(o->capture, "auto")};
  for (int i = 0; i < 6; i++)
    if ((size_t)snprintf(t->names[i], sizeof t->names[i], "%s", texts[i]) >= sizeof t->names[i])
      ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "train", "'%.40s…' is longer than %zu bytes", texts[i],
                sizeof t->names[i] - 1);
  o->model = t->names[0], o->data_folder = t->names[1], o->optimizer = t->names[2], o->schedule = t->names[3];
  o->image_sizes = t->names[4], o->capture = t->names[5];
  if (!o->batch_size) o->batch_size = 64;
  const bool sgd = !strcmp(o->optimizer, "sgd");
  if (o->lr == 0) o->lr = iso__usual_lr(o->optimizer);
  o->momentum = o->momentum < 0 || !sgd ? 0 : o->momentum == 0 ? 0.9 : o->momentum;
  o->weight_decay = o->weight_decay < 0 ? 0 : o->weight_decay == 0 ? 5e-4 : o->weight_decay;
}

/* "24,32" into t->sizes. */
static bool read_sizes(iso_trainer *t) {
  const char *at = t->options.image_sizes;
  if (!*at) return true;
  while (t->n_sizes < 16) {
    char *end;
    const long v = strtol(at, &end, 10);
    if (end == at || v < 1 || v > 8192 || (*end && *end != ',')) return false;
    t->sizes[t->n_sizes++] = (int)v;
    if (!*end) return true;
    at = end + 1;
  }
  return false;
}

static iso_status check(iso_trainer *t) {
  const iso_vision_options *o = &t->options;
  iso_context *ctx = t->ctx;
  if (o->batch_size < 1)
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "train", "batch_size is %lld, must be at least 1",
                     (long long)o->batch_size);
  if (!(o->lr > 0) || isinf(o->lr))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "train", "lr is %g, must be positive and finite", o->lr);
  if (!(o->momentum < 1))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "train", "momentum is %g, must be below 1", o->momentum);
  if (o->n_workers < 0 || o->n_workers > 256)
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "train", "n_workers is %d, must be 0 to 256", o->n_workers);
  if (o->image_size < 0)
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "train", "image_size is %d, must not be negative", o->image_size);
  if (!read_sizes(t))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "train",
                     "image_sizes is '%.60s', must be up to 16 numbers from 1 to 8192 with commas between",
                     o->image_sizes);
  if (o->clip_norm < 0 || isnan(o->clip_norm))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "train", "clip_norm is %g, must not be negative", o->clip_norm);
  if (strcmp(o->capture, "auto") != 0 && strcmp(o->capture, "off") != 0)
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "train", "capture is '%.40s'; there are auto, off", o->capture);
  if (!isfinite(o->weight_decay))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "train", "weight_decay is %g, must be finite", o->weight_decay);
  return ISO_OK;
}

/* FOLDER/name into path; whether that is a folder. */
static bool find_folder(const iso_trainer *t, const char *name, char path[4096]) {
  struct stat info;
  return snprintf(path, 4096, "%s/%s", t->options.data_folder, name) < 4096 && stat(path, &info) == 0 &&
         S_ISDIR(info.st_mode);
}

static iso_dataset *open_split(iso_trainer *t, iso_split split) {
  const bool test = split == ISO_SPLIT_TEST;
  char path[4096];
  if (!strcmp(t->options.data_folder, "synthetic"))
    return iso_dataset_synthetic(
        t->ctx, &(iso_synthetic_options){.n_samples = test ? 512 : 4096, .first_sample = test ? 4096 : 0});
  t->files = find_folder(t, "train", path);
  if (!t->files)
    return iso_dataset_open_idx(t->ctx,
                                &(iso_idx_options){.folder = t->options.data_folder,
                                                   .split = split,
                                                   .n_classes = test ? iso_dataset_get_info(t->data[0]).n_classes : 0});
  if (test && !find_folder(t, "val", path)) find_folder(t, "test", path);
  return iso_dataset_open_images(
      t->ctx,
      &(iso_image_folder_options){.folder = path, .height = t->options.image_size, .width = t->options.image_size});
}

/* Labels mean the same in both. */
static iso_status check_classes(iso_trainer *t) {
  const int n = iso_dataset_get_info(t->data[0]).n_classes, n_test = iso_dataset_get_info(t->data[1]).n_classes;
  for (int c = 0; c < n || c < n_test; c++) {
    const char *a = iso_dataset_class_name(t->data[0], c), *b = iso_dataset_class_name(t->data[1], c);
    if (!a || !b || strcmp(a, b) != 0)
      return ISO__FAIL(t->ctx, ISO_SHAPE_MISMATCH, "train", "class %d is '%.60s' in training but '%.60s' in testing", c,
                       a ? a : "(none)", b ? b : "(none)");
  }
  return ISO_OK;
}

static iso_status open_data(iso_trainer *t) {
  for (int s = 0; s < 2; s++)
    if (!(t->data[s] = open_split(t, (iso_split)s))) return t->ctx->error.code;
  if (t->files && check_classes(t)) return t->ctx->error.code;
  if (!t->files && (t->options.image_size || t->n_sizes))
    return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "train",
                     "image sizes are given, but '%.100s' holds no folder 'train' of PNG and JPEG files",
                     t->options.data_folder);
  const iso_dataset_info info = iso_dataset_get_info(t->data[0]), test = iso_dataset_get_info(t->data[1]);
  if (info.channels != test.channels || info.height != test.height || info.width != test.width)
    return ISO__FAIL(t->ctx, ISO_SHAPE_MISMATCH, "train", "training images are (%d,%d,%d) but test images (%d,%d,%d)",
                     info.channels, info.height, info.width, test.channels, test.height, test.width);
  if (info.channels > 16)
    return ISO__FAIL(t->ctx, ISO_UNSUPPORTED, "train", "images have %d channels; at most 16 are supported",
                     info.channels);
  /* Fashion-MNIST's own statistics where it has one channel; else the middle of the range. */
  for (int c = 0; c < info.channels; c++)
    t->mean[c] = info.channels == 1 ? 0.2860 : 0.5, t->std[c] = info.channels == 1 ? 0.3530 : 0.25;
  return ISO_OK;
}

static iso_status open_model(iso_trainer *t) {
  const iso_dataset_info info = iso_dataset_get_info(t->data[0]);
  iso_init_restart(t->ctx);
  t->model = iso_model_new(t->ctx, t->options.model,
                           &(iso_model_config){info.channels, info.height, info.width, info.n_classes});
  return t->model ? ISO_OK : t->ctx->error.code;
}

static iso_status open_optimizer(iso_trainer *t) {
  size_t n;
  const iso_named_tensor *tensors = iso_module_tensors(t->model, &n);
  t->optimizer = iso__optimizer_by_name(t->ctx, n, tensors, &t->options);
  return t->optimizer ? ISO_OK : t->ctx->error.code;
}

static iso_status open_schedule(iso_trainer *t) {
  static const char *const names[] = {"constant", "step", "cosine"};
  const iso_vision_options *o = &t->options;
  for (int k = 0; k < 3; k++) {
    if (strcmp(o->schedule, names[k]) != 0) continue;
    const uint64_t n = o->n_steps > o->warmup_steps ? o->n_steps - o->warmup_steps : 1;
    t->schedule = (iso_schedule){.kind = (iso_schedule_kind)k,
                                 .lr = o->lr,
                                 .warmup_steps = o->warmup_steps,
                                 .period = k == ISO_SCHEDULE_STEP ? (n + 2) / 3 : n};
    return ISO_OK;
  }
  return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "train", "schedule is '%s'; there are constant, step, cosine",
                   o->schedule);
}

static iso_status open_loader(iso_trainer *t) {
  const iso_vision_options *o = &t->options;
  const iso_image_transform transform = {.random_resized_crop = o->augment};
  t->loader = iso_loader_new(t->ctx, t->data[0],
                             &(iso_loader_options){.batch_size = o->batch_size,
                                                   .n_workers = o->n_workers,
                                                   .shuffle = true,
                                                   .drop_last = true,
                                                   .on_device = true,
                                                   .crop_padding = o->augment && !t->files ? 2 : 0,
                                                   .flip = o->augment,
                                                   .transform = t->files ? &transform : NULL,
                                                   .n_sizes = t->n_sizes,
                                                   .sides = t->sizes,
                                                   .seed = iso_policy_current(t->ctx)->seed,
                                                   .mean = t->mean,
                                                   .std = t->std});
  if (!t->loader) return t->ctx->error.code;
  if (iso_loader_n_batches(t->loader) == 0)
    return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "train",
                     "batch_size %lld is larger than the data set of %lld samples", (long long)o->batch_size,
                     (long long)iso_dataset_get_info(t->data[0]).n_samples);
  const uint64_t n_batches = (uint64_t)iso_loader_n_batches(t->loader);
  if (!o->n_steps && __builtin_mul_overflow(n_batches, o->n_epochs ? o->n_epochs : 1, &t->options.n_steps))
    return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "train", "n_epochs is %llu: too many steps to count",
                     (unsigned long long)o->n_epochs);
  return ISO_OK;
}

/* Data sets stay on the CPU, from which batches are copied to the context's device; weights start there too. */
static iso_status open_on_host(iso_trainer *t) {
  const iso__device *device = iso__host_enter(t->ctx);
  const iso_status status = open_data(t);
  const iso_status made = status ? status : open_model(t);
  iso__host_leave(t->ctx, device);
  return made;
}

iso_trainer *iso_trainer_new(iso_context *ctx, const iso_vision_options *options) {
  iso_trainer *t = iso__failed(ctx) ? NULL : iso__zalloc(ctx, sizeof *t);
  if (!t) return NULL;
  t->ctx = ctx;
  fill_defaults(t, options);
  if (iso__failed(ctx) || check(t) || open_on_host(t) || iso_module_to(t->model, iso_context_device(ctx)) ||
      open_optimizer(t) || open_loader(t) || open_schedule(t)) {
    iso_trainer_free(t);
    return NULL;
  }
  return t;
}

void iso_trainer_free(iso_trainer *t) {
  if (!t) return;
  iso__hash_log_close(t);
  iso__captured_release(t);
  iso_loader_free(t->loader);
  iso_optimizer_free(t->optimizer);
  iso_module_free(t->model);
  iso_dataset_free(t->data[0]);
  iso_dataset_free(t->data[1]);
  iso__free(t->ctx, t, sizeof *t);
}

/* Clips if asked, then updates. */
static iso_status update(iso_trainer *t, iso_step_info *info) {
  if (t->options.clip_norm > 0) {
    const iso_status status = iso_optimizer_clip_grad_norm(t->optimizer, t->options.clip_norm, &info->grad_norm);
    if (status) return status;
  }
  iso_optimizer_set_lr(t->optimizer, info->lr);
  return iso_optimizer_step(t->optimizer);
}

static iso_status step_in_scope(iso_trainer *t, iso_step_info *info) {
  const uint64_t begin = iso__clock_ns();
  iso_batch batch;
  const size_t span = iso__span_enter(t->ctx, "data", ISO_TRACE_DATA);
  const bool has_batch = iso_loader_next(t->loader, &batch);
  iso__mark_leave(t->ctx, span);
  if (!has_batch) return t->ctx->error.code;
  if (t->log && iso__hash_log_batch(t, batch.x, batch.y)) return t->ctx->error.code;
  *info = (iso_step_info){
      .step = t->step, .epoch = batch.epoch, .n_samples = batch.n_total, .lr = iso_schedule_lr(&t->schedule, t->step)};
  iso_status status = iso__trainer_gradients(t, &batch, &info->loss);
  if (status) return status;
  if (!isfinite(info->loss))
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
uint64_t iso_trainer_steps_per_epoch(const iso_trainer *t) { return t ? (uint64_t)iso_loader_n_batches(t->loader) : 0; }
iso_module *iso_trainer_model(const iso_trainer *t) { return t ? t->model : NULL; }
iso_dataset_info iso_trainer_data_info(const iso_trainer *t, iso_split split) {
  return iso_dataset_get_info(t && (split == ISO_SPLIT_TRAIN || split == ISO_SPLIT_TEST) ? t->data[split] : NULL);
}
