/* cases.c: fractional poolings that tests and benchmarks run. */
#include <stddef.h>
extern const char *const iso__fractional_cases[];
const char *const iso__fractional_cases[] = {"fractional_max_pool f32 n0 c3 h4 w4 kh2 kw2 oh2 ow2",
                                             "fractional_max_pool f32 n1 c1 h2 w2 kh2 kw2",
                                             "fractional_max_pool f32 n2 c5 h9 w7 kh2 kw3 oh4 ow5",
                                             "fractional_max_pool f32 n1 c3 t5 h6 w7 kt2 kh2 kw2 ot3 oh4 ow3",
                                             "fractional_max_pool f64 n2 c2 h9 w7 kh2 kw3 oh8 ow1",
                                             "fractional_max_pool f32 n4 c16 h28 w28 kh2 kw2 oh19 ow19",
                                             NULL};
