/* launches.c: the list of launches (launches.h). */
#include "device/cuda/launches.h"
#include <stdio.h>
#include <string.h>

bool iso__launches_note(iso__launches *l, const char *name, uint32_t *number) {
  const uint32_t i = atomic_fetch_add_explicit(&l->n, 1, memory_order_relaxed);
  atomic_store_explicit(&l->names[i % ISO__LAUNCHES_KEPT], name, memory_order_relaxed);
  *number = i;
  return l->ended && i % ISO__LAUNCHES_MARK_EVERY == 0;
}

static const char *name_of(const iso__launches *l, uint32_t i) {
  return atomic_load_explicit(&l->names[i % ISO__LAUNCHES_KEPT], memory_order_relaxed);
}

void iso__launches_describe(const iso__launches *l, char *text, size_t n_bytes) {
  const uint32_t n = atomic_load_explicit(&l->n, memory_order_relaxed), open = n - (l->ended ? *l->ended : 0);
  const uint32_t known = open < ISO__LAUNCHES_KEPT ? open : ISO__LAUNCHES_KEPT;
  size_t used = 0;
  if (n_bytes) text[0] = '\0';
  if (known == 0) return;
  used = (size_t)(known == 1 ? snprintf(text, n_bytes, "in ")
                             : snprintf(text, n_bytes, "in one of the last %u launches: ", known));
  for (uint32_t i = n - known, run; i != n && used < n_bytes; i += run) {
    const char *name = name_of(l, i);
    for (run = 1; i + run != n && name_of(l, i + run) == name;) run++;
    used += (size_t)snprintf(text + used, n_bytes - used, "%s%s", i == n - known ? "" : ", ", name);
    if (run > 1 && used < n_bytes) used += (size_t)snprintf(text + used, n_bytes - used, " ×%u", run);
  }
  /* Too long: the latest names are worth least, since what failed stopped those behind it. */
  if (used >= n_bytes && n_bytes > 4) strcpy(text + n_bytes - 4, "\xe2\x80\xa6");
}
