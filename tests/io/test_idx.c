/* test_idx.c: idx files, plain and gzip. */
#include "io/archive.h"
#include "io/io_test.h"

static const uint8_t small[] = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6};

static void test_round_trips(void **state) {
  (void)state;
  static const iso_dtype dtypes[] = {ISO_U8, ISO_I32, ISO_F32, ISO_F64};
  static const char *const names[] = {"x.idx", "x.idx.gz"};
  char folder[256], path[600];
  make_folder(folder);
  iso_context *ctx = new_context();
  for (int d = 0; d < 4; d++)
    for (int n_dims = 1; n_dims <= 3; n_dims++)
      for (int gz = 0; gz < 2; gz++) {
        iso_scope_push(ctx);
        iso_tensor *t = make_tensor(ctx, dtypes[d], n_dims, ISO_DIMS(50, 40, 30));
        assert_int_equal(iso_idx_write(ctx, join(path, folder, names[gz]), t), ISO_OK);
        expect_same(iso_idx_read(ctx, path), t);
        if (n_dims == 2) {
          iso_tensor *turned = permuted(ctx, t, (int[]){1, 0});
          assert_int_equal(iso_idx_write(ctx, path, turned), ISO_OK);
          expect_same(iso_idx_read(ctx, path), turned);
        }
        iso_scope_pop(ctx);
      }
  size_t n;
  uint8_t *bytes = get_file(join(path, folder, names[1]), &n);
  assert_true(bytes[0] == 0x1f && bytes[1] == 0x8b);
  free(bytes);
  assert_int_equal(iso_idx_write(ctx, path, make_tensor(ctx, ISO_I64, 1, ISO_DIMS(3))), ISO_UNSUPPORTED);
  expect_error(ctx, ISO_UNSUPPORTED, "idx has no element type for i64");
  assert_int_equal(iso_idx_write(ctx, path, make_tensor(ctx, ISO_U8, 0, NULL)), ISO_UNSUPPORTED);
  expect_error(ctx, ISO_UNSUPPORTED, "idx has no scalars");
  iso__context_free(ctx);
  remove_folder(folder);
}

static void test_headers(void **state) {
  (void)state;
  static const struct {
    uint8_t bytes[24];
    size_t n;
    iso_status code;
    const char *part;
  } cases[] = {
      {{0, 5, 8, 1, 0, 0, 0, 1, 7}, 9, ISO_CORRUPT, "train-images: idx magic is 0x00050801, expected 0x0000080x"},
      {{0, 0, 7, 1, 0, 0, 0, 1, 7}, 9, ISO_CORRUPT, "idx magic is 0x00000701: there is no element type 0x07"},
      {{0, 0, 9, 1, 0, 0, 0, 1, 7}, 9, ISO_UNSUPPORTED, "idx magic is 0x00000901: elements of 8 or 16 signed bits"},
      {{0, 0, 8, 9, 0, 0, 0, 1, 7}, 9, ISO_UNSUPPORTED, "9 axes, supported are 1 to 8"},
      {{0, 0, 8, 0, 0, 0, 0, 1, 7}, 9, ISO_UNSUPPORTED, "0 axes"},
      {{0, 0, 8, 1, 0, 0, 0, 1, 7, 8}, 10, ISO_CORRUPT, "1 bytes follow where the data should end"},
      {{0, 0, 8, 1, 0, 0, 0, 2, 7}, 9, ISO_CORRUPT, "shape (2) of u8 needs 2 bytes, the file can hold 1"},
      {{0, 0, 14, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
       16,
       ISO_CORRUPT,
       "shape (4294967295,4294967295,4294967295) of f64 is more than memory can hold"},
  };
  iso_context *ctx = new_context();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_null(iso__idx_parse(ctx, "train-images", cases[i].bytes, cases[i].n));
    expect_error(ctx, cases[i].code, cases[i].part);
  }
  iso__context_free(ctx);
}

static void test_damage(void **state) {
  (void)state;
  uint8_t packed[128];
  iso_context *ctx = new_context();
  parse_every_truncation(ctx, &idx_parser, small, sizeof small);
  assert_true(parse_every_flip(ctx, &idx_parser, small, sizeof small, sizeof small) >= 8 * 11);
  assert_true(parse_without_memory(ctx, &idx_parser, small, sizeof small) >= 2);
  const size_t n = compress_bytes(small, sizeof small, 31, packed, sizeof packed);
  parse_every_truncation(ctx, &idx_parser, packed, n);
  const size_t n_refused = parse_every_flip(ctx, &idx_parser, packed, n, n);
  assert_true(n_refused >= 8 * (n - 10)); /* of gzip's header, time and system may differ; all else is checked */
  assert_true(parse_without_memory(ctx, &idx_parser, packed, n) >= 4);
  iso__context_free(ctx);
}

static void test_gzip(void **state) {
  (void)state;
  uint8_t packed[512];
  iso_context *ctx = new_context();
  /* two members are one stream */
  size_t n = compress_bytes(small, 7, 31, packed, 256);
  n += compress_bytes(small + 7, sizeof small - 7, 31, packed + n, 256);
  assert_int_equal(parse_once(ctx, &idx_parser, packed, n), ISO_OK);
  memcpy(packed + n, "junk", 4);
  assert_int_equal(parse_once(ctx, &idx_parser, packed, n + 4), ISO_CORRUPT);
  expect_error(ctx, ISO_CORRUPT, "compressed data is damaged: incorrect header check");
  /* more data than the header says */
  uint8_t longer[sizeof small + 1] = {0};
  memcpy(longer, small, sizeof small);
  n = compress_bytes(longer, sizeof longer, 31, packed, 256);
  assert_int_equal(parse_once(ctx, &idx_parser, packed, n), ISO_CORRUPT);
  expect_error(ctx, ISO_CORRUPT, "more follows where the data should end");
  iso__context_free(ctx);
}

/* A few bytes that claim four gigabytes: refused before memory is asked for. */
static void test_gzip_claims(void **state) {
  (void)state;
  const uint8_t claim[12] = {0, 0, 8, 2, 0, 1, 0, 0, 0, 1, 0, 0};
  uint8_t packed[128];
  iso_context *ctx = new_context();
  const size_t n = compress_bytes(claim, sizeof claim, 31, packed, sizeof packed);
  iso_memory_reset_peak(ctx);
  assert_int_equal(parse_once(ctx, &idx_parser, packed, n), ISO_CORRUPT);
  expect_error(ctx, ISO_CORRUPT, "shape (65536,65536) of u8 needs 4294967296 bytes");
  assert_true(iso_memory_get_info(ctx).peak_bytes < 1 << 18);
  iso__context_free(ctx);
}

static void test_fashion_mnist_small(void **state) {
  (void)state;
  char path[600];
  shared_file(path, "fashion_mnist_small/train6000-images-idx3-ubyte.gz");
  iso_context *ctx = new_context();
  iso_tensor *t = iso_idx_read(ctx, path);
  expect_ok(ctx);
  assert_int_equal(iso_tensor_n_dims(t), 3);
  assert_int_equal(iso_tensor_shape(t)[0], 6000);
  assert_int_equal(iso_tensor_shape(t)[1], 28);
  assert_int_equal(iso_tensor_shape(t)[2], 28);
  size_t n;
  uint8_t *bytes = get_file(path, &n);
  bytes[n / 2] ^= 1;
  assert_int_equal(parse_once(ctx, &idx_parser, bytes, n), ISO_CORRUPT);
  iso_clear_error(ctx);
  assert_int_equal(parse_once(ctx, &idx_parser, bytes, n / 2), ISO_CORRUPT);
  free(bytes);
  iso__context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trips), cmocka_unit_test(test_headers),
      cmocka_unit_test(test_damage),      cmocka_unit_test(test_gzip),
      cmocka_unit_test(test_gzip_claims), cmocka_unit_test(test_fashion_mnist_small),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
