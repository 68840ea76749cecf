/* freeze.c: a module made ready for inference. Exact: the same operators on packed weights, without gradients. Folding
 * batch norm into the convolution before it is asked for: y = (w·s)*x + (β + (b − mean)·s) with s = γ/√(var + eps)
 * rounds elsewhere, so its bits are another model's. */
#include <string.h>
#include "nn/batch_norm.h"
#include "nn/conv.h"
#include "nn/module.h"

/* Modules that run a convolution and the batch norm behind it, of the list of children, one after the other. */
static bool runs_in_turn(const iso_module *m) {
  static const char *const names[] = {"Sequential", "BasicBlock", "Bottleneck", "ResNet"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (!strcmp(m->type->name, names[i])) return true;
  return false;
}

/* (k): γ/√(var + eps), and what is added then. */
static bool fold_pair(iso_module *conv, iso_module *norm) {
  iso_context *ctx = conv->ctx;
  const iso__batch_norm_parts p = iso__batch_norm_parts_of(norm);
  const iso_tensor *bias = iso_module_find_tensor(conv, "bias");
  iso_tensor *scale = iso_div(ctx, p.gamma, iso_sqrt(ctx, iso_add_scalar(ctx, p.running_var, p.eps)));
  iso_tensor *centre = bias ? iso_sub(ctx, bias, p.running_mean) : iso_neg(ctx, p.running_mean);
  iso_tensor *shift = iso_add(ctx, p.beta, iso_mul(ctx, centre, scale));
  return shift && iso__conv_module_fold(conv, scale, shift) && (iso__batch_norm_module_set_folded(norm), true);
}

static void fold(iso_module *m, iso_freeze_report *report) {
  for (size_t i = 0; i < m->n_children && !iso__failed(m->ctx); i++) fold(m->children[i].module, report);
  if (!runs_in_turn(m)) return;
  for (size_t i = 0; i + 1 < m->n_children && !iso__failed(m->ctx); i++) {
    iso_module *conv = m->children[i].module, *norm = m->children[i + 1].module;
    if (!iso__is_conv_module(conv) || !iso__is_batch_norm_module(norm) || iso__batch_norm_parts_of(norm).folded)
      continue;
    iso_scope_push(m->ctx);
    if (fold_pair(conv, norm)) report->n_folded++;
    iso_scope_pop(m->ctx);
  }
}

iso_status iso_module_freeze(iso_module *m, const iso_freeze_options *options, iso_freeze_report *report) {
  iso_freeze_report ignored;
  if (!report) report = &ignored;
  *report = (iso_freeze_report){0};
  if (!m) return ISO_INVALID_ARGUMENT;
  if (iso__failed(m->ctx)) return iso_error_code(m->ctx);
  iso_module_train(m, false);
  iso_no_grad_push(m->ctx);
  if (options && options->fold_batch_norm) fold(m, report);
  iso_no_grad_pop(m->ctx);
  size_t n;
  const iso_named_tensor *list = iso_module_tensors(m, &n);
  for (size_t i = 0; i < n; i++) {
    if (!list[i].trainable) continue;
    iso_requires_grad(list[i].tensor, false);
    report->n_packed += iso_tensor_n_dims(list[i].tensor) >= 2;
  }
  return iso_module_pack(m, true);
}
