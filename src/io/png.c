/* png.c: PNG by libpng (ISO/IEC 15948), every kind to 8-bit gray or RGB: palettes become RGB, fewer than 8 bits are
 * spread over the range, 16 bits are scaled and rounded, alpha and transparent colours are dropped, gamma is ignored.
 *
 * libpng reports errors by a call that must not return: each entry runs its work under a setjmp of its own. */
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include "io/image.h"

enum { DEFLATE_RATIO = 1032, CHUNK_BYTES = 1 << 20, MAX_SIDE = 1 << 20 };

typedef struct job {
  jmp_buf jump;
  png_structp png;
  png_infop info;
  const uint8_t *bytes; /* what is left to read */
  size_t n_bytes;
  const iso__image_info *form;
  iso__image_info *probed;
  uint8_t *pixels;
  const uint8_t *source; /* of an encoder */
  uint8_t *out;
  size_t n_out, n_room;
  bool no_memory;
  iso__image_fault *fault;
} job;

static _Noreturn void on_error(png_structp png, png_const_charp message) {
  job *j = png_get_error_ptr(png);
  iso__image_refuse(j->fault, j->no_memory ? ISO_OUT_OF_MEMORY : ISO_CORRUPT, "PNG: %s", message);
  longjmp(j->jump, 1);
}
static void on_warning(png_structp png, png_const_charp message) { (void)png, (void)message; }
static png_voidp allocate(png_structp png, png_alloc_size_t n_bytes) {
  job *j = png_get_mem_ptr(png);
  void *block = malloc(n_bytes);
  if (!block) j->no_memory = true;
  return block;
}
static void give_back(png_structp png, png_voidp block) {
  (void)png;
  free(block);
}
static void read_bytes(png_structp png, png_bytep to, size_t n) {
  job *j = png_get_io_ptr(png);
  if (n > j->n_bytes) png_error(png, "the file ends too early");
  memcpy(to, j->bytes, n);
  j->bytes += n, j->n_bytes -= n;
}

/* Runs the work; whatever it meets, comes back. */
static bool guarded(job *j, void (*work)(job *j)) {
  if (setjmp(j->jump)) return false;
  work(j);
  return true;
}

/* ---- reading ---- */

static void begin(job *j) {
  png_set_read_fn(j->png, j, read_bytes);
  png_set_user_limits(j->png, MAX_SIDE, MAX_SIDE);
  png_set_chunk_malloc_max(j->png, CHUNK_BYTES);
  png_set_chunk_cache_max(j->png, 64);
  png_read_info(j->png, j->info);
}
static void probe(job *j) {
  begin(j);
  j->probed->width = (int)png_get_image_width(j->png, j->info);
  j->probed->height = (int)png_get_image_height(j->png, j->info);
  j->probed->channels = png_get_color_type(j->png, j->info) & PNG_COLOR_MASK_COLOR ? 3 : 1;
}
static void decode(job *j) {
  begin(j);
  if (png_get_color_type(j->png, j->info) == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(j->png);
  else if (png_get_bit_depth(j->png, j->info) < 8) png_set_expand_gray_1_2_4_to_8(j->png);
  png_set_scale_16(j->png);
  png_set_strip_alpha(j->png);
  const int n_passes = png_set_interlace_handling(j->png);
  png_read_update_info(j->png, j->info);
  const size_t row_bytes = (size_t)j->form->width * (size_t)j->form->channels;
  if (png_get_rowbytes(j->png, j->info) != row_bytes) png_error(j->png, "the rows have another size than was probed");
  for (int pass = 0; pass < n_passes; pass++)
    for (int y = 0; y < j->form->height; y++) png_read_row(j->png, j->pixels + (size_t)y * row_bytes, NULL);
  png_read_end(j->png, NULL);
}

static bool read_with(job *j, void (*work)(job *j)) {
  j->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, j, on_error, on_warning, j, allocate, give_back);
  j->info = j->png ? png_create_info_struct(j->png) : NULL;
  const bool ok = j->info ? guarded(j, work) : iso__image_refuse(j->fault, ISO_OUT_OF_MEMORY, "no memory to decode");
  png_destroy_read_struct(&j->png, &j->info, NULL);
  return ok;
}

bool iso__is_png(const uint8_t *bytes, size_t n_bytes) { return n_bytes >= 8 && png_sig_cmp(bytes, 0, 8) == 0; }

bool iso__png_probe(const uint8_t *bytes, size_t n_bytes, iso__image_info *info, iso__image_fault *fault) {
  job j = {.bytes = bytes, .n_bytes = n_bytes, .probed = info, .fault = fault};
  /* A pixel has at least one bit. */
  return read_with(&j, probe) && iso__image_check(info, n_bytes, 8 * DEFLATE_RATIO, fault);
}
bool iso__png_decode(const uint8_t *bytes, size_t n_bytes, const iso__image_info *info, uint8_t *pixels,
                     iso__image_fault *fault) {
  job j = {.bytes = bytes, .n_bytes = n_bytes, .form = info, .pixels = pixels, .fault = fault};
  return read_with(&j, decode);
}

/* ---- writing ---- */

static void write_bytes(png_structp png, png_bytep from, size_t n) {
  job *j = png_get_io_ptr(png);
  if (n > j->n_room - j->n_out) {
    const size_t n_room = 2 * j->n_room + n;
    uint8_t *larger = realloc(j->out, n_room);
    if (!larger) j->no_memory = true, png_error(png, "no memory to encode");
    j->out = larger, j->n_room = n_room;
  }
  memcpy(j->out + j->n_out, from, n);
  j->n_out += n;
}
static void no_flush(png_structp png) { (void)png; }
static void encode(job *j) {
  png_set_write_fn(j->png, j, write_bytes, no_flush);
  png_set_user_limits(j->png, MAX_SIDE, MAX_SIDE);
  png_set_IHDR(j->png, j->info, (png_uint_32)j->form->width, (png_uint_32)j->form->height, 8,
               j->form->channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(j->png, j->info);
  const size_t row_bytes = (size_t)j->form->width * (size_t)j->form->channels;
  for (int y = 0; y < j->form->height; y++) png_write_row(j->png, j->source + (size_t)y * row_bytes);
  png_write_end(j->png, NULL);
}

bool iso__png_encode(const uint8_t *pixels, const iso__image_info *info, uint8_t **out, size_t *n_out,
                     iso__image_fault *fault) {
  job j = {.source = pixels, .form = info, .fault = fault};
  j.png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &j, on_error, on_warning, &j, allocate, give_back);
  j.info = j.png ? png_create_info_struct(j.png) : NULL;
  const bool ok = j.info ? guarded(&j, encode) : iso__image_refuse(fault, ISO_OUT_OF_MEMORY, "no memory to encode");
  png_destroy_write_struct(&j.png, &j.info);
  if (!ok) free(j.out);
  *out = ok ? j.out : NULL, *n_out = ok ? j.n_out : 0;
  return ok;
}
