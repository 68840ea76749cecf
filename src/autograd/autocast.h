/* autocast.h: which dtype operators compute in, and the casts of weights that a scope keeps.
 *
 * This room knows scopes, the list and the kept casts; operators ask it and cast (ops/autocast.c). */
#ifndef ISO_AUTOGRAD_AUTOCAST_H
#define ISO_AUTOGRAD_AUTOCAST_H
#include <isobit/precision.h>
#include "tensor/tensor.h"

/* A tensor as it was when it was cast, and the cast. The history is retained, so that no other tensor can take its
 * place; the storage is not, since one with the same history and version has the same elements. */
typedef struct iso__cast_entry {
  iso__var *var;
  iso__view source; /* storage not retained: compared only */
  unsigned version;
  iso_tensor *low; /* kept */
} iso__cast_entry;

typedef struct iso__autocast_scope {
  struct iso__autocast_scope *outer;
  iso_dtype dtype;
  iso__cast_entry *weights;
  size_t n_weights, capacity;
  iso__cast_entry recent; /* the last cast of something else: what several products read at once */
  uint8_t kinds[];        /* one a row of the list */
} iso__autocast_scope;

typedef struct iso__autocast {
  iso__autocast_scope *scope; /* innermost; NULL: none */
  int n_off;                  /* inside an operator or backward: nothing is cast */
  bool told;                  /* what it saves */
} iso__autocast;

/* The context's slot: random numbers left theirs empty when their place became the tape's. */
enum { ISO__SLOT_AUTOCAST = ISO__SLOT_RANDOM };
static inline iso__autocast *iso__autocast_of(const iso_context *ctx) { return ctx->slot[ISO__SLOT_AUTOCAST]; }
static inline bool iso__autocast_is_on(const iso_context *ctx) {
  const iso__autocast *a = ctx ? iso__autocast_of(ctx) : NULL;
  return a && a->scope && !a->n_off && a->scope->dtype != ISO_F32;
}
iso_status iso__autocast_attach(iso_context *ctx);
/* In between, nothing is cast. */
static inline void iso__autocast_off(iso_context *ctx) {
  if (iso__autocast_of(ctx)) iso__autocast_of(ctx)->n_off++;
}
static inline void iso__autocast_on(iso_context *ctx) {
  if (iso__autocast_of(ctx)) iso__autocast_of(ctx)->n_off--;
}
/* For what computes a part of the forward pass once more: plain bytes, what operators did the first time. */
enum {
#define ROW(op) ISO__AUTOCAST_##op,
#define LOW(op) ROW(op)
#define F32(op) ROW(op)
#define WIDEST(op) ROW(op)
#define AS_IS(op) ROW(op)
#include "autograd/autocast.def"
#undef ROW
#undef LOW
#undef F32
#undef WIDEST
#undef AS_IS
  ISO__N_AUTOCAST_ROWS
};
typedef struct iso__autocast_state {
  iso_dtype dtype; /* ISO_F32: nothing was cast */
  uint8_t kinds[ISO__N_AUTOCAST_ROWS];
} iso__autocast_state;
void iso__autocast_save(const iso_context *ctx, iso__autocast_state *state);
/* In between, operators do that again, in a scope of their own; false with the error kept (no leave then). *n_off: for
 * the call that ends it. */
bool iso__autocast_restore(iso_context *ctx, const iso__autocast_state *state, int *n_off);
void iso__autocast_restored(iso_context *ctx, int n_off);

/* The row's kind now; AS_IS without a row. */
iso_autocast_kind iso__autocast_kind(const iso__autocast *a, const char *op);
/* The kept cast of t to the scope's dtype, without history; NULL: none. */
const iso_tensor *iso__autocast_find(iso_context *ctx, const iso_tensor *t);
/* Keeps it: of a leaf until the pop, of another recorded tensor until the next; false with the error kept. */
bool iso__autocast_keep(iso_context *ctx, const iso_tensor *t, const iso_tensor *low);
/* Drops all kept casts: memory of a capture must not leave it, nor that from outside be read in it. */
void iso__autocast_forget(iso_context *ctx);
#endif
