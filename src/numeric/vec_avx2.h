/* The vector layer in AVX2, FMA and F16C: eight lanes. Included by vec.h, which defines the operations. */
#ifndef ISO__NUMERIC_VEC_AVX2_H
#define ISO__NUMERIC_VEC_AVX2_H

#include <immintrin.h>

typedef __m256 vf;
typedef __m256i vi;
typedef __m256 vm; /* all bits of a lane alike */
typedef __m256d vd;
typedef __m256i vl;
typedef __m256d vdm;
enum { VF_LANES = 8, VD_LANES = 4 };
#define VEC_ISA_NAME "avx2"

/* masks */
VEC_FN vm vm_first(size_t n) {
  const int k = n < 8 ? (int)n : 8;
  return _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(k), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
}
VEC_FN vm vm_and(vm a, vm b) { return _mm256_and_ps(a, b); }
VEC_FN vm vm_or(vm a, vm b) { return _mm256_or_ps(a, b); }
VEC_FN vm vm_not(vm a) { return _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(-1))); }
VEC_FN bool vm_any(vm a) { return _mm256_movemask_ps(a) != 0; }
VEC_FN bool vm_all(vm a) { return _mm256_movemask_ps(a) == 0xff; }
VEC_FN uint32_t vm_bits(vm a) { return (uint32_t)_mm256_movemask_ps(a); }
VEC_FN vm vm_from_bits(uint32_t bits) {
  const __m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), lane), lane));
}

/* float */
VEC_FN vf vf_load(const float *p) { return _mm256_loadu_ps(p); }
VEC_FN void vf_store(float *p, vf a) { _mm256_storeu_ps(p, a); }
/* A constant n that asks for all lanes is a plain move, which masked ones (slow stores) do not become by themselves. */
#define VEC_ALL(n) (__builtin_constant_p(n) && (n) >= 8)
VEC_FN vf vf_load_n(const float *p, size_t n) {
  return VEC_ALL(n) ? vf_load(p) : _mm256_maskload_ps(p, _mm256_castps_si256(vm_first(n)));
}
VEC_FN void vf_store_n(float *p, vf a, size_t n) {
  if (VEC_ALL(n)) vf_store(p, a);
  else _mm256_maskstore_ps(p, _mm256_castps_si256(vm_first(n)), a);
}
VEC_FN vf vf_set1(float a) { return _mm256_set1_ps(a); }
VEC_FN vf vf_add(vf a, vf b) { return _mm256_add_ps(a, b); }
VEC_FN vf vf_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
VEC_FN vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
VEC_FN vf vf_div(vf a, vf b) { return _mm256_div_ps(a, b); }
VEC_FN vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
VEC_FN vf vf_fnma(vf a, vf b, vf c) { return _mm256_fnmadd_ps(a, b, c); }
VEC_FN vf vf_fms(vf a, vf b, vf c) { return _mm256_fmsub_ps(a, b, c); }
VEC_FN vf vf_sqrt(vf a) { return _mm256_sqrt_ps(a); }
VEC_FN vf vf_rint(vf a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
VEC_FN vf vf_floor(vf a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
VEC_FN vf vf_min(vf a, vf b) { return _mm256_min_ps(a, b); }
VEC_FN vf vf_max(vf a, vf b) { return _mm256_max_ps(a, b); }
VEC_FN vm vf_eq(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
VEC_FN vm vf_lt(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
VEC_FN vm vf_le(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
VEC_FN vm vf_gt(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
VEC_FN vm vf_ge(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_GE_OQ); }
VEC_FN vm vf_unordered(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_UNORD_Q); }
VEC_FN vf vf_select(vm m, vf a, vf b) { return _mm256_blendv_ps(b, a, m); }

/* int32 */
VEC_FN vi vi_load(const int32_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
VEC_FN void vi_store(int32_t *p, vi a) { _mm256_storeu_si256((__m256i *)p, a); }
VEC_FN void vi_store_n(int32_t *p, vi a, size_t n) {
  if (VEC_ALL(n)) vi_store(p, a);
  else _mm256_maskstore_epi32(p, _mm256_castps_si256(vm_first(n)), a);
}
VEC_FN vi vi_set1(int32_t a) { return _mm256_set1_epi32(a); }
VEC_FN vi vi_iota(void) { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
VEC_FN vi vi_add(vi a, vi b) { return _mm256_add_epi32(a, b); }
VEC_FN vi vi_sub(vi a, vi b) { return _mm256_sub_epi32(a, b); }
VEC_FN vi vi_mul(vi a, vi b) { return _mm256_mullo_epi32(a, b); }
VEC_FN vi vi_mul_hi_u32(vi a, vi b) {
  const __m256i even = _mm256_mul_epu32(a, b);
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));
  return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
}
VEC_FN vi vi_and(vi a, vi b) { return _mm256_and_si256(a, b); }
VEC_FN vi vi_andnot(vi a, vi b) { return _mm256_andnot_si256(a, b); }
VEC_FN vi vi_or(vi a, vi b) { return _mm256_or_si256(a, b); }
VEC_FN vi vi_xor(vi a, vi b) { return _mm256_xor_si256(a, b); }
VEC_FN vi vi_sll(vi a, int n) { return _mm256_slli_epi32(a, n); }
VEC_FN vi vi_srl(vi a, int n) { return _mm256_srli_epi32(a, n); }
VEC_FN vi vi_sra(vi a, int n) { return _mm256_srai_epi32(a, n); }
VEC_FN vi vi_min(vi a, vi b) { return _mm256_min_epi32(a, b); }
VEC_FN vi vi_max(vi a, vi b) { return _mm256_max_epi32(a, b); }
VEC_FN vm vi_eq(vi a, vi b) { return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b)); }
VEC_FN vm vi_gt(vi a, vi b) { return _mm256_castsi256_ps(_mm256_cmpgt_epi32(a, b)); }
VEC_FN vi vi_select(vm m, vi a, vi b) { return _mm256_blendv_epi8(b, a, _mm256_castps_si256(m)); }

/* between float and int32 */
VEC_FN vi vf_bits(vf a) { return _mm256_castps_si256(a); }
VEC_FN vf vf_from_bits(vi a) { return _mm256_castsi256_ps(a); }
VEC_FN vf vf_from_vi(vi a) { return _mm256_cvtepi32_ps(a); }
VEC_FN vi vi_from_vf(vf a) { return _mm256_cvttps_epi32(a); }
VEC_FN vi vi_from_vf_near(vf a) { return _mm256_cvtps_epi32(a); }

/* p·2^n, see vec.h: in two factors, of which only the last can round. The sum's low bits are n and both biases; what
 * is above nine bits, shifts drop. */
VEC_FN vf vf_scale2(vf p, vf n) {
  const vi i = vf_bits(vf_add(n, vf_set1(0x1.8p23f + 254))), half = vi_srl(i, 1);
  return vf_mul(vf_mul(p, vf_from_bits(vi_sll(half, 23))), vf_from_bits(vi_sll(vi_sub(i, half), 23)));
}

/* f16 and bf16 */
VEC_FN vf vf_load_bf16(const uint16_t *p) {
  const __m256i w = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(w, 16));
}
VEC_FN void vf_store_bf16(uint16_t *p, vf a) {
  const __m256i u = _mm256_castps_si256(a);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
  __m256i r = _mm256_srli_epi32(_mm256_add_epi32(u, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
  r = vi_select(_mm256_cmp_ps(a, a, _CMP_UNORD_Q), _mm256_set1_epi32(0x7fc0), r);
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(r, r), 0x08);
  _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(packed));
}
VEC_FN vf vf_load_f16(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
VEC_FN void vf_store_f16(uint16_t *p, vf a) {
  const vf q = vf_select(_mm256_cmp_ps(a, a, _CMP_UNORD_Q), _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000)), a);
  _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(q, _MM_FROUND_TO_NEAREST_INT));
}
/* There is no masked move of 16-bit elements here: short ends pass through a buffer. */
VEC_FN vf vf_load_bf16_n(const uint16_t *p, size_t n) {
  uint16_t buffer[8] = {0};
  memcpy(buffer, p, (n < 8 ? n : 8) * sizeof *p);
  return vf_load_bf16(buffer);
}
VEC_FN void vf_store_bf16_n(uint16_t *p, vf a, size_t n) {
  uint16_t buffer[8];
  vf_store_bf16(buffer, a);
  memcpy(p, buffer, (n < 8 ? n : 8) * sizeof *p);
}
VEC_FN vf vf_load_f16_n(const uint16_t *p, size_t n) {
  uint16_t buffer[8] = {0};
  memcpy(buffer, p, (n < 8 ? n : 8) * sizeof *p);
  return vf_load_f16(buffer);
}
VEC_FN void vf_store_f16_n(uint16_t *p, vf a, size_t n) {
  uint16_t buffer[8];
  vf_store_f16(buffer, a);
  memcpy(p, buffer, (n < 8 ? n : 8) * sizeof *p);
}

/* double */
VEC_FN vd vd_load(const double *p) { return _mm256_loadu_pd(p); }
VEC_FN void vd_store(double *p, vd a) { _mm256_storeu_pd(p, a); }
VEC_FN vd vd_set1(double a) { return _mm256_set1_pd(a); }
VEC_FN vd vd_add(vd a, vd b) { return _mm256_add_pd(a, b); }
VEC_FN vd vd_sub(vd a, vd b) { return _mm256_sub_pd(a, b); }
VEC_FN vd vd_mul(vd a, vd b) { return _mm256_mul_pd(a, b); }
VEC_FN vd vd_div(vd a, vd b) { return _mm256_div_pd(a, b); }
VEC_FN vd vd_fma(vd a, vd b, vd c) { return _mm256_fmadd_pd(a, b, c); }
VEC_FN vd vd_fnma(vd a, vd b, vd c) { return _mm256_fnmadd_pd(a, b, c); }
VEC_FN vd vd_sqrt(vd a) { return _mm256_sqrt_pd(a); }
VEC_FN vd vd_min(vd a, vd b) { return _mm256_min_pd(a, b); }
VEC_FN vd vd_max(vd a, vd b) { return _mm256_max_pd(a, b); }
VEC_FN vdm vd_lt(vd a, vd b) { return _mm256_cmp_pd(a, b, _CMP_LT_OQ); }
VEC_FN vdm vd_gt(vd a, vd b) { return _mm256_cmp_pd(a, b, _CMP_GT_OQ); }
VEC_FN vdm vd_eq(vd a, vd b) { return _mm256_cmp_pd(a, b, _CMP_EQ_OQ); }
VEC_FN vd vd_select(vdm m, vd a, vd b) { return _mm256_blendv_pd(b, a, m); }
VEC_FN vl vd_bits(vd a) { return _mm256_castpd_si256(a); }
VEC_FN vd vd_from_bits(vl a) { return _mm256_castsi256_pd(a); }
VEC_FN vl vl_set1(int64_t a) { return _mm256_set1_epi64x(a); }
VEC_FN vl vl_add(vl a, vl b) { return _mm256_add_epi64(a, b); }
VEC_FN vl vl_sub(vl a, vl b) { return _mm256_sub_epi64(a, b); }
VEC_FN vl vl_and(vl a, vl b) { return _mm256_and_si256(a, b); }
VEC_FN vl vl_or(vl a, vl b) { return _mm256_or_si256(a, b); }
VEC_FN vl vl_xor(vl a, vl b) { return _mm256_xor_si256(a, b); }
VEC_FN vl vl_sll(vl a, int n) { return _mm256_slli_epi64(a, n); }
VEC_FN vl vl_srl(vl a, int n) { return _mm256_srli_epi64(a, n); }
VEC_FN vd vd_from_vf_lo(vf a) { return _mm256_cvtps_pd(_mm256_castps256_ps128(a)); }
VEC_FN vd vd_from_vf_hi(vf a) { return _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1)); }
VEC_FN vf vf_from_vd(vd lo, vd hi) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(lo)), _mm256_cvtpd_ps(hi), 1);
}

#endif
