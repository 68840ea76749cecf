/* test_npy.c: .npy files: every dtype and layout there and back, headers of every version, and every way to be wrong.
 */
#include "io/io_test.h"

static void test_round_trips(void **state) {
  (void)state;
  char folder[256], path[600];
  join(path, make_folder(folder), "x.npy");
  iso_context *ctx = new_context();
  const int64_t shape[4] = {2, 3, 4, 5};
  for (int dtype = 0; dtype < ISO_DTYPE_COUNT; dtype++)
    for (int n_dims = 0; n_dims <= 4; n_dims++) {
      iso_scope_push(ctx);
      iso_tensor *t = make_tensor(ctx, (iso_dtype)dtype, n_dims, shape);
      assert_int_equal(iso_npy_write(ctx, path, t), ISO_OK);
      expect_same(iso_npy_read(ctx, path), t);
      iso_scope_pop(ctx);
    }
  assert_int_equal(count_files(folder), 1);
  iso__context_free(ctx);
  remove_folder(folder);
}

static void test_layouts(void **state) {
  (void)state;
  char folder[256], path[600];
  size_t n;
  join(path, make_folder(folder), "x.npy");
  iso_context *ctx = new_context();
  iso_tensor *t = make_tensor(ctx, ISO_F32, 3, ISO_DIMS(3, 4, 5));

  iso_tensor *fortran = permuted(ctx, t, (int[]){2, 1, 0});
  assert_int_equal(iso_npy_write(ctx, path, fortran), ISO_OK);
  uint8_t *bytes = get_file(path, &n);
  assert_non_null(strstr((char *)bytes + 10, "'fortran_order': True, 'shape': (5, 4, 3), }"));
  assert_memory_equal(bytes + 128, iso_tensor_data(t), 60 * 4);
  free(bytes);
  iso_tensor *back = iso_npy_read(ctx, path);
  expect_same(back, fortran);
  for (int i = 0; i < 3; i++) assert_int_equal(iso_tensor_strides(back)[i], iso_tensor_strides(fortran)[i]);

  iso_tensor *neither = permuted(ctx, t, (int[]){1, 0, 2});
  assert_int_equal(iso_npy_write(ctx, path, neither), ISO_OK);
  expect_same(iso_npy_read(ctx, path), neither);

  iso_tensor *image = iso_tensor_new_channels_last(ctx, ISO_F32, 4, ISO_DIMS(1, 3, 4, 5));
  assert_int_equal(iso_tensor_assign(image, iso_tensor_full(ctx, ISO_F32, 4, ISO_DIMS(1, 3, 4, 5), 2.5)), ISO_OK);
  assert_int_equal(iso_npy_write(ctx, path, image), ISO_OK);
  expect_same(iso_npy_read(ctx, path), image);

  iso_tensor *empty = iso_tensor_new(ctx, ISO_F64, 2, ISO_DIMS(0, 7));
  assert_int_equal(iso_npy_write(ctx, path, empty), ISO_OK);
  expect_same(iso_npy_read(ctx, path), empty);
  expect_ok(ctx);
  iso__context_free(ctx);
  remove_folder(folder);
}

/* A header as numpy would write it, or as it would not. */
static size_t npy_file(uint8_t *out, int version, const char *dict, const void *data, size_t n_data) {
  const size_t n_dict = strlen(dict), n_prefix = version == 1 ? 10 : 12;
  memcpy(out, "\x93NUMPY", 6);
  out[6] = (uint8_t)version, out[7] = 0;
  for (size_t i = 8; i < n_prefix; i++) out[i] = (uint8_t)(n_dict >> 8 * (i - 8));
  memcpy(out + n_prefix, dict, n_dict);
  if (n_data) memcpy(out + n_prefix + n_dict, data, n_data);
  return n_prefix + n_dict + n_data;
}

static void test_versions_and_byte_order(void **state) {
  (void)state;
  uint8_t file[512];
  const uint8_t little[8] = {0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc1}, big[8] = {0x3f, 0x80, 0, 0, 0xc1, 0x20, 0, 0};
  iso_context *ctx = new_context();
  for (int version = 1; version <= 3; version++)
    for (int is_big = 0; is_big < 2; is_big++) {
      const char *dict = is_big ? "{\"shape\":(2L,),\"descr\":'>f4','fortran_order':False}\n"
                                : "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }   \n";
      const size_t n = npy_file(file, version, dict, is_big ? big : little, 8);
      iso_tensor *t = iso__npy_parse(ctx, "test", file, n);
      expect_ok(ctx);
      assert_int_equal(iso_tensor_numel(t), 2);
      assert_true(((float *)iso_tensor_data(t))[0] == 1.0f && ((float *)iso_tensor_data(t))[1] == -10.0f);
    }
  iso__context_free(ctx);
}

static void test_nans_are_written_quiet(void **state) {
  (void)state;
  char folder[256], path[600];
  size_t n;
  join(path, make_folder(folder), "x.npy");
  iso_context *ctx = new_context();
  const uint32_t payloads[3] = {0xffc12345u, 0x7f800001u, 0x3f800000u},
                 written[3] = {0x7fc00000u, 0x7fc00000u, 0x3f800000u};
  iso_tensor *t = iso_tensor_copy_from(ctx, ISO_F32, 1, ISO_DIMS(3), payloads);
  assert_int_equal(iso_npy_write(ctx, path, t), ISO_OK);
  uint8_t *bytes = get_file(path, &n);
  assert_memory_equal(bytes + n - 12, written, 12);
  assert_memory_equal(iso_tensor_data(t), payloads, 12);
  free(bytes);
  const uint16_t halves[2] = {0xfc01, 0x7c00}, half_bytes[2] = {0x7e00, 0x7c00};
  assert_int_equal(iso_npy_write(ctx, path, iso_tensor_copy_from(ctx, ISO_F16, 1, ISO_DIMS(2), halves)), ISO_OK);
  bytes = get_file(path, &n);
  assert_memory_equal(bytes + n - 4, half_bytes, 4);
  free(bytes);
  iso__context_free(ctx);
  remove_folder(folder);
}

static void test_bad_headers(void **state) {
  (void)state;
  static const struct {
    const char *dict;
    iso_status code;
    const char *part;
  } cases[] = {
      {"{'descr': [('a', '<f4'), ('b', '<i8')], 'fortran_order': False, 'shape': (1,), }", ISO_UNSUPPORTED,
       "npy descr is [('a', '<f4'), ('b', '<i8')]"},
      {"{'descr': '<c16', 'fortran_order': False, 'shape': (1,), }", ISO_UNSUPPORTED, "npy descr is '<c16'"},
      {"{'descr': '<U7', 'fortran_order': False, 'shape': (1,), }", ISO_UNSUPPORTED, "'<U7'"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", ISO_UNSUPPORTED, "'|O'"},
      {"{'descr': 'f4', 'fortran_order': False, 'shape': (1,), }", ISO_UNSUPPORTED, "'f4'"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }", ISO_CORRUPT, "expected True or False"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", ISO_CORRUPT, "npy header has '-1,), }' at byte"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3), }", ISO_CORRUPT, "expected ','"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': [3], }", ISO_CORRUPT, "expected a tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1.5,), }", ISO_CORRUPT, "expected ','"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", ISO_CORRUPT, "below 2^63"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296), }", ISO_CORRUPT,
       "shape (4294967296,4294967296,4294967296) of f32 is more than memory can hold"},
      {"{'descr': '<f8', 'fortran_order': True, 'shape': (1152921504606846976, 4), }", ISO_CORRUPT, "more than memory"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }", ISO_CORRUPT,
       "needs 4000000000000 bytes, the file can hold 4"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", ISO_UNSUPPORTED, "more than 8 axes"},
      {"{'descr': '<f4', 'fortran_order': False, }", ISO_CORRUPT, "lacks 'shape'"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", ISO_CORRUPT, "twice the key 'descr'"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", ISO_CORRUPT, "unknown key 'x'"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} 7", ISO_CORRUPT, "expected the header's end"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}", ISO_CORRUPT, "4 bytes follow"},
      {"{'descr': '<f\\x34', 'fortran_order': False, 'shape': (1,)}", ISO_CORRUPT, "expected a type string"},
      {"", ISO_CORRUPT, "expected '{'"},
  };
  iso_context *ctx = new_context();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint8_t file[512];
    const size_t n = npy_file(file, 1, cases[i].dict, "\0\0\0", 4);
    iso_memory_reset_peak(ctx);
    const size_t live = iso_memory_get_info(ctx).live_bytes;
    assert_null(iso__npy_parse(ctx, "x.npy", file, n));
    expect_error(ctx, cases[i].code, cases[i].part);
    assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);
    assert_true(iso_memory_get_info(ctx).peak_bytes < live + 4096); /* no more than the file justifies */
  }
  uint8_t file[64] = "\x93NUMPY\x04";
  assert_null(iso__npy_parse(ctx, "x.npy", file, sizeof file));
  expect_error(ctx, ISO_UNSUPPORTED, "x.npy: npy version is 4.0");
  memcpy(file, "\x93NUMPY\x02\0\xff\xff\xff\xff", 12);
  assert_null(iso__npy_parse(ctx, "x.npy", file, sizeof file));
  expect_error(ctx, ISO_CORRUPT, "npy header length is 4294967295, the file can hold 52");
  assert_null(iso__npy_parse(ctx, "x.npy", "no numpy file", 13));
  expect_error(ctx, ISO_CORRUPT, "npy magic is 6e6f206e756d");
  const size_t n = npy_file(file, 1, "{'descr':'|b1','fortran_order':False,'shape':(3,)}", "\0\1\2", 3);
  assert_null(iso__npy_parse(ctx, "x.npy", file, n));
  expect_error(ctx, ISO_CORRUPT, "bool element 2 is 2");
  iso__context_free(ctx);
}

static void test_damage(void **state) {
  (void)state;
  uint8_t file[256];
  const char *dict = "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }         \n";
  const int32_t data[6] = {1, 2, 3, 4, 5, 6};
  const size_t n = npy_file(file, 1, dict, data, sizeof data);
  iso_context *ctx = new_context();
  parse_every_truncation(ctx, &npy_parser, file, n);
  const size_t n_refused = parse_every_flip(ctx, &npy_parser, file, n, n);
  assert_true(n_refused > 8 * (n - sizeof data) * 3 / 4); /* of the header little may change unnoticed */
  assert_true(parse_without_memory(ctx, &npy_parser, file, n) >= 4);
  iso__context_free(ctx);
}

static void test_paths(void **state) {
  (void)state;
  char folder[256], path[600];
  make_folder(folder);
  iso_context *ctx = new_context();
  assert_null(iso_npy_read(ctx, join(path, folder, "absent.npy")));
  expect_error(ctx, ISO_NOT_FOUND, "absent.npy: cannot open");
  assert_null(iso_npy_read(ctx, folder));
  expect_error(ctx, ISO_IO, "is a directory");
  assert_null(iso_npy_read(ctx, "/dev/null"));
  expect_error(ctx, ISO_UNSUPPORTED, "is not a regular file");
  assert_int_equal(mkfifo(join(path, folder, "fifo"), 0600), 0);
  assert_null(iso_npy_read(ctx, path));
  expect_error(ctx, ISO_UNSUPPORTED, "is not a regular file");
  assert_null(iso_npy_read(ctx, NULL));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "path is NULL");
  put_file(join(path, folder, "empty.npy"), "", 0);
  assert_null(iso_npy_read(ctx, path));
  expect_error(ctx, ISO_CORRUPT, "empty.npy: ends inside the npy magic number");
  assert_int_equal(iso_npy_write(ctx, path, NULL), ISO_INVALID_ARGUMENT);
  expect_error(ctx, ISO_INVALID_ARGUMENT, "tensor is NULL");
  iso__context_free(ctx);
  remove_folder(folder);
}

static void test_silero_golden(void **state) {
  (void)state;
  char path[600];
  shared_file(path, "silero_vad/golden_prob_f64.npy");
  iso_context *ctx = new_context();
  iso_tensor *t = iso_npy_read(ctx, path);
  expect_ok(ctx);
  assert_int_equal(iso_tensor_dtype(t), ISO_F64);
  assert_int_equal(iso_tensor_numel(t), 1875);
  for (int64_t i = 0; i < 1875; i++) {
    const double p = ((double *)iso_tensor_data(t))[i];
    assert_true(p >= 0 && p <= 1);
  }
  iso__context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trips),
      cmocka_unit_test(test_layouts),
      cmocka_unit_test(test_versions_and_byte_order),
      cmocka_unit_test(test_nans_are_written_quiet),
      cmocka_unit_test(test_bad_headers),
      cmocka_unit_test(test_damage),
      cmocka_unit_test(test_paths),
      cmocka_unit_test(test_silero_golden),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
