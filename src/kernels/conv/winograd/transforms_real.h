/* transforms_real.h: the transforms in scalar C, for the precision of the numeric/real_*.h included before: names end
 * in _f32 or _f64. */
#define WT REAL
#define WT_FN(name) NAMED(name)
#define WT_INLINE static inline
#define WT_ADD(a, b) ((a) + (b))
#define WT_SUB(a, b) ((a) - (b))
#define WT_MUL(a, b) ((a) * (b))
#define WT_FMA(a, b, c) EXACT(fma)(a, b, c)
#define WT_FNMA(a, b, c) EXACT(fma)(-(a), b, c)
#define WT_CONST(x) ((REAL)(x))
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
