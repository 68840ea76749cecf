/* cases.c: reductions that tests and benchmarks run. */
#include <stddef.h>
extern const char *const iso__reduce_cases[];
const char *const iso__reduce_cases[] = {
    /* rows: nothing, one, around a vector, the lanes and a row panel */
    "reduce.rows f32 sum outer0 n5", "reduce.rows f32 sum outer5 n0", "reduce.rows f32 mean outer3 n0",
    "reduce.rows f32 prod outer3 n0", "reduce.rows f32 sum outer9 n1", "reduce.rows f32 sum outer64 n10",
    "reduce.rows f32 sum outer7 n15", "reduce.rows f32 sum outer7 n17", "reduce.rows f32 sum outer5 n63",
    "reduce.rows f32 sum outer5 n64", "reduce.rows f32 sum outer5 n65", "reduce.rows f32 sum outer3 n1000",
    "reduce.rows f32 sum outer2 n4095", "reduce.rows f32 sum outer2 n4097", "reduce.rows f32 sum outer2 n20481",
    "reduce.rows f32 sum outer1 n100000", "reduce.rows f32 mean outer70 n784",
    "reduce.rows f32 sum_squares outer1 n31360", "reduce.rows f32 sum_squares outer9 n77",
    "reduce.rows f32 prod outer9 n77", "reduce.rows f32 prod outer3 n5000", "reduce.rows f32 sum outer300 n400",
    "reduce.rows f64 sum outer3 n5000", "reduce.rows f64 prod outer3 n99", "reduce.rows f32 max outer64 n10",
    "reduce.rows f32 max outer3 n1", "reduce.rows f32 min outer5 n101", "reduce.rows f32 argmax outer64 n10",
    "reduce.rows f32 argmin outer5 n101", "reduce.rows f32 argmax outer40 n1000", "reduce.rows f32 min outer3 n33",
    "reduce.rows f64 argmax outer3 n50", "reduce.rows f64 max outer3 n50",
    /* columns */
    "reduce.columns f32 sum outer0 n4 inner4", "reduce.columns f32 sum outer2 n0 inner5",
    "reduce.columns f32 prod outer2 n0 inner5", "reduce.columns f32 mean outer2 n0 inner5",
    "reduce.columns f32 sum outer1 n1 inner1", "reduce.columns f32 sum outer1 n64 inner10",
    "reduce.columns f32 sum outer1 n64 inner128", "reduce.columns f32 sum outer1 n64 inner3136",
    "reduce.columns f32 sum outer1 n255 inner33", "reduce.columns f32 sum outer1 n257 inner31",
    "reduce.columns f32 sum outer1 n1025 inner17", "reduce.columns f32 mean outer3 n49 inner64",
    "reduce.columns f32 sum outer5 n300 inner7", "reduce.columns f32 sum outer1 n4100 inner3",
    "reduce.columns f32 sum outer1 n8192 inner64", "reduce.columns f32 sum outer1 n17000 inner10",
    "reduce.columns f32 sum_squares outer1 n3000 inner70", "reduce.columns f32 mean outer1 n3000 inner1",
    "reduce.columns f32 sum outer1 n600 inner1500", "reduce.columns f32 prod outer1 n99 inner40",
    "reduce.columns f32 prod outer1 n6000 inner9", "reduce.columns f64 sum outer2 n700 inner9",
    "reduce.columns f64 mean outer1 n700 inner9", "reduce.columns f32 max outer3 n65 inner37",
    "reduce.columns f32 min outer1 n1 inner5", "reduce.columns f32 argmax outer3 n65 inner37",
    "reduce.columns f32 argmin outer2 n300 inner16", "reduce.columns f64 min outer2 n30 inner4", NULL};
