/* cases.c: scans that tests and benchmarks run. */
#include <stddef.h>
extern const char *const iso__scan_cases[];
const char *const iso__scan_cases[] = {
    /* nothing, one, around tiles, panels, groups of chains and waves */
    "scan f32 sum outer3 n0 inner2", "scan f32 sum outer0 n5 inner1", "scan f32 sum outer1 n1 inner1",
    "scan f32 sum outer1 n7 inner1", "scan f32 sum outer1 n8 inner1 reverse1", "scan f32 sum outer9 n9 inner1",
    "scan f32 sum outer2 n1023 inner1", "scan f32 sum outer1 n1024 inner1", "scan f32 sum outer2 n1025 inner1 reverse1",
    "scan f32 sum outer7 n1300 inner1", "scan f32 sum outer64 n128 inner1", "scan f32 sum outer37 n131 inner1 reverse1",
    "scan f32 sum outer1 n9000 inner1", "scan f32 sum outer3 n20000 inner1 reverse1",
    "scan f32 sum outer1 n50001 inner1", "scan f32 sum outer1 n300003 inner1",
    "scan f32 sum outer1 n270001 inner1 reverse1", "scan f32 prod outer5 n70 inner1",
    "scan f32 prod outer2 n2100 inner1 reverse1", "scan f32 prod outer1 n40000 inner1",
    "scan f32 logsumexp outer5 n70 inner1", "scan f32 logsumexp outer20 n65 inner1 reverse1",
    "scan f32 logsumexp outer1 n3000 inner1", "scan f32 logsumexp outer1 n40001 inner1",
    /* columns */
    "scan f32 sum outer2 n1025 inner3 reverse1", "scan f32 sum outer1 n2100 inner17",
    "scan f32 sum outer2 n40 inner1100", "scan f32 prod outer2 n60 inner33", "scan f32 logsumexp outer2 n60 inner33",
    "scan f32 logsumexp outer1 n1100 inner3 reverse1",
    /* f64 */
    "scan f64 sum outer2 n1500 inner2", "scan f64 sum outer1 n7 inner5 reverse1", "scan f64 sum outer1 n9000 inner1",
    "scan f64 sum outer9 n100 inner1 reverse1", "scan f64 prod outer2 n1030 inner1",
    "scan f64 sum outer1 n40000 inner1", "scan f64 logsumexp outer5 n70 inner1",
    "scan f64 logsumexp outer1 n1100 inner3", "scan f64 prod outer2 n1030 inner3",
    /* integers, extrema */
    "scan i64 sum outer3 n100 inner1", "scan i32 sum outer3 n100 inner7 reverse1", "scan u8 sum outer2 n300 inner70",
    "scan bool sum outer3 n100 inner1", "scan i64 prod outer3 n40 inner2", "scan i32 prod outer3 n4 inner1 reverse1",
    "scan i64 sum outer3 n0 inner1", "scan f32 max outer5 n100 inner1", "scan f32 min outer2 n300 inner70 reverse1",
    "scan f64 max outer2 n100 inner3", "scan f64 min outer4 n77 inner1", "scan i64 max outer4 n77 inner1",
    "scan i32 min outer4 n77 inner3 reverse1", "scan u8 max outer4 n77 inner1", "scan bool min outer4 n7 inner3", NULL};
