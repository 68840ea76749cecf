/* clock.c: monotonic time, unaffected by changes of the system's date. */
#include "base/clock.h"
#include <time.h>

uint64_t iso__clock_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
