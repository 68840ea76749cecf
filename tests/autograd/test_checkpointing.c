/* test_checkpointing.c: what is recomputed has the bits of what was kept: dropout, shared parameters, tensors used
 * inside and outside, nests, leaves, policies, running statistics, hooks; errors and lack of memory are clean. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/nn.h>

enum { BATCH = 12, WIDTH = 24, N_BLOCKS = 4 };

static iso_context *context_new(int n_threads) {
  iso_policy policy;
  iso_context *ctx;
  assert_int_equal(iso_policy_preset("reproducible", &policy), ISO_OK);
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = n_threads, .policy = &policy}, &ctx), ISO_OK);
  return ctx;
}
static iso_tensor *normal(iso_context *ctx, uint64_t seed, int64_t rows, int64_t width) {
  const iso_philox at = {.seed = seed, .stream = ISO_PHILOX_USER};
  iso_tensor *x = iso_tensor_new(ctx, ISO_F32, 2, ISO_DIMS(rows, width));
  assert_int_equal(iso_fill_normal(x, &at, 0, 1), ISO_OK);
  return x;
}
static void expect_ok(const iso_context *ctx) {
  if (iso_error_code(ctx)) fail_msg("%s", iso_error_message(ctx));
}
static void expect_error(iso_context *ctx, iso_status code, const char *words) {
  assert_int_equal(iso_error_code(ctx), code);
  if (!strstr(iso_error_message(ctx), words)) fail_msg("'%s' does not say '%s'", iso_error_message(ctx), words);
  iso_clear_error(ctx);
}

/* ---- a stack of blocks whose parts are used in every way at once ---- */

/* How a stack is run. */
typedef struct variant {
  bool checkpoint, inner; /* each block; and a half of it within */
  bool policy;            /* the forward runs under another policy than backward */
  bool retain, targets;   /* backward twice; iso_grad_of instead */
  int n_leaves;
  bool descending; /* the leaves' order */
  int n_threads;
} variant;

/* A block reads: its own weights, one that all blocks share, the model's input (a result of a recorded operator), and
 * batch norm with running statistics. */
typedef struct stack {
  iso_context *ctx;
  iso_tensor *w[N_BLOCKS], *shared, *gamma[N_BLOCKS], *beta[N_BLOCKS], *mean[N_BLOCKS], *var[N_BLOCKS];
  iso_tensor *stem; /* this pass's */
  const variant *how;
  int n_hooks; /* calls */
} stack;

typedef struct block_user {
  stack *s;
  int i;
} block_user;

static iso_tensor *scale_hook(iso_context *ctx, iso_tensor *grad, void *user) {
  ((stack *)user)->n_hooks++;
  return iso_mul_scalar(ctx, grad, 1.0009765625);
}

static iso_tensor *half(iso_context *ctx, void *user, iso_tensor *const *inputs) {
  const block_user *u = user;
  iso_tensor *h = iso_dropout(ctx, iso_gelu(ctx, iso_matmul(ctx, inputs[0], u->s->w[u->i])), 0.25, true);
  if (h) iso_hook_add(h, scale_hook, u->s);
  return iso_add(ctx, h, iso_mul_scalar(ctx, inputs[0], 0.5)); /* its input twice */
}

static iso_tensor *block(iso_context *ctx, void *user, iso_tensor *const *inputs) {
  const block_user *u = user;
  stack *s = u->s;
  iso_tensor *x = inputs[0];
  iso_tensor *h = s->how->inner ? iso_checkpoint(ctx, half, u, sizeof *u, 1, &x) : half(ctx, user, &x);
  h = iso_batch_norm(ctx, h, s->gamma[u->i], s->beta[u->i], s->mean[u->i], s->var[u->i],
                     &(iso_batch_norm_options){.training = true, .momentum = 0.1, .eps = 1e-5});
  h = iso_dropout(ctx, iso_matmul(ctx, h, s->shared), 0.125, true);
  return iso_add(ctx, iso_add(ctx, h, x), iso_mul_scalar(ctx, s->stem, 0.25)); /* of the pass, from outside */
}

static void stack_new(stack *s, iso_context *ctx, const variant *how) {
  *s = (stack){.ctx = ctx, .how = how};
  const int64_t width = WIDTH;
  s->shared = iso_requires_grad(iso_mul_scalar(ctx, normal(ctx, 99, WIDTH, WIDTH), 0.2), true);
  for (int i = 0; i < N_BLOCKS; i++) {
    s->w[i] = iso_requires_grad(iso_mul_scalar(ctx, normal(ctx, (uint64_t)i, WIDTH, WIDTH), 0.2), true);
    s->gamma[i] = iso_requires_grad(iso_tensor_full(ctx, ISO_F32, 1, &width, 1), true);
    s->beta[i] = iso_requires_grad(iso_tensor_zeros(ctx, ISO_F32, 1, &width), true);
    s->mean[i] = iso_tensor_zeros(ctx, ISO_F32, 1, &width);
    s->var[i] = iso_tensor_full(ctx, ISO_F32, 1, &width, 1);
  }
}

static iso_tensor *stack_forward(stack *s, const iso_tensor *input) {
  iso_context *ctx = s->ctx;
  iso_tensor *x = s->stem = iso_tanh(ctx, iso_matmul(ctx, input, s->shared));
  for (int i = 0; i < N_BLOCKS && x; i++) {
    const block_user u = {.s = s, .i = i};
    iso_policy strict = *iso_policy_current(ctx);
    strict.accuracy = ISO_ACCURACY_STRICT;
    if (s->how->policy) iso_policy_push(ctx, &strict);
    x = s->how->checkpoint ? iso_checkpoint(ctx, block, &u, sizeof u, 1, &x) : block(ctx, (void *)&u, &x);
    if (s->how->policy) iso_policy_pop(ctx);
    if (x && i == 1) iso_hook_add(x, scale_hook, s);
  }
  return iso_mean_all(ctx, iso_square(ctx, iso_add(ctx, x, s->stem)));
}

enum { N_HASHES = 1 + 4 * N_BLOCKS + N_BLOCKS + 1 };
typedef struct outcome {
  char hash[N_HASHES][33];
  int n_hooks;
  size_t tape_length;
} outcome;

static void hash_tensor(outcome *o, int i, const iso_tensor *t) {
  if (!t) snprintf(o->hash[i], sizeof o->hash[i], "none");
  else assert_int_equal(iso_tensor_hash(t, o->hash[i]), ISO_OK);
}

static void hash_all(outcome *o, const stack *s, iso_tensor *const *grads, const iso_tensor *loss) {
  int n = 0;
  hash_tensor(o, n++, loss);
  hash_tensor(o, n++, grads ? grads[N_BLOCKS] : iso_grad(s->shared));
  for (int i = 0; i < N_BLOCKS; i++) {
    hash_tensor(o, n++, grads ? grads[i] : iso_grad(s->w[i]));
    hash_tensor(o, n++, grads ? NULL : iso_grad(s->gamma[i]));
    hash_tensor(o, n++, grads ? NULL : iso_grad(s->beta[i]));
    hash_tensor(o, n++, s->mean[i]);
    hash_tensor(o, n++, s->var[i]);
  }
}

/* Two passes, so that sites and running statistics go on from one to the next. */
static outcome run(const variant *how) {
  iso_context *ctx = context_new(how->n_threads ? how->n_threads : 1);
  stack s;
  outcome o = {0};
  iso_scope_push(ctx);
  stack_new(&s, ctx, how);
  const iso_tensor *x = normal(ctx, 7, BATCH, WIDTH);
  for (int pass = 0; pass < 2; pass++) {
    iso_tensor *loss = NULL, *grads[N_BLOCKS + 1] = {NULL};
    if (how->n_leaves) assert_int_equal(iso_step_begin(ctx, how->n_leaves), ISO_OK);
    for (int k = 0; k < (how->n_leaves ? how->n_leaves : 1); k++) {
      const int g = how->descending ? how->n_leaves - 1 - k : k;
      int64_t begin = 0, end = BATCH;
      if (how->n_leaves) {
        iso_leaf_range(BATCH, how->n_leaves, g, &begin, &end);
        assert_int_equal(iso_leaf_begin(ctx, g), ISO_OK);
      }
      loss = stack_forward(&s, iso_slice(ctx, x, 0, begin, end, 1));
      expect_ok(ctx);
      o.tape_length = iso_tape_length(ctx);
      if (how->targets) {
        const iso_tensor *of[N_BLOCKS + 1];
        for (int i = 0; i < N_BLOCKS; i++) of[i] = s.w[i];
        of[N_BLOCKS] = s.stem;
        iso_grad_of(1, (const iso_tensor *const[]){loss}, NULL, N_BLOCKS + 1, of, NULL, grads);
      } else {
        if (how->retain) iso_backward_with(loss, NULL, &(iso_backward_options){.retain_graph = true});
        iso_backward_with(loss, NULL, NULL);
      }
      expect_ok(ctx);
      if (how->n_leaves) assert_int_equal(iso_leaf_end(ctx, loss), ISO_OK);
    }
    if (how->n_leaves) assert_int_equal(iso_step_end(ctx, NULL), ISO_OK);
    expect_ok(ctx);
    assert_int_equal((int)iso_tape_length(ctx), 0);
    if (pass == 1) hash_all(&o, &s, how->targets ? grads : NULL, loss);
  }
  o.n_hooks = s.n_hooks;
  iso_scope_pop(ctx);
  iso_context_free(ctx);
  return o;
}

static void expect_same(const outcome *a, const outcome *b) {
  for (int i = 0; i < N_HASHES; i++)
    if (strcmp(a->hash[i], b->hash[i]) != 0) fail_msg("hash %d: %s and %s", i, a->hash[i], b->hash[i]);
  assert_int_equal(a->n_hooks, b->n_hooks);
}

/* The same variant with and without. */
static void compare(variant how) {
  how.checkpoint = how.inner = false;
  const outcome plain = run(&how);
  how.checkpoint = true;
  const outcome blocks = run(&how);
  assert_true(blocks.tape_length < plain.tape_length / 2);
  expect_same(&plain, &blocks);
  how.inner = true;
  const outcome nested = run(&how);
  expect_same(&plain, &nested);
  how.checkpoint = false;
  const outcome halves = run(&how);
  expect_same(&plain, &halves);
}

static void test_same_bits(void **state) {
  (void)state;
  compare((variant){0});
  compare((variant){.n_threads = 2});
}
static void test_leaves(void **state) {
  (void)state;
  compare((variant){.n_leaves = 4});
  const outcome a = run(&(variant){.n_leaves = 4, .checkpoint = true}),
                b = run(&(variant){.n_leaves = 4, .checkpoint = true, .descending = true});
  for (int i = 1; i < N_HASHES; i++) assert_string_equal(a.hash[i], b.hash[i]); /* 0: the last leaf's loss */
}
static void test_policies(void **state) {
  (void)state;
  compare((variant){.policy = true});
}
static void test_twice_and_targets(void **state) {
  (void)state;
  compare((variant){.retain = true});
  compare((variant){.targets = true});
}

/* ---- modules ---- */

static iso_module *network(iso_context *ctx, bool on) {
  iso_module *parts[4], *inner[4];
  parts[0] = iso_conv2d_module(ctx, &(iso_conv2d_config){.in = 2, .out = 8, .kernel = 3, .pad = 1});
  parts[1] = iso_basic_block(ctx, 8, 16, 2);
  inner[0] = iso_conv2d_module(ctx, &(iso_conv2d_config){.in = 16, .out = 16, .kernel = 3, .pad = 1});
  inner[1] = iso_batch_norm_module(ctx, 16, 0, 0);
  inner[2] = iso_relu_module(ctx);
  inner[3] = iso_dropout_module(ctx, 0.3);
  parts[2] = iso_sequential(ctx, 4, inner);
  parts[3] = iso_global_avg_pool_module(ctx);
  if (on) {
    iso_module_set_checkpointing(inner[1], true); /* fused with the relu behind it */
    iso_module_set_checkpointing(parts[2], true);
  }
  iso_module *net = iso_sequential(ctx, 4, parts);
  assert_int_equal(iso_module_checkpoint_blocks(net, on), 1);
  assert_int_equal(iso_module_is_checkpointing(parts[1]), on);
  assert_false(iso_module_is_checkpointing(parts[0]));
  return net;
}

static void hashes_of(iso_context *ctx, bool on, char hashes[][33], size_t *n) {
  iso_module *net = network(ctx, on);
  iso_tensor *x = iso_reshape(ctx, normal(ctx, 3, 6, 2 * 8 * 8), 4, ISO_DIMS(6, 2, 8, 8));
  for (int step = 0; step < 2; step++) {
    assert_int_equal(iso_backward(iso_sum_all(ctx, iso_square(ctx, iso_module_forward(net, x)))), ISO_OK);
    expect_ok(ctx);
  }
  const iso_named_tensor *list = iso_module_tensors(net, n);
  for (size_t i = 0; i < *n; i++) {
    const iso_tensor *t = list[i].trainable ? iso_grad(list[i].tensor) : list[i].tensor;
    assert_non_null(t);
    assert_int_equal(iso_tensor_hash(t, hashes[i]), ISO_OK);
  }
  iso_module_free(net);
}

static void test_modules(void **state) {
  (void)state;
  char a[64][33], b[64][33];
  size_t n;
  for (int on = 0; on < 2; on++) {
    iso_context *ctx = context_new(1);
    iso_scope_push(ctx);
    hashes_of(ctx, on, on ? b : a, &n);
    iso_scope_pop(ctx);
    iso_context_free(ctx);
  }
  for (size_t i = 0; i < n; i++) assert_string_equal(a[i], b[i]);
}

static void test_mode_switched(void **state) {
  (void)state;
  iso_context *ctx = context_new(1);
  iso_scope_push(ctx);
  iso_module *net = network(ctx, true);
  iso_tensor *x = iso_tensor_full(ctx, ISO_F32, 4, ISO_DIMS(2, 2, 8, 8), 1);
  iso_tensor *loss = iso_sum_all(ctx, iso_module_forward(net, x));
  iso_module_train(iso_module_child(net, 1), false);
  assert_int_equal(iso_backward(loss), ISO_STATE);
  expect_error(ctx, ISO_STATE, "switched between training and evaluation");
  iso_module_free(net);
  iso_scope_pop(ctx);
  iso_context_free(ctx);
}

/* ---- memory ---- */

static size_t peak_of(bool checkpoint) {
  iso_context *ctx = context_new(1);
  iso_scope_push(ctx);
  iso_module *parts[16];
  for (int i = 0; i < 16; i++) {
    iso_module *const inner[] = {iso_linear_module(ctx, 64, 64, true), iso_gelu_module(ctx),
                                 iso_dropout_module(ctx, 0.1)};
    parts[i] = iso_sequential(ctx, 3, inner);
    iso_module_set_checkpointing(parts[i], checkpoint);
  }
  iso_module *net = iso_sequential(ctx, 16, parts);
  iso_tensor *x = normal(ctx, 1, 2048, 64);
  iso_memory_reset_peak(ctx);
  const size_t before = iso_memory_get_info(ctx).live_bytes;
  assert_int_equal(iso_backward(iso_sum_all(ctx, iso_module_forward(net, x))), ISO_OK);
  const size_t peak = iso_memory_get_info(ctx).peak_bytes - before;
  iso_module_free(net);
  iso_scope_pop(ctx);
  iso_context_free(ctx);
  return peak;
}

static void test_takes_less(void **state) {
  (void)state;
  const size_t plain = peak_of(false), checkpointed = peak_of(true);
  if (checkpointed * 10 > plain * 6) fail_msg("%zu bytes with, %zu without", checkpointed, plain);
}

/* ---- no gradients, refusals, errors ---- */

static iso_tensor *squared(iso_context *ctx, void *user, iso_tensor *const *inputs) {
  (void)user;
  return iso_square(ctx, inputs[0]);
}
static iso_tensor *itself(iso_context *ctx, void *user, iso_tensor *const *inputs) {
  (void)ctx, (void)user;
  return inputs[0];
}
static iso_tensor *nothing(iso_context *ctx, void *user, iso_tensor *const *inputs) {
  (void)ctx, (void)user, (void)inputs;
  return NULL;
}
/* The second time another: the user's counter. */
static iso_tensor *moody(iso_context *ctx, void *user, iso_tensor *const *inputs) {
  int *const counter = *(int **)user;
  switch ((*counter)++) {
  case 1: return iso_dropout(ctx, inputs[0], 0.5, true);
  case 3: return iso_cat(ctx, 2, (const iso_tensor *const[]){inputs[0], inputs[0]}, 0);
  case 5: return iso_matmul(ctx, inputs[0], iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(7, 7)));
  default: return iso_square(ctx, inputs[0]);
  }
}

static void test_without_gradients(void **state) {
  (void)state;
  iso_context *ctx = context_new(1);
  iso_scope_push(ctx);
  iso_tensor *x = normal(ctx, 1, 3, 3);
  assert_false(iso_wants_grad(iso_checkpoint(ctx, squared, NULL, 0, 1, &x)));
  iso_requires_grad(x, true);
  iso_no_grad_push(ctx);
  assert_false(iso_wants_grad(iso_checkpoint(ctx, squared, NULL, 0, 1, &x)));
  iso_no_grad_pop(ctx);
  assert_int_equal((int)iso_tape_length(ctx), 0);
  /* A block that does nothing has no node. */
  iso_tensor *same = iso_checkpoint(ctx, itself, NULL, 0, 1, &x);
  assert_ptr_not_equal(same, x);
  assert_int_equal((int)iso_tape_length(ctx), 0);
  assert_int_equal(iso_backward(iso_sum_all(ctx, same)), ISO_OK);
  expect_ok(ctx);
  iso_scope_pop(ctx);
  iso_context_free(ctx);
}

static void test_refusals(void **state) {
  (void)state;
  iso_context *ctx = context_new(1);
  iso_scope_push(ctx);
  iso_tensor *x = iso_requires_grad(normal(ctx, 1, 3, 3), true);
  assert_null(iso_checkpoint(ctx, nothing, NULL, 0, 1, &x));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "returned NULL");
  assert_null(iso_checkpoint(ctx, NULL, NULL, 0, 1, &x));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "no block");
  assert_null(iso_checkpoint(ctx, squared, NULL, 0, 17, &x));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "at most 16");
  iso_tensor *loss = iso_sum_all(ctx, iso_checkpoint(ctx, squared, NULL, 0, 1, &x));
  assert_int_equal(iso_backward_with(loss, NULL, &(iso_backward_options){.create_graph = true}), ISO_UNSUPPORTED);
  expect_error(ctx, ISO_UNSUPPORTED, "checkpoint cannot be differentiated again");
  iso_grad_zero(x);
  /* Modified between the two runs. */
  loss = iso_sum_all(ctx, iso_checkpoint(ctx, squared, NULL, 0, 1, &x));
  iso_no_grad_push(ctx);
  assert_int_equal(iso_accumulate(x, x, 1), ISO_OK);
  iso_no_grad_pop(ctx);
  assert_int_equal(iso_backward(loss), ISO_MODIFIED);
  expect_error(ctx, ISO_MODIFIED, "checkpoint saved its input");
  iso_grad_zero(x);
  iso_scope_pop(ctx);
  iso_context_free(ctx);
}

/* An error while it is recomputed is backward's; gradients before stay, and the context goes on. */
static void test_recomputed_otherwise(void **state) {
  (void)state;
  static const struct {
    iso_status code;
    const char *words;
  } expected[] = {{ISO_STATE, "drew 1 random tensors in backward, but 0"},
                  {ISO_STATE, "result is f32 (6,3)"},
                  {ISO_SHAPE_MISMATCH, "matmul"}};
  iso_context *ctx = context_new(1);
  iso_scope_push(ctx);
  iso_tensor *x = iso_requires_grad(normal(ctx, 1, 3, 3), true);
  int counter = 0, *at = &counter;
  for (int i = 0; i < 3; i++) {
    const uint32_t step = iso_random_step(ctx);
    iso_tensor *loss = iso_sum_all(ctx, iso_checkpoint(ctx, moody, &at, sizeof at, 1, &x));
    expect_ok(ctx);
    assert_int_equal(iso_backward(loss), expected[i].code);
    expect_error(ctx, expected[i].code, expected[i].words);
    assert_null(iso_grad(x));
    iso_grad_zero(x);
    assert_true(iso_grad_is_enabled(ctx));
    assert_int_equal((int)iso_tape_length(ctx), 0);
    assert_int_equal((int)iso_random_step(ctx), (int)step);
    assert_int_equal(iso_backward(iso_sum_all(ctx, iso_checkpoint(ctx, squared, NULL, 0, 1, &x))), ISO_OK);
    iso_grad_zero(x);
  }
  iso_scope_pop(ctx);
  iso_context_free(ctx);
}

/* What a block keeps for itself has no history. */
static iso_tensor *kept;
static iso_tensor *keeping(iso_context *ctx, void *user, iso_tensor *const *inputs) {
  (void)user;
  iso_tensor *h = iso_square(ctx, inputs[0]);
  if (!kept) kept = iso_keep(iso_tensor_alias(ctx, h));
  return iso_tanh(ctx, h);
}
static void test_kept_inside(void **state) {
  (void)state;
  iso_context *ctx = context_new(1);
  iso_scope_push(ctx);
  iso_tensor *x = iso_requires_grad(normal(ctx, 1, 3, 3), true);
  iso_tensor *y = iso_checkpoint(ctx, keeping, NULL, 0, 1, &x);
  assert_int_equal(iso_backward(iso_sum_all(ctx, iso_add(ctx, y, kept))), ISO_STALE_HANDLE);
  iso_clear_error(ctx);
  iso_grad_zero(x);
  iso_release(kept), kept = NULL;
  iso_scope_pop(ctx);
  iso_context_free(ctx);
}

/* Every allocation of a pass fails once: an error, no crash, no leak, and the next pass is right. */
static void test_every_allocation_fails(void **state) {
  (void)state;
  const variant how = {.checkpoint = true, .inner = true};
  iso_context *ctx = context_new(1);
  stack s;
  char expected[33], hash[33];
  iso_scope_push(ctx);
  stack_new(&s, ctx, &how);
  iso_tensor *x = normal(ctx, 7, BATCH, WIDTH);
  uint64_t n_failures = 0;
  for (uint64_t n = 0;; n++) { /* 0: none */
    iso_random_set_step(ctx, 5);
    iso_scope_push(ctx);
    iso_memory_fail_at(ctx, n);
    iso_tensor *loss = stack_forward(&s, x);
    if (loss) iso_backward(loss);
    iso_memory_fail_at(ctx, 0);
    iso_scope_pop(ctx);
    const iso_status status = iso_error_code(ctx);
    iso_clear_error(ctx);
    iso_tape_clear(ctx); /* of a forward that failed */
    assert_true(iso_grad_is_enabled(ctx));
    if (status) assert_int_equal(status, ISO_OUT_OF_MEMORY);
    n_failures += status != ISO_OK;
    if (!status) {
      assert_int_equal(iso_tensor_hash(iso_grad(s.shared), n ? hash : expected), ISO_OK);
      if (n) assert_string_equal(hash, expected);
    }
    iso_grad_zero(s.shared);
    for (int i = 0; i < N_BLOCKS; i++) iso_grad_zero(s.w[i]), iso_grad_zero(s.gamma[i]), iso_grad_zero(s.beta[i]);
    if (n && !status) break;
  }
  assert_true(n_failures > 400);
  iso_scope_pop(ctx);
  iso_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_bits),   cmocka_unit_test(test_leaves),
      cmocka_unit_test(test_policies),    cmocka_unit_test(test_twice_and_targets),
      cmocka_unit_test(test_modules),     cmocka_unit_test(test_mode_switched),
      cmocka_unit_test(test_takes_less),  cmocka_unit_test(test_without_gradients),
      cmocka_unit_test(test_refusals),    cmocka_unit_test(test_recomputed_otherwise),
      cmocka_unit_test(test_kept_inside), cmocka_unit_test(test_every_allocation_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
