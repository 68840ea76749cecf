/* idx.c: the format of MNIST (LeCun's page on it is the specification): two zero bytes, a type byte, the number of
 * axes, big-endian 32-bit extents, big-endian elements. Gzip is seen by its own magic number. */
#include "tensor/tensor.h"
#include "io/formats.h"
#include <string.h>

static bool find_dtype(uint8_t code, iso_dtype *dtype) {
  switch (code) {
  case 0x08: *dtype = ISO_U8; return true;
  case 0x0c: *dtype = ISO_I32; return true;
  case 0x0d: *dtype = ISO_F32; return true;
  case 0x0e: *dtype = ISO_F64; return true;
  default: return false;
  }
}

static int find_code(iso_dtype dtype) {
  for (int code = 0x08; code <= 0x0e; code++) {
    iso_dtype found;
    if (find_dtype((uint8_t)code, &found) && found == dtype) return code;
  }
  return -1;
}

static bool read_header(iso__stream *stream, iso_dtype *dtype, int *n_dims, int64_t *shape) {
  iso_context *ctx = stream->ctx;
  const char *name = stream->source->name;
  uint8_t head[4], extents[4 * ISO_MAX_DIMS];
  if (!iso__stream_read(stream, head, 4, "the idx magic number")) return false;
  const uint32_t magic = iso__u32_be(head);
  if (head[0] != 0 || head[1] != 0)
    return ISO__FAIL(ctx, ISO_CORRUPT, name, "idx magic is 0x%08x, expected 0x0000080x", magic), false;
  if (head[2] == 0x09 || head[2] == 0x0b)
    return ISO__FAIL(ctx, ISO_UNSUPPORTED, name, "idx magic is 0x%08x: elements of 8 or 16 signed bits have no tensor",
                     magic),
           false;
  if (!find_dtype(head[2], dtype))
    return ISO__FAIL(ctx, ISO_CORRUPT, name, "idx magic is 0x%08x: there is no element type 0x%02x", magic, head[2]),
           false;
  if (head[3] < 1 || head[3] > ISO_MAX_DIMS)
    return ISO__FAIL(ctx, ISO_UNSUPPORTED, name, "idx magic is 0x%08x: %d axes, supported are 1 to %d", magic, head[3],
                     ISO_MAX_DIMS),
           false;
  *n_dims = head[3];
  if (!iso__stream_read(stream, extents, 4 * (uint64_t)*n_dims, "the idx extents")) return false;
  for (int i = 0; i < *n_dims; i++) shape[i] = iso__u32_be(extents + 4 * i);
  return true;
}

static iso_tensor *read_stream(iso__stream *stream) {
  iso_dtype dtype;
  int n_dims;
  int64_t shape[ISO_MAX_DIMS];
  uint64_t n_bytes;
  if (!read_header(stream, &dtype, &n_dims, shape)) return NULL;
  if (!iso__elements_check_shape(stream->ctx, stream->source->name, "idx data", dtype, n_dims, shape,
                                 iso__stream_bound(stream), &n_bytes))
    return NULL;
  iso_tensor *t = iso__tensor_new_on_host(stream->ctx, dtype, n_dims, shape);
  if (!t) return NULL;
  const size_t item = iso_dtype_size(dtype);
  if (!iso__stream_read(stream, iso_tensor_data(t), n_bytes, "the idx data") || !iso__stream_finish(stream))
    return iso_release(t), NULL;
  iso__elements_swap(iso_tensor_data(t), (size_t)n_bytes / item, item);
  return t;
}

static iso_tensor *read_source(iso_context *ctx, const iso__source *source) {
  iso__stream stream;
  if (!iso__stream_open_any(ctx, source, &stream)) return NULL;
  iso_tensor *t = read_stream(&stream);
  iso__stream_close(&stream);
  return t;
}

iso_tensor *iso__idx_parse(iso_context *ctx, const char *name, const void *bytes, size_t n_bytes) {
  const iso__source source = iso__source_memory(name, bytes, n_bytes);
  return read_source(ctx, &source);
}

iso_tensor *iso_idx_read(iso_context *ctx, const char *path) {
  iso__source source;
  if (!iso__source_open(ctx, path, &source)) return NULL;
  iso_tensor *t = read_source(ctx, &source);
  iso__source_close(&source);
  return t;
}

static bool format_header(iso_context *ctx, const char *name, const iso_tensor *t, uint8_t *out) {
  const int n_dims = iso_tensor_n_dims(t), code = find_code(iso_tensor_dtype(t));
  if (code < 0)
    return ISO__FAIL(ctx, ISO_UNSUPPORTED, name, "idx has no element type for %s", iso_dtype_name(iso_tensor_dtype(t))),
           false;
  if (n_dims == 0) return ISO__FAIL(ctx, ISO_UNSUPPORTED, name, "idx has no scalars"), false;
  memcpy(out, (uint8_t[4]){0, 0, (uint8_t)code, (uint8_t)n_dims}, 4);
  for (int i = 0; i < n_dims; i++) {
    const int64_t extent = iso_tensor_shape(t)[i];
    if (extent > UINT32_MAX)
      return ISO__FAIL(ctx, ISO_UNSUPPORTED, name, "extent %lld of axis %d is beyond idx's 32 bits", (long long)extent,
                       i),
             false;
    for (int b = 0; b < 4; b++) out[4 + 4 * i + b] = (uint8_t)(extent >> (24 - 8 * b));
  }
  return true;
}

iso_status iso_idx_write(iso_context *ctx, const char *path, const iso_tensor *t) {
  if (iso__failed(ctx)) return ctx ? iso_error_code(ctx) : ISO_INVALID_ARGUMENT;
  if (!t || !path) return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "idx_write", "the %s is NULL", t ? "path" : "tensor");
  uint8_t header[4 + 4 * ISO_MAX_DIMS];
  iso__writer writer;
  const size_t n_path = strlen(path);
  const bool gzip = n_path > 3 && strcmp(path + n_path - 3, ".gz") == 0;
  if (!format_header(ctx, iso__path_tail(path), t, header)) return iso_error_code(ctx);
  if (!iso__writer_open(ctx, path, gzip, &writer)) return iso_error_code(ctx);
  return iso__writer_end(&writer, iso__writer_add(&writer, header, 4 + 4 * (size_t)iso_tensor_n_dims(t)) &&
                                      iso__writer_add_tensor(&writer, t, false, true));
}
