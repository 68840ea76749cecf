/* hd.h: functions that are compiled for the host and, by nvcc, for the device too: one source, the same bits. */
#ifndef ISO__NUMERIC_HD_H
#define ISO__NUMERIC_HD_H
#ifdef __CUDACC__
#  define ISO__HD __host__ __device__
#else
#  define ISO__HD
#endif
#endif
