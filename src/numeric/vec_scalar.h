/* The vector layer in plain C: one lane, any machine. Included by vec.h, which defines the operations. */
#ifndef ISO__NUMERIC_VEC_SCALAR_H
#define ISO__NUMERIC_VEC_SCALAR_H

#include "half.h"

typedef float vf;
typedef int32_t vi;
typedef bool vm;
typedef double vd;
typedef int64_t vl;
typedef bool vdm;
enum { VF_LANES = 1, VD_LANES = 1 };
#define VEC_ISA_NAME "scalar"

/* float */
VEC_FN vf vf_load(const float *p) { return *p; }
VEC_FN void vf_store(float *p, vf a) { *p = a; }
VEC_FN vf vf_load_n(const float *p, size_t n) { return n ? *p : 0.0f; }
VEC_FN void vf_store_n(float *p, vf a, size_t n) {
  if (n) *p = a;
}
VEC_FN vf vf_set1(float a) { return a; }
VEC_FN vf vf_add(vf a, vf b) { return a + b; }
VEC_FN vf vf_sub(vf a, vf b) { return a - b; }
VEC_FN vf vf_mul(vf a, vf b) { return a * b; }
VEC_FN vf vf_div(vf a, vf b) { return a / b; }
VEC_FN vf vf_fma(vf a, vf b, vf c) { return fmaf(a, b, c); }
VEC_FN vf vf_fnma(vf a, vf b, vf c) { return fmaf(-a, b, c); }
VEC_FN vf vf_fms(vf a, vf b, vf c) { return fmaf(a, b, -c); }
VEC_FN vf vf_sqrt(vf a) { return sqrtf(a); }
VEC_FN vf vf_rint(vf a) { return rintf(a); }
VEC_FN vf vf_floor(vf a) { return floorf(a); }
VEC_FN vf vf_min(vf a, vf b) { return a < b ? a : b; }
VEC_FN vf vf_max(vf a, vf b) { return a > b ? a : b; }
VEC_FN vm vf_eq(vf a, vf b) { return a == b; }
VEC_FN vm vf_lt(vf a, vf b) { return a < b; }
VEC_FN vm vf_le(vf a, vf b) { return a <= b; }
VEC_FN vm vf_gt(vf a, vf b) { return a > b; }
VEC_FN vm vf_ge(vf a, vf b) { return a >= b; }
VEC_FN vm vf_unordered(vf a, vf b) { return a != a || b != b; }
VEC_FN vf vf_select(vm m, vf a, vf b) { return m ? a : b; }

/* masks */
VEC_FN vm vm_first(size_t n) { return n > 0; }
VEC_FN vm vm_and(vm a, vm b) { return a && b; }
VEC_FN vm vm_or(vm a, vm b) { return a || b; }
VEC_FN vm vm_not(vm a) { return !a; }
VEC_FN bool vm_any(vm a) { return a; }
VEC_FN bool vm_all(vm a) { return a; }
VEC_FN uint32_t vm_bits(vm a) { return a; }
VEC_FN vm vm_from_bits(uint32_t bits) { return bits & 1; }

/* int32 */
VEC_FN vi vi_load(const int32_t *p) { return *p; }
VEC_FN void vi_store(int32_t *p, vi a) { *p = a; }
VEC_FN void vi_store_n(int32_t *p, vi a, size_t n) {
  if (n) *p = a;
}
VEC_FN vi vi_set1(int32_t a) { return a; }
VEC_FN vi vi_iota(void) { return 0; }
VEC_FN vi vi_add(vi a, vi b) { return (int32_t)((uint32_t)a + (uint32_t)b); }
VEC_FN vi vi_sub(vi a, vi b) { return (int32_t)((uint32_t)a - (uint32_t)b); }
VEC_FN vi vi_mul(vi a, vi b) { return (int32_t)((uint32_t)a * (uint32_t)b); }
VEC_FN vi vi_mul_hi_u32(vi a, vi b) { return (int32_t)(((uint64_t)(uint32_t)a * (uint32_t)b) >> 32); }
VEC_FN vi vi_and(vi a, vi b) { return a & b; }
VEC_FN vi vi_andnot(vi a, vi b) { return ~a & b; }
VEC_FN vi vi_or(vi a, vi b) { return a | b; }
VEC_FN vi vi_xor(vi a, vi b) { return a ^ b; }
VEC_FN vi vi_sll(vi a, int n) { return (int32_t)((uint32_t)a << n); }
VEC_FN vi vi_srl(vi a, int n) { return (int32_t)((uint32_t)a >> n); }
VEC_FN vi vi_sra(vi a, int n) { return a >> n; }
VEC_FN vi vi_min(vi a, vi b) { return a < b ? a : b; }
VEC_FN vi vi_max(vi a, vi b) { return a > b ? a : b; }
VEC_FN vm vi_eq(vi a, vi b) { return a == b; }
VEC_FN vm vi_gt(vi a, vi b) { return a > b; }
VEC_FN vi vi_select(vm m, vi a, vi b) { return m ? a : b; }

/* between float and int32 */
VEC_FN vi vf_bits(vf a) {
  int32_t b;
  memcpy(&b, &a, sizeof b);
  return b;
}
VEC_FN vf vf_from_bits(vi a) {
  float b;
  memcpy(&b, &a, sizeof b);
  return b;
}
VEC_FN vf vf_from_vi(vi a) { return (float)a; }
VEC_FN vi vi_from_vf(vf a) { return a >= -0x1p31f && a < 0x1p31f ? (int32_t)a : INT32_MIN; }
VEC_FN vi vi_from_vf_near(vf a) { return vi_from_vf(rintf(a)); }

/* p·2^n, see vec.h: in two factors, of which only the last can round. */
VEC_FN vf vf_scale2(vf p, vf n) {
  const vi i = vi_from_vf(n), half = vi_sra(i, 1), bias = vi_set1(127);
  const vf a = vf_from_bits(vi_sll(vi_add(half, bias), 23));
  return vf_mul(vf_mul(p, a), vf_from_bits(vi_sll(vi_add(vi_sub(i, half), bias), 23)));
}

/* f16 and bf16 */
VEC_FN vf vf_load_bf16(const uint16_t *p) { return iso__f32_from_bf16(*p); }
VEC_FN void vf_store_bf16(uint16_t *p, vf a) { *p = iso__bf16_from_f32(a); }
VEC_FN vf vf_load_f16(const uint16_t *p) { return iso__f32_from_f16(*p); }
VEC_FN void vf_store_f16(uint16_t *p, vf a) { *p = iso__f16_from_f32(a); }
VEC_FN vf vf_load_bf16_n(const uint16_t *p, size_t n) { return n ? vf_load_bf16(p) : 0.0f; }
VEC_FN void vf_store_bf16_n(uint16_t *p, vf a, size_t n) {
  if (n) vf_store_bf16(p, a);
}
VEC_FN vf vf_load_f16_n(const uint16_t *p, size_t n) { return n ? vf_load_f16(p) : 0.0f; }
VEC_FN void vf_store_f16_n(uint16_t *p, vf a, size_t n) {
  if (n) vf_store_f16(p, a);
}

/* double; the one lane is the low half, the high half repeats it */
VEC_FN vd vd_load(const double *p) { return *p; }
VEC_FN void vd_store(double *p, vd a) { *p = a; }
VEC_FN vd vd_set1(double a) { return a; }
VEC_FN vd vd_add(vd a, vd b) { return a + b; }
VEC_FN vd vd_sub(vd a, vd b) { return a - b; }
VEC_FN vd vd_mul(vd a, vd b) { return a * b; }
VEC_FN vd vd_div(vd a, vd b) { return a / b; }
VEC_FN vd vd_fma(vd a, vd b, vd c) { return fma(a, b, c); }
VEC_FN vd vd_fnma(vd a, vd b, vd c) { return fma(-a, b, c); }
VEC_FN vd vd_sqrt(vd a) { return sqrt(a); }
VEC_FN vd vd_min(vd a, vd b) { return a < b ? a : b; }
VEC_FN vd vd_max(vd a, vd b) { return a > b ? a : b; }
VEC_FN vdm vd_lt(vd a, vd b) { return a < b; }
VEC_FN vdm vd_gt(vd a, vd b) { return a > b; }
VEC_FN vdm vd_eq(vd a, vd b) { return a == b; }
VEC_FN vd vd_select(vdm m, vd a, vd b) { return m ? a : b; }
VEC_FN vl vd_bits(vd a) {
  int64_t b;
  memcpy(&b, &a, sizeof b);
  return b;
}
VEC_FN vd vd_from_bits(vl a) {
  double b;
  memcpy(&b, &a, sizeof b);
  return b;
}
VEC_FN vl vl_set1(int64_t a) { return a; }
VEC_FN vl vl_add(vl a, vl b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
VEC_FN vl vl_sub(vl a, vl b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
VEC_FN vl vl_and(vl a, vl b) { return a & b; }
VEC_FN vl vl_or(vl a, vl b) { return a | b; }
VEC_FN vl vl_xor(vl a, vl b) { return a ^ b; }
VEC_FN vl vl_sll(vl a, int n) { return (int64_t)((uint64_t)a << n); }
VEC_FN vl vl_srl(vl a, int n) { return (int64_t)((uint64_t)a >> n); }
VEC_FN vd vd_from_vf_lo(vf a) { return (double)a; }
VEC_FN vd vd_from_vf_hi(vf a) { return (double)a; }
VEC_FN vf vf_from_vd(vd lo, vd hi) {
  (void)hi;
  return (float)lo;
}

#endif
