/* init.h (internal): how layers start. */
#ifndef ISO_NN_INIT_H
#define ISO_NN_INIT_H
#include <isobit/nn.h>
#include "autograd/tape.h"

/* Where an initialiser draws from. */
iso_philox iso__init_place(const iso_tensor *t, uint32_t site);
/* U(−1/√fan_in, 1/√fan_in), as PyTorch starts weights and biases of Linear and convolutions, at the context's next
 * site. Takes t over: NULL with the error kept on failure. */
iso_tensor *iso__init_default(iso_context *ctx, iso_tensor *t, double fan_in);
#endif
