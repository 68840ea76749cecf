/* slots.h: sizes that the batch-norm engines and their workspace functions share. */
#ifndef ISO_KERNELS_NORM_SLOTS_H
#define ISO_KERNELS_NORM_SLOTS_H
#include "numeric/order.h"
enum {
  NORM_COLUMNS = 256, /* channels of one unit of work: 256 rows of them stay in L2 */
  NORM_WAVE = 64      /* chunks whose gradient sums wait in slots at a time */
};
#endif
