/* state.h: the tape's inside, shared by this room's files. */
#ifndef ISO_AUTOGRAD_STATE_H
#define ISO_AUTOGRAD_STATE_H
#include "autograd/tape.h"

/* Hooks of one tensor, in the order they were added. */
typedef struct iso__hook {
  struct iso__hook *next;
  iso_grad_hook *call;
  void *user;
} iso__hook;

/* Where a tensor comes from. */
typedef struct iso__variable {
  iso__var base; /* first */
  iso_context *ctx;
  bool is_leaf;
} iso__variable;

typedef struct iso__result {
  iso__variable head;
  uint32_t generation, position, output;
} iso__result;

typedef struct iso__leaf {
  iso__variable head;
  struct iso__leaf *prev, *next; /* all leaves of the context */
  iso__view like;                /* shape, strides and dtype that the gradient takes; storage NULL */
  iso_tensor *grad, *pending;    /* pending: this pass's sum so far */
  iso__hook *hooks;
  bool invalid;         /* an error in backward: zero it first */
  int target;           /* during iso_grad_of: index + 1 among the inputs */
  uint64_t step_number; /* the step that step_index belongs to */
  size_t step_index;
} iso__leaf;

typedef struct iso__saved_view {
  iso__view view; /* storage retained; NULL: nothing saved */
  iso__var *var;
  unsigned version;
  iso_dtype dtype; /* of what was saved: wider than the view's where that is what it was widened from */
} iso__saved_view;

typedef struct iso__node_input {
  iso__var *var; /* NULL: needs no gradient */
  iso__view view;
} iso__node_input;

typedef struct iso__node_output {
  iso_tensor *dy; /* the sum so far */
  iso__hook *hooks;
  iso__view view;
  int target; /* during iso_grad_of: index + 1 among the inputs */
} iso__node_output;

struct iso__node {
  const iso__rule *rule;
  int n_inputs, n_outputs, n_saved;
  iso__node_input *inputs;
  iso__node_output *outputs;
  iso__saved_view *saved;
  void *attrs;
  size_t module; /* where it was recorded, for a trace: the name's place there */
  uint32_t generation;
  bool released, on_path; /* on_path: during iso_grad_of, leads to an input */
};

/* Blocks that are filled one after the other and emptied all at once. */
typedef struct iso__arena_block {
  struct iso__arena_block *next;
  size_t n_bytes, used; /* of the whole block, header included */
} iso__arena_block;

typedef struct iso__step iso__step; /* step.c */
typedef struct iso__walk iso__walk; /* backward.c */

/* A tensor from outside that a block being checkpointed read. */
typedef struct iso__block_input {
  iso_tensor *tensor; /* in no scope */
  unsigned version;   /* when it was first read */
} iso__block_input;

/* A block whose forward runs unrecorded (checkpoint.c). Its operators' results are tied to no node: their generation
 * says that they are the block's. */
typedef struct iso__block {
  uint32_t generation;
  iso__block_input *inputs; /* that want a gradient, each variable once, in the order they were read */
  size_t n_inputs, capacity;
} iso__block;

typedef struct iso__tape {
  iso__handle guard; /* first: lies in the outermost scope while the tape holds nodes; its end clears the tape */
  iso_context *ctx;
  iso__tape_operators operators;
  iso__node **nodes;
  size_t n_nodes, capacity;
  uint32_t generation, last_generation;  /* of what is recorded now; the highest so far */
  iso__arena_block *first_block, *block; /* block: the one being filled */
  int no_grad;
  bool in_backward, create_graph, only_targets;
  bool is_again;        /* a block's forward runs for the second time: what it did to the world is done */
  iso__block *block_in; /* NULL: operators are recorded */
  iso__walk *walk;      /* backward's, while it runs */
  iso__leaf leaves;     /* list head */
  iso__place place;
  iso__step *step;
  uint64_t n_steps;
} iso__tape;

static inline iso__tape *iso__tape_of(const iso_context *ctx) { return ctx->slot[ISO__SLOT_AUTOGRAD]; }
static inline iso__leaf *iso__leaf_of(const iso_tensor *t) {
  return t && t->var && ((iso__variable *)t->var)->is_leaf ? (iso__leaf *)t->var : NULL;
}
static inline iso__result *iso__result_of(const iso_tensor *t) {
  return t && t->var && !((iso__variable *)t->var)->is_leaf ? (iso__result *)t->var : NULL;
}
/* The node that made the tensor, or NULL if the tape has been freed since. */
static inline iso__node *iso__result_node(const iso__tape *tape, const iso__result *r) {
  iso__node *node = r->position < tape->n_nodes ? tape->nodes[r->position] : NULL;
  return node && node->generation == r->generation ? node : NULL;
}

void *iso__arena_alloc(iso__tape *tape, size_t n_bytes); /* NULL with the error kept */
/* Frees what a node holds on to; its place stays. */
void iso__node_release(iso__node *node);
void iso__tape_reset(iso__tape *tape);
/* A generation that no result has. */
static inline uint32_t iso__generation_new(iso__tape *tape) { return ++tape->last_generation; }

/* What is recorded between these two lies at the tape's end, in a generation of its own, and is gone afterwards. */
typedef struct iso__tape_mark {
  size_t n_nodes, block_used;
  iso__arena_block *block;
  uint32_t generation;
} iso__tape_mark;
iso__tape_mark iso__tape_branch(iso__tape *tape);
void iso__tape_cut(iso__tape *tape, const iso__tape_mark *mark);
/* Walks the nodes from `begin` to the tape's end, which a rule has recorded, as part of the walk that called the rule;
 * var's gradient is dy. */
void iso__walk_branch(iso__tape *tape, size_t begin, iso__var *var, iso_tensor *dy);
/* Takes a handle out of every scope, so that its holder alone ends it. */
iso_tensor *iso__own(iso_tensor *t);
/* A handle of its own for the same tensor, history included, in no scope; NULL with the error kept. */
iso_tensor *iso__own_alias(iso_context *ctx, const iso_tensor *t);
/* *sum = *sum + t, or t as it is when there is no sum yet. Takes t over if it belongs to the innermost scope. */
void iso__accumulate(iso__tape *tape, iso_tensor **sum, iso_tensor *t);
/* A dense tensor that nobody shares, laid out like the leaf; takes t over. */
iso_tensor *iso__leaf_settle(iso__leaf *leaf, iso_tensor *t);
void iso__leaf_zero(iso__leaf *leaf);
void iso__hooks_free(iso_context *ctx, iso__hook *hooks);
void iso__step_free(iso__tape *tape);
#endif
