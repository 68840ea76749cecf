/* channels_f64.h: the sums over a point's taps in f64, as loops that the compiler turns into vectors. */

/* out[l] = Σ w·x over the taps, + 0: a product that underflowed may have left −0. */
static void weigh_f64(const taps_f64 *t, const double *w, const double *x, int64_t c, int64_t n, double *out) {
  for (int64_t l = 0; l < n; l++) out[l] = 0;
  for (int k = 0; k < t->n; k++)
    for (int64_t l = 0; l < n; l++) out[l] = fma(w[k], x[t->place[k] * c + l], out[l]);
  for (int64_t l = 0; l < n; l++) out[l] = out[l] + 0;
}

/* lane[a][l mod 64] = fma(dy, Σ slope[a]·x, lane) over all channels, for the axes from the first on. */
static void slopes_add_f64(const taps_f64 *t, int first_axis, const double *x, const double *dy, int64_t c,
                           double (*lane)[ISO__LANES]) {
  double sum[ISO__LANES];
  for (int a = first_axis; a < 3; a++)
    for (int64_t first = 0; first < c; first += ISO__LANES) {
      const int64_t n = iso__min(ISO__LANES, c - first);
      weigh_f64(t, t->slope[a], x + first, c, n, sum);
      for (int64_t l = 0; l < n; l++) lane[a][l] = fma(dy[first + l], sum[l], lane[a][l]);
    }
}

static int64_t take_taps_f64(const iso_grid_problem *p, const double *grid, int64_t n, taps_f64 *t) {
  site_f64 s;
  (void)n;
  site_of_f64(p, grid, &s);
  taps_of_f64(p, &s, false, t);
  return 1;
}
