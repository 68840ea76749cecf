/* transforms_vec.h: the transforms on vectors of numeric/vec.h's width, one lane a channel. */
#ifndef ISO_KERNELS_CONV_WINOGRAD_TRANSFORMS_VEC_H
#define ISO_KERNELS_CONV_WINOGRAD_TRANSFORMS_VEC_H
#include "numeric/vec.h"

#define WT vf
#define WT_FN(name) name
#define WT_INLINE VEC_FN
#define WT_ADD(a, b) vf_add(a, b)
#define WT_SUB(a, b) vf_sub(a, b)
#define WT_MUL(a, b) vf_mul(a, b)
#define WT_FMA(a, b, c) vf_fma(a, b, c)
#define WT_FNMA(a, b, c) vf_fnma(a, b, c)
#define WT_CONST(x) vf_set1((float)(x))
#include "kernels/conv/winograd/transforms.h"
#undef WT
#undef WT_FN
#undef WT_INLINE
#undef WT_ADD
#undef WT_SUB
#undef WT_MUL
#undef WT_FMA
#undef WT_FNMA
#undef WT_CONST
#endif
