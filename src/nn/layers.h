/* layers.h (internal): what Sequential needs to know about layers. */
#ifndef ISO_NN_LAYERS_H
#define ISO_NN_LAYERS_H
#include <isobit/nn.h>
bool iso__is_relu_module(const iso_module *module);
#endif
