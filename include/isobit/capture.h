/* capture.h: work recorded once and repeated on the same memory, as a CUDA graph: what operators cost beside their
 * arithmetic (looking plans up, allocating, launching) is paid once.
 *
 *   iso_capture *step = iso_capture_new(ctx);
 *   forward_and_backward();                            // once as usual: plans are made, code is loaded
 *   iso_optimizer_zero_grad(optimizer);
 *   if (iso_capture_begin(step)) loss = iso_keep(forward_and_backward());
 *   if (!iso_capture_end(step)) puts(iso_capture_reason(step)); // and go on as usual
 *   for (;;) {
 *     iso_tensor_assign(x, next_batch);                // into the tensor that was captured
 *     iso_capture_replay(step);
 *     iso_optimizer_step(optimizer);                   // beside the capture: its numbers change from step to step
 *     iso_tensor_item(loss, &value);
 *     iso_optimizer_zero_grad(optimizer);
 *   }
 *
 * A replay gives the bits of the same calls made anew: tensors that were captured are read and written where they lie,
 * gradients become their leaves' again, and random operators draw by the step's number at the replay. Shapes, modes,
 * seed and the numbers given to operators stay those of the recording.
 *
 * A copy to the CPU by iso_to is recorded too: host = iso_keep(iso_to(ctx, y, "cpu")). The tensor has its elements
 * after a replay; iso_tensor_item, iso_tensor_copy_to and the like wait for it, as iso_synchronize does,
 * iso_tensor_data does not.
 *
 * A replay writes where the recording wrote, but nobody counts it as a modification. A graph that is recorded on the
 * tape as usual and saves a tensor which the capture made or wrote has to be walked before the next replay, or would
 * differentiate with the new elements unnoticed; and weights that a capture writes need iso_tensor_touch after a
 * replay, so that their packed forms are made anew. Labels and indices whose range was known when they were recorded
 * (those of a loader) are not looked at by replays: what is assigned to them later must be in that range.
 *
 * What cannot be recorded is no error: iso_capture_end says why, and the caller goes on as usual: everything on the CPU
 * (where operators run at once); elements copied to the device, or looked at on the host; an optimiser's step or
 * clipping; a plan that would have to be timed; memory that there is not. */
#ifndef ISOBIT_CAPTURE_H
#define ISOBIT_CAPTURE_H
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct iso_capture iso_capture;

/* NULL with the context's error set when there is no memory. */
ISO_API iso_capture *iso_capture_new(iso_context *ctx);
/* Its memory goes back when the tensors made in it are gone too. Before the context; NULL is fine. */
ISO_API void iso_capture_free(iso_capture *capture);

/* From here to `end` what this thread asks of the device is recorded, not run (other threads' work is): results hold
 * nothing before the first replay. One capture of a device at a time, each recorded once; gradients have been zeroed,
 * and the tape holds no work. false: iso_capture_reason says why, and nothing is recorded. Tensors that exist now and
 * are used in between have to outlive the capture, as have packed weights. */
ISO_API bool iso_capture_begin(iso_capture *capture);
/* Whether all in between was recorded. If not, nothing has run, gradients are zeroed, and an error that a call in
 * between met is no longer the context's but the reason: running the same again will meet it, unless the capture was to
 * blame. */
ISO_API bool iso_capture_end(iso_capture *capture);
ISO_API const char *iso_capture_reason(const iso_capture *capture); /* "" as long as there is none */
/* Runs what was recorded, without waiting for it. ISO_STATE where that would not give the bits of running it anew:
 * nothing was recorded, leaves still have gradients, or random numbers were drawn since the step began. */
ISO_API iso_status iso_capture_replay(iso_capture *capture);

#ifdef __cplusplus
}
#endif
#endif
