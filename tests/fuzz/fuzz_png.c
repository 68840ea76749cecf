/* fuzz_png.c: PNG files of each kind that the decoder converts. */
#include "fuzz/fuzz_image.h"
#include <png.h>

static uint8_t *out;
static size_t n_out;
static void keep(png_structp png, png_bytep from, size_t n) {
  (void)png;
  memcpy(out + n_out, from, n);
  n_out += n;
}
static void flush(png_structp png) { (void)png; }

/* 5×4 pixels of the given kind. */
static size_t encode(uint8_t to[FUZZ_SEED_BYTES], int depth, int colour, bool interlaced) {
  static const png_color palette[4] = {{1, 2, 3}, {40, 50, 60}, {250, 0, 9}, {7, 7, 7}};
  uint8_t row[64];
  out = to, n_out = 0;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, NULL, keep, flush);
  png_set_IHDR(png, info, 5, 4, depth, colour, interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (colour == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette, 4);
  png_write_info(png, info);
  for (int pass = 0, n = png_set_interlace_handling(png); pass < n; pass++)
    for (int y = 0; y < 4; y++) {
      for (int i = 0; i < 64; i++) row[i] = (uint8_t)(depth == 2 ? i * 27 + y : i * 37 + y * 11);
      png_write_row(png, row);
    }
  png_write_end(png, NULL);
  png_destroy_write_struct(&png, &info);
  return n_out;
}

size_t fuzz_seed(size_t index, uint8_t to[FUZZ_SEED_BYTES]) {
  static const struct {
    int depth, colour;
    bool interlaced;
  } kinds[] = {{8, PNG_COLOR_TYPE_GRAY, false},      {1, PNG_COLOR_TYPE_GRAY, false},
               {16, PNG_COLOR_TYPE_RGB, true},       {2, PNG_COLOR_TYPE_PALETTE, false},
               {8, PNG_COLOR_TYPE_RGB_ALPHA, false}, {16, PNG_COLOR_TYPE_GRAY_ALPHA, true},
               {8, PNG_COLOR_TYPE_RGB, false}};
  if (index >= sizeof kinds / sizeof *kinds) return 0;
  return encode(to, kinds[index].depth, kinds[index].colour, kinds[index].interlaced);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  fuzz_image(bytes, n);
  return 0;
}
