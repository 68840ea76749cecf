/* module.h (internal): the module's inside. */
#ifndef ISO_NN_MODULE_H
#define ISO_NN_MODULE_H
#include <isobit/nn.h>
#include "base/context.h"

typedef struct iso__module_tensor {
  char *name; /* own, without dots */
  iso_tensor *tensor;
  bool trainable;
} iso__module_tensor;

typedef struct iso__module_child {
  char *name;
  iso_module *module;
} iso__module_child;

struct iso_module {
  iso_context *ctx;
  const iso_module_type *type;
  void *state;
  iso_module *parent;
  bool training, checkpointing;
  bool is_block; /* of a model made of several: what iso_module_checkpoint_blocks takes */
  iso__module_tensor *tensors;
  size_t n_tensors, tensors_capacity;
  iso__module_child *children;
  size_t n_children, children_capacity;
  /* What iso_module_tensors returned last: names are in `text`. */
  iso_named_tensor *list;
  size_t n_list;
  char *text;
  size_t n_text_bytes;
};

/* How a module runs: one of its type's functions. */
typedef enum iso__way { ISO__FORWARD, ISO__FORWARD_RELU, ISO__FORWARD_SEQUENCE } iso__way;
/* Without name, checks or checkpoint. lengths: of ISO__FORWARD_SEQUENCE, else unread. */
iso_tensor *iso__module_call(iso_module *module, iso__way way, iso_tensor *x, const iso_tensor *lengths);
/* Its forward: runs between these, and their gradients, carry its name in a trace. Enter returns what leave needs. */
size_t iso__module_enter(const iso_module *module);
void iso__module_leave(const iso_module *module, size_t outer);
/* With a ReLU behind, of a type that has that in one. */
iso_tensor *iso__module_forward_relu(iso_module *module, iso_tensor *x);
/* A linear layer's, with a residual (or NULL) and an iso__activation behind in one go; NULL without an error where that
 * is not to be had (ops/product/linear.h), or the module is another. */
iso_tensor *iso__module_forward_fused(iso_module *linear, iso_tensor *x, const iso_tensor *residual, int activation);

/* checkpointing.c: a forward of the module as a checkpoint. */
iso_tensor *iso__module_checkpoint(iso_module *module, iso__way way, iso_tensor *x, const iso_tensor *lengths);
iso_module *iso__module_mark_block(iso_module *module); /* is_block = true; NULL is fine */

/* Registers a parameter or buffer made here; on failure frees the module. For constructors: chain and test once. */
iso_module *iso__module_with(iso_module *module, const char *name, iso_tensor *tensor, bool trainable);
/* A module of these children under these names; takes them all: NULL and everything freed if one is missing. */
iso_module *iso__module_with_children(iso_context *ctx, const iso_module_type *type, int n, const char *const *names,
                                      iso_module *const *children);
#endif
