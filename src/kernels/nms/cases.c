/* cases.c: suppressions that tests and benchmarks run. */
#include <stddef.h>
extern const char *const iso__nms_cases[];
const char *const iso__nms_cases[] = {"nms f32 n0",
                                      "nms f32 n1",
                                      "nms f32 n9",
                                      "nms f32 n17",
                                      "nms f32 n300",
                                      "nms f32 n40 grouped1",
                                      "nms f32 n2000 grouped1",
                                      "nms f64 n70",
                                      "nms f64 n70 grouped1",
                                      NULL};
