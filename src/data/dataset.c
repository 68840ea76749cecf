/* dataset.c: images and labels checked once, so that nothing after this can meet a bad label or a shape that lies. */
#include "data/dataset.h"
#include <limits.h>
#include "base/hash.h"

void iso__dataset_retain(iso_dataset *set) { atomic_fetch_add_explicit(&set->n_refs, 1, memory_order_relaxed); }

void iso_dataset_free(iso_dataset *set) {
  if (!set || atomic_fetch_sub_explicit(&set->n_refs, 1, memory_order_acq_rel) != 1) return;
  iso__heap *heap = set->heap;
  iso__storage_release(set->storage);
  iso__image_files_release(heap, &set->files);
  iso__heap_free(heap, set->labels, (size_t)set->info.n_samples * sizeof *set->labels);
  iso__heap_free(heap, set, sizeof *set);
  iso__heap_release(heap);
}

iso_dataset_info iso_dataset_get_info(const iso_dataset *set) { return set ? set->info : (iso_dataset_info){0}; }

static bool check_images(iso_context *ctx, const iso_tensor *images, const char *name, iso_dataset_info *info) {
  char text[200];
  const int n_dims = iso_tensor_n_dims(images);
  const int64_t *shape = iso_tensor_shape(images);
  if (!images || iso_tensor_dtype(images) != ISO_U8)
    return ISO__FAIL(ctx, images ? ISO_DTYPE_MISMATCH : ISO_INVALID_ARGUMENT, name, "images are %s, expected u8",
                     images ? iso_dtype_name(iso_tensor_dtype(images)) : "NULL"),
           false;
  bool ok = n_dims == 3 || n_dims == 4;
  for (int i = 0; ok && i < n_dims; i++) ok = shape[i] > 0 && shape[i] <= (i == 0 ? (int64_t)UINT32_MAX : INT_MAX);
  if (!ok)
    return ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, name,
                     "images have shape %s, expected (N,H,W) or (N,C,H,W), none of them 0",
                     iso__shape_text(n_dims, shape, text, sizeof text)),
           false;
  info->n_samples = shape[0];
  info->channels = n_dims == 4 ? (int)shape[1] : 1;
  info->height = (int)shape[n_dims - 2], info->width = (int)shape[n_dims - 1];
  return true;
}

/* The images with C innermost: themselves, or a copy. A new handle in the current scope. */
static iso_tensor *channels_last(iso_context *ctx, const iso_tensor *images, int channels) {
  const int n_dims = iso_tensor_n_dims(images);
  const int64_t *shape = iso_tensor_shape(images);
  if (channels == 1 ? iso_tensor_is_contiguous(images) : iso_tensor_is_channels_last(images))
    return iso_tensor_alias(ctx, images);
  iso_tensor *copy = channels == 1 ? iso_tensor_new(ctx, ISO_U8, n_dims, shape)
                                   : iso_tensor_new_channels_last(ctx, ISO_U8, n_dims, shape);
  if (copy && iso_tensor_assign(copy, images) != ISO_OK) return iso_release(copy), NULL;
  return copy;
}

/* Every label in [0, n_classes); 0 classes: any, and the largest + 1 goes into *n_classes. */
static bool check_range(iso_context *ctx, const int64_t *labels, int64_t n, const char *name, int *n_classes) {
  const int64_t limit = *n_classes > 0 ? *n_classes : INT32_MAX;
  int64_t largest = 0;
  for (int64_t i = 0; i < n; i++) {
    if (labels[i] < 0 || labels[i] >= limit)
      return ISO__FAIL(ctx, ISO_CORRUPT, name, "label %lld is %lld, expected 0 to %lld", (long long)i,
                       (long long)labels[i], (long long)limit - 1),
             false;
    if (labels[i] > largest) largest = labels[i];
  }
  if (*n_classes == 0) *n_classes = (int)largest + 1;
  return true;
}

/* The labels as i64, checked against the images and the classes. */
static iso_tensor *check_labels(iso_context *ctx, const iso_tensor *labels, const char *name, iso_dataset_info *info) {
  char text[200];
  const iso_dtype dtype = iso_tensor_dtype(labels);
  if (!labels || (dtype != ISO_U8 && dtype != ISO_I32 && dtype != ISO_I64))
    return ISO__FAIL(ctx, labels ? ISO_DTYPE_MISMATCH : ISO_INVALID_ARGUMENT, name,
                     "labels are %s, expected u8, i32 or i64", labels ? iso_dtype_name(dtype) : "NULL"),
           NULL;
  if (iso_tensor_n_dims(labels) != 1 || iso_tensor_shape(labels)[0] != info->n_samples)
    return ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, name, "labels have shape %s, but there are %lld images",
                     iso__shape_text(iso_tensor_n_dims(labels), iso_tensor_shape(labels), text, sizeof text),
                     (long long)info->n_samples),
           NULL;
  iso_tensor *wide = iso_tensor_new(ctx, ISO_I64, 1, &info->n_samples);
  if (wide && iso_tensor_assign(wide, labels) == ISO_OK &&
      check_range(ctx, iso_tensor_data(wide), info->n_samples, name, &info->n_classes))
    return wide;
  iso_release(wide);
  return NULL;
}

static bool hash_content(iso_context *ctx, const char *name, iso_dataset *set) {
  const iso_dataset_info *info = &set->info;
  const int64_t sizes[4] = {info->n_samples, info->channels, info->height, info->width};
  iso__hasher *hasher = iso__hasher_new();
  if (!hasher) return ISO__FAIL(ctx, ISO_OUT_OF_MEMORY, name, "no memory to hash the data"), false;
  iso__hasher_add(hasher, sizes, sizeof sizes);
  iso__hasher_add(hasher, set->pixels, (size_t)(info->n_samples * iso__dataset_sample_bytes(set)));
  iso__hasher_add(hasher, set->labels, (size_t)info->n_samples * sizeof *set->labels);
  iso__hash_format(iso__hasher_end(hasher), set->info.hash);
  return true;
}

static iso_dataset *assemble(iso_context *ctx, const iso_tensor *pixels, const char *name, const int64_t *labels,
                             const iso_dataset_info *info) {
  iso_dataset *set = iso__zalloc(ctx, sizeof *set);
  if (!set) return NULL;
  atomic_init(&set->n_refs, 1);
  iso__heap_retain(ctx->heap);
  iso__storage_retain(pixels->view.storage);
  iso__storage_set_owner(pixels->view.storage, ISO__OWNER_DATA);
  set->heap = ctx->heap, set->info = *info;
  set->storage = pixels->view.storage, set->pixels = iso_tensor_data(pixels);
  set->labels = iso__alloc(ctx, (size_t)info->n_samples * sizeof *set->labels);
  for (int64_t i = 0; set->labels && i < info->n_samples; i++) set->labels[i] = (int32_t)labels[i];
  if (set->labels && hash_content(ctx, name, set)) return set;
  iso_dataset_free(set);
  return NULL;
}

iso_dataset *iso__dataset_make(iso_context *ctx, const iso_tensor *images, const char *images_name,
                               const iso_tensor *labels, const char *labels_name, int n_classes) {
  iso_dataset_info info = {.n_classes = n_classes};
  if (iso__failed(ctx)) return NULL;
  if (n_classes < 0) return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, labels_name, "n_classes is %d", n_classes), NULL;
  if (!check_images(ctx, images, images_name, &info)) return NULL;
  if (iso__storage_settle(ctx, images_name, images->view.storage) != ISO_OK) return NULL;
  iso_tensor *checked = check_labels(ctx, labels, labels_name, &info);
  iso_tensor *pixels = checked ? channels_last(ctx, images, info.channels) : NULL;
  iso_dataset *set = pixels ? assemble(ctx, pixels, images_name, iso_tensor_data(checked), &info) : NULL;
  iso_release(pixels);
  iso_release(checked);
  return set;
}

iso_dataset *iso_dataset_from_tensors(iso_context *ctx, const iso_tensor *images, const iso_tensor *labels,
                                      int n_classes) {
  return iso__dataset_make(ctx, images, "dataset_from_tensors", labels, "dataset_from_tensors", n_classes);
}
