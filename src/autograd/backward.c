/* backward.c: the walk over the tape, in descending position, and the sums of contributions.
 *
 * Contributions to one tensor arrive in descending tape position of their consumers and, within one, by argument index:
 * the order that NUMERICS §6 names, because the walk itself is that order. A node's saved tensors and its incoming
 * gradient are freed as soon as its rule has run. Leaves' sums wait in `pending` until the walk has ended, so an error
 * on the way leaves earlier gradients as they were. */
#include "base/owner.h"
#include "base/fenv.h"
#include "autograd/autocast.h"
#include "autograd/state.h"
#include "device/trace.h"
#include <string.h>

/* One run of backward. */
typedef struct iso__walk {
  iso_context *ctx;
  iso__tape *tape;
  const char *op; /* the public call, for messages */
  bool retain;
  size_t end;           /* nodes at and beyond it are not visited */
  iso_tensor **targets; /* iso_grad_of: one slot an input */
} walk;

/* ---- what rules see ---- */

static const iso__tape *tape_of(const iso__gradient *g) { return iso__tape_of(g->ctx); }

static bool is_wanted(const iso__tape *tape, const iso__var *var) {
  if (!var) return false;
  if (!tape->only_targets) return true;
  if (((const iso__variable *)var)->is_leaf) return ((const iso__leaf *)var)->target != 0;
  const iso__result *r = (const iso__result *)var;
  const iso__node *maker = iso__result_node(tape, r);
  return !maker || maker->on_path || maker->outputs[r->output].target; /* stale: wanted, so that it is noticed */
}

bool iso__needs(const iso__gradient *g, int input) { return is_wanted(tape_of(g), g->node->inputs[input].var); }
const void *iso__attrs(const iso__gradient *g) { return g->node->attrs; }
const iso__view *iso__input_view(const iso__gradient *g, int input) { return &g->node->inputs[input].view; }
const iso__view *iso__output_view(const iso__gradient *g, int output) { return &g->node->outputs[output].view; }
bool iso__creates_graph(const iso__gradient *g) { return tape_of(g)->create_graph; }

iso_tensor *iso__saved(const iso__gradient *g, int i) {
  const iso__saved_view *s = &g->node->saved[i];
  if (!s->view.storage) return NULL;
  iso_tensor *t = s->dtype == s->view.dtype ? iso__tensor_from_view(g->ctx, &s->view)
                                            : iso__tensor_new_in_order(g->ctx, &s->view, s->dtype);
  if (t && s->dtype != s->view.dtype) iso__view_copy(g->ctx, &t->view, &s->view);
  if (t && tape_of(g)->create_graph) t->var = iso__var_retain(s->var);
  return t;
}

/* ---- sums ---- */

static bool same_layout(const iso__view *a, const iso__view *b) {
  for (int d = 0; d < a->n_dims; d++)
    if (a->shape[d] != b->shape[d] || (a->shape[d] > 1 && a->strides[d] != b->strides[d])) return false;
  return a->n_dims == b->n_dims;
}

static bool is_dense(const iso__view *v) { return iso__view_is_contiguous(v) || iso__view_is_channels_last(v); }

/* Whether an addition may overwrite t: nobody else can see its storage. */
static bool is_reusable(const iso_tensor *t) {
  return iso__storage_is_exclusive(t->view.storage) && is_dense(&t->view);
}

static iso_tensor *take(iso_context *ctx, iso_tensor *t) {
  return t->handle.scope == ctx->scope ? iso__own(t) : iso__own_alias(ctx, t);
}

/* A sum made in place is not recorded; an operand may come from an earlier create_graph. */
static void forget_history(iso_tensor *t) {
  iso__var_release(t->var);
  t->var = NULL;
}

iso_tensor *iso__sum_so_far(const iso__gradient *g, int input) {
  const iso__var *var = g->node->inputs[input].var;
  if (!var || ((const iso__variable *)var)->is_leaf || iso__creates_graph(g)) return NULL;
  const iso__result *r = (const iso__result *)var;
  const iso__node *maker = iso__result_node(tape_of(g), r);
  iso_tensor *sum = maker && !maker->released ? maker->outputs[r->output].dy : NULL;
  if (!sum || !is_reusable(sum) || !iso__view_is_contiguous(&sum->view)) return NULL;
  forget_history(sum);
  return sum;
}

void iso__accumulate(iso__tape *tape, iso_tensor **sum, iso_tensor *t) {
  iso_context *ctx = tape->ctx;
  if (!*sum) {
    *sum = take(ctx, t);
  } else if (!tape->create_graph && is_reusable(*sum)) {
    tape->operators.add_into(ctx, *sum, *sum, t);
    forget_history(*sum);
  } else if (!tape->create_graph && t->handle.scope == ctx->scope && is_reusable(t) &&
             same_layout(&t->view, &(*sum)->view)) {
    tape->operators.add_into(ctx, t, *sum, t);
    iso_release(*sum);
    *sum = iso__own(t);
    forget_history(t);
  } else {
    iso_tensor *total = tape->operators.add(ctx, *sum, t);
    if (!total) return;
    iso_release(*sum);
    *sum = iso__own(total);
  }
}

iso_tensor *iso__leaf_settle(iso__leaf *leaf, iso_tensor *t) {
  if (iso__storage_is_exclusive(t->view.storage) && same_layout(&t->view, &leaf->like)) return t;
  iso_context *ctx = leaf->head.ctx;
  iso_tensor *copy = iso__own(iso__tensor_new_like(ctx, &leaf->like, leaf->like.dtype));
  if (copy) iso__view_copy(ctx, &copy->view, &t->view);
  iso_release(t);
  return copy;
}

/* ---- hooks ---- */

static bool same_form(const iso__view *a, const iso__view *b) {
  return a->dtype == b->dtype && a->n_dims == b->n_dims &&
         memcmp(a->shape, b->shape, sizeof a->shape[0] * (size_t)a->n_dims) == 0;
}

static void run_hooks(walk *w, const iso__hook *hooks, iso_tensor **dy) {
  for (const iso__hook *h = hooks; h && !iso__failed(w->ctx); h = h->next) {
    iso_scope_push(w->ctx);
    iso_tensor *grad = iso__own_alias(w->ctx, *dy);
    iso_tensor *changed = grad ? h->call(w->ctx, grad, h->user) : NULL;
    if (changed && !same_form(&changed->view, &grad->view)) {
      char before[160], after[160];
      iso_tensor_format(grad, before, sizeof before);
      iso_tensor_format(changed, after, sizeof after);
      ISO__FAIL(w->ctx, ISO_SHAPE_MISMATCH, w->op, "a hook was given %s and returned %s", before, after);
    } else if (grad && !changed && !iso__failed(w->ctx)) {
      ISO__FAIL(w->ctx, ISO_INVALID_ARGUMENT, w->op, "a hook returned NULL without an error");
    } else if (changed && changed != grad) {
      iso_tensor *kept = take(w->ctx, changed);
      if (kept) iso_release(*dy), *dy = kept;
    }
    iso_release(grad);
    iso_scope_pop(w->ctx);
  }
}

/* ---- the walk ---- */

static bool check_versions(walk *w, const iso__node *node) {
  for (int i = 0; i < node->n_saved; i++) {
    const iso__saved_view *s = &node->saved[i];
    if (!s->view.storage) continue;
    const unsigned now = atomic_load_explicit(&s->view.storage->version, memory_order_relaxed);
    if (now == s->version) continue;
    ISO__FAIL(w->ctx, ISO_MODIFIED, w->op,
              "%s saved its %s for the gradient, and it was modified in place since (version %u then, %u now)",
              node->rule->name, i < ISO__MAX_SAVED && node->rule->saved[i] ? node->rule->saved[i] : "argument",
              s->version, now);
    return false;
  }
  return true;
}

static void deliver(walk *w, iso__var *var, iso_tensor *dx) {
  if (((iso__variable *)var)->is_leaf) {
    iso__accumulate(w->tape, &((iso__leaf *)var)->pending, dx);
    return;
  }
  const iso__result *r = (iso__result *)var;
  iso__node *maker = iso__result_node(w->tape, r);
  if (maker && !maker->released) iso__accumulate(w->tape, &maker->outputs[r->output].dy, dx);
  else
    ISO__FAIL(
        w->ctx, ISO_STALE_HANDLE, w->op,
        "the history of an operand was freed by an earlier backward or the end of its scope: detach it, or retain the "
        "graph");
}

enum { FEW = 16 };
static void apply_rule(walk *w, iso__node *node) {
  iso_tensor *few_dx[FEW] = {NULL}, *few_dy[FEW];
  iso_tensor **dx = few_dx, **dy = few_dy;
  const size_t n_bytes = sizeof *dx * (size_t)(node->n_inputs + node->n_outputs);
  if (node->n_inputs > FEW || node->n_outputs > FEW) {
    if (!(dx = iso__zalloc(w->ctx, n_bytes))) return;
    dy = dx + node->n_inputs;
  }
  for (int i = 0; i < node->n_outputs; i++) dy[i] = node->outputs[i].dy;
  iso__trace *trace = iso__trace_of(w->ctx);
  if (trace) trace->module = node->module < trace->n_texts ? node->module : 0;
  const iso__fenv saved = iso__fenv_enter(); /* rules compute with numbers, too */
  node->rule->gradient(&(iso__gradient){.ctx = w->ctx, .node = node, .dy = dy, .dx = dx});
  iso__fenv_leave(saved);
  if (trace) trace->module = 0;
  for (int i = 0; i < node->n_inputs && !iso__failed(w->ctx); i++)
    if (dx[i] && is_wanted(w->tape, node->inputs[i].var)) deliver(w, node->inputs[i].var, dx[i]);
  if (dx != few_dx) iso__free(w->ctx, dx, n_bytes);
}

/* Hooks and targets see a result's gradient when it is complete, which is when the walk reaches its node. */
static void visit(walk *w, iso__node *node) {
  bool reached = false;
  for (int i = 0; i < node->n_outputs; i++) {
    iso__node_output *out = &node->outputs[i];
    if (!out->dy) continue;
    reached = true;
    if (out->hooks) run_hooks(w, out->hooks, &out->dy);
    if (out->target && !iso__failed(w->ctx)) w->targets[out->target - 1] = iso__own_alias(w->ctx, out->dy);
  }
  if (!reached || (w->tape->only_targets && !node->on_path) || iso__failed(w->ctx)) return;
  if (node->released)
    ISO__FAIL(w->ctx, ISO_STALE_HANDLE, w->op, "%s: its history was freed by an earlier backward", node->rule->name);
  else if (node->rule->once && w->tape->create_graph)
    ISO__FAIL(w->ctx, ISO_UNSUPPORTED, w->op, "the gradient of %s cannot be differentiated again (create_graph)",
              node->rule->name);
  else if (check_versions(w, node)) {
    iso_scope_push(w->ctx);
    if (!iso__failed(w->ctx)) apply_rule(w, node);
    iso_scope_pop(w->ctx);
  }
}

static void drop_gradients(iso__node *node) {
  for (int i = 0; i < node->n_outputs; i++) {
    iso_release(node->outputs[i].dy);
    node->outputs[i].dy = NULL;
  }
}

static void run(walk *w) {
  for (size_t i = w->end; i-- > 0;) {
    iso__node *node = w->tape->nodes[i];
    if (!iso__failed(w->ctx)) visit(w, node);
    if (w->retain) drop_gradients(node);
    else iso__node_release(node);
  }
}

/* Which nodes lead to a target: inputs lie at lower positions, so one ascending sweep finds them all. */
static void mark_paths(iso__tape *tape, size_t begin) {
  for (size_t i = begin; i < tape->n_nodes; i++) {
    iso__node *node = tape->nodes[i];
    node->on_path = false;
    for (int j = 0; j < node->n_inputs && !node->on_path; j++) node->on_path = is_wanted(tape, node->inputs[j].var);
  }
}

void iso__walk_branch(iso__tape *tape, size_t begin, iso__var *var, iso_tensor *dy) {
  walk *w = tape->walk;
  if (iso__failed(w->ctx)) return;
  if (tape->only_targets) mark_paths(tape, begin);
  if (is_wanted(tape, var)) deliver(w, var, dy);
  for (size_t i = tape->n_nodes; i-- > begin;) {
    if (!iso__failed(w->ctx)) visit(w, tape->nodes[i]);
    iso__node_release(tape->nodes[i]);
  }
}

/* ---- leaves at the end of the walk ---- */

static void leaf_finish(walk *w, iso__leaf *leaf) {
  if (leaf->hooks) run_hooks(w, leaf->hooks, &leaf->pending);
  iso_tensor *total = leaf->pending;
  if (iso__failed(w->ctx)) return;
  leaf->pending = NULL;
  if (leaf->grad) {
    iso__accumulate(w->tape, &leaf->grad, total);
    iso_release(total); /* owned by no scope, so it was not taken over */
  } else if (w->tape->create_graph) {
    leaf->grad = total;
  } else {
    leaf->grad = iso__leaf_settle(leaf, total);
  }
}

static void leaves_finish(walk *w) {
  for (iso__leaf *leaf = w->tape->leaves.next; leaf != &w->tape->leaves; leaf = leaf->next) {
    if (leaf->pending && !iso__failed(w->ctx)) leaf_finish(w, leaf);
    if (!iso__failed(w->ctx)) continue;
    iso_release(leaf->pending);
    leaf->pending = NULL;
    leaf->invalid = true;
  }
}

/* ---- starting and ending ---- */

static bool begin(walk *w, const iso_backward_options *options) {
  iso_context *ctx = w->ctx;
  if (iso__failed(ctx)) return false;
  w->tape = iso__tape_of(ctx);
  if (w->tape->in_backward) {
    ISO__FAIL(ctx, ISO_STATE, w->op, "called from inside backward");
    return false;
  }
  w->tape->create_graph = options && options->create_graph;
  w->retain = options && (options->retain_graph || options->create_graph);
  w->tape->in_backward = true;
  w->tape->walk = w;
  w->end = 0;
  iso__autocast_off(ctx);
  if (!w->tape->create_graph) iso_no_grad_push(ctx);
  return true;
}

static iso_status end(walk *w) {
  iso__tape *tape = w->tape;
  if (!tape->create_graph) iso_no_grad_pop(w->ctx);
  iso__autocast_on(w->ctx);
  tape->in_backward = tape->create_graph = tape->only_targets = false;
  tape->walk = NULL;
  if (!w->retain || iso__failed(w->ctx)) iso__tape_reset(tape);
  return w->ctx->error.code;
}

/* Gives t its starting gradient. */
static void seed(walk *w, const iso_tensor *t, const iso_tensor *dy) {
  if (!t->var) {
    ISO__FAIL(w->ctx, ISO_STATE, w->op, "the tensor has no history: nothing it was made from wants a gradient");
    return;
  }
  if (dy && !same_form(&dy->view, &t->view)) {
    char a[160], b[160];
    iso_tensor_format(t, a, sizeof a);
    iso_tensor_format(dy, b, sizeof b);
    ISO__FAIL(w->ctx, ISO_SHAPE_MISMATCH, w->op, "the tensor is %s but its gradient dy is %s", a, b);
    return;
  }
  iso_scope_push(w->ctx);
  iso_tensor *start =
      dy ? iso_tensor_alias(w->ctx, dy) : iso_tensor_full(w->ctx, t->view.dtype, t->view.n_dims, t->view.shape, 1.0);
  if (start && !w->tape->create_graph && start->var) iso__var_release(start->var), start->var = NULL;
  if (start && is_wanted(w->tape, t->var)) deliver(w, t->var, start);
  iso_scope_pop(w->ctx);
  const iso__result *r = iso__result_of(t);
  if (r && iso__result_node(w->tape, r) && r->position + 1u > w->end) w->end = r->position + 1u;
}

/* `scalar`: t must have one element. */
static iso_status backward(const char *op, const iso_tensor *t, const iso_tensor *dy,
                           const iso_backward_options *options, bool scalar) {
  if (!t) return ISO_INVALID_ARGUMENT;
  walk w = {.ctx = t->ctx, .op = op};
  if (!begin(&w, options)) return t->ctx->error.code;
  const iso__owner owner = iso__owner_enter(ISO__OWNER_GRADIENTS);
  const size_t span = iso__span_enter(t->ctx, "backward", ISO_TRACE_BACKWARD);
  if (scalar && iso__view_numel(&t->view) != 1) {
    char text[160];
    iso_tensor_format(t, text, sizeof text);
    ISO__FAIL(t->ctx, ISO_SHAPE_MISMATCH, op, "the tensor is %s but a loss has one element: use iso_backward_with",
              text);
  } else {
    seed(&w, t, dy);
  }
  run(&w);
  leaves_finish(&w);
  const iso_status status = end(&w);
  iso__mark_leave(w.ctx, span);
  iso__owner_leave(owner);
  return status;
}

iso_status iso_backward(const iso_tensor *loss) { return backward("iso_backward", loss, NULL, NULL, true); }

iso_status iso_backward_with(const iso_tensor *t, const iso_tensor *dy, const iso_backward_options *options) {
  return backward("iso_backward_with", t, dy, options, false);
}

/* ---- gradients of chosen tensors ---- */

static void mark_targets(walk *w, int n, const iso_tensor *const *inputs, bool on) {
  for (int i = 0; i < n; i++) {
    iso__leaf *leaf = iso__leaf_of(inputs[i]);
    const iso__result *r = iso__result_of(inputs[i]);
    iso__node *maker = r ? iso__result_node(w->tape, r) : NULL;
    int *target = leaf ? &leaf->target : maker ? &maker->outputs[r->output].target : NULL;
    if (target && !on) *target = 0;
    else if (target && *target == 0) *target = i + 1;
  }
}

/* Leaves' sums, and the copies of a target named twice. */
static void collect(walk *w, int n, const iso_tensor *const *inputs) {
  for (int i = 0; i < n && !iso__failed(w->ctx); i++) {
    iso__leaf *leaf = iso__leaf_of(inputs[i]);
    if (!leaf || !leaf->pending || leaf->target != i + 1) continue;
    if (leaf->hooks) run_hooks(w, leaf->hooks, &leaf->pending);
    w->targets[i] = leaf->pending;
    leaf->pending = NULL;
  }
  for (int i = 0; i < n && !iso__failed(w->ctx); i++)
    for (int j = 0; j < i && !w->targets[i]; j++)
      if (inputs[i]->var && inputs[i]->var == inputs[j]->var && w->targets[j])
        w->targets[i] = iso__own_alias(w->ctx, w->targets[j]);
}

static bool grad_of_arguments(int n_outputs, const iso_tensor *const *outputs, int n_inputs,
                              const iso_tensor *const *inputs) {
  if (n_outputs < 1 || n_inputs < 1) return false;
  for (int i = 0; i < n_outputs; i++)
    if (!outputs[i]) return false;
  for (int i = 0; i < n_inputs; i++)
    if (!inputs[i]) return false;
  return true;
}

iso_status iso_grad_of(int n_outputs, const iso_tensor *const *outputs, const iso_tensor *const *dys, int n_inputs,
                       const iso_tensor *const *inputs, const iso_backward_options *options, iso_tensor **grads) {
  for (int i = 0; i < n_inputs; i++) grads[i] = NULL;
  if (!grad_of_arguments(n_outputs, outputs, n_inputs, inputs)) return ISO_INVALID_ARGUMENT;
  walk w = {.ctx = outputs[0]->ctx, .op = "iso_grad_of", .targets = grads};
  if (!begin(&w, options)) return w.ctx->error.code;
  const size_t span = iso__span_enter(w.ctx, "backward", ISO_TRACE_BACKWARD);
  w.tape->only_targets = true;
  mark_targets(&w, n_inputs, inputs, true);
  mark_paths(w.tape, 0);
  for (int i = 0; i < n_outputs && !iso__failed(w.ctx); i++) seed(&w, outputs[i], dys ? dys[i] : NULL);
  run(&w);
  collect(&w, n_inputs, inputs);
  mark_targets(&w, n_inputs, inputs, false);
  for (iso__leaf *leaf = w.tape->leaves.next; leaf != &w.tape->leaves; leaf = leaf->next) {
    iso_release(leaf->pending);
    leaf->pending = NULL;
  }
  for (int i = 0; i < n_inputs; i++) {
    if (!grads[i]) continue;
    if (!iso__failed(w.ctx)) iso__handle_enter(w.ctx, &grads[i]->handle);
    else iso_release(grads[i]), grads[i] = NULL;
  }
  const iso_status status = end(&w);
  iso__mark_leave(w.ctx, span);
  return status;
}
