/* checks.c: is a GPU usable? Each step says what it found, and the first that fails what to do about it. The driver's
 * library is loaded at run time, so the list works in every build and on every machine. */
#define _GNU_SOURCE
#include "device/cuda/checks.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct state {
  const iso__cuda_machine *machine;
  char module[64], library_path[256];
  void *library;
  int n_devices;
} state;

static bool found(iso_device_check *c, bool passed, const char *remedy, const char *format, ...) ISO_PRINTF(4, 5);
static bool found(iso_device_check *c, bool passed, const char *remedy, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(c->found, sizeof c->found, format, list);
  va_end(list);
  c->passed = passed, c->remedy = passed ? "" : remedy;
  return passed;
}

static bool check_build(state *s, iso_device_check *c) {
  const char *list = s->machine->architectures;
  return found(c, list != NULL, "configure again where nvcc is found (cmake -DISOBIT_CUDA=ON says what is missing)",
               list ? "compiled for sm_%s; CUDA runtime %d.%d linked in" : "this build has no CUDA code",
               list ? list : "", s->machine->runtime / 1000, s->machine->runtime % 1000 / 10);
}

static bool check_nodes(state *s, iso_device_check *c) {
  const int fd = open(s->machine->control, O_RDWR | O_CLOEXEC);
  if (fd >= 0) return close(fd), found(c, true, "", "%s", s->machine->control);
  const int error = errno;
  return found(c, false,
               error == EACCES
                   ? "give this user access to /dev/nvidia* (often the group 'video')"
                   : "load the nvidia kernel module (modprobe nvidia); in a container, start it with its GPUs "
                     "(docker run --gpus all)",
               "%s: %s", s->machine->control, strerror(error));
}

/* "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build …": the first word of numbers and
 * points behind "Kernel Module". */
static bool check_module(state *s, iso_device_check *c) {
  char line[256] = "";
  FILE *f = fopen(s->machine->module_version, "r");
  if (f && !fgets(line, sizeof line, f)) line[0] = '\0';
  if (f) fclose(f);
  for (const char *at = strstr(line, "Kernel Module"); at && *at && !s->module[0]; at += strcspn(at, " ")) {
    at += strspn(at, " ");
    const int n = (int)strspn(at, "0123456789.");
    if (n && at[n] == ' ' && memchr(at, '.', (size_t)n)) snprintf(s->module, sizeof s->module, "%.*s", n, at);
  }
  if (s->module[0]) return found(c, true, "", "%s", s->module);
  return found(c, false, "load the nvidia kernel module (modprobe nvidia), or install the driver",
               "%s names no kernel module", s->machine->module_version);
}

static bool check_library(state *s, iso_device_check *c) {
  s->library = dlopen(s->machine->library, RTLD_NOW | RTLD_LOCAL);
  if (!s->library)
    return found(c, false,
                 "install the driver's libraries (package libcuda1, or nvidia-driver), or name their folder in "
                 "LD_LIBRARY_PATH",
                 "%s; searched: LD_LIBRARY_PATH=%s, then the system's folders", dlerror(),
                 getenv("LD_LIBRARY_PATH") ? getenv("LD_LIBRARY_PATH") : "");
  struct link_map *map = NULL;
  char *real = dlinfo(s->library, RTLD_DI_LINKMAP, &map) == 0 && map ? realpath(map->l_name, NULL) : NULL;
  snprintf(s->library_path, sizeof s->library_path, "%s", real ? real : s->machine->library);
  free(real);
  return found(c, true, "", "%s", s->library_path);
}

/* The library's file carries its version: libcuda.so.580.159.04. */
static bool check_match(state *s, iso_device_check *c) {
  const char *version = strstr(s->library_path, ".so.");
  version = version ? version + 4 : "";
  const bool knows = strchr(version, '.') != NULL; /* plain "1": the file does not say */
  return found(
      c, !knows || !strcmp(version, s->module),
      "the driver was updated while its module stayed loaded, or a container brings its own library: restart the "
      "machine, or use the host's library",
      "library %s, kernel module %s", knows ? version : "(unnamed)", s->module);
}

static bool check_version(state *s, iso_device_check *c) {
  int (*get)(int *) = NULL;
  int version = 0;
  *(void **)&get = dlsym(s->library, "cuDriverGetVersion");
  if (get) get(&version);
  const int wanted = s->machine->runtime / 1000 * 1000; /* minor versions go together */
  return found(c, version >= wanted, "install a newer driver",
               "the driver knows CUDA %d.%d; this build needs %d.%d or later", version / 1000, version % 1000 / 10,
               wanted / 1000, wanted % 1000 / 10);
}

static bool check_devices(state *s, iso_device_check *c) {
  int (*init)(unsigned) = NULL, (*count)(int *) = NULL, (*name)(char *, int, int) = NULL;
  *(void **)&init = dlsym(s->library, "cuInit");
  *(void **)&count = dlsym(s->library, "cuDeviceGetCount");
  *(void **)&name = dlsym(s->library, "cuDeviceGetName");
  int n = 0;
  char text[128] = "";
  const int error = init ? init(0) : -1;
  if (!error && count) count(&n);
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  if (error || n < 1)
    return found(
        c, false,
        visible ? "unset CUDA_VISIBLE_DEVICES, or name a device that is there" : "look at nvidia-smi and dmesg",
        "cuInit gives %d, %d devices%s%s", error, n, visible ? "; CUDA_VISIBLE_DEVICES=" : "", visible ? visible : "");
  found(c, true, "", "%d:", n);
  for (int i = 0; i < n && name; i++) { /* what does not fit is left out at the end */
    const size_t used = strlen(c->found);
    name(text, sizeof text, i);
    snprintf(c->found + used, sizeof c->found - used, "%s cuda:%d %s", i ? "," : "", i, text);
  }
  s->n_devices = n;
  return true;
}

/* Whether the list has machine code that a chip of this capability runs: the same major version, a minor not above. */
static bool has_code(const char *list, int major, int minor) {
  for (const char *at = list; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
    char *end;
    const long sm = strtol(at, &end, 10);
    if (!strncmp(end, "-ptx", 4) ? sm <= 10 * major + minor
        : *end == 'a'            ? sm == 10 * major + minor
                                 : sm / 10 == major && sm % 10 <= minor)
      return true;
    if (end == at) break;
  }
  return false;
}

static bool is_supported(const state *s, int major, int minor) {
  return 10 * major + minor >= 75 && has_code(s->machine->architectures, major, minor);
}

/* The first has to be usable; others that are not are named. */
static bool check_architecture(state *s, iso_device_check *c) {
  enum { MAJOR = 75, MINOR = 76 }; /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_… */
  int (*get)(int *, int, int) = NULL;
  *(void **)&get = dlsym(s->library, "cuDeviceGetAttribute");
  int major = 0, minor = 0;
  if (get) get(&major, MAJOR, 0), get(&minor, MINOR, 0);
  const char *advice = iso_device_advice(major, minor);
  const bool old = 10 * major + minor < 75;
  found(c, is_supported(s, major, minor),
        old ? "use a Turing card or a later one (compute capability 7.5)"
            : "build with this architecture in ISOBIT_CUDA_ARCHITECTURES",
        "compute capability %d.%d%s; the build has sm_%s%s%s", major, minor, old ? ": unsupported" : "",
        s->machine->architectures, advice ? "; " : "", advice ? advice : "");
  for (int i = 1; i < s->n_devices && get; i++) {
    const size_t used = strlen(c->found);
    get(&major, MAJOR, i), get(&minor, MINOR, i);
    if (!is_supported(s, major, minor))
      snprintf(c->found + used, sizeof c->found - used, "; cuda:%d (%d.%d) cannot be used", i, major, minor);
  }
  return c->passed;
}

static bool check_probe(state *s, iso_device_check *c) {
  char why[256] = "";
  const char *failed = s->machine->probe ? s->machine->probe(why, sizeof why) : NULL;
  return found(c, !failed, "look at nvidia-smi: another program may hold the device, or it needs a reset", "%s",
               failed ? failed : "a kernel ran and gave the right numbers");
}

int iso__cuda_checks(const iso__cuda_machine *machine, iso_device_check list[ISO_MAX_DEVICE_CHECKS]) {
  static const struct {
    const char *step;
    bool (*check)(state *s, iso_device_check *c);
  } steps[] = {{"build", check_build},          {"device nodes", check_nodes},
               {"kernel module", check_module}, {"driver library", check_library},
               {"same version", check_match},   {"driver version", check_version},
               {"devices", check_devices},      {"architecture", check_architecture},
               {"probe kernel", check_probe}};
  state s = {.machine = machine};
  int n = 0;
  bool passed = true;
  for (size_t i = 0; passed && i < sizeof steps / sizeof *steps; i++) {
    list[n] = (iso_device_check){.step = steps[i].step};
    passed = steps[i].check(&s, &list[n++]);
  }
  if (s.library) dlclose(s.library);
  return n;
}

int iso_device_checks(iso_device_check list[ISO_MAX_DEVICE_CHECKS]) {
  const iso__cuda_machine machine = {
#ifdef ISO_HAS_CUDA
      .architectures = ISO_CUDA_ARCHITECTURES,
      .runtime = ISO_CUDA_VERSION,
      .probe = iso__cuda_probe,
#endif
      .control = "/dev/nvidiactl",
      .module_version = "/proc/driver/nvidia/version",
      .library = "libcuda.so.1"};
  return iso__cuda_checks(&machine, list);
}

const char *iso_device_advice(int major, int minor) {
  static const struct {
    int major, minor; /* minor −1: all */
    const char *text;
  } rows[] = {{6, -1, "Pascal: unsupported; no tensor cores"},
              {7, 0, "Volta: unsupported; tensor cores for f16 only"},
              {7, 5, "Turing: tensor cores for f16; no TF32, no bf16"},
              {8, 0, "Ampere: tensor cores for TF32, bf16 and f16"},
              {8, 9, "Ada: tensor cores for TF32, bf16, f16 and fp8; f32 in f32 runs at full speed beside them"},
              {8, -1, "Ampere, consumer chip: tensor cores for TF32, bf16 and f16"},
              {9, -1, "Hopper: tensor cores for TF32, bf16, f16 and fp8"},
              {10, -1, "Blackwell: tensor cores for TF32, bf16, f16, fp8 and fp4"},
              {12, -1, "Blackwell, consumer chip: tensor cores for TF32, bf16, f16, fp8 and fp4"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].major == major && (rows[i].minor < 0 || rows[i].minor == minor)) return rows[i].text;
  return NULL;
}
