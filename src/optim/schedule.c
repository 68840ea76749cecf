/* schedule.c: learning rates as pure functions of the step number, in f64 by numeric's functions: the same on every
 * machine, and nothing to save in a checkpoint. Cosine: Loshchilov and Hutter, "SGDR", 2017, without restarts. */
#include <isobit/nn.h>
#include "base/fenv.h"
#include "numeric/math_f64.h"

/* lr·gamma^⌊step/period⌋ */
static double decayed(const iso_schedule *s, uint64_t step) {
  const double gamma = s->gamma != 0 ? s->gamma : 0.1;
  return s->period ? s->lr * iso__powi_f64(gamma, (int64_t)(step / s->period)) : s->lr;
}

/* min + (lr − min)·(1 + cos(π·step/period))/2 */
static double cosine(const iso_schedule *s, uint64_t step) {
  if (step >= s->period) return s->min_lr;
  const double c = iso__cospi_f64(iso__fenv_pin((double)step) / (double)s->period);
  return s->min_lr + (s->lr - s->min_lr) * (1 + c) / 2;
}

/* min + (lr − min)·(1 − step/period) */
static double linear(const iso_schedule *s, uint64_t step) {
  if (step >= s->period) return s->min_lr;
  return s->min_lr + (s->lr - s->min_lr) * (1 - iso__fenv_pin((double)step) / (double)s->period);
}

static double rate(const iso_schedule *s, uint64_t step) {
  if (step < s->warmup_steps) return s->lr * iso__fenv_pin((double)(step + 1)) / (double)(s->warmup_steps + 1);
  step -= s->warmup_steps;
  if (s->kind == ISO_SCHEDULE_STEP) return decayed(s, step);
  if (s->kind == ISO_SCHEDULE_LINEAR) return linear(s, step);
  return s->kind == ISO_SCHEDULE_COSINE ? cosine(s, step) : s->lr;
}

double iso_schedule_lr(const iso_schedule *s, uint64_t step) {
  if (!s) return 0;
  const iso__fenv saved = iso__fenv_enter();
  const iso_schedule pinned = {.kind = s->kind,
                               .lr = iso__fenv_pin(s->lr),
                               .warmup_steps = s->warmup_steps,
                               .period = s->period,
                               .gamma = iso__fenv_pin(s->gamma),
                               .min_lr = iso__fenv_pin(s->min_lr)};
  const double lr = iso__fenv_pin(rate(&pinned, step));
  iso__fenv_leave(saved);
  return lr;
}
