/* The vector layer in AVX-512 (F, BW, DQ, VL): sixteen lanes. Included by vec.h, which defines the operations. */
#ifndef ISO__NUMERIC_VEC_AVX512_H
#define ISO__NUMERIC_VEC_AVX512_H

#include <immintrin.h>

typedef __m512 vf;
typedef __m512i vi;
typedef __mmask16 vm;
typedef __m512d vd;
typedef __m512i vl;
typedef __mmask8 vdm;
/* Without optimisation gcc's intrinsics are macros, whose own casts -Wconversion would report here. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"

enum { VF_LANES = 16, VD_LANES = 8 };
#define VEC_ISA_NAME "avx512"

/* masks */
VEC_FN vm vm_first(size_t n) { return (vm)(n < 16 ? (1u << n) - 1u : 0xffffu); }
VEC_FN vm vm_and(vm a, vm b) { return (vm)(a & b); }
VEC_FN vm vm_or(vm a, vm b) { return (vm)(a | b); }
VEC_FN vm vm_not(vm a) { return (vm)(~(unsigned)a & 0xffffu); }
VEC_FN bool vm_any(vm a) { return a != 0; }
VEC_FN bool vm_all(vm a) { return a == 0xffff; }
VEC_FN uint32_t vm_bits(vm a) { return a; }
VEC_FN vm vm_from_bits(uint32_t bits) { return (vm)bits; }

/* float */
VEC_FN vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
VEC_FN void vf_store(float *p, vf a) { _mm512_storeu_ps(p, a); }
VEC_FN vf vf_load_n(const float *p, size_t n) { return _mm512_maskz_loadu_ps(vm_first(n), p); }
VEC_FN void vf_store_n(float *p, vf a, size_t n) { _mm512_mask_storeu_ps(p, vm_first(n), a); }
VEC_FN vf vf_set1(float a) { return _mm512_set1_ps(a); }
VEC_FN vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
VEC_FN vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
VEC_FN vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
VEC_FN vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
VEC_FN vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
VEC_FN vf vf_fnma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); }
VEC_FN vf vf_fms(vf a, vf b, vf c) { return _mm512_fmsub_ps(a, b, c); }
VEC_FN vf vf_sqrt(vf a) { return _mm512_sqrt_ps(a); }
VEC_FN vf vf_rint(vf a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
VEC_FN vf vf_floor(vf a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
VEC_FN vf vf_min(vf a, vf b) { return _mm512_min_ps(a, b); }
VEC_FN vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }
VEC_FN vm vf_eq(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
VEC_FN vm vf_lt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
VEC_FN vm vf_le(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
VEC_FN vm vf_gt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
VEC_FN vm vf_ge(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
VEC_FN vm vf_unordered(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); }
VEC_FN vf vf_select(vm m, vf a, vf b) { return _mm512_mask_blend_ps(m, b, a); }

/* int32 */
VEC_FN vi vi_load(const int32_t *p) { return _mm512_loadu_si512(p); }
VEC_FN void vi_store(int32_t *p, vi a) { _mm512_storeu_si512(p, a); }
VEC_FN void vi_store_n(int32_t *p, vi a, size_t n) { _mm512_mask_storeu_epi32(p, vm_first(n), a); }
VEC_FN vi vi_set1(int32_t a) { return _mm512_set1_epi32(a); }
VEC_FN vi vi_iota(void) { return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }
VEC_FN vi vi_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
VEC_FN vi vi_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
VEC_FN vi vi_mul(vi a, vi b) { return _mm512_mullo_epi32(a, b); }
VEC_FN vi vi_mul_hi_u32(vi a, vi b) {
  const __m512i even = _mm512_mul_epu32(a, b);
  const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32));
  return _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 32), odd);
}
VEC_FN vi vi_and(vi a, vi b) { return _mm512_and_si512(a, b); }
VEC_FN vi vi_andnot(vi a, vi b) { return _mm512_andnot_si512(a, b); }
VEC_FN vi vi_or(vi a, vi b) { return _mm512_or_si512(a, b); }
VEC_FN vi vi_xor(vi a, vi b) { return _mm512_xor_si512(a, b); }
VEC_FN vi vi_sll(vi a, int n) { return _mm512_slli_epi32(a, (unsigned)n); }
VEC_FN vi vi_srl(vi a, int n) { return _mm512_srli_epi32(a, (unsigned)n); }
VEC_FN vi vi_sra(vi a, int n) { return _mm512_srai_epi32(a, (unsigned)n); }
VEC_FN vi vi_min(vi a, vi b) { return _mm512_min_epi32(a, b); }
VEC_FN vi vi_max(vi a, vi b) { return _mm512_max_epi32(a, b); }
VEC_FN vm vi_eq(vi a, vi b) { return _mm512_cmpeq_epi32_mask(a, b); }
VEC_FN vm vi_gt(vi a, vi b) { return _mm512_cmpgt_epi32_mask(a, b); }
VEC_FN vi vi_select(vm m, vi a, vi b) { return _mm512_mask_blend_epi32(m, b, a); }

/* between float and int32 */
VEC_FN vi vf_bits(vf a) { return _mm512_castps_si512(a); }
VEC_FN vf vf_from_bits(vi a) { return _mm512_castsi512_ps(a); }
VEC_FN vf vf_from_vi(vi a) { return _mm512_cvtepi32_ps(a); }
VEC_FN vi vi_from_vf(vf a) { return _mm512_cvttps_epi32(a); }
VEC_FN vi vi_from_vf_near(vf a) { return _mm512_cvtps_epi32(a); }

/* p·2^n, see vec.h */
VEC_FN vf vf_scale2(vf p, vf n) { return _mm512_scalef_ps(p, n); }

/* f16 and bf16 */
VEC_FN vf vf_from_bf16_lanes(__m256i w) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(w), 16)); }
VEC_FN __m256i vf_to_bf16_lanes(vf a) {
  const __m512i u = _mm512_castps_si512(a);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
  const __m512i r = _mm512_srli_epi32(_mm512_add_epi32(u, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
  const vm nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(_mm512_mask_blend_epi32(nan, r, _mm512_set1_epi32(0x7fc0)));
}
VEC_FN __m256i vf_to_f16_lanes(vf a) {
  const vm nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
  const vf q = _mm512_mask_blend_ps(nan, a, _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000)));
  return _mm512_cvtps_ph(q, _MM_FROUND_TO_NEAREST_INT);
}
VEC_FN vf vf_load_bf16(const uint16_t *p) { return vf_from_bf16_lanes(_mm256_loadu_si256((const __m256i *)p)); }
VEC_FN void vf_store_bf16(uint16_t *p, vf a) { _mm256_storeu_si256((__m256i *)p, vf_to_bf16_lanes(a)); }
VEC_FN vf vf_load_f16(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
VEC_FN void vf_store_f16(uint16_t *p, vf a) { _mm256_storeu_si256((__m256i *)p, vf_to_f16_lanes(a)); }
VEC_FN vf vf_load_bf16_n(const uint16_t *p, size_t n) {
  return vf_from_bf16_lanes(_mm256_maskz_loadu_epi16(vm_first(n), p));
}
VEC_FN void vf_store_bf16_n(uint16_t *p, vf a, size_t n) {
  _mm256_mask_storeu_epi16(p, vm_first(n), vf_to_bf16_lanes(a));
}
VEC_FN vf vf_load_f16_n(const uint16_t *p, size_t n) {
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(vm_first(n), p));
}
VEC_FN void vf_store_f16_n(uint16_t *p, vf a, size_t n) {
  _mm256_mask_storeu_epi16(p, vm_first(n), vf_to_f16_lanes(a));
}

/* double */
VEC_FN vd vd_load(const double *p) { return _mm512_loadu_pd(p); }
VEC_FN void vd_store(double *p, vd a) { _mm512_storeu_pd(p, a); }
VEC_FN vd vd_set1(double a) { return _mm512_set1_pd(a); }
VEC_FN vd vd_add(vd a, vd b) { return _mm512_add_pd(a, b); }
VEC_FN vd vd_sub(vd a, vd b) { return _mm512_sub_pd(a, b); }
VEC_FN vd vd_mul(vd a, vd b) { return _mm512_mul_pd(a, b); }
VEC_FN vd vd_div(vd a, vd b) { return _mm512_div_pd(a, b); }
VEC_FN vd vd_fma(vd a, vd b, vd c) { return _mm512_fmadd_pd(a, b, c); }
VEC_FN vd vd_fnma(vd a, vd b, vd c) { return _mm512_fnmadd_pd(a, b, c); }
VEC_FN vd vd_sqrt(vd a) { return _mm512_sqrt_pd(a); }
VEC_FN vd vd_min(vd a, vd b) { return _mm512_min_pd(a, b); }
VEC_FN vd vd_max(vd a, vd b) { return _mm512_max_pd(a, b); }
VEC_FN vdm vd_lt(vd a, vd b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
VEC_FN vdm vd_gt(vd a, vd b) { return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ); }
VEC_FN vdm vd_eq(vd a, vd b) { return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ); }
VEC_FN vd vd_select(vdm m, vd a, vd b) { return _mm512_mask_blend_pd(m, b, a); }
VEC_FN vl vd_bits(vd a) { return _mm512_castpd_si512(a); }
VEC_FN vd vd_from_bits(vl a) { return _mm512_castsi512_pd(a); }
VEC_FN vl vl_set1(int64_t a) { return _mm512_set1_epi64(a); }
VEC_FN vl vl_add(vl a, vl b) { return _mm512_add_epi64(a, b); }
VEC_FN vl vl_sub(vl a, vl b) { return _mm512_sub_epi64(a, b); }
VEC_FN vl vl_and(vl a, vl b) { return _mm512_and_si512(a, b); }
VEC_FN vl vl_or(vl a, vl b) { return _mm512_or_si512(a, b); }
VEC_FN vl vl_xor(vl a, vl b) { return _mm512_xor_si512(a, b); }
VEC_FN vl vl_sll(vl a, int n) { return _mm512_slli_epi64(a, (unsigned)n); }
VEC_FN vl vl_srl(vl a, int n) { return _mm512_srli_epi64(a, (unsigned)n); }
VEC_FN vd vd_from_vf_lo(vf a) { return _mm512_cvtps_pd(_mm512_castps512_ps256(a)); }
VEC_FN vd vd_from_vf_hi(vf a) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1)); }
VEC_FN vf vf_from_vd(vd lo, vd hi) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(lo)), _mm512_cvtpd_ps(hi), 1);
}

#pragma GCC diagnostic pop

#endif
