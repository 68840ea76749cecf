/* map_avx2.c: pointwise functions with 8 lanes; see map_impl.h. */
#define WIDTH iso__bulk_avx2
#define ISA(name) name##_avx2
#include "kernels/map/map_impl.h"
#include "kernels/map/chain_impl.h"
