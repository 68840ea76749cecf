/* cpu.c: asks the processor (cpuid), the kernel (affinity, control groups) and sysfs (caches) what we may use.
 *
 * The number of cores is not the machine's but this process': a container with a quota of two CPUs on a 64-core host
 * runs fastest with two threads, and more would be throttled. */
#if !defined(_GNU_SOURCE)
#  define _GNU_SOURCE /* sched_getaffinity and CPU_COUNT */
#endif
#include "base/cpu.h"
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#  include <cpuid.h>
#endif

/* ---- instruction sets ---- */

#if defined(__x86_64__)
static bool cpuid_bit(unsigned leaf, unsigned subleaf, int reg, int bit) {
  unsigned r[4];
  return __get_cpuid_count(leaf, subleaf, &r[0], &r[1], &r[2], &r[3]) && (r[reg] >> bit & 1);
}

/* __builtin_cpu_supports also asks whether the operating system saves the registers. A level needs everything that its
 * files are compiled with. */
static void probe_isa(iso__cpu_info *info) {
  enum { EAX = 0, ECX = 2 };
  __builtin_cpu_init();
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  info->has_f16c = avx2 && cpuid_bit(1, 0, ECX, 29);
  info->has_bf16 = avx512 && cpuid_bit(7, 1, EAX, 5);
  info->isa = info->has_f16c ? avx512 ? ISO_ISA_AVX512 : ISO_ISA_AVX2 : ISO_ISA_SCALAR;
}

static void probe_model(iso__cpu_info *info) {
  unsigned words[12] = {0};
  for (unsigned i = 0; i < 3; i++)
    if (!__get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2], &words[4 * i + 3])) return;
  char text[sizeof words + 1] = {0};
  memcpy(text, words, sizeof words);
  const char *start = text + strspn(text, " ");
  size_t n = strlen(start);
  while (n && start[n - 1] == ' ') n--;
  if (n) snprintf(info->model, sizeof info->model, "%.*s", (int)n, start);
}
#else
static void probe_isa(iso__cpu_info *info) { info->isa = ISO_ISA_SCALAR; }
static void probe_model(iso__cpu_info *info) { (void)info; }
#endif

/* ---- cores ---- */

static int affinity_cores(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    int n = CPU_COUNT(&set);
    if (n > 0) return n;
  }
  long n = sysconf(_SC_NPROCESSORS_ONLN); /* more cores than a cpu_set_t holds */
  return n > 0 ? (int)n : 1;
}

static bool read_text(const char *path, char *text, int n_bytes) {
  FILE *file = fopen(path, "re");
  if (!file) return false;
  bool ok = fgets(text, n_bytes, file) != NULL;
  fclose(file);
  return ok;
}

static int cores_of_quota(long long quota, long long period) {
  if (quota <= 0 || period <= 0 || quota / period >= 1 << 20) return 0;
  return (int)((quota + period - 1) / period);
}

/* Cores that one control group allows; 0: no limit there. */
static int group_cores_v2(const char *folder) {
  char path[600], text[64];
  long long quota, period;
  snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", folder);
  if (!read_text(path, text, sizeof text) || sscanf(text, "%lld %lld", &quota, &period) != 2) return 0;
  return cores_of_quota(quota, period);
}

static int group_cores_v1(const char *folder) {
  char path[600], quota[32], period[32];
  snprintf(path, sizeof path, "/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us", folder);
  if (!read_text(path, quota, sizeof quota)) return 0;
  snprintf(path, sizeof path, "/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", folder);
  if (!read_text(path, period, sizeof period)) return 0;
  return cores_of_quota(strtoll(quota, NULL, 10), strtoll(period, NULL, 10));
}

/* The least of a group and those around it. Inside a container the path may name folders of the host that are not
 * visible; the walk then ends at the mount's root, which is the container's own group. */
static int least_on_the_way_up(char *folder, int (*group_cores)(const char *), int n_cores) {
  for (;;) {
    int n = group_cores(folder);
    if (n > 0 && n < n_cores) n_cores = n;
    char *slash = strrchr(folder, '/');
    if (!slash) return n_cores;
    *slash = '\0';
  }
}

static bool has_cpu_controller(const char *controllers) {
  for (const char *c = controllers; *c; c += strcspn(c, ","), c += *c == ',')
    if (strcspn(c, ",") == 3 && strncmp(c, "cpu", 3) == 0) return true;
  return false;
}

static int quota_cores(int n_cores) {
  FILE *file = fopen("/proc/self/cgroup", "re");
  if (!file) return n_cores;
  char line[600]; /* "hierarchy:controllers:/path" */
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *folder = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!folder) continue;
    *folder++ = '\0';
    controllers++;
    if (*controllers == '\0') n_cores = least_on_the_way_up(folder, group_cores_v2, n_cores);
    else if (has_cpu_controller(controllers)) n_cores = least_on_the_way_up(folder, group_cores_v1, n_cores);
  }
  fclose(file);
  return n_cores;
}

/* ---- caches ---- */

static void probe_caches(iso__cpu_info *info) {
  info->l1_bytes = 32 << 10, info->l2_bytes = 512 << 10, info->l3_bytes = 8 << 20;
  for (int i = 0; i < 8; i++) {
    char path[96], text[64];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
    if (!read_text(path, text, sizeof text)) return;
    if (strncmp(text, "Instruction", 11) == 0) continue;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
    if (!read_text(path, text, sizeof text)) continue;
    long level = strtol(text, NULL, 10);
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
    if (!read_text(path, text, sizeof text)) continue;
    char *unit;
    unsigned long long n = strtoull(text, &unit, 10);
    size_t n_bytes = (size_t)n << (*unit == 'K' ? 10 : *unit == 'M' ? 20 : 0);
    if (n_bytes == 0) continue;
    if (level == 1) info->l1_bytes = n_bytes;
    if (level == 2) info->l2_bytes = n_bytes;
    if (level == 3) info->l3_bytes = n_bytes;
  }
}

/* ---- once ---- */

static iso__cpu_info probed;

static void probe(void) {
  snprintf(probed.model, sizeof probed.model, "unknown");
  probe_isa(&probed);
  probe_model(&probed);
  const long n_online = sysconf(_SC_NPROCESSORS_ONLN);
  probed.n_online = n_online > 0 ? (int)n_online : 1;
  probed.n_affinity = affinity_cores();
  probed.n_cores = quota_cores(probed.n_affinity);
  probe_caches(&probed);
}

const iso__cpu_info *iso__cpu(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, probe);
  return &probed;
}

const iso_machine_info *iso_machine_get_info(void) { return iso__cpu(); }

static const char *const isa_names[] = {"scalar", "avx2", "avx512", "cuda"};

iso_status iso__isa_parse(const char *name, iso_isa *out) {
  for (int i = 0; i < 3; i++)
    if (name && strcmp(name, isa_names[i]) == 0) {
      *out = (iso_isa)i;
      return ISO_OK;
    }
  return ISO_NOT_FOUND;
}

const char *iso_isa_name(iso_isa isa) { return (unsigned)isa < 4 ? isa_names[isa] : "unknown"; }
