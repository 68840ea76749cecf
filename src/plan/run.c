/* run.c: running a plan: lent workspace, default floating-point environment; and the generic run of class references.
 */
#include "base/clock.h"
#include "base/dry.h"
#include "base/fenv.h"
#include "device/cuda/report.h"
#include "device/memory.h"
#include "device/trace.h"
#include "plan/state.h"

static void job_release(iso_context *ctx, iso__plan_job *job) {
  if (atomic_fetch_sub(&job->n_refs, 1) > 1) return;
  iso__store_release(&job->store);
  iso__free(ctx, job, sizeof *job);
}

static void state_free(iso_context *ctx, void *state) {
  iso__plan_state *s = state;
  iso_plan_forget_used(ctx);
  iso__workspace_drop(ctx);
  iso__lock_release(s->lock);
  job_release(ctx, s->job);
  iso__free(ctx, s, sizeof *s);
}

iso_status iso__plan_attach(iso_context *ctx) {
  iso__plan_state *state = iso__zalloc(ctx, sizeof *state);
  iso__plan_job *job = state ? iso__zalloc(ctx, sizeof *job) : NULL;
  if (!job) return iso__free(ctx, state, sizeof *state), iso_error_code(ctx);
  atomic_init(&job->n_refs, 1);
  iso__store_init(&job->store);
  state->job = job;
  ctx->slot[ISO__SLOT_PLAN] = state;
  ctx->slot_free[ISO__SLOT_PLAN] = state_free;
  ctx->device_changes = iso__workspace_drop;
  return ISO_OK;
}

void iso__plan_inherit(iso_context *child, const iso_context *parent) {
  iso__plan_state *state = iso__plan_state_of(child);
  const iso__plan_state *from = iso__plan_state_of(parent);
  job_release(child, state->job);
  atomic_fetch_add(&from->job->n_refs, 1);
  state->job = from->job;
  if (from->lock) iso__lock_retain(from->lock);
  state->lock = from->lock;
  state->adversary = from->adversary;
  state->load = from->load;
}

iso__plan_state *iso__plan_state_of(const iso_context *ctx) { return ctx->slot[ISO__SLOT_PLAN]; }

void *iso__workspace(iso_context *ctx, size_t n_bytes) {
  iso__plan_state *state = iso__plan_state_of(ctx);
  const iso__device *device = iso__device_of(ctx);
  if (n_bytes > state->workspace_bytes || state->workspace_device != device) {
    iso__workspace_drop(ctx);
    state->workspace_device = device;
    iso_status status;
    const iso__owner before = iso__owner_enter(ISO__OWNER_WORKSPACE);
    state->workspace = device->alloc(device, ctx->heap, n_bytes, &status);
    iso__owner_leave(before);
    if (state->workspace) state->workspace_bytes = n_bytes;
    else iso__device_fail_memory(ctx, device, status, n_bytes);
  }
  return state->workspace;
}

void iso__workspace_drop(iso_context *ctx) {
  iso__plan_state *state = iso__plan_state_of(ctx);
  const iso__device *device = state->workspace_device;
  if (state->workspace) device->free(device, ctx->heap, state->workspace, state->workspace_bytes);
  state->workspace = NULL;
  state->workspace_bytes = 0;
}

bool iso__plan_call(iso_context *ctx, const iso__plan *plan, const iso__problem *problem, const void *args,
                    iso__call *call) {
  if (iso__failed(ctx)) return false;
  *call = (iso__call){
      .ctx = ctx, .engine = plan->engine, .problem = problem, .args = args, .workspace_bytes = plan->workspace_bytes};
  return !plan->workspace_bytes || (call->workspace = iso__workspace(ctx, plan->workspace_bytes));
}

void iso__call_run(const iso__call *call) {
  /* numbers of samples and the like are computed: others look at them */
  if (iso__heap_is_dry(call->ctx->heap) && iso_dtype_is_float((iso_dtype)call->problem->dtype)) return;
  const iso__fenv saved = iso__fenv_enter();
  const iso__device *device = call->ctx->device;
  if (device && device->isa == ISO_ISA_CUDA) iso__cuda_note(device, call->engine->name);
  if (iso__trace_of(call->ctx) || (device && device->range_push)) iso__call_run_watched(call);
  else call->engine->run(call);
  iso__fenv_leave(saved);
}

static void run_untimed(const void *arg) {
  const iso__call *call = arg;
  const iso__fenv saved = iso__fenv_enter();
  call->engine->run(call);
  iso__fenv_leave(saved);
}

double iso__call_time(const iso__call *call) {
  const iso__device *device = iso__device_of(call->ctx);
  if (device->time) return device->time(device, run_untimed, call);
  const uint64_t begin = iso__clock_ns();
  call->engine->run(call);
  return (double)(iso__clock_ns() - begin);
}

iso_status iso__plan_run(iso_context *ctx, const iso__plan *plan, const iso__problem *problem, const void *args) {
  iso__call call;
  if (!iso__plan_call(ctx, plan, problem, args, &call)) return ctx ? ctx->error.code : ISO_INVALID_ARGUMENT;
  return iso__call_run(&call), ISO_OK;
}

iso_status iso__execute(iso_context *ctx, const iso__problem *problem, const void *args) {
  iso__plan plan;
  if (!iso__plan_get_for(ctx, problem, args, &plan)) return ctx ? ctx->error.code : ISO_INVALID_ARGUMENT;
  return iso__plan_run(ctx, &plan, problem, args);
}

/* ---- references: any class, one element at a time ---- */

double iso__reference_cost(const iso__problem *problem, int n_threads) {
  const iso__operator *o = iso__problem_operator(problem);
  /* A software-visible fmaf call and index arithmetic an element: only ever the last resort. */
  return 1e6 + (4.0 * o->flops(problem) + 20.0 * o->bytes(problem)) / n_threads;
}

/* Outputs that are inputs too (in-place updates) wait here until every element is known. */
size_t iso__reference_workspace(const iso__problem *problem, int n_threads) {
  (void)n_threads;
  iso__operand operands[ISO__MAX_OPERANDS];
  const int n = iso__problem_operator(problem)->operands(problem, operands);
  size_t n_bytes = 0;
  bool in_place = false;
  for (int i = 0; i < n; i++) in_place |= operands[i].input && operands[i].output;
  for (int i = 0; i < n && in_place; i++)
    if (operands[i].output) n_bytes += (((size_t)operands[i].n * iso_dtype_size(operands[i].dtype)) + 63) & ~(size_t)63;
  return n_bytes;
}

typedef struct reference_job {
  const iso__call *call;
  bool (*element)(const iso__problem *problem, const void *args, int operand, int64_t index, void *value);
  int operand;
  char *out;
  const char *old; /* what holes keep; NULL: they are left alone */
  size_t item_bytes;
} reference_job;

static void reference_range(void *arg, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const reference_job *job = arg;
  for (int64_t i = begin; i < end; i++) {
    union {
      double f64;
      int64_t i64;
      unsigned char bytes[16];
    } value;
    const size_t at = (size_t)i * job->item_bytes;
    if (job->element(job->call->problem, job->call->args, job->operand, i, &value))
      memcpy(job->out + at, value.bytes, job->item_bytes);
    else if (job->old) memcpy(job->out + at, job->old + at, job->item_bytes);
  }
}

void iso__reference_run(const iso__call *call) {
  iso__operand operands[ISO__MAX_OPERANDS];
  const int n = iso__problem_operator(call->problem)->operands(call->problem, operands);
  char *waiting = call->workspace;
  for (int i = 0; i < n; i++) {
    if (!operands[i].output) continue;
    char *out = iso__operand_pointer(&operands[i], call->args);
    reference_job job = {.call = call,
                         .element = call->engine->element,
                         .operand = i,
                         .out = waiting ? waiting : out,
                         .old = waiting ? out : NULL,
                         .item_bytes = iso_dtype_size(operands[i].dtype)};
    iso__parallel_range(call->ctx, operands[i].n, 64, 1, reference_range, &job);
    if (waiting) waiting += ((size_t)operands[i].n * job.item_bytes + 63) & ~(size_t)63;
  }
  waiting = call->workspace;
  for (int i = 0; i < n && waiting; i++) {
    if (!operands[i].output) continue;
    const size_t n_bytes = (size_t)operands[i].n * iso_dtype_size(operands[i].dtype);
    memcpy(iso__operand_pointer(&operands[i], call->args), waiting, n_bytes);
    waiting += (n_bytes + 63) & ~(size_t)63;
  }
}
