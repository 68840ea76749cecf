/* checks.h (this room's): the steps behind "is a GPU usable", over files and a driver library that a test may replace.
 */
#ifndef ISO_DEVICE_CUDA_CHECKS_H
#define ISO_DEVICE_CUDA_CHECKS_H
#include <isobit/device.h>

typedef struct iso__cuda_machine {
  const char *architectures;  /* that the build has code for: "75 80 86 89 90a"; NULL: built without CUDA */
  int runtime;                /* CUDART_VERSION of the build: 13000 */
  const char *control;        /* /dev/nvidiactl */
  const char *module_version; /* /proc/driver/nvidia/version */
  const char *library;        /* libcuda.so.1 */
  /* A kernel on the first device, once all else is well; NULL, or why it failed. */
  const char *(*probe)(char *why, size_t n_bytes);
} iso__cuda_machine;
int iso__cuda_checks(const iso__cuda_machine *machine, iso_device_check list[ISO_MAX_DEVICE_CHECKS]);

#ifdef ISO_HAS_CUDA
const char *iso__cuda_probe(char *why, size_t n_bytes); /* probe.cu */
#endif
#endif
