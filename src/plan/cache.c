/* cache.c: the process-wide plan cache, bounded by construction.
 *
 * A key is the 128-bit hash of problem, policy, threads and instruction set, so an entry has a fixed size. The table is
 * set-associative: four ways a set, the oldest way of a full set is replaced. Nothing is ever freed, plans are copied
 * out, and a lost entry only costs a new choice. Pages that no plan uses are never touched. */
#include <pthread.h>
#include "plan/state.h"

enum { N_SETS = 1 << 14, N_WAYS = 4, N_LOCKS = 64 };

typedef struct cache_entry {
  iso__hash key;
  iso__plan plan; /* engine NULL: empty */
} cache_entry;
typedef struct cache_set {
  cache_entry way[N_WAYS];
  unsigned next;
} cache_set;

static cache_set sets[N_SETS];
#define L PTHREAD_MUTEX_INITIALIZER
#define L8 L, L, L, L, L, L, L, L
static pthread_mutex_t locks[N_LOCKS] = {L8, L8, L8, L8, L8, L8, L8, L8};
#undef L8
#undef L

static size_t set_of(iso__hash key) { return (size_t)(key.low % N_SETS); }

bool iso__cache_find(iso__hash key, iso__plan *plan) {
  const size_t s = set_of(key);
  bool found = false;
  pthread_mutex_lock(&locks[s % N_LOCKS]);
  for (int i = 0; i < N_WAYS && !found; i++) {
    const cache_entry *e = &sets[s].way[i];
    if (e->plan.engine && e->key.low == key.low && e->key.high == key.high) *plan = e->plan, found = true;
  }
  pthread_mutex_unlock(&locks[s % N_LOCKS]);
  return found;
}

void iso__cache_keep(iso__hash key, const iso__plan *plan) {
  const size_t s = set_of(key);
  pthread_mutex_lock(&locks[s % N_LOCKS]);
  cache_entry *e = NULL;
  for (int i = 0; i < N_WAYS && !e; i++) {
    cache_entry *way = &sets[s].way[i];
    if (way->plan.engine && way->key.low == key.low && way->key.high == key.high) e = way; /* a better plan for it */
  }
  if (!e) e = &sets[s].way[sets[s].next++ % N_WAYS];
  e->key = key;
  e->plan = *plan;
  pthread_mutex_unlock(&locks[s % N_LOCKS]);
}
