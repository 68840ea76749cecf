/* mobilenet.h: a network of depthwise separable convolutions. */
#ifndef ISO_NN_MOBILENET_H
#define ISO_NN_MOBILENET_H
#include <isobit/nn.h>

iso_module *iso__mobilenet(iso_context *ctx, const iso_model_config *config);
#endif
