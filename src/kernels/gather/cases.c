/* cases.c: gathers that tests and benchmarks run: nothing, one, odd extents, every size of element, embeddings. */
#include <stddef.h>
extern const char *const iso__gather_cases[];
const char *const iso__gather_cases[] = {"gather f32 outer1 n0 inner5 extent3",
                                         "gather f32 outer1 n0 inner5 extent0",
                                         "gather f32 outer0 n3 inner5 extent3",
                                         "gather f32 outer2 n3 inner0 extent3",
                                         "gather f32 outer1 n1 inner1 extent1",
                                         "gather f32 outer1 n300 inner1 extent70",
                                         "gather f32 outer1 n60 inner17 extent9",
                                         "gather f64 outer3 n50 inner1 extent70",
                                         "gather i64 outer3 n5 inner3 extent7",
                                         "gather u8 outer3 n50 inner33 extent7",
                                         "gather f16 outer2 n50 inner1 extent70",
                                         "gather bool outer2 n50 inner3 extent70 each1",
                                         "gather bf16 outer2 n50 inner3 extent70 each1",
                                         "gather f32 outer3 n5 inner7 extent9 each1",
                                         "gather f32 outer1 n9000 inner1 extent4000 each1",
                                         "gather i32 outer40 n100 inner1 extent50 each1",
                                         "gather f64 outer1 n33 inner64 extent50 each1",
                                         "gather f32 outer1 n512 inner768 extent1000",
                                         NULL};
