/* capture.c: work recorded once and replayed (capture.h): a graph of the device, and what of the host's state its calls
 * would have changed: gradients, and the place in the streams of random numbers. */
#include <isobit/capture.h>
#include <stdio.h>
#include "device/cuda/cuda.h"
#include "device/trace.h"
#include "ops/ops.h"

struct iso_capture {
  iso_context *ctx;
  const iso__device *device;
  iso__cuda_graph *graph; /* NULL: nothing was begun, or it failed */
  bool is_recording, is_recorded;
  bool had_gradients;       /* leaves had some when it began: then it recorded none (obstacle) */
  bool had_tape;            /* the tape held work when it began: then it recorded none       */
  iso__place begin, end;    /* of the recording */
  iso_tensor *step_number;  /* i32 on the device: of the step that runs; in no scope */
  iso__gradients gradients; /* that its backward left */
  char reason[400];
};

iso_capture *iso_capture_new(iso_context *ctx) {
  iso_capture *c = iso__failed(ctx) ? NULL : iso__zalloc(ctx, sizeof *c);
  if (c) c->ctx = ctx;
  return c;
}

const char *iso_capture_reason(const iso_capture *c) { return c ? c->reason : "no capture"; }

static void drop_graph(iso_capture *c) {
  iso__gradients_release(c->ctx, &c->gradients);
  iso_release(c->step_number);
  c->step_number = NULL;
  iso__cuda_graph_free(c->graph);
  c->graph = NULL;
}

void iso_capture_free(iso_capture *c) {
  if (!c) return;
  if (c->is_recording) iso_capture_end(c);
  drop_graph(c);
  iso__free(c->ctx, c, sizeof *c);
}

/* ---- recording ---- */

static bool refuse(iso_capture *c, const char *why) {
  snprintf(c->reason, sizeof c->reason, "%s", why);
  return false;
}

static const char *obstacle(const iso_capture *c) {
  if (c->graph || c->is_recording) return "it has been recorded already";
  if (c->ctx->is_capturing) return "another capture of this context has begun";
  if (iso__is_on_cpu(c->ctx)) return "the CPU runs operators at once: there is nothing to capture";
  if (iso__trace_of(c->ctx)) return "a trace is running: it looks at each run of an operator";
  if (iso_grad_is_enabled(c->ctx) && iso__gradients_are_there(c->ctx)) return "gradients are not zeroed";
  if (iso_grad_is_enabled(c->ctx) && !iso__tape_is_clear(c->ctx))
    return "the tape holds work: backward, or iso_tape_clear, comes first";
  return NULL;
}

/* Memory of the device beside the pool: the recording begins after it. */
static bool make_step_number(iso_capture *c) {
  iso_tensor *t = c->step_number = iso_tensor_new(c->ctx, ISO_I32, 0, NULL);
  if (t) iso__handle_leave(&t->handle);
  return t;
}

bool iso_capture_begin(iso_capture *c) {
  if (!c) return false;
  iso_context *ctx = c->ctx;
  const char *why = iso__failed(ctx) ? iso_error_message(ctx) : obstacle(c);
  if (why) return refuse(c, why);
  if (!make_step_number(c)) {
    refuse(c, iso_error_message(ctx));
    return iso_clear_error(ctx), false;
  }
  ctx->device_changes(ctx); /* the workspace goes: one of the pool's takes its place and stays the graph's */
  c->device = ctx->device;
  c->had_gradients = iso__gradients_are_there(ctx);
  c->had_tape = !iso__tape_is_clear(ctx);
  c->graph = iso__cuda_graph_begin(ctx->device, c->reason, sizeof c->reason);
  if (!c->graph) return drop_graph(c), false;
  iso__autocast_forget(ctx);
  iso__place *place = iso__place_of(ctx);
  c->begin = *place;
  place->step_at = iso__data(c->step_number);
  return ctx->is_capturing = c->is_recording = true;
}

/* The context as it was, its error told as the reason, unless the device has a better one. */
static bool fail(iso_capture *c, const char *why) {
  iso_context *ctx = c->ctx;
  refuse(c, *why ? why : iso_error_message(ctx));
  iso_clear_error(ctx);
  if (!c->had_gradients && !c->had_tape) iso__tape_abandon(ctx);
  *iso__place_of(ctx) = c->begin;
  drop_graph(c);
  return false;
}

bool iso_capture_end(iso_capture *c) {
  if (!c) return false;
  if (!c->is_recording) return c->reason[0] ? false : refuse(c, "no capture has begun");
  iso_context *ctx = c->ctx;
  iso__place *place = iso__place_of(ctx);
  char why[sizeof c->reason] = "";
  iso__autocast_forget(ctx);
  ctx->device_changes(ctx);
  const bool is_graph = iso__cuda_graph_end(c->graph, why, sizeof why);
  ctx->is_capturing = c->is_recording = false;
  place->step_at = NULL;
  c->end = *place;
  if (!is_graph || iso__failed(ctx)) return fail(c, why);
  if (!c->had_gradients && !iso__gradients_take(ctx, &c->gradients)) return fail(c, why);
  place->site = c->begin.site; /* nothing has run yet */
  return c->is_recorded = true;
}

/* ---- replaying ---- */

/* The step's number to where the kernels read it, if they do; false with the error kept. */
static bool place_random(iso_capture *c) {
  iso__place *place = iso__place_of(c->ctx);
  const iso__device *device = c->device;
  if (c->end.n_drawn == c->begin.n_drawn) return true;
  if (place->site != c->begin.site || place->leaf != c->begin.leaf) {
    ISO__FAIL(c->ctx, ISO_STATE, "iso_capture_replay",
              "it draws random numbers from site %u of a step on, but the context is at site %u: iso_random_set_step "
              "begins a step",
              c->begin.site, place->site);
    return false;
  }
  place->site = c->end.site;
  const iso_status status = device->fill(device, iso__data(c->step_number), &place->step, sizeof place->step, 1);
  if (status != ISO_OK) ISO__FAIL(c->ctx, status, "iso_capture_replay", "%s: its work failed", device->name);
  return status == ISO_OK;
}

iso_status iso_capture_replay(iso_capture *c) {
  if (!c) return ISO_INVALID_ARGUMENT;
  iso_context *ctx = c->ctx;
  if (iso__failed(ctx)) return ctx->error.code;
  if (ctx->is_capturing) return ISO__FAIL(ctx, ISO_STATE, __func__, "a capture cannot hold another's replay");
  if (!c->is_recorded)
    return ISO__FAIL(ctx, ISO_STATE, __func__, "nothing was recorded%s%s", *c->reason ? ": " : "", c->reason);
  if (c->gradients.n && iso__gradients_are_there(ctx))
    return ISO__FAIL(ctx, ISO_STATE, __func__, "leaves still have gradients: zero them before");
  if (ctx->device != c->device) return ISO__FAIL(ctx, ISO_STATE, __func__, "it was recorded on %s", c->device->name);
  if (!place_random(c)) return ctx->error.code;
  const iso_status status = iso__cuda_graph_launch(c->graph);
  if (status != ISO_OK)
    return ISO__FAIL(ctx, status, __func__, "%s: the graph could not be launched", ctx->device->name);
  return iso__gradients_give(ctx, &c->gradients);
}
