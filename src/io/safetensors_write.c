/* safetensors_write.c: the writer orders everything itself (elements of 8 bytes first, then by name; metadata by key),
 * so every tensor is aligned to its elements and equal content gives equal files. */
#include "io/safetensors.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "io/formats.h"

static int by_layout(const void *a, const void *b) {
  const iso_named_tensor *x = a, *y = b;
  const size_t x_size = iso_dtype_size(iso_tensor_dtype(x->tensor)),
               y_size = iso_dtype_size(iso_tensor_dtype(y->tensor));
  if (x_size != y_size) return x_size > y_size ? -1 : 1;
  return strcmp(x->name, y->name);
}

static int by_key(const void *a, const void *b) {
  return strcmp(((const iso_key_value *)a)->key, ((const iso_key_value *)b)->key);
}

static const char *find_type(iso_dtype dtype) {
  size_t i = 0;
  while (iso__safetensors_types[i].dtype != dtype) i++;
  return iso__safetensors_types[i].name;
}

/* NULL where memory has run out. */
static json_t *describe(const iso_tensor *t, uint64_t begin, uint64_t end) {
  json_t *shape = json_array();
  bool ok = shape != NULL;
  for (int i = 0; ok && i < iso_tensor_n_dims(t); i++)
    ok = json_array_append_new(shape, json_integer(iso_tensor_shape(t)[i])) == 0;
  if (!ok) return json_decref(shape), NULL;
  return json_pack("{s:s, s:o, s:[I, I]}", "dtype", find_type(iso_tensor_dtype(t)), "shape", shape, "data_offsets",
                   (json_int_t)begin, (json_int_t)end);
}

/* json_object_set refuses a name that is not UTF-8, and a NULL value where memory has run out. */
static bool set(iso_context *ctx, const char *file, json_t *object, const char *kind, const char *name, json_t *value) {
  char text[80];
  const bool has_value = value != NULL;
  if (json_object_set_new(object, name, value) == 0) return true;
  if (!has_value) return ISO__FAIL(ctx, ISO_OUT_OF_MEMORY, file, "no memory for the safetensors header"), false;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, file, "%s '%s' is not UTF-8", kind,
            iso__printable(name, strlen(name), text, sizeof text));
  return false;
}

static bool add_metadata(iso_context *ctx, const char *file, json_t *header, const iso_key_value *items, size_t n) {
  char text[80];
  if (n == 0) return true;
  json_t *object = json_object();
  for (size_t i = 0; i < n; i++) {
    json_t *value = json_string(items[i].value);
    const bool twice = i > 0 && strcmp(items[i - 1].key, items[i].key) == 0;
    if (twice || !value) {
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, file, "metadata '%s' %s",
                iso__printable(items[i].key, strlen(items[i].key), text, sizeof text),
                twice ? "is given twice" : "has a value that is not UTF-8");
      json_decref(value);
      json_decref(object);
      return false;
    }
    if (!set(ctx, file, object, "metadata key", items[i].key, value)) return json_decref(object), false;
  }
  return set(ctx, file, header, "name", "__metadata__", object);
}

static bool add_tensors(iso_context *ctx, const char *file, json_t *header, const iso_named_tensor *items, size_t n) {
  uint64_t at = 0;
  char text[80];
  for (size_t i = 0; i < n; i++) {
    const iso_tensor *t = items[i].tensor;
    const char *name = items[i].name;
    const uint64_t n_bytes = (uint64_t)iso_tensor_numel(t) * iso_dtype_size(iso_tensor_dtype(t));
    if (strcmp(name, "__metadata__") == 0 || json_object_get(header, name))
      return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, file, "the tensor name '%s' is %s",
                       iso__printable(name, strlen(name), text, sizeof text),
                       name[0] == '_' && strcmp(name, "__metadata__") == 0 ? "reserved" : "given twice"),
             false;
    if (!set(ctx, file, header, "tensor name", name, describe(t, at, at + n_bytes))) return false;
    at += n_bytes;
  }
  return true;
}

static bool write_header(iso__writer *writer, const json_t *header) {
  char *text = json_dumps(header, JSON_COMPACT);
  if (!text)
    return ISO__FAIL(writer->ctx, ISO_OUT_OF_MEMORY, writer->name, "no memory for the safetensors header"), false;
  const size_t n = strlen(text), n_padded = (n + 7) / 8 * 8;
  uint8_t head[8];
  for (int i = 0; i < 8; i++) head[i] = (uint8_t)((uint64_t)n_padded >> 8 * i);
  bool ok = n_padded <= ISO__SAFETENSORS_MAX_HEADER_BYTES;
  if (!ok)
    ISO__FAIL(writer->ctx, ISO_UNSUPPORTED, writer->name,
              "the safetensors header would have %zu bytes, the limit is %d", n_padded,
              ISO__SAFETENSORS_MAX_HEADER_BYTES);
  ok = ok && iso__writer_add(writer, head, 8) && iso__writer_add(writer, text, n) &&
       iso__writer_add(writer, "       ", n_padded - n);
  free(text);
  return ok;
}

static iso_status write_sorted(iso_context *ctx, const char *path, const iso_named_tensor *tensors, size_t n_tensors,
                               const iso_key_value *metadata, size_t n_metadata) {
  const char *file = iso__path_tail(path);
  json_t *header = json_object();
  iso__writer writer;
  if (!header) return ISO__FAIL(ctx, ISO_OUT_OF_MEMORY, file, "no memory for the safetensors header");
  if (add_metadata(ctx, file, header, metadata, n_metadata) && add_tensors(ctx, file, header, tensors, n_tensors) &&
      iso__writer_open(ctx, path, false, &writer)) {
    bool ok = write_header(&writer, header);
    for (size_t i = 0; ok && i < n_tensors; i++) ok = iso__writer_add_tensor(&writer, tensors[i].tensor, false, false);
    iso__writer_end(&writer, ok);
  }
  json_decref(header);
  return iso_error_code(ctx);
}

static bool check_arguments(iso_context *ctx, const char *path, const iso_named_tensor *tensors, size_t n_tensors,
                            const iso_key_value *metadata, size_t n_metadata) {
  static const char op[] = "safetensors_write";
  if (!path) return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "the path is NULL"), false;
  for (size_t i = 0; i < n_tensors; i++)
    if (!tensors[i].name || !tensors[i].tensor)
      return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "tensor %zu has no %s", i, tensors[i].name ? "tensor" : "name"),
             false;
  for (size_t i = 0; i < n_metadata; i++)
    if (!metadata[i].key || !metadata[i].value)
      return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "metadata %zu has no %s", i, metadata[i].key ? "value" : "key"),
             false;
  return true;
}

iso_status iso_safetensors_write(iso_context *ctx, const char *path, const iso_named_tensor *tensors, size_t n_tensors,
                                 const iso_key_value *metadata, size_t n_metadata) {
  if (iso__failed(ctx)) return ctx ? iso_error_code(ctx) : ISO_INVALID_ARGUMENT;
  if (!check_arguments(ctx, path, tensors, n_tensors, metadata, n_metadata)) return iso_error_code(ctx);
  const size_t tensor_bytes = n_tensors * sizeof *tensors, metadata_bytes = n_metadata * sizeof *metadata;
  iso_named_tensor *sorted = iso__alloc(ctx, tensor_bytes);
  iso_key_value *sorted_metadata = iso__alloc(ctx, metadata_bytes);
  if (sorted && sorted_metadata) {
    if (n_tensors > 0) memcpy(sorted, tensors, tensor_bytes);
    if (n_metadata > 0) memcpy(sorted_metadata, metadata, metadata_bytes);
    qsort(sorted, n_tensors, sizeof *sorted, by_layout);
    qsort(sorted_metadata, n_metadata, sizeof *sorted_metadata, by_key);
    write_sorted(ctx, path, sorted, n_tensors, sorted_metadata, n_metadata);
  }
  iso__free(ctx, sorted, tensor_bytes);
  iso__free(ctx, sorted_metadata, metadata_bytes);
  return iso_error_code(ctx);
}
