/* device.h: where storage lies and how its bytes move: one row a device. */
#ifndef ISO_DEVICE_DEVICE_H
#define ISO_DEVICE_DEVICE_H
#include "base/heap.h"

typedef enum iso__device_kind { ISO__DEVICE_CPU } iso__device_kind;

typedef struct iso__device {
  const char *name;
  iso__device_kind kind;
  void *(*alloc)(iso__heap *heap, size_t n_bytes, iso_status *status);
  void (*free)(iso__heap *heap, void *block, size_t n_bytes);
  void (*copy)(void *dst, const void *src, size_t n_bytes); /* ordered after all work before it */
  void (*synchronize)(void);                                /* returns when all work is done */
} iso__device;

extern const iso__device iso__device_cpu;

#endif
