/* test_npz.c: zip archives of npy files. */
#include "io/archive.h"
#include "io/io_test.h"

static const float values[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

/* Members "b" (deflated, 12 elements) and "a" (stored, 3). */
static size_t make_archive(uint8_t *bytes, const char *comment) {
  uint8_t npy[256];
  zip_maker zip = {.bytes = bytes};
  zip_add(&zip, "b.npy", 8, npy, make_npy(npy, values, 12));
  zip_add(&zip, "a.npy", 0, npy, make_npy(npy, values + 1, 3));
  return zip_end(&zip, comment);
}

static void test_members(void **state) {
  (void)state;
  uint8_t bytes[4096];
  iso_context *ctx = new_context();
  for (int i = 0; i < 2; i++) {
    const size_t n = make_archive(bytes, i ? "a comment" : "");
    iso_tensor_dict *dict = iso__npz_parse(ctx, "x.npz", bytes, n);
    expect_ok(ctx);
    assert_int_equal(dict->n_tensors, 2);
    assert_string_equal(dict->tensors[0].name, "a");
    assert_string_equal(dict->tensors[1].name, "b");
    assert_memory_equal(iso_tensor_data(iso_tensor_dict_find(dict, "a")), values + 1, 12);
    assert_memory_equal(iso_tensor_data(iso_tensor_dict_find(dict, "b")), values, 48);
    assert_null(iso_tensor_dict_find(dict, "c"));
    iso_tensor_dict_free(dict);
  }
  iso__context_free(ctx);
}

static void test_damage(void **state) {
  (void)state;
  uint8_t bytes[4096];
  iso_context *ctx = new_context();
  const size_t n = make_archive(bytes, "");
  parse_every_truncation(ctx, &npz_parser, bytes, n);
  parse_every_flip(ctx, &npz_parser, bytes, n, n);
  assert_true(parse_without_memory(ctx, &npz_parser, bytes, n) >= 10);
  bytes[30 + 5 + 60]++; /* in the deflated data */
  assert_int_equal(parse_once(ctx, &npz_parser, bytes, n), ISO_CORRUPT);
  iso__context_free(ctx);
}

/* Every field of the directory that can lie. */
static void test_lies(void **state) {
  (void)state;
  uint8_t good[4096], bytes[4096], npy[256];
  iso_context *ctx = new_context();
  const size_t n = make_archive(good, ""), end = n - 22;
  const size_t directory = good[end + 16] | (size_t)good[end + 17] << 8;
  const struct {
    size_t at;
    uint8_t value;
    iso_status code;
    const char *part;
  } lies[] = {
      {directory + 10, 12, ISO_UNSUPPORTED, "member 'b.npy' has compression method 12"},
      {directory + 8, 1, ISO_UNSUPPORTED, "member 'b.npy' is encrypted"},
      {directory + 16, 0, ISO_CORRUPT, "x.npz:b: checksum is"},
      {directory + 23, 1, ISO_CORRUPT, "member 'b'"},
      {directory + 42, 1, ISO_CORRUPT, "no local header at byte 1"},
      {directory + 49, 'x', ISO_UNSUPPORTED, "member 'b.nxy' is not a .npy file"},
      {directory + 28, 255, ISO_CORRUPT, "has a name of 255 bytes"},
      {end + 10, 3, ISO_UNSUPPORTED, "several disks"},
      {end + 16, 0, ISO_CORRUPT, "zip directory is at"},
      {0, 'X', ISO_CORRUPT, "no local header at byte 0"},
  };
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    memcpy(bytes, good, n);
    bytes[lies[i].at] = lies[i].value;
    assert_null(iso__npz_parse(ctx, "x.npz", bytes, n));
    expect_error(ctx, lies[i].code, lies[i].part);
  }
  assert_null(iso__npz_parse(ctx, "x.npz", "PK", 2));
  expect_error(ctx, ISO_CORRUPT, "is no zip file: it has 2 bytes");
  /* two entries for the same bytes: how a small file would expand without end */
  zip_maker zip = {.bytes = bytes};
  zip_add(&zip, "a.npy", 0, npy, make_npy(npy, values, 3));
  const size_t n_entry = zip.n_directory;
  memcpy(zip.directory + n_entry, zip.directory, n_entry);
  zip.directory[n_entry + 46] = 'b';
  zip.n_directory *= 2, zip.n_members = 2;
  assert_null(iso__npz_parse(ctx, "x.npz", bytes, zip_end(&zip, "")));
  expect_error(ctx, ISO_CORRUPT, "member 'b' overlaps others");
  /* one name twice */
  zip = (zip_maker){.bytes = bytes};
  for (int i = 0; i < 2; i++) zip_add(&zip, "a.npy", 0, npy, make_npy(npy, values, 3));
  assert_null(iso__npz_parse(ctx, "x.npz", bytes, zip_end(&zip, "")));
  expect_error(ctx, ISO_CORRUPT, "holds two tensors of the name 'a'");
  iso__context_free(ctx);
}

static void test_g2p(void **state) {
  (void)state;
  char path[600];
  shared_file(path, "g2p_en/checkpoint20.npz");
  iso_context *ctx = new_context();
  iso_tensor_dict *dict = iso_npz_read(ctx, path);
  expect_ok(ctx);
  assert_int_equal(dict->n_tensors, 12);
  for (size_t i = 0; i < 12; i++) {
    assert_int_equal(iso_tensor_dtype(dict->tensors[i].tensor), ISO_F32);
    assert_true(i == 0 || strcmp(dict->tensors[i - 1].name, dict->tensors[i].name) < 0);
  }
  iso_tensor_dict_free(dict);
  iso__context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_members),
      cmocka_unit_test(test_damage),
      cmocka_unit_test(test_lies),
      cmocka_unit_test(test_g2p),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
