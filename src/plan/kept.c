/* kept.c: a short list of forms under a mutex (kept.h). */
#include "base/dry.h"
#include "base/owner.h"
#include "plan/kept.h"
#include <pthread.h>
#include "base/fenv.h"
#include "plan/state.h"

typedef struct form {
  struct form *next;
  const iso__engine *engine;
  iso__hash weights; /* of the problem, all but the weights' shape forgotten */
  size_t n_bytes;
  void *data;
} form;

struct iso__kept {
  pthread_mutex_t mutex;
  iso__heap *heap;
  const iso__device *device;
  unsigned version;
  form *forms;
};

iso__kept *iso__kept_new(iso__heap *heap, const iso__device *device) {
  iso__kept *kept = iso__heap_alloc(heap, sizeof *kept, NULL);
  if (!kept) return NULL;
  *kept = (iso__kept){.heap = heap, .device = device};
  pthread_mutex_init(&kept->mutex, NULL);
  return kept;
}

static void forget(iso__kept *kept) {
  for (form *f = kept->forms, *next; f; f = next) {
    next = f->next;
    kept->device->free(kept->device, kept->heap, f->data, f->n_bytes);
    iso__heap_free(kept->heap, f, sizeof *f);
  }
  kept->forms = NULL;
}

void iso__kept_free(iso__kept *kept) {
  if (!kept) return;
  forget(kept);
  pthread_mutex_destroy(&kept->mutex);
  iso__heap_free(kept->heap, kept, sizeof *kept);
}

size_t iso__kept_bytes(iso__kept *kept) {
  size_t n_bytes = 0;
  pthread_mutex_lock(&kept->mutex);
  for (const form *f = kept->forms; f; f = f->next) n_bytes += f->n_bytes;
  pthread_mutex_unlock(&kept->mutex);
  return n_bytes;
}

static bool same(iso__hash a, iso__hash b) { return a.low == b.low && a.high == b.high; }

static iso__hash weights_of(const iso__problem *problem) {
  _Alignas(16) unsigned char bytes[ISO__MAX_PROBLEM_BYTES];
  iso__problem *weights = memcpy(bytes, problem, problem->n_bytes);
  iso__problem_operator(problem)->weights_only(weights);
  return iso__hash_bytes(bytes, problem->n_bytes);
}

/* The call's weights in its engine's form, in a block of n_bytes; NULL: no memory. */
static void *transform(const iso__device *device, iso__heap *heap, const iso__call *call, size_t n_bytes) {
  const iso__owner before = iso__owner_enter(ISO__OWNER_KEPT);
  void *block = device->alloc(device, heap, n_bytes, NULL);
  iso__owner_leave(before);
  if (!block) return NULL;
  if (iso__heap_is_dry(heap)) return block;
  const iso__fenv saved = iso__fenv_enter();
  call->engine->prepare(call, block);
  iso__fenv_leave(saved);
  return block;
}

/* The form that the call's engine wants, made now if it is not there; NULL: no memory. The mutex is held. */
static const void *form_for(iso__kept *kept, const iso__call *call) {
  const iso__hash weights = weights_of(call->problem);
  for (const form *f = kept->forms; f; f = f->next)
    if (f->engine == call->engine && same(f->weights, weights)) return f->data;
  if (call->ctx->is_capturing) { /* it would be made at each replay, and be taken for made before the first */
    ISO__FAIL(call->ctx, ISO_STATE, call->engine->name, "its weights are not packed yet: run it once before");
    return NULL;
  }
  form *f = iso__heap_alloc(kept->heap, sizeof *f, NULL);
  if (!f) return NULL;
  *f = (form){.next = kept->forms,
              .engine = call->engine,
              .weights = weights,
              .n_bytes = call->engine->kept_bytes(call->problem)};
  f->data = transform(kept->device, kept->heap, call, f->n_bytes);
  if (!f->data) return iso__heap_free(kept->heap, f, sizeof *f), NULL;
  return (kept->forms = f)->data;
}

static iso_status run_kept(iso_context *ctx, const iso__plan *plan, const iso__problem *problem, const void *args,
                           iso__kept *kept, unsigned version, bool *no_memory) {
  iso__call call;
  if (!iso__plan_call(ctx, plan, problem, args, &call)) return ctx->error.code;
  if (plan->engine->kept_bytes) {
    pthread_mutex_lock(&kept->mutex);
    if (kept->version != version) forget(kept), kept->version = version;
    call.kept = form_for(kept, &call);
    pthread_mutex_unlock(&kept->mutex);
    if ((*no_memory = !call.kept)) return ISO_OK;
  }
  return iso__call_run(&call), ISO_OK;
}

iso_status iso__execute_kept(iso_context *ctx, const iso__problem *problem, const void *args, iso__kept *kept,
                             unsigned version) {
  if (!kept || iso__failed(ctx) || !iso__problem_operator(problem)->weights_only)
    return iso__execute(ctx, problem, args);
  _Alignas(16) unsigned char bytes[ISO__MAX_PROBLEM_BYTES];
  iso__problem *p = memcpy(bytes, problem, problem->n_bytes);
  p->kept = 1;
  iso__plan plan;
  bool no_memory = false;
  if (!iso__plan_get_for(ctx, p, args, &plan)) return ctx->error.code;
  const iso_status status = run_kept(ctx, &plan, p, args, kept, version, &no_memory);
  return no_memory ? iso__execute(ctx, problem, args) : status;
}

bool iso__call_prepare(iso__call *call, void **block) {
  *block = NULL;
  if (!call->problem->kept || !call->engine->kept_bytes) return true;
  call->kept = *block =
      transform(iso__device_of(call->ctx), call->ctx->heap, call, call->engine->kept_bytes(call->problem));
  return *block;
}

void iso__call_unprepare(const iso__call *call, void *block) {
  if (block) iso__plan_memory_free(call->ctx, block, call->engine->kept_bytes(call->problem));
}
