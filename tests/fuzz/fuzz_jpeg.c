/* fuzz_jpeg.c: JPEG files: gray, subsampled colour, progressive, CMYK, with restarts. */
#include "fuzz/fuzz_image.h"
#include <jpeglib.h>

typedef enum kind { GRAY, COLOUR, PROGRESSIVE, CMYK, RESTARTS, N_KINDS } kind;

static size_t encode(uint8_t to[FUZZ_SEED_BYTES], kind k) {
  struct jpeg_compress_struct c;
  struct jpeg_error_mgr errors;
  unsigned char *out = NULL;
  unsigned long n_out = 0;
  c.err = jpeg_std_error(&errors);
  jpeg_create_compress(&c);
  jpeg_mem_dest(&c, &out, &n_out);
  c.image_width = 19, c.image_height = 13;
  c.input_components = k == GRAY ? 1 : k == CMYK ? 4 : 3;
  c.in_color_space = k == GRAY ? JCS_GRAYSCALE : k == CMYK ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&c);
  jpeg_set_quality(&c, 60, TRUE);
  if (k == PROGRESSIVE) jpeg_simple_progression(&c);
  if (k == RESTARTS) c.restart_interval = 1;
  jpeg_start_compress(&c, TRUE);
  uint8_t line[19 * 4];
  for (int y = 0; y < 13; y++) {
    for (int i = 0; i < 19 * 4; i++) line[i] = (uint8_t)(i * 13 + y * 29);
    JSAMPROW row = line;
    jpeg_write_scanlines(&c, &row, 1);
  }
  jpeg_finish_compress(&c);
  jpeg_destroy_compress(&c);
  FUZZ_CHECK(n_out <= FUZZ_SEED_BYTES);
  memcpy(to, out, n_out);
  free(out);
  return n_out;
}

size_t fuzz_seed(size_t index, uint8_t to[FUZZ_SEED_BYTES]) { return index < N_KINDS ? encode(to, (kind)index) : 0; }

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  fuzz_image(bytes, n);
  return 0;
}
