/* reference.c: pooling, classes `extremum` (max forward) and `ordered` (the rest): one output element from its index.
 */
#include "kernels/pool/window.h"
#include "numeric/order.h"

typedef struct place {
  int64_t image, row, column, channel;
} place;
static place place_of(int64_t index, int64_t h, int64_t w, int64_t c) {
  return (place){index / (h * w * c), index / (w * c) % h, index / c % w, index % c};
}
static place input_place(const iso_pool_problem *p, int64_t index) { return place_of(index, p->h, p->w, p->c); }
static place output_place(const iso_pool_problem *p, int64_t index) {
  return place_of(index, iso__pool_out_h(p), iso__pool_out_w(p), p->c);
}
static int64_t input_index(const iso_pool_problem *p, int64_t n, int64_t h, int64_t w, int64_t c) {
  return ((n * p->h + h) * p->w + w) * p->c + c;
}
static int64_t output_index(const iso_pool_problem *p, int64_t n, int64_t h, int64_t w, int64_t c) {
  return ((n * iso__pool_out_h(p) + h) * iso__pool_out_w(p) + w) * p->c + c;
}

#include "numeric/real_f32.h"
#include "kernels/pool/reference_body.h"
#include "numeric/real_f64.h"
#include "kernels/pool/reference_body.h"

bool iso__pool_element(const iso__problem *problem, const void *args, int operand, int64_t index, void *value) {
  const iso_pool_problem *p = (const iso_pool_problem *)problem;
  if (problem->dtype == ISO_F64) element_f64(p, args, operand, index, value);
  else element_f32(p, args, operand, index, value);
  return true;
}
