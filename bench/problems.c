/* problems.c: single problems, timed slice by slice on public API alone. The engine is chosen as `tuning=measure`
 * would, but without trusting estimates: every engine that the policy allows is timed, in turns. */
#include "problems.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- contexts ---- */

/* Sets "accuracy=relaxed,repro=off"; false with *reply saying what is wrong. */
static bool set_dials(iso_policy *policy, const char *dials, json_t **reply) {
  char text[160], message[200];
  snprintf(text, sizeof text, "%s", dials);
  char *rest = NULL;
  for (char *dial = strtok_r(text, ",", &rest); dial; dial = strtok_r(NULL, ",", &rest)) {
    char *value = strchr(dial, '=');
    if (value) *value++ = '\0';
    if (iso_policy_set(policy, dial, value ? value : "", message, sizeof message) == ISO_OK) continue;
    *reply = failure("%s", message);
    return false;
  }
  return true;
}

/* The context for `threads`, `policy` and `set`; nothing is ever measured behind the caller's back. */
static iso_context *context_for(problems *p, const words *w, json_t **reply) {
  named_context want;
  char message[512] = "";
  int64_t n_threads;
  iso_policy policy;
  const char *preset = value_of(w, "policy", "default"), *dials = value_of(w, "set", "");
  if (!read_count("threads", value_of(w, "threads", "1"), &n_threads, reply)) return NULL;
  snprintf(want.name, sizeof want.name, "%d %s %s", (int)n_threads, preset, dials);
  for (int i = 0; i < p->n_contexts; i++)
    if (strcmp(p->context[i].name, want.name) == 0) return p->context[i].ctx;
  if (p->n_contexts == MAX_CONTEXTS) return *reply = failure("more than %d contexts", MAX_CONTEXTS), NULL;
  if (iso_policy_preset(preset, &policy) != ISO_OK) return *reply = failure("policy %s: no such preset", preset), NULL;
  policy.tuning = ISO_TUNING_RULE;
  if (!set_dials(&policy, dials, reply)) return NULL;
  const iso_context_options options = {.n_threads = (int)n_threads, .policy = &policy};
  if (iso_context_new_message(&options, &want.ctx, message, sizeof message) != ISO_OK)
    return *reply = failure("%s", message), NULL;
  p->context[p->n_contexts++] = want;
  return want.ctx;
}

/* An error of one command is no error of the next. */
static json_t *failure_of(iso_context *ctx) {
  json_t *reply = context_failure(ctx);
  iso_clear_error(ctx);
  return reply;
}

/* ---- choosing ---- */

static bool could_run(const iso_plan_candidate *c) { return c->estimated_ms > 0 && (c->chosen || !*c->reason); }

typedef struct contest {
  int n;
  iso_plan_candidate candidate[ISO_MAX_PLAN_CANDIDATES];
  double ms[ISO_MAX_PLAN_CANDIDATES]; /* the best slice; infinite: not timed */
} contest;

/* Times in turns what could run: each once, then again those that could still win; one slice may have been disturbed,
 * so what is dropped after it is far behind. References are not worth it. */
static bool hold(contest *c, iso_bench *bench, double slice_ms) {
  static const double hopeless_estimate = 100, hopeless_time[] = {INFINITY, 4, 1.3};
  double least = INFINITY, best = INFINITY;
  for (int i = 0; i < c->n; i++)
    if (could_run(&c->candidate[i])) least = fmin(least, c->candidate[i].estimated_ms);
  for (int turn = 0; turn < 3; turn++)
    for (int i = 0; i < c->n; i++) {
      iso_bench_result r;
      if (turn == 0) c->ms[i] = INFINITY;
      if (!could_run(&c->candidate[i]) || c->candidate[i].estimated_ms > hopeless_estimate * least) continue;
      if (c->ms[i] > hopeless_time[turn] * best) continue;
      if (iso_bench_slice(bench, c->candidate[i].engine, turn ? slice_ms : slice_ms / 4, &r) != ISO_OK) return false;
      c->ms[i] = fmin(c->ms[i], r.median_ms);
      best = fmin(best, c->ms[i]);
    }
  return true;
}

static int fastest(const contest *c) {
  int best = -1;
  for (int i = 0; i < c->n; i++)
    if (c->ms[i] < INFINITY && (best < 0 || c->ms[i] < c->ms[best])) best = i;
  return best;
}

static json_t *contest_reply(const contest *c, int chosen) {
  const iso_plan_candidate *w = &c->candidate[chosen];
  json_t *timed = json_array();
  for (int i = 0; i < c->n; i++)
    if (c->ms[i] < INFINITY)
      json_array_append_new(timed, json_pack("{s:s, s:s, s:f}", "engine", c->candidate[i].engine, "class",
                                             c->candidate[i].class_name, "ms", c->ms[i]));
  return json_pack("{s:s, s:s, s:s, s:f, s:I, s:o}", "engine", w->engine, "class", w->class_name, "level",
                   iso_repro_name(w->level), "error_bound", w->error_bound, "workspace_bytes",
                   (json_int_t)w->workspace_bytes, "timed", timed);
}

/* ---- commands ---- */

static open_problem *find_open(problems *p, const char *id) {
  for (int i = 0; i < MAX_OPEN; i++)
    if (strcmp(p->open[i].id, id) == 0) return &p->open[i];
  return NULL;
}

/* open ID threads N policy P set D=V,… ms X problem WORD,WORD,… */
json_t *problems_open(problems *p, const words *w) {
  json_t *reply = NULL;
  char text[ISO_PLAN_TEXT_BYTES];
  double slice_ms;
  static contest c;
  open_problem *slot = find_open(p, "");
  if (!slot) return failure("more than %d problems are open", MAX_OPEN);
  if (!*w->word[0] || strlen(w->word[0]) >= sizeof slot->id || find_open(p, w->word[0]))
    return failure("'%s' can't be the name of a problem, or is one", w->word[0]);
  if (!read_positive("ms", value_of(w, "ms", "40"), 1e6, &slice_ms, &reply)) return reply;
  snprintf(text, sizeof text, "%s", value_of(w, "problem", ""));
  for (char *at = text; (at = strchr(at, ','));) *at = ' ';
  iso_context *ctx = context_for(p, w, &reply);
  if (!ctx) return reply;
  c.n = iso_plan_query(ctx, text, c.candidate);
  iso_bench *bench = iso_bench_new(ctx, text);
  if (!bench || !hold(&c, bench, slice_ms)) return iso_bench_free(bench), failure_of(ctx);
  const int chosen = fastest(&c);
  if (chosen < 0) return iso_bench_free(bench), failure("no engine computes %s", text);
  *slot = (open_problem){.engine = c.candidate[chosen].engine, .ctx = ctx, .bench = bench};
  snprintf(slot->id, sizeof slot->id, "%s", w->word[0]);
  return contest_reply(&c, chosen);
}

/* slice ID ms X */
json_t *problems_slice(problems *p, const words *w) {
  json_t *reply = NULL;
  double ms;
  iso_bench_result r;
  open_problem *o = find_open(p, w->word[0]);
  if (!o || !*o->id) return failure("no problem %s is open", w->word[0]);
  if (!read_positive("ms", value_of(w, "ms", "20"), 1e6, &ms, &reply)) return reply;
  if (iso_bench_slice(o->bench, o->engine, ms, &r) != ISO_OK) return failure_of(o->ctx);
  return json_pack("{s:f, s:i, s:f, s:f}", "ms", r.median_ms, "n", r.n_samples, "flops", r.flops, "bytes", r.bytes);
}

/* close ID */
json_t *problems_close(problems *p, const words *w) {
  open_problem *o = find_open(p, w->word[0]);
  if (!o || !*o->id) return failure("no problem %s is open", w->word[0]);
  iso_bench_free(o->bench);
  *o = (open_problem){0};
  return json_object();
}

/* peak threads N ms X: the best of slices shorter than a scheduler's turn, of which some run undisturbed. */
json_t *problems_peak(problems *p, const words *w) {
  enum { SLICES = 4 };
  json_t *reply = NULL;
  double ms, best = 0;
  if (!read_positive("ms", value_of(w, "ms", "8"), 1e5, &ms, &reply)) return reply;
  iso_context *ctx = context_for(p, w, &reply);
  if (!ctx) return reply;
  for (int i = 0; i < SLICES; i++) best = fmax(best, iso_machine_peak_gflops(ctx, ms / SLICES));
  return json_pack("{s:f}", "gflops", best);
}

/* traffic read|copy bytes N threads N ms X */
json_t *problems_traffic(problems *p, const words *w) {
  json_t *reply = NULL;
  double ms;
  int64_t n_bytes;
  const bool copy = strcmp(w->word[0], "copy") == 0;
  if (!copy && strcmp(w->word[0], "read") != 0) return failure("traffic is read or copy, not %s", w->word[0]);
  if (!read_count("bytes", value_of(w, "bytes", "67108864"), &n_bytes, &reply) ||
      !read_positive("ms", value_of(w, "ms", "20"), 1e5, &ms, &reply))
    return reply;
  iso_context *ctx = context_for(p, w, &reply);
  if (!ctx) return reply;
  return json_pack("{s:f}", "gb_s",
                   iso_machine_traffic_gbs(ctx, copy ? ISO_TRAFFIC_COPY : ISO_TRAFFIC_READ, (size_t)n_bytes, ms));
}

void problems_end(problems *p) {
  for (int i = 0; i < MAX_OPEN; i++) iso_bench_free(p->open[i].bench);
  for (int i = 0; i < p->n_contexts; i++) iso_context_free(p->context[i].ctx);
  *p = (problems){0};
}
