/* owner.c: the calling thread's owner of memory (owner.h): a context belongs to one thread at a time, and the heap that
 * it shares with its children does not know who asks. */
#include "base/owner.h"

static _Thread_local iso__owner now;

iso__owner iso__owner_now(void) { return now; }
iso__owner iso__owner_enter(iso__owner owner) {
  const iso__owner before = now;
  now = owner;
  return before;
}
