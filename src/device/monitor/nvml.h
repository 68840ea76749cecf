/* nvml.h: the calls of NVIDIA's management library that the monitor makes, as its manual declares them ("NVML API
 * Reference"): no header of theirs is needed. */
#ifndef ISO_DEVICE_MONITOR_NVML_H
#define ISO_DEVICE_MONITOR_NVML_H

typedef struct iso__nvml_device *iso__nvml_handle;
enum { ISO__NVML_SUCCESS = 0, ISO__NVML_NOT_SUPPORTED = 3 };
enum { ISO__NVML_CLOCK_SM = 1, ISO__NVML_CLOCK_MEMORY = 2, ISO__NVML_TEMPERATURE_GPU = 0 };

typedef struct iso__nvml_utilization {
  unsigned gpu, memory; /* percent */
} iso__nvml_utilization;
typedef struct iso__nvml_memory {
  unsigned long long total, free, used; /* bytes */
} iso__nvml_memory;

/* Reasons for a clock below the highest. */
enum { ISO__NVML_POWER = 0x4 | 0x80, ISO__NVML_HEAT = 0x20 | 0x40, ISO__NVML_SLOWDOWN = 0x8, ISO__NVML_SETTING = 0x2 };

/* Field, symbol, needed, parameters: all return a status, but for the text of one. */
#define ISO__NVML_CALLS(X)                                                                                             \
  X(init, "nvmlInit_v2", 1, (void))                                                                                    \
  X(shutdown, "nvmlShutdown", 1, (void))                                                                               \
  X(get_count, "nvmlDeviceGetCount_v2", 1, (unsigned *count))                                                          \
  X(get_handle, "nvmlDeviceGetHandleByIndex_v2", 1, (unsigned index, iso__nvml_handle *device))                        \
  X(get_handle_at, "nvmlDeviceGetHandleByPciBusId_v2", 0, (const char *address, iso__nvml_handle *device))             \
  X(get_index, "nvmlDeviceGetIndex", 0, (iso__nvml_handle device, unsigned *index))                                    \
  X(get_name, "nvmlDeviceGetName", 1, (iso__nvml_handle device, char *name, unsigned n_bytes))                         \
  X(get_utilization, "nvmlDeviceGetUtilizationRates", 0, (iso__nvml_handle device, iso__nvml_utilization * value))     \
  X(get_memory, "nvmlDeviceGetMemoryInfo", 0, (iso__nvml_handle device, iso__nvml_memory * value))                     \
  X(get_clock, "nvmlDeviceGetClockInfo", 0, (iso__nvml_handle device, int type, unsigned *mhz))                        \
  X(get_temperature, "nvmlDeviceGetTemperature", 0, (iso__nvml_handle device, int sensor, unsigned *celsius))          \
  X(get_power, "nvmlDeviceGetPowerUsage", 0, (iso__nvml_handle device, unsigned *milliwatts))                          \
  X(get_power_limit, "nvmlDeviceGetEnforcedPowerLimit", 0, (iso__nvml_handle device, unsigned *milliwatts))            \
  X(get_limits, "nvmlDeviceGetCurrentClocksThrottleReasons", 0, (iso__nvml_handle device, unsigned long long *reasons))

typedef struct iso__nvml {
#define ISO__NVML_FIELD(field, symbol, needed, parameters) int(*field) parameters;
  ISO__NVML_CALLS(ISO__NVML_FIELD)
#undef ISO__NVML_FIELD
  const char *(*error_text)(int status); /* nvmlErrorString; NULL: there is none */
} iso__nvml;

#endif
