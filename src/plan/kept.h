/* kept.h: weights transformed once and kept beside them while they do not change.
 *
 * Winograd and FFT convolution transform their kernels, a matrix product packs its operand: work that need not be done
 * again while the weights stay what they are. An iso__kept belongs to one weights buffer. Whoever owns that buffer
 * keeps one beside it and passes it on with the buffer's version; a new version forgets everything.
 *
 *   iso__execute_kept(ctx, &p.head, &args, kept, version);   // p.head.kept is set here, and is part of the plan's key
 *
 * A form depends on the engine and on the weights' own shape, never on the batch: serving varying batches keeps one.
 * Where there is no memory for a form the problem runs as if nothing were kept; bits never depend on it. */
#ifndef ISO_PLAN_KEPT_H
#define ISO_PLAN_KEPT_H
#include "device/device.h"
#include "plan/plan.h"

typedef struct iso__kept iso__kept;

/* NULL: no memory. Forms are counted in this heap. */
iso__kept *iso__kept_new(iso__heap *heap, const iso__device *device);
void iso__kept_free(iso__kept *kept); /* NULL is fine */
size_t iso__kept_bytes(iso__kept *kept);
/* iso__execute with `kept` for the weights operand; several threads may share one. */
iso_status iso__execute_kept(iso_context *ctx, const iso__problem *problem, const void *args, iso__kept *kept,
                             unsigned version);

/* For tests and timing: makes the form that the call's problem and engine ask for, if any, into a block of the
 * context's heap, and sets call->kept. False: no memory. */
bool iso__call_prepare(iso__call *call, void **block);
void iso__call_unprepare(const iso__call *call, void *block);
#endif
