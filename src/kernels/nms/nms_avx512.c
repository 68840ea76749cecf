/* nms_avx512.c: suppression with 16 lanes; see nms_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/nms/nms_impl.h"
