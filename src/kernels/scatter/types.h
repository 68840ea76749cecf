/* types.h: includes BODY once for every dtype that is added, multiplied or compared, with what the body calls its type:
 * TYPE, T(f) the name of f in it, PLUS, TIMES, FUSE(a, b, c) = a·b + c, IS_NAN, LEAST and MOST, POSITIVE_ZERO(x): x, a
 * zero as +0. Integers wrap. No guard: every BODY includes it anew. */

#define TYPE float
#define T(f) f##_f32
#define PLUS(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#define FUSE(a, b, c) fmaf(a, b, c)
#define IS_NAN(a) ((a) != (a))
#define LEAST (-INFINITY)
#define MOST INFINITY
#define POSITIVE_ZERO(a) ((a) + 0.0f)
#include BODY
#undef TYPE
#undef T
#undef FUSE
#undef POSITIVE_ZERO
#undef LEAST
#undef MOST

#define TYPE double
#define T(f) f##_f64
#define FUSE(a, b, c) fma(a, b, c)
#define LEAST ((double)-INFINITY)
#define MOST ((double)INFINITY)
#define POSITIVE_ZERO(a) ((a) + 0.0)
#include BODY
#undef TYPE
#undef T
#undef PLUS
#undef TIMES
#undef FUSE
#undef IS_NAN
#undef POSITIVE_ZERO
#undef LEAST
#undef MOST

#define IS_NAN(a) false
#define POSITIVE_ZERO(a) (a)
#define FUSE(a, b, c) PLUS(TIMES(a, b), c)

#define TYPE int64_t
#define T(f) f##_i64
#define PLUS(a, b) ((int64_t)((uint64_t)(a) + (uint64_t)(b)))
#define TIMES(a, b) ((int64_t)((uint64_t)(a) * (uint64_t)(b)))
#define LEAST INT64_MIN
#define MOST INT64_MAX
#include BODY
#undef TYPE
#undef T
#undef PLUS
#undef TIMES
#undef LEAST
#undef MOST

#define TYPE int32_t
#define T(f) f##_i32
#define PLUS(a, b) ((int32_t)((uint32_t)(a) + (uint32_t)(b)))
#define TIMES(a, b) ((int32_t)((uint32_t)(a) * (uint32_t)(b)))
#define LEAST INT32_MIN
#define MOST INT32_MAX
#include BODY
#undef TYPE
#undef T
#undef PLUS
#undef TIMES
#undef LEAST
#undef MOST

#define TYPE uint8_t
#define T(f) f##_u8
#define PLUS(a, b) ((uint8_t)((a) + (b)))
#define TIMES(a, b) ((uint8_t)((a) * (b)))
#define LEAST 0
#define MOST UINT8_MAX
#include BODY
#undef TYPE
#undef T
#undef PLUS
#undef TIMES
#undef LEAST
#undef MOST
#undef IS_NAN
#undef POSITIVE_ZERO
#undef FUSE
#undef BODY
