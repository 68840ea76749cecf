/* hd.h: functions that are compiled for the host and, by nvcc, for the device too: one source, the same bits. */
#ifndef ISO__NUMERIC_HD_H
#define ISO__NUMERIC_HD_H
#ifdef __CUDACC__
#  define ISO__HD __host__ __device__
#else
#  define ISO__HD
#endif

/* A table of constants outside of functions: each side has its own. */
#ifdef __CUDA_ARCH__
#  define ISO__TABLE static __device__ const
#else
#  define ISO__TABLE static const
#endif

/* Large functions that would be copied into every caller: compiling device code would take minutes. */
#ifdef __CUDACC__
#  define ISO__APART __noinline__
#else
#  define ISO__APART
#endif

/* Functions that are external in C and come with their header, inline, in device code. */
#ifdef __CUDACC__
#  define ISO__SHARED static inline ISO__HD
#else
#  define ISO__SHARED
#endif
#endif
