/* policy.h (internal): the policy in the context's slot, and the table of dials. */
#ifndef ISO_POLICY_POLICY_H
#define ISO_POLICY_POLICY_H
#include <isobit/policy.h>
#include "base/context.h"

/* Of every preset: a job measures for a minute at most, a problem for as long as a blink. */
enum { ISO__TUNING_BUDGET_MS = 60000, ISO__PROBLEM_BUDGET_MS = 30 };

/* Gives the context a policy (once) and tells its heap the memory limit. Without one, iso_policy_current is the preset
 * `default`. On failure the error is kept. */
iso_status iso__policy_attach(iso_context *ctx, const iso_policy *policy);

/* Whether every dial has a value that works today; else the sentence goes into `message`. */
iso_status iso__policy_check(const iso_policy *policy, char *message, size_t n_bytes);

#endif
