/* reference_body.h: the element functions for one dtype; included by reference.c after numeric/real_f32.h and
 * real_f64.h. */

/* x at a position that may lie in the padding. */
static ISO__HD REAL NAMED(x_at)(const iso_conv_problem *p, const REAL *x, int64_t n, int64_t d, int64_t h, int64_t w,
                                int64_t c) {
  if (d < 0 || d >= p->d || h < 0 || h >= p->h || w < 0 || w >= p->w) return 0;
  return x[p->x_first ? (((n * p->c + c) * p->d + d) * p->h + h) * p->w + w
                      : (((n * p->d + d) * p->h + h) * p->w + w) * p->c + c];
}

/* y[n,o,row,q,k] = activation((Σ over (t,r,s,c of the group) x[n, o·stride + t·dilation − pad, …, c]·w[k,t,r,s,c]) +
 * bias[k] + residual). */
static ISO__HD REAL NAMED(fwd)(const iso_conv_problem *p, const iso_conv_args *a, int64_t index) {
  const int64_t out_d = iso__conv_out_d(p), out_h = iso__conv_out_h(p), out_w = iso__conv_out_w(p),
                cg = p->c / p->groups;
  const int64_t k = index % p->k, q = index / p->k % out_w, row = index / p->k / out_w % out_h,
                o = index / p->k / out_w / out_h % out_d, n = index / p->k / out_w / out_h / out_d;
  const int64_t c0 = k / (p->k / p->groups) * cg;
  struct NAMED(iso__ordered) sum = {0};
  for (int64_t t = 0; t < p->t; t++)
    for (int64_t r = 0; r < p->r; r++)
      for (int64_t s = 0; s < p->s; s++)
        for (int64_t c = 0; c < cg; c++) {
          const int64_t d = o * p->stride_d + t * p->dilation_d - p->pad_front,
                        h = row * p->stride_h + r * p->dilation_h - p->pad_top,
                        w = q * p->stride_w + s * p->dilation_w - p->pad_left;
          NAMED(iso__ordered_fma)
          (&sum, NAMED(x_at)(p, (const REAL *)a->x, n, d, h, w, c0 + c),
           ((const REAL *)a->w)[(((k * p->t + t) * p->r + r) * p->s + s) * cg + c]);
        }
  REAL y = NAMED(iso__ordered_end)(&sum);
  if (p->has_bias) y += ((const REAL *)a->bias)[k];
  if (p->has_residual) y += ((const REAL *)a->residual)[index];
  if (p->activation == ISO__ACTIVATION_RELU) y = y > 0 ? y : y != y ? y : 0;
  return y;
}

/* dx[n,d,h,w,c] = Σ over (t,r,s,k of the group) dy[n, (d + pad − t·dilation)/stride, …, k]·w[k,t,r,s,c], over those
 * taps whose divisions leave no rest: the taps of the position's stride phase. */
static ISO__HD REAL NAMED(bwd_data)(const iso_conv_problem *p, const iso_conv_args *a, int64_t index) {
  const int64_t out_d = iso__conv_out_d(p), out_h = iso__conv_out_h(p), out_w = iso__conv_out_w(p),
                cg = p->c / p->groups, kg = p->k / p->groups;
  const int64_t c = index % p->c, w = index / p->c % p->w, h = index / p->c / p->w % p->h,
                d = index / p->c / p->w / p->h % p->d, n = index / p->c / p->w / p->h / p->d;
  const int64_t k0 = c / cg * kg;
  const REAL *dy = (const REAL *)a->dy;
  struct NAMED(iso__ordered) sum = {0};
  for (int64_t t = 0; t < p->t; t++)
    for (int64_t r = 0; r < p->r; r++)
      for (int64_t s = 0; s < p->s; s++) {
        const int64_t front = d + p->pad_front - t * p->dilation_d, up = h + p->pad_top - r * p->dilation_h,
                      left = w + p->pad_left - s * p->dilation_w;
        if (front % p->stride_d || up % p->stride_h || left % p->stride_w) continue;
        const int64_t o = front / p->stride_d, row = up / p->stride_h, q = left / p->stride_w;
        const bool inside = front >= 0 && o < out_d && up >= 0 && row < out_h && left >= 0 && q < out_w;
        for (int64_t k = k0; k < k0 + kg; k++) NAMED(iso__ordered_fma)
        (&sum, inside ? dy[(((n * out_d + o) * out_h + row) * out_w + q) * p->k + k] : 0,
         ((const REAL *)a->w)[(((k * p->t + t) * p->r + r) * p->s + s) * cg + c % cg]);
      }
  return NAMED(iso__ordered_end)(&sum);
}

/* dw[k,t,r,s,c] = Σ over (n,o,row,q) dy[n,o,row,q,k]·x[n, o·stride + t·dilation − pad, …, c]. */
static ISO__HD REAL NAMED(bwd_weights)(const iso_conv_problem *p, const iso_conv_args *a, int64_t index) {
  const int64_t out_d = iso__conv_out_d(p), out_h = iso__conv_out_h(p), out_w = iso__conv_out_w(p),
                cg = p->c / p->groups;
  const int64_t c = index % cg, s = index / cg % p->s, r = index / cg / p->s % p->r,
                t = index / cg / p->s / p->r % p->t, k = index / cg / p->s / p->r / p->t;
  const int64_t c0 = k / (p->k / p->groups) * cg;
  struct NAMED(iso__ordered) sum = {0};
  for (int64_t n = 0; n < p->n; n++)
    for (int64_t o = 0; o < out_d; o++)
      for (int64_t row = 0; row < out_h; row++)
        for (int64_t q = 0; q < out_w; q++) {
          const int64_t d = o * p->stride_d + t * p->dilation_d - p->pad_front,
                        h = row * p->stride_h + r * p->dilation_h - p->pad_top,
                        w = q * p->stride_w + s * p->dilation_w - p->pad_left;
          NAMED(iso__ordered_fma)
          (&sum, ((const REAL *)a->dy)[(((n * out_d + o) * out_h + row) * out_w + q) * p->k + k],
           NAMED(x_at)(p, (const REAL *)a->x, n, d, h, w, c0 + c));
        }
  return NAMED(iso__ordered_end)(&sum);
}
