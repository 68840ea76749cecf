/* step.c: isobit-bench-step [forward] MODEL BATCH CHANNELS SIDE N [anew], of a textclassifier BATCH VOCABULARY LENGTH
 * N: the median time of a training step, or of a forward call without gradients whose result is read, on the context's
 * device (ISOBIT_DEVICE), policy from the environment; captured where it can be, unless `anew` or in leaves. One line
 * of JSON; `weights` is their hash after all steps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "trainer.h"

enum { MOST = 1 << 20, MOST_TIMES = 10000, WARM = 5 };

typedef struct job {
  trainer t;
  bool forward, anew;
  double value; /* the loss, or the result's first element */
  float *result;
  size_t result_bytes;
} job;

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* A whole number from 1 to `most`; 0 and a sentence for anything else. */
static int64_t positive(const char *name, const char *text, int64_t most) {
  char *end;
  const long long value = strtoll(text, &end, 10);
  if (*text && !*end && value >= 1 && value <= most) return value;
  fprintf(stderr, "%s '%s': a number from 1 to %lld is needed\n", name, text, (long long)most);
  return 0;
}

/* Of a forward call, read as its caller would. */
static bool read_result(job *j, const iso_tensor *y) {
  if (!j->result) j->result = malloc(j->result_bytes = (size_t)iso_tensor_numel(y) * sizeof *j->result);
  if (!j->result || iso_tensor_copy_to(y, j->result, j->result_bytes) != ISO_OK) return false;
  j->value = (double)j->result[0];
  return true;
}

static iso_tensor *forward(trainer *t) { return iso_to(t->ctx, iso_module_forward(t->net, t->x), "cpu"); }

static bool call(job *j) {
  trainer *t = &j->t;
  iso_scope_push(t->ctx);
  iso_tensor *y = t->recorded;
  bool ok = y ? iso_capture_replay(t->capture) == ISO_OK : (y = forward(t)) != NULL;
  ok = ok && read_result(j, y);
  iso_scope_pop(t->ctx);
  return ok;
}

static void record_call(job *j) {
  trainer *t = &j->t;
  iso_scope_push(t->ctx);
  iso_tensor *y = NULL;
  if ((t->capture = iso_capture_new(t->ctx)) && iso_capture_begin(t->capture)) y = iso_keep(forward(t));
  if (iso_capture_end(t->capture)) t->recorded = y;
  else iso_release(y);
  iso_scope_pop(t->ctx);
}

static void record(job *j) {
  if (j->forward) record_call(j);
  else trainer_record(&j->t);
}
static bool step(job *j) { return j->forward ? call(j) : trainer_step(&j->t, &j->value); }

/* Each is waited for. */
static bool time_steps(job *j, int n, double *ms) {
  for (int i = -WARM; i < n; i++) {
    if (i == -WARM + 2 && !j->anew) record(j);
    const double begin = now_ms();
    if (!step(j) || iso_synchronize(j->t.ctx) != ISO_OK) return false;
    if (i >= 0) ms[i] = now_ms() - begin;
  }
  return true;
}

static bool open_job(job *j, iso_context *ctx, const char *model, int64_t batch, int64_t channels, int64_t side) {
  iso_module *net;
  bool is_open;
  if (strcmp(model, "textclassifier") == 0) {
    net = iso_text_classifier_new(ctx, &(iso_text_classifier_config){.vocabulary = channels, .classes = N_CLASSES});
    is_open = trainer_open_texts(&j->t, ctx, net, (text_shape){channels, side}, batch);
  } else {
    net = iso_model_new(ctx, model, &(iso_model_config){channels, side, side, N_CLASSES});
    is_open = trainer_open(&j->t, ctx, net, (image_shape){channels, side, side}, batch);
  }
  if (!is_open) return false;
  if (!j->forward && !trainer_add_optimizer(&j->t)) return false;
  if (j->forward) iso_no_grad_push(ctx), iso_module_train(net, false);
  return true;
}

static void print(const job *j, const char *model, double *ms, int n, const char *weights) {
  const iso_device_memory m = iso_device_get_memory(j->t.ctx);
  const char *reason = j->anew ? "not asked for" : iso_capture_reason(j->t.capture);
  qsort(ms, (size_t)n, sizeof *ms, by_value);
  printf(
      "{\"model\": \"%s\", \"device\": \"%s\", \"median_ms\": %.4f, \"%s\": %.9g, \"peak_mib\": %.0f, \"captured\": %s",
      model, iso_context_device(j->t.ctx), ms[n / 2], j->forward ? "first" : "loss", j->value, (double)m.peak / 1048576,
      j->t.recorded ? "true" : "false");
  if (!j->t.recorded) printf(", \"reason\": \"%s\"", reason);
  printf(", \"weights\": \"%s\"}\n", weights);
}

int main(int argc, char **argv) {
  static double ms[MOST_TIMES];
  job j = {.forward = argc > 1 && !strcmp(argv[1], "forward")};
  if (j.forward) argc--, argv++;
  j.anew = argc == 7 && !strcmp(argv[6], "anew");
  if (argc != 6 + j.anew)
    return fprintf(stderr, "usage: isobit-bench-step [forward] MODEL BATCH CHANNELS SIDE N [anew]\n"
                           "       isobit-bench-step [forward] textclassifier BATCH VOCABULARY LENGTH N [anew]\n"),
           2;
  const int64_t batch = positive("BATCH", argv[2], MOST), channels = positive("CHANNELS", argv[3], MOST),
                side = positive("SIDE", argv[4], MOST);
  const int n = (int)positive("N", argv[5], MOST_TIMES);
  if (!batch || !channels || !side || !n) return 2;
  char message[512] = "";
  iso_context *ctx;
  if (iso_context_new_message(NULL, &ctx, message, sizeof message)) return fprintf(stderr, "%s\n", message), 1;
  j.anew |= iso_policy_current(ctx)->leaves > 1;
  char weights[33] = "";
  const bool ok =
      open_job(&j, ctx, argv[1], batch, channels, side) && time_steps(&j, n, ms) && trainer_weights_hash(&j.t, weights);
  if (ok) print(&j, argv[1], ms, n, weights);
  else fprintf(stderr, "%s\n", iso_error_message(ctx));
  trainer_close(&j.t);
  free(j.result);
  iso_context_free(ctx);
  return ok ? 0 : 1;
}
