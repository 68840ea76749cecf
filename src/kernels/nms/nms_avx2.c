/* nms_avx2.c: suppression with 8 lanes; see nms_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/nms/nms_impl.h"
