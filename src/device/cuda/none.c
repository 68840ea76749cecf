/* none.c: a build without CUDA. */
#include <stdio.h>
#include "device/cuda/cuda.h"
#include "device/cuda/report.h"

iso_status iso__cuda_open(int ordinal, const iso__device **device, char *why, size_t n_bytes) {
  (void)device;
  snprintf(why, n_bytes, "cuda:%d: this build of Isobit has no CUDA (nvcc was not found when it was configured)",
           ordinal);
  return ISO_UNSUPPORTED;
}

bool iso__cuda_bus_address(int ordinal, char *address, size_t n_bytes) {
  (void)ordinal, (void)address, (void)n_bytes;
  return false;
}

iso__cuda_memory iso__cuda_memory_info(const iso__device *device) {
  (void)device;
  return (iso__cuda_memory){0};
}

iso__cuda_graph *iso__cuda_graph_begin(const iso__device *device, char *why, size_t n_bytes) {
  snprintf(why, n_bytes, "%s: this build of Isobit has no CUDA", device->name);
  return NULL;
}
bool iso__cuda_graph_end(iso__cuda_graph *graph, char *why, size_t n_bytes) {
  (void)graph;
  if (n_bytes) why[0] = '\0';
  return false;
}
iso_status iso__cuda_graph_launch(const iso__cuda_graph *graph) {
  (void)graph;
  return ISO_UNSUPPORTED;
}
void iso__cuda_graph_free(iso__cuda_graph *graph) { (void)graph; }

iso__cuda_owners iso__cuda_memory_owners(const iso__device *device) {
  (void)device;
  return (iso__cuda_owners){0};
}
void iso__cuda_set_owner(const iso__device *device, void *block, iso__owner owner) {
  (void)device, (void)block, (void)owner;
}
void iso__cuda_note(const iso__device *device, const char *what) { (void)device, (void)what; }
void iso__cuda_explain(const iso__device *device, char *text, size_t n_bytes) {
  snprintf(text, n_bytes, "%s: this build of Isobit has no CUDA", device->name);
}
