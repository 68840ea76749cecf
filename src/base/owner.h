/* owner.h: whose memory is being asked for: what the calling thread is busy with, for reports of memory. Nothing but a
 * report depends on it. */
#ifndef ISO_BASE_OWNER_H
#define ISO_BASE_OWNER_H
#include <isobit/base.h>

typedef enum iso__owner {
  ISO__OWNER_ACTIVATIONS, /* whatever nobody claims: results of operators, and what backward keeps of them */
  ISO__OWNER_WEIGHTS,     /* parameters and buffers */
  ISO__OWNER_GRADIENTS,   /* all that backward makes */
  ISO__OWNER_OPTIMIZER,
  ISO__OWNER_WORKSPACE,
  ISO__OWNER_CAPTURES, /* pools of captured steps, whole */
  ISO__OWNER_KEPT,     /* forms of weights that engines keep */
  ISO__OWNER_DATA,     /* data sets, loaders, and batches until they are replaced */
  ISO__OWNER_OTHER,    /* contexts, modules, plans, tapes: what is no tensor */
  ISO__N_OWNERS
} iso__owner;

iso__owner iso__owner_now(void);
/* From here on; returns the one before, to go back to. */
iso__owner iso__owner_enter(iso__owner owner);
/* Bytes by owner, as the public struct. */
iso_memory_owners iso__owners_of(const size_t bytes[ISO__N_OWNERS]);
/* "1.5 GiB" */
typedef struct iso__bytes_text {
  char text[16];
} iso__bytes_text;
iso__bytes_text iso__bytes_words(size_t n_bytes);
static inline void iso__owner_leave(iso__owner before) { (void)iso__owner_enter(before); }
#endif
