/* cpu.h: what this machine is: instruction sets, cores that we may use, cache sizes. Probed once. */
#ifndef ISO_BASE_CPU_H
#define ISO_BASE_CPU_H
#include <isobit/base.h>

typedef iso_machine_info iso__cpu_info; /* base.h */
const iso__cpu_info *iso__cpu(void);
/* "scalar", "avx2", "avx512"; ISO_NOT_FOUND otherwise. */
iso_status iso__isa_parse(const char *name, iso_isa *out);
#endif
