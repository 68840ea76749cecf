/* The choice among the array forms of bulk.h. */
#include "bulk.h"

int iso__bulk_available(const struct iso__bulk *tables[3]) {
  int n = 0;
  tables[n++] = &iso__bulk_scalar;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) tables[n++] = &iso__bulk_avx2;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    tables[n++] = &iso__bulk_avx512;
#endif
  return n;
}

const struct iso__bulk *iso__bulk(void) {
  const struct iso__bulk *tables[3];
  return tables[iso__bulk_available(tables) - 1];
}
