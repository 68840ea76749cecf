/* stub_nvml.c: a management library whose answers the environment gives: two GPUs, the second an old one. With STUB_OLD
 * a library that lacks what is not needed, with STUB_LACKS_INIT also what is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device/monitor/nvml.h"

static int answer(const char *name) { return getenv(name) ? atoi(getenv(name)) : 0; }
static int second(iso__nvml_handle device) { return device == (iso__nvml_handle)2; }

#ifndef STUB_LACKS_INIT
int nvmlInit_v2(void) { return answer("STUB_INIT"); }
#endif
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { return *count = 2, answer("STUB_COUNT"); }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, iso__nvml_handle *device) {
  *device = index ? (iso__nvml_handle)2 : (iso__nvml_handle)1;
  return index == 0 ? answer("STUB_HANDLE") : 0;
}
int nvmlDeviceGetName(iso__nvml_handle device, char *name, unsigned n_bytes) {
  snprintf(name, n_bytes, "%s", second(device) ? "Old, with a \"quote\"" : "Stub GPU");
  return 0;
}
#ifndef STUB_OLD
const char *nvmlErrorString(int status) {
  return status == 15 ? "GPU is lost" : status == 9 ? "Driver Not Loaded" : "?";
}
int nvmlDeviceGetUtilizationRates(iso__nvml_handle device, iso__nvml_utilization *value) {
  *value = (iso__nvml_utilization){87, 42};
  return second(device) ? ISO__NVML_NOT_SUPPORTED : answer("STUB_UTILIZATION");
}
int nvmlDeviceGetMemoryInfo(iso__nvml_handle device, iso__nvml_memory *value) {
  *value =
      (iso__nvml_memory){.total = 8ull << 30, .free = 6ull << 30, .used = second(device) ? 1ull << 29 : 2ull << 30};
  return 0;
}
int nvmlDeviceGetClockInfo(iso__nvml_handle device, int type, unsigned *mhz) {
  *mhz = type == ISO__NVML_CLOCK_SM ? 1980 : type == ISO__NVML_CLOCK_MEMORY ? 3201 : 0;
  return second(device) && type == ISO__NVML_CLOCK_MEMORY ? ISO__NVML_NOT_SUPPORTED : 0;
}
int nvmlDeviceGetTemperature(iso__nvml_handle device, int sensor, unsigned *celsius) {
  *celsius = 41;
  return second(device) || sensor ? ISO__NVML_NOT_SUPPORTED : 0;
}
int nvmlDeviceGetPowerUsage(iso__nvml_handle device, unsigned *milliwatts) {
  *milliwatts = 345678;
  return second(device) ? ISO__NVML_NOT_SUPPORTED : 0;
}
int nvmlDeviceGetEnforcedPowerLimit(iso__nvml_handle device, unsigned *milliwatts) {
  *milliwatts = 700000;
  return second(device) ? ISO__NVML_NOT_SUPPORTED : 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(iso__nvml_handle device, unsigned long long *reasons) {
  (void)device;
  return *reasons = (unsigned long long)answer("STUB_REASONS"), 0;
}
#endif
