/* reference.c: the classes winograd.MxMkR forward and backward to the data, one output element at a time: their
 * specification (docs/numerics-winograd.md).
 *
 * The output is cut into tiles of m × m from (0, 0). An element's tile and the kernel are transformed for every source
 * channel, products added up over the channels by `ordered` for each of the alpha² points, the sums transformed back.
 * Positions outside the source are real zeros, tiles at the end reach beyond the output. Transforms go down the columns
 * first, then across. Backward to the data is the same with the kernel turned by 180° and channels swapped; its grid
 * starts at dx (0, 0). */
#include "kernels/conv/winograd/winograd.h"
#include "kernels/gemm/gemm.h"
#include "numeric/order.h"
#include <math.h>

#include "numeric/real_f32.h"
#include "kernels/conv/winograd/transforms_real.h"
#include "kernels/conv/winograd/reference_body.h"
#include "numeric/real_f64.h"
#include "kernels/conv/winograd/transforms_real.h"
#include "kernels/conv/winograd/reference_body.h"

#define ELEMENT(suffix, m, r)                                                                                          \
  bool iso__winograd_element_##suffix(const iso__problem *problem, const void *args, int operand, int64_t index,       \
                                      void *value);                                                                    \
  bool iso__winograd_element_##suffix(const iso__problem *problem, const void *args, int operand, int64_t index,       \
                                      void *value) {                                                                   \
    const iso_conv_problem *p = (const iso_conv_problem *)problem;                                                     \
    (void)operand;                                                                                                     \
    if (problem->dtype == ISO_F64)                                                                                     \
      *(double *)value = element_f64(&classes_f64[ISO__WINOGRAD_##suffix], p, args, index);                            \
    else *(float *)value = element_f32(&classes_f32[ISO__WINOGRAD_##suffix], p, args, index);                          \
    return true;                                                                                                       \
  }
ISO__WINOGRAD_CLASSES(ELEMENT)
