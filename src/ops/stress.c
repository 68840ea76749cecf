/* stress.c: ISOBIT_STRESS, which `isobit verify` sets: what may differ between two runs without changing a bit, made as
 * bad as it gets: memory that is handed out full of NaNs, a tuner whose clock lies, a caller in another floating-point
 * mode. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#  include <xmmintrin.h>
#else
#  include <fenv.h>
#endif
#include "ops/ops.h"
#include "plan/plan.h"

/* Subnormals flushed, upward rounding: of this thread, as a host might have left it. */
static void poison_mode(void) {
#if defined(__x86_64__)
  _mm_setcsr((_mm_getcsr() & ~0x6000u) | 0x8040u | 0x4000u);
#else
  fesetround(FE_UPWARD);
#endif
}

static bool apply(iso_context *ctx, const char *name, const char *value) {
  char *end;
  const unsigned long long n = strtoull(value, &end, 10);
  if (!strcmp(name, "mode") && !strcmp(value, "poisoned")) return poison_mode(), true;
  if (end == value || *end) return false;
  if (!strcmp(name, "fill") && n < 256) return iso_memory_set_fill(ctx, (int)n), true;
  if (!strcmp(name, "adversary") && n) return iso__tuner_set_adversary(ctx, n), true;
  return false;
}

iso_status iso__stress_from_environment(iso_context *ctx) {
  const char *text = getenv("ISOBIT_STRESS");
  char copy[256];
  if (!text || !*text) return ISO_OK;
  snprintf(copy, sizeof copy, "%s", text);
  for (char *save, *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
    char *equals = strchr(word, '=');
    if (equals) *equals = 0;
    if (!equals || !apply(ctx, word, equals + 1))
      return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "ISOBIT_STRESS",
                       "'%s': fill=0…255, adversary=SEED and mode=poisoned are accepted", text);
  }
  return ISO_OK;
}
