/* cases.c: regions of interest that tests and benchmarks run. */
#include <stddef.h>
extern const char *const iso__roi_cases[];
const char *const iso__roi_cases[] = {"roi_align.fwd f32 n1 c3 h4 w4 k0 p2 q2",
                                      "roi_align.fwd f32 n3 c0 h4 w4 k2 p2 q2",
                                      "roi_align.fwd f32 n3 c1 h5 w7 k4 p2 q3",
                                      "roi_align.fwd f32 n4 c17 h9 w8 k6 p3 q2 samples2",
                                      "roi_align.fwd f32 n4 c70 h9 w8 k5 p2 q2 aligned1",
                                      "roi_align.fwd f32 n3 c5 h40 w40 k4 p1 q1 aligned1",
                                      "roi_align.fwd f32 n2 c40 h12 w12 k3 p7 q7 samples2 aligned1",
                                      "roi_align.fwd f64 n4 c3 h9 w8 k5 p2 q2 aligned1",
                                      "roi_align.bwd f32 n2 c3 h4 w4 k0 p2 q2",
                                      "roi_align.bwd f32 n3 c1 h5 w7 k4 p2 q3",
                                      "roi_align.bwd f32 n4 c17 h6 w5 k6 p3 q2 samples2",
                                      "roi_align.bwd f32 n3 c70 h4 w5 k5 p2 q2 aligned1",
                                      "roi_align.bwd f32 n1 c2 h3 w3 k60 p2 q2 samples5",
                                      "roi_align.bwd f64 n3 c2 h4 w5 k5 p2 q2 aligned1",
                                      "roi_pool f32 n1 c3 h4 w4 k0 p2 q2",
                                      "roi_pool f32 n4 c5 h9 w8 k6 p3 q2",
                                      "roi_pool f64 n4 c2 h9 w8 k6 p2 q2",
                                      NULL};
