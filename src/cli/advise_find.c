/* advise_find.c: what holds a run back, from its trace alone: each function looks at one thing, and says with figures
 * what it costs and what to set. */
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include "advise.h"

void findings_add(findings *f, const char *about, double share, const char *format, ...) {
  if (f->n == MAX_FINDINGS) return;
  finding *one = &f->one[f->n++];
  one->about = about, one->share = share;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(one->text, sizeof one->text, format, arguments);
  va_end(arguments);
}

static double part(double of, double whole) { return whole > 0 ? of / whole : 0; }

static bool said(const advised_run *r, const char *name) {
  size_t i;
  json_t *word;
  const size_t n = strlen(name);
  json_array_foreach(json_object_get(r->manifest, "argv"), i, word) {
    const char *text = json_string_value(word);
    if (text && !strncmp(text, name, n) && (!text[n] || text[n] == '=')) return true;
  }
  return false;
}

static void shapes(const advised_run *r, findings *f) {
  if (r->n_steps < 2 || r->new_problems < 0.5) return;
  const bool measures = r->policy.tuning == ISO_TUNING_MEASURE;
  findings_add(
      f, "shapes", measures ? part(r->new_problems, r->all_problems) : 0.01,
      "shapes keep changing: %.1f problems a step had not been seen in this trace (%.0f in all). %s", r->new_problems,
      r->all_problems,
      measures ? "tuning=measure times each of them once: take --policy reproducible (the same bits, no timing), or "
                 "fewer lengths (a larger --pad-multiple)"
               : "tuning=rule chooses without timing, so they cost nothing");
}

static void padding(const advised_run *r, findings *f) {
  const double tokens = advised_number(r, "tokens_per_step"), wasted = advised_number(r, "padding_per_step");
  const double share = part(wasted, tokens + wasted);
  if (share < 0.1) return;
  findings_add(f, "padding", share,
               "padding: %.0f %% of the positions are padding (%.0f of %.0f a step): sort more batches by length "
               "(--bucket), or pad to a smaller multiple (--pad-multiple)",
               100 * share, wasted, tokens + wasted);
}

static void data_wait(const advised_run *r, findings *f) {
  const double share = part(r->data_ms, r->step_ms);
  if (share < 0.1) return;
  findings_add(f, "data", share,
               "data wait: %.0f %% of a step (%.2f of %.2f ms) waits for its batch: more loader threads (--workers)",
               100 * share, r->data_ms, r->step_ms);
}

static void small_model(const advised_run *r, findings *f) {
  const double outside = 1 - part(r->runs_ms + r->data_ms, r->step_ms), cpu_ms = advised_number(r, "cpu_step_ms");
  if (cpu_ms > 0 && cpu_ms < advised_number(r, "step_ms"))
    findings_add(f, "small model", 1 - part(cpu_ms, advised_number(r, "step_ms")),
                 "small model: the CPU needs %.4f ms a step, this device %.4f: leave --device out", cpu_ms,
                 advised_number(r, "step_ms"));
  else if (r->on_cpu && outside > 0.25)
    findings_add(
        f, "small model", outside,
        "small operators: %.0f %% of a step (%.3f of %.3f ms) is spent between operators: a larger --batch-size, "
        "and for batch 1 a frozen session",
        100 * outside, outside * r->step_ms, r->step_ms);
}

/* Engines that a cap turned away are advise_price.c's; here: that there is one. */
static void workspace(const advised_run *r, findings *f) {
  if (r->policy.workspace_limit >= (size_t)1 << 20) return;
  findings_add(f, "workspace", 0.01,
               "workspace_limit is %zu bytes: below 1 MiB most fast convolution engines are left out",
               r->policy.workspace_limit);
}

/* docs/choosing-a-policy.md's table, backwards: what the job looks like, against what its policy is for. */
static void policy(const advised_run *r, findings *f) {
  const iso_policy *p = &r->policy;
  const bool recorded = said(r, "--record") || said(r, "--hash-log");
  if (p->references_only)
    findings_add(
        f, "policy", 0.99,
        "policy plain runs the scalar references alone, some hundred times slower: reproducible gives the same bits");
  if (p->repro == ISO_REPRO_OFF && recorded)
    findings_add(f, "policy", 0.02,
                 "the run is recorded, but repro=off promises nothing: take --policy default, or leave --record out");
  if (p->repro == ISO_REPRO_OFF && said(r, "--seed") && !recorded)
    findings_add(f, "policy", 0.01,
                 "a seed is given, but under repro=off it does not fix the result: --policy default does");
  if (p->repro == ISO_REPRO_RUN)
    findings_add(f, "policy", 0.01,
                 "repro=run holds on one machine with one number of threads alone; invariant costs the same on a CPU");
  if (p->repro == ISO_REPRO_PORTABLE && r->on_cpu)
    findings_add(f, "policy", 0.005,
                 "portable adds the promise that a GPU gives the same bits; on a CPU alone default is the same");
  if (p->accuracy == ISO_ACCURACY_STRICT)
    findings_add(f, "policy", 0.01,
                 "accuracy=strict leaves Winograd and FFT convolutions out; standard keeps the error within 1e-6");
  if (p->leaves > 1 && advised_number(r, "samples_per_step") > 0 &&
      advised_number(r, "samples_per_step") / p->leaves < 4)
    findings_add(f, "policy", 0.05,
                 "%d leaves of %.1f samples each: products become small; fewer leaves, or a larger batch", p->leaves,
                 advised_number(r, "samples_per_step") / p->leaves);
}

void advise_find(const advised_run *r, findings *f) {
  shapes(r, f), padding(r, f), data_wait(r, f), small_model(r, f), workspace(r, f), policy(r, f);
}
