/* tape.h: the dynamic tape: what operators record, what gradient rules see.
 *
 * Operators append a node for each result that depends on a leaf; backward walks the nodes in descending position and
 * asks each one's rule for the gradients of its inputs. Rules are written in operators, so under create_graph the walk
 * records itself. The tape retains storage, never handles: a saved tensor is a view with its storage retained and the
 * storage's version at saving, so that an edit in place in between is an error and not a wrong gradient.
 *
 * A tensor's `var` says where it comes from: a leaf (which holds its gradient), or output o of the node at position p
 * in generation g of the tape. Freeing the tape raises the generation, so old results are recognised without visiting
 * them. */
#ifndef ISO_AUTOGRAD_TAPE_H
#define ISO_AUTOGRAD_TAPE_H
#include <isobit/ops.h>
#include "tensor/tensor.h"

typedef struct iso__node iso__node;

/* What a gradient rule gets. dx[i] stays NULL where input i needs none. Runs in a scope of its own. */
typedef struct iso__gradient {
  iso_context *ctx;
  const iso__node *node;
  iso_tensor *const *dy; /* one an output; NULL: no gradient reached it */
  iso_tensor **dx;       /* one an input, to be filled */
} iso__gradient;

enum { ISO__MAX_SAVED = 8 };
/* How one operator is differentiated: a row of ops.def. */
typedef struct iso__rule {
  const char *name; /* "matmul" */
  void (*gradient)(iso__gradient *g);
  const char *saved[ISO__MAX_SAVED]; /* names of the saved tensors, for messages */
  bool once;                         /* the gradient's own kernels have no gradient: refused under create_graph */
} iso__rule;

/* What an operator hands over. Entries of inputs and saved may be NULL. */
typedef struct iso__recording {
  const iso__rule *rule;
  const iso_tensor *const *inputs;
  iso_tensor *const *outputs;
  const iso_tensor *const *saved; /* only what the needed gradients read */
  int n_inputs, n_outputs, n_saved;
  const void *attrs; /* copied */
  size_t attr_bytes;
} iso__recording;

/* ---- for operators ---- */
/* Whether an operator on these has to be recorded. */
bool iso__is_recorded(const iso_context *ctx, int n, const iso_tensor *const *inputs);
/* Appends a node and ties the outputs to it. Returns outputs[0]; NULL with the error kept when there is no memory. */
iso_tensor *iso__record(iso_context *ctx, const iso__recording *r);

/* ---- for rules ---- */
bool iso__needs(const iso__gradient *g, int input);
/* The saved tensor as a handle with its history; NULL if none was saved (or after an error). */
iso_tensor *iso__saved(const iso__gradient *g, int i);
const void *iso__attrs(const iso__gradient *g);
/* Shape and dtype of an input as it was: only these fields of the view are set. */
const iso__view *iso__input_view(const iso__gradient *g, int input);
const iso__view *iso__output_view(const iso__gradient *g, int output);
/* Whether this gradient will be differentiated: rules then avoid kernels without a gradient of their own. */
bool iso__creates_graph(const iso__gradient *g);
/* What has arrived of input i's gradient before, if a rule may add its own share to it in place, which is then the
 * addition that would follow (dx[i] stays NULL); contiguous. NULL: nothing has, or others see it. */
iso_tensor *iso__sum_so_far(const iso__gradient *g, int input);
/* The gradient of an operator that computes what several others do, by them: f is computed once more from the inputs,
 * on a tape of its own, and walked. `inputs` are the operator's in its order. Not for create_graph: such a row is ONCE.
 */
typedef iso_tensor *iso__recompute(iso_context *ctx, const void *attrs, const iso_tensor *const *inputs);
void iso__gradient_recomputed(iso__gradient *g, iso__recompute *f, int n, iso_tensor *const *inputs);

/* ---- for the context and the optimisers ---- */
/* The operators that the tape itself needs, registered by ops. */
typedef struct iso__tape_operators {
  iso_tensor *(*add)(iso_context *ctx, const iso_tensor *a, const iso_tensor *b);
  /* out = a + b, where out is a or b; shapes equal, out dense. */
  void (*add_into)(iso_context *ctx, const iso_tensor *out, const iso_tensor *a, const iso_tensor *b);
} iso__tape_operators;
iso_status iso__tape_attach(iso_context *ctx, const iso__tape_operators *operators);
/* The leaf's gradient without making a handle; NULL if there is none. */
const iso_tensor *iso__leaf_gradient(const iso_tensor *t);
/* False after an error in backward, until the gradient is zeroed. */
bool iso__leaf_gradient_is_valid(const iso_tensor *t);

/* ---- the place in the computation, which random operators count by (NUMERICS §7) ---- */
typedef struct iso__place {
  uint32_t step, leaf, site;
  uint32_t init_site;      /* ordinal of the next initialised tensor */
  const uint32_t *step_at; /* while a capture records: where the device will find the step's number; else NULL */
  uint32_t n_drawn;        /* sites taken in all: whether a capture draws */
} iso__place;
iso__place *iso__place_of(const iso_context *ctx);

/* iso_step_end, but the sum of the losses stays where it is: NULL if no leaf had one, else the caller's, in no scope.
 */
iso_status iso__step_end(iso_context *ctx, iso_tensor **loss);

/* ---- for captures: gradients that a recorded backward left, to be the leaves' again after each replay ---- */
typedef struct iso__gradients {
  struct iso__leaf_gradient {
    iso__var *leaf;   /* retained */
    iso_tensor *grad; /* owned by no scope */
  } * items;
  size_t n;
} iso__gradients;
bool iso__gradients_are_there(const iso_context *ctx); /* of any leaf */
/* Every leaf's, after which no leaf has one; false: no memory, the error is kept. */
bool iso__gradients_take(iso_context *ctx, iso__gradients *out);
/* Leaves get theirs (again). */
iso_status iso__gradients_give(iso_context *ctx, const iso__gradients *g);
void iso__gradients_release(iso_context *ctx, iso__gradients *g);
/* Whether no step is open and nothing is on the tape. */
bool iso__tape_is_clear(const iso_context *ctx);
/* After an error in between: no step is open, nothing is on the tape, no leaf has a gradient. */
void iso__tape_abandon(iso_context *ctx);

/* ---- leaves ---- */
/* Work that has to be done in ascending order of leaves when the step ends. */
enum { ISO__MAX_DEFERRED = 4 };
typedef struct iso__deferred {
  void (*apply)(iso_context *ctx, iso_tensor *const *tensors, double scalar);
  iso_tensor *tensors[ISO__MAX_DEFERRED];
  double scalar;
} iso__deferred;
/* Runs it now outside a step; in a leaf, keeps aliases of the tensors and runs it at iso_step_end. */
void iso__defer(iso_context *ctx, const iso__deferred *work);

/* Guards operators that write in place. */
iso_status iso__check_in_place(const iso_tensor *t, const char *op);
#endif
