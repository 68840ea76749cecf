/* fours.cuh: passes over n contiguous f32 elements, four a thread where the pointers allow it. */
#ifndef ISO_KERNELS_FOURS_CUH
#define ISO_KERNELS_FOURS_CUH
#include <stdint.h>

enum { FOURS_THREADS = 256 };

/* The first of this thread's four elements. */
static __device__ __forceinline__ int64_t first_of_four() { return 4 * ((int64_t)blockIdx.x * FOURS_THREADS + threadIdx.x); }
static inline bool lies_in_fours(const void *p) { return ((uintptr_t)p & 15) == 0; }

/* Elements i … i + 3 of n; `whole`: p lies on 16 bytes. What lies beyond is not touched. */
static __device__ __forceinline__ void read_four(float (&v)[4], const float *p, int64_t i, int64_t n, bool whole) {
  if (whole && i + 4 <= n) {
    const float4 w = __ldg((const float4 *)(p + i));
    v[0] = w.x, v[1] = w.y, v[2] = w.z, v[3] = w.w;
  } else {
#pragma unroll
    for (int k = 0; k < 4; k++) v[k] = i + k < n ? __ldg(p + i + k) : 0;
  }
}
static __device__ __forceinline__ void write_four(float *p, int64_t i, int64_t n, bool whole, const float (&v)[4]) {
  if (whole && i + 4 <= n) {
    *(float4 *)(p + i) = make_float4(v[0], v[1], v[2], v[3]);
  } else {
#pragma unroll
    for (int k = 0; k < 4; k++)
      if (i + k < n) p[i + k] = v[k];
  }
}
#endif
