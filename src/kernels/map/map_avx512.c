/* map_avx512.c: pointwise functions with 16 lanes; see map_impl.h. */
#define WIDTH iso__bulk_avx512
#define ISA(name) name##_avx512
#include "kernels/map/map_impl.h"
#include "kernels/map/chain_impl.h"
