/* channels_f64.h: up to BLOCK channels of one element in f64, as loops that the compiler turns into vectors. */

static void block_f64(const element_f64 *e, int64_t n, double *out) {
  double sum[BLOCK] = {0};
  for (int32_t t = 0; t < e->n[0]; t++)
    for (int32_t h = 0; h < e->n[1]; h++) {
      const double both = e->weight[0][t] * e->weight[1][h];
      const double *x = e->in + (e->begin[0] + t) * e->plane + (e->begin[1] + h) * e->row + e->begin[2] * e->c;
      for (int32_t v = 0; v < e->n[2]; v++, x += e->c) {
        const double w = both * e->weight[2][v];
        for (int64_t l = 0; l < n; l++) sum[l] = fma(w, x[l], sum[l]);
      }
    }
  for (int64_t l = 0; l < n; l++) out[l] = sum[l] + 0; /* a product that underflowed may have left −0 */
}
