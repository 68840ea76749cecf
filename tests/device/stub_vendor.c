/* stub_vendor.c: a vendor's library as far as finding it goes: it tells the version that the environment names
 * (test_vendor.c). With STUB_LACKS it has no stubMatmul. */
#include <stdlib.h>

size_t stubGetVersion(void) {
  const char *version = getenv("STUB_VENDOR_VERSION");
  return version ? strtoul(version, NULL, 10) : 91900;
}
int stubCreate(void) { return 0; }
#ifndef STUB_LACKS
int stubMatmul(void) { return 0; }
#endif
