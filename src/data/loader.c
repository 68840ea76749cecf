/* loader.c: batches of images: which samples they hold (order.c), what is done to them (render.c, transform.c). How
 * they are made ahead is every loader's (feed.c). */
#include "data/loader.h"
#include <isobit/numeric.h>
#include <math.h>
#include <string.h>
#include "base/fenv.h"
#include "io/source.h"

static const char op[] = "loader";

struct iso_loader {
  iso_context *ctx;
  iso_dataset *set;
  iso__order order;
  iso__rendering rendering;
  int n_sizes, *sides; /* of each batch's window; 0: the rendering's height and width */
  iso__feed feed;
};

/* Whether samples go through iso__transform. */
static bool transforms_of(const iso_loader_options *o, const iso_dataset *set) {
  return o->transform || o->n_sizes > 0 || set->files.n_files > 0;
}

static bool check_options(iso_context *ctx, const iso_loader_options *o, const iso_dataset_info *info,
                          bool transforms) {
  const iso__feed_options common = {.n_samples = info->n_samples,
                                    .batch_size = o->batch_size,
                                    .n_workers = o->n_workers,
                                    .n_prefetch = o->n_prefetch,
                                    .n_leaves = o->n_leaves,
                                    .leaf_begin = o->leaf_begin,
                                    .leaf_end = o->leaf_end,
                                    .drop_last = o->drop_last};
  if (!iso__feed_check(ctx, &common)) return false;
  const int larger = info->height > info->width ? info->height : info->width;
  const struct {
    bool wrong;
    const char *name;
    long long value;
    const char *expected;
  } checks[] = {
      {o->crop_padding < 0 || o->crop_padding > larger, "crop_padding", o->crop_padding, "0 to the image's size"},
      {o->crop_padding > 0 && transforms, "crop_padding", o->crop_padding, "0 where images are transformed"},
      {o->n_sizes < 0 || (o->n_sizes > 0 && !o->sides), "n_sizes", o->n_sizes, "at least 0, and as many sides"},
  };
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
    if (checks[i].wrong)
      return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%s is %lld, expected %s", checks[i].name, checks[i].value,
                       checks[i].expected),
             false;
  for (int c = 0; c < info->channels; c++)
    if ((o->mean && !isfinite(o->mean[c])) || (o->std && !(o->std[c] > 0 && isfinite(o->std[c]))))
      return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op,
                       "channel %d has mean %g and std %g, expected finite ones, std above 0", c,
                       o->mean ? o->mean[c] : 0.0, o->std ? o->std[c] : 1.0),
             false;
  return true;
}

/* A number of a transform, and what it may be. */
static bool check_number(iso_context *ctx, const char *name, double value, double low, double high) {
  if (value >= low && value <= high) return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%s is %g, expected %g to %g", name, value, low, high);
  return false;
}

/* 16.16, of a number that was checked. */
static int32_t fixed(double value) { return (int32_t)iso__fenv_pin(rint(iso__fenv_pin(value) * 65536)); }

static bool plan_transform(iso_loader *l, const iso_loader_options *o) {
  iso_context *ctx = l->ctx;
  iso_image_transform t = o->transform ? *o->transform : (iso_image_transform){0};
  iso__rendering *r = &l->rendering;
  if (!t.height) t.height = t.width ? t.width : r->height;
  if (!t.width) t.width = o->transform && o->transform->height ? t.height : r->width;
  if (t.scale_low == 0) t.scale_low = 0.08;
  if (t.scale_high == 0) t.scale_high = 1;
  if (t.ratio_low == 0) t.ratio_low = 3.0 / 4;
  if (t.ratio_high == 0) t.ratio_high = 4.0 / 3;
  const int largest = t.height > t.width ? t.height : t.width;
  if (r->transforms &&
      (!check_number(ctx, "height", t.height, 1, 8192) || !check_number(ctx, "width", t.width, 1, 8192)))
    return false;
  if ((t.resize != 0 && !check_number(ctx, "resize", t.resize, largest, 16384)) ||
      !check_number(ctx, "scale_low", t.scale_low, 1e-4, 1) ||
      !check_number(ctx, "scale_high", t.scale_high, t.scale_low, 1) ||
      !check_number(ctx, "ratio_low", t.ratio_low, 0.01, 100) ||
      !check_number(ctx, "ratio_high", t.ratio_high, t.ratio_low, 100) ||
      !check_number(ctx, "brightness", t.brightness, 0, 8) || !check_number(ctx, "contrast", t.contrast, 0, 8) ||
      !check_number(ctx, "saturation", t.saturation, 0, 8) || !check_number(ctx, "hue", t.hue, 0, 0.5))
    return false;
  for (int i = 0; i < o->n_sizes; i++)
    if (!check_number(ctx, "a side", o->sides[i], 1, 8192)) return false;
  const iso__fenv saved = iso__fenv_enter();
  r->transform = (iso__transform_plan){.resize = t.resize,
                                       .largest = largest,
                                       .random_crop = t.random_resized_crop,
                                       .scale_low = t.scale_low,
                                       .scale_high = t.scale_high,
                                       .ratio_low = t.ratio_low,
                                       .ratio_high = t.ratio_high,
                                       .brightness = fixed(t.brightness),
                                       .contrast = fixed(t.contrast),
                                       .saturation = fixed(t.saturation),
                                       .hue = fixed(6 * iso__fenv_pin(t.hue))};
  iso__fenv_leave(saved);
  if (r->transforms) r->height = t.height, r->width = t.width;
  l->n_sizes = o->n_sizes;
  return true;
}

static void configure(iso_loader *l, const iso_loader_options *o) {
  const iso_dataset_info *info = &l->set->info;
  const int64_t n = info->n_samples, size = o->batch_size < n ? o->batch_size : n;
  l->order = (iso__order){.n_samples = n,
                          .batch_size = size,
                          .n_batches = o->drop_last ? n / size : (n + size - 1) / size,
                          .shuffle = o->shuffle,
                          .seed = o->seed,
                          .n_leaves = o->n_leaves,
                          .leaf_begin = o->leaf_begin,
                          .leaf_end = o->leaf_end};
  l->rendering = (iso__rendering){.channels = info->channels,
                                  .height = info->height,
                                  .width = info->width,
                                  .transforms = transforms_of(o, l->set),
                                  .crop_padding = o->crop_padding,
                                  .flip = o->flip,
                                  .seed = o->seed};
}

/* ---- batches ---- */

int iso__loader_side(const iso_loader *l, uint32_t epoch, int64_t batch) {
  if (l->n_sizes == 0) return 0;
  const iso_philox at = {.seed = l->rendering.seed,
                         .stream = ISO_PHILOX_LOADER,
                         .site = ISO__PURPOSE_SIZE,
                         .leaf = epoch,
                         .step = (uint32_t)batch};
  return l->sides[iso__word_below(iso_philox_word(&at, 0), (uint32_t)l->n_sizes)];
}

/* The window of a batch. */
static void size_cell(const iso_loader *l, iso__cell *cell) {
  const int side = iso__loader_side(l, cell->epoch, cell->batch);
  cell->extent[0] = side ? side : l->rendering.height, cell->extent[1] = side ? side : l->rendering.width;
}

static void plan(void *loader, iso__cell *cell) {
  iso_loader *l = loader;
  int64_t begin, end;
  iso__order_range(&l->order, cell->batch, &begin, &end, &cell->n_total);
  cell->n_samples = end - begin;
  size_cell(l, cell);
  cell->n_parts = 2;
  cell->part_bytes[0] =
      (size_t)(cell->n_samples * cell->extent[0] * cell->extent[1] * l->rendering.channels) * sizeof(float);
  cell->part_bytes[1] = (size_t)cell->n_samples * sizeof(int64_t);
  iso__order_samples(&l->order, cell->epoch, begin, end, cell->samples);
}

/* A sample through the transforms; an image of a file lives only here. */
static bool make_transformed(const iso_loader *l, iso__cell *cell, uint32_t sample, float *x) {
  const iso_dataset *set = l->set;
  iso__image_info info = {set->info.width, set->info.height, set->info.channels};
  const uint8_t *pixels = set->pixels;
  uint8_t *decoded = NULL;
  size_t n_decoded = 0;
  if (set->files.n_files) {
    decoded = iso__image_files_decode(&set->files, set->heap, sample, &info, &n_decoded, &cell->fault);
    if (!decoded) return false;
    pixels = decoded;
  } else {
    pixels += sample * iso__dataset_sample_bytes(set);
  }
  const iso__picture picture = {pixels, info.width, info.height, info.channels};
  const bool ok =
      iso__transform(&l->rendering, set->heap, &picture, cell->extent[0], cell->extent[1], cell->epoch, sample, x);
  iso__heap_free(set->heap, decoded, n_decoded);
  return ok || iso__image_refuse(&cell->fault, ISO_OUT_OF_MEMORY, "no memory to resize");
}

static void make(const void *loader, iso__cell *cell) {
  const iso_loader *l = loader;
  const int64_t n_pixels = (int64_t)cell->extent[0] * cell->extent[1] * l->set->info.channels;
  float *x = cell->made[0];
  int64_t *y = cell->made[1];
  for (int64_t i = 0; i < cell->n_samples; i++) {
    const uint32_t sample = cell->samples[i];
    y[i] = l->set->labels[sample];
    if (!l->rendering.transforms) {
      iso__render(&l->rendering, l->set->pixels + sample * n_pixels, cell->epoch, sample, x + i * n_pixels);
    } else if (!make_transformed(l, cell, sample, x + i * n_pixels)) {
      cell->faulty = sample;
      return;
    }
  }
}

static bool wrap(iso_loader *l, const iso__cell *cell, iso_batch *out) {
  const int64_t c = l->rendering.channels, h = cell->extent[0], w = cell->extent[1];
  const iso__view x = {.storage = cell->parts[0],
                       .dtype = ISO_F32,
                       .n_dims = 4,
                       .shape = {cell->n_samples, c, h, w},
                       .strides = {h * w * c, 1, w * c, c}};
  const iso__view y = {
      .storage = cell->parts[1], .dtype = ISO_I64, .n_dims = 1, .shape = {cell->n_samples}, .strides = {1}};
  cell->parts[1]->indices_below = l->set->info.n_classes;
  *out = (iso_batch){.n_total = cell->n_total, .epoch = cell->epoch, .index = cell->batch};
  out->x = iso__tensor_from_view(l->ctx, &x);
  out->y = out->x ? iso__tensor_from_view(l->ctx, &y) : NULL;
  if (out->y) return true;
  iso_release(out->x);
  *out = (iso_batch){0};
  return false;
}

bool iso_loader_next(iso_loader *loader, iso_batch *out) {
  *out = (iso_batch){0};
  iso__cell *cell = loader ? iso__feed_next(&loader->feed) : NULL;
  if (!cell) return false;
  if (cell->fault.code != ISO_OK) {
    const iso__image_files *f = &loader->set->files;
    ISO__FAIL(loader->ctx, cell->fault.code, f->n_files ? iso__path_tail(f->text + f->paths[cell->faulty]) : op, "%s",
              cell->fault.text);
    return false;
  }
  if (!wrap(loader, cell, out)) return false;
  iso__feed_taken(&loader->feed);
  return true;
}

int64_t iso_loader_n_batches(const iso_loader *loader) { return loader ? loader->order.n_batches : 0; }

void iso_loader_position(const iso_loader *loader, uint32_t *epoch, int64_t *batch) {
  *epoch = loader ? loader->feed.next.epoch : 0;
  *batch = loader ? loader->feed.next.batch : 0;
}

iso_status iso_loader_seek(iso_loader *loader, uint32_t epoch, int64_t batch) {
  return loader ? iso__feed_seek(&loader->feed, epoch, batch) : ISO_INVALID_ARGUMENT;
}

/* ---- the loader ---- */

static size_t permutation_bytes(const iso_loader *l) { return (size_t)l->order.n_samples * sizeof(int64_t); }
static size_t table_bytes(const iso_loader *l) { return (size_t)l->rendering.channels * 256 * sizeof(float); }
static size_t sides_bytes(const iso_loader *l) { return (size_t)l->n_sizes * sizeof(int); }

static bool allocate(iso_loader *l, const int *sides) {
  iso_context *ctx = l->ctx;
  if (l->n_sizes > 0) {
    if (!(l->sides = iso__alloc(ctx, sides_bytes(l)))) return false;
    memcpy(l->sides, sides, sides_bytes(l));
  }
  if (l->order.shuffle) {
    l->order.permutation = iso__alloc(ctx, permutation_bytes(l));
    l->order.scratch = iso__alloc(ctx, 2 * permutation_bytes(l));
    if (!l->order.permutation || !l->order.scratch) return false;
  }
  return (l->rendering.table = iso__alloc(ctx, table_bytes(l))) != NULL;
}

void iso_loader_free(iso_loader *l) {
  if (!l) return;
  iso_context *ctx = l->ctx;
  iso__feed_end(&l->feed);
  iso__free(ctx, l->rendering.table, table_bytes(l));
  iso__free(ctx, l->sides, sides_bytes(l));
  iso__free(ctx, l->order.permutation, permutation_bytes(l));
  iso__free(ctx, l->order.scratch, 2 * permutation_bytes(l));
  iso_dataset_free(l->set);
  iso__free(ctx, l, sizeof *l);
}

static bool start(iso_loader *l, const iso_loader_options *o) {
  l->feed = (iso__feed){.ctx = l->ctx,
                        .device = o->on_device ? l->ctx->device : NULL,
                        .loader = l,
                        .plan = plan,
                        .make = make,
                        .n_batches = l->order.n_batches,
                        .batch_size = l->order.batch_size,
                        .n_epochs = o->n_epochs,
                        .n_workers = o->n_workers,
                        .n_cells = iso__feed_cells(o->n_workers, o->n_prefetch)};
  return iso__feed_start(&l->feed);
}

iso_loader *iso_loader_new(iso_context *ctx, iso_dataset *set, const iso_loader_options *options) {
  iso_loader_options o = options ? *options : (iso_loader_options){0};
  if (iso__failed(ctx)) return NULL;
  if (!set) return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "the data set is NULL"), NULL;
  if (o.batch_size == 0) o.batch_size = 64;
  if (!check_options(ctx, &o, &set->info, transforms_of(&o, set))) return NULL;
  iso_loader *l = iso__zalloc(ctx, sizeof *l);
  if (!l) return NULL;
  l->ctx = ctx, l->set = set;
  iso__dataset_retain(set);
  configure(l, &o);
  if (plan_transform(l, &o) && allocate(l, o.sides)) {
    iso__render_table(l->rendering.table, l->rendering.channels, o.mean, o.std);
    if (start(l, &o)) return l;
  }
  iso_loader_free(l);
  return NULL;
}
