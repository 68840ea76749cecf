/* operands.h: real arguments for a problem, made from its operator's description: for tests, benchmarks and the tuner.
 */
#ifndef ISO_PLAN_OPERANDS_H
#define ISO_PLAN_OPERANDS_H
#include "plan/plan.h"

typedef struct iso__operand_set {
  int n;
  iso__operand operand[ISO__MAX_OPERANDS];
  void *block[ISO__MAX_OPERANDS]; /* of the context's heap; NULL: the caller's own buffer is bound */
  _Alignas(16) unsigned char args[512];
} iso__operand_set;

/* Allocates every operand, fills the inputs from `seed` as described and binds them. With `args` (may be NULL), the
 * arguments of a call that is about to run, their buffers are bound instead wherever running the problem any number of
 * times leaves them fit for that call: inputs, and outputs that share no byte with an input. On failure everything is
 * freed, the context's error is left as it was, and false is returned. */
bool iso__operand_set_init(iso_context *ctx, const iso__problem *problem, const void *args, uint64_t seed,
                           iso__operand_set *set);
/* The bytes that it would allocate. */
size_t iso__operand_set_need(const iso__problem *problem, const void *args);
void iso__operand_set_release(iso_context *ctx, iso__operand_set *set);
/* Writes n elements: normal, positive, zero or index data by logical element number. */
void iso__operand_fill(const iso__operand *operand, uint64_t seed, void *data);
#endif
