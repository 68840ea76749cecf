/* report.h: what a CUDA device tells of itself: whose its memory is, and what ran when something failed. Like cuda.h
 * for rooms above, and there in builds without CUDA too; apart from cuda.h since no device code needs it. */
#ifndef ISO_DEVICE_CUDA_REPORT_H
#define ISO_DEVICE_CUDA_REPORT_H
#include "base/owner.h"
#include "device/device.h"

/* Bytes in use by owner: now, and when they were most. */
typedef struct iso__cuda_owners {
  size_t now[ISO__N_OWNERS], at_peak[ISO__N_OWNERS];
} iso__cuda_owners;
iso__cuda_owners iso__cuda_memory_owners(const iso__device *device);
/* A block turns out to be another's: tensors that become parameters. */
void iso__cuda_set_owner(const iso__device *device, void *block, iso__owner owner);

/* `what`, which lives for ever, is about to be launched. */
void iso__cuda_note(const iso__device *device, const char *what);
/* Why the device's work failed, and what was running as far as that is known. */
void iso__cuda_explain(const iso__device *device, char *text, size_t n_bytes);
#endif
