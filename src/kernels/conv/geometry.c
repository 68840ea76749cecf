/* geometry.c: the products of each direction (geometry.h). */
#include "kernels/conv/geometry.h"

static iso__conv_axis forward_axis(int64_t extent, int64_t out, int64_t kernel, int64_t stride, int64_t dilation,
                                   int64_t pad) {
  return (iso__conv_axis){.n_source = extent,
                          .n_grid = out,
                          .step = stride,
                          .offset = -pad,
                          .tap_step = dilation,
                          .n_taps = kernel,
                          .tap_stride = 1,
                          .n_out = out,
                          .out_step = 1};
}

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b) {
    const int64_t rest = a % b;
    a = b, b = rest;
  }
  return a;
}

/* Input positions x with (x + pad) mod stride = phase: x = out_first + t·stride. Tap r reaches output position
 * (x + pad − r·dilation)/stride, so only r with r·dilation ≡ phase count: r = first_tap + j·stride/gcd(stride,
 * dilation). */
static iso__conv_axis backward_axis(int64_t extent, int64_t out, int64_t kernel, int64_t stride, int64_t dilation,
                                    int64_t pad, int64_t phase) {
  const int64_t out_first = ((phase - pad) % stride + stride) % stride,
                tap_stride = stride / common_divisor(stride, dilation);
  iso__conv_axis a = {.n_source = out,
                      .n_grid = out_first < extent ? (extent - 1 - out_first) / stride + 1 : 0,
                      .step = 1,
                      .tap_step = -(tap_stride * dilation / stride),
                      .tap_stride = tap_stride,
                      .n_out = extent,
                      .out_first = out_first,
                      .out_step = stride};
  while (a.first_tap < kernel && a.first_tap < tap_stride && a.first_tap * dilation % stride != phase) a.first_tap++;
  if (a.first_tap >= kernel || a.first_tap >= tap_stride) return a;
  a.n_taps = (kernel - 1 - a.first_tap) / tap_stride + 1;
  a.offset = (out_first + pad - a.first_tap * dilation) / stride;
  return a;
}

iso__conv_product iso__conv_product_at(const iso_conv_problem *p, int64_t index) {
  const int64_t out_d = iso__conv_out_d(p), out_h = iso__conv_out_h(p), out_w = iso__conv_out_w(p);
  iso__conv_product g = {.n = p->n, .groups = p->groups, .problem = p};
  if (p->head.op == ISO__OP_CONV_BWD_DATA) {
    const int64_t rows = index / p->stride_w;
    g.plane = backward_axis(p->d, out_d, p->t, p->stride_d, p->dilation_d, p->pad_front, rows / p->stride_h);
    g.row = backward_axis(p->h, out_h, p->r, p->stride_h, p->dilation_h, p->pad_top, rows % p->stride_h);
    g.col = backward_axis(p->w, out_w, p->s, p->stride_w, p->dilation_w, p->pad_left, index % p->stride_w);
    g.depth = p->k / p->groups, g.width = p->c / p->groups;
    g.source_pitch = p->k, g.output_pitch = p->c;
    g.transposed = true;
  } else {
    g.plane = forward_axis(p->d, out_d, p->t, p->stride_d, p->dilation_d, p->pad_front);
    g.row = forward_axis(p->h, out_h, p->r, p->stride_h, p->dilation_h, p->pad_top);
    g.col = forward_axis(p->w, out_w, p->s, p->stride_w, p->dilation_w, p->pad_left);
    g.depth = p->c / p->groups, g.width = p->k / p->groups;
    g.source_pitch = p->c, g.output_pitch = p->k;
  }
  return g;
}

iso__conv_range iso__conv_taps_inside(const iso__conv_axis *a, int64_t t) {
  const int64_t at = t * a->step + a->offset;
  int64_t first = 0, end = a->n_taps;
  while (first < end && (at + first * a->tap_step < 0 || at + first * a->tap_step >= a->n_source)) first++;
  while (end > first && (at + (end - 1) * a->tap_step < 0 || at + (end - 1) * a->tap_step >= a->n_source)) end--;
  return (iso__conv_range){(int32_t)first, (int32_t)end};
}
