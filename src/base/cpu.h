/* cpu.h: what this machine is: instruction sets, cores that we may use, cache sizes. Probed once. */
#ifndef ISO_BASE_CPU_H
#define ISO_BASE_CPU_H
#include <isobit/base.h>

typedef struct iso__cpu_info {
  iso_isa isa; /* the best that CPU and operating system support                   */
  bool has_f16c, has_bf16;
  int n_cores;                         /* min of affinity mask and cgroup quota (rounded up), at least 1    */
  size_t l1_bytes, l2_bytes, l3_bytes; /* per core, per core, shared; usual values if unknown   */
  char model[64];
} iso__cpu_info;

const iso__cpu_info *iso__cpu(void);
/* "scalar", "avx2", "avx512"; ISO_NOT_FOUND otherwise. */
iso_status iso__isa_parse(const char *name, iso_isa *out);
const char *iso__isa_name(iso_isa isa);
#endif
