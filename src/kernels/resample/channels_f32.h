/* channels_f32.h: up to BLOCK channels of one element in f32, as vectors; channels_f64.h has them in f64. */

VEC_FN void block_vectors(const element_f32 *e, int64_t first, int vectors, size_t n, float *out) {
  enum { MOST = 4 };
  vf sum[MOST];
#pragma GCC unroll 4
  for (int i = 0; i < vectors; i++) sum[i] = vf_zero();
  for (int32_t t = 0; t < e->n[0]; t++)
    for (int32_t h = 0; h < e->n[1]; h++) {
      const float both = e->weight[0][t] * e->weight[1][h];
      const float *x = e->in + (e->begin[0] + t) * e->plane + (e->begin[1] + h) * e->row + e->begin[2] * e->c + first;
      for (int32_t v = 0; v < e->n[2]; v++, x += e->c) {
        const vf w = vf_set1(both * e->weight[2][v]);
#pragma GCC unroll 4
        for (int i = 0; i < vectors; i++) sum[i] = vf_fma(w, vf_load_n(x + i * VF_LANES, n), sum[i]);
      }
    }
    /* + 0: a product that underflowed may have left −0 */
#pragma GCC unroll 4
  for (int i = 0; i < vectors; i++) vf_store_n(out + first + i * VF_LANES, vf_add(sum[i], vf_zero()), n);
}
static void block_f32(const element_f32 *e, int64_t n, float *out) {
  int64_t l = 0;
  for (; l + 4 * VF_LANES <= n; l += 4 * VF_LANES) block_vectors(e, l, 4, VF_LANES, out);
  for (; l + 2 * VF_LANES <= n; l += 2 * VF_LANES) block_vectors(e, l, 2, VF_LANES, out);
  for (; l + VF_LANES <= n; l += VF_LANES) block_vectors(e, l, 1, VF_LANES, out);
  if (l < n) block_vectors(e, l, 1, (size_t)(n - l), out);
}
