/* owner.c: the calling thread's owner of memory (owner.h): a context belongs to one thread at a time, and the heap that
 * it shares with its children does not know who asks. */
#include "base/owner.h"
#include <stdio.h>

static _Thread_local iso__owner now;

iso__owner iso__owner_now(void) { return now; }
iso__owner iso__owner_enter(iso__owner owner) {
  const iso__owner before = now;
  now = owner;
  return before;
}

iso_memory_owners iso__owners_of(const size_t bytes[ISO__N_OWNERS]) {
  return (iso_memory_owners){.weights = bytes[ISO__OWNER_WEIGHTS],
                             .gradients = bytes[ISO__OWNER_GRADIENTS],
                             .optimizer = bytes[ISO__OWNER_OPTIMIZER],
                             .activations = bytes[ISO__OWNER_ACTIVATIONS],
                             .workspace = bytes[ISO__OWNER_WORKSPACE],
                             .captures = bytes[ISO__OWNER_CAPTURES],
                             .kept = bytes[ISO__OWNER_KEPT],
                             .data = bytes[ISO__OWNER_DATA],
                             .other = bytes[ISO__OWNER_OTHER]};
}

iso__bytes_text iso__bytes_words(size_t n) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double v = (double)n;
  int u = 0;
  while (v >= 1024 && u < 4) v /= 1024, u++;
  iso__bytes_text w;
  snprintf(w.text, sizeof w.text, v < 10 && u ? "%.1f %s" : "%.0f %s", v, units[u]);
  return w;
}

int iso_memory_owners_format(const iso_memory_owners *o, char *text, size_t n_bytes) {
  const struct {
    const char *name;
    size_t n_bytes;
    bool always;
  } rows[] = {
      {"weights", o->weights, true},          {"gradients", o->gradients, true}, {"optimizer", o->optimizer, true},
      {"activations", o->activations, true},  {"workspace", o->workspace, true}, {"kept weights", o->kept, false},
      {"captured steps", o->captures, false}, {"data", o->data, false},          {"other", o->other, false}};
  int length = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (!rows[i].always && !rows[i].n_bytes) continue;
    const bool fits = length >= 0 && (size_t)length < n_bytes;
    length += snprintf(fits ? text + length : NULL, fits ? n_bytes - (size_t)length : 0, "%s%s %s", i ? ", " : "",
                       rows[i].name, iso__bytes_words(rows[i].n_bytes).text);
  }
  return length;
}
