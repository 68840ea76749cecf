/* dict.c: named tensors and metadata, sorted, as safetensors and npz files hold them. */
#include "io/formats.h"
#include <stdlib.h>
#include <string.h>

typedef struct dict {
  iso_tensor_dict face; /* first */
  iso_context *ctx;
  size_t tensor_capacity, metadata_capacity;
} dict;

static char *copy_text(iso_context *ctx, const char *text, size_t n) {
  char *copy = iso__alloc(ctx, n + 1);
  if (!copy) return NULL;
  memcpy(copy, text, n);
  copy[n] = '\0';
  return copy;
}

static void free_text(iso_context *ctx, const char *text) {
  if (text) iso__free(ctx, (char *)(uintptr_t)text, strlen(text) + 1);
}

iso_tensor_dict *iso__dict_new(iso_context *ctx) {
  dict *d = iso__zalloc(ctx, sizeof *d);
  if (!d) return NULL;
  d->ctx = ctx;
  return &d->face;
}

void iso_tensor_dict_free(iso_tensor_dict *face) {
  if (!face) return;
  dict *d = (dict *)face;
  for (size_t i = 0; i < face->n_tensors; i++) {
    free_text(d->ctx, face->tensors[i].name);
    iso_release(face->tensors[i].tensor);
  }
  for (size_t i = 0; i < face->n_metadata; i++) {
    free_text(d->ctx, face->metadata[i].key);
    free_text(d->ctx, face->metadata[i].value);
  }
  iso__free(d->ctx, face->tensors, d->tensor_capacity * sizeof *face->tensors);
  iso__free(d->ctx, face->metadata, d->metadata_capacity * sizeof *face->metadata);
  iso__free(d->ctx, d, sizeof *d);
}

bool iso__dict_add(iso_tensor_dict *face, const char *name, size_t n_name, iso_tensor *tensor) {
  dict *d = (dict *)face;
  void *items = face->tensors;
  char *copy = tensor ? copy_text(d->ctx, name, n_name) : NULL;
  const bool grown = copy && iso__grow(d->ctx, &items, &d->tensor_capacity, face->n_tensors + 1, sizeof *face->tensors);
  face->tensors = items;
  if (!grown) {
    free_text(d->ctx, copy);
    iso_release(tensor);
    return false;
  }
  face->tensors[face->n_tensors++] = (iso_named_tensor){.name = copy, .tensor = iso_keep(tensor)};
  return true;
}

bool iso__dict_add_metadata(iso_tensor_dict *face, const char *key, const char *value) {
  dict *d = (dict *)face;
  void *items = face->metadata;
  char *key_copy = copy_text(d->ctx, key, strlen(key)), *value_copy = copy_text(d->ctx, value, strlen(value));
  const bool grown = key_copy && value_copy &&
                     iso__grow(d->ctx, &items, &d->metadata_capacity, face->n_metadata + 1, sizeof *face->metadata);
  face->metadata = items;
  if (!grown) {
    free_text(d->ctx, key_copy);
    free_text(d->ctx, value_copy);
    return false;
  }
  face->metadata[face->n_metadata++] = (iso_key_value){.key = key_copy, .value = value_copy};
  return true;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const iso_named_tensor *)a)->name, ((const iso_named_tensor *)b)->name);
}
static int by_key(const void *a, const void *b) {
  return strcmp(((const iso_key_value *)a)->key, ((const iso_key_value *)b)->key);
}

bool iso__dict_sort(iso_tensor_dict *face, const char *source_name) {
  if (face->n_tensors > 0) qsort(face->tensors, face->n_tensors, sizeof *face->tensors, by_name);
  if (face->n_metadata > 0) qsort(face->metadata, face->n_metadata, sizeof *face->metadata, by_key);
  for (size_t i = 1; i < face->n_tensors; i++)
    if (by_name(&face->tensors[i - 1], &face->tensors[i]) == 0) {
      char text[80];
      const char *name = face->tensors[i].name;
      ISO__FAIL(((dict *)face)->ctx, ISO_CORRUPT, source_name, "holds two tensors of the name '%s'",
                iso__printable(name, strlen(name), text, sizeof text));
      return false;
    }
  return true;
}

iso_tensor *iso_tensor_dict_find(const iso_tensor_dict *face, const char *name) {
  if (!face || face->n_tensors == 0 || !name) return NULL;
  const iso_named_tensor wanted = {.name = name};
  const iso_named_tensor *found = bsearch(&wanted, face->tensors, face->n_tensors, sizeof *face->tensors, by_name);
  return found ? found->tensor : NULL;
}

const char *iso_tensor_dict_metadata(const iso_tensor_dict *face, const char *key) {
  if (!face || face->n_metadata == 0 || !key) return NULL;
  const iso_key_value wanted = {.key = key};
  const iso_key_value *found = bsearch(&wanted, face->metadata, face->n_metadata, sizeof *face->metadata, by_key);
  return found ? found->value : NULL;
}
