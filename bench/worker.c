/* worker.c: Isobit's side of bench/peers: one process, commands on stdin, one JSON line each on stdout
 * (bench/README.md). Public API only, so that what is measured is what a user gets. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "median.h"
#include "clock.h"
#include "problems.h"
#include "small.h"
#include "tasks.h"
#include "trainer.h"

/* ---- the process's memory ---- */

/* VmRSS (resident now) or VmHWM (its peak) in bytes; −1 if the kernel doesn't say. */
static int64_t status_bytes(const char *field) {
  FILE *status = fopen("/proc/self/status", "r");
  if (!status) return -1;
  char line[256];
  long long kib = -1;
  const size_t n = strlen(field);
  while (kib < 0 && fgets(line, sizeof line, status))
    if (strncmp(line, field, n) == 0 && line[n] == ':') kib = strtoll(line + n + 1, NULL, 10);
  fclose(status);
  return kib < 0 ? -1 : kib * 1024;
}

/* Sets VmHWM back to the present; false where the kernel doesn't let us. */
static bool reset_peak(void) {
  FILE *clear_refs = fopen("/proc/self/clear_refs", "w");
  if (!clear_refs) return false;
  const bool written = fputs("5", clear_refs) >= 0;
  return fclose(clear_refs) == 0 && written;
}

/* ---- commands ---- */
typedef struct model_input {
  const char *name;
  image_shape image;
} model_input;
static const model_input model_inputs[] = {{"mlp", {1, 28, 28}},
                                           {"cnn", {1, 28, 28}},
                                           {"resnet8", {1, 28, 28}},
                                           {"resnet18", {3, 32, 32}},
                                           {"resnet18_imagenet", {3, 224, 224}},
                                           {"resnet50", {3, 224, 224}},
                                           {"mobilenet", {3, 224, 224}}};
static const size_t n_model_inputs = sizeof model_inputs / sizeof *model_inputs;

typedef struct session {
  iso_context *ctx;
  trainer trainer;
  problems problems;
  task task;
} session;

static void session_end(session *s) {
  if (s->trainer.ctx) trainer_close(&s->trainer);
  iso_context_free(s->ctx);
  s->ctx = NULL;
  s->trainer = (trainer){0};
}

/* The context that `threads` and `policy` ask for; NULL with *reply set. */
static iso_context *open_context(const words *w, json_t **reply) {
  int64_t n_threads;
  char message[512] = "";
  if (!read_count("threads", value_of(w, "threads", "1"), &n_threads, reply)) return NULL;
  iso_context *ctx = bench_context(value_of(w, "policy", "default"), (int)n_threads, message, sizeof message);
  if (!ctx) *reply = failure("%s", message);
  return ctx;
}

/* model NAME batch N threads N policy P */
static json_t *do_model(session *s, const words *w) {
  json_t *reply = NULL;
  int64_t batch;
  size_t i = 0;
  while (i < n_model_inputs && strcmp(model_inputs[i].name, w->word[0]) != 0) i++;
  if (i == n_model_inputs) return failure("unknown model %s", w->word[0]);
  if (!read_count("batch", value_of(w, "batch", "1"), &batch, &reply)) return reply;
  const image_shape image = model_inputs[i].image;

  session_end(s);
  s->ctx = open_context(w, &reply);
  if (!s->ctx) return reply;
  const iso_model_config config = {image.channels, image.height, image.width, N_CLASSES};
  if (!bench_touch_code(s->ctx) ||
      !trainer_open(&s->trainer, s->ctx, iso_model_new(s->ctx, w->word[0], &config), image, batch))
    return context_failure(s->ctx);
  const bool was_reset = reset_peak();
  const int64_t rss = status_bytes("VmRSS");
  if (!trainer_add_optimizer(&s->trainer)) return context_failure(s->ctx);
  return json_pack("{s:I, s:b, s:I, s:s+}", "rss_bytes", (json_int_t)rss, "peak_reset", was_reset, "n_params",
                   (json_int_t)iso_module_n_parameters(s->trainer.net), "version", "isobit ", iso_version());
}

/* n timed steps, each by itself and waited for, in units of unit_ns; NULL when one failed. */
static json_t *timed_steps(trainer *t, int64_t n, double unit_ns, double *loss) {
  json_t *times = json_array();
  for (int64_t i = 0; i < n; i++) {
    const double begin = clock_ns();
    if (!trainer_step(t, i + 1 == n ? loss : NULL) || iso_synchronize(t->ctx) != ISO_OK)
      return json_decref(times), NULL;
    json_array_append_new(times, json_real((clock_ns() - begin) / unit_ns));
  }
  return times;
}

/* The reply's times and loss; takes `times`, NULL where a step failed. JSON has no NaN, and a run that diverged is
 * nothing to compare. */
static json_t *steps_reply(const iso_context *ctx, const char *times_name, json_t *times, double loss) {
  if (!times) return context_failure(ctx);
  json_t *reply =
      isfinite(loss) ? json_pack("{s:O, s:f}", times_name, times, "loss", loss) : failure("loss is %g", loss);
  json_decref(times);
  return reply;
}

/* steps N */
static json_t *do_steps(session *s, const words *w) {
  json_t *reply = NULL;
  int64_t n;
  double loss = 0;
  if (!read_count("steps", w->word[0], &n, &reply)) return reply;
  if (!s->trainer.sgd) return failure("steps before model");
  json_t *times = timed_steps(&s->trainer, n, 1e6, &loss);
  reply = steps_reply(s->ctx, "times_ms", times, loss);
  json_object_set_new(reply, "peak_rss_bytes", json_integer((json_int_t)status_bytes("VmHWM")));
  json_object_set_new(reply, "peak_device_bytes", json_integer((json_int_t)iso_device_get_memory(s->ctx).peak));
  return reply;
}

/* capture: steps from now on replay what is recorded now; at least one step has been made. */
static json_t *do_capture(session *s, const words *w) {
  (void)w;
  if (!s->trainer.sgd) return failure("capture before model");
  const bool done = trainer_record(&s->trainer);
  return json_pack("{s:b, s:s}", "captured", done, "reason", done ? "" : iso_capture_reason(s->trainer.capture));
}

/* mlp batch N steps N threads N policy P */
static json_t *do_mlp(session *s, const words *w) {
  (void)s;
  json_t *reply = NULL;
  int64_t batch, n;
  if (!read_count("batch", value_of(w, "batch", "1"), &batch, &reply) ||
      !read_count("steps", value_of(w, "steps", "1000"), &n, &reply))
    return reply;
  iso_context *ctx = open_context(w, &reply);
  if (!ctx) return reply;
  trainer t;
  double loss = 0;
  json_t *times = NULL;
  if (trainer_open(&t, ctx, bench_small_mlp(ctx), (image_shape){1, 28, 28}, batch) && trainer_add_optimizer(&t))
    times = timed_steps(&t, n, 1e3, &loss);
  reply = steps_reply(ctx, "times_us", times, loss);
  trainer_close(&t);
  iso_context_free(ctx);
  return reply;
}

typedef struct gemm_times {
  size_t n_products, n_peaks;
  double product_ns[4096], peak_gflops[512];
} gemm_times;

/* One product, timed; 0 with the context's error set. */
static double time_product(iso_context *ctx, const iso_tensor *a, const iso_tensor *b) {
  iso_scope_push(ctx);
  const double begin = clock_ns();
  const bool ok = iso_matmul(ctx, a, b) != NULL;
  const double ns = clock_ns() - begin;
  iso_scope_pop(ctx);
  return ok ? ns : 0;
}

/* Slices of products and of the FMA loop in turns, so that clock changes meet both. False with the context's error. */
static bool measure_gemm(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double seconds, gemm_times *t) {
  enum { SLICE_MS = 8 };
  const double end = clock_ns() + seconds * 1e9;
  do {
    const double slice_end = clock_ns() + (double)SLICE_MS * 1e6;
    do {
      const double ns = time_product(ctx, a, b);
      if (ns == 0) return false;
      if (t->n_products < sizeof t->product_ns / sizeof *t->product_ns) t->product_ns[t->n_products++] = ns;
    } while (clock_ns() < slice_end);
    const double peak = iso_machine_peak_gflops(ctx, SLICE_MS);
    if (peak > 0 && t->n_peaks < sizeof t->peak_gflops / sizeof *t->peak_gflops) t->peak_gflops[t->n_peaks++] = peak;
  } while (clock_ns() < end);
  return true;
}

static iso_tensor *random_matrix(iso_context *ctx, int64_t rows, int64_t columns) {
  return iso_random_normal(ctx, ISO_F32, 2, ISO_DIMS(rows, columns), 0, 1);
}

/* gemm M N K threads N seconds S */
static json_t *do_gemm(session *s, const words *w) {
  (void)s;
  json_t *reply = NULL;
  int64_t m, n, k;
  if (!read_count("M", w->word[0], &m, &reply) || !read_count("N", w->word[1], &n, &reply) ||
      !read_count("K", w->word[2], &k, &reply))
    return reply;
  double seconds;
  if (!read_positive("seconds", value_of(w, "seconds", "1"), 3600, &seconds, &reply)) return reply;
  iso_context *ctx = open_context(w, &reply);
  if (!ctx) return reply;
  iso_scope_push(ctx);
  iso_tensor *a = random_matrix(ctx, m, k), *b = random_matrix(ctx, k, n);
  gemm_times *times = calloc(1, sizeof *times);
  /* the first product chooses the engine and touches the pages */
  if (!times) reply = failure("out of memory");
  else if (time_product(ctx, a, b) == 0 || !measure_gemm(ctx, a, b, seconds, times)) reply = context_failure(ctx);
  else
    reply = json_pack(
        "{s:f, s:o}", "gflops", 2.0 * (double)m * (double)n * (double)k / median(times->product_ns, times->n_products),
        "peak_gflops", times->n_peaks > 0 ? json_real(median(times->peak_gflops, times->n_peaks)) : json_null());
  free(times);
  iso_scope_pop(ctx);
  iso_context_free(ctx);
  return reply;
}

static json_t *do_open(session *s, const words *w) { return problems_open(&s->problems, w); }
static json_t *do_slice(session *s, const words *w) { return problems_slice(&s->problems, w); }
static json_t *do_close(session *s, const words *w) { return problems_close(&s->problems, w); }
static json_t *do_peak(session *s, const words *w) { return problems_peak(&s->problems, w); }
static json_t *do_traffic(session *s, const words *w) { return problems_traffic(&s->problems, w); }

static json_t *do_task(session *s, const words *w) { return task_open(&s->task, w); }
static json_t *do_run(session *s, const words *w) { return task_slice(&s->task, w); }
static json_t *do_end(session *s, const words *w) { return (void)w, task_close(&s->task); }
static json_t *do_lengths(session *s, const words *w) { return (void)s, task_lengths(w); }

static json_t *do_small(session *s, const words *w) { return (void)s, small_operators(w); }

/* ---- the loop ---- */
typedef struct command {
  const char *name;
  int n_positional; /* the rest are "key value" pairs */
  json_t *(*run)(session *s, const words *w);
} command;
static const command commands[] = {{"model", 1, do_model}, {"steps", 1, do_steps},     {"gemm", 3, do_gemm},
                                   {"mlp", 0, do_mlp},     {"open", 1, do_open},       {"slice", 1, do_slice},
                                   {"close", 1, do_close}, {"peak", 0, do_peak},       {"traffic", 1, do_traffic},
                                   {"small", 0, do_small}, {"task", 1, do_task},       {"run", 0, do_run},
                                   {"end", 0, do_end},     {"lengths", 1, do_lengths}, {"capture", 0, do_capture}};

static json_t *answer(session *s, char *line) {
  words w = {0};
  char *rest, *name = strtok_r(line, " \t\r\n", &rest);
  for (char *word = name; word && w.n < MAX_WORDS && (word = strtok_r(NULL, " \t\r\n", &rest));) w.word[w.n++] = word;
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    if (strcmp(commands[i].name, name) != 0) continue;
    w.n_positional = commands[i].n_positional;
    if (w.n < w.n_positional) return failure("%s wants %d words after it, not %d", name, w.n_positional, w.n);
    if ((w.n - w.n_positional) % 2) return failure("%s: %s has no value", name, w.word[w.n - 1]);
    return commands[i].run(s, &w);
  }
  return failure("unknown command %s", name);
}

int main(void) {
  session s = {0};
  char *line = NULL;
  size_t capacity = 0;
  while (getline(&line, &capacity, stdin) > 0) {
    if (strspn(line, " \t\r\n") == strlen(line)) continue;
    if (strncmp(line, "quit", 4) == 0 && strspn(line + 4, " \t\r\n") == strlen(line + 4)) break;
    json_t *reply = answer(&s, line);
    json_dumpf(reply, stdout, JSON_COMPACT);
    putchar('\n');
    fflush(stdout);
    json_decref(reply);
  }
  free(line);
  session_end(&s);
  json_decref(task_close(&s.task));
  problems_end(&s.problems);
  return 0;
}
