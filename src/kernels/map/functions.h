/* functions.h: what map's reference and engines share. */
#ifndef ISO_KERNELS_MAP_FUNCTIONS_H
#define ISO_KERNELS_MAP_FUNCTIONS_H
#include <stdlib.h>
#include "kernels/map/map.h"

/* pow_scalar squares for whole exponents up to this, in both directions; others go through pow. */
#define ISO__MAP_LARGEST_INTEGER_POWER 64

/* Elements below which a second thread costs more than it saves. */
int64_t iso__map_grain(iso__map_fn fn);
#endif
