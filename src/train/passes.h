/* passes.h: a step's leaves, several at a time. */
#ifndef ISO_TRAIN_PASSES_H
#define ISO_TRAIN_PASSES_H
#include "train/trainer.h"

/* How many leaves run at the same time when a step has n_leaves; 1: passes are not for this. */
int iso__passes_leaves(const iso_trainer *t, int n_leaves);
/* All leaves of the step that is open, pass by pass. */
iso_status iso__passes_run(iso_trainer *t, const iso__samples *batch, int n_leaves);
void iso__passes_release(iso_trainer *t);
#endif
