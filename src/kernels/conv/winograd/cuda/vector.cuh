/* vector.cuh: one to four channels in a thread, and the classes' transforms on them: transforms.h, the text from which
 * the references are compiled too, here for float and float4. */
#ifndef ISO_KERNELS_CONV_WINOGRAD_CUDA_VECTOR_CUH
#define ISO_KERNELS_CONV_WINOGRAD_CUDA_VECTOR_CUH
#include <cuda_runtime.h>
#include <stdint.h>
#include "kernels/conv/winograd/cuda/product.h"

namespace {

__device__ __forceinline__ float add(float a, float b) { return a + b; }
__device__ __forceinline__ float sub(float a, float b) { return a - b; }
__device__ __forceinline__ float mul(float a, float b) { return a * b; }
__device__ __forceinline__ float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ __forceinline__ float negated_fused(float a, float b, float c) { return __fmaf_rn(-a, b, c); }
__device__ __forceinline__ float4 add(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__device__ __forceinline__ float4 sub(float4 a, float4 b) {
  return make_float4(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w);
}
__device__ __forceinline__ float4 mul(float4 a, float4 b) {
  return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
}
__device__ __forceinline__ float4 fused(float4 a, float4 b, float4 c) {
  return make_float4(fused(a.x, b.x, c.x), fused(a.y, b.y, c.y), fused(a.z, b.z, c.z), fused(a.w, b.w, c.w));
}
__device__ __forceinline__ float4 negated_fused(float4 a, float4 b, float4 c) {
  return make_float4(negated_fused(a.x, b.x, c.x), negated_fused(a.y, b.y, c.y), negated_fused(a.z, b.z, c.z),
                     negated_fused(a.w, b.w, c.w));
}

template <class V> __device__ __forceinline__ V splat(float x);
template <> __device__ __forceinline__ float splat<float>(float x) { return x; }
template <> __device__ __forceinline__ float4 splat<float4>(float x) { return make_float4(x, x, x, x); }
template <class V> __device__ __forceinline__ V load(const float *p) { return *(const V *)p; }
template <class V> __device__ __forceinline__ V load_or_zero(const float *p, bool inside) {
  return inside ? load<V>(p) : splat<V>(0.0f);
}
template <class V> __device__ __forceinline__ void store(float *p, V v) { *(V *)p = v; }
__device__ __forceinline__ float lane(float v, int) { return v; }
__device__ __forceinline__ float lane(float4 v, int i) { return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w; }
__device__ __forceinline__ float relu(float x) { return x > 0 ? x : x != x ? x : 0; }
__device__ __forceinline__ float4 relu(float4 v) { return make_float4(relu(v.x), relu(v.y), relu(v.z), relu(v.w)); }
template <class V> constexpr int width = (int)(sizeof(V) / sizeof(float));

#define WT_FN(name) name
#define WT_INLINE __device__ __forceinline__
#define WT_ADD(a, b) add(a, b)
#define WT_SUB(a, b) sub(a, b)
#define WT_MUL(a, b) mul(a, b)
#define WT_FMA(a, b, c) fused(a, b, c)
#define WT_FNMA(a, b, c) negated_fused(a, b, c)
#define WT_CONST(x) splat<WT>((float)(x))
#define WT float
#include "kernels/conv/winograd/transforms.h"
#undef WT
#define WT float4
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

/* A class by its transforms: winograd_4k3 and so on. Its tiles fit registers four channels at a time, or one. */
#define ISO__WINO_CUDA_CLASS(suffix, m_, r_)                                                                           \
  struct winograd_##suffix {                                                                                           \
    static constexpr int m = m_, r = r_, alpha = m_ + r_ - 1, points = alpha * alpha;                                  \
    static constexpr bool by_four = alpha <= 6;                                                                        \
    template <class V> static __device__ __forceinline__ void data(const V *d, V *v) { wino_data_##suffix(d, v); }     \
    template <class V> static __device__ __forceinline__ void kernel(const V *g, V *u) { wino_kernel_##suffix(g, u); } \
    template <class V> static __device__ __forceinline__ void output(const V *p, V *y) { wino_output_##suffix(p, y); } \
    template <class V> static __device__ __forceinline__ void grad(const V *y, V *z) { wino_grad_##suffix(y, z); }     \
    template <class V> static __device__ __forceinline__ void dkernel(const V *p, V *w) {                              \
      wino_dkernel_##suffix(p, w);                                                                                     \
    }                                                                                                                  \
  };
ISO__WINO_CUDA_CLASS(2k3, 2, 3)
ISO__WINO_CUDA_CLASS(4k3, 4, 3)
ISO__WINO_CUDA_CLASS(5k3, 5, 3)
ISO__WINO_CUDA_CLASS(6k3, 6, 3)
ISO__WINO_CUDA_CLASS(2k5, 2, 5)
ISO__WINO_CUDA_CLASS(4k5, 4, 5)

/* One value a point from its chunks' sums, A points at a time. known_slots: at most so many, of one panel, whose loads
 * are all in flight at once; 0: any number. */
template <class V, int A, int known_slots>
__device__ __forceinline__ void folded(const float *at, int64_t step, const iso__conv_cuda_slots &slots, V *sum) {
  constexpr int at_once = known_slots ? known_slots : 1;
  V value[at_once][A], panel[A];
#pragma unroll
  for (int slot = 0; slot < at_once; slot++) {
#pragma unroll
    for (int i = 0; i < A; i++) /* beyond the last one +0, which changes nothing */
      value[slot][i] = load_or_zero<V>(at + slot * slots.stride + i * step, slot == 0 || slot < slots.n);
  }
#pragma unroll
  for (int i = 0; i < A; i++) {
    sum[i] = splat<V>(0.0f), panel[i] = splat<V>(0.0f);
#pragma unroll
    for (int slot = 0; slot < at_once; slot++) panel[i] = add(panel[i], value[slot][i]);
  }
  const int n = known_slots ? 0 : slots.n;
  for (int slot = 1; slot < n; slot++) {
#pragma unroll
    for (int i = 0; i < A; i++) {
      if (slot % 4 == 0) sum[i] = add(sum[i], panel[i]), panel[i] = splat<V>(0.0f);
      panel[i] = add(panel[i], load<V>(at + slot * slots.stride + i * step));
    }
  }
#pragma unroll
  for (int i = 0; i < A; i++) sum[i] = add(sum[i], panel[i]);
}

/* Where a tile's pixels are: pixel (i, j) at `at` + i·row + j·pitch, if inside(i, j). */
struct tile_place {
  int64_t at;
  int row, pitch, h, w, n_h, n_w;
  __device__ __forceinline__ bool inside(int i, int j) const {
    return (unsigned)(h + i) < (unsigned)n_h && (unsigned)(w + j) < (unsigned)n_w;
  }
  __device__ __forceinline__ int offset(int i, int j) const { return i * row + j * pitch; }
};
template <class Slice> __device__ __forceinline__ tile_place place_of(const Slice &s, int tile, int m) {
  const int number = s.first + tile, column = number % s.tiles_w, rows = number / s.tiles_w, row = rows % s.tiles_h;
  const int64_t sample = s.sample + rows / s.tiles_h;
  tile_place t = {0,
                  s.image.w * s.image.pitch,
                  s.image.pitch,
                  row * m + s.image.offset_h,
                  column * m + s.image.offset_w,
                  s.image.h,
                  s.image.w};
  t.at = ((sample * s.image.h + t.h) * s.image.w + t.w) * s.image.pitch;
  return t;
}

} // namespace
#endif
