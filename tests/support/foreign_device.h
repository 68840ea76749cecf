/* foreign_device.h: a device whose memory the host cannot touch and for which there are no engines: code that reads or
 * writes a tensor's elements on the host, where it has no business to, ends the process. */
#ifndef ISO_TESTS_FOREIGN_DEVICE_H
#define ISO_TESTS_FOREIGN_DEVICE_H
#include "device/device.h"
extern const iso__device foreign_device;
extern size_t foreign_device_limit; /* of what is in use, in bytes of whole pages; 0: none */
#endif
