/* map.h: pointwise functions with broadcasting and strides, and strided copies with casts.
 *
 * Class `map`: one element at a time, so only the function's definition matters (numeric/math_f32.h, math_f64.h).
 * out[i] = fn(in0[i], in1[i], in2[i]; scalars). The caller collapses dimensions; stride 0 broadcasts. */
#ifndef ISO_KERNELS_MAP_H
#define ISO_KERNELS_MAP_H
#include "plan/plan.h"

/* id, name, number of inputs, meaning. Comparisons give 1 or 0 in the dtype; *_bwd take (saved, dy). */
/* clang-format off */
#define ISO__MAP_LIST(X)                                                                                              \
  X(ADD, "add", 2)                                                                                                    \
  X(SUB, "sub", 2)                                                                                                    \
  X(MUL, "mul", 2)                                                                                                    \
  X(DIV, "div", 2)                                                                                                    \
  X(MAXIMUM, "maximum", 2)                                                                                            \
  X(MINIMUM, "minimum", 2)                                                                                            \
  X(POW, "pow", 2)                                                                                                    \
  X(EQ, "eq", 2)                                                                                                      \
  X(LT, "lt", 2)                                                                                                      \
  X(LE, "le", 2)                                                                                                      \
  X(WHERE, "where", 3)                                                                                                \
  X(ADD_SCALAR, "add_scalar", 1)                                                                                      \
  X(MUL_SCALAR, "mul_scalar", 1)                                                                                      \
  X(RSUB_SCALAR, "rsub_scalar", 1)                                                                                    \
  X(RDIV_SCALAR, "rdiv_scalar", 1)                                                                                    \
  X(POW_SCALAR, "pow_scalar", 1)                                                                                      \
  X(CLAMP, "clamp", 1)                                                                                                \
  X(FMA, "fma", 3)                                                                                                    \
  X(FMA_SCALAR, "fma_scalar", 2) /* fma(in0, scalar0, in1) */                                                         \
  X(COPY, "copy", 1)                                                                                                  \
  X(NEG, "neg", 1)                                                                                                    \
  X(ABS, "abs", 1)                                                                                                    \
  X(SIGN, "sign", 1)                                                                                                  \
  X(SQUARE, "square", 1)                                                                                              \
  X(SQRT, "sqrt", 1)                                                                                                  \
  X(RSQRT, "rsqrt", 1)                                                                                                \
  X(RECIPROCAL, "reciprocal", 1)                                                                                      \
  X(EXP, "exp", 1)                                                                                                    \
  X(EXP2, "exp2", 1)                                                                                                  \
  X(EXPM1, "expm1", 1)                                                                                                \
  X(LOG, "log", 1)                                                                                                    \
  X(LOG2, "log2", 1)                                                                                                  \
  X(LOG1P, "log1p", 1)                                                                                                \
  X(ERF, "erf", 1)                                                                                                    \
  X(TANH, "tanh", 1)                                                                                                  \
  X(SIGMOID, "sigmoid", 1)                                                                                            \
  X(SINPI, "sinpi", 1)                                                                                                \
  X(COSPI, "cospi", 1)                                                                                                \
  X(RELU, "relu", 1)                                                                                                  \
  X(GELU, "gelu", 1)                                                                                                  \
  X(GELU_TANH, "gelu_tanh", 1)                                                                                        \
  X(SILU, "silu", 1)                                                                                                  \
  X(SOFTPLUS, "softplus", 1)                                                                                          \
  X(RELU_BWD, "relu_bwd", 2) /* (y, dy), as are the two below */                                                      \
  X(TANH_BWD, "tanh_bwd", 2)                                                                                          \
  X(SIGMOID_BWD, "sigmoid_bwd", 2)                                                                                    \
  X(GELU_BWD, "gelu_bwd", 2) /* (x, dy), as are the three below */                                                    \
  X(GELU_TANH_BWD, "gelu_tanh_bwd", 2)                                                                                \
  X(SILU_BWD, "silu_bwd", 2)                                                                                          \
  X(SOFTPLUS_BWD, "softplus_bwd", 2)                                                                                  \
  X(ADD_RELU, "add_relu", 2) /* relu(in0 + in1), the two roundings of the separate operators */
/* clang-format on */

typedef enum iso__map_fn {
#define ISO__MAP_ENUM(id, name, n_inputs) ISO__MAP_##id,
  ISO__MAP_LIST(ISO__MAP_ENUM)
#undef ISO__MAP_ENUM
      ISO__N_MAPS
} iso__map_fn;

enum { ISO__MAP_MAX_DIMS = 8 };
typedef struct iso_map_problem {
  iso__problem head;  /* dtype of inputs and output (COPY: of the output) */
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
  double scalar[2]; /* rounded to the dtype once */
} iso_map_args;

/* Merges dimensions that are adjacent in every operand; fills n_dims, shape, strides from uncollapsed ones. */
void iso__map_collapse(iso_map_problem *problem, int n_operands, int n_dims, const int64_t *shape,
                       const int64_t *const *strides);
int iso__map_n_inputs(iso__map_fn fn);
const char *iso__map_name(iso__map_fn fn);
#endif
