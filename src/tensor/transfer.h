/* transfer.h (this room's): copies that a device other than the CPU takes part in. */
#ifndef ISO_TENSOR_TRANSFER_H
#define ISO_TENSOR_TRANSFER_H
#include "tensor/tensor.h"

/* iso__view_copy where a side is not the CPU's; not empty. Errors of devices are kept. */
void iso__view_transfer(iso_context *ctx, const iso__view *dst, const iso__view *src);
/* Both sides' dims by dst's strides, the largest outermost and none negative, neighbours merged (copy.c). */
void iso__views_into_memory_order(iso__view *dst, iso__view *src);
#endif
