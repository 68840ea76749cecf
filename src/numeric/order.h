/* The orders of summation, in scalar C: these functions are the specification that docs/numerics.md puts in words.
 * References of every kernel family are written with them; fast engines must give the same bits.
 *
 * Each order is an accumulator that is fed the terms in ascending k, so that a reference can gather its operands from
 * wherever they lie: `ordered` for products and outer reductions, `lanes` for innermost reductions; and functions for
 * tree, fold, moments and scans, which see whole sequences. f32 here is binary32 throughout, f64 binary64. */
#ifndef ISO__NUMERIC_ORDER_H
#define ISO__NUMERIC_ORDER_H

#include <stddef.h>
#include "hd.h"

enum {
  ISO__CHUNK = 256,      /* terms of one unbroken chain */
  ISO__PANEL = 1024,     /* terms whose chunk sums form one chain */
  ISO__LANES = 64,       /* chains of an innermost reduction */
  ISO__ROW_PANEL = 4096, /* elements whose lanes form one tree */
};

/* tree: neighbours (0+1), (2+3), …, an odd last one unchanged, until one is left. Nothing at all: +0. */
ISO__SHARED float iso__tree_f32(const float *v, size_t n);
ISO__SHARED double iso__tree_f64(const double *v, size_t n);

/* fold: panels p = +0, p = p + c over four chunk values each; t = +0, t = t + p. */
ISO__SHARED float iso__fold_f32(const float *chunks, size_t n);
ISO__SHARED double iso__fold_f64(const double *chunks, size_t n);

/* ordered: per chunk acc = +0, acc = fma(a, b, acc) or acc + a; chunk values fold. `skip` passes over absent terms,
 * which keep their k. Start from {0}. */
struct iso__ordered_f32 {
  float acc, panel, total;
  size_t k;
};
ISO__SHARED void iso__ordered_fma_f32(struct iso__ordered_f32 *s, float a, float b);
ISO__SHARED void iso__ordered_add_f32(struct iso__ordered_f32 *s, float a);
ISO__SHARED void iso__ordered_skip_f32(struct iso__ordered_f32 *s, size_t n);
ISO__SHARED float iso__ordered_end_f32(const struct iso__ordered_f32 *s);
ISO__SHARED float iso__ordered_dot_f32(const float *a, ptrdiff_t stride_a, const float *b, ptrdiff_t stride_b,
                                       size_t n);
ISO__SHARED float iso__ordered_sum_f32(const float *a, ptrdiff_t stride, size_t n);

struct iso__ordered_f64 {
  double acc, panel, total;
  size_t k;
};
ISO__SHARED void iso__ordered_fma_f64(struct iso__ordered_f64 *s, double a, double b);
ISO__SHARED void iso__ordered_add_f64(struct iso__ordered_f64 *s, double a);
ISO__SHARED void iso__ordered_skip_f64(struct iso__ordered_f64 *s, size_t n);
ISO__SHARED double iso__ordered_end_f64(const struct iso__ordered_f64 *s);
ISO__SHARED double iso__ordered_dot_f64(const double *a, ptrdiff_t stride_a, const double *b, ptrdiff_t stride_b,
                                        size_t n);
ISO__SHARED double iso__ordered_sum_f64(const double *a, ptrdiff_t stride, size_t n);

/* lanes: element i of a row panel goes to lane i mod 64, fma for products; panel = tree over its lanes; row = tree over
 * its panels + 0. Start from {0}. The panels' tree waits as full subtrees (a binary counter: bit b of n_panels says
 * that a subtree of 2^b panels waits); what is left at the end joins from the last one up. */
struct iso__lanes_f32 {
  float lane[ISO__LANES], waiting[64];
  size_t i, n_panels;
};
ISO__SHARED void iso__lanes_fma_f32(struct iso__lanes_f32 *s, float a, float b);
ISO__SHARED void iso__lanes_add_f32(struct iso__lanes_f32 *s, float a);
ISO__SHARED float iso__lanes_end_f32(struct iso__lanes_f32 *s);
ISO__SHARED float iso__lanes_dot_f32(const float *a, ptrdiff_t stride_a, const float *b, ptrdiff_t stride_b, size_t n);
ISO__SHARED float iso__lanes_sum_f32(const float *a, ptrdiff_t stride, size_t n);

struct iso__lanes_f64 {
  double lane[ISO__LANES], waiting[64];
  size_t i, n_panels;
};
ISO__SHARED void iso__lanes_fma_f64(struct iso__lanes_f64 *s, double a, double b);
ISO__SHARED void iso__lanes_add_f64(struct iso__lanes_f64 *s, double a);
ISO__SHARED double iso__lanes_end_f64(struct iso__lanes_f64 *s);
ISO__SHARED double iso__lanes_dot_f64(const double *a, ptrdiff_t stride_a, const double *b, ptrdiff_t stride_b,
                                      size_t n);
ISO__SHARED double iso__lanes_sum_f64(const double *a, ptrdiff_t stride, size_t n);

/* moments of terms at(args, 0 … n−1): per chunk of n_c terms s = ascending sum from +0, m = s/n_c, q = fma(d, d, q)
 * from +0 with d = x − m; mean = fold(s)/n; M2 = fold(fma(n_c·e, e, q)), e = m − mean. n = 0: mean NaN, M2 = +0. */
struct iso__moments_f32 {
  float mean, m2;
};
ISO__SHARED struct iso__moments_f32 iso__moments_f32(float (*at)(const void *args, size_t i), const void *args,
                                                     size_t n);
struct iso__moments_f64 {
  double mean, m2;
};
ISO__SHARED struct iso__moments_f64 iso__moments_f64(double (*at)(const void *args, size_t i), const void *args,
                                                     size_t n);

/* scan: panels of 1024 run ascending from +0 (products: from 1); y = carry + run (carry · run), where carry is the
 * earlier panels' totals, ascending from +0 (from 1). x and y may be the same. */
ISO__SHARED void iso__scan_sum_f32(const float *x, ptrdiff_t stride_x, float *y, ptrdiff_t stride_y, size_t n);
ISO__SHARED void iso__scan_product_f32(const float *x, ptrdiff_t stride_x, float *y, ptrdiff_t stride_y, size_t n);
ISO__SHARED void iso__scan_sum_f64(const double *x, ptrdiff_t stride_x, double *y, ptrdiff_t stride_y, size_t n);
ISO__SHARED void iso__scan_product_f64(const double *x, ptrdiff_t stride_x, double *y, ptrdiff_t stride_y, size_t n);

#ifdef __CUDACC__
#  include <math.h>
#  include "real_f32.h"
#  include "order_body.h"
#  include "real_f64.h"
#  include "order_body.h"
#endif
#endif
