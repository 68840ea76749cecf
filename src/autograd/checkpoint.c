/* checkpoint.c: activation checkpointing: a block's forward runs unrecorded, and again when backward arrives at it.
 *
 * Chen et al., "Training deep nets with sublinear memory cost", 2016. The first time operators tie their results to no
 * node; only which tensors from outside the block want a gradient is noted. The block is one node of the tape, which
 * keeps its inputs. In backward the block runs again from the same random sites and under the same policy and autocast,
 * is recorded at the tape's end, and that branch is walked as a part of the walk under way. Its nodes read the tensors
 * from outside by their own variables, so every contribution goes where it went without the checkpoint, in the same
 * descending order: the sums are the same, bit for bit, also where a tensor is used inside and outside, or by several
 * blocks. Blocks in a block are run plainly the first time, and are nodes of the branch the second. */
#include "autograd/autocast.h"
#include "autograd/state.h"
#include "base/owner.h"
#include "device/trace.h"
#include <string.h>

enum { MOST_INPUTS = 16 };

/* What the node keeps beside tensors; the user's bytes follow. */
typedef struct block_attrs {
  iso_block *run;
  int n_inputs;
  bool is_given[MOST_INPUTS];
  iso__place begin, end;
  iso_policy policy;
  iso__autocast_state autocast;
  size_t user_bytes;
} block_attrs;

enum { ATTR_ALIGNMENT = 16, USER_AT = (sizeof(block_attrs) + ATTR_ALIGNMENT - 1) / ATTR_ALIGNMENT * ATTR_ALIGNMENT };

static void *user_of(const block_attrs *a) { return a->user_bytes ? (char *)a + USER_AT : NULL; }

/* ---- the second time ---- */

static bool is_as_before(iso_context *ctx, const block_attrs *a, const iso__view *was, const iso_tensor *y) {
  const iso__place *place = iso__place_of(ctx);
  char text[160];
  iso_tensor_format(y, text, sizeof text);
  if (place->site != a->end.site)
    ISO__FAIL(ctx, ISO_STATE, "checkpoint",
              "the block drew %u random tensors in backward, but %u in the forward pass: it must do the same each time",
              place->site - a->begin.site, a->end.site - a->begin.site);
  else if (y->view.dtype != was->dtype || y->view.n_dims != was->n_dims ||
           memcmp(y->view.shape, was->shape, sizeof was->shape[0] * (size_t)was->n_dims) != 0)
    ISO__FAIL(ctx, ISO_STATE, "checkpoint",
              "the block's result is %s in backward and was another in the forward pass: it must do the same each time",
              text);
  return !iso__failed(ctx);
}

/* Records the block; returns its result's variable, retained, or NULL with the error kept. */
static iso__var *run_again(iso__tape *tape, const iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const block_attrs *a = iso__attrs(g);
  iso_tensor *inputs[MOST_INPUTS] = {NULL};
  const iso__place now = tape->place;
  const int no_grad = tape->no_grad;
  const iso__owner owner = iso__owner_enter(ISO__OWNER_ACTIVATIONS);
  const bool is_again = tape->is_again;
  iso__var *var = NULL;
  iso__operator_scope_push(ctx); /* handles of what the branch keeps end before it is walked */
  for (int i = 0; i < a->n_inputs && !iso__failed(ctx); i++)
    if (a->is_given[i] && (inputs[i] = iso__saved(g, i))) inputs[i]->var = iso__var_retain(g->node->saved[i].var);
  const bool is_pushed = iso_policy_push(ctx, &a->policy) == ISO_OK;
  int n_off = 0;
  const bool is_cast = iso__autocast_restore(ctx, &a->autocast, &n_off);
  tape->place.step = a->begin.step, tape->place.leaf = a->begin.leaf;
  tape->place.site = a->begin.site, tape->place.init_site = a->begin.init_site;
  tape->no_grad = 0;
  tape->is_again = true;
  const size_t span = iso__span_enter(ctx, "recompute", ISO_TRACE_FORWARD);
  iso_tensor *y = iso__failed(ctx) ? NULL : a->run(ctx, user_of(a), inputs);
  iso__mark_leave(ctx, span);
  if (!y && !iso__failed(ctx)) ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "checkpoint", "the block returned NULL");
  if (y && !iso__failed(ctx) && is_as_before(ctx, a, &g->node->outputs[0].view, y)) var = iso__var_retain(y->var);
  tape->is_again = is_again;
  tape->no_grad = no_grad;
  tape->place = now;
  if (is_cast) iso__autocast_restored(ctx, n_off);
  if (is_pushed) iso_policy_pop(ctx);
  iso_scope_pop(ctx);
  iso__owner_leave(owner);
  return var;
}

static void block_gradient(iso__gradient *g) {
  iso__tape *tape = iso__tape_of(g->ctx);
  const iso__tape_mark mark = iso__tape_branch(tape);
  iso__var *var = run_again(tape, g);
  if (var) iso__walk_branch(tape, mark.n_nodes, var, g->dy[0]);
  iso__var_release(var);
  iso__tape_cut(tape, &mark);
}

static const iso__rule block_rule = {
    .name = "checkpoint", .gradient = block_gradient, .saved = {"input"}, .once = true};

/* ---- the first time ---- */

static void block_free(iso_context *ctx, iso__block *b) {
  for (size_t i = 0; i < b->n_inputs; i++) iso_release(b->inputs[i].tensor);
  iso__free(ctx, b->inputs, b->capacity * sizeof *b->inputs);
}

static bool is_among(int n, iso_tensor *const *inputs, const iso_tensor *t) {
  for (int i = 0; i < n; i++)
    if (inputs[i] && inputs[i]->var == t->var) return true;
  return false;
}

/* The block's node: its inputs, then what else it read that wants a gradient. */
static void record_block(iso__tape *tape, const iso__block *b, const block_attrs *a, iso_tensor *const *inputs,
                         iso_tensor *y) {
  iso_context *ctx = tape->ctx;
  const size_t most = (size_t)a->n_inputs + b->n_inputs;
  const iso_tensor **read = iso__alloc(ctx, most * sizeof *read);
  if (!read) return;
  int n = 0;
  for (int i = 0; i < a->n_inputs; i++) read[n++] = inputs[i];
  for (size_t i = 0; i < b->n_inputs; i++)
    if (!is_among(a->n_inputs, inputs, b->inputs[i].tensor)) read[n++] = b->inputs[i].tensor;
  const bool recorded = iso__record(ctx, &(iso__recording){.rule = &block_rule,
                                                           .inputs = read,
                                                           .n_inputs = n,
                                                           .outputs = &y,
                                                           .n_outputs = 1,
                                                           .saved = read,
                                                           .n_saved = n,
                                                           .attrs = a,
                                                           .attr_bytes = USER_AT + a->user_bytes});
  /* What was modified while the block ran is noticed in backward, as without a checkpoint. */
  iso__node *node = recorded ? tape->nodes[tape->n_nodes - 1] : NULL;
  for (int i = 0; i < n && node; i++)
    for (size_t k = 0; k < b->n_inputs; k++)
      if (read[i] && b->inputs[k].tensor->var == read[i]->var) node->saved[i].version = b->inputs[k].version;
  iso__free(ctx, read, most * sizeof *read);
}

/* The result in the scope around, as if the block had been recorded. */
static iso_tensor *run_first(iso__tape *tape, block_attrs *a, iso_tensor *const *inputs) {
  iso_context *ctx = tape->ctx;
  iso__block b = {.generation = iso__generation_new(tape)};
  tape->block_in = &b;
  iso_tensor *y = a->run(ctx, user_of(a), inputs);
  tape->block_in = NULL;
  a->end = tape->place;
  if (!y && !iso__failed(ctx)) ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "iso_checkpoint", "the block returned NULL");
  const iso__result *r = iso__result_of(y);
  if (!iso__failed(ctx) && r && r->generation == b.generation) {
    /* One that the block keeps for itself has no history. */
    iso_tensor *own = iso__tensor_from_view(ctx, &y->view);
    if (own) record_block(tape, &b, a, inputs, own);
    y = own;
  } else if (y && !iso__failed(ctx)) {
    y = iso_tensor_alias(ctx, y);
  }
  block_free(ctx, &b);
  return iso__failed(ctx) ? NULL : y;
}

static bool check_inputs(iso_context *ctx, iso_block *run, int n, iso_tensor *const *inputs) {
  if (!run || n < 0 || n > MOST_INPUTS) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "iso_checkpoint", "%s", run ? "a block has at most 16 inputs" : "no block");
    return false;
  }
  for (int i = 0; i < n; i++)
    if (inputs[i] && inputs[i]->ctx != ctx) {
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "iso_checkpoint", "input %d belongs to another context", i + 1);
      return false;
    }
  return true;
}

iso_tensor *iso_checkpoint(iso_context *ctx, iso_block *run, const void *user, size_t user_bytes, int n_inputs,
                           iso_tensor *const *inputs) {
  if (iso__failed(ctx) || !check_inputs(ctx, run, n_inputs, inputs)) return NULL;
  iso__tape *tape = iso__tape_of(ctx);
  const size_t n_bytes = USER_AT + user_bytes;
  block_attrs *a = iso__zalloc(ctx, n_bytes);
  if (!a) return NULL;
  *a = (block_attrs){.run = run,
                     .n_inputs = n_inputs,
                     .begin = tape->place,
                     .policy = *iso_policy_current(ctx),
                     .user_bytes = user_bytes};
  iso__autocast_save(ctx, &a->autocast);
  for (int i = 0; i < n_inputs; i++) a->is_given[i] = inputs[i];
  if (user_bytes) memcpy(user_of(a), user, user_bytes);
  iso__operator_scope_push(ctx);
  iso_tensor *y = tape->no_grad || tape->block_in ? run(ctx, user_of(a), inputs) : run_first(tape, a, inputs);
  if (y && !iso__failed(ctx)) iso_escape(y);
  iso_scope_pop(ctx);
  iso__free(ctx, a, n_bytes);
  return iso__failed(ctx) ? NULL : y;
}
