/* doctor.c: `isobit doctor`: facts about machine, libraries and store, and findings, each with a remedy. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

typedef struct report {
  json_t *facts, *findings;
} report;

static void fact(report *r, const char *name, const char *format, ...) ISO_PRINTF(3, 4);
static void fact(report *r, const char *name, const char *format, ...) {
  va_list list;
  va_start(list, format);
  json_t *text = json_vsprintf(format, list);
  va_end(list);
  printf("%-18s %s\n", name, json_string_value(text));
  json_object_set_new(r->facts, name, text);
}

static void finding(report *r, const char *remedy, const char *format, ...) ISO_PRINTF(3, 4);
static void finding(report *r, const char *remedy, const char *format, ...) {
  va_list list;
  va_start(list, format);
  json_array_append_new(r->findings, json_pack("{s:o, s:s}", "finding", json_vsprintf(format, list), "remedy", remedy));
  va_end(list);
}

/* ---- machine ---- */
static void examine_cores(report *r) {
  const iso_machine_info *m = iso_machine_get_info();
  fact(r, "cpu", "%s, %s%s%s", m->model, iso_isa_name(m->isa), m->has_f16c ? ", f16c" : "",
       m->has_bf16 ? ", bf16" : "");
  fact(r, "caches", "L1 %zu KiB, L2 %zu KiB a core, L3 %zu KiB", m->l1_bytes >> 10, m->l2_bytes >> 10,
       m->l3_bytes >> 10);
  fact(r, "cores", "%d used: %d online, %d in the affinity mask, %d within the control group's quota", m->n_cores,
       m->n_online, m->n_affinity, m->n_cores);
  if (m->isa < ISO_ISA_AVX2)
    finding(r, "run on a CPU with AVX2; results are the same, only slower",
            "this CPU has no AVX2: class references do the work");
  if (m->n_cores < m->n_affinity)
    finding(r, "raise the container's CPU quota, if more threads are wanted",
            "the control group's quota leaves %d of %d cores", m->n_cores, m->n_affinity);
}

static void examine_memory(report *r) {
  char line[256];
  long long kib, total = 0, available = 0;
  FILE *f = fopen("/proc/meminfo", "r");
  while (f && fgets(line, sizeof line, f)) {
    if (sscanf(line, "MemTotal: %lld", &kib) == 1) total = kib;
    if (sscanf(line, "MemAvailable: %lld", &kib) == 1) available = kib;
  }
  if (f) fclose(f);
  fact(r, "memory", "%.1f GiB, %.1f GiB available", (double)total / 1048576, (double)available / 1048576);
  if (total && available < total / 20)
    finding(r, "end other programs, or set memory_limit", "only %.2f GiB of memory are available",
            (double)available / 1048576);
}

static void examine_load(report *r) {
  double load = 0;
  FILE *f = fopen("/proc/loadavg", "r");
  if (f && fscanf(f, "%lf", &load) != 1) load = 0;
  if (f) fclose(f);
  fact(r, "load", "%.2f over the last minute", load);
  const int n = iso_machine_get_info()->n_cores;
  if (load > n)
    finding(r, "tune when the machine is quiet: measurements of a loaded machine are used, but not kept",
            "load %.2f on %d cores", load, n);
}

/* ---- libraries: what this process has mapped ---- */
static void examine_libraries(report *r) {
  static const char *const names[] = {"libz.so", "libjansson.so", "libxxhash.so", "libisobit.so", "libc.so"};
  char line[1024], seen[8][512];
  int n_seen = 0;
  FILE *f = fopen("/proc/self/maps", "r");
  while (f && fgets(line, sizeof line, f)) {
    char *path = strchr(line, '/');
    if (!path) continue;
    path[strcspn(path, "\n")] = 0;
    const char *file = strrchr(path, '/') + 1;
    bool wanted = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) wanted |= !strncmp(file, names[i], strlen(names[i]));
    for (int i = 0; i < n_seen; i++) wanted &= strcmp(seen[i], path) != 0;
    if (!wanted || n_seen == 8) continue;
    snprintf(seen[n_seen++], sizeof seen[0], "%s", path);
    fact(r, file, "%s", path);
  }
  if (f) fclose(f);
}

/* ---- store ---- */
static void describe_folder(report *r, const char *name, const iso_store_folder *s, bool own) {
  if (!*s->path) {
    fact(r, name, "none");
    return;
  }
  fact(r, name, "%s: %s, %zu records, %llu bytes", s->path,
       !s->exists    ? "not there yet"
       : s->writable ? "writable"
                     : "read-only",
       s->n_records, (unsigned long long)s->n_bytes);
  if (s->n_bad)
    finding(r, "nothing to do: they are ignored and made again; or delete the folder", "%zu bad records in %s",
            s->n_bad, s->path);
  if (own && s->exists && !s->writable)
    finding(r, "make it writable, or set ISOBIT_STORE to another folder",
            "the store %s cannot be written: every process measures anew", s->path);
}

static void examine_store(report *r, iso_context *ctx) {
  iso_store_info info;
  if (iso_store_get_info(ctx, &info)) return;
  describe_folder(r, "store", &info.own, true);
  describe_folder(r, "shared_store", &info.shared, false);
}

/* ---- variables that people set for other engines ---- */
static void examine_variables(report *r) {
  static const struct foreign {
    const char *name, *instead;
  } foreign[] = {
      {"CUBLAS_WORKSPACE_CONFIG", "repro=invariant needs no such setting; unset it"},
      {"CUDNN_DETERMINISTIC", "use --policy reproducible; unset it"},
      {"TF_DETERMINISTIC_OPS", "use --policy reproducible; unset it"},
      {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "products are f32 unless math_matmul says otherwise; unset it"},
      {"NVIDIA_TF32_OVERRIDE", "products are f32 unless math_matmul says otherwise; unset it"},
      {"OMP_NUM_THREADS", "use --threads; Isobit's threads are its own"},
      {"OMP_WAIT_POLICY", "Isobit's threads spin briefly, then sleep; unset it"},
      {"MKL_NUM_THREADS", "use --threads"},
      {"OPENBLAS_NUM_THREADS", "use --threads"},
      {"MKL_CBWR", "every policy from reproducible up holds across instruction sets; unset it"},
      {"PYTHONHASHSEED", "the order of data depends on --seed alone"},
  };
  static const char *const ours[] = {
      "ISOBIT_REPRO",        "ISOBIT_TUNING",       "ISOBIT_ACCURACY",      "ISOBIT_WORKSPACE_LIMIT",
      "ISOBIT_MEMORY_LIMIT", "ISOBIT_SEED",         "ISOBIT_LEAVES",        "ISOBIT_VENDOR",
      "ISOBIT_RULE",         "ISOBIT_ISA",          "ISOBIT_TUNING_BUDGET", "ISOBIT_PROBLEM_BUDGET",
      "ISOBIT_STORE",        "ISOBIT_STORE_SHARED", "ISOBIT_CUDNN",         "ISOBIT_CUBLASLT",
      "ISOBIT_NVML"};
  for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
    if (getenv(foreign[i].name))
      finding(r, foreign[i].instead, "%s=%s has no effect here", foreign[i].name, getenv(foreign[i].name));
  for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
    if (getenv(ours[i])) fact(r, ours[i], "%s (from the environment)", getenv(ours[i]));
}

/* ---- devices: the steps behind "is a GPU usable", up to the first that fails ---- */
static bool examine_gpu(report *r, const iso_context *ctx) {
  iso_device_check list[ISO_MAX_DEVICE_CHECKS];
  const int n = iso_device_checks(list);
  const iso_device_check *last = &list[n - 1];
  char name[64];
  for (int i = 0; i < n; i++) {
    snprintf(name, sizeof name, "gpu: %s", list[i].step);
    fact(r, name, "%s%s", list[i].passed ? "" : "NO: ", list[i].found);
  }
  /* A machine without device nodes has no GPU, which needs no remedy; behind that step somebody wants one. */
  if (!last->passed && n > 2) finding(r, last->remedy, "no GPU can be used: %s: %s", last->step, last->found);
  fact(r, "devices", last->passed ? "cpu, cuda" : "cpu");
  const iso_device_memory m = iso_device_get_memory(ctx);
  if (m.total) {
    char owners[256];
    iso_memory_owners_format(&m.now, owners, sizeof owners);
    fact(r, "gpu memory", "%.1f GiB, %.1f GiB free; held here: %s, cache %.0f MiB", (double)m.total / 0x1p30,
         (double)m.free / 0x1p30, owners, (double)(m.reserved - m.live) / 0x1p20);
  }
  return last->passed;
}

/* Vendors' libraries, as they would be loaded; only a machine with a GPU has use for them. */
static void examine_vendors(report *r, bool has_gpu) {
  iso_vendor_library list[ISO_MAX_VENDOR_LIBRARIES];
  const int n = iso_vendor_libraries(list);
  char name[64];
  for (int i = 0; i < n; i++) {
    const iso_vendor_library *l = &list[i];
    if (l->usable) fact(r, l->name, "%s, %s", l->version, l->path);
    else fact(r, l->name, "NO: %s", l->reason);
    snprintf(name, sizeof name, "%s searched", l->name);
    if (l->usable) fact(r, name, "%s", l->searched);
    if (has_gpu && !l->usable)
      finding(r,
              "none is needed: Isobit's own engines do all; for --policy fast with vendor=on, install it, or name the "
              "file or its folder (ISOBIT_CUDNN, ISOBIT_CUBLASLT)",
              "%s cannot be used: %s", l->name, l->reason);
  }
}

static void examine_monitor(report *r, bool has_gpu) {
  char why[1024];
  iso_monitor *m;
  const bool opened = iso_monitor_open(&m, why, sizeof why) == ISO_OK;
  if (opened) fact(r, "gpu: monitor", "%s, %d GPUs", iso_monitor_library(m), iso_monitor_n_devices(m));
  else if (has_gpu) fact(r, "gpu: monitor", "NO: %s", why);
  if (opened) iso_monitor_close(m);
}

static const command doctor_command = {
    .usage = "isobit doctor [options]",
    .about =
        "What this machine gives Isobit: CPU, cores, memory, libraries, store, GPUs step by step with the vendors'\n"
        "libraries that would be loaded, variables; and what to mend.",
    .options = (const option *const[]){job_option_list, NULL},
    .notes = "exit codes: 0 done, whatever was found; 1 failed, 2 wrong usage"};

int command_doctor(int argc, char **argv) {
  int code = options_read(&doctor_command, argc, argv);
  if (code >= 0 || (code = job_check_json()) >= 0) return code;
  iso_context *ctx = job_context(NULL, job.threads);
  if (!ctx) return EXIT_FAILED;
  report r = {json_object(), json_array()};
  size_t i;
  json_t *f;
  char policy[512];
  fact(&r, "isobit", "%s", iso_version());
  examine_cores(&r), examine_memory(&r), examine_load(&r), examine_libraries(&r), examine_store(&r, ctx);
  iso_policy_format(iso_policy_current(ctx), policy, sizeof policy);
  fact(&r, "policy", "%s", policy);
  const bool has_gpu = examine_gpu(&r, ctx);
  examine_monitor(&r, has_gpu), examine_vendors(&r, has_gpu);
  examine_variables(&r);
  printf("\nfindings: %zu\n", json_array_size(r.findings));
  json_array_foreach(r.findings, i, f) printf("- %s\n  remedy: %s\n", json_string_value(json_object_get(f, "finding")),
                                              json_string_value(json_object_get(f, "remedy")));
  iso_context_free(ctx);
  if (job.json) return job_write_json(job.json, json_pack("{s:o, s:o}", "facts", r.facts, "findings", r.findings));
  json_decref(r.facts), json_decref(r.findings);
  return EXIT_OK;
}
