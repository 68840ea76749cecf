/* npy.c: numpy's array files (NEP 1, versions 1 to 3). Magic, version, header length, a dict literal (npy_header.c),
 * then the elements in C or Fortran order. */
#include "tensor/tensor.h"
#include "io/formats.h"
#include <stdio.h>
#include <string.h>

enum { MAGIC_BYTES = 6, MAX_HEADER_BYTES = 1 << 20 };
static const uint8_t magic[MAGIC_BYTES] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

static bool read_header(iso__stream *stream, iso__npy_header *out) {
  iso_context *ctx = stream->ctx;
  const char *name = stream->source->name;
  uint8_t head[12];
  if (!iso__stream_read(stream, head, 8, "the npy magic number and version")) return false;
  if (memcmp(head, magic, MAGIC_BYTES) != 0)
    return ISO__FAIL(ctx, ISO_CORRUPT, name, "npy magic is %02x%02x%02x%02x%02x%02x, expected 934e554d5059", head[0],
                     head[1], head[2], head[3], head[4], head[5]),
           false;
  const int major = head[6], minor = head[7];
  if (major < 1 || major > 3 || minor != 0)
    return ISO__FAIL(ctx, ISO_UNSUPPORTED, name, "npy version is %d.%d, supported are 1.0, 2.0, 3.0", major, minor),
           false;
  if (!iso__stream_read(stream, head + 8, major == 1 ? 2 : 4, "the npy header length")) return false;
  const uint32_t n = major == 1 ? iso__u16_le(head + 8) : iso__u32_le(head + 8);
  if (n > MAX_HEADER_BYTES || n > iso__stream_bound(stream))
    return ISO__FAIL(ctx, ISO_CORRUPT, name, "npy header length is %u, the file can hold %llu, the limit is %d", n,
                     (unsigned long long)iso__stream_bound(stream), MAX_HEADER_BYTES),
           false;
  char *text = iso__alloc(ctx, n);
  const bool ok =
      text && iso__stream_read(stream, text, n, "the npy header") && iso__npy_header_parse(ctx, name, text, n, out);
  iso__free(ctx, text, n);
  return ok;
}

static void reverse(int n, const int64_t *from, int64_t *to) {
  for (int i = 0; i < n; i++) to[i] = from[n - 1 - i];
}

/* The view with its axes in reverse; t is released. */
static iso_tensor *reverse_axes(iso_context *ctx, iso_tensor *t) {
  int axes[ISO_MAX_DIMS];
  iso__view view;
  for (int i = 0; i < t->view.n_dims; i++) axes[i] = t->view.n_dims - 1 - i;
  iso_tensor *result = iso__view_permute(ctx, &t->view, axes, &view) ? iso__tensor_from_view(ctx, &view) : NULL;
  iso_release(t);
  return result;
}

iso_tensor *iso__npy_read_stream(iso__stream *stream) {
  iso_context *ctx = stream->ctx;
  const char *name = stream->source->name;
  iso__npy_header h;
  uint64_t n_bytes;
  int64_t shape[ISO_MAX_DIMS];
  if (!read_header(stream, &h)) return NULL;
  if (!iso__elements_check_shape(ctx, name, "npy data", h.dtype, h.n_dims, h.shape, iso__stream_bound(stream),
                                 &n_bytes))
    return NULL;
  memcpy(shape, h.shape, sizeof shape);
  if (h.fortran_order) reverse(h.n_dims, h.shape, shape);
  iso_tensor *t = iso__tensor_new_on_host(ctx, h.dtype, h.n_dims, shape);
  if (!t) return NULL;
  uint8_t *data = iso_tensor_data(t);
  const size_t item = iso_dtype_size(h.dtype);
  bool ok = iso__stream_read(stream, data, n_bytes, "the npy data") && iso__stream_finish(stream);
  if (ok && h.big_endian) iso__elements_swap(data, (size_t)n_bytes / item, item);
  if (ok && h.dtype == ISO_BOOL) ok = iso__elements_check_bools(ctx, name, data, (int64_t)n_bytes);
  if (!ok) return iso_release(t), NULL;
  return h.fortran_order ? reverse_axes(ctx, t) : t;
}

static iso_tensor *read_source(iso_context *ctx, const iso__source *source) {
  iso__stream stream;
  if (!iso__stream_open(ctx, source, 0, source->n_bytes, ISO__STREAM_STORED, &stream)) return NULL;
  iso_tensor *t = iso__npy_read_stream(&stream);
  iso__stream_close(&stream);
  return t;
}

iso_tensor *iso__npy_parse(iso_context *ctx, const char *name, const void *bytes, size_t n_bytes) {
  const iso__source source = iso__source_memory(name, bytes, n_bytes);
  return read_source(ctx, &source);
}

iso_tensor *iso_npy_read(iso_context *ctx, const char *path) {
  iso__source source;
  if (!iso__source_open(ctx, path, &source)) return NULL;
  iso_tensor *t = read_source(ctx, &source);
  iso__source_close(&source);
  return t;
}

/* Dense with its first axis innermost, and not dense the other way round as well. */
static bool is_fortran(const iso_tensor *t) {
  const int n = iso_tensor_n_dims(t);
  int64_t shape[ISO_MAX_DIMS], dense[ISO_MAX_DIMS];
  if (iso_tensor_is_contiguous(t)) return false;
  reverse(n, iso_tensor_shape(t), shape);
  iso__strides_contiguous(n, shape, dense);
  for (int i = 0; i < n; i++)
    if (shape[i] != 1 && dense[i] != iso_tensor_strides(t)[n - 1 - i]) return false;
  return true;
}

/* numpy pads the header with spaces so that the data begins at a multiple of 64. */
static size_t format_header(const iso_tensor *t, bool fortran, char *out, size_t n_out) {
  static const char *const descrs[ISO_DTYPE_COUNT] = {
      [ISO_F32] = "<f4", [ISO_F64] = "<f8", [ISO_F16] = "<f2", [ISO_BF16] = "<V2",
      [ISO_I64] = "<i8", [ISO_I32] = "<i4", [ISO_U8] = "|u1",  [ISO_BOOL] = "|b1"};
  const size_t n_prefix = MAGIC_BYTES + 4;
  const int n_dims = iso_tensor_n_dims(t);
  char *text = out + n_prefix;
  size_t n_room = n_out - n_prefix, n = 0;
  n += (size_t)snprintf(text, n_room, "{'descr': '%s', 'fortran_order': %s, 'shape': (", descrs[iso_tensor_dtype(t)],
                        fortran ? "True" : "False");
  for (int i = 0; i < n_dims; i++)
    n += (size_t)snprintf(text + n, n_room - n,
                          i + 1 < n_dims ? "%lld, "
                          : n_dims == 1  ? "%lld,"
                                         : "%lld",
                          (long long)iso_tensor_shape(t)[i]);
  n += (size_t)snprintf(text + n, n_room - n, "), }");
  while ((n_prefix + n + 1) % 64 != 0) text[n++] = ' ';
  text[n++] = '\n';
  memcpy(out, magic, MAGIC_BYTES);
  const uint8_t tail[4] = {1, 0, (uint8_t)(n & 0xff), (uint8_t)(n >> 8)};
  memcpy(out + MAGIC_BYTES, tail, sizeof tail);
  return n_prefix + n;
}

iso_status iso_npy_write(iso_context *ctx, const char *path, const iso_tensor *t) {
  if (iso__failed(ctx)) return ctx ? iso_error_code(ctx) : ISO_INVALID_ARGUMENT;
  if (!t) return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "npy_write", "the tensor is NULL");
  iso__writer writer;
  if (!iso__writer_open(ctx, path, false, &writer)) return iso_error_code(ctx);
  char header[512]; /* 8 extents of at most 19 digits: below 300 */
  const bool fortran = is_fortran(t);
  const size_t n = format_header(t, fortran, header, sizeof header);
  return iso__writer_end(&writer,
                         iso__writer_add(&writer, header, n) && iso__writer_add_tensor(&writer, t, fortran, false));
}
