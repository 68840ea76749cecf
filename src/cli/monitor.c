/* monitor.c: `isobit monitor`: what the machine's GPUs are doing, once a second. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cli.h"

static double interval = 1;
static int64_t count;
static bool once;
static const char *csv_path, *json_path, *device_name;
static const option monitor_options[] = {
    {"--device", OPTION_TEXT, &device_name, "NAME", "one of them: cuda:N, as CUDA programs count [all]", 0},
    {"--interval", OPTION_NUMBER, &interval, "SECONDS", "between samples [1]", 0},
    {"--count", OPTION_COUNT, &count, "N", "samples [until Ctrl-C]", 1},
    {"--once", OPTION_FLAG, &once, NULL, "one sample", 0},
    {"--csv", OPTION_TEXT, &csv_path, "FILE", "a line a device and sample; -: to standard output, instead of the table",
     0},
    {"--json", OPTION_TEXT, &json_path, "FILE", "the same as JSON objects, a line each; -: to standard output", 0},
    {0}};
static const command monitor_command = {
    .usage = "isobit monitor [options]",
    .about =
        "Shows what the machine's NVIDIA GPUs are doing, whoever uses them: utilisation, memory, clocks, "
        "temperature, power, and what\n"
        "keeps the clock down. What a device does not tell is '-', in JSON null, in CSV empty. Devices are numbered "
        "as nvidia-smi does.",
    .options = (const option *const[]){monitor_options, NULL},
    .notes = "exit codes: 0 done (Ctrl-C included), 1 no library, no driver, no such device, 2 wrong usage\n"
             "example: isobit monitor --interval 0.5 --csv gpu.csv"};

/* ---- one row a field: CSV, JSON and table in this order ---- */
typedef struct field {
  const char *name, *title; /* in files; in the table, NULL: not there */
  size_t offset;            /* of a double in the sample */
  double scale;             /* of the table */
  int width, decimals;
} field;
static const field fields[] = {
    {"utilization_percent", "busy %", offsetof(iso_device_sample, utilization), 1, 6, 0},
    {"memory_utilization_percent", "mem %", offsetof(iso_device_sample, memory_utilization), 1, 5, 0},
    {"memory_used_bytes", "used GiB", offsetof(iso_device_sample, memory_used), 0x1p-30, 8, 2},
    {"memory_total_bytes", "of GiB", offsetof(iso_device_sample, memory_total), 0x1p-30, 7, 2},
    {"sm_mhz", "SM MHz", offsetof(iso_device_sample, sm_mhz), 1, 6, 0},
    {"memory_mhz", "mem MHz", offsetof(iso_device_sample, memory_mhz), 1, 7, 0},
    {"temperature_c", "°C", offsetof(iso_device_sample, temperature_c), 1, 4, 0},
    {"power_w", "W", offsetof(iso_device_sample, power_w), 1, 6, 1},
    {"power_limit_w", "of W", offsetof(iso_device_sample, power_limit_w), 1, 6, 0}};
enum { N_FIELDS = sizeof fields / sizeof fields[0], MAX_DEVICES = 64 };

static double value_of(const iso_device_sample *s, const field *f) {
  double value;
  memcpy(&value, (const char *)s + f->offset, sizeof value);
  return value;
}

static void format_time(char text[32]) {
  struct timespec now;
  struct tm utc;
  clock_gettime(CLOCK_REALTIME, &now);
  gmtime_r(&now.tv_sec, &utc);
  const size_t n = strftime(text, 32, "%Y-%m-%dT%H:%M:%S", &utc);
  snprintf(text + n, 32 - n, ".%03dZ", (int)(now.tv_nsec / 1000000));
}

/* ---- files ---- */
static void write_quoted(FILE *f, const char *text) {
  fputc('"', f);
  for (; *text; text++) {
    if (*text == '"') fputc('"', f);
    fputc(*text, f);
  }
  fputc('"', f);
}

static void write_csv_header(FILE *f) {
  fprintf(f, "time,index,name");
  for (int i = 0; i < N_FIELDS; i++) fprintf(f, ",%s", fields[i].name);
  fprintf(f, ",limited_by,error\n");
}

static void write_csv(FILE *f, const char *time, const iso_device_sample *s) {
  fprintf(f, "%s,%d,", time, s->index);
  write_quoted(f, s->name);
  for (int i = 0; i < N_FIELDS; i++) {
    const double value = value_of(s, &fields[i]);
    fprintf(f, isnan(value) ? "," : ",%.15g", value);
  }
  fputc(',', f), write_quoted(f, s->limited_by), fputc(',', f), write_quoted(f, s->error), fputc('\n', f);
}

static void write_json(FILE *f, const char *time, const iso_device_sample *s) {
  json_t *j = json_pack("{s:s, s:i, s:s}", "time", time, "index", s->index, "name", s->name);
  for (int i = 0; i < N_FIELDS; i++) {
    const double value = value_of(s, &fields[i]);
    json_object_set_new(j, fields[i].name, isnan(value) ? json_null() : json_real(value));
  }
  json_object_set_new(j, "limited_by", json_string(s->limited_by));
  json_object_set_new(j, "error", *s->error ? json_string(s->error) : json_null());
  json_dumpf(j, f, JSON_COMPACT | JSON_REAL_PRECISION(15));
  fputc('\n', f);
  json_decref(j);
}

/* ---- the table ---- */
enum { NAME_WIDTH = 24 };
static void print_titles(void) {
  printf("%3s %-*s", "gpu", NAME_WIDTH, "name");
  for (int i = 0; i < N_FIELDS; i++) /* ° has two bytes */
    printf(" %*s", fields[i].width + (strncmp(fields[i].title, "°", 2) == 0), fields[i].title);
  printf("  clock limited by\n");
}

static void print_row(const iso_device_sample *s) {
  printf("%3d %-*.*s", s->index, NAME_WIDTH, NAME_WIDTH, s->name);
  for (int i = 0; i < N_FIELDS; i++) {
    const double value = value_of(s, &fields[i]) * fields[i].scale;
    if (isnan(value)) printf(" %*s", fields[i].width, "-");
    else printf(" %*.*f", fields[i].width, fields[i].decimals, value);
  }
  printf("  %s%s%s\n", *s->limited_by ? s->limited_by : "-", *s->error ? "; " : "", s->error);
}

/* ---- the loop ---- */
typedef struct sinks {
  FILE *csv, *json;
  bool table, redraw;
} sinks;

static void take_sample(const iso_monitor *m, int only, const sinks *to, bool first) {
  char time[32];
  iso_device_sample s;
  int n_rows = 0;
  format_time(time);
  for (int i = 0; i < iso_monitor_n_devices(m); i++) n_rows += only < 0 || only == i;
  if (to->table && to->redraw && !first) printf("\033[%dA\033[J", n_rows + 1);
  if (to->table && (to->redraw || first)) print_titles();
  for (int i = 0; iso_monitor_read(m, i, &s); i++) {
    if (only >= 0 && only != i) continue;
    if (to->csv) write_csv(to->csv, time, &s);
    if (to->json) write_json(to->json, time, &s);
    if (to->table) print_row(&s);
  }
  if (to->csv) fflush(to->csv);
  if (to->json) fflush(to->json);
  fflush(stdout);
}

/* Sleeps until a moment of the monotonic clock; a signal ends it. */
static void sleep_until(uint64_t ns) {
  const struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static int watch(const iso_monitor *m, int only, const sinks *to) {
  const uint64_t begin = now_ns();
  for (uint64_t i = 0; !job_interrupted() && (!count || i < (uint64_t)count); i++) {
    if (i) sleep_until(begin + (uint64_t)((double)i * interval * 1e9));
    if (!job_interrupted()) take_sample(m, only, to, i == 0);
    const bool bad = (to->csv && ferror(to->csv)) || (to->json && ferror(to->json));
    if (bad) return fprintf(stderr, "isobit: cannot write a sample: %s\n", strerror(errno)), EXIT_FAILED;
  }
  return EXIT_OK;
}

/* ---- files are written as samples come, so that a killed monitor leaves them ---- */
static bool open_sink(const char *option_name, const char *path, FILE **f) {
  if (!path) return true;
  *f = !strcmp(path, "-") ? stdout : fopen(path, "w");
  if (!*f) fprintf(stderr, "isobit: cannot write %s '%s': %s\n", option_name, path, strerror(errno));
  return *f != NULL;
}
static void close_sink(FILE *f) {
  if (f && f != stdout) fclose(f);
}

static int monitor(const iso_monitor *m) {
  char why[320];
  sinks to = {.redraw = isatty(STDOUT_FILENO)};
  int code = EXIT_FAILED;
  const int only = device_name ? iso_monitor_find(m, device_name, why, sizeof why) : -1;
  if (device_name && only < 0) return fprintf(stderr, "isobit: %s\n", why), EXIT_FAILED;
  if (open_sink("--csv", csv_path, &to.csv) && open_sink("--json", json_path, &to.json)) {
    to.table = to.csv != stdout && to.json != stdout;
    if (to.csv) write_csv_header(to.csv);
    if (to.table) printf("%s\n", iso_monitor_library(m));
    code = watch(m, only, &to);
  }
  close_sink(to.csv), close_sink(to.json);
  return code;
}

int command_monitor(int argc, char **argv) {
  char why[1024];
  iso_monitor *m;
  int code = options_read(&monitor_command, argc, argv);
  if (code >= 0) return code;
  if (interval < 0.01 || interval > 86400)
    return fprintf(stderr, "isobit: --interval is %g; it must be 0.01 to 86400 seconds\n", interval), EXIT_USAGE;
  if (once && count) return fprintf(stderr, "isobit: --once and --count exclude each other\n"), EXIT_USAGE;
  if (csv_path && json_path && !strcmp(csv_path, "-") && !strcmp(json_path, "-"))
    return fprintf(stderr, "isobit: --csv and --json cannot both be standard output\n"), EXIT_USAGE;
  if (once) count = 1;
  if (iso_monitor_open(&m, why, sizeof why)) return fprintf(stderr, "isobit: %s\n", why), EXIT_FAILED;
  job_catch_interrupts();
  code = monitor(m);
  iso_monitor_close(m);
  return code;
}
