/* test_image.c: PNG and JPEG: what is written comes back, every kind of PNG by its rule, JPEG near the original and the
 * same bits as ever, damage told in a sentence. */
#include <png.h>
#include <zlib.h>
#include "base/hash.h"
#include "io/image.h"
#include "io/io_test.h"

enum { W = 23, H = 17 };

static iso_tensor *picture(iso_context *ctx, int channels) {
  uint8_t data[3 * H * W];
  for (int c = 0; c < channels; c++)
    for (int y = 0; y < H; y++)
      for (int x = 0; x < W; x++) data[(c * H + y) * W + x] = (uint8_t)(128 + (x - 11) * 5 + (y - 8) * 4 - c * 12);
  return iso_tensor_copy_from(ctx, ISO_U8, 3, ISO_DIMS(channels, H, W), data);
}
static void elements(const iso_tensor *t, uint8_t *out, int channels) {
  assert_int_equal(iso_tensor_n_dims(t), 3);
  assert_int_equal(iso_tensor_shape(t)[0], channels);
  assert_int_equal(iso_tensor_copy_to(t, out, (size_t)channels * H * W), ISO_OK);
}

static void test_round_trips(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  char folder[256], path[300];
  make_folder(folder);
  iso_scope_push(ctx);
  for (int channels = 1; channels <= 3; channels += 2) {
    uint8_t before[3 * H * W], after[3 * H * W];
    iso_tensor *t = picture(ctx, channels);
    elements(t, before, channels);
    snprintf(path, sizeof path, "%s/a.png", folder);
    assert_int_equal(iso_png_write(ctx, path, t), ISO_OK);
    iso_tensor *back = iso_image_read(ctx, path);
    expect_ok(ctx);
    elements(back, after, channels);
    assert_memory_equal(before, after, (size_t)channels * H * W);
    assert_int_equal(iso_tensor_strides(back)[2], channels); /* C innermost */
    snprintf(path, sizeof path, "%s/a.jpg", folder);
    assert_int_equal(iso_jpeg_write(ctx, path, t, 95), ISO_OK);
    back = iso_image_read(ctx, path);
    expect_ok(ctx);
    elements(back, after, channels);
    double difference = 0;
    for (int i = 0; i < channels * H * W; i++) difference += abs(before[i] - after[i]);
    assert_true(difference / (channels * H * W) < 3);
  }
  assert_int_equal(iso_png_write(ctx, path, iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(2, 2))), ISO_DTYPE_MISMATCH);
  expect_error(ctx, ISO_DTYPE_MISMATCH, "the image is f32, expected u8");
  assert_int_equal(iso_png_write(ctx, path, iso_tensor_zeros(ctx, ISO_U8, 3, ISO_DIMS(2, 2, 2))), ISO_SHAPE_MISMATCH);
  expect_error(ctx, ISO_SHAPE_MISMATCH, "(2,2,2)");
  assert_int_equal(iso_jpeg_write(ctx, path, picture(ctx, 1), 0), ISO_INVALID_ARGUMENT);
  expect_error(ctx, ISO_INVALID_ARGUMENT, "the quality is 0");
  assert_null(iso_image_read(ctx, "/no/such/picture.png"));
  expect_error(ctx, ISO_NOT_FOUND, "/no/such/picture.png");
  assert_non_null(strstr(iso_image_decoders(), "libjpeg-turbo "));
  iso_scope_pop(ctx);
  remove_folder(folder);
  iso__context_free(ctx);
}

static uint8_t file[1 << 16];
static size_t n_file;
static void keep(png_structp png, png_bytep from, size_t n) {
  (void)png;
  memcpy(file + n_file, from, n);
  n_file += n;
}
static void flush(png_structp png) { (void)png; }
/* One row of the given bytes. */
static void write_png(int width, int depth, int colour, const uint8_t *row) {
  static const png_color palette[3] = {{1, 2, 3}, {40, 50, 60}, {250, 0, 9}};
  static const png_byte alpha[2] = {0, 128};
  n_file = 0;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, NULL, keep, flush);
  png_set_IHDR(png, info, (png_uint_32)width, 1, depth, colour, PNG_INTERLACE_ADAM7, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (colour == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette, 3), png_set_tRNS(png, info, alpha, 2, NULL);
  png_write_info(png, info);
  for (int pass = 0, n = png_set_interlace_handling(png); pass < n; pass++) png_write_row(png, row);
  png_write_end(png, NULL);
  png_destroy_write_struct(&png, &info);
}
static void expect_pixels(iso_context *ctx, int channels, int width, const uint8_t *expected) {
  iso_tensor *t = iso__image_parse(ctx, "input", file, n_file);
  expect_ok(ctx);
  assert_int_equal(iso_tensor_shape(t)[0], channels);
  assert_int_equal(iso_tensor_shape(t)[2], width);
  assert_memory_equal(iso_tensor_data(t), expected, (size_t)(channels * width));
  iso_release(t);
}

static void test_kinds_of_png(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  write_png(5, 1, PNG_COLOR_TYPE_GRAY, (const uint8_t[]){0xa8});
  expect_pixels(ctx, 1, 5, (const uint8_t[]){255, 0, 255, 0, 255});
  write_png(4, 2, PNG_COLOR_TYPE_GRAY, (const uint8_t[]){0x1b});
  expect_pixels(ctx, 1, 4, (const uint8_t[]){0, 85, 170, 255});
  /* round(v·255/65535): 128 and 129 are below and above half a step */
  write_png(3, 16, PNG_COLOR_TYPE_GRAY, (const uint8_t[]){0, 128, 0, 129, 0xff, 0x7f});
  expect_pixels(ctx, 1, 3, (const uint8_t[]){0, 1, 255});
  write_png(4, 2, PNG_COLOR_TYPE_PALETTE, (const uint8_t[]){0x18});
  expect_pixels(ctx, 3, 4, (const uint8_t[]){1, 2, 3, 40, 50, 60, 250, 0, 9, 1, 2, 3});
  write_png(2, 8, PNG_COLOR_TYPE_RGB_ALPHA, (const uint8_t[]){9, 8, 7, 0, 6, 5, 4, 200});
  expect_pixels(ctx, 3, 2, (const uint8_t[]){9, 8, 7, 6, 5, 4});
  write_png(2, 8, PNG_COLOR_TYPE_GRAY_ALPHA, (const uint8_t[]){9, 0, 6, 200});
  expect_pixels(ctx, 1, 2, (const uint8_t[]){9, 6});
  iso__context_free(ctx);
}

/* A colour JPEG with subsampled chroma, of this test's own bytes: the samples that the slow DCT and smooth upsampling
 * give, whatever vector code runs (JSIMD_FORCENONE=1 is libjpeg-turbo's switch for none). */
static void test_jpeg_samples(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  uint8_t pixels[H * W * 3], *bytes;
  size_t n_bytes;
  iso__image_fault fault;
  const iso__image_info info = {W, H, 3};
  for (int i = 0; i < H * W * 3; i++) pixels[i] = (uint8_t)(i * 7 + i / 69 * 30);
  assert_true(iso__jpeg_encode(pixels, &info, 75, &bytes, &n_bytes, &fault));
  iso_tensor *t = iso__image_parse(ctx, "input", bytes, n_bytes);
  expect_ok(ctx);
  char hex[33];
  iso__hash_format(iso__hash_bytes(iso_tensor_data(t), H * W * 3), hex);
  assert_string_equal(hex, "57046ad66ad27e3acb30536e2979e060");
  iso_release(t);
  free(bytes);
  iso__context_free(ctx);
}

static void test_damage(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  uint8_t pixels[H * W * 3], *bytes[2];
  size_t n_bytes[2];
  iso__image_fault fault;
  const iso__image_info info = {W, H, 3};
  for (int i = 0; i < H * W * 3; i++) pixels[i] = (uint8_t)(i * 7);
  assert_true(iso__png_encode(pixels, &info, &bytes[0], &n_bytes[0], &fault));
  assert_true(iso__jpeg_encode(pixels, &info, 75, &bytes[1], &n_bytes[1], &fault));
  for (int k = 0; k < 2; k++) {
    /* Every truncation is an error; the last two bytes of a JPEG are its end marker. */
    for (size_t n = 0; n < n_bytes[k]; n++) {
      assert_null(iso__image_parse(ctx, "input", bytes[k], n));
      expect_error(ctx, ISO_CORRUPT, n < 3 ? "is neither a PNG nor a JPEG image" : "input");
    }
    /* Every allocation that fails. */
    for (uint64_t i = 1;; i++) {
      iso_memory_fail_at(ctx, i);
      iso_tensor *t = iso__image_parse(ctx, "input", bytes[k], n_bytes[k]);
      iso_memory_fail_at(ctx, 0);
      if (t) {
        iso_release(t);
        break;
      }
      expect_error(ctx, ISO_OUT_OF_MEMORY, "");
    }
  }
  /* A header that claims 30000×30000 of a file of a few hundred bytes; CRC and all. */
  uint8_t bomb[64] = {0x89, 'P', 'N', 'G',  13,   10, 26, 10,   0,    0, 0, 13, 'I', 'H', 'D',
                      'R',  0,   0,   0x75, 0x30, 0,  0,  0x75, 0x30, 8, 0, 0,  0,   0};
  const uint32_t crc = (uint32_t)crc32(0, bomb + 12, 17);
  for (int i = 0; i < 4; i++) bomb[29 + i] = (uint8_t)(crc >> (24 - 8 * i));
  memcpy(bomb + 33, "\0\0\0\0IDAT\x35\xaf\x06\x1e", 12);
  assert_null(iso__image_parse(ctx, "input", bomb, sizeof bomb));
  expect_error(ctx, ISO_UNSUPPORTED, "30000×30000: at most 134217728 pixels");
  bomb[18] = 10, bomb[22] = 10; /* 2608×2608 */
  const uint32_t small = (uint32_t)crc32(0, bomb + 12, 17);
  for (int i = 0; i < 4; i++) bomb[29 + i] = (uint8_t)(small >> (24 - 8 * i));
  assert_null(iso__image_parse(ctx, "input", bomb, sizeof bomb));
  expect_error(ctx, ISO_CORRUPT, "claims 2608×2608 pixels, more than its 64 bytes can hold");
  for (int k = 0; k < 2; k++) free(bytes[k]);
  iso__context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trips), cmocka_unit_test(test_kinds_of_png),
                                     cmocka_unit_test(test_jpeg_samples), cmocka_unit_test(test_damage)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
