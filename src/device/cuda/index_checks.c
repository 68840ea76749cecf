/* index_checks.c: the list of a context's index checks (indices.h). */
#include <string.h>
#include "device/cuda/indices.h"

static bool is_same(const iso__index_check *a, const iso__index_check *b) {
  return a->op == b->op && a->name == b->name && a->is_class == b->is_class && a->wraps == b->wraps &&
         a->ignores == b->ignores && a->ignored == b->ignored && a->extent == b->extent && a->n_dims == b->n_dims &&
         memcmp(a->shape, b->shape, sizeof a->shape[0] * (size_t)a->n_dims) == 0;
}

/* A step asks in the same order as the one before: the one behind the latest is looked at first. */
int iso__index_checks_find(iso_context *ctx, iso__index_checks *c, const iso__index_check *check) {
  for (size_t i = 0; i < c->n; i++) {
    const size_t at = (c->latest + 1 + i) % c->n;
    if (is_same(&c->list[at], check)) return (int)(c->latest = at);
  }
  if (c->n >= INT32_MAX || !iso__grow(ctx, (void **)&c->list, &c->capacity, c->n + 1, sizeof *c->list)) return -1;
  c->list[c->n] = *check;
  return (int)(c->latest = c->n++);
}
