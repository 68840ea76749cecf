/* bench.c: one engine on one problem: time and, on sampled elements, the error against the same function in binary64.
 */
#include <isobit/plan.h>
#include <math.h>
#include "base/clock.h"
#include "base/fenv.h"
#include "numeric/dtype.h"
#include "plan/kept.h"
#include "plan/operands.h"
#include "plan/state.h"

enum { MAX_SAMPLES = 1000, MAX_ELEMENTS = 64 };
static const double reference_flops = 2e7; /* work that the references may do for the error */

/* ---- the error: the problem again in binary64, as it is and with absolute inputs ---- */

typedef struct wide_problem {
  _Alignas(16) unsigned char bytes[ISO__MAX_PROBLEM_BYTES];
  iso__operand_set exact, magnitude;
} wide_problem;

static void widen_inputs(const iso__operand_set *narrow, iso__operand_set *wide, bool absolute) {
  for (int i = 0; i < narrow->n; i++) {
    if (!narrow->operand[i].input) continue;
    iso__cast(narrow->block[i], narrow->operand[i].dtype, wide->block[i], wide->operand[i].dtype,
              (size_t)narrow->operand[i].n);
    double *v = wide->block[i];
    for (int64_t j = 0; absolute && wide->operand[i].dtype == ISO_F64 && j < wide->operand[i].n; j++) v[j] = fabs(v[j]);
  }
}

/* The largest error among sampled elements of output i. */
static double error_of(const iso__engine *reference, const wide_problem *w, const iso__operand_set *narrow, int i,
                       int n_elements) {
  const iso__problem *wide = (const iso__problem *)w->bytes;
  const float *out = narrow->block[i];
  const int64_t n = narrow->operand[i].n;
  double worst = 0;
  for (int e = 0; e < n_elements && e < n; e++) {
    const int64_t at = n <= n_elements ? e : (int64_t)(((uint64_t)e + 1) * 0x9e3779b97f4a7c15u % (uint64_t)n);
    double y, scale;
    if (!reference->element(wide, w->exact.args, i, at, &y) ||
        !reference->element(wide, w->magnitude.args, i, at, &scale))
      continue;
    scale = iso__larger(fabs(y), isfinite(scale) ? fabs(scale) : 0) + 1e-300;
    worst = iso__larger(worst, fabs((double)out[at] - y) / scale);
  }
  return worst;
}

static double residual(iso_context *ctx, const iso__problem *problem, const iso__operand_set *narrow) {
  static const double none = NAN;
  const iso__operator *o = iso__problem_operator(problem);
  const iso__engine *reference = iso__wide_reference(problem->op);
  const bool can_look =
      iso__is_on_cpu(ctx) && problem->dtype == ISO_F32 && reference; /* operands lie where engines run */
  wide_problem *w = can_look ? iso__heap_alloc(ctx->heap, sizeof *w, NULL) : NULL;
  double worst = none, n_out = 1;
  if (!w) return none;
  memcpy(w->bytes, problem, problem->n_bytes);
  iso__problem *wide = (iso__problem *)w->bytes;
  wide->dtype = ISO_F64;
  const bool has_exact = iso__operand_set_init(ctx, wide, NULL, 1, &w->exact);
  const bool has_magnitude = has_exact && iso__operand_set_init(ctx, wide, NULL, 1, &w->magnitude);
  if (has_magnitude) {
    widen_inputs(narrow, &w->exact, false), widen_inputs(narrow, &w->magnitude, true);
    for (int i = 0; i < narrow->n; i++) n_out += narrow->operand[i].output ? (double)narrow->operand[i].n : 0;
    const double affordable = reference_flops / (2 * (o->flops(problem) + o->bytes(problem)) / n_out + 1);
    const int n_elements = affordable > (double)MAX_ELEMENTS ? MAX_ELEMENTS : affordable < 4 ? 4 : (int)affordable;
    for (int i = 0; i < narrow->n; i++)
      if (narrow->operand[i].output && !narrow->operand[i].input && narrow->operand[i].dtype == ISO_F32)
        worst = iso__larger(isnan(worst) ? 0 : worst, error_of(reference, w, narrow, i, n_elements));
  }
  if (has_magnitude) iso__operand_set_release(ctx, &w->magnitude);
  if (has_exact) iso__operand_set_release(ctx, &w->exact);
  iso__heap_free(ctx->heap, w, sizeof *w);
  return worst;
}

/* ---- the time ---- */

struct iso_bench {
  iso_context *ctx;
  iso__call call; /* of the engine of the last slice; none: engine is NULL */
  void *kept, *workspace;
  size_t workspace_bytes; /* of the largest so far */
  iso__operand_set set;
  _Alignas(16) unsigned char problem[ISO__MAX_PROBLEM_BYTES];
};

static const iso__problem *problem_of(const iso_bench *bench) { return (const iso__problem *)bench->problem; }

iso_bench *iso_bench_new(iso_context *ctx, const char *text) {
  iso_bench *bench = iso__failed(ctx) ? NULL : iso__alloc(ctx, sizeof *bench);
  if (!bench) return NULL;
  *bench = (iso_bench){.ctx = ctx};
  if (iso__problem_parse(ctx, text, bench->problem) == ISO_OK) {
    if (iso__operand_set_init(ctx, problem_of(bench), NULL, 1, &bench->set)) return bench;
    ISO__FAIL(ctx, ISO_OUT_OF_MEMORY, "bench", "no memory for the operands of '%s'", text);
  }
  iso__free(ctx, bench, sizeof *bench);
  return NULL;
}

static void drop_engine(iso_bench *bench) {
  if (bench->call.engine) iso__call_unprepare(&bench->call, bench->kept);
  bench->call = (iso__call){0}, bench->kept = NULL;
}

void iso_bench_free(iso_bench *bench) {
  if (!bench) return;
  drop_engine(bench);
  iso__plan_memory_free(bench->ctx, bench->workspace, bench->workspace_bytes);
  iso__operand_set_release(bench->ctx, &bench->set);
  iso__free(bench->ctx, bench, sizeof *bench);
}

static bool reserve_workspace(iso_bench *bench, size_t n_bytes) {
  if (n_bytes <= bench->workspace_bytes) return true;
  iso__plan_memory_free(bench->ctx, bench->workspace, bench->workspace_bytes);
  bench->workspace_bytes = 0;
  if (!(bench->workspace = iso__plan_memory(bench->ctx, n_bytes)))
    return iso__fail_memory(bench->ctx, ISO_OUT_OF_MEMORY, n_bytes), false;
  bench->workspace_bytes = n_bytes;
  return true;
}

/* Makes the call that runs `name`, with its form of kept weights; false with the context's error set. */
static bool take_engine(iso_bench *bench, const char *name) {
  iso_context *ctx = bench->ctx;
  const iso__problem *problem = problem_of(bench);
  const iso__engine *engine = iso__engine_named(problem->op, name);
  if (!engine) return ISO__FAIL(ctx, ISO_NOT_FOUND, "bench", "the operator has no engine '%s'", name), false;
  if (engine == bench->call.engine) return true;
  const char *why = !iso__plan_can_run(ctx, engine)                      ? "its instruction set is not available"
                    : !(engine->dtypes & ISO__DTYPE_BIT(problem->dtype)) ? "it does not compute this dtype"
                                                                         : iso__engine_refuses(engine, problem);
  if (why) return ISO__FAIL(ctx, ISO_UNSUPPORTED, "bench", "%s: %s", name, why), false;
  const size_t n_bytes = engine->workspace(problem, iso__plan_width(ctx));
  drop_engine(bench);
  if (!reserve_workspace(bench, n_bytes)) return false;
  bench->call = (iso__call){.ctx = ctx,
                            .engine = engine,
                            .problem = problem,
                            .args = bench->set.args,
                            .workspace = n_bytes ? bench->workspace : NULL,
                            .workspace_bytes = n_bytes};
  if (iso__call_prepare(&bench->call, &bench->kept)) return true;
  bench->call = (iso__call){0};
  return ISO__FAIL(ctx, ISO_OUT_OF_MEMORY, "bench", "no memory for the weights in the form of %s", name), false;
}

/* Runs for about budget_ms and `least` times at least; the first run is left out where there are others: it brings
 * caches back, and may have been disturbed, so one that used up the budget alone is followed by another unless it is
 * far over it. */
static void time_runs(const iso_bench *bench, double budget_ms, int least, iso_bench_result *out) {
  static const double far_over = 4;
  double ms[MAX_SAMPLES + 1];
  int n = 0;
  const iso__fenv saved = iso__fenv_enter();
  const uint64_t end = iso__clock_ns() + (uint64_t)(budget_ms * 1e6);
  do {
    ms[n++] = iso__call_time(&bench->call) / 1e6;
  } while (n <= MAX_SAMPLES && (n < least || iso__clock_ns() < end || (n == 1 && ms[0] < far_over * budget_ms)));
  iso__fenv_leave(saved);
  double *const counted = n > 1 ? ms + 1 : ms;
  n -= n > 1;
  iso__sort_times(counted, n);
  const iso__operator *o = iso__problem_operator(problem_of(bench));
  *out = (iso_bench_result){.median_ms = counted[n / 2],
                            .spread_ms = counted[3 * n / 4] - counted[n / 4],
                            .n_samples = n,
                            .flops = o->flops(problem_of(bench)),
                            .bytes = o->bytes(problem_of(bench)),
                            .residual = NAN};
}

iso_status iso_bench_slice(iso_bench *bench, const char *engine, double budget_ms, iso_bench_result *out) {
  if (!bench) return ISO_INVALID_ARGUMENT;
  if (iso__failed(bench->ctx) || !take_engine(bench, engine)) return bench->ctx->error.code;
  time_runs(bench, budget_ms, 1, out);
  return ISO_OK;
}

iso_status iso_bench_engine(iso_context *ctx, const char *text, const char *name, double budget_ms,
                            iso_bench_result *out) {
  enum { LEAST = 4 };
  iso_bench *bench = iso_bench_new(ctx, text);
  if (!bench) return ctx ? ctx->error.code : ISO_INVALID_ARGUMENT;
  if (take_engine(bench, name)) {
    time_runs(bench, budget_ms, LEAST, out);
    out->residual = residual(ctx, problem_of(bench), &bench->set);
  }
  iso_bench_free(bench);
  return ctx->error.code;
}
