/* step.c: a step made of leaves: gradients are one binary tree over the leaves, whatever ran in which order.
 *
 * Blocks of the tree wait as in a binary counter: a finished leaf is a block of level 0; two neighbours (2i, 2i+1) of
 * one level merge into block i of the next, the lower leaves' sum on the left. In ascending order at most log2(G)+1
 * blocks exist at a time; any other order only keeps more of them for a while, the sums are the same. Leaves that never
 * ran are absent: at the end their siblings move up unchanged. */
#include "autograd/adopt.h"
#include "autograd/state.h"
#include <string.h>

/* The sums of leaves [index·2^level, (index+1)·2^level). */
typedef struct block {
  int level, index;
  size_t n; /* of grads: tensors that were known when the block was made */
  iso_tensor **grads;
  iso_tensor *loss;
} block;

typedef struct deferred_item {
  iso__deferred work;
  int leaf;
} deferred_item;

struct iso__step {
  int n_leaves, leaf;    /* leaf −1: between leaves */
  iso__leaf **variables; /* those that got a gradient in any leaf, retained; in order of first appearance */
  size_t n_variables, variables_capacity;
  block *blocks;
  size_t n_blocks, blocks_capacity;
  deferred_item *deferred;
  size_t n_deferred, deferred_capacity;
  uint8_t *ran; /* one a leaf */
};

/* ---- blocks ---- */

static void block_free(iso_context *ctx, block *b) {
  for (size_t i = 0; i < b->n; i++) iso_release(b->grads[i]);
  iso_release(b->loss);
  iso__free(ctx, b->grads, b->n * sizeof *b->grads);
}

static void add_entry(iso__tape *tape, iso_tensor **left, iso_tensor **right) {
  if (!*right) return;
  if (!*left) {
    *left = *right;
  } else {
    iso__accumulate(tape, left, *right);
    iso_release(*right);
  }
  *right = NULL;
}

/* left += right; right is used up. */
static void block_merge(iso__tape *tape, block *left, block *right) {
  if (right->n > left->n) { /* the longer list carries the result; sums keep their sides */
    for (size_t i = 0; i < left->n; i++) {
      add_entry(tape, &left->grads[i], &right->grads[i]);
      right->grads[i] = left->grads[i];
      left->grads[i] = NULL;
    }
    iso_tensor **grads = left->grads;
    const size_t n = left->n;
    left->grads = right->grads, left->n = right->n;
    right->grads = grads, right->n = n;
  } else {
    for (size_t i = 0; i < right->n; i++) add_entry(tape, &left->grads[i], &right->grads[i]);
  }
  add_entry(tape, &left->loss, &right->loss);
  block_free(tape->ctx, right);
}

static block *find_block(iso__step *s, int level, int index) {
  for (size_t i = 0; i < s->n_blocks; i++)
    if (s->blocks[i].level == level && s->blocks[i].index == index) return &s->blocks[i];
  return NULL;
}

static block take_block(iso__step *s, block *b) {
  const block taken = *b;
  *b = s->blocks[--s->n_blocks];
  return taken;
}

/* There is room: each call follows a removal, or iso_leaf_end made some. */
static void insert_block(iso__tape *tape, block b) {
  iso__step *s = tape->step;
  for (block *sibling; (sibling = find_block(s, b.level, b.index ^ 1));) {
    block other = take_block(s, sibling);
    block *left = b.index & 1 ? &other : &b, *right = b.index & 1 ? &b : &other;
    block_merge(tape, left, right);
    b = *left;
    b.level++, b.index >>= 1;
  }
  s->blocks[s->n_blocks++] = b;
}

/* ---- the step's life ---- */

void iso__step_free(iso__tape *tape) {
  iso__step *s = tape->step;
  iso_context *ctx = tape->ctx;
  if (!s) return;
  for (size_t i = 0; i < s->n_blocks; i++) block_free(ctx, &s->blocks[i]);
  for (size_t i = 0; i < s->n_variables; i++) iso__var_release(&s->variables[i]->head.base);
  for (size_t i = 0; i < s->n_deferred; i++)
    for (int j = 0; j < ISO__MAX_DEFERRED; j++) iso_release(s->deferred[i].work.tensors[j]);
  iso__free(ctx, s->blocks, s->blocks_capacity * sizeof *s->blocks);
  iso__free(ctx, s->variables, s->variables_capacity * sizeof *s->variables);
  iso__free(ctx, s->deferred, s->deferred_capacity * sizeof *s->deferred);
  iso__free(ctx, s->ran, (size_t)s->n_leaves);
  iso__free(ctx, s, sizeof *s);
  tape->step = NULL;
  tape->place.leaf = 0;
}

void iso_step_abandon(iso_context *ctx) {
  if (ctx) iso__step_free(iso__tape_of(ctx));
}

static void zero_all(iso__tape *tape) {
  for (iso__leaf *leaf = tape->leaves.next; leaf != &tape->leaves; leaf = leaf->next) iso__leaf_zero(leaf);
}

iso_status iso_step_begin(iso_context *ctx, int n_leaves) {
  if (iso__failed(ctx)) return ctx ? ctx->error.code : ISO_INVALID_ARGUMENT;
  iso__tape *tape = iso__tape_of(ctx);
  if (tape->step) return ISO__FAIL(ctx, ISO_STATE, "iso_step_begin", "a step is open: end or abandon it first");
  if (n_leaves < 1 || n_leaves > 65536 || (n_leaves & (n_leaves - 1)))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "iso_step_begin", "%d leaves: not a power of two from 1 to 65536",
                     n_leaves);
  iso__step *s = iso__zalloc(ctx, sizeof *s);
  uint8_t *ran = s ? iso__zalloc(ctx, (size_t)n_leaves) : NULL;
  if (!ran) {
    if (s) iso__free(ctx, s, sizeof *s);
    return ctx->error.code;
  }
  *s = (iso__step){.n_leaves = n_leaves, .leaf = -1, .ran = ran};
  tape->step = s;
  tape->n_steps++;
  zero_all(tape);
  return ISO_OK;
}

static iso__step *open_step(iso_context *ctx, const char *op) {
  iso__step *s = iso__tape_of(ctx)->step;
  if (!s) ISO__FAIL(ctx, ISO_STATE, op, "no step is open: iso_step_begin comes first");
  return s;
}

iso_status iso_leaf_begin(iso_context *ctx, int leaf) {
  if (iso__failed(ctx)) return ctx ? ctx->error.code : ISO_INVALID_ARGUMENT;
  iso__step *s = open_step(ctx, "iso_leaf_begin");
  if (!s) return ctx->error.code;
  if (s->leaf >= 0) return ISO__FAIL(ctx, ISO_STATE, "iso_leaf_begin", "leaf %d has not ended", s->leaf);
  if (leaf < 0 || leaf >= s->n_leaves)
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "iso_leaf_begin", "leaf %d of a step of %d leaves", leaf, s->n_leaves);
  if (s->ran[leaf]) return ISO__FAIL(ctx, ISO_STATE, "iso_leaf_begin", "leaf %d has already run in this step", leaf);
  s->leaf = leaf;
  zero_all(iso__tape_of(ctx));
  iso__place *place = iso__place_of(ctx);
  place->leaf = (uint32_t)leaf;
  place->site = 0;
  return ISO_OK;
}

/* Blocks are plain arrays: the tensor's place in them. */
static bool number_variable(iso__tape *tape, iso__leaf *leaf) {
  iso__step *s = tape->step;
  if (leaf->step_number == tape->n_steps) return true;
  if (!iso__grow(tape->ctx, (void **)&s->variables, &s->variables_capacity, s->n_variables + 1, sizeof *s->variables))
    return false;
  leaf->step_number = tape->n_steps;
  leaf->step_index = s->n_variables;
  iso__var_retain(&leaf->head.base);
  s->variables[s->n_variables++] = leaf;
  return true;
}

/* Of all that have a gradient now. */
static bool number_variables(iso__tape *tape) {
  for (iso__leaf *leaf = tape->leaves.next; leaf != &tape->leaves; leaf = leaf->next)
    if (leaf->grad && !number_variable(tape, leaf)) return false;
  return true;
}

static bool check_loss(iso_context *ctx, const iso_tensor *loss) {
  if (!loss || (iso__view_numel(&loss->view) == 1 && iso_dtype_is_float(loss->view.dtype))) return true;
  char text[160];
  iso_tensor_format(loss, text, sizeof text);
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "iso_leaf_end", "the loss is %s, not one floating-point element", text);
  return false;
}

iso_status iso_leaf_end(iso_context *ctx, const iso_tensor *loss) {
  if (iso__failed(ctx)) return ctx ? ctx->error.code : ISO_INVALID_ARGUMENT;
  iso__tape *tape = iso__tape_of(ctx);
  iso__step *s = open_step(ctx, "iso_leaf_end");
  if (!s || !check_loss(ctx, loss)) return ctx->error.code;
  if (s->leaf < 0) return ISO__FAIL(ctx, ISO_STATE, "iso_leaf_end", "no leaf was begun");
  if (!number_variables(tape) ||
      !iso__grow(ctx, (void **)&s->blocks, &s->blocks_capacity, s->n_blocks + 1, sizeof *s->blocks))
    return ctx->error.code;
  block b = {.index = s->leaf, .n = s->n_variables};
  if (!(b.grads = iso__zalloc(ctx, b.n * sizeof *b.grads))) return ctx->error.code;
  if (loss && !(b.loss = iso__own(iso_detach(ctx, loss)))) {
    block_free(ctx, &b);
    return ctx->error.code;
  }
  for (size_t i = 0; i < b.n; i++) {
    b.grads[i] = s->variables[i]->grad;
    s->variables[i]->grad = NULL;
  }
  s->ran[s->leaf] = 1;
  s->leaf = -1;
  tape->place.leaf = 0;
  iso_no_grad_push(ctx);
  insert_block(tape, b);
  iso_no_grad_pop(ctx);
  return ctx->error.code;
}

/* ---- work that waits for the end ---- */

void iso__defer(iso_context *ctx, const iso__deferred *work) {
  if (iso__failed(ctx)) return;
  const iso__tape *tape = iso__tape_of(ctx);
  iso__step *s = tape->step;
  if (tape->is_again) return; /* done, or put off, when the block ran first */
  if (!s || s->leaf < 0) {
    work->apply(ctx, work->tensors, work->scalar);
    return;
  }
  if (!iso__grow(ctx, (void **)&s->deferred, &s->deferred_capacity, s->n_deferred + 1, sizeof *s->deferred)) return;
  deferred_item item = {.work = *work, .leaf = s->leaf};
  for (int i = 0; i < ISO__MAX_DEFERRED; i++)
    if (work->tensors[i] && !iso__failed(ctx)) item.work.tensors[i] = iso__own_alias(ctx, work->tensors[i]);
    else item.work.tensors[i] = NULL;
  s->deferred[s->n_deferred++] = item; /* after a failure too: the step's end frees it */
}

/* ---- a leaf that a child context has run ---- */

/* A handle of ours for a child's tensor, in no scope. */
static iso_tensor *moved(iso_context *ctx, const iso_tensor *t) {
  return iso__own(iso__tensor_from_view(ctx, &t->view));
}

static iso__leaf *own_leaf(size_t n, const iso_named_tensor *own, const iso_named_tensor *theirs,
                           const iso__leaf *leaf) {
  for (size_t i = 0; i < n; i++)
    if (iso__leaf_of(theirs[i].tensor) == leaf) return iso__leaf_of(own[i].tensor);
  return NULL;
}

/* The block's gradients in our order. */
static bool move_block(iso__tape *tape, const iso__step *from, size_t n, const iso_named_tensor *own,
                       const iso_named_tensor *theirs, block *b) {
  iso_context *ctx = tape->ctx;
  const block *their = &from->blocks[0];
  for (size_t i = 0; i < their->n; i++) {
    iso__leaf *leaf = own_leaf(n, own, theirs, from->variables[i]);
    if (!leaf) ISO__FAIL(ctx, ISO_STATE, "leaf", "a gradient is of a tensor that the model does not have");
    if (!leaf || !number_variable(tape, leaf)) return false;
  }
  *b = (block){.index = their->index, .n = tape->step->n_variables};
  if (!(b->grads = iso__zalloc(ctx, b->n * sizeof *b->grads))) return b->n = 0, false;
  for (size_t i = 0; i < their->n && !iso__failed(ctx); i++)
    if (their->grads[i])
      b->grads[own_leaf(n, own, theirs, from->variables[i])->step_index] = moved(ctx, their->grads[i]);
  if (their->loss && !iso__failed(ctx)) b->loss = moved(ctx, their->loss);
  return !iso__failed(ctx);
}

static void move_deferred(iso_context *ctx, iso__step *s, const iso__step *from) {
  for (size_t k = 0; k < from->n_deferred && !iso__failed(ctx); k++) {
    if (!iso__grow(ctx, (void **)&s->deferred, &s->deferred_capacity, s->n_deferred + 1, sizeof *s->deferred)) return;
    deferred_item item = from->deferred[k];
    for (int i = 0; i < ISO__MAX_DEFERRED; i++)
      if (item.work.tensors[i]) item.work.tensors[i] = iso__failed(ctx) ? NULL : moved(ctx, item.work.tensors[i]);
    s->deferred[s->n_deferred++] = item;
  }
}

iso_status iso__step_adopt(iso_context *ctx, iso_context *child, size_t n, const iso_named_tensor *own,
                           const iso_named_tensor *theirs) {
  if (iso__failed(ctx)) return ctx->error.code;
  iso__tape *tape = iso__tape_of(ctx);
  iso__step *s = open_step(ctx, "leaf");
  const iso__step *from = iso__tape_of(child)->step;
  if (!s) return ctx->error.code;
  if (s->leaf >= 0 || !from || from->leaf >= 0 || from->n_blocks != 1 || from->n_leaves != s->n_leaves ||
      s->ran[from->blocks[0].index])
    return ISO__FAIL(ctx, ISO_STATE, "leaf", "the child has run no leaf, or one that has run in this step");
  block b = {0};
  if (move_block(tape, from, n, own, theirs, &b)) move_deferred(ctx, s, from);
  iso__step_free(iso__tape_of(child)); /* so that the sums may be made in place */
  if (iso__failed(ctx) ||
      !iso__grow(ctx, (void **)&s->blocks, &s->blocks_capacity, s->n_blocks + 1, sizeof *s->blocks)) {
    block_free(ctx, &b);
    return ctx->error.code;
  }
  s->ran[b.index] = 1;
  iso_no_grad_push(ctx);
  insert_block(tape, b);
  iso_no_grad_pop(ctx);
  return ctx->error.code;
}

/* Leaf by leaf, within one in the order it was put off. */
static void apply_deferred(iso_context *ctx, iso__step *s) {
  for (int leaf = 0; leaf < s->n_leaves; leaf++)
    for (size_t i = 0; i < s->n_deferred && s->ran[leaf] && !iso__failed(ctx); i++)
      if (s->deferred[i].leaf == leaf) {
        const iso__deferred *work = &s->deferred[i].work;
        work->apply(ctx, work->tensors, work->scalar);
      }
}

/* Siblings of absent leaves move up. */
static void close_tree(iso__tape *tape) {
  iso__step *s = tape->step;
  for (int level = 0; 1 << level < s->n_leaves; level++)
    for (size_t i = 0; i < s->n_blocks;) {
      if (s->blocks[i].level != level) {
        i++;
        continue;
      }
      block b = take_block(s, &s->blocks[i]);
      b.level++, b.index >>= 1;
      insert_block(tape, b);
    }
}

iso_status iso__step_end(iso_context *ctx, iso_tensor **loss) {
  *loss = NULL;
  if (iso__failed(ctx)) return ctx ? ctx->error.code : ISO_INVALID_ARGUMENT;
  iso__tape *tape = iso__tape_of(ctx);
  iso__step *s = open_step(ctx, "iso_step_end");
  if (!s) return ctx->error.code;
  if (s->leaf >= 0) return ISO__FAIL(ctx, ISO_STATE, "iso_step_end", "leaf %d has not ended", s->leaf);
  iso_no_grad_push(ctx);
  close_tree(tape);
  apply_deferred(ctx, s);
  iso_no_grad_pop(ctx);
  if (s->n_blocks && !iso__failed(ctx)) {
    block *root = &s->blocks[0];
    for (size_t i = 0; i < root->n; i++) {
      iso__leaf_zero(s->variables[i]);
      s->variables[i]->grad = root->grads[i];
      root->grads[i] = NULL;
    }
    *loss = root->loss;
    root->loss = NULL;
  }
  iso__step_free(tape);
  return ctx->error.code;
}

iso_status iso_step_end(iso_context *ctx, double *loss) {
  iso_tensor *sum;
  if (loss) *loss = 0;
  iso_status status = iso__step_end(ctx, &sum);
  if (!status && loss && sum) status = iso_tensor_item(sum, loss);
  iso_release(sum);
  return status;
}
