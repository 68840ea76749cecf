/* test_safetensors.c: safetensors files: there and back, and every way in which a header can lie. */
#include "io/io_test.h"

static size_t make_file(uint8_t *out, const char *json, size_t n_data) {
  const size_t n = strlen(json);
  for (int i = 0; i < 8; i++) out[i] = (uint8_t)((uint64_t)n >> 8 * i);
  memcpy(out + 8, json, n);
  for (size_t i = 0; i < n_data; i++) out[8 + n + i] = (uint8_t)(i & 1);
  return 8 + n + n_data;
}

static void test_round_trip(void **state) {
  (void)state;
  char folder[256], path[600], other[600];
  make_folder(folder);
  join(path, folder, "x.safetensors");
  iso_context *ctx = new_context();
  iso_named_tensor items[ISO_DTYPE_COUNT + 2];
  static const char *const names[] = {"h", "g", "f", "e", "d", "c", "b", "a", "scalar \"quoted\"", "\xc3\xa9mpty"};
  for (int i = 0; i < ISO_DTYPE_COUNT; i++)
    items[i] = (iso_named_tensor){.name = names[i], .tensor = make_tensor(ctx, (iso_dtype)i, 2, ISO_DIMS(3, 5))};
  items[1].tensor = permuted(ctx, items[1].tensor, (int[]){1, 0});
  items[8] = (iso_named_tensor){.name = names[8], .tensor = make_tensor(ctx, ISO_F64, 0, NULL)};
  items[9] = (iso_named_tensor){.name = names[9], .tensor = make_tensor(ctx, ISO_I32, 3, ISO_DIMS(2, 0, 4))};
  const iso_key_value metadata[] = {{"step", "120"}, {"policy", "default \xe2\x86\x92 x"}, {"empty", ""}};
  assert_int_equal(iso_safetensors_write(ctx, path, items, 10, metadata, 3), ISO_OK);

  iso_scope_push(ctx);
  iso_tensor_dict *dict = iso_safetensors_read(ctx, path);
  iso_scope_pop(ctx); /* the dict's tensors outlive the scope */
  expect_ok(ctx);
  assert_int_equal(dict->n_tensors, 10);
  for (int i = 0; i < 10; i++) expect_same(iso_tensor_dict_find(dict, items[i].name), items[i].tensor);
  for (int i = 0; i < 3; i++) assert_string_equal(iso_tensor_dict_metadata(dict, metadata[i].key), metadata[i].value);
  assert_null(iso_tensor_dict_find(dict, "z"));
  assert_null(iso_tensor_dict_metadata(dict, "z"));
  iso_tensor_dict_free(dict);

  /* the same content in another order is the same file, aligned to 8 */
  size_t n, n_other;
  iso_named_tensor turned[10];
  for (int i = 0; i < 10; i++) turned[i] = items[9 - i];
  const iso_key_value turned_metadata[] = {metadata[2], metadata[0], metadata[1]};
  assert_int_equal(iso_safetensors_write(ctx, join(other, folder, "y"), turned, 10, turned_metadata, 3), ISO_OK);
  uint8_t *bytes = get_file(path, &n), *others = get_file(other, &n_other);
  assert_int_equal(n, n_other);
  assert_memory_equal(bytes, others, n);
  assert_int_equal(bytes[0] % 8, 0);
  free(bytes);
  free(others);
  assert_int_equal(count_files(folder), 2);
  iso__context_free(ctx);
  remove_folder(folder);
}

static void test_nothing(void **state) {
  (void)state;
  char folder[256], path[600];
  join(path, make_folder(folder), "x");
  iso_context *ctx = new_context();
  assert_int_equal(iso_safetensors_write(ctx, path, NULL, 0, NULL, 0), ISO_OK);
  iso_tensor_dict *dict = iso_safetensors_read(ctx, path);
  expect_ok(ctx);
  assert_int_equal(dict->n_tensors + dict->n_metadata, 0);
  iso_tensor_dict_free(dict);
  iso__context_free(ctx);
  remove_folder(folder);
}

static void test_bad_arguments(void **state) {
  (void)state;
  char folder[256], path[600];
  join(path, make_folder(folder), "x");
  iso_context *ctx = new_context();
  iso_tensor *t = make_tensor(ctx, ISO_F32, 1, ISO_DIMS(2)), *u = make_tensor(ctx, ISO_F64, 1, ISO_DIMS(2));
  const struct {
    iso_named_tensor items[2];
    size_t n;
    const char *part;
  } cases[] = {
      {{{.name = "a", .tensor = t}, {.name = "a", .tensor = u}}, 2, "the tensor name 'a' is given twice"},
      {{{.name = "__metadata__", .tensor = t}}, 1, "'__metadata__' is reserved"},
      {{{.name = "\xff", .tensor = t}}, 1, "tensor name '?' is not UTF-8"},
      {{{.name = "a", .tensor = NULL}}, 1, "tensor 0 has no tensor"},
      {{{.name = NULL, .tensor = t}}, 1, "tensor 0 has no name"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(iso_safetensors_write(ctx, path, cases[i].items, cases[i].n, NULL, 0), ISO_INVALID_ARGUMENT);
    expect_error(ctx, ISO_INVALID_ARGUMENT, cases[i].part);
  }
  const iso_key_value twice[] = {{"k", "1"}, {"k", "2"}}, bad[] = {{"k", "\xfe"}}, null[] = {{"k", NULL}};
  iso_safetensors_write(ctx, path, NULL, 0, twice, 2);
  expect_error(ctx, ISO_INVALID_ARGUMENT, "metadata 'k' is given twice");
  iso_safetensors_write(ctx, path, NULL, 0, bad, 1);
  expect_error(ctx, ISO_INVALID_ARGUMENT, "metadata 'k' has a value that is not UTF-8");
  iso_safetensors_write(ctx, path, NULL, 0, null, 1);
  expect_error(ctx, ISO_INVALID_ARGUMENT, "metadata 0 has no value");
  assert_int_equal(count_files(folder), 0);
  iso__context_free(ctx);
  remove_folder(folder);
}

#define TENSOR(dtype, shape, begin, end)                                                                               \
  "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"

static void test_lies(void **state) {
  (void)state;
  static const struct {
    const char *json;
    iso_status code;
    const char *part;
  } cases[] = {
      {"{\"a\":" TENSOR("F32", "[2]", "0", "9") "}", ISO_CORRUPT,
       "tensor 'a': data_offsets are [0, 9], the data has 8 bytes"},
      {"{\"a\":" TENSOR("F32", "[2]", "-8", "0") "}", ISO_CORRUPT, "data_offsets are [-8, 0]"},
      {"{\"a\":" TENSOR("F32", "[2]", "8", "0") "}", ISO_CORRUPT, "data_offsets are [8, 0]"},
      {"{\"a\":" TENSOR("F32", "[1]", "0", "8") "}", ISO_CORRUPT, "span 8 bytes, dtype and shape say 4"},
      {"{\"a\":" TENSOR("F32", "[1]", "0", "4") "}", ISO_CORRUPT, "the data has 8 bytes, the tensors cover 4"},
      {"{\"a\":" TENSOR("F32", "[1]", "4", "8") "}", ISO_CORRUPT,
       "tensor 'a' begins at 4 of the data, but nothing fills"},
      {"{\"a\":" TENSOR("F32", "[2]", "0", "8") ",\"b\":" TENSOR("F32", "[1]", "4", "8") "}", ISO_CORRUPT,
       "tensor 'b' begins at 4 of the data, but overlaps"},
      {"{\"a\":" TENSOR("F32", "[2]", "0", "8") ",\"a\":" TENSOR("F32", "[0]", "8", "8") "}", ISO_CORRUPT,
       "duplicate object key"},
      {"{\"a\":" TENSOR("F64", "[4611686018427387904,4]", "0", "8") "}", ISO_CORRUPT, "is more than memory can hold"},
      {"{\"a\":" TENSOR("F64", "[100000000]", "0", "8") "}", ISO_CORRUPT, "needs 800000000 bytes, the file can hold 8"},
      {"{\"a\":" TENSOR("F32", "[-2]", "0", "8") "}", ISO_CORRUPT, "extent 0 is -2"},
      {"{\"a\":" TENSOR("F32", "[2.0]", "0", "8") "}", ISO_CORRUPT, "extent 0 is not an integer"},
      {"{\"a\":" TENSOR("F32", "[99999999999999999999]", "0", "8") "}", ISO_CORRUPT, "too big integer"},
      {"{\"a\":" TENSOR("F32", "[1,1,1,1,1,1,1,1,2]", "0", "8") "}", ISO_UNSUPPORTED, "shape has 9 axes"},
      {"{\"a\":" TENSOR("F32", "2", "0", "8") "}", ISO_CORRUPT, "shape is not a list"},
      {"{\"a\":" TENSOR("F8_E4M3", "[8]", "0", "8") "}", ISO_UNSUPPORTED, "tensor 'a': dtype is 'F8_E4M3'"},
      {"{\"a\":{\"dtype\":4,\"shape\":[2],\"data_offsets\":[0,8]}}", ISO_CORRUPT, "dtype is not a string"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}}", ISO_CORRUPT,
       "data_offsets are not two integers"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", ISO_CORRUPT, "tensor 'a' has 2 fields"},
      {"{\"a\":7}", ISO_CORRUPT, "tensor 'a' has 0 fields"},
      {"{\"__metadata__\":[],\"a\":" TENSOR("F32", "[2]", "0", "8") "}", ISO_CORRUPT, "__metadata__ is not an object"},
      {"{\"__metadata__\":{\"k\":1},\"a\":" TENSOR("F32", "[2]", "0", "8") "}", ISO_CORRUPT, "'k' is not a string"},
      {"{\"a\\u0000\":" TENSOR("F32", "[2]", "0", "8") "}", ISO_CORRUPT, "NUL byte"},
      {"[1]", ISO_CORRUPT, "begins with byte 0x5b, expected '{'"},
      {"{} x", ISO_CORRUPT, "end of file expected"},
      {"", ISO_CORRUPT, "begins with byte 0x00"},
  };
  uint8_t file[1024];
  iso_context *ctx = new_context();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    iso_memory_reset_peak(ctx);
    const size_t live = iso_memory_get_info(ctx).live_bytes;
    assert_null(iso__safetensors_parse(ctx, "x", file, make_file(file, cases[i].json, 8)));
    expect_error(ctx, cases[i].code, cases[i].part);
    assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);
    assert_true(iso_memory_get_info(ctx).peak_bytes < live + 16384);
  }
  const size_t n = make_file(file, "{}", 0);
  file[0] = 0xff;
  assert_null(iso__safetensors_parse(ctx, "x", file, n));
  expect_error(ctx, ISO_CORRUPT, "x: safetensors header length is 255, the file has 2 bytes");
  iso__context_free(ctx);
}

static void test_deep_json(void **state) {
  (void)state;
  const size_t n_deep = 1 << 19;
  uint8_t *file = malloc(n_deep + 64);
  char *json = malloc(n_deep + 16);
  iso_context *ctx = new_context();
  memcpy(json, "{\"a\":", 5);
  memset(json + 5, '[', n_deep);
  json[5 + n_deep] = '\0';
  assert_null(iso__safetensors_parse(ctx, "x", file, make_file(file, json, 0)));
  expect_error(ctx, ISO_CORRUPT, "maximum parsing depth reached");
  free(json);
  free(file);
  iso__context_free(ctx);
}

/* What would take fifty times its size in memory once parsed; what only looks like it, inside a string, is read. */
static void test_many_values(void **state) {
  (void)state;
  const size_t n = 100000000;
  uint8_t *file = malloc(n + 64);
  iso_context *ctx = new_context();
  char *json = malloc(n);
  memcpy(json, "{\"a\":[0", 7);
  for (size_t i = 7; i + 3 < n; i += 2) memcpy(json + i, ",0", 2);
  memcpy(json + n - 3, "]}", 3);
  assert_null(iso__safetensors_parse(ctx, "x", file, make_file(file, json, 0)));
  expect_error(ctx, ISO_CORRUPT, "safetensors header holds more than 1048576 values");
  const size_t at = (size_t)snprintf(json, n, "{\"__metadata__\":{\"k\":\"\\\"");
  memset(json + at, ',', 4 << 20);
  memcpy(json + at + (4 << 20), "\"}}", 4);
  iso_tensor_dict *dict = iso__safetensors_parse(ctx, "x", file, make_file(file, json, 0));
  assert_non_null(dict);
  iso_tensor_dict_free(dict);
  free(json);
  free(file);
  iso__context_free(ctx);
}

static void test_damage(void **state) {
  (void)state;
  uint8_t file[512];
  iso_context *ctx = new_context();
  const size_t n = make_file(file,
                             "{\"__metadata__\":{\"k\":\"v\"},\"a\":" TENSOR("F32", "[2]", "0", "8") ",\"b\":" TENSOR(
                                 "BOOL", "[3]", "8", "11") "}",
                             11);
  parse_every_truncation(ctx, &safetensors_parser, file, n);
  assert_true(parse_every_flip(ctx, &safetensors_parser, file, n, n) > 8 * (n - 11) / 2);
  assert_true(parse_without_memory(ctx, &safetensors_parser, file, n) >= 8);
  iso__context_free(ctx);
}

static bool attempt_write(iso_context *ctx, void *arg) {
  const char *path = arg;
  iso_scope_push(ctx);
  iso_tensor *t = iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(3, 4)), *turned = NULL;
  iso__view view;
  if (t && iso__view_permute(ctx, &t->view, (int[]){1, 0}, &view)) turned = iso__tensor_from_view(ctx, &view);
  const iso_named_tensor items[] = {{.name = "a", .tensor = t}, {.name = "b", .tensor = turned}};
  const iso_key_value metadata[] = {{"k", "v"}};
  const bool ok = turned && iso_safetensors_write(ctx, path, items, 2, metadata, 1) == ISO_OK;
  iso_scope_pop(ctx);
  return ok;
}

static void test_write_without_memory(void **state) {
  (void)state;
  char folder[256], path[600];
  join(path, make_folder(folder), "x");
  iso_context *ctx = new_context();
  attempt_write(ctx, path);
  expect_ok(ctx);
  assert_true(fail_every_allocation(ctx, attempt_write, path) >= 8);
  assert_int_equal(count_files(folder), 1);
  iso__context_free(ctx);
  remove_folder(folder);
}

static void test_silero(void **state) {
  (void)state;
  char path[600];
  shared_file(path, "silero_vad/silero_vad_16k.safetensors");
  iso_context *ctx = new_context();
  iso_tensor_dict *dict = iso_safetensors_read(ctx, path);
  expect_ok(ctx);
  assert_int_equal(dict->n_tensors, 15);
  for (size_t i = 0; i < 15; i++) assert_int_equal(iso_tensor_dtype(dict->tensors[i].tensor), ISO_F32);
  iso_tensor_dict_free(dict);
  iso__context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_nothing),
      cmocka_unit_test(test_bad_arguments), cmocka_unit_test(test_lies),
      cmocka_unit_test(test_deep_json),     cmocka_unit_test(test_many_values),
      cmocka_unit_test(test_damage),        cmocka_unit_test(test_write_without_memory),
      cmocka_unit_test(test_silero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
