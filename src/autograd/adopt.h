/* adopt.h: leaves of a step that ran in child contexts. */
#ifndef ISO_AUTOGRAD_ADOPT_H
#define ISO_AUTOGRAD_ADOPT_H
#include "autograd/tape.h"

/* Takes the one leaf that `child`, a child context, has run in a step of its own of as many leaves: its gradients,
 * where theirs[i] stands for own[i], its loss, and what it put off. The child's step is over. */
iso_status iso__step_adopt(iso_context *ctx, iso_context *child, size_t n, const iso_named_tensor *own,
                           const iso_named_tensor *theirs);
#endif
