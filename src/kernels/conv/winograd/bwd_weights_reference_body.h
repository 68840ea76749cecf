/* bwd_weights_reference_body.h: bwd_weights_reference.c for one precision. */

typedef void NAMED(transform)(const REAL *in, REAL *out);
typedef struct NAMED(wino_class) {
  int m, r;
  NAMED(transform) * data, *grad, *dkernel;
} NAMED(wino_class);
#define CLASS_ENTRY(name, m, r)                                                                                        \
  static const NAMED(wino_class)                                                                                       \
      NAMED(class_##name) = {m, r, NAMED(wino_data_##name), NAMED(wino_grad_##name), NAMED(wino_dkernel_##name)};
ISO__WINOGRAD_CLASSES(CLASS_ENTRY)
#undef CLASS_ENTRY

/* out (to × to) = the transform of in (from × from): down the columns, then across the rows of what that left. */
static void NAMED(both_axes)(NAMED(transform) * f, int from, int to, const REAL *in, REAL *out) {
  REAL half[ISO__WINOGRAD_MAX_ALPHA][ISO__WINOGRAD_MAX_ALPHA], column[ISO__WINOGRAD_MAX_ALPHA],
      changed[ISO__WINOGRAD_MAX_ALPHA];
  for (int j = 0; j < from; j++) {
    for (int i = 0; i < from; i++) column[i] = in[i * from + j];
    f(column, changed);
    for (int i = 0; i < to; i++) half[i][j] = changed[i];
  }
  for (int i = 0; i < to; i++) f(half[i], out + i * to);
}

/* The `extent` × `extent` pixels of one channel from (row, column) on, zeros outside the image. */
static void NAMED(pixels)(const REAL *image, int64_t h, int64_t w, int64_t n_channels, int64_t channel, int64_t row,
                          int64_t column, int extent, REAL *out) {
  for (int64_t i = row; i < row + extent; i++)
    for (int64_t j = column; j < column + extent; j++)
      *out++ = i >= 0 && i < h && j >= 0 && j < w ? image[(i * w + j) * n_channels + channel] : 0;
}

/* dw[k,·,·,c] = Gᵀ[ Σ over (sample, tile row, tile column) (Bᵀ x B)·(A dy Aᵀ) ]G, of which one element. Tiles are of
 * dy, from (0,0) on; the sum is `ordered`. */
static REAL NAMED(bwd_weights)(const NAMED(wino_class) * class, const iso_conv_problem *p, const iso_conv_args *a,
                               int64_t index) {
  const int64_t out_h = iso__conv_out_h(p), out_w = iso__conv_out_w(p), m = class->m;
  const int64_t cg = p->c / p->groups, tap = index / cg % (p->r * p->s), k = index / cg / (p->r * p->s);
  const int64_t c = k / (p->k / p->groups) * cg + index % cg;
  const int points = class->m + class->r - 1;
  const REAL *x = a->x, *dy = a->dy;
  struct NAMED(iso__ordered) sums[ISO__WINOGRAD_MAX_ALPHA * ISO__WINOGRAD_MAX_ALPHA] = {{0}};
  for (int64_t n = 0; n < p->n; n++)
    for (int64_t row = 0; row < out_h; row += m)
      for (int64_t column = 0; column < out_w; column += m) {
        REAL d[ISO__WINOGRAD_MAX_ALPHA * ISO__WINOGRAD_MAX_ALPHA], v[ISO__WINOGRAD_MAX_ALPHA * ISO__WINOGRAD_MAX_ALPHA],
            z[ISO__WINOGRAD_MAX_ALPHA * ISO__WINOGRAD_MAX_ALPHA];
        NAMED(pixels)
        (x + n * p->h * p->w * p->c, p->h, p->w, p->c, c, row - p->pad_top, column - p->pad_left, points, d);
        NAMED(both_axes)(class->data, points, points, d, v);
        NAMED(pixels)(dy + n * out_h * out_w * p->k, out_h, out_w, p->k, k, row, column, class->m, d);
        NAMED(both_axes)(class->grad, class->m, points, d, z);
        for (int t = 0; t < points * points; t++) NAMED(iso__ordered_fma)(&sums[t], z[t], v[t]);
      }
  REAL sum[ISO__WINOGRAD_MAX_ALPHA * ISO__WINOGRAD_MAX_ALPHA], dw[ISO__WINOGRAD_MAX_ALPHA * ISO__WINOGRAD_MAX_ALPHA];
  for (int t = 0; t < points * points; t++) sum[t] = NAMED(iso__ordered_end)(&sums[t]);
  NAMED(both_axes)(class->dkernel, points, class->r, sum, dw);
  return dw[tap];
}
