/* resnet.h: residual networks for small images (as on CIFAR) and large ones (as on ImageNet). */
#ifndef ISO_NN_RESNET_H
#define ISO_NN_RESNET_H
#include <isobit/nn.h>

iso_module *iso__resnet8(iso_context *ctx, const iso_model_config *config);
iso_module *iso__resnet18(iso_context *ctx, const iso_model_config *config);
iso_module *iso__resnet50(iso_context *ctx, const iso_model_config *config);
iso_module *iso__resnet18_imagenet(iso_context *ctx, const iso_model_config *config);
#endif
