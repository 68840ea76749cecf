/* clock.h: monotonic time. */
#ifndef ISO_BASE_CLOCK_H
#define ISO_BASE_CLOCK_H
#include <stdint.h>
uint64_t iso__clock_ns(void);
#endif
