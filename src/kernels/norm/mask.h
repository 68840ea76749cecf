/* mask.h: where relu's mask comes from in batch norm's gradients. */
#ifndef ISO_KERNELS_NORM_MASK_H
#define ISO_KERNELS_NORM_MASK_H
#include "kernels/norm/norm.h"

typedef enum mask { NO_MASK, MASK_OF_Y, MASK_OF_X } mask; /* of the saved result, or of it computed again from x */

static inline mask mask_of(const iso_batch_norm_problem *p) {
  return p->recomputes ? MASK_OF_X : p->activation ? MASK_OF_Y : NO_MASK;
}
#endif
