/* stub_cuda.c: a driver library whose answers the environment gives: for the list of checks (test_cuda_checks.c). */
#include <stdio.h>
#include <stdlib.h>

static int answer(const char *name, int otherwise) { return getenv(name) ? atoi(getenv(name)) : otherwise; }

int cuDriverGetVersion(int *version) { return *version = answer("STUB_VERSION", 13000), 0; }
int cuInit(unsigned flags) { return (void)flags, answer("STUB_INIT", 0); }
int cuDeviceGetCount(int *n) { return *n = answer("STUB_DEVICES", 1), 0; }
int cuDeviceGetName(char *name, int n_bytes, int device) {
  snprintf(name, (size_t)n_bytes, "Stub %d", device);
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  if (device == 1 && attribute == 75) return *value = answer("STUB_SECOND_MAJOR", 9), 0;
  return *value = attribute == 75 ? answer("STUB_MAJOR", 9) : attribute == 76 ? answer("STUB_MINOR", 0) : 0, 0;
}
