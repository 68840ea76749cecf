/* reference.c: pooling, classes `extremum` (max forward and its picks) and `ordered` (the rest): one output element
 * from its index. */
#include "kernels/pool/window.h"
#include "numeric/order.h"

/* An element of the input (or output): its image, position along each axis, channel. */
typedef struct place {
  int64_t image, at[3], channel;
} place;
static ISO__HD place place_of(int64_t index, const int64_t extent[3], int64_t c) {
  place p = {.channel = index % c};
  index /= c;
  for (int d = 2; d >= 0; d--) p.at[d] = index % extent[d], index /= extent[d];
  p.image = index;
  return p;
}
static ISO__HD int64_t index_of(const place *p, const int64_t extent[3], int64_t c) {
  int64_t index = p->image;
  for (int d = 0; d < 3; d++) index = index * extent[d] + p->at[d];
  return index * c + p->channel;
}
typedef struct extents {
  int64_t in[3], out[3];
} extents;
static ISO__HD extents extents_of(const iso_pool_problem *p) {
  extents e;
  for (int d = 0; d < 3; d++) e.in[d] = p->axis[d].in, e.out[d] = iso__pool_out(p, d);
  return e;
}
/* The input element that window o sees at kernel position k. */
static ISO__HD place seen(const iso_pool_problem *p, const place *o, const int64_t k[3]) {
  place i = *o;
  for (int d = 0; d < 3; d++) i.at[d] = window_first(&p->axis[d], o->at[d]) + k[d] * p->axis[d].dilation;
  return i;
}
static ISO__HD int64_t kernel_number(const iso_pool_problem *p, const int64_t k[3]) {
  return (k[0] * p->axis[1].kernel + k[1]) * p->axis[2].kernel + k[2];
}

#include "numeric/real_f32.h"
#include "kernels/pool/reference_body.h"
#include "numeric/real_f64.h"
#include "kernels/pool/reference_body.h"

ISO__HD bool iso__pool_element(const iso__problem *problem, const void *args, int operand, int64_t index, void *value) {
  const iso_pool_problem *p = (const iso_pool_problem *)problem;
  if (problem->dtype == ISO_F64) element_f64(p, (const iso_pool_args *)args, operand, index, value);
  else element_f32(p, (const iso_pool_args *)args, operand, index, value);
  return true;
}
