/* cases.c: pointwise problems that tests and benchmarks run. */
#include <stddef.h>
extern const char *const iso__map_cases[];
const char *const iso__map_cases[] = {
    /* every function: a tail after whole vectors */
    "map f32 add 1003", "map f32 sub 1003", "map f32 mul 1003", "map f32 div 1003", "map f32 maximum 1003",
    "map f32 minimum 1003", "map f32 pow 1003", "map f32 eq 1003", "map f32 lt 1003", "map f32 le 1003",
    "map f32 where 1003", "map f32 add_scalar 1003", "map f32 mul_scalar 1003", "map f32 rsub_scalar 1003",
    "map f32 rdiv_scalar 1003", "map f32 pow_scalar 1003", "map f32 clamp 1003", "map f32 fma 1003",
    "map f32 fma_scalar 1003", "map f32 copy 1003", "map f32 neg 1003", "map f32 abs 1003", "map f32 sign 1003",
    "map f32 square 1003", "map f32 sqrt 1003", "map f32 rsqrt 1003", "map f32 reciprocal 1003", "map f32 exp 1003",
    "map f32 exp2 1003", "map f32 expm1 1003", "map f32 log 1003", "map f32 log2 1003", "map f32 log1p 1003",
    "map f32 erf 1003", "map f32 tanh 1003", "map f32 sigmoid 1003", "map f32 sinpi 1003", "map f32 cospi 1003",
    "map f32 relu 1003", "map f32 gelu 1003", "map f32 gelu_tanh 1003", "map f32 silu 1003", "map f32 softplus 1003",
    "map f32 relu_bwd 1003", "map f32 tanh_bwd 1003", "map f32 sigmoid_bwd 1003", "map f32 gelu_bwd 1003",
    "map f32 gelu_tanh_bwd 1003", "map f32 silu_bwd 1003", "map f32 softplus_bwd 1003", "map f32 add_relu 1003",
    /* sizes around a vector, nothing, one */
    "map f32 add 0", "map f32 add 1", "map f32 add 7", "map f32 add 8", "map f32 add 9", "map f32 add 15",
    "map f32 add 16", "map f32 add 17", "map f32 add 16385", "map f32 relu 200704", "map f32 exp 40001",
    "map f32 add 5x0",
    /* broadcast rows, columns and scalars */
    "map f32 add 64x10 b0x1", "map f32 add 64x128 b0x1", "map f32 sub 64x10 b1x0", "map f32 mul 33x65 b1x0",
    "map f32 mul 40000 b0", "map f32 div 40000 a0", "map f32 fma 5x7x9 b0x9x1 c1x0x0", "map f32 where 70x70 a0x1 c1x0",
    "map f32 add_relu 2048x64 b0x1",
    /* transposed, sliced, flipped, with holes in the output */
    "map f32 add 37x53 b1x37", "map f32 mul 3x5x7 a1x3x15 b105x21x3", "map f32 relu 600 a2", "map f32 relu 1300 out3",
    "map f32 sub 129x4 out8x2 a4x-1", "map f32 maximum 1000 a-1 b-2", "map f32 add 40000 a-1",
    "map f32 tanh 20x30x40 out3000x100x2", "map f32 add 2x2x2x2x2x2x2x2 a1x2x4x8x16x32x64x128",
    /* the models' */
    "map f32 add 262144", "map f32 relu_bwd 200704", "map f32 add 64x32", "map f32 relu 32",
    /* an output that bypasses the caches */
    "map f32 exp 8388611",
    /* other dtypes */
    "map f64 add 100", "map f64 exp 100", "map f64 gelu_bwd 100", "map f16 mul 100", "map bf16 silu 100",
    "map i64 add 100", "map i32 div 100", "map u8 sub 100", "map bool eq 100", "map i32 sqrt 100",
    "map f64 pow_scalar 100",
    /* copies */
    "copy f32 fromf32 0", "copy f32 fromf32 1", "copy f32 fromf32 100003", "copy f32 fromf32 37x53 a1x37",
    "copy f32 fromf32 8x14x14x32 a6272x14x1x196", "copy f32 fromf32 8x32x49 a1568x1x32", "copy f64 fromf64 70x70 a1x70",
    "copy u8 fromu8 1000 a-1", "copy bf16 frombf16 50x40 a1x50", "copy i64 fromi64 9x9 out1x9", "copy f32 fromu8 3000",
    "copy f32 fromf64 3001", "copy f64 fromf32 60x50 a1x60", "copy i32 fromf32 500", "copy bool fromf32 500",
    "copy f16 fromf32 500", "copy bf16 fromf64 500", "copy f32 fromf32 100 out2 a0", "copy i64 fromi32 10x10 a0x1",
    NULL};
