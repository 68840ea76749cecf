/* find.c: devices by name. */
#include <stdio.h>
#include <string.h>
#include "device/cuda/cuda.h"
#include "device/device.h"

int iso__cuda_ordinal(const char *name) {
  if (strncmp(name, "cuda", 4) != 0) return -1;
  if (!name[4]) return 0;
  if (name[4] != ':' || !name[5] || strlen(name) > 8) return -1;
  int ordinal = 0;
  for (const char *p = name + 5; *p; p++) {
    if (*p < '0' || *p > '9') return -1;
    ordinal = 10 * ordinal + (*p - '0');
  }
  return ordinal;
}

iso_status iso__device_find(const char *name, const iso__device **device, char *why, size_t n_bytes) {
  if (n_bytes) why[0] = '\0';
  *device = &iso__device_cpu;
  if (!name)
    return snprintf(why, n_bytes, "device is NULL: cpu, cuda, cuda:N or auto is accepted"), ISO_INVALID_ARGUMENT;
  if (!strcmp(name, "cpu")) return ISO_OK;
  if (!strcmp(name, "auto")) {
    if (iso__cuda_open(0, device, why, n_bytes) != ISO_OK) *device = &iso__device_cpu;
    return ISO_OK;
  }
  const int ordinal = iso__cuda_ordinal(name);
  if (ordinal >= 0) return iso__cuda_open(ordinal, device, why, n_bytes);
  snprintf(why, n_bytes, "device '%.40s': cpu, cuda, cuda:N or auto is accepted", name);
  return ISO_INVALID_ARGUMENT;
}
