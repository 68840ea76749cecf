/* test_cuda_checks.c: each step of "is a GPU usable" fails once, against stub files and a stub driver library, and says
 * what it found and what to do; all pass where all is well. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "device/cuda/checks.h"

static char folder[] = "/tmp/isobit-checks-XXXXXX", control[64], module[64], library[64], plain_library[64];
static iso__cuda_machine machine;
static iso_device_check list[ISO_MAX_DEVICE_CHECKS];

static const char *probe_well(char *why, size_t n_bytes) { return (void)why, (void)n_bytes, NULL; }
static const char *probe_badly(char *why, size_t n_bytes) { return snprintf(why, n_bytes, "out of memory"), why; }

static void write_file(const char *path, const char *text) {
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static int open_machine(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return 1;
  snprintf(control, sizeof control, "%s/nvidiactl", folder), snprintf(module, sizeof module, "%s/version", folder);
  snprintf(library, sizeof library, "%s/libcuda.so.580.1.2", folder);
  snprintf(plain_library, sizeof plain_library, "%s/libcuda.so.1", folder);
  char command[512];
  snprintf(command, sizeof command, "cp '%s' '%s' && cp '%s' '%s'", STUB_CUDA, library, STUB_CUDA, plain_library);
  return system(command);
}
static int close_machine(void **state) {
  (void)state;
  unlink(control), unlink(module), unlink(library), unlink(plain_library);
  return rmdir(folder);
}
static int all_is_well(void **state) {
  (void)state;
  static const char *const names[] = {"STUB_VERSION", "STUB_INIT",  "STUB_DEVICES",
                                      "STUB_MAJOR",   "STUB_MINOR", "STUB_SECOND_MAJOR"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
  write_file(control, "");
  write_file(module, "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.1.2  Release Build\n");
  machine = (iso__cuda_machine){.architectures = "75 80 90a 90-ptx",
                                .runtime = 13000,
                                .control = control,
                                .module_version = module,
                                .library = library,
                                .probe = probe_well};
  return 0;
}

/* The step at which the list ends, which must say what it found and, failing, what to do. */
static void ends_at(const char *step, bool passed, const char *says) {
  const int n = iso__cuda_checks(&machine, list);
  const iso_device_check *last = &list[n - 1];
  for (int i = 0; i < n - 1; i++) assert_true(list[i].passed && !list[i].remedy[0] && list[i].found[0]);
  assert_string_equal(last->step, step);
  assert_int_equal(last->passed, passed);
  assert_int_equal(last->remedy[0] == '\0', passed);
  if (!strstr(last->found, says)) fail_msg("%s: '%s' does not say '%s'", step, last->found, says);
}

static void test_all_passes(void **state) {
  (void)state;
  ends_at("probe kernel", true, "right numbers");
  assert_int_equal(iso__cuda_checks(&machine, list), 9);
  assert_string_equal(list[3].found, library);
}
static void test_build(void **state) {
  (void)state;
  machine.architectures = NULL;
  ends_at("build", false, "no CUDA code");
}
static void test_nodes(void **state) {
  (void)state;
  unlink(control);
  ends_at("device nodes", false, "No such file");
}
static void test_module(void **state) {
  (void)state;
  write_file(module, "something else\n");
  ends_at("kernel module", false, "names no kernel module");
  unlink(module);
  ends_at("kernel module", false, module);
}
static void test_library(void **state) {
  (void)state;
  machine.library = "libcuda-that-is-nowhere.so.1";
  ends_at("driver library", false, "libcuda-that-is-nowhere.so.1");
}
static void test_match(void **state) {
  (void)state;
  write_file(module, "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.9.1  x\n");
  ends_at("same version", false, "library 580.1.2, kernel module 570.9.1");
  machine.library = plain_library; /* does not say its version */
  ends_at("probe kernel", true, "right");
}
static void test_version(void **state) {
  (void)state;
  setenv("STUB_VERSION", "12080", 1);
  ends_at("driver version", false, "CUDA 12.8; this build needs 13.0");
  setenv("STUB_VERSION", "13040", 1);
  ends_at("probe kernel", true, "right");
}
static void test_devices(void **state) {
  (void)state;
  setenv("STUB_DEVICES", "0", 1);
  ends_at("devices", false, "0 devices");
  setenv("CUDA_VISIBLE_DEVICES", "7", 1);
  ends_at("devices", false, "CUDA_VISIBLE_DEVICES=7");
  unsetenv("CUDA_VISIBLE_DEVICES");
  setenv("STUB_INIT", "999", 1);
  ends_at("devices", false, "cuInit gives 999");
}
static void test_several_devices(void **state) {
  (void)state;
  setenv("STUB_DEVICES", "2", 1), setenv("STUB_SECOND_MAJOR", "6", 1);
  ends_at("probe kernel", true, "right");
  assert_string_equal(list[6].found, "2: cuda:0 Stub 0, cuda:1 Stub 1");
  assert_non_null(strstr(list[7].found, "cuda:1 (6.0) cannot be used"));
  setenv("STUB_SECOND_MAJOR", "9", 1);
  ends_at("probe kernel", true, "right");
  assert_null(strstr(list[7].found, "cannot be used"));
  setenv("STUB_DEVICES", "16", 1); /* as many as fit */
  ends_at("probe kernel", true, "right");
  assert_non_null(strstr(list[6].found, "cuda:9 Stub 9"));
}
static void test_architecture(void **state) {
  (void)state;
  static const struct {
    const char *major, *minor;
    bool passed;
  } rows[] = {{"6", "1", false}, {"7", "0", false}, {"7", "5", true}, {"8", "6", true},
              {"9", "0", true},  {"10", "0", true}, {"12", "0", true}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    setenv("STUB_MAJOR", rows[i].major, 1), setenv("STUB_MINOR", rows[i].minor, 1);
    ends_at(rows[i].passed ? "probe kernel" : "architecture", rows[i].passed, rows[i].passed ? "right" : "unsupported");
  }
  machine.architectures = "75 90a"; /* no PTX: nothing for what is neither */
  setenv("STUB_MAJOR", "8", 1), setenv("STUB_MINOR", "0", 1);
  ends_at("architecture", false, "the build has sm_75 90a");
}
static void test_probe(void **state) {
  (void)state;
  machine.probe = probe_badly;
  ends_at("probe kernel", false, "out of memory");
}
static void test_advice(void **state) {
  (void)state;
  assert_non_null(strstr(iso_device_advice(7, 5), "no TF32"));
  assert_non_null(strstr(iso_device_advice(9, 0), "Hopper"));
  assert_non_null(strstr(iso_device_advice(8, 6), "consumer"));
  assert_null(iso_device_advice(5, 0));
}
/* Whatever this machine has, the list ends with a reason or with a device that opens. */
static void test_here(void **state) {
  (void)state;
  const int n = iso_device_checks(list);
  assert_in_range(n, 1, ISO_MAX_DEVICE_CHECKS);
  assert_true(list[n - 1].passed || list[n - 1].remedy[0]);
}

int main(void) {
#define CHECK(name) cmocka_unit_test_setup(name, all_is_well)
  const struct CMUnitTest tests[] = {CHECK(test_all_passes),      CHECK(test_build),   CHECK(test_nodes),
                                     CHECK(test_module),          CHECK(test_library), CHECK(test_match),
                                     CHECK(test_version),         CHECK(test_devices), CHECK(test_architecture),
                                     CHECK(test_several_devices), CHECK(test_probe),   cmocka_unit_test(test_advice),
                                     cmocka_unit_test(test_here)};
  return cmocka_run_group_tests(tests, open_machine, close_machine);
}
