/* traffic.h: how fast this machine reads and copies memory of a given footprint, measured, not looked up: what a
 * memory-bound engine is held against. One reading loop an instruction set; copying is the C library's. */
#ifndef ISO_PLAN_TRAFFIC_H
#define ISO_PLAN_TRAFFIC_H
#include <stddef.h>

/* Reads n_bytes (64-byte aligned; a rest below 512 bytes is left out) once; returns a value that depends on all of
 * them. */
typedef float iso__traffic_read(const void *from, size_t n_bytes);
iso__traffic_read iso__traffic_read_scalar, iso__traffic_read_avx2, iso__traffic_read_avx512;

#endif
