/* map.h: pointwise functions with broadcasting and strides, and strided copies with casts.
 *
 * Class `map`: one element at a time, so only the function's definition matters (numeric/math_f32.h, math_f64.h).
 * out[i] = fn(in0[i], in1[i], in2[i]; scalars). The caller collapses dimensions; stride 0 broadcasts. */
#ifndef ISO_KERNELS_MAP_H
#define ISO_KERNELS_MAP_H
#include "kernels/map/list.h"
#include "numeric/hd.h"
#include "plan/plan.h"

typedef enum iso__map_fn {
#define ISO__MAP_ENUM(id, name, n_inputs, kind) ISO__MAP_##id,
  ISO__MAP_LIST(ISO__MAP_ENUM)
#undef ISO__MAP_ENUM
      ISO__N_MAPS
} iso__map_fn;

typedef enum iso__map_kind { ISO__MAP_PLAIN, ISO__MAP_INTEGER, ISO__MAP_TRUTH, ISO__MAP_CHOICE } iso__map_kind;

enum { ISO__MAP_MAX_DIMS = 8 };
typedef struct iso_map_problem {
  iso__problem head;  /* dtype of inputs and output, but for the bool of TRUTH and CHOICE (COPY: of the output) */
  uint16_t fn;        /* iso__map_fn */
  uint8_t from_dtype; /* COPY operator only: of the input */
  uint8_t n_dims;     /* collapsed; 1 with strides 1 when contiguous */
  uint32_t reserved;
  int64_t shape[ISO__MAP_MAX_DIMS];
  int64_t strides[4][ISO__MAP_MAX_DIMS]; /* out, in0, in1, in2; elements; an input's may be 0 or negative */
} iso_map_problem;

typedef struct iso_map_args {
  void *out; /* may equal an input of the same strides */
  const void *in[3];
  double scalar[3]; /* rounded to the dtype once */
} iso_map_args;

/* Merges dimensions that are adjacent in every operand; fills n_dims, shape, strides from uncollapsed ones. */
void iso__map_collapse(iso_map_problem *problem, int n_operands, int n_dims, const int64_t *shape,
                       const int64_t *const *strides);
const char *iso__map_name(iso__map_fn fn);
static inline ISO__HD int iso__map_n_inputs(iso__map_fn fn) {
  static const unsigned char n_inputs[ISO__N_MAPS] = {
#define ISO__MAP_INPUTS(id, name, n_inputs_, kind) n_inputs_,
      ISO__MAP_LIST(ISO__MAP_INPUTS)
#undef ISO__MAP_INPUTS
  };
  return n_inputs[fn];
}
static inline ISO__HD iso__map_kind iso__map_kind_of(iso__map_fn fn) {
  static const unsigned char kinds[ISO__N_MAPS] = {
#define ISO__MAP_KIND(id, name, n_inputs_, kind) ISO__MAP_##kind,
      ISO__MAP_LIST(ISO__MAP_KIND)
#undef ISO__MAP_KIND
  };
  return (iso__map_kind)kinds[fn];
}
/* Of operand o: 0 the result, 1 … the inputs. */
static inline ISO__HD iso_dtype iso__map_operand_dtype(iso__map_fn fn, iso_dtype dtype, int o) {
  const iso__map_kind kind = iso__map_kind_of(fn);
  return (kind == ISO__MAP_TRUTH && o == 0) || (kind == ISO__MAP_CHOICE && o == 1) ? ISO_BOOL : dtype;
}
#endif
