/* channels_f32.h: the sums over a point's taps in f32, vectors of channels; channels_f64.h has them in f64. */

/* out[l] = Σ w·x over the taps, + 0: a product that underflowed may have left −0. */
VEC_FN void weigh_vectors(const taps_f32 *t, const float *w, const float *x, int64_t c, int vectors, size_t n,
                          float *out) {
  enum { MOST = 4 };
  vf sum[MOST];
#pragma GCC unroll 4
  for (int i = 0; i < vectors; i++) sum[i] = vf_zero();
  for (int k = 0; k < t->n; k++) {
    const float *at = x + t->place[k] * c;
    const vf weight = vf_set1(w[k]);
#pragma GCC unroll 4
    for (int i = 0; i < vectors; i++) sum[i] = vf_fma(weight, vf_load_n(at + i * VF_LANES, n), sum[i]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < vectors; i++) vf_store_n(out + i * VF_LANES, vf_add(sum[i], vf_zero()), n);
}
static void weigh_f32(const taps_f32 *t, const float *w, const float *x, int64_t c, int64_t n, float *out) {
  int64_t l = 0;
  for (; l + 4 * VF_LANES <= n; l += 4 * VF_LANES) weigh_vectors(t, w, x + l, c, 4, VF_LANES, out + l);
  for (; l + VF_LANES <= n; l += VF_LANES) weigh_vectors(t, w, x + l, c, 1, VF_LANES, out + l);
  if (l < n) weigh_vectors(t, w, x + l, c, 1, (size_t)(n - l), out + l);
}

/* lane[a][l mod 64] = fma(dy, Σ slope[a]·x, lane) over all channels, for the axes from the first on. */
VEC_FN void slopes_vector(const taps_f32 *t, bool volume, const float *x, const float *dy, int64_t c, size_t n,
                          float (*lane)[ISO__LANES], int64_t to) {
  vf sum[3] = {vf_zero(), vf_zero(), vf_zero()};
  for (int k = 0; k < t->n; k++) {
    const vf v = vf_load_n(x + t->place[k] * c, n);
    if (volume) sum[0] = vf_fma(vf_set1(t->slope[0][k]), v, sum[0]);
    sum[1] = vf_fma(vf_set1(t->slope[1][k]), v, sum[1]), sum[2] = vf_fma(vf_set1(t->slope[2][k]), v, sum[2]);
  }
  const vf sent = vf_load_n(dy, n);
#pragma GCC unroll 3
  for (int a = volume ? 0 : 1; a < 3; a++)
    vf_store_n(lane[a] + to, vf_fma(sent, sum[a], vf_load_n(lane[a] + to, n)), n);
}
static void slopes_add_f32(const taps_f32 *t, int first_axis, const float *x, const float *dy, int64_t c,
                           float (*lane)[ISO__LANES]) {
  const bool volume = first_axis == 0;
  int64_t l = 0;
  for (; l + VF_LANES <= c; l += VF_LANES)
    if (volume) slopes_vector(t, true, x + l, dy + l, c, VF_LANES, lane, l % ISO__LANES);
    else slopes_vector(t, false, x + l, dy + l, c, VF_LANES, lane, l % ISO__LANES);
  if (l < c) slopes_vector(t, volume, x + l, dy + l, c, (size_t)(c - l), lane, l % ISO__LANES);
}

/* The taps of the first of n points (a vector of them, or one): returns of how many. */
static int64_t take_taps_f32(const iso_grid_problem *p, const float *grid, int64_t n, taps_f32 *t) {
  if (!is_bilinear(p)) {
    site_f32 s;
    site_of_f32(p, grid, &s);
    taps_of_f32(p, &s, false, t);
    return 1;
  }
  taps_vector v;
  float weight[BILINEAR_TAPS][VF_LANES];
  int32_t place[BILINEAR_TAPS][VF_LANES];
  uint32_t inside[BILINEAR_TAPS];
  n = iso__min(n, VF_LANES);
  taps_vector_of(p, grid, n, &v);
  for (int k = 0; k < BILINEAR_TAPS; k++)
    vf_store(weight[k], v.weight[k]), vi_store(place[k], v.place[k]), inside[k] = vm_bits(v.inside[k]);
  for (int64_t l = 0; l < n; l++) {
    t[l].n = 0;
    for (int k = 0; k < BILINEAR_TAPS; k++) {
      t[l].place[t[l].n] = place[k][l], t[l].weight[t[l].n] = weight[k][l];
      t[l].n += (int)(inside[k] >> l & 1);
    }
  }
  return n;
}
