/* trace.h (internal): what a context notes of its work (isobit/trace.h); one branch where nothing is traced.
 *
 * Rooms above put marks: the plan room round every run of an engine, others round copies, waits and spans. On a device
 * that works by itself a mark has a pair of events, whose times are asked for when the trace ends. */
#ifndef ISO_DEVICE_TRACE_H
#define ISO_DEVICE_TRACE_H
#include <isobit/trace.h>
#include "device/device.h"

typedef struct iso__trace_mark {
  iso_trace_kind kind;
  iso_trace_phase phase, outer; /* outer: to go back to at a span's end */
  const char *name;             /* static; of runs NULL */
  const void *engine;           /* of runs: the row */
  size_t problem;               /* of runs: where its bytes begin */
  size_t module;                /* where the name begins in `texts`; 0: none */
  size_t pair;                  /* 1 + the number of its events; 0: none */
  uint64_t step, begin_ns, end_ns;
  double device_begin_ns, device_ns, bytes;
  int n_launches;
} iso__trace_mark;

typedef struct iso__trace {
  iso_context *ctx;
  const iso__device *device;
  bool on, counts;
  iso_trace_observer *observer; /* NULL: nobody looks */
  void *observer_user;
  int fill_before; /* of memory that is handed out */
  void *results;   /* of a device's run, on the host */
  size_t results_capacity;
  iso_trace_phase phase;
  uint64_t step;
  size_t module;
  iso__trace_mark *marks;
  size_t n, capacity;
  unsigned char *bytes; /* problems, one behind the other */
  size_t n_bytes, bytes_capacity;
  char *texts; /* names of modules; the first is "" */
  size_t n_texts, texts_capacity;
  iso__event *events; /* pairs, made once and used by every trace of the context */
  size_t n_pairs, n_made, events_capacity;
  iso__event origin;
  double overhead_ns; /* of a pair: taken off */
  uint64_t origin_ns;
  /* Holding the device back: what the host needed for the longest stretch between two waits, and the one in progress.
   */
  uint64_t n_waits, stretch_begin_ns, stretch_end_ns, longest_ns;
} iso__trace;

static inline iso__trace *iso__trace_of(const iso_context *ctx) {
  iso__trace *t = ctx->slot[ISO__SLOT_TRACE];
  return t && t->on ? t : NULL;
}

/* Opens a mark like `m` (its times and events are filled in); returns 1 + its number, or 0 without memory, which the
 * context then says. */
size_t iso__trace_begin(iso__trace *trace, const iso__trace_mark *m);
void iso__trace_end(iso__trace *trace, size_t mark); /* 0 is fine */
/* Keeps a copy of the problem; returns where. */
size_t iso__trace_keep_bytes(iso__trace *trace, const void *bytes, size_t n_bytes);
/* Keeps a module's name; returns where, 0 without memory. */
size_t iso__trace_keep_text(iso__trace *trace, const char *text);

/* A span round work of a phase, a copy, a wait: nothing (0) where nothing is traced. */
size_t iso__trace_span(iso__trace *trace, const char *name, iso_trace_phase phase);
static inline size_t iso__span_enter(const iso_context *ctx, const char *name, iso_trace_phase phase) {
  iso__trace *t = iso__trace_of(ctx);
  return t ? iso__trace_span(t, name, phase) : 0;
}
static inline size_t iso__copy_enter(const iso_context *ctx, iso_trace_kind kind, const char *name, double n_bytes) {
  iso__trace *t = iso__trace_of(ctx);
  return t ? iso__trace_begin(t, &(iso__trace_mark){.kind = kind, .name = name, .bytes = n_bytes}) : 0;
}
static inline void iso__mark_leave(const iso_context *ctx, size_t mark) {
  iso__trace *t = mark ? iso__trace_of(ctx) : NULL;
  if (t) iso__trace_end(t, mark);
}
#endif
