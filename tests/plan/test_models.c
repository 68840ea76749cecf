/* test_models.c: whole models under the tuner: no stopwatch, however wrong, changes a bit; no step passes the cap on
 * workspace. */
#include "plan/state.h"
#include "plan_test.h"

static uint64_t draw(uint64_t *x) { /* splitmix64 */
  uint64_t z = *x += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
static int64_t below(uint64_t *x, int64_t n) { return (int64_t)(draw(x) % (uint64_t)n); }

/* ---- random small models ---- */

typedef struct builder {
  iso_context *ctx;
  uint64_t seed;
  iso_module *layer[24];
  int n;
  int64_t channels, size; /* what the next layer gets: (N, channels, size, size) */
} builder;

static void add(builder *b, iso_module *layer) { b->layer[b->n++] = layer; }

static void add_activation(builder *b) {
  iso_module *(*const kinds[])(iso_context *) = {iso_relu_module, iso_gelu_module, iso_silu_module, iso_tanh_module,
                                                 iso_sigmoid_module};
  add(b, kinds[below(&b->seed, 5)](b->ctx));
}

static void add_convolution(builder *b) {
  const int64_t kernel = 1 + 2 * below(&b->seed, 3), stride = 1 + below(&b->seed, 2), out = 4 + 4 * below(&b->seed, 8);
  const iso_conv2d_config config = {.in = b->channels,
                                    .out = out,
                                    .kernel = kernel,
                                    .stride = stride,
                                    .pad = kernel / 2,
                                    .groups = b->channels % 4 == 0 && below(&b->seed, 4) == 0 ? 4 : 1,
                                    .no_bias = below(&b->seed, 2)};
  add(b, iso_conv2d_module(b->ctx, &config));
  b->channels = out;
  b->size = (b->size - 1) / stride + 1;
  if (below(&b->seed, 2)) add(b, iso_batch_norm_module(b->ctx, out, 0, 0));
  add_activation(b);
}

static void add_pool(builder *b) {
  add(b, below(&b->seed, 2) ? iso_max_pool2d_module(b->ctx, 2, 2, 0) : iso_avg_pool2d_module(b->ctx, 2, 2, 0));
  b->size /= 2;
}

static iso_module *random_model(iso_context *ctx, uint64_t seed, int64_t classes) {
  builder b = {.ctx = ctx, .seed = seed, .channels = 3, .size = 16};
  for (int64_t i = 1 + below(&b.seed, 3); i > 0; i--) {
    add_convolution(&b);
    if (b.size >= 4 && below(&b.seed, 2)) add_pool(&b);
    if (below(&b.seed, 3) == 0) {
      const int64_t out = b.channels + 8 * below(&b.seed, 2);
      add(&b, iso_basic_block(ctx, b.channels, out, 1));
      b.channels = out;
    }
  }
  int64_t n = b.channels;
  if (below(&b.seed, 2)) add(&b, iso_global_avg_pool_module(ctx));
  else add(&b, iso_flatten_module(ctx)), n *= b.size * b.size;
  if (below(&b.seed, 2)) {
    add(&b, iso_linear_module(ctx, n, 40, true));
    add_activation(&b);
    add(&b, iso_dropout_module(ctx, 0.25));
    n = 40;
  }
  add(&b, iso_linear_module(ctx, n, classes, true));
  return iso_sequential(ctx, b.n, b.layer);
}

/* Three steps on random data; the hash of all tensors, chained. */
static void train_random(iso_context *ctx, uint64_t seed, char hash[33]) {
  enum { BATCH = 8, CLASSES = 10 };
  iso_module *net = random_model(ctx, seed, CLASSES);
  size_t n;
  const iso_named_tensor *tensors = iso_module_tensors(net, &n);
  iso_optimizer *optimizer = seed % 2 ? iso_sgd_new(ctx, n, tensors, &(iso_sgd_options){.lr = 0.05, .momentum = 0.9})
                                      : iso_adam_new(ctx, n, tensors, &(iso_adam_options){.lr = 0.01});
  int64_t labels[BATCH];
  for (int i = 0; i < BATCH; i++) labels[i] = (int64_t)(seed + 3 * (uint64_t)i) % CLASSES;
  for (int step = 0; step < 3; step++) {
    iso_scope_push(ctx);
    iso_tensor *x = iso_random_normal(ctx, ISO_F32, 4, ISO_DIMS(BATCH, 3, 16, 16), 0, 1);
    iso_tensor *target = iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(BATCH), labels);
    iso_backward(iso_cross_entropy(ctx, iso_module_forward(net, x), target, NULL));
    iso_optimizer_step(optimizer);
    iso_optimizer_zero_grad(optimizer);
    iso_scope_pop(ctx);
  }
  if (iso_error_code(ctx)) fail_msg("model %d: %s", (int)seed, iso_error_message(ctx));
  char all[2][33] = {"", ""};
  for (size_t i = 0; i < n; i++) {
    char text[66];
    assert_int_equal(iso_tensor_hash(tensors[i].tensor, all[1]), ISO_OK);
    snprintf(text, sizeof text, "%s%s", all[0], all[1]);
    iso__hash_format(iso__hash_bytes(text, strlen(text)), all[0]);
  }
  memcpy(hash, all[0], 33);
  iso_optimizer_free(optimizer);
  iso_module_free(net);
}

/* Random small models under the level, with times distorted at random and the smallest problems timed too, against the
 * rule's choice. */
static void test_no_stopwatch_changes_a_bit(void **state) {
  (void)state;
  static const iso_repro levels[] = {ISO_REPRO_RUN, ISO_REPRO_INVARIANT, ISO_REPRO_PORTABLE};
  const uint64_t n_models = is_long() ? 50 : 8;
  uint64_t n_timed = 0, n_other = 0;
  for (uint64_t seed = 1; seed <= n_models; seed++) {
    char hash[33], expected[33];
    const int threads = 1 + (int)(seed % 2);
    iso_context *ctx = plan_context("reproducible", threads, "none", NULL);
    iso_policy policy = *iso_policy_current(ctx);
    policy.repro = levels[seed % 3];
    iso_policy_push(ctx, &policy);
    train_random(ctx, seed, expected);
    iso_context *distorted = plan_context("default", threads, "none", NULL);
    iso__tuner_set_adversary(distorted, seed);
    policy.tuning = ISO_TUNING_MEASURE;
    iso_policy_push(distorted, &policy);
    train_random(distorted, seed, hash);
    if (strcmp(hash, expected) != 0) fail_msg("model %d: %s, without distortion %s", (int)seed, hash, expected);
    n_timed += iso_tuner_get_stats(distorted).n_timed;
    for (size_t i = 0; i < iso_plan_n_used(distorted); i++) {
      iso_plan_use a, b;
      iso_plan_used(distorted, i, &a);
      for (size_t j = 0; iso_plan_used(ctx, j, &b); j++)
        if (!strcmp(a.problem, b.problem)) n_other += strcmp(a.engine, b.engine) != 0;
    }
    iso_context_free(distorted);
    iso_context_free(ctx);
  }
  printf("%d models, %d problems timed, %d plans other than the rule's\n", (int)n_models, (int)n_timed, (int)n_other);
  assert_true(n_timed > 0 && n_other > 0); /* or nothing was tried */
}

/* ---- the cap ---- */

/* Counts what it gives. The heap keeps freed blocks for reuse, so this is never less than what the heap says is in use:
 * asserted, or the heap's figures would prove nothing. (Sanitized builds keep nothing and don't round blocks up.) */
typedef struct counting {
  size_t live;
} counting;
static void *counting_alloc(void *user, size_t n_bytes, size_t alignment) {
  counting *c = user;
  void *block = NULL;
  if (posix_memalign(&block, alignment < sizeof(void *) ? sizeof(void *) : alignment, n_bytes)) return NULL;
  __atomic_add_fetch(&c->live, n_bytes, __ATOMIC_RELAXED);
  return block;
}
static void counting_free(void *user, void *block, size_t n_bytes) {
  counting *c = user;
  if (block) __atomic_sub_fetch(&c->live, n_bytes, __ATOMIC_RELAXED);
  free(block);
}

static iso_context *capped_context(counting *c, size_t cap, iso_tuning tuning) {
  const iso_allocator source = {.alloc = counting_alloc, .free = counting_free, .user = c};
  iso_policy policy;
  iso_context *ctx;
  iso_policy_preset("default", &policy);
  policy.workspace_limit = cap;
  policy.tuning = tuning;
  policy.problem_budget_ms = 2;
  assert_int_equal(
      iso_context_new(&(iso_context_options){.allocator = &source, .policy = &policy, .n_threads = 2}, &ctx), ISO_OK);
  iso_store_open(ctx, "none", "none");
  iso__tuner_set_load(ctx, ISO__LOAD_NONE);
  return ctx;
}

/* The peak of live memory of a step (numbered from 0) of a model. */
static size_t peak_of_step(iso_context *ctx, const counting *c, int step) {
  iso_trainer *t = iso_trainer_new(
      ctx, &(iso_vision_options){.model = "cnn", .data_folder = "synthetic", .batch_size = 2, .n_steps = 2});
  if (!t) fail_msg("%s", iso_error_message(ctx));
  size_t peak = 0;
  for (int i = 0; i <= step; i++) {
    iso_memory_reset_peak(ctx);
    if (iso_trainer_step(t, NULL)) fail_msg("%s", iso_error_message(ctx));
    peak = iso_memory_get_info(ctx).peak_bytes;
    if (!is_sanitized()) assert_true(iso_memory_get_info(ctx).live_bytes <= c->live);
  }
  iso_trainer_free(t);
  return peak;
}

/* References need workspace for in-place updates only, at the end of a step, when its activations are gone: their peak
 * is what the step needs by itself. Under any cap the step's peak is at most the cap above that, measuring included,
 * and no plan asks for more than the cap. */
static void test_no_step_passes_the_cap(void **state) {
  (void)state;
  static const size_t caps[] = {2 << 20, 4 << 20, 8 << 20, SIZE_MAX};
  size_t largest_used = 0;
  counting c = {0};
  iso_context *bare = capped_context(&c, SIZE_MAX, ISO_TUNING_RULE);
  iso_policy references = *iso_policy_current(bare);
  references.references_only = true;
  assert_int_equal(iso_policy_push(bare, &references), ISO_OK);
  iso_plan_use use;
  const size_t without = peak_of_step(bare, &c, 0);
  iso_context_free(bare);
  assert_int_equal(c.live, 0);
  for (int i = 0; i < 4; i++) {
    const size_t cap = caps[i];
    size_t used = 0;
    counting counted = {0};
    iso_context *ctx = capped_context(&counted, cap, ISO_TUNING_MEASURE);
    const size_t peak = peak_of_step(ctx, &counted, 0);
    for (size_t j = 0; iso_plan_used(ctx, j, &use); j++) used = use.workspace_bytes > used ? use.workspace_bytes : used;
    assert_true(used <= cap && iso__plan_state_of(ctx)->workspace_bytes <= cap);
    /* The heap rounds a block up to its class, by an eighth at most. */
    if (cap < SIZE_MAX && peak > without + cap + cap / 8 + 256)
      fail_msg("cap %zu: the step's peak is %zu, without workspace %zu", cap, peak, without);
    printf("cap %zu: largest workspace %zu, peak %zu (%zu without any)\n", cap, used, peak, without);
    largest_used = used > largest_used ? used : largest_used;
    iso_context_free(ctx);
    assert_int_equal(counted.live, 0);
  }
  assert_true(largest_used > 64 << 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_stopwatch_changes_a_bit),
                                     cmocka_unit_test(test_no_step_passes_the_cap)};
  return cmocka_run_group_tests_name("models", tests, NULL, NULL);
}
