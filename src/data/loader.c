/* loader.c: batches by position. The consumer's thread alone touches the context: it asks for the memory of batches to
 * come, and makes tensors of those that are ready; workers only fill memory. */
#include "data/loader.h"
#include <isobit/numeric.h>
#include <math.h>
#include <string.h>
#include "base/fenv.h"
#include "io/source.h"

static const char op[] = "loader";

typedef struct place {
  uint32_t epoch;
  int64_t batch;
} place;

struct iso_loader {
  iso_context *ctx;
  iso_dataset *set;
  const iso__device *device; /* where batches lie when they are given; NULL: the CPU, where they are made */
  uint32_t n_epochs;         /* 0: no end */
  iso__order order;
  iso__rendering rendering;
  int n_sizes, *sides; /* of each batch's window; 0: the rendering's height and width */
  iso__ring ring;
  bool started;
  int n_workers, n_cells; /* as asked for */
  place next;             /* what iso_loader_next gives */
  place ahead;            /* what is to be pushed next */
};

/* Whether samples go through iso__transform. */
static bool transforms_of(const iso_loader_options *o, const iso_dataset *set) {
  return o->transform || o->n_sizes > 0 || set->files.n_files > 0;
}

static bool check_options(iso_context *ctx, const iso_loader_options *o, const iso_dataset_info *info,
                          bool transforms) {
  const long long n = info->n_samples;
  const int larger = info->height > info->width ? info->height : info->width;
  const struct {
    bool wrong;
    const char *name;
    long long value;
    const char *expected;
  } checks[] = {
      {o->batch_size < 0, "batch_size", o->batch_size, "at least 1"},
      {o->drop_last && o->batch_size > n, "batch_size", o->batch_size, "at most the number of samples, with drop_last"},
      {o->n_workers < 0 || o->n_workers > 256, "n_workers", o->n_workers, "0 to 256"},
      {o->n_prefetch < 0 || o->n_prefetch > 4096, "n_prefetch", o->n_prefetch, "0 to 4096"},
      {o->crop_padding < 0 || o->crop_padding > larger, "crop_padding", o->crop_padding, "0 to the image's size"},
      {o->crop_padding > 0 && transforms, "crop_padding", o->crop_padding, "0 where images are transformed"},
      {o->n_sizes < 0 || (o->n_sizes > 0 && !o->sides), "n_sizes", o->n_sizes, "at least 0, and as many sides"},
      {o->n_leaves < 0, "n_leaves", o->n_leaves, "at least 0"},
      {o->n_leaves > 0 && (o->leaf_begin < 0 || o->leaf_begin >= o->leaf_end), "leaf_begin", o->leaf_begin,
       "0 to leaf_end - 1"},
      {o->n_leaves > 0 && o->leaf_end > o->n_leaves, "leaf_end", o->leaf_end, "at most n_leaves"},
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
  l->n_epochs = o->n_epochs;
  l->n_workers = o->n_workers;
  l->n_cells = o->n_workers == 0 ? 1 : o->n_prefetch > 0 ? o->n_prefetch : 2 * o->n_workers;
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

/* ---- memory ---- */

static size_t permutation_bytes(const iso_loader *l) { return (size_t)l->order.n_samples * sizeof(int64_t); }
static size_t table_bytes(const iso_loader *l) { return (size_t)l->rendering.channels * 256 * sizeof(float); }
static size_t cells_bytes(const iso_loader *l) { return (size_t)l->n_cells * sizeof(iso__cell); }
static size_t samples_bytes(const iso_loader *l) { return (size_t)l->order.batch_size * sizeof(uint32_t); }
static size_t workers_bytes(const iso_loader *l) { return (size_t)l->n_workers * sizeof(pthread_t); }

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
  l->rendering.table = iso__alloc(ctx, table_bytes(l));
  l->ring.workers = iso__alloc(ctx, workers_bytes(l));
  l->ring.cells = iso__zalloc(ctx, cells_bytes(l));
  if (!l->rendering.table || !l->ring.workers || !l->ring.cells) return false;
  for (int i = 0; i < l->n_cells; i++)
    if (!(l->ring.cells[i].samples = iso__alloc(ctx, samples_bytes(l)))) return false;
  return true;
}

/* Memory of a device may still be written by the copy that was sent. */
static void empty_cell(const iso_loader *l, iso__cell *cell) {
  if (l->device) iso__ahead_wait(l->device, cell);
  iso__storage_release(cell->x);
  iso__storage_release(cell->y);
  cell->x = cell->y = NULL;
}

void iso_loader_free(iso_loader *l) {
  if (!l) return;
  iso_context *ctx = l->ctx;
  if (l->started) iso__ring_stop(&l->ring);
  for (int i = 0; l->ring.cells && i < l->n_cells; i++) {
    empty_cell(l, &l->ring.cells[i]);
    if (l->device) iso__ahead_release(ctx, l->device, &l->ring.cells[i]);
    iso__free(ctx, l->ring.cells[i].samples, samples_bytes(l));
  }
  iso__free(ctx, l->ring.cells, cells_bytes(l));
  iso__free(ctx, l->ring.workers, workers_bytes(l));
  iso__free(ctx, l->rendering.table, table_bytes(l));
  iso__free(ctx, l->sides, sides_bytes(l));
  iso__free(ctx, l->order.permutation, permutation_bytes(l));
  iso__free(ctx, l->order.scratch, 2 * permutation_bytes(l));
  iso_dataset_free(l->set);
  iso__free(ctx, l, sizeof *l);
}

static bool start(iso_loader *l) {
  int error;
  char text[128];
  l->ring.set = l->set, l->ring.rendering = &l->rendering, l->ring.n_cells = l->n_cells;
  l->started = iso__ring_start(&l->ring, l->n_workers, &error);
  if (!l->started)
    ISO__FAIL(l->ctx, ISO_OUT_OF_MEMORY, op, "cannot start %d worker threads: %s", l->n_workers,
              iso__errno_text(error, text, sizeof text));
  return l->started;
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
  l->device = o.on_device ? ctx->device : NULL;
  iso__dataset_retain(set);
  configure(l, &o);
  if (plan_transform(l, &o) && allocate(l, o.sides)) {
    iso__render_table(l->rendering.table, l->rendering.channels, o.mean, o.std);
    if (start(l)) return l;
  }
  iso_loader_free(l);
  return NULL;
}

/* ---- batches ---- */

static bool is_end(const iso_loader *l, const place *p) { return l->n_epochs > 0 && p->epoch >= l->n_epochs; }

static void advance(const iso_loader *l, place *p) {
  if (++p->batch < l->order.n_batches) return;
  p->batch = 0;
  p->epoch++;
}

/* The window of a batch. */
static void size_cell(const iso_loader *l, iso__cell *cell) {
  cell->height = l->rendering.height, cell->width = l->rendering.width;
  if (l->n_sizes == 0) return;
  const iso_philox at = {.seed = l->rendering.seed,
                         .stream = ISO_PHILOX_LOADER,
                         .site = ISO__PURPOSE_SIZE,
                         .leaf = cell->epoch,
                         .step = (uint32_t)cell->batch};
  cell->height = cell->width = l->sides[iso__word_below(iso_philox_word(&at, 0), (uint32_t)l->n_sizes)];
}

static size_t x_bytes(const iso_loader *l, const iso__cell *cell) {
  return (size_t)(cell->n_samples * cell->height * cell->width * l->rendering.channels) * sizeof(float);
}
static size_t y_bytes(const iso__cell *cell) { return (size_t)cell->n_samples * sizeof(int64_t); }

/* Memory to make a batch in. */
static bool ask_memory(iso_loader *l, iso__cell *cell) {
  if (l->device) return iso__ahead_prepare(l->ctx, l->device, cell, x_bytes(l, cell), y_bytes(cell));
  cell->x = iso__storage_new_on(l->ctx, &iso__device_cpu, x_bytes(l, cell));
  cell->y = cell->x ? iso__storage_new_on(l->ctx, &iso__device_cpu, y_bytes(cell)) : NULL;
  if (!cell->y) return empty_cell(l, cell), false;
  cell->pixels = cell->x->data, cell->labels = cell->y->data;
  return true;
}

/* Asks for the memory of the batch at `ahead` and hands it on. */
static bool push_one(iso_loader *l) {
  iso__cell *cell = iso__ring_cell(&l->ring, l->ring.tail);
  int64_t begin, end;
  iso__order_range(&l->order, l->ahead.batch, &begin, &end, &cell->n_total);
  cell->n_samples = end - begin;
  cell->epoch = l->ahead.epoch, cell->batch = l->ahead.batch;
  size_cell(l, cell);
  if (!ask_memory(l, cell)) return false;
  iso__order_samples(&l->order, l->ahead.epoch, begin, end, cell->samples);
  iso__ring_push(&l->ring);
  advance(l, &l->ahead);
  return true;
}

/* Whether the device has memory for a batch, which takes it in the same two blocks. */
static bool has_room(const iso_loader *l, const iso__cell *cell) {
  iso_status status;
  void *x = l->device->alloc(l->device, l->ctx->heap, x_bytes(l, cell), &status);
  void *y = x ? l->device->alloc(l->device, l->ctx->heap, y_bytes(cell), &status) : NULL;
  if (y) l->device->free(l->device, l->ctx->heap, y, y_bytes(cell));
  if (x) l->device->free(l->device, l->ctx->heap, x, x_bytes(l, cell));
  return y != NULL;
}

/* Sends the batch that is to be given, and the one after it, if it is ready and there is room, so that it arrives
 * beside the step. */
static bool send_ahead(iso_loader *l) {
  iso__ring *ring = &l->ring;
  for (uint64_t i = ring->head; i < ring->tail && i < ring->head + 2; i++) {
    iso__cell *cell = iso__ring_cell(ring, i);
    if (!iso__ring_is_ready(ring, cell) || cell->fault.code != ISO_OK) break;
    if (i > ring->head && !cell->x && !has_room(l, cell)) break; /* it has a step of its own to come in */
    if (!cell->x && !iso__ahead_send(l->ctx, l->device, cell, x_bytes(l, cell), y_bytes(cell))) return false;
  }
  const iso__event *end = &iso__ring_cell(ring, ring->head)->end;
  const iso_status status = l->device->event_follow(l->device, end);
  if (status) ISO__FAIL(l->ctx, status, op, "%s: a batch did not arrive", l->device->name);
  return status == ISO_OK;
}

static bool wrap(iso_loader *l, const iso__cell *cell, iso_batch *out) {
  const int64_t c = l->rendering.channels, h = cell->height, w = cell->width;
  const iso__view x = {.storage = cell->x,
                       .dtype = ISO_F32,
                       .n_dims = 4,
                       .shape = {cell->n_samples, c, h, w},
                       .strides = {h * w * c, 1, w * c, c}};
  const iso__view y = {.storage = cell->y, .dtype = ISO_I64, .n_dims = 1, .shape = {cell->n_samples}, .strides = {1}};
  cell->y->indices_below = l->set->info.n_classes;
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
  if (!loader || iso__failed(loader->ctx)) return false;
  iso__ring *ring = &loader->ring;
  while (ring->tail - ring->head < (uint64_t)ring->n_cells && !is_end(loader, &loader->ahead))
    if (!push_one(loader)) return false;
  if (ring->head == ring->tail) return false;
  iso__ring_wait(ring);
  iso__cell *cell = iso__ring_cell(ring, ring->head);
  if (cell->fault.code != ISO_OK) {
    const iso__image_files *f = &loader->set->files;
    ISO__FAIL(loader->ctx, cell->fault.code, f->n_files ? iso__path_tail(f->text + f->paths[cell->faulty]) : op, "%s",
              cell->fault.text);
    return false;
  }
  if (loader->device && !send_ahead(loader)) return false;
  if (!wrap(loader, cell, out)) return false;
  iso__storage_release(cell->x), iso__storage_release(cell->y); /* a copy under way is followed by all work on them */
  cell->x = cell->y = NULL;
  ring->head++;
  advance(loader, &loader->next);
  return true;
}

int64_t iso_loader_n_batches(const iso_loader *loader) { return loader ? loader->order.n_batches : 0; }

void iso_loader_position(const iso_loader *loader, uint32_t *epoch, int64_t *batch) {
  *epoch = loader ? loader->next.epoch : 0;
  *batch = loader ? loader->next.batch : 0;
}

iso_status iso_loader_seek(iso_loader *loader, uint32_t epoch, int64_t batch) {
  if (!loader) return ISO_INVALID_ARGUMENT;
  if (iso__failed(loader->ctx)) return iso_error_code(loader->ctx);
  if (batch < 0 || batch >= loader->order.n_batches)
    return ISO__FAIL(loader->ctx, ISO_INVALID_ARGUMENT, op, "batch %lld is sought, an epoch has 0 to %lld",
                     (long long)batch, (long long)loader->order.n_batches - 1);
  iso__ring *ring = &loader->ring;
  iso__ring_settle(ring);
  while (ring->head != ring->tail) empty_cell(loader, iso__ring_cell(ring, ring->head++));
  loader->next = loader->ahead = (place){.epoch = epoch, .batch = batch};
  return ISO_OK;
}
