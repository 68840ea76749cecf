/* io_test.h: what the tests of files share: a context, a scratch folder, and three ways to maltreat a parser: every
 * truncation, every bit flipped, every allocation failing. */
#ifndef ISO_TESTS_IO_TEST_H
#define ISO_TESTS_IO_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "io/formats.h"

static inline iso_context *new_context(void) {
  iso_context *ctx;
  assert_int_equal(iso__context_new(NULL, NULL, 1, ISO_ISA_SCALAR, &ctx), ISO_OK);
  return ctx;
}

/* The error is `code` and its message holds `part`; cleared. */
static inline void expect_error(iso_context *ctx, iso_status code, const char *part) {
  if (iso_error_code(ctx) != code || !strstr(iso_error_message(ctx), part))
    fail_msg("expected %s with '%s', got '%s'", iso_status_name(code), part, iso_error_message(ctx));
  iso_clear_error(ctx);
}

static inline void expect_ok(iso_context *ctx) {
  if (iso_error_code(ctx) != ISO_OK) fail_msg("unexpected error: %s", iso_error_message(ctx));
}

/* ---- files ---- */

/* A fresh folder; the caller removes it with remove_folder. */
static inline char *make_folder(char path[256]) {
  const char *base = getenv("TMPDIR");
  snprintf(path, 256, "%s/isobit-test-XXXXXX", base ? base : "/tmp");
  assert_non_null(mkdtemp(path));
  return path;
}

static inline int count_files(const char *folder) {
  int n = 0;
  DIR *dir = opendir(folder);
  assert_non_null(dir);
  for (struct dirent *item; (item = readdir(dir));) n += item->d_name[0] != '.';
  closedir(dir);
  return n;
}

static inline void remove_folder(const char *folder) {
  char path[600];
  DIR *dir = opendir(folder);
  assert_non_null(dir);
  for (struct dirent *item; (item = readdir(dir));) {
    snprintf(path, sizeof path, "%s/%s", folder, item->d_name);
    if (item->d_name[0] != '.') unlink(path);
  }
  closedir(dir);
  rmdir(folder);
}

static inline char *join(char path[600], const char *folder, const char *name) {
  snprintf(path, 600, "%s/%s", folder, name);
  return path;
}

static inline void put_file(const char *path, const void *bytes, size_t n) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, n, file), n);
  assert_int_equal(fclose(file), 0);
}

/* The file's bytes; the caller frees them. */
static inline uint8_t *get_file(const char *path, size_t *n) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  *n = (size_t)ftell(file);
  rewind(file);
  uint8_t *bytes = malloc(*n + 1);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, *n, file), *n);
  fclose(file);
  return bytes;
}

/* A file of the shared test data: ISOBIT_TEST_DATA, or ../shared/data; skips the test, by name, where it is missing. */
static inline char *shared_file(char path[600], const char *name) {
  const char *base = getenv("ISOBIT_TEST_DATA");
  join(path, base ? base : "../shared/data", name);
  if (access(path, R_OK) == 0) return path;
  print_message("[  SKIPPED ] %s is not there (ISOBIT_TEST_DATA)\n", path);
  skip();
  return NULL;
}

/* ---- maltreatment ---- */

/* A parser under test: NULL on an error, else something that `end` releases. */
typedef struct parser {
  void *(*parse)(iso_context *ctx, const char *name, const void *bytes, size_t n);
  void (*end)(void *result);
} parser;

static inline void *parse_npy(iso_context *ctx, const char *name, const void *bytes, size_t n) {
  return iso__npy_parse(ctx, name, bytes, n);
}
static inline void *parse_idx(iso_context *ctx, const char *name, const void *bytes, size_t n) {
  return iso__idx_parse(ctx, name, bytes, n);
}
static inline void *parse_npz(iso_context *ctx, const char *name, const void *bytes, size_t n) {
  return iso__npz_parse(ctx, name, bytes, n);
}
static inline void *parse_safetensors(iso_context *ctx, const char *name, const void *bytes, size_t n) {
  return iso__safetensors_parse(ctx, name, bytes, n);
}
static inline void end_tensor(void *t) { iso_release(t); }
static inline void end_dict(void *dict) { iso_tensor_dict_free(dict); }
static const parser npy_parser = {parse_npy, end_tensor}, idx_parser = {parse_idx, end_tensor};
static const parser npz_parser = {parse_npz, end_dict}, safetensors_parser = {parse_safetensors, end_dict};

/* Parses a copy that ends where an allocation ends, so that ASan sees a read beyond it. Nothing may leak; an error must
 * be one of a file's. Returns the code. */
static inline iso_status parse_once(iso_context *ctx, const parser *p, const uint8_t *bytes, size_t n) {
  uint8_t *copy = malloc(n ? n : 1);
  assert_non_null(copy);
  if (n) memcpy(copy, bytes, n);
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  void *result = p->parse(ctx, "test", copy, n);
  const iso_status code = iso_error_code(ctx);
  assert_true((result != NULL) == (code == ISO_OK));
  if (result) p->end(result);
  assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);
  free(copy);
  return code;
}

static inline void parse_every_truncation(iso_context *ctx, const parser *p, const uint8_t *bytes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const iso_status code = parse_once(ctx, p, bytes, i);
    if (code != ISO_CORRUPT) fail_msg("cut to %zu of %zu bytes: %s", i, n, code ? iso_error_message(ctx) : "accepted");
    iso_clear_error(ctx);
  }
  assert_int_equal(parse_once(ctx, p, bytes, n), ISO_OK);
}

/* Flips each bit of the first n_flipped bytes. Returns how many of the files were refused. */
static inline size_t parse_every_flip(iso_context *ctx, const parser *p, const uint8_t *bytes, size_t n,
                                      size_t n_flipped) {
  size_t n_refused = 0;
  uint8_t *copy = malloc(n);
  assert_non_null(copy);
  memcpy(copy, bytes, n);
  for (size_t bit = 0; bit < 8 * n_flipped; bit++) {
    copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
    const iso_status code = parse_once(ctx, p, copy, n);
    if (code != ISO_OK && code != ISO_CORRUPT && code != ISO_UNSUPPORTED)
      fail_msg("bit %zu flipped: %s", bit, iso_error_message(ctx));
    n_refused += code != ISO_OK;
    iso_clear_error(ctx);
    copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  free(copy);
  return n_refused;
}

/* Calls `attempt` with the n-th allocation failing, n = 1, 2, …, until it succeeds. Each failure must say OUT_OF_MEMORY
 * and leave nothing behind. Returns how many allocations there were. */
static inline uint64_t fail_every_allocation(iso_context *ctx, bool (*attempt)(iso_context *ctx, void *arg),
                                             void *arg) {
  for (uint64_t n = 1;; n++) {
    const size_t live = iso_memory_get_info(ctx).live_bytes;
    iso_memory_fail_at(ctx, n);
    const bool ok = attempt(ctx, arg);
    iso_memory_fail_at(ctx, 0);
    assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);
    if (ok) return n - 1;
    if (iso_error_code(ctx) != ISO_OUT_OF_MEMORY) fail_msg("allocation %d: %s", (int)n, iso_error_message(ctx));
    iso_clear_error(ctx);
    assert_true(n < 10000);
  }
}

typedef struct parse_attempt {
  const parser *p;
  const uint8_t *bytes;
  size_t n;
} parse_attempt;

static inline bool attempt_parse(iso_context *ctx, void *arg) {
  const parse_attempt *a = arg;
  void *result = a->p->parse(ctx, "test", a->bytes, a->n);
  if (result) a->p->end(result);
  return result != NULL;
}

static inline uint64_t parse_without_memory(iso_context *ctx, const parser *p, const uint8_t *bytes, size_t n) {
  parse_attempt a = {p, bytes, n};
  return fail_every_allocation(ctx, attempt_parse, &a);
}

/* ---- tensors to write ---- */

/* Counting elements; floats also hold -0, infinities, a subnormal and NaNs of both signs with payloads, bools 0 and 1.
 */
static inline iso_tensor *make_tensor(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape) {
  static const double specials[] = {-0.0, 1.0 / 3, -7.25, 5e-8, 1e30};
  iso_tensor *t = iso_tensor_new(ctx, dtype, n_dims, shape);
  expect_ok(ctx);
  const int64_t n = iso_tensor_numel(t);
  const size_t item = iso_dtype_size(dtype);
  uint8_t *data = iso_tensor_data(t);
  for (int64_t i = 0; i < n; i++) {
    uint64_t bits = dtype == ISO_BOOL ? (uint64_t)(i % 3 == 0) : (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15) >> 3;
    const double value = i < 5 ? specials[i] : (double)i * 0.37;
    const float narrow = (float)value;
    if (dtype == ISO_F64) memcpy(&bits, &value, 8);
    if (dtype == ISO_F32) memcpy(&bits, &narrow, 4);
    if (dtype == ISO_F16) bits = iso_f16_from_f32(narrow);
    if (dtype == ISO_BF16) bits = iso_bf16_from_f32(narrow);
    memcpy(data + (size_t)i * item, &bits, item);
  }
  return t;
}

/* The same dtype, shape and bits (NaNs count as one). */
static inline void expect_same(const iso_tensor *a, const iso_tensor *b) {
  assert_non_null(a);
  assert_non_null(b);
  assert_int_equal(iso_tensor_dtype(a), iso_tensor_dtype(b));
  assert_int_equal(iso_tensor_n_dims(a), iso_tensor_n_dims(b));
  for (int i = 0; i < iso_tensor_n_dims(a); i++) assert_int_equal(iso_tensor_shape(a)[i], iso_tensor_shape(b)[i]);
  const size_t n = (size_t)iso_tensor_numel(a), n_bytes = n * iso_dtype_size(iso_tensor_dtype(a));
  void *x = malloc(n_bytes + 1), *y = malloc(n_bytes + 1);
  assert_int_equal(iso_tensor_copy_to(a, x, n_bytes), ISO_OK);
  assert_int_equal(iso_tensor_copy_to(b, y, n_bytes), ISO_OK);
  assert_true(iso_same_bits(x, y, n, iso_tensor_dtype(a)));
  free(x);
  free(y);
}

/* A view: axes permuted. */
static inline iso_tensor *permuted(iso_context *ctx, const iso_tensor *t, const int *axes) {
  iso__view view;
  assert_true(iso__view_permute(ctx, &t->view, axes, &view));
  return iso__tensor_from_view(ctx, &view);
}

#endif
