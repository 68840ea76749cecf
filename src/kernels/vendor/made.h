/* made.h: what a vendor's library was asked about a problem once (algorithm, workspace, its descriptors), kept for the
 * process: planning asks, running only looks it up. */
#ifndef ISO_KERNELS_VENDOR_MADE_H
#define ISO_KERNELS_VENDOR_MADE_H
#include <pthread.h>
#include "plan/plan.h"

enum { ISO__VENDOR_MADE = 8192 };

typedef struct iso__vendor_made {
  pthread_mutex_t mutex; /* also held while the library runs: its handles serve one thread at a time */
  void *entry[ISO__VENDOR_MADE];
  int n;
} iso__vendor_made;

/* The value of (row, problem, device), made by `make` at the first call; NULL: no memory, or as many as are kept.
 * Called with the mutex held. What was made lives as long as the process. */
void *iso__vendor_made_get(iso__vendor_made *made, int row, const iso__problem *problem, int device,
                           void *(*make)(int row, const iso__problem *problem, int device));

/* Whether all pointers lie on multiples of n_bytes; NULL lies on any. */
bool iso__vendor_aligned(size_t n_bytes, int n, const void *const *pointers);

#endif
