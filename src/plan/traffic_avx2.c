/* traffic_avx2.c: reading memory in 8-lane vectors. */
#include "plan/traffic_impl.h"

float iso__traffic_read_avx2(const void *from, size_t n_bytes) { return traffic_read(from, n_bytes); }
