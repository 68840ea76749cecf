/* passes.c: a step's leaves, several at a time: a pass is an aligned block of leaves, one a thread of its own.
 *
 * Each leaf of a pass runs in a child context with its share of the threads, on a model of its own whose tensors lie in
 * the trainer's storage: nothing is copied, and what the optimiser writes all see. A child's step holds its leaf's
 * gradients, loss and what is put off to the step's end; the trainer's step adopts them in ascending order, so the tree
 * over leaves is the same tree (NUMERICS §6) whatever ran beside what. Small leaves leave threads idle inside an
 * operator; beside each other they don't. The price is the activations of as many leaves. */
#include "train/passes.h"
#include <pthread.h>
#include <string.h>
#include "autograd/adopt.h"
#include "device/trace.h"

enum { MOST = 64 };

typedef struct lane {
  iso_context *ctx;
  iso_module *model;
} lane;

struct iso__passes {
  int n;
  char policy[512]; /* that the children were made under */
  lane lanes[MOST];
};

/* ---- making ---- */

void iso__passes_release(iso_trainer *t) {
  iso__passes *p = t->passes;
  if (!p) return;
  for (int i = 0; i < p->n; i++) {
    iso_module_free(p->lanes[i].model);
    iso_context_free(p->lanes[i].ctx);
  }
  iso__free(t->ctx, p, sizeof *p);
  t->passes = NULL;
}

/* The lane's tensors become views of the trainer's storage. */
static iso_status share_tensors(iso_trainer *t, const lane *l) {
  size_t n, n_theirs;
  const iso_named_tensor *own = iso_module_tensors(t->model, &n), *theirs = iso_module_tensors(l->model, &n_theirs);
  if (!own || !theirs || n != n_theirs)
    return ISO__FAIL(t->ctx, ISO_STATE, "train", "a pass' model has %zu tensors, the trainer's %zu", n_theirs, n);
  for (size_t i = 0; i < n; i++) {
    iso__storage_retain(own[i].tensor->view.storage);
    iso__storage_release(theirs[i].tensor->view.storage);
    theirs[i].tensor->view = own[i].tensor->view;
  }
  return ISO_OK;
}

static iso_status failed_in(iso_trainer *t, const iso_context *child) {
  return ISO__FAIL(t->ctx, iso_error_code(child), "train", "%s", iso_error_message(child));
}

static iso_status open_lane(iso_trainer *t, lane *l, int n_threads) {
  const iso_status status = iso_context_new_child(t->ctx, n_threads, &l->ctx);
  if (status) return ISO__FAIL(t->ctx, status, "train", "no context for a pass of leaves");
  l->model = t->task->replica(t, l->ctx);
  return l->model ? share_tensors(t, l) : failed_in(t, l->ctx);
}

static iso_status open_lanes(iso_trainer *t, int n) {
  char policy[sizeof t->passes->policy];
  iso_policy_format(iso_policy_current(t->ctx), policy, sizeof policy);
  if (t->passes && t->passes->n == n && !strcmp(t->passes->policy, policy)) return ISO_OK;
  iso__passes_release(t);
  if (!(t->passes = iso__zalloc(t->ctx, sizeof *t->passes))) return t->ctx->error.code;
  memcpy(t->passes->policy, policy, sizeof policy);
  const int n_threads = iso_n_threads(t->ctx) / n;
  for (iso_status status; t->passes->n < n;) {
    status = open_lane(t, &t->passes->lanes[t->passes->n++], n_threads > 1 ? n_threads : 1);
    if (!status) continue;
    iso__passes_release(t);
    return status;
  }
  return ISO_OK;
}

/* As the trainer's own model and context are at this step. */
static void match(const iso_module *own, iso_module *theirs) {
  iso_module_set_checkpointing(theirs, iso_module_is_checkpointing(own));
  for (int i = 0; i < iso_module_n_children(own); i++) match(iso_module_child(own, i), iso_module_child(theirs, i));
}

/* ---- one pass ---- */

typedef struct leaf_job {
  const iso_trainer *t;
  const iso__samples *batch;
  lane *lane;
  int leaf, n_leaves;
  int64_t begin, end;
  pthread_t thread;
  bool is_thread;
} leaf_job;

static void *run_leaf(void *arg) {
  const leaf_job *j = arg;
  iso_context *ctx = j->lane->ctx;
  iso_trainer t = *j->t; /* what a leaf reads of it, in the lane */
  t.ctx = ctx, t.model = j->lane->model;
  iso__samples batch = *j->batch;
  iso_tensor *loss = NULL;
  iso_scope_push(ctx);
  batch.x = iso__tensor_from_view(ctx, &j->batch->x->view), batch.y = iso__tensor_from_view(ctx, &j->batch->y->view);
  if (batch.lengths) batch.lengths = iso__tensor_from_view(ctx, &j->batch->lengths->view);
  (void)(iso_step_begin(ctx, j->n_leaves) || iso_leaf_begin(ctx, j->leaf) ||
         iso__trainer_leaf(&t, &batch, j->begin, j->end, &loss) || iso_leaf_end(ctx, loss));
  iso_scope_pop(ctx);
  return NULL;
}

/* Leaves first … first+n−1, at the same time; the calling thread takes the first of them. */
static iso_status run_pass(iso_trainer *t, const iso__samples *batch, int n_leaves, int first, int n) {
  leaf_job jobs[MOST];
  int n_jobs = 0;
  for (int i = 0; i < n; i++) {
    leaf_job *j = &jobs[n_jobs];
    *j = (leaf_job){.t = t, .batch = batch, .lane = &t->passes->lanes[i], .leaf = first + i, .n_leaves = n_leaves};
    iso_leaf_range(batch->n_total, n_leaves, first + i, &j->begin, &j->end);
    n_jobs += j->begin < j->end;
  }
  for (int i = 1; i < n_jobs; i++) jobs[i].is_thread = pthread_create(&jobs[i].thread, NULL, run_leaf, &jobs[i]) == 0;
  for (int i = 0; i < n_jobs; i++)
    if (!jobs[i].is_thread) run_leaf(&jobs[i]); /* without a thread it takes longer, and is the same */
  for (int i = 0; i < n_jobs; i++)
    if (jobs[i].is_thread) pthread_join(jobs[i].thread, NULL);
  size_t n_own, n_theirs;
  const iso_named_tensor *own = iso_module_tensors(t->model, &n_own);
  for (int i = 0; i < n_jobs; i++) {
    iso_context *child = jobs[i].lane->ctx;
    const iso_named_tensor *theirs = iso_module_tensors(jobs[i].lane->model, &n_theirs);
    if (iso_error_code(child)) failed_in(t, child);
    else if (own) iso__step_adopt(t->ctx, child, n_own, own, theirs);
    iso_clear_error(child);
    iso__tape_abandon(child);
  }
  return t->ctx->error.code;
}

int iso__passes_leaves(const iso_trainer *t, int n_leaves) {
  const int n = t->recipe.pass_leaves;
  if (n < 2 || !iso__is_on_cpu(t->ctx)) return 1;
  if (iso__trace_of(t->ctx) || t->scaler) return 1; /* of one context */
  return n < n_leaves ? n : n_leaves;
}

iso_status iso__passes_run(iso_trainer *t, const iso__samples *batch, int n_leaves) {
  const int n = iso__passes_leaves(t, n_leaves);
  iso_status status = open_lanes(t, n);
  for (int i = 0; i < n && !status; i++) {
    lane *l = &t->passes->lanes[i];
    iso_random_set_step(l->ctx, iso_random_step(t->ctx));
    iso_module_train(l->model, iso_module_is_training(t->model));
    match(t->model, l->model);
  }
  for (int g = 0; g < n_leaves && !status; g += n) status = run_pass(t, batch, n_leaves, g, n);
  return status;
}
