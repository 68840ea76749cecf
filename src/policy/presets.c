/* presets.c: the dials of each preset. */
#include <string.h>
#include "policy/policy.h"

typedef struct preset {
  iso_repro repro;
  iso_tuning tuning;
  bool references_only;
} preset;

static const char *const names[] = {"fast", "balanced", "reproducible", "default", "portable", "plain", NULL};
static const preset presets[] = {
    {ISO_REPRO_OFF, ISO_TUNING_MEASURE, false},      {ISO_REPRO_OFF, ISO_TUNING_RULE, false},
    {ISO_REPRO_INVARIANT, ISO_TUNING_RULE, false},   {ISO_REPRO_INVARIANT, ISO_TUNING_MEASURE, false},
    {ISO_REPRO_PORTABLE, ISO_TUNING_MEASURE, false}, {ISO_REPRO_INVARIANT, ISO_TUNING_RULE, true}};

const char *const *iso_policy_names(void) { return names; }

iso_status iso_policy_preset(const char *name, iso_policy *out) {
  for (int i = 0; names[i]; i++)
    if (name && strcmp(names[i], name) == 0) {
      *out = (iso_policy){.repro = presets[i].repro,
                          .tuning = presets[i].tuning,
                          .accuracy = ISO_ACCURACY_STANDARD,
                          .math_matmul = ISO_MATH_F32,
                          .math_conv = ISO_MATH_F32,
                          .vendor = presets[i].repro <= ISO_REPRO_RUN, /* their orders are unknown: no higher promise */
                          .references_only = presets[i].references_only,
                          .rule = 2,
                          .leaves = 1,
                          .seed = 0,
                          .workspace_limit = SIZE_MAX,
                          .memory_limit = 0,
                          .tuning_budget_ms = ISO__TUNING_BUDGET_MS,
                          .problem_budget_ms = ISO__PROBLEM_BUDGET_MS};
      return ISO_OK;
    }
  return ISO_NOT_FOUND;
}
