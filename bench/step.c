/* step.c: isobit-bench-step MODEL BATCH CHANNELS SIDE STEPS: the median time of a training step on the context's device
 * (ISOBIT_DEVICE), policy from the environment; one line of JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "trainer.h"

enum { MOST_STEPS = 1000, WARM_STEPS = 3 };

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

/* Of steps that are each waited for. */
static bool time_steps(trainer *t, int n, double *ms, double *loss) {
  for (int i = -WARM_STEPS; i < n; i++) {
    const double begin = now_ms();
    if (!trainer_step(t, loss) || iso_synchronize(t->ctx) != ISO_OK) return false;
    if (i >= 0) ms[i] = now_ms() - begin;
  }
  return true;
}

int main(int argc, char **argv) {
  if (argc != 6) return fprintf(stderr, "usage: isobit-bench-step MODEL BATCH CHANNELS SIDE STEPS\n"), 2;
  enum { MOST = 1 << 20 };
  const int64_t batch = positive("BATCH", argv[2], MOST), channels = positive("CHANNELS", argv[3], MOST),
                side = positive("SIDE", argv[4], MOST);
  const int n = (int)positive("STEPS", argv[5], MOST_STEPS);
  if (!batch || !channels || !side || !n) return 2;
  static double ms[MOST_STEPS];
  double loss;
  char message[512] = "";
  iso_context *ctx;
  if (iso_context_new_message(NULL, &ctx, message, sizeof message)) return fprintf(stderr, "%s\n", message), 1;
  iso_module *net = iso_model_new(ctx, argv[1], &(iso_model_config){channels, side, side, N_CLASSES});
  trainer t;
  const bool ok = trainer_open(&t, ctx, net, (image_shape){channels, side, side}, batch) && trainer_add_optimizer(&t) &&
                  time_steps(&t, n, ms, &loss);
  if (!ok) fprintf(stderr, "%s\n", iso_error_message(ctx));
  qsort(ms, (size_t)n, sizeof *ms, by_value);
  const iso_device_memory m = iso_device_get_memory(ctx);
  if (ok)
    printf("{\"model\": \"%s\", \"device\": \"%s\", \"median_ms\": %.4f, \"loss\": %.9g, \"peak_mib\": %.0f}\n",
           argv[1], iso_context_device(ctx), ms[n / 2], loss, (double)m.peak / 1048576);
  trainer_close(&t);
  iso_context_free(ctx);
  return ok ? 0 : 1;
}
