/* elements.c: byte order, NaNs, bools, shapes: shared by the formats. */
#include "io/elements.h"
#include <string.h>

void iso__elements_swap(void *data, size_t n, size_t item_bytes) {
  uint8_t *p = data;
  if (item_bytes == 1) return;
  for (size_t i = 0; i < n; i++, p += item_bytes) {
    for (size_t low = 0, high = item_bytes - 1; low < high; low++, high--) {
      const uint8_t byte = p[low];
      p[low] = p[high], p[high] = byte;
    }
  }
}

static void quiet16(uint16_t *p, size_t n, uint16_t infinity, uint16_t quiet) {
  for (size_t i = 0; i < n; i++)
    if ((p[i] & 0x7fff) > infinity) p[i] = quiet;
}

void iso__elements_quiet_nans(iso_dtype dtype, void *data, size_t n) {
  if (dtype == ISO_F16) quiet16(data, n, 0x7c00, 0x7e00);
  if (dtype == ISO_BF16) quiet16(data, n, 0x7f80, 0x7fc0);
  if (dtype == ISO_F32) {
    uint32_t *p = data;
    for (size_t i = 0; i < n; i++)
      if ((p[i] & 0x7fffffffu) > 0x7f800000u) p[i] = 0x7fc00000u;
  }
  if (dtype == ISO_F64) {
    uint64_t *p = data;
    for (size_t i = 0; i < n; i++)
      if ((p[i] & UINT64_C(0x7fffffffffffffff)) > UINT64_C(0x7ff0000000000000)) p[i] = UINT64_C(0x7ff8000000000000);
  }
}

bool iso__elements_check_bools(iso_context *ctx, const char *name, const uint8_t *data, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    if (data[i] > 1)
      return ISO__FAIL(ctx, ISO_CORRUPT, name, "bool element %lld is %d, expected 0 or 1", (long long)i, data[i]),
             false;
  return true;
}

bool iso__elements_check_shape(iso_context *ctx, const char *name, const char *field, iso_dtype dtype, int n_dims,
                               const int64_t *shape, uint64_t n_available, uint64_t *n_bytes) {
  char text[200];
  int64_t numel;
  iso__shape_text(n_dims, shape, text, sizeof text);
  if (!iso__shape_numel(n_dims, shape, iso_dtype_size(dtype), &numel))
    return ISO__FAIL(ctx, ISO_CORRUPT, name, "%s: shape %s of %s is more than memory can hold", field, text,
                     iso_dtype_name(dtype)),
           false;
  *n_bytes = (uint64_t)numel * iso_dtype_size(dtype);
  if (*n_bytes > n_available)
    return ISO__FAIL(ctx, ISO_CORRUPT, name, "%s: shape %s of %s needs %llu bytes, the file can hold %llu", field, text,
                     iso_dtype_name(dtype), (unsigned long long)*n_bytes, (unsigned long long)n_available),
           false;
  return true;
}

bool iso__writer_add_tensor(iso__writer *writer, const iso_tensor *t, bool reversed, bool big_endian) {
  iso_context *ctx = writer->ctx;
  const iso_dtype dtype = iso_tensor_dtype(t);
  const size_t n = (size_t)iso_tensor_numel(t), n_bytes = n * iso_dtype_size(dtype);
  if (n == 0) return !iso__failed(ctx);
  const bool is_host = t->view.storage->device == &iso__device_cpu;
  if (is_host && (reversed || iso_tensor_is_contiguous(t)))
    return iso__storage_settle(ctx, "write", t->view.storage) == ISO_OK &&
           iso__writer_add_elements(writer, dtype, iso_tensor_data(t), n, big_endian);
  void *copy = iso__alloc(ctx, n_bytes);
  const bool ok = copy && iso_tensor_copy_to(t, copy, n_bytes) == ISO_OK &&
                  iso__writer_add_elements(writer, dtype, copy, n, big_endian);
  iso__free(ctx, copy, n_bytes);
  return ok;
}
