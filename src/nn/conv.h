/* conv.h (internal): what freezing needs of convolutions' layers. */
#ifndef ISO_NN_CONV_H
#define ISO_NN_CONV_H
#include <isobit/nn.h>
/* A plain one, not transposed. */
bool iso__is_conv_module(const iso_module *module);
/* weight ← weight·scale by output channel, bias ← shift (both (out)), in place, a bias being added where there was
 * none; false with the context's error set. */
bool iso__conv_module_fold(iso_module *module, const iso_tensor *scale, iso_tensor *shift);
#endif
