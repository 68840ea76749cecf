/* image.h: PNG and JPEG in memory to 8-bit gray or RGB, without a context, so that a loader's threads can decode.
 *
 * What is refused is told by a fault: nothing aborts, exits or prints, whatever the bytes say. Before memory is asked
 * for, an image must have at most ISO__IMAGE_PIXELS pixels and no more than its bytes could hold at the format's best
 * compression. */
#ifndef ISO_IO_IMAGE_H
#define ISO_IO_IMAGE_H
#include <isobit/io.h>

#define ISO__IMAGE_PIXELS (INT64_C(1) << 27)

typedef struct iso__image_info {
  int width, height, channels; /* 1: gray, 3: RGB */
} iso__image_info;
typedef struct iso__image_fault {
  iso_status code;
  char text[200]; /* a sentence's end: "…" after the file's name */
} iso__image_fault;

/* By the first bytes: JPEG or PNG, else a fault. */
bool iso__image_probe(const uint8_t *bytes, size_t n_bytes, iso__image_info *info, iso__image_fault *fault);
/* Into pixels (height,width,channels), as probed. */
bool iso__image_decode(const uint8_t *bytes, size_t n_bytes, const iso__image_info *info, uint8_t *pixels,
                       iso__image_fault *fault);

/* One format each. */
bool iso__png_probe(const uint8_t *bytes, size_t n_bytes, iso__image_info *info, iso__image_fault *fault);
bool iso__png_decode(const uint8_t *bytes, size_t n_bytes, const iso__image_info *info, uint8_t *pixels,
                     iso__image_fault *fault);
bool iso__jpeg_probe(const uint8_t *bytes, size_t n_bytes, iso__image_info *info, iso__image_fault *fault);
bool iso__jpeg_decode(const uint8_t *bytes, size_t n_bytes, const iso__image_info *info, uint8_t *pixels,
                      iso__image_fault *fault);
bool iso__is_jpeg(const uint8_t *bytes, size_t n_bytes);
bool iso__is_png(const uint8_t *bytes, size_t n_bytes);

/* false, and the fault filled in. */
bool iso__image_refuse(iso__image_fault *fault, iso_status code, const char *format, ...) ISO_PRINTF(3, 4);
/* Whether so large an image may be decoded from n_bytes, each of which holds at most n_pixels_a_byte. */
bool iso__image_check(const iso__image_info *info, size_t n_bytes, int64_t n_pixels_a_byte, iso__image_fault *fault);

/* Encoders into memory of malloc; the caller frees *out. */
bool iso__png_encode(const uint8_t *pixels, const iso__image_info *info, uint8_t **out, size_t *n_out,
                     iso__image_fault *fault);
bool iso__jpeg_encode(const uint8_t *pixels, const iso__image_info *info, int quality, uint8_t **out, size_t *n_out,
                      iso__image_fault *fault);
#endif
