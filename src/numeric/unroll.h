/* unroll.h: loops over registers, unrolled: UNROLL_n for at most n turns. */
#ifndef ISO__NUMERIC_UNROLL_H
#define ISO__NUMERIC_UNROLL_H

/* Arrays of vectors become registers only if their loops are unrolled. Not for clang's sanitizers: every access is
 * checked anyway, and unrolled checks take minutes to compile. */
#if defined(__has_feature)
#  define WITHOUT_UNROLLING __has_feature(address_sanitizer)
#else
#  define WITHOUT_UNROLLING 0
#endif
#if WITHOUT_UNROLLING
#  define UNROLL_4
#  define UNROLL_16
#  define UNROLL_32
#elif defined(__CUDACC__)
#  define UNROLL_4 _Pragma("unroll")
#  define UNROLL_16 _Pragma("unroll")
#  define UNROLL_32 _Pragma("unroll")
#elif defined(__clang__)
#  define UNROLL_4 _Pragma("clang loop unroll_count(4)")
#  define UNROLL_16 _Pragma("clang loop unroll(full)")
#  define UNROLL_32 _Pragma("clang loop unroll(full)")
#else
#  define UNROLL_4 _Pragma("GCC unroll 4")
#  define UNROLL_16 _Pragma("GCC unroll 16")
#  define UNROLL_32 _Pragma("GCC unroll 32")
#endif
#endif
