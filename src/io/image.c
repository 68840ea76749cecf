/* image.c: images as tensors, and what both formats share. */
#include "io/image.h"
#include <stdio.h> /* jpeglib.h needs its FILE */

#include <jpeglib.h>
#include <png.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "io/formats.h"
#include "io/writer.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *iso_image_decoders(void) {
  return "libpng " PNG_LIBPNG_VER_STRING ", libjpeg-turbo " TEXT(LIBJPEG_TURBO_VERSION);
}

bool iso__image_refuse(iso__image_fault *fault, iso_status code, const char *format, ...) {
  va_list list;
  va_start(list, format);
  fault->code = code;
  vsnprintf(fault->text, sizeof fault->text, format, list);
  va_end(list);
  return false;
}

bool iso__image_check(const iso__image_info *info, size_t n_bytes, int64_t n_pixels_a_byte, iso__image_fault *fault) {
  const int64_t n_pixels = (int64_t)info->width * info->height;
  if (info->width <= 0 || info->height <= 0)
    return iso__image_refuse(fault, ISO_CORRUPT, "the image is %d×%d", info->width, info->height);
  if (n_pixels > ISO__IMAGE_PIXELS)
    return iso__image_refuse(fault, ISO_UNSUPPORTED, "the image is %d×%d: at most %lld pixels are decoded", info->width,
                             info->height, (long long)ISO__IMAGE_PIXELS);
  if (n_pixels / n_pixels_a_byte <= (int64_t)n_bytes) return true;
  return iso__image_refuse(fault, ISO_CORRUPT, "claims %d×%d pixels, more than its %zu bytes can hold", info->width,
                           info->height, n_bytes);
}

static bool is_neither(iso__image_fault *fault) {
  return iso__image_refuse(fault, ISO_CORRUPT, "is neither a PNG nor a JPEG image");
}
bool iso__image_probe(const uint8_t *bytes, size_t n_bytes, iso__image_info *info, iso__image_fault *fault) {
  if (iso__is_png(bytes, n_bytes)) return iso__png_probe(bytes, n_bytes, info, fault);
  if (iso__is_jpeg(bytes, n_bytes)) return iso__jpeg_probe(bytes, n_bytes, info, fault);
  return is_neither(fault);
}
bool iso__image_decode(const uint8_t *bytes, size_t n_bytes, const iso__image_info *info, uint8_t *pixels,
                       iso__image_fault *fault) {
  if (iso__is_png(bytes, n_bytes)) return iso__png_decode(bytes, n_bytes, info, pixels, fault);
  if (iso__is_jpeg(bytes, n_bytes)) return iso__jpeg_decode(bytes, n_bytes, info, pixels, fault);
  return is_neither(fault);
}

/* ---- tensors ---- */

iso_tensor *iso__image_parse(iso_context *ctx, const char *name, const void *bytes, size_t n_bytes) {
  iso__image_info info;
  iso__image_fault fault;
  if (!iso__image_probe(bytes, n_bytes, &info, &fault)) return ISO__FAIL(ctx, fault.code, name, "%s", fault.text), NULL;
  const size_t n_pixels = (size_t)info.width * (size_t)info.height * (size_t)info.channels;
  iso__storage *storage = iso__storage_new_on(ctx, &iso__device_cpu, n_pixels);
  if (!storage) return NULL;
  const int64_t c = info.channels, h = info.height, w = info.width;
  const iso__view view = {
      .storage = storage, .dtype = ISO_U8, .n_dims = 3, .shape = {c, h, w}, .strides = {1, w * c, c}};
  iso_tensor *t = NULL;
  if (iso__image_decode(bytes, n_bytes, &info, storage->data, &fault)) t = iso__tensor_from_view(ctx, &view);
  else ISO__FAIL(ctx, fault.code, name, "%s", fault.text);
  iso__storage_release(storage);
  return t;
}

iso_tensor *iso_image_read(iso_context *ctx, const char *path) {
  iso__source source;
  if (!iso__source_open(ctx, path, &source)) return NULL;
  uint8_t *bytes = iso__alloc(ctx, source.n_bytes);
  iso_tensor *t = NULL;
  if (bytes && iso__source_read(ctx, &source, 0, bytes, source.n_bytes, "the image"))
    t = iso__image_parse(ctx, source.name, bytes, source.n_bytes);
  iso__free(ctx, bytes, source.n_bytes);
  iso__source_close(&source);
  return t;
}

/* t's pixels (H,W,C), contiguous, to be freed with iso__free; NULL with the error kept. */
static uint8_t *pixels_of(iso_context *ctx, const char *op, const iso_tensor *t, iso__image_info *info,
                          size_t *n_bytes) {
  char text[128];
  const int n_dims = t ? iso_tensor_n_dims(t) : 0;
  const int64_t *shape = t ? iso_tensor_shape(t) : NULL;
  const int64_t channels = n_dims == 3 ? shape[0] : 1;
  if (iso__failed(ctx)) return NULL;
  if (!t || t->view.dtype != ISO_U8)
    return ISO__FAIL(ctx, t ? ISO_DTYPE_MISMATCH : ISO_INVALID_ARGUMENT, op, "the image is %s, expected u8",
                     t ? iso_dtype_name(t->view.dtype) : "NULL"),
           NULL;
  if ((n_dims != 2 && n_dims != 3) || (channels != 1 && channels != 3) || shape[n_dims - 1] < 1 ||
      shape[n_dims - 2] < 1 || shape[n_dims - 1] > 65500 || shape[n_dims - 2] > 65500)
    return ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op,
                     "the image is %s: (H,W), (1,H,W) or (3,H,W), at most 65500, is needed",
                     iso__shape_text(n_dims, shape, text, sizeof text)),
           NULL;
  *info = (iso__image_info){(int)shape[n_dims - 1], (int)shape[n_dims - 2], (int)channels};
  *n_bytes = (size_t)info->width * (size_t)info->height * (size_t)channels;
  uint8_t *pixels = iso__alloc(ctx, *n_bytes);
  if (!pixels) return NULL;
  iso__view turned = t->view;
  if (n_dims == 3 && !iso__view_permute(ctx, &t->view, (const int[]){1, 2, 0}, &turned))
    return iso__free(ctx, pixels, *n_bytes), NULL;
  iso_tensor *hwc = iso__tensor_from_view(ctx, &turned);
  const bool ok = hwc && iso_tensor_copy_to(hwc, pixels, *n_bytes) == ISO_OK;
  iso_release(hwc);
  if (!ok) return iso__free(ctx, pixels, *n_bytes), NULL;
  return pixels;
}

static iso_status write_image(iso_context *ctx, const char *op, const char *path, const iso_tensor *t, int quality) {
  iso__image_info info;
  iso__image_fault fault;
  size_t n_pixels, n_out;
  uint8_t *out, *pixels = pixels_of(ctx, op, t, &info, &n_pixels);
  if (!pixels) return iso_error_code(ctx);
  const bool ok = quality ? iso__jpeg_encode(pixels, &info, quality, &out, &n_out, &fault)
                          : iso__png_encode(pixels, &info, &out, &n_out, &fault);
  iso__free(ctx, pixels, n_pixels);
  if (!ok) return ISO__FAIL(ctx, fault.code, op, "%s", fault.text);
  const iso_status status = iso__file_write_atomic(ctx, path, out, n_out);
  free(out);
  return status;
}
iso_status iso_png_write(iso_context *ctx, const char *path, const iso_tensor *t) {
  return write_image(ctx, "png_write", path, t, 0);
}
iso_status iso_jpeg_write(iso_context *ctx, const char *path, const iso_tensor *t, int quality) {
  if (!iso__failed(ctx) && (quality < 1 || quality > 100))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "jpeg_write", "the quality is %d: 1 to 100 is needed", quality);
  return write_image(ctx, "jpeg_write", path, t, quality);
}
