/* trace.h: what a context does, and how long each piece takes on the host and on the device.
 *
 *   iso_trace_start(ctx, NULL);
 *   for (int i = 0; i < 5; i++) iso_trainer_step(trainer, NULL);
 *   iso_trace_stop(ctx);
 *   iso_trace_entry e;
 *   for (size_t i = 0; iso_trace_get(ctx, i, &e); i++) printf("%s %s: %g ms\n", e.name, e.module, e.device_ms);
 *
 * While nothing is traced a run costs one branch more. While a CUDA device is traced it is kept busy until the host has
 * launched what comes up to the next wait, so that what is measured is the kernels' own time: traced steps take longer,
 * and how long the device rests is known by comparing with steps that are not traced. */
#ifndef ISOBIT_TRACE_H
#define ISOBIT_TRACE_H
#include <isobit/base.h>
#include <isobit/numeric.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef enum iso_trace_kind {
  ISO_TRACE_RUN = 0, /* of an engine                                               */
  ISO_TRACE_COPY,    /* of a tensor's elements, inside a device or between two     */
  ISO_TRACE_WAIT,    /* the host reads an element of a device, and waits for it    */
  ISO_TRACE_SPAN     /* "step", "data", "backward": holds others                   */
} iso_trace_kind;

typedef enum iso_trace_phase {
  ISO_TRACE_FORWARD = 0, /* and whatever belongs to no other phase */
  ISO_TRACE_BACKWARD,
  ISO_TRACE_UPDATE, /* of the weights           */
  ISO_TRACE_DATA    /* waiting for a batch      */
} iso_trace_phase;
ISO_API const char *iso_trace_phase_name(iso_trace_phase phase); /* "forward", "backward", "update", "data" */

enum { ISO_TRACE_PROBLEM_BYTES = 1024 };
typedef struct iso_trace_entry {
  iso_trace_kind kind;
  iso_trace_phase phase;
  uint64_t step;                         /* of a trainer's; 0 elsewhere                               */
  const char *name;                      /* "conv2d.bwd_data", "copy to device", "backward"           */
  char problem[ISO_TRACE_PROBLEM_BYTES]; /* of runs: "conv2d.bwd_data f32 n64 …"; else ""             */
  const char *engine, *class_name;       /* of runs; else ""                                          */
  int revision;
  const char *module;                /* "layer1.0.conv1": whose forward it belongs to, in the backward too; or "" */
  double begin_ms, host_ms;          /* since the start, by the host's clock                      */
  double device_begin_ms, device_ms; /* the same on the device; of spans and waits, and on the CPU, the host's    */
  double flops, bytes;               /* of runs: of the direct algorithm, each operand once; copies: bytes        */
  int n_launches;                    /* of kernels, where counted; 1 on the CPU                   */
} iso_trace_entry;

/* One result of an engine's run. */
typedef struct iso_trace_output {
  const char *name; /* "c" */
  iso_dtype dtype;
  int64_t n;        /* elements of its buffer, holes between strides included */
  const void *data; /* on the host, during the call */
} iso_trace_output;
/* Called behind every run of an engine with what it wrote; `run` has no times yet. On a device each run is then waited
 * for. While there is an observer memory of the host is handed out zeroed, so that holes between strides hold the same
 * in every process. It must not use the context. */
typedef void iso_trace_observer(void *user, const iso_trace_entry *run, int n_outputs, const iso_trace_output *outputs);

typedef struct iso_trace_options {
  bool count_launches; /* of every run, by capturing it once more: for one step, not for its times */
  iso_trace_observer *observer;
  void *observer_user;
} iso_trace_options;

/* Begins anew; entries of an earlier trace are gone. options may be NULL. The context's memory holds the entries. */
ISO_API iso_status iso_trace_start(iso_context *ctx, const iso_trace_options *options);
/* Waits for the device; from now on nothing is noted. Without a trace that runs: ISO_STATE. */
ISO_API iso_status iso_trace_stop(iso_context *ctx);
/* How many entries there are, in the order of their beginning; 0 while it runs. */
ISO_API size_t iso_trace_n(const iso_context *ctx);
/* The i-th; false beyond the end. Names live until the next start or the context's end. */
ISO_API bool iso_trace_get(const iso_context *ctx, size_t i, iso_trace_entry *out);

#ifdef __cplusplus
}
#endif
#endif
