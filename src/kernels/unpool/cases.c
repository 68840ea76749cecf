/* cases.c: places and picks that tests and benchmarks run: none, one, many contributions to one place, the models'. */
#include <stddef.h>
extern const char *const iso__unpool_cases[];
const char *const iso__unpool_cases[] = {"unpool.pick f32 n0 c3 places4 picks2",
                                         "unpool.pick f32 n2 c5 places9 picks0",
                                         "unpool.pick f32 n3 c33 places49 picks17",
                                         "unpool.pick f32 n70 c1 places49 picks17",
                                         "unpool.pick f64 n2 c3 places49 picks17",
                                         "unpool.pick f32 n16 c64 places784 picks196",
                                         "unpool.put f32 n2 c3 places4 picks0",
                                         "unpool.put f32 n3 c33 places49 picks97",
                                         "unpool.put f32 n70 c1 places49 picks17",
                                         "unpool.put f64 n2 c3 places49 picks17",
                                         "unpool.put f32 n16 c64 places784 picks196",
                                         "unpool.add f32 n2 c3 places4 picks0",
                                         "unpool.add f32 n1 c1 places1 picks1",
                                         "unpool.add f32 n3 c33 places49 picks97",
                                         "unpool.add f32 n70 c1 places49 picks17",
                                         "unpool.add f32 n2 c17 places1 picks1100",
                                         "unpool.add f32 n2 c1 places3 picks5000",
                                         "unpool.add f32 n1 c40 places2 picks513",
                                         "unpool.add f64 n2 c3 places4 picks2000",
                                         "unpool.add f32 n16 c64 places784 picks196",
                                         NULL};
