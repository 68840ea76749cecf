/* checkpointing.c: modules whose forward is a block of iso_checkpoint: kept inputs, recomputed inside. */
#include "nn/module.h"

/* Which module ran how; copied with the block. */
typedef struct module_call {
  iso_module *module;
  iso__way way;
  bool has_lengths;
  uint64_t modes; /* training or evaluation, over the tree: what ran first must run again */
} module_call;

static uint64_t modes_of(const iso_module *m, uint64_t hash) {
  hash = (hash ^ (m->training ? 2 : 1)) * 0x100000001b3ULL; /* FNV-1a */
  for (size_t i = 0; i < m->n_children; i++) hash = modes_of(m->children[i].module, hash);
  return hash;
}

static iso_tensor *run(iso_context *ctx, void *user, iso_tensor *const *inputs) {
  const module_call *call = user;
  if (modes_of(call->module, 0) != call->modes) {
    ISO__FAIL(ctx, ISO_STATE, call->module->type->name,
              "it is checkpointed, and was switched between training and evaluation before its backward");
    return NULL;
  }
  return iso__module_call(call->module, call->way, inputs[0], call->has_lengths ? inputs[1] : NULL);
}

iso_tensor *iso__module_checkpoint(iso_module *m, iso__way way, iso_tensor *x, const iso_tensor *lengths) {
  const module_call call = {.module = m, .way = way, .has_lengths = lengths, .modes = modes_of(m, 0)};
  iso_tensor *const inputs[] = {x, (iso_tensor *)(uintptr_t)lengths}; /* which are only read */
  return iso_checkpoint(m->ctx, run, &call, sizeof call, lengths ? 2 : 1, inputs);
}

void iso_module_set_checkpointing(iso_module *m, bool on) {
  if (m) m->checkpointing = on;
}
bool iso_module_is_checkpointing(const iso_module *m) { return m && m->checkpointing; }

iso_module *iso__module_mark_block(iso_module *m) {
  if (m) m->is_block = true;
  return m;
}

int iso_module_checkpoint_blocks(iso_module *m, bool on) {
  if (!m) return 0;
  if (m->is_block) {
    m->checkpointing = on;
    return 1;
  }
  int n = 0;
  for (size_t i = 0; i < m->n_children; i++) n += iso_module_checkpoint_blocks(m->children[i].module, on);
  return n;
}
