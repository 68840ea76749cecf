/* indices.c: the context's list of index checks and its report (indices.h). */
#include "device/cuda/indices.h"
#include <string.h>
#include "device/cuda/state.h"

typedef struct reports {
  iso__index_report *report; /* pinned */
  iso__index_checks checks;
} reports;

static void reports_free(iso_context *ctx, void *state) {
  reports *r = state;
  if (ctx->device) cudaStreamSynchronize(iso__cuda_device_of(ctx->device)->stream); /* it may still be writing there */
  cudaFreeHost(r->report);
  iso__free(ctx, r->checks.list, r->checks.capacity * sizeof *r->checks.list);
  iso__free(ctx, r, sizeof *r);
}

static reports *reports_of(iso_context *ctx) {
  reports *r = ctx->slot[ISO__SLOT_DEVICE];
  if (r || !(r = iso__zalloc(ctx, sizeof *r))) return r;
  const cudaError_t error =
      cudaHostAlloc((void **)&r->report, sizeof *r->report, cudaHostAllocPortable | cudaHostAllocMapped);
  if (error != cudaSuccess) {
    iso__cuda_keep_error(ctx, "pinned memory", (int)error);
    iso__free(ctx, r, sizeof *r);
    return NULL;
  }
  *r->report = (iso__index_report){0};
  ctx->slot[ISO__SLOT_DEVICE] = r;
  ctx->slot_free[ISO__SLOT_DEVICE] = reports_free;
  return r;
}

iso_status iso__cuda_check_indices(iso_context *ctx, const iso__index_check *check, const void *from, iso_dtype dtype,
                                   int64_t *to, int64_t n) {
  const iso__cuda_device *d = iso__cuda_device_of(ctx->device);
  reports *r = reports_of(ctx);
  const int number = r ? iso__index_checks_find(ctx, &r->checks, check) : -1;
  if (number < 0) return ctx->error.code;
  iso__cuda_note(ctx->device, "a check of indices");
  const int error = iso__cuda_launch_index_check(&(iso__index_work){.from = from,
                                                                    .to = to,
                                                                    .n = n,
                                                                    .extent = check->extent,
                                                                    .ignored = check->ignored,
                                                                    .report = r->report,
                                                                    .check = number + 1,
                                                                    .is_i32 = dtype == ISO_I32,
                                                                    .wraps = check->wraps,
                                                                    .ignores = check->ignores},
                                                 iso__cuda_stream_of(d), d->n_multiprocessors);
  if (error) iso__cuda_keep_error(ctx, check->op, error);
  return ctx->error.code;
}

void iso__cuda_collect(iso_context *ctx) {
  const reports *r = ctx->slot[ISO__SLOT_DEVICE];
  const int32_t check = r ? *(volatile int32_t *)&r->report->check : 0;
  if (!check) return;
  iso__index_fail(ctx, &r->checks.list[check - 1], r->report->position, r->report->value);
  *r->report = (iso__index_report){0};
}
