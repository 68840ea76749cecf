/* monitor.c: samples of the machine's GPUs by NVIDIA's management library (nvml.h), which comes with the driver. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <isobit/device.h>
#include <link.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device/cuda/cuda.h"
#include "device/device.h"
#include "device/monitor/nvml.h"

struct iso_monitor {
  void *library;
  char path[512];
  iso__nvml nvml;
  int n_devices;
};

/* ---- opening ---- */

static iso_status refuse(iso_monitor *m, iso_status status) {
  if (m->library) dlclose(m->library);
  free(m);
  return status;
}

static const char *text_of(const iso__nvml *nvml, int status) {
  const char *text = nvml->error_text ? nvml->error_text(status) : NULL;
  return text ? text : "no text";
}

/* The file that the variable names, and nothing else; or the loader's places, and those of a Windows host. */
static bool load(iso_monitor *m, char *why, size_t n_bytes) {
  static const char *const usual[] = {"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"};
  const char *named = getenv("ISOBIT_NVML"), *path = getenv("LD_LIBRARY_PATH");
  for (size_t i = 0; !m->library && i < (named ? 1 : sizeof usual / sizeof *usual); i++)
    m->library = dlopen(named ? named : usual[i], RTLD_NOW | RTLD_LOCAL);
  struct link_map *map = NULL;
  if (m->library && dlinfo(m->library, RTLD_DI_LINKMAP, &map) == 0 && map)
    snprintf(m->path, sizeof m->path, "%s", map->l_name);
  if (m->library) return true;
  if (named) snprintf(why, n_bytes, "ISOBIT_NVML names '%s', which cannot be loaded: %s", named, dlerror());
  else
    snprintf(why, n_bytes,
             "NVIDIA's management library was not found; searched: %s in LD_LIBRARY_PATH=%s and the system's folders, "
             "%s. Install the driver's libraries (package libnvidia-ml1, or nvidia-driver; in a container, start it "
             "with its GPUs), or name the file in ISOBIT_NVML",
             usual[0], path ? path : "", usual[1]);
  return false;
}

/* The symbol that is needed and missing; NULL: none. */
static const char *find_calls(iso_monitor *m) {
  const char *missing = NULL;
#define FIND(field, symbol, needed, parameters)                                                                        \
  *(void **)&m->nvml.field = dlsym(m->library, symbol);                                                                \
  if (!m->nvml.field && needed && !missing) missing = symbol;
  ISO__NVML_CALLS(FIND)
#undef FIND
  *(void **)&m->nvml.error_text = dlsym(m->library, "nvmlErrorString");
  return missing;
}

iso_status iso_monitor_open(iso_monitor **out, char *why, size_t n_bytes) {
  iso_monitor *m = *out = calloc(1, sizeof *m);
  if (n_bytes) why[0] = '\0';
  if (!m) return ISO_OUT_OF_MEMORY;
  *out = NULL;
  if (!load(m, why, n_bytes)) return refuse(m, ISO_NOT_FOUND);
  const char *missing = find_calls(m);
  if (missing) {
    snprintf(why, n_bytes, "%s has no %s: it is older than any driver that Isobit runs on; install a newer one",
             m->path, missing);
    return refuse(m, ISO_UNSUPPORTED);
  }
  unsigned n = 0;
  int status = m->nvml.init();
  if (status != ISO__NVML_SUCCESS) {
    snprintf(
        why, n_bytes,
        "%s: nvmlInit gives %d (%s): is the nvidia kernel module loaded? 'isobit doctor' goes through what is needed",
        m->path, status, text_of(&m->nvml, status));
    return refuse(m, ISO_DEVICE_ERROR);
  }
  if ((status = m->nvml.get_count(&n)) != ISO__NVML_SUCCESS) {
    snprintf(why, n_bytes, "%s: counting devices gives %d (%s)", m->path, status, text_of(&m->nvml, status));
    m->nvml.shutdown();
    return refuse(m, ISO_DEVICE_ERROR);
  }
  m->n_devices = (int)n;
  return *out = m, ISO_OK;
}

void iso_monitor_close(iso_monitor *m) {
  if (!m) return;
  m->nvml.shutdown();
  refuse(m, ISO_OK);
}

const char *iso_monitor_library(const iso_monitor *m) { return m ? m->path : ""; }
int iso_monitor_n_devices(const iso_monitor *m) { return m ? m->n_devices : 0; }

/* ---- a sample ---- */

/* Whether it was told; the first failure that means more than "this device has no such thing" is kept. */
static bool told(const iso_monitor *m, iso_device_sample *s, const char *what, int status) {
  if (status != ISO__NVML_SUCCESS && status != ISO__NVML_NOT_SUPPORTED && !s->error[0])
    snprintf(s->error, sizeof s->error, "%s: %s", what, text_of(&m->nvml, status));
  return status == ISO__NVML_SUCCESS;
}

/* One number of the device; a missing call is as if not supported. */
#define ASK(field, ...) (m->nvml.field ? m->nvml.field(__VA_ARGS__) : (int)ISO__NVML_NOT_SUPPORTED)

static void ask_loads(const iso_monitor *m, iso__nvml_handle device, iso_device_sample *s) {
  iso__nvml_utilization use = {0, 0};
  iso__nvml_memory memory = {0, 0, 0};
  if (told(m, s, "utilization", ASK(get_utilization, device, &use)))
    s->utilization = use.gpu, s->memory_utilization = use.memory;
  if (told(m, s, "memory", ASK(get_memory, device, &memory)))
    s->memory_used = (double)memory.used, s->memory_total = (double)memory.total;
}

static void ask_state(const iso_monitor *m, iso__nvml_handle device, iso_device_sample *s) {
  unsigned value = 0;
  unsigned long long reasons = 0;
  if (told(m, s, "clock", ASK(get_clock, device, ISO__NVML_CLOCK_SM, &value))) s->sm_mhz = value;
  if (told(m, s, "memory clock", ASK(get_clock, device, ISO__NVML_CLOCK_MEMORY, &value))) s->memory_mhz = value;
  if (told(m, s, "temperature", ASK(get_temperature, device, ISO__NVML_TEMPERATURE_GPU, &value)))
    s->temperature_c = value;
  if (told(m, s, "power", ASK(get_power, device, &value))) s->power_w = value / 1000.0;
  if (told(m, s, "power limit", ASK(get_power_limit, device, &value))) s->power_limit_w = value / 1000.0;
  if (told(m, s, "clock limits", ASK(get_limits, device, &reasons)))
    snprintf(s->limited_by, sizeof s->limited_by, "%s",
             reasons & ISO__NVML_HEAT       ? "heat"
             : reasons & ISO__NVML_POWER    ? "power"
             : reasons & ISO__NVML_SLOWDOWN ? "hardware slowdown"
             : reasons & ISO__NVML_SETTING  ? "a setting"
                                            : "");
}

bool iso_monitor_read(const iso_monitor *m, int i, iso_device_sample *s) {
  if (!m || i < 0 || i >= m->n_devices) return false;
  *s = (iso_device_sample){.index = i,
                           .utilization = NAN,
                           .memory_utilization = NAN,
                           .memory_used = NAN,
                           .memory_total = NAN,
                           .sm_mhz = NAN,
                           .memory_mhz = NAN,
                           .temperature_c = NAN,
                           .power_w = NAN,
                           .power_limit_w = NAN};
  iso__nvml_handle device = NULL;
  if (!told(m, s, "device", m->nvml.get_handle((unsigned)i, &device))) return true;
  if (!told(m, s, "name", m->nvml.get_name(device, s->name, sizeof s->name))) s->name[0] = '\0';
  ask_loads(m, device, s), ask_state(m, device, s);
  return true;
}

/* ---- by CUDA's names ---- */

int iso_monitor_find(const iso_monitor *m, const char *name, char *why, size_t n_bytes) {
  const int ordinal = iso__cuda_ordinal(name ? name : "");
  char address[32] = "";
  iso__nvml_handle device = NULL;
  unsigned index = 0;
  if (ordinal < 0) return snprintf(why, n_bytes, "device '%.40s': cuda or cuda:N is accepted", name ? name : ""), -1;
  const bool known = iso__cuda_bus_address(ordinal, address, sizeof address);
  const bool asked = known && m->nvml.get_handle_at && m->nvml.get_index;
  if (asked && (m->nvml.get_handle_at(address, &device) != ISO__NVML_SUCCESS ||
                m->nvml.get_index(device, &index) != ISO__NVML_SUCCESS))
    return snprintf(why, n_bytes, "cuda:%d lies at %s, which the management library does not know", ordinal, address),
           -1;
  if (!asked) index = (unsigned)ordinal;
  if ((int)index < m->n_devices) return (int)index;
  snprintf(why, n_bytes, "%.40s: there %s %d GPU%s", name, m->n_devices == 1 ? "is" : "are", m->n_devices,
           m->n_devices == 1 ? "" : "s");
  return -1;
}
