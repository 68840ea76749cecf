/* batch_norm.h (internal): batch norm as a part of fused blocks. */
#ifndef ISO_NN_BATCH_NORM_H
#define ISO_NN_BATCH_NORM_H
#include <isobit/nn.h>

/* relu(batch_norm(x) + residual); residual NULL: none. */
iso_tensor *iso__batch_norm_module_forward(iso_module *module, const iso_tensor *x, const iso_tensor *residual,
                                           bool relu);
#endif
