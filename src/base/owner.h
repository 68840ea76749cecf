/* owner.h: whose memory is being asked for: what the calling thread is busy with, for reports of a device's memory.
 * Nothing but a report depends on it. */
#ifndef ISO_BASE_OWNER_H
#define ISO_BASE_OWNER_H

typedef enum iso__owner {
  ISO__OWNER_ACTIVATIONS, /* whatever nobody claims: results of operators, and what backward keeps of them */
  ISO__OWNER_WEIGHTS,     /* parameters, buffers, and forms of them that engines keep */
  ISO__OWNER_GRADIENTS,   /* all that backward makes */
  ISO__OWNER_OPTIMIZER,
  ISO__OWNER_WORKSPACE,
  ISO__OWNER_CAPTURES, /* pools of captured steps, whole */
  ISO__N_OWNERS
} iso__owner;

iso__owner iso__owner_now(void);
/* From here on; returns the one before, to go back to. */
iso__owner iso__owner_enter(iso__owner owner);
static inline void iso__owner_leave(iso__owner before) { (void)iso__owner_enter(before); }
#endif
