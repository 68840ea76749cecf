/* Included once by bulk_scalar.c, bulk_avx2.c and bulk_avx512.c: makes the table BULK_TABLE at that width. */
#include "bulk.h"
#include "cast_body.h"
#include "lanes.h"
#include "mathv_body.h"
#include "philox_body.h"

static float row_sum(const float *x, size_t n) { return lanes_sum(x, n); }
static float row_dot(const float *x, const float *y, size_t n) { return lanes_dot(x, y, n); }
static float row_square_deviation(const float *x, float mean, size_t n) { return lanes_square_deviation(x, mean, n); }

const struct iso__bulk BULK_TABLE = {
    .isa = VEC_ISA_NAME,
    .words = fill_words,
    .uniform = fill_uniform,
    .normal = fill_normal,
    .lanes_sum = row_sum,
    .lanes_dot = row_dot,
    .lanes_square_deviation = row_square_deviation,
#define BULK_ROW(name) mathv_##name,
    .math = {ISO__MATH_LIST(BULK_ROW)},
    .math2 = {ISO__MATH2_LIST(BULK_ROW)},
#undef BULK_ROW
    .cast_from_f32 =
        {[ISO_F64] = cast_f32_f64, [ISO_F16] = cast_f32_f16, [ISO_BF16] = cast_f32_bf16, [ISO_U8] = cast_f32_u8},
    .cast_to_f32 = {[ISO_F64] = cast_f64_f32,
                    [ISO_F16] = cast_f16_f32,
                    [ISO_BF16] = cast_bf16_f32,
                    [ISO_U8] = cast_u8_f32,
                    [ISO_BOOL] = cast_bool_f32,
                    [ISO_I32] = cast_i32_f32,
                    [ISO_I64] = cast_i64_f32},
};
