/* test_writer.c: a file is the old one or the new one, whatever goes wrong in between. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "io/io_test.h"

static void expect_content(const char *path, const char *content) {
  size_t n;
  uint8_t *bytes = get_file(path, &n);
  assert_int_equal(n, strlen(content));
  assert_memory_equal(bytes, content, n);
  free(bytes);
}

static void test_replaces(void **state) {
  (void)state;
  char folder[256], path[600], link_path[600];
  make_folder(folder);
  join(path, folder, "x"), join(link_path, folder, "link");
  iso_context *ctx = new_context();
  assert_int_equal(iso__file_write_atomic(ctx, path, "old", 3), ISO_OK);
  expect_content(path, "old");
  assert_int_equal(iso__file_write_atomic(ctx, path, "newer", 5), ISO_OK);
  expect_content(path, "newer");
  assert_int_equal(symlink("x", link_path), 0); /* what a link leads to is replaced, the link stays */
  assert_int_equal(iso__file_write_atomic(ctx, link_path, "through", 7), ISO_OK);
  expect_content(path, "through");
  struct stat info;
  assert_int_equal(lstat(link_path, &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  assert_int_equal(count_files(folder), 2);
  iso__context_free(ctx);
  remove_folder(folder);
}

static void test_bad_targets(void **state) {
  (void)state;
  char folder[256], path[600];
  make_folder(folder);
  iso_context *ctx = new_context();
  iso__file_write_atomic(ctx, join(path, folder, "absent/x"), "a", 1);
  expect_error(ctx, ISO_IO, "cannot create a file beside it: No such file or directory");
  iso__file_write_atomic(ctx, folder, "a", 1);
  expect_error(ctx, ISO_IO, "is a directory");
  iso__file_write_atomic(ctx, "", "a", 1);
  expect_error(ctx, ISO_INVALID_ARGUMENT, "the path is empty");
  if (access("/dev/full", W_OK) == 0) {
    iso__file_write_atomic(ctx, "/dev/full", "a", 1);
    expect_error(ctx, ISO_IO, "/dev/full: cannot write: No space left on device");
    struct stat info;
    assert_int_equal(stat("/dev/full", &info), 0);
    assert_true(S_ISCHR(info.st_mode)); /* a device is written to, not replaced */
  }
  assert_int_equal(iso__file_write_atomic(ctx, "/dev/null", "a", 1), ISO_OK);
  iso__context_free(ctx);
  remove_folder(folder);
}

/* In a process of its own, whose files may hold no more than 100 kB. Returns 0 when all is as it should be. */
static int write_beyond_limit(const char *folder, int format) {
  char path[600];
  join(path, folder, "x.gz");
  iso_context *ctx;
  const struct rlimit limit = {100000, 100000};
  signal(SIGXFSZ, SIG_IGN);
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || iso__context_new(NULL, NULL, 1, ISO_ISA_SCALAR, &ctx) != ISO_OK) return 1;
  iso_tensor *t = iso_tensor_new(ctx, ISO_I32, 1, ISO_DIMS(100000));
  uint32_t *data = iso_tensor_data(t), x = 1;
  for (int i = 0; i < 100000; i++) data[i] = x = x * 1664525u + 1013904223u;
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  const iso_named_tensor named = {.name = "t", .tensor = t};
  const iso_status code = format == 0   ? iso_npy_write(ctx, path, t)
                          : format == 1 ? iso_idx_write(ctx, path, t)
                                        : iso_safetensors_write(ctx, path, &named, 1, NULL, 0);
  if (code != ISO_IO || !strstr(iso_error_message(ctx), "cannot write: File too large")) return 2;
  if (iso_memory_get_info(ctx).live_bytes != live) return 3;
  iso__context_free(ctx);
  return 0;
}

static void test_full_disk(void **state) {
  (void)state;
  char folder[256], path[600];
  make_folder(folder);
  put_file(join(path, folder, "x.gz"), "the old content", 15);
  for (int format = 0; format < 3; format++) {
    const pid_t child = fork();
    if (child == 0) _exit(write_beyond_limit(folder, format));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    expect_content(path, "the old content");
    assert_int_equal(count_files(folder), 1); /* the one beside it is gone */
  }
  remove_folder(folder);
}

/* Killed at random moments while writing again and again: the file is always whole. */
static void test_kill(void **state) {
  (void)state;
  char folder[256], path[600];
  join(path, make_folder(folder), "x.npy");
  iso_context *ctx = new_context();
  assert_int_equal(iso_npy_write(ctx, path, iso_tensor_full(ctx, ISO_I32, 1, ISO_DIMS(50000), 0)), ISO_OK);
  for (int round = 0; round < 10; round++) {
    const pid_t child = fork();
    if (child == 0) {
      for (int value = 1;; value++) {
        iso_scope_push(ctx);
        if (iso_npy_write(ctx, path, iso_tensor_full(ctx, ISO_I32, 1, ISO_DIMS(50000), value % 1000)) != ISO_OK)
          _exit(1);
        iso_scope_pop(ctx);
      }
    }
    usleep((useconds_t)(5000 + 1700 * round));
    assert_int_equal(kill(child, SIGKILL), 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    iso_tensor *t = iso_npy_read(ctx, path);
    expect_ok(ctx);
    const int32_t *data = iso_tensor_data(t);
    for (int i = 0; i < 50000; i++) assert_int_equal(data[i], data[0]);
    iso_release(t);
  }
  iso__context_free(ctx);
  remove_folder(folder);
}

/* A killed writer's file goes with the next write; that of one at work, and names that only look alike, stay. */
static void test_cleans_up(void **state) {
  (void)state;
  char folder[256], path[600], item[700];
  make_folder(folder);
  join(path, folder, "x");
  iso_context *ctx = new_context();
  static const char *const names[] = {".77-0.tmp", ".78-12.tmp", ".77-0.tmp2", ".a-0.tmp", ".tmp", ".77.tmp"};
  for (int i = 0; i < 6; i++) {
    snprintf(item, sizeof item, "%s%s", path, names[i]);
    FILE *file = fopen(item, "w");
    assert_non_null(file);
    fclose(file);
  }
  iso__writer working;
  assert_true(iso__writer_open(ctx, path, false, &working));
  assert_true(iso__writer_add(&working, "late", 4));
  assert_int_equal(iso__file_write_atomic(ctx, path, "early", 5), ISO_OK);
  expect_content(path, "early");
  assert_int_equal(iso__writer_end(&working, true), ISO_OK);
  expect_content(path, "late");
  for (int i = 0; i < 6; i++) {
    snprintf(item, sizeof item, "%s%s", path, names[i]);
    assert_int_equal(access(item, F_OK) == 0, i >= 2);
  }
  iso__context_free(ctx);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_replaces), cmocka_unit_test(test_bad_targets), cmocka_unit_test(test_full_disk),
      cmocka_unit_test(test_kill),     cmocka_unit_test(test_cleans_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
