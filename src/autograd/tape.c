/* tape.c: recording: the arena, the nodes, and their end. */
#include "autograd/state.h"
#include "device/trace.h"
#include <stdalign.h>
#include <string.h>

enum { ARENA_BLOCK = 1 << 16 };

/* ---- arena ---- */

static size_t aligned(size_t n_bytes) { return (n_bytes + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1); }

static iso__arena_block *block_new(iso__tape *tape, size_t n_bytes) {
  const size_t header = aligned(sizeof(iso__arena_block));
  const size_t total = n_bytes + header > ARENA_BLOCK ? n_bytes + header : ARENA_BLOCK;
  iso__arena_block *b = iso__alloc(tape->ctx, total);
  if (b) *b = (iso__arena_block){.n_bytes = total, .used = header};
  return b;
}

void *iso__arena_alloc(iso__tape *tape, size_t n_bytes) {
  n_bytes = aligned(n_bytes);
  iso__arena_block *b = tape->block;
  while (b && b->n_bytes - b->used < n_bytes && b->next) b = b->next;
  if (!b || b->n_bytes - b->used < n_bytes) {
    iso__arena_block *new_block = block_new(tape, n_bytes);
    if (!new_block) return NULL;
    if (b) b->next = new_block;
    else tape->first_block = new_block;
    b = new_block;
  }
  tape->block = b;
  void *p = (char *)b + b->used;
  b->used += n_bytes;
  return p;
}

static void arena_reset(iso__tape *tape) {
  for (iso__arena_block *b = tape->first_block; b; b = b->next) b->used = aligned(sizeof *b);
  tape->block = tape->first_block;
}

iso__tape_mark iso__tape_branch(iso__tape *tape) {
  const iso__tape_mark mark = {.n_nodes = tape->n_nodes,
                               .block = tape->block,
                               .block_used = tape->block ? tape->block->used : 0,
                               .generation = tape->generation};
  tape->generation = iso__generation_new(tape);
  return mark;
}

void iso__tape_cut(iso__tape *tape, const iso__tape_mark *mark) {
  while (tape->n_nodes > mark->n_nodes) iso__node_release(tape->nodes[--tape->n_nodes]);
  for (iso__arena_block *b = mark->block ? mark->block->next : tape->first_block; b; b = b->next)
    b->used = aligned(sizeof *b);
  if (mark->block) mark->block->used = mark->block_used;
  tape->block = mark->block ? mark->block : tape->first_block;
  tape->generation = mark->generation;
}

static void arena_free(iso__tape *tape) {
  for (iso__arena_block *b = tape->first_block, *next; b; b = next) {
    next = b->next;
    iso__free(tape->ctx, b, b->n_bytes);
  }
}

/* ---- handles that no scope owns ---- */

iso_tensor *iso__own(iso_tensor *t) {
  if (t) iso__handle_leave(&t->handle);
  return t;
}

iso_tensor *iso__own_alias(iso_context *ctx, const iso_tensor *t) {
  iso_tensor *alias = iso__own(iso__tensor_from_view(ctx, &t->view));
  if (alias) alias->var = iso__var_retain(t->var);
  return alias;
}

/* ---- recording ---- */

bool iso__is_recorded(const iso_context *ctx, int n, const iso_tensor *const *inputs) {
  if (iso__tape_of(ctx)->no_grad) return false;
  for (int i = 0; i < n; i++)
    if (inputs[i] && inputs[i]->var) return true;
  return false;
}

static void result_destroy(iso__var *var) {
  iso__result *r = (iso__result *)var;
  iso__free(r->head.ctx, r, sizeof *r);
}

static iso__var *result_new(iso__tape *tape, uint32_t generation, uint32_t position, uint32_t output) {
  iso__result *r = iso__alloc(tape->ctx, sizeof *r);
  if (!r) return NULL;
  *r = (iso__result){.head = {.base = {.n_refs = 1, .destroy = result_destroy}, .ctx = tape->ctx},
                     .generation = generation,
                     .position = position,
                     .output = output};
  return &r->head.base;
}

/* Shape, strides and dtype without storage. */
static void copy_form(iso__view *out, const iso_tensor *t) {
  out->storage = NULL;
  out->offset = 0;
  out->dtype = t->view.dtype;
  out->n_dims = t->view.n_dims;
  memcpy(out->shape, t->view.shape, sizeof out->shape[0] * (size_t)t->view.n_dims);
  memcpy(out->strides, t->view.strides, sizeof out->strides[0] * (size_t)t->view.n_dims);
}

/* Room for a node and all its arrays, in one piece; nothing retained yet. */
static iso__node *node_new(iso__tape *tape, const iso__recording *r) {
  const size_t inputs_at = aligned(sizeof(iso__node));
  const size_t outputs_at = inputs_at + aligned(sizeof(iso__node_input) * (size_t)r->n_inputs);
  const size_t saved_at = outputs_at + aligned(sizeof(iso__node_output) * (size_t)r->n_outputs);
  const size_t attrs_at = saved_at + aligned(sizeof(iso__saved_view) * (size_t)r->n_saved);
  char *p = iso__arena_alloc(tape, attrs_at + aligned(r->attr_bytes));
  if (!p) return NULL;
  iso__node *node = (iso__node *)p;
  *node = (iso__node){.rule = r->rule,
                      .n_inputs = r->n_inputs,
                      .n_outputs = r->n_outputs,
                      .n_saved = r->n_saved,
                      .generation = tape->generation,
                      .inputs = (iso__node_input *)(p + inputs_at),
                      .outputs = (iso__node_output *)(p + outputs_at),
                      .saved = (iso__saved_view *)(p + saved_at),
                      .attrs = p + attrs_at};
  const iso__trace *trace = iso__trace_of(tape->ctx);
  if (trace) node->module = trace->module;
  return node;
}

/* What was widened from half precision is saved as that: iso__saved widens it once more, to the same bits. */
static void save_view(iso__saved_view *s, const iso_tensor *t) {
  s->dtype = t->view.dtype;
  if (!t->view.storage->attached || !iso__view_is_dense(&t->view) || !iso__view_origin(&t->view, &s->view)) {
    copy_form(&s->view, t);
    s->view.storage = t->view.storage;
    s->view.offset = t->view.offset;
  }
  iso__storage_retain(s->view.storage);
}

static void node_fill(iso__node *node, const iso__recording *r) {
  for (int i = 0; i < r->n_inputs; i++) {
    iso__node_input *in = &node->inputs[i];
    in->var = r->inputs[i] ? iso__var_retain(r->inputs[i]->var) : NULL;
    if (r->inputs[i]) copy_form(&in->view, r->inputs[i]);
  }
  for (int i = 0; i < r->n_outputs; i++) {
    iso__node_output *out = &node->outputs[i];
    out->dy = NULL, out->hooks = NULL, out->target = 0;
    copy_form(&out->view, r->outputs[i]);
  }
  for (int i = 0; i < r->n_saved; i++) {
    iso__saved_view *s = &node->saved[i];
    s->view.storage = NULL, s->var = NULL;
    if (!r->saved[i]) continue;
    save_view(s, r->saved[i]);
    s->var = iso__var_retain(r->saved[i]->var); /* an output's own var is already set */
    s->version = atomic_load_explicit(&s->view.storage->version, memory_order_relaxed);
  }
  if (r->attr_bytes) memcpy(node->attrs, r->attrs, r->attr_bytes);
}

static void guard_destroy(iso__handle *handle) { iso__tape_reset((iso__tape *)handle); }

/* Into the outermost scope that is not the context's own, so that its end clears the tape. */
static void guard_enter(iso__tape *tape) {
  iso__scope *scope = tape->ctx->scope;
  while (scope->of_operator) scope = scope->outer;
  while (scope->outer && scope->outer->outer) scope = scope->outer;
  iso__handle *head = &scope->head, *guard = &tape->guard;
  guard->prev = head->prev;
  guard->next = head;
  head->prev->next = guard;
  head->prev = guard;
  guard->scope = scope;
}

/* No memory half-way: outputs must not point at a place that another node will take. */
static void untie(const iso__recording *r, int n_tied) {
  for (int i = 0; i < n_tied; i++) {
    iso__var_release(r->outputs[i]->var);
    r->outputs[i]->var = NULL;
  }
}

/* Makes the outputs results of a node at `position`. */
static bool tie(iso__tape *tape, const iso__recording *r, uint32_t generation, size_t position) {
  for (int i = 0; i < r->n_outputs; i++) {
    if (!iso_dtype_is_float(r->outputs[i]->view.dtype)) continue;
    iso__var *var = result_new(tape, generation, (uint32_t)position, (uint32_t)i);
    if (!var) return untie(r, i), false;
    iso__var_release(r->outputs[i]->var);
    r->outputs[i]->var = var;
  }
  return true;
}

/* Inside a block whose forward is not recorded: notes what it reads from outside. */
static bool block_note(iso__tape *tape, const iso_tensor *t) {
  iso__block *b = tape->block_in;
  const iso__result *r = iso__result_of(t);
  if (!t || !t->var || (r && r->generation == b->generation)) return true;
  for (size_t i = 0; i < b->n_inputs; i++)
    if (b->inputs[i].tensor->var == t->var) return true;
  if (!iso__grow(tape->ctx, (void **)&b->inputs, &b->capacity, b->n_inputs + 1, sizeof *b->inputs)) return false;
  iso_tensor *own = iso__own_alias(tape->ctx, t);
  if (!own) return false;
  b->inputs[b->n_inputs++] = (iso__block_input){
      .tensor = own, .version = atomic_load_explicit(&t->view.storage->version, memory_order_relaxed)};
  return true;
}

static iso_tensor *record_in_block(iso__tape *tape, const iso__recording *r) {
  for (int i = 0; i < r->n_inputs; i++)
    if (!block_note(tape, r->inputs[i])) return NULL;
  return tie(tape, r, tape->block_in->generation, UINT32_MAX) ? r->outputs[0] : NULL;
}

iso_tensor *iso__record(iso_context *ctx, const iso__recording *r) {
  iso__tape *tape = iso__tape_of(ctx);
  if (tape->block_in) return record_in_block(tape, r);
  if (!iso__grow(ctx, (void **)&tape->nodes, &tape->capacity, tape->n_nodes + 1, sizeof(iso__node *))) return NULL;
  iso__node *node = node_new(tape, r);
  if (!node) return NULL;
  if (!tie(tape, r, tape->generation, tape->n_nodes)) return NULL;
  node_fill(node, r);
  if (tape->n_nodes == 0) guard_enter(tape);
  tape->nodes[tape->n_nodes++] = node;
  return r->outputs[0];
}

/* ---- the end ---- */

void iso__hooks_free(iso_context *ctx, iso__hook *hooks) {
  for (iso__hook *next; hooks; hooks = next) {
    next = hooks->next;
    iso__free(ctx, hooks, sizeof *hooks);
  }
}

void iso__node_release(iso__node *node) {
  if (node->released) return;
  node->released = true;
  for (int i = 0; i < node->n_saved; i++) {
    iso__storage_release(node->saved[i].view.storage);
    iso__var_release(node->saved[i].var);
  }
  for (int i = 0; i < node->n_outputs; i++) iso_release(node->outputs[i].dy);
  for (int i = 0; i < node->n_inputs; i++) iso__var_release(node->inputs[i].var);
}

/* Hooks of results are in the arena. */
void iso__tape_reset(iso__tape *tape) {
  for (size_t i = tape->n_nodes; i-- > 0;) iso__node_release(tape->nodes[i]);
  if (tape->n_nodes) iso__handle_leave(&tape->guard);
  tape->n_nodes = 0;
  tape->generation = iso__generation_new(tape);
  arena_reset(tape);
}

void iso_tape_clear(iso_context *ctx) {
  if (!ctx) return;
  iso__tape *tape = iso__tape_of(ctx);
  if (tape->in_backward) ISO__FAIL(ctx, ISO_STATE, "iso_tape_clear", "backward is walking the tape");
  else iso__tape_reset(tape);
}

size_t iso_tape_length(const iso_context *ctx) { return ctx ? iso__tape_of(ctx)->n_nodes : 0; }

/* ---- the context's slot ---- */

static void tape_free(iso_context *ctx, void *state) {
  iso__tape *tape = state;
  iso__step_free(tape);
  iso__tape_reset(tape);
  arena_free(tape);
  iso__free(ctx, tape->nodes, tape->capacity * sizeof(iso__node *));
  iso__free(ctx, tape, sizeof *tape);
}

iso_status iso__tape_attach(iso_context *ctx, const iso__tape_operators *operators) {
  iso__tape *tape = iso__zalloc(ctx, sizeof *tape);
  if (!tape) return ctx->error.code;
  tape->ctx = ctx;
  tape->operators = *operators;
  tape->guard.prev = tape->guard.next = &tape->guard;
  tape->guard.destroy = guard_destroy;
  tape->leaves.prev = tape->leaves.next = &tape->leaves;
  ctx->slot[ISO__SLOT_AUTOGRAD] = tape;
  ctx->slot_free[ISO__SLOT_AUTOGRAD] = tape_free;
  return ISO_OK;
}

iso__place *iso__place_of(const iso_context *ctx) { return &iso__tape_of(ctx)->place; }

uint32_t iso_random_step(const iso_context *ctx) { return ctx ? iso__place_of(ctx)->step : 0; }
void iso_random_set_step(iso_context *ctx, uint32_t step) {
  if (!ctx) return;
  iso__place_of(ctx)->step = step;
  iso__place_of(ctx)->site = 0;
}

/* ---- recording on and off ---- */

void iso_no_grad_push(iso_context *ctx) {
  if (ctx) iso__tape_of(ctx)->no_grad++;
}
void iso_no_grad_pop(iso_context *ctx) {
  if (!ctx) return;
  if (iso__tape_of(ctx)->no_grad > 0) iso__tape_of(ctx)->no_grad--;
  else ISO__FAIL(ctx, ISO_STATE, "iso_no_grad_pop", "more pops than pushes");
}
bool iso_grad_is_enabled(const iso_context *ctx) { return ctx && iso__tape_of(ctx)->no_grad == 0; }
