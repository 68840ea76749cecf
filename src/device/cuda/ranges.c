/* ranges.c: named ranges for profilers (NVTX 3: Nsight Systems, Nsight Compute), in a domain of our own. The header
 * loads nothing unless a profiler names its library in NVTX_INJECTION64_PATH: then, and only then, is there a domain.
 */
#include "device/cuda/state.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#  include <nvtx3/nvToolsExt.h>

static nvtxDomainHandle_t domain; /* set once, when the first device opens */

static void push(const char *name) {
  nvtxEventAttributes_t e = {.version = NVTX_VERSION,
                             .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                             .messageType = NVTX_MESSAGE_TYPE_ASCII,
                             .message = {.ascii = name}};
  nvtxDomainRangePushEx(domain, &e);
}
static void pop(void) { nvtxDomainRangePop(domain); }

bool iso__cuda_ranges(void (**range_push)(const char *name), void (**range_pop)(void)) {
  if (!domain) domain = nvtxDomainCreateA("isobit");
  if (!domain) return false;
  return *range_push = push, *range_pop = pop, true;
}
#else
bool iso__cuda_ranges(void (**range_push)(const char *name), void (**range_pop)(void)) {
  (void)range_push, (void)range_pop;
  return false;
}
#endif
