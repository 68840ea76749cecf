/* traffic_avx512.c: reading memory in 16-lane vectors. */
#include "plan/traffic_impl.h"

float iso__traffic_read_avx512(const void *from, size_t n_bytes) { return traffic_read(from, n_bytes); }
