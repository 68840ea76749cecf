/* vision.c: the task of classifying images: idx files, folders of PNG and JPEG files, or synthetic ones. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "data/loader.h"
#include "train/trainer.h"

enum { MAX_SIZES = 16, MAX_CHANNELS = 16 };

struct iso__vision {
  iso_vision_options options;    /* its texts belong to the trainer */
  iso_dataset *data[2];          /* by iso_split */
  bool files;                    /* PNG and JPEG */
  int n_sizes, sizes[MAX_SIZES]; /* of training batches */
  double mean[MAX_CHANNELS], std[MAX_CHANNELS];
};

static void fill(iso_trainer *t, const void *options) {
  if (!(t->vision = iso__zalloc(t->ctx, sizeof *t->vision))) return;
  iso_vision_options *o = &t->vision->options;
  iso__recipe *r = &t->recipe;
  if (options) *o = *(const iso_vision_options *)options;
  o->data_folder = iso__trainer_text(t, o->data_folder, ISO_FASHION_MNIST_FOLDER);
  o->image_sizes = iso__trainer_text(t, o->image_sizes, "");
  r->model = iso__trainer_text(t, o->model, "cnn");
  r->optimizer = iso__trainer_text(t, o->optimizer, "sgd");
  r->schedule = iso__trainer_text(t, o->schedule, "cosine");
  r->capture = iso__trainer_text(t, o->capture, "auto");
  r->precision = iso__trainer_text(t, o->precision, "f32");
  r->autocast = iso__trainer_text(t, o->autocast, "");
  r->batch_size = o->batch_size ? o->batch_size : 64;
  r->lr = o->lr != 0 ? o->lr : iso__usual_lr(r->optimizer);
  r->momentum = o->momentum < 0 || strcmp(r->optimizer, "sgd") != 0 ? 0 : o->momentum == 0 ? 0.9 : o->momentum;
  r->weight_decay = o->weight_decay < 0 ? 0 : o->weight_decay == 0 ? 5e-4 : o->weight_decay;
  r->clip_norm = o->clip_norm, r->nesterov = o->nesterov, r->checkpointing = o->checkpointing;
  r->pass_leaves = o->pass_leaves;
  r->n_steps = o->n_steps, r->n_epochs = o->n_epochs, r->warmup_steps = o->warmup_steps;
}

/* "24,32" into sizes. */
static bool read_sizes(iso__vision *v) {
  const char *at = v->options.image_sizes;
  if (!*at) return true;
  while (v->n_sizes < MAX_SIZES) {
    char *end;
    const long side = strtol(at, &end, 10);
    if (end == at || side < 1 || side > 8192 || (*end && *end != ',')) return false;
    v->sizes[v->n_sizes++] = (int)side;
    if (!*end) return true;
    at = end + 1;
  }
  return false;
}

static iso_status check(iso_trainer *t) {
  const iso_vision_options *o = &t->vision->options;
  const iso_status status = iso__recipe_check(t, o->n_workers);
  if (status) return status;
  if (o->image_size < 0)
    return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "train", "image_size is %d, must not be negative", o->image_size);
  if (!read_sizes(t->vision))
    return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "train",
                     "image_sizes is '%.60s', must be up to 16 numbers from 1 to 8192 with commas between",
                     o->image_sizes);
  return ISO_OK;
}

/* ---- data ---- */

/* FOLDER/name into path; whether that is a folder. */
static bool find_folder(const iso__vision *v, const char *name, char path[4096]) {
  struct stat info;
  return snprintf(path, 4096, "%s/%s", v->options.data_folder, name) < 4096 && stat(path, &info) == 0 &&
         S_ISDIR(info.st_mode);
}

static iso_dataset *open_split(iso_trainer *t, iso_split split) {
  iso__vision *v = t->vision;
  const bool test = split == ISO_SPLIT_TEST;
  char path[4096];
  if (!strcmp(v->options.data_folder, "synthetic"))
    return iso_dataset_synthetic(
        t->ctx, &(iso_synthetic_options){.n_samples = test ? 512 : 4096, .first_sample = test ? 4096 : 0});
  v->files = find_folder(v, "train", path);
  if (!v->files)
    return iso_dataset_open_idx(t->ctx,
                                &(iso_idx_options){.folder = v->options.data_folder,
                                                   .split = split,
                                                   .n_classes = test ? iso_dataset_get_info(v->data[0]).n_classes : 0});
  if (test && !find_folder(v, "val", path)) find_folder(v, "test", path);
  return iso_dataset_open_images(
      t->ctx,
      &(iso_image_folder_options){.folder = path, .height = v->options.image_size, .width = v->options.image_size});
}

/* Labels mean the same in both. */
static iso_status check_classes(iso_trainer *t) {
  iso_dataset *const *data = t->vision->data;
  const int n = iso_dataset_get_info(data[0]).n_classes, n_test = iso_dataset_get_info(data[1]).n_classes;
  for (int c = 0; c < n || c < n_test; c++) {
    const char *a = iso_dataset_class_name(data[0], c), *b = iso_dataset_class_name(data[1], c);
    if (!a || !b || strcmp(a, b) != 0)
      return ISO__FAIL(t->ctx, ISO_SHAPE_MISMATCH, "train", "class %d is '%.60s' in training but '%.60s' in testing", c,
                       a ? a : "(none)", b ? b : "(none)");
  }
  return ISO_OK;
}

static iso_status open_data(iso_trainer *t) {
  iso__vision *v = t->vision;
  for (int s = 0; s < 2; s++)
    if (!(v->data[s] = open_split(t, (iso_split)s))) return t->ctx->error.code;
  if (v->files && check_classes(t)) return t->ctx->error.code;
  if (!v->files && (v->options.image_size || v->n_sizes))
    return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "train",
                     "image sizes are given, but '%.100s' holds no folder 'train' of PNG and JPEG files",
                     v->options.data_folder);
  const iso_dataset_info info = iso_dataset_get_info(v->data[0]), test = iso_dataset_get_info(v->data[1]);
  if (info.channels != test.channels || info.height != test.height || info.width != test.width)
    return ISO__FAIL(t->ctx, ISO_SHAPE_MISMATCH, "train", "training images are (%d,%d,%d) but test images (%d,%d,%d)",
                     info.channels, info.height, info.width, test.channels, test.height, test.width);
  if (info.channels > MAX_CHANNELS)
    return ISO__FAIL(t->ctx, ISO_UNSUPPORTED, "train", "images have %d channels; at most %d are supported",
                     info.channels, MAX_CHANNELS);
  /* Fashion-MNIST's own statistics where it has one channel; else the middle of the range. */
  for (int c = 0; c < info.channels; c++)
    v->mean[c] = info.channels == 1 ? 0.2860 : 0.5, v->std[c] = info.channels == 1 ? 0.3530 : 0.25;
  return ISO_OK;
}

static iso_module *replica(const iso_trainer *t, iso_context *child) {
  const iso_dataset_info info = iso_dataset_get_info(t->vision->data[0]);
  return iso_model_new(child, t->recipe.model,
                       &(iso_model_config){info.channels, info.height, info.width, info.n_classes});
}

static iso_status open_task(iso_trainer *t) {
  iso_status status;
  if ((status = check(t)) || (status = open_data(t))) return status;
  iso_init_restart(t->ctx);
  t->model = replica(t, t->ctx);
  return t->model ? ISO_OK : t->ctx->error.code;
}

static void close_task(iso_trainer *t) {
  iso__vision *v = t->vision;
  if (!v) return;
  iso_dataset_free(v->data[0]);
  iso_dataset_free(v->data[1]);
  iso__free(t->ctx, v, sizeof *v);
}

static iso_dataset_info info_of(const iso_trainer *t, iso_split split) {
  return iso_dataset_get_info(t->vision->data[split]);
}

/* ---- loaders ---- */

static void *loader_new(iso_trainer *t, iso_split split, bool in_order) {
  (void)in_order; /* always */
  const iso__vision *v = t->vision;
  const iso_vision_options *o = &v->options;
  const iso_image_transform transform = {.random_resized_crop = o->augment};
  if (split == ISO_SPLIT_TEST)
    return iso_loader_new(
        t->ctx, v->data[split],
        &(iso_loader_options){.batch_size = ISO_EVALUATION_BATCH, .n_epochs = 1, .mean = v->mean, .std = v->std});
  return iso_loader_new(t->ctx, v->data[split],
                        &(iso_loader_options){.batch_size = t->recipe.batch_size,
                                              .n_workers = o->n_workers,
                                              .shuffle = true,
                                              .drop_last = true,
                                              .on_device = true,
                                              .crop_padding = o->augment && !v->files ? 2 : 0,
                                              .flip = o->augment,
                                              .transform = v->files ? &transform : NULL,
                                              .n_sizes = v->n_sizes,
                                              .sides = v->sizes,
                                              .seed = iso_policy_current(t->ctx)->seed,
                                              .mean = v->mean,
                                              .std = v->std});
}

static void loader_free(void *loader) { iso_loader_free(loader); }

static bool next(void *loader, iso__samples *out) {
  iso_batch batch;
  if (!iso_loader_next(loader, &batch)) return false;
  *out = (iso__samples){.x = batch.x, .y = batch.y, .n_total = batch.n_total, .epoch = batch.epoch};
  return true;
}

static int64_t n_batches(const void *loader) { return iso_loader_n_batches(loader); }
static void position(const void *loader, uint32_t *epoch, int64_t *batch) { iso_loader_position(loader, epoch, batch); }
static iso_status seek(void *loader, uint32_t epoch, int64_t batch) { return iso_loader_seek(loader, epoch, batch); }

/* All batches are alike, but for their sides. */
static iso_status largest(iso_trainer *t, uint32_t *epoch, int64_t *batch) {
  const uint64_t n_batches = (uint64_t)iso_loader_n_batches(t->loader);
  int most = 0;
  for (int i = 0; i < t->vision->n_sizes; i++)
    if (t->vision->sizes[i] > most) most = t->vision->sizes[i];
  int side = -1;
  *epoch = 0, *batch = 0;
  for (uint64_t i = 0; i < t->recipe.n_steps && side < most; i++) {
    const int this_side = iso__loader_side(t->loader, (uint32_t)(i / n_batches), (int64_t)(i % n_batches));
    if (this_side <= side) continue;
    side = this_side, *epoch = (uint32_t)(i / n_batches), *batch = (int64_t)(i % n_batches);
  }
  return ISO_OK;
}

static void facts(const iso_trainer *t, iso__facts *f) {
  const iso__vision *v = t->vision;
  iso__facts_number(f, "augment", true, v->options.augment);
  if (v->files) iso__facts_number(f, "image_size", true, (uint64_t)iso_dataset_get_info(v->data[0]).height);
  if (v->files) iso__facts_text(f, "image_sizes", true, v->options.image_sizes);
}

const iso__task iso__vision_task = {.name = "vision",
                                    .open = open_task,
                                    .close = close_task,
                                    .info = info_of,
                                    .loader_new = loader_new,
                                    .loader_free = loader_free,
                                    .next = next,
                                    .n_batches = n_batches,
                                    .position = position,
                                    .seek = seek,
                                    .replica = replica,
                                    .largest = largest,
                                    .facts = facts};

iso_trainer *iso_trainer_new(iso_context *ctx, const iso_vision_options *options) {
  return iso__trainer_new(ctx, &iso__vision_task, options, fill);
}
