/* traffic_scalar.c: reading memory in plain C. */
#include "plan/traffic_impl.h"

float iso__traffic_read_scalar(const void *from, size_t n_bytes) { return traffic_read(from, n_bytes); }
