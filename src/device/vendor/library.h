/* library.h: vendors' libraries, loaded at run time where they are found: which file, which version, or why not.
 *
 * Nothing is linked and no header of theirs is needed: engines.def's rows for them are candidates only where the
 * library that was found fits. A library is looked for once a process, when it is first asked for. */
#ifndef ISO_DEVICE_VENDOR_LIBRARY_H
#define ISO_DEVICE_VENDOR_LIBRARY_H
#include <isobit/device.h>
#include "base/context.h"

typedef enum iso__vendor { ISO__CUBLASLT, ISO__CUDNN, ISO__N_VENDORS } iso__vendor;

/* What is looked for. */
typedef struct iso__vendor_wanted {
  const char *name, *variable; /* "cuDNN", "ISOBIT_CUDNN": names the file or its folder, and nothing else is tried */
  const char *stem;            /* "libcudnn.so"; ".9" comes behind it */
  int least_major, most_major; /* that fit */
  const char *version_symbol;  /* size_t (*)(void): major·10000 + minor·100 + patch, older majors major·1000 + … */
  const char *const *symbols;  /* all needed; NULL ends */
  const char *const *folders;  /* patterns of glob(7), tried behind the loader's own places; NULL ends */
} iso__vendor_wanted;

typedef struct iso__vendor_library {
  void *handle; /* NULL: there is none that fits, and `reason` says why */
  int major, minor, patch;
  char path[512], reason[512], searched[1024];
} iso__vendor_library;

/* Looks for it anew: for tests. What was loaded stays loaded. */
void iso__vendor_find(const iso__vendor_wanted *wanted, iso__vendor_library *library);
/* The process' own, found at the first call. */
const iso__vendor_library *iso__vendor_library_of(iso__vendor vendor);
/* A symbol that the list of needed ones has. */
void *iso__vendor_symbol(const iso__vendor_library *library, const char *name);

#endif
