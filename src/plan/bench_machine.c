/* bench_machine.c: what the machine itself can do, measured in the same run as what is held against it. */
#include <isobit/plan.h>
#include <math.h>
#include "base/clock.h"
#include "device/cpu/peak.h"
#include "plan/traffic.h"
#include "plan/state.h"

double iso_machine_peak_gflops(iso_context *ctx, double slice_ms) {
  if (ctx && ctx->device) return ctx->device->peak_gflops ? ctx->device->peak_gflops(ctx->device, slice_ms) : 0;
  return ctx ? iso__peak_measure(ctx->isa, ctx->n_threads, slice_ms) : 0;
}

static iso__traffic_read *const readers[] = {
    [ISO_ISA_SCALAR] = iso__traffic_read_scalar,
#if defined(__x86_64__)
    [ISO_ISA_AVX2] = iso__traffic_read_avx2,
    [ISO_ISA_AVX512] = iso__traffic_read_avx512,
#endif
};

typedef struct traffic {
  iso__traffic_read *read; /* NULL: copy */
  char *to;
  const char *from;
} traffic;

static _Thread_local volatile float seen; /* so that reading is not left out */

static void move_part(void *arg, int64_t begin, int64_t end, int thread) {
  const traffic *t = arg;
  (void)thread;
  if (t->read) seen = t->read(t->from + begin, (size_t)(end - begin));
  else memcpy(t->to + begin, t->from + begin, (size_t)(end - begin));
}

double iso_machine_traffic_gbs(iso_context *ctx, iso_traffic kind, size_t n_bytes, double slice_ms) {
  const size_t n_buffer = kind == ISO_TRAFFIC_COPY ? n_bytes / 2 : n_bytes;
  char *from = ctx ? iso__heap_alloc(ctx->heap, n_buffer, NULL) : NULL;
  char *to = from && kind == ISO_TRAFFIC_COPY ? iso__heap_alloc(ctx->heap, n_buffer, NULL) : NULL;
  double best_ns = INFINITY;
  if (from && (to || kind == ISO_TRAFFIC_READ)) {
    traffic t = {.read = kind == ISO_TRAFFIC_READ ? readers[ctx->isa] : NULL, .to = to, .from = from};
    memset(from, 1, n_buffer);
    if (to) memset(to, 2, n_buffer);
    const uint64_t end = iso__clock_ns() + (uint64_t)(slice_ms * 1e6);
    do {
      const uint64_t begin = iso__clock_ns();
      iso__parallel_range(ctx, (int64_t)n_buffer, 1 << 16, 4096, move_part, &t);
      best_ns = iso__smaller(best_ns, (double)(iso__clock_ns() - begin));
    } while (iso__clock_ns() < end);
  }
  if (to) iso__heap_free(ctx->heap, to, n_buffer);
  if (from) iso__heap_free(ctx->heap, from, n_buffer);
  return best_ns < INFINITY ? (double)n_buffer * (to ? 2 : 1) / best_ns : 0;
}

double iso_machine_copy_gbs(iso_context *ctx, double slice_ms) {
  if (ctx && ctx->device) return ctx->device->copy_gbs ? ctx->device->copy_gbs(ctx->device, slice_ms) : 0;
  return iso_machine_traffic_gbs(ctx, ISO_TRAFFIC_COPY, (size_t)128 << 20, slice_ms);
}
