/* segment_any.c: segments for any CPU; see segment_impl.h. */
#define ISA(name) name
#include "kernels/scatter/segment_impl.h"
