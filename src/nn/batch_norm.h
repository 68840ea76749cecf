/* batch_norm.h (internal): batch norm as a part of fused blocks. */
#ifndef ISO_NN_BATCH_NORM_H
#define ISO_NN_BATCH_NORM_H
#include <isobit/nn.h>

/* relu(batch_norm(x) + residual); residual NULL: none. */
iso_tensor *iso__batch_norm_module_forward(iso_module *module, const iso_tensor *x, const iso_tensor *residual,
                                           bool relu);

bool iso__is_batch_norm_module(const iso_module *module);
typedef struct iso__batch_norm_parts {
  const iso_tensor *gamma, *beta, *running_mean, *running_var; /* (channels) */
  double eps;
  bool folded;
} iso__batch_norm_parts;
iso__batch_norm_parts iso__batch_norm_parts_of(const iso_module *module);
/* It no longer normalises: the convolution before it does. */
void iso__batch_norm_module_set_folded(iso_module *module);
#endif
