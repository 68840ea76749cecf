/* test_vendor.c: finding a vendor's library: absent, another version, a symbol missing, no library at all; the order of
 * places; what the user is told. Against stub libraries in a folder of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <dlfcn.h>
#include "device/vendor/library.h"

static const char *const symbols[] = {"stubCreate", "stubMatmul", NULL};
static const char *const folders[] = {"nvidia/stub/lib", NULL};
static const iso__vendor_wanted wanted = {"Stub",  "ISOBIT_STUB", "libisobitstub.so", 9, 9, "stubGetVersion",
                                          symbols, folders};
static char root[] = "/tmp/isobit-vendor-XXXXXX";
static iso__vendor_library library;

static int shell(const char *format, ...) {
  char command[1024];
  va_list list;
  va_start(list, format);
  vsnprintf(command, sizeof command, format, list);
  va_end(list);
  return system(command);
}

static int open_root(void **state) { return (void)state, mkdtemp(root) ? 0 : 1; }
static int close_root(void **state) { return (void)state, shell("rm -r '%s'", root); }
/* An empty folder, and an environment where nothing is found by chance. */
static int begin(void **state) {
  (void)state;
  unsetenv("ISOBIT_STUB"), unsetenv("STUB_VENDOR_VERSION"), unsetenv("CONDA_PREFIX");
  char home[64];
  snprintf(home, sizeof home, "%s/home", root);
  setenv("HOME", home, 1), setenv("VIRTUAL_ENV", root, 1);
  return shell("rm -rf '%s'/*", root);
}

static const char *put(const char *stub, const char *place) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", root, place);
  assert_int_equal(shell("mkdir -p \"$(dirname '%s')\" && cp '%s' '%s'", path, stub, path), 0);
  return path;
}
static void find(void) { iso__vendor_find(&wanted, &library); }
static void is_usable_at(const char *path, int minor) {
  find();
  assert_string_equal(library.reason, "");
  assert_non_null(library.handle);
  assert_string_equal(library.path, path);
  assert_int_equal(library.major, 9), assert_int_equal(library.minor, minor);
  assert_non_null(iso__vendor_symbol(&library, "stubMatmul"));
  dlclose(library.handle); /* the loader takes a path that it has loaded for the same file */
}
static void is_refused(const char *format, ...) {
  char says[1024];
  va_list list;
  va_start(list, format);
  vsnprintf(says, sizeof says, format, list);
  va_end(list);
  find();
  assert_null(library.handle);
  if (!strstr(library.reason, says)) fail_msg("'%s' says not '%s'", library.reason, says);
}

#define PACKAGE "lib/python3.11/site-packages/nvidia/stub/lib/"

static void test_absent(void **state) {
  (void)state;
  is_refused("libisobitstub.so.9 not found: searched LD_LIBRARY_PATH=");
  assert_non_null(strstr(library.searched, "/usr/local/lib/python3*/*-packages/nvidia/stub/lib"));
  assert_non_null(strstr(library.searched, root));
}

static void test_named_by_file_and_by_folder(void **state) {
  (void)state;
  const char *path = put(STUB_VENDOR, "any.so");
  setenv("ISOBIT_STUB", path, 1);
  is_usable_at(path, 19);
  path = put(STUB_VENDOR, "folder/libisobitstub.so.9");
  char folder[512];
  snprintf(folder, sizeof folder, "%s/folder", root);
  setenv("ISOBIT_STUB", folder, 1), setenv("STUB_VENDOR_VERSION", "90201", 1);
  is_usable_at(path, 2);
  assert_int_equal(library.patch, 1);
}

static void test_a_python_environment(void **state) {
  (void)state;
  is_usable_at(put(STUB_VENDOR, PACKAGE "libisobitstub.so.9"), 19);
}

static void test_another_version(void **state) {
  (void)state;
  const char *path = put(STUB_VENDOR, PACKAGE "libisobitstub.so.8");
  setenv("STUB_VENDOR_VERSION", "8907", 1);
  is_refused("found libisobitstub.so.8 (8.9.7) at %s, needs 9.x", path);
  begin(NULL);
  path = put(STUB_VENDOR, PACKAGE "libisobitstub.so.9"); /* its name says one thing, the library another */
  setenv("STUB_VENDOR_VERSION", "100000", 1);
  is_refused("found libisobitstub.so.10 (10.0.0) at %s, needs 9.x", path);
}

static void test_a_missing_symbol(void **state) {
  (void)state;
  const char *path = put(STUB_LACKING, PACKAGE "libisobitstub.so.9");
  is_refused("found libisobitstub.so.9 (9.19.0) at %s, which has no stubMatmul", path);
}

static void test_no_library(void **state) {
  (void)state;
  const char *path = put("/proc/self/cmdline", PACKAGE "libisobitstub.so.9");
  is_refused("%s", path);
}

/* What the user names is what is used, or refused. */
static void test_a_variable_excludes_other_places(void **state) {
  (void)state;
  put(STUB_VENDOR, PACKAGE "libisobitstub.so.9");
  setenv("ISOBIT_STUB", "/nowhere/libisobitstub.so.9", 1);
  is_refused("libisobitstub.so.9 not found: searched ISOBIT_STUB=/nowhere/libisobitstub.so.9");
  assert_null(strstr(library.searched, "site-packages"));
}

static void test_a_later_place_may_fit(void **state) {
  (void)state;
  put(STUB_LACKING, PACKAGE "libisobitstub.so.9");
  const char *path = put(STUB_VENDOR, "home/.local/lib/python3.12/site-packages/nvidia/stub/lib/libisobitstub.so.9");
  is_usable_at(path, 19);
}

/* This machine's own: found or not, each says which. */
static void test_the_process_libraries(void **state) {
  (void)state;
  iso_vendor_library list[ISO_MAX_VENDOR_LIBRARIES];
  const int n = iso_vendor_libraries(list);
  assert_int_equal(n, 2);
  for (int i = 0; i < n; i++) {
    assert_int_equal(list[i].usable, *list[i].path != '\0');
    assert_int_equal(list[i].usable, *list[i].reason == '\0');
    assert_int_equal(list[i].usable, *list[i].version != '\0');
    assert_true(*list[i].searched);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_absent, begin),
                                     cmocka_unit_test_setup(test_named_by_file_and_by_folder, begin),
                                     cmocka_unit_test_setup(test_a_python_environment, begin),
                                     cmocka_unit_test_setup(test_another_version, begin),
                                     cmocka_unit_test_setup(test_a_missing_symbol, begin),
                                     cmocka_unit_test_setup(test_no_library, begin),
                                     cmocka_unit_test_setup(test_a_variable_excludes_other_places, begin),
                                     cmocka_unit_test_setup(test_a_later_place_may_fit, begin),
                                     cmocka_unit_test(test_the_process_libraries)};
  return cmocka_run_group_tests(tests, open_root, close_root);
}
