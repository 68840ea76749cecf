/* safetensors_read.c: Hugging Face's safetensors. The header is parsed and judged completely before a tensor is made:
 * the tensors must tile the data exactly, each with the bytes that its dtype and shape say, so nothing can hide, alias
 * or ask for more memory than the file has. */
#include "tensor/tensor.h"
#include "io/safetensors.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "io/formats.h"

typedef struct entry {
  const char *name; /* in the JSON */
  iso_dtype dtype;
  int n_dims;
  int64_t shape[ISO_MAX_DIMS];
  uint64_t begin, end; /* from the data's start */
} entry;

typedef struct header {
  iso_context *ctx;
  const iso__source *source;
  uint64_t data_begin, n_data; /* in the source */
  json_t *json;
  entry *entries; /* ascending by begin */
  size_t n_entries, capacity;
} header;

/* A tensor's name ready for a message. */
static const char *shown(const char *name, char text[80]) { return iso__printable(name, strlen(name), text, 80); }

/* Values of the JSON, or a few less: parsed, each takes a hundred bytes that no limit of ours counts, so a header of
 * the largest size could ask for fifty times as much memory. */
static size_t count_values(const char *text, size_t n) {
  size_t count = 0;
  bool in_string = false;
  for (size_t i = 0; i < n; i++) {
    if (in_string && text[i] == '\\') i++;
    else if (text[i] == '"') in_string = !in_string;
    else if (!in_string) count += text[i] == ',' || text[i] == '[' || text[i] == '{';
  }
  return count;
}

static bool load_json(header *h) {
  iso_context *ctx = h->ctx;
  const char *name = h->source->name;
  uint8_t head[8];
  if (!iso__source_read(ctx, h->source, 0, head, 8, "the safetensors header length")) return false;
  const uint64_t n = iso__u64_le(head), n_left = h->source->n_bytes - 8;
  if (n > n_left || n > ISO__SAFETENSORS_MAX_HEADER_BYTES)
    return ISO__FAIL(ctx, ISO_CORRUPT, name,
                     "safetensors header length is %llu, the file has %llu bytes, the limit is %d",
                     (unsigned long long)n, (unsigned long long)n_left, ISO__SAFETENSORS_MAX_HEADER_BYTES),
           false;
  h->data_begin = 8 + n, h->n_data = n_left - n;
  char *text = iso__alloc(ctx, (size_t)n);
  if (!text) return false;
  json_error_t error;
  if (iso__source_read(ctx, h->source, 8, text, n, "the safetensors header")) {
    if (n == 0 || text[0] != '{') {
      ISO__FAIL(ctx, ISO_CORRUPT, name, "safetensors header begins with byte 0x%02x, expected '{'",
                n == 0 ? 0 : (unsigned)(uint8_t)text[0]);
    } else if (count_values(text, (size_t)n) > ISO__SAFETENSORS_MAX_VALUES) {
      ISO__FAIL(ctx, ISO_CORRUPT, name, "safetensors header holds more than %d values", ISO__SAFETENSORS_MAX_VALUES);
    } else if (!(h->json = json_loadb(text, (size_t)n, JSON_REJECT_DUPLICATES, &error))) {
      char shown_text[120];
      const bool no_memory = json_error_code(&error) == json_error_out_of_memory;
      ISO__FAIL(ctx, no_memory ? ISO_OUT_OF_MEMORY : ISO_CORRUPT, name, "safetensors header, byte %d: %s",
                error.position, iso__printable(error.text, strlen(error.text), shown_text, sizeof shown_text));
    }
  }
  iso__free(ctx, text, (size_t)n);
  return h->json != NULL;
}

static bool read_dtype(const header *h, entry *e, const json_t *value) {
  char text[80], type[40];
  const char *code = json_string_value(value);
  if (!code)
    return ISO__FAIL(h->ctx, ISO_CORRUPT, h->source->name, "tensor '%s': dtype is not a string", shown(e->name, text)),
           false;
  for (size_t i = 0; i < ISO_DTYPE_COUNT; i++) {
    if (strcmp(code, iso__safetensors_types[i].name) != 0) continue;
    e->dtype = iso__safetensors_types[i].dtype;
    return true;
  }
  ISO__FAIL(h->ctx, ISO_UNSUPPORTED, h->source->name,
            "tensor '%s': dtype is '%s', supported: F32 F64 F16 BF16 I64 I32 U8 BOOL", shown(e->name, text),
            iso__printable(code, strlen(code), type, sizeof type));
  return false;
}

static bool read_shape(const header *h, entry *e, const json_t *value) {
  char text[80];
  const size_t n = json_array_size(value);
  if (!json_is_array(value))
    return ISO__FAIL(h->ctx, ISO_CORRUPT, h->source->name, "tensor '%s': shape is not a list", shown(e->name, text)),
           false;
  if (n > ISO_MAX_DIMS)
    return ISO__FAIL(h->ctx, ISO_UNSUPPORTED, h->source->name, "tensor '%s': shape has %zu axes, the limit is %d",
                     shown(e->name, text), n, ISO_MAX_DIMS),
           false;
  e->n_dims = (int)n;
  for (size_t i = 0; i < n; i++) {
    const json_t *extent = json_array_get(value, i);
    if (!json_is_integer(extent))
      return ISO__FAIL(h->ctx, ISO_CORRUPT, h->source->name, "tensor '%s': extent %zu is not an integer",
                       shown(e->name, text), i),
             false;
    if (json_integer_value(extent) < 0)
      return ISO__FAIL(h->ctx, ISO_CORRUPT, h->source->name, "tensor '%s': extent %zu is %lld", shown(e->name, text), i,
                       (long long)json_integer_value(extent)),
             false;
    e->shape[i] = json_integer_value(extent);
  }
  return true;
}

static bool read_offsets(const header *h, entry *e, const json_t *value) {
  char text[80];
  const json_t *begin = json_array_get(value, 0), *end = json_array_get(value, 1);
  if (json_array_size(value) != 2 || !json_is_integer(begin) || !json_is_integer(end))
    return ISO__FAIL(h->ctx, ISO_CORRUPT, h->source->name, "tensor '%s': data_offsets are not two integers",
                     shown(e->name, text)),
           false;
  const json_int_t first = json_integer_value(begin), last = json_integer_value(end);
  if (first < 0 || last < first || (uint64_t)last > h->n_data)
    return ISO__FAIL(h->ctx, ISO_CORRUPT, h->source->name,
                     "tensor '%s': data_offsets are [%lld, %lld], the data has %llu bytes", shown(e->name, text),
                     (long long)first, (long long)last, (unsigned long long)h->n_data),
           false;
  e->begin = (uint64_t)first, e->end = (uint64_t)last;
  return true;
}

static bool read_entry(const header *h, const char *name, const json_t *value, entry *e) {
  char text[80];
  uint64_t n_bytes;
  *e = (entry){.name = name};
  if (json_object_size(value) != 3)
    return ISO__FAIL(h->ctx, ISO_CORRUPT, h->source->name,
                     "tensor '%s' has %zu fields, expected dtype, shape, data_offsets", shown(name, text),
                     json_object_size(value)),
           false;
  if (!read_dtype(h, e, json_object_get(value, "dtype")) || !read_shape(h, e, json_object_get(value, "shape")) ||
      !read_offsets(h, e, json_object_get(value, "data_offsets")) ||
      !iso__elements_check_shape(h->ctx, h->source->name, shown(name, text), e->dtype, e->n_dims, e->shape, h->n_data,
                                 &n_bytes))
    return false;
  if (n_bytes != e->end - e->begin)
    return ISO__FAIL(h->ctx, ISO_CORRUPT, h->source->name,
                     "tensor '%s': data_offsets span %llu bytes, dtype and shape say %llu", shown(name, text),
                     (unsigned long long)(e->end - e->begin), (unsigned long long)n_bytes),
           false;
  return true;
}

static bool read_metadata(const header *h, json_t *object, iso_tensor_dict *dict) {
  const char *key;
  json_t *value;
  char text[80];
  if (!json_is_object(object))
    return ISO__FAIL(h->ctx, ISO_CORRUPT, h->source->name, "__metadata__ is not an object"), false;
  json_object_foreach(object, key, value) {
    if (!json_is_string(value))
      return ISO__FAIL(h->ctx, ISO_CORRUPT, h->source->name, "__metadata__ '%s' is not a string", shown(key, text)),
             false;
    if (!iso__dict_add_metadata(dict, key, json_string_value(value))) return false;
  }
  return true;
}

static int by_place(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  if (x->end != y->end) return x->end < y->end ? -1 : 1;
  return strcmp(x->name, y->name);
}

static bool check_tiling(const header *h) {
  uint64_t at = 0;
  char text[80];
  for (size_t i = 0; i < h->n_entries; i++) {
    const entry *e = &h->entries[i];
    if (e->begin != at)
      return ISO__FAIL(h->ctx, ISO_CORRUPT, h->source->name, "tensor '%s' begins at %llu of the data, %s byte %llu",
                       shown(e->name, text), (unsigned long long)e->begin,
                       e->begin < at ? "but overlaps another up to" : "but nothing fills it from",
                       (unsigned long long)at),
             false;
    at = e->end;
  }
  if (at != h->n_data)
    return ISO__FAIL(h->ctx, ISO_CORRUPT, h->source->name, "the data has %llu bytes, the tensors cover %llu",
                     (unsigned long long)h->n_data, (unsigned long long)at),
           false;
  return true;
}

static bool read_header(header *h, iso_tensor_dict *dict) {
  const char *name;
  json_t *value;
  void *entries = NULL;
  if (!load_json(h)) return false;
  json_object_foreach(h->json, name, value) {
    if (strcmp(name, "__metadata__") == 0) {
      if (!read_metadata(h, value, dict)) return false;
      continue;
    }
    const bool grown = iso__grow(h->ctx, &entries, &h->capacity, h->n_entries + 1, sizeof *h->entries);
    h->entries = entries;
    if (!grown || !read_entry(h, name, value, &h->entries[h->n_entries])) return false;
    h->n_entries++;
  }
  if (h->n_entries > 0) qsort(h->entries, h->n_entries, sizeof *h->entries, by_place);
  return check_tiling(h);
}

static bool read_tensor(const header *h, const entry *e, iso_tensor_dict *dict) {
  iso_tensor *t = iso__tensor_new_on_host(h->ctx, e->dtype, e->n_dims, e->shape);
  if (!t) return false;
  const uint64_t n_bytes = e->end - e->begin;
  bool ok =
      iso__source_read(h->ctx, h->source, h->data_begin + e->begin, iso_tensor_data(t), n_bytes, "a tensor's data");
  if (ok && e->dtype == ISO_BOOL)
    ok = iso__elements_check_bools(h->ctx, h->source->name, iso_tensor_data(t), (int64_t)n_bytes);
  if (!ok) return iso_release(t), false;
  return iso__dict_add(dict, e->name, strlen(e->name), t);
}

static iso_tensor_dict *read_source(iso_context *ctx, const iso__source *source) {
  header h = {.ctx = ctx, .source = source};
  iso_tensor_dict *dict = iso__dict_new(ctx);
  bool ok = dict && read_header(&h, dict);
  for (size_t i = 0; ok && i < h.n_entries; i++) ok = read_tensor(&h, &h.entries[i], dict);
  ok = ok && iso__dict_sort(dict, source->name);
  json_decref(h.json);
  iso__free(ctx, h.entries, h.capacity * sizeof *h.entries);
  if (!ok) iso_tensor_dict_free(dict);
  return ok ? dict : NULL;
}

iso_tensor_dict *iso__safetensors_parse(iso_context *ctx, const char *name, const void *bytes, size_t n_bytes) {
  if (iso__failed(ctx)) return NULL;
  const iso__source source = iso__source_memory(name, bytes, n_bytes);
  return read_source(ctx, &source);
}

iso_tensor_dict *iso_safetensors_read(iso_context *ctx, const char *path) {
  iso__source source;
  if (!iso__source_open(ctx, path, &source)) return NULL;
  iso_tensor_dict *dict = read_source(ctx, &source);
  iso__source_close(&source);
  return dict;
}
