/* bench.c: one engine on one problem: time and, on sampled elements, the error against the same function in binary64.
 */
#include <isobit/plan.h>
#include <math.h>
#include "base/clock.h"
#include "base/fenv.h"
#include "device/cpu/peak.h"
#include "numeric/dtype.h"
#include "plan/kept.h"
#include "plan/operands.h"
#include "plan/state.h"

enum { MAX_SAMPLES = 1000, MAX_ELEMENTS = 64 };
static const double reference_flops = 2e7; /* work that the references may do for the error */

/* ---- the machine ---- */

double iso_machine_peak_gflops(iso_context *ctx, double slice_ms) {
  return ctx ? iso__peak_measure(ctx->isa, ctx->n_threads, slice_ms) : 0;
}

typedef struct copy_job {
  char *to;
  const char *from;
} copy_job;
static void copy_part(void *arg, int64_t begin, int64_t end, int thread) {
  const copy_job *job = arg;
  (void)thread;
  memcpy(job->to + begin, job->from + begin, (size_t)(end - begin));
}

double iso_machine_copy_gbs(iso_context *ctx, double slice_ms) {
  enum { N_BYTES = 64 << 20 };
  copy_job job = {.to = ctx ? iso__heap_alloc(ctx->heap, N_BYTES, NULL) : NULL};
  char *from = job.to ? iso__heap_alloc(ctx->heap, N_BYTES, NULL) : NULL;
  double best_ns = INFINITY;
  if (from) {
    memset(from, 1, N_BYTES), memset(job.to, 2, N_BYTES);
    job.from = from;
    const uint64_t end = iso__clock_ns() + (uint64_t)(slice_ms * 1e6);
    do {
      const uint64_t begin = iso__clock_ns();
      iso__parallel_range(ctx, N_BYTES, 1 << 20, 4096, copy_part, &job);
      const double ns = (double)(iso__clock_ns() - begin);
      if (ns < best_ns) best_ns = ns;
    } while (iso__clock_ns() < end);
    iso__heap_free(ctx->heap, from, N_BYTES);
  }
  if (job.to) iso__heap_free(ctx->heap, job.to, N_BYTES);
  return from ? 2.0 * (double)N_BYTES / best_ns : 0;
}

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

static const iso__engine *wide_reference(const iso__problem *problem) {
  for (const iso__engine *r = iso__engine_first(problem->op); r; r = iso__engine_next(r))
    if (r->element && (r->dtypes & ISO__DTYPE_BIT(ISO_F64))) return r;
  return NULL;
}

static double residual(iso_context *ctx, const iso__problem *problem, const iso__operand_set *narrow) {
  static const double none = NAN;
  const iso__operator *o = iso__problem_operator(problem);
  const iso__engine *reference = wide_reference(problem);
  wide_problem *w = problem->dtype == ISO_F32 && reference ? iso__heap_alloc(ctx->heap, sizeof *w, NULL) : NULL;
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

static void time_engine(const iso__call *call, double budget_ms, iso_bench_result *out) {
  double ms[MAX_SAMPLES];
  const iso__fenv saved = iso__fenv_enter();
  const uint64_t end = iso__clock_ns() + (uint64_t)(budget_ms * 1e6);
  call->engine->run(call); /* warms up */
  do {
    const uint64_t begin = iso__clock_ns();
    call->engine->run(call);
    ms[out->n_samples++] = (double)(iso__clock_ns() - begin) / 1e6;
  } while (out->n_samples < MAX_SAMPLES && (out->n_samples < 3 || iso__clock_ns() < end));
  iso__fenv_leave(saved);
  iso__sort_times(ms, out->n_samples);
  out->median_ms = ms[out->n_samples / 2];
  out->spread_ms = ms[3 * out->n_samples / 4] - ms[out->n_samples / 4];
}

static const iso__engine *find_engine(const iso__problem *problem, const char *name) {
  for (const iso__engine *e = iso__engine_first(problem->op); e; e = iso__engine_next(e))
    if (!strcmp(e->name, name)) return e;
  return NULL;
}

static iso_status bench(iso_context *ctx, const iso__problem *problem, const iso__engine *engine, double budget_ms,
                        iso_bench_result *out) {
  const iso__operator *o = iso__problem_operator(problem);
  const size_t workspace_bytes = engine->workspace(problem, ctx->n_threads);
  iso__operand_set set;
  void *workspace = workspace_bytes ? iso__alloc(ctx, workspace_bytes) : NULL;
  if (workspace_bytes && !workspace) return ctx->error.code;
  if (iso__operand_set_init(ctx, problem, NULL, 1, &set)) {
    iso__call call = {.ctx = ctx,
                      .engine = engine,
                      .problem = problem,
                      .args = set.args,
                      .workspace = workspace,
                      .workspace_bytes = workspace_bytes};
    void *kept;
    *out = (iso_bench_result){.flops = o->flops(problem), .bytes = o->bytes(problem)};
    if (iso__call_prepare(&call, &kept)) {
      time_engine(&call, budget_ms, out);
      out->residual = residual(ctx, problem, &set);
    } else ISO__FAIL(ctx, ISO_OUT_OF_MEMORY, "bench", "no memory for the weights in the engine's form");
    iso__call_unprepare(&call, kept);
    iso__operand_set_release(ctx, &set);
  } else ISO__FAIL(ctx, ISO_OUT_OF_MEMORY, "bench", "no memory for the operands");
  iso__free(ctx, workspace, workspace_bytes);
  return ctx->error.code;
}

iso_status iso_bench_engine(iso_context *ctx, const char *text, const char *name, double budget_ms,
                            iso_bench_result *out) {
  _Alignas(16) unsigned char buffer[ISO__MAX_PROBLEM_BYTES];
  iso__problem *problem = (iso__problem *)buffer;
  if (iso__failed(ctx)) return ctx ? ctx->error.code : ISO_INVALID_ARGUMENT;
  if (iso__problem_parse(ctx, text, buffer)) return ctx->error.code;
  const iso__engine *engine = find_engine(problem, name);
  if (!engine) return ISO__FAIL(ctx, ISO_NOT_FOUND, "bench", "there is no engine '%s' for '%s'", name, text);
  const char *why = engine->isa > ctx->isa                               ? "its instruction set is not available"
                    : !(engine->dtypes & ISO__DTYPE_BIT(problem->dtype)) ? "it does not compute this dtype"
                                                                         : engine->applicable(problem);
  if (why) return ISO__FAIL(ctx, ISO_UNSUPPORTED, "bench", "%s on '%s': %s", name, text, why);
  return bench(ctx, problem, engine, budget_ms, out);
}
