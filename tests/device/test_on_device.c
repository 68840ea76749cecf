/* test_on_device.c: operators that look at indices, on cuda:0: the CPU's bits, and the CPU's words for a bad index at
 * the next call that waits. Skipped where no CUDA device can be used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/isobit.h>

/* Without a device: NULL, and why. */
static iso_context *open_on(const char *device, char *why, size_t n_bytes) {
  iso_policy policy;
  iso_context *ctx = NULL;
  assert_int_equal(iso_policy_preset("portable", &policy), ISO_OK);
  policy.tuning = ISO_TUNING_RULE;
  iso_context_new_message(&(iso_context_options){.n_threads = 2, .policy = &policy, .device = device}, &ctx, why,
                          n_bytes);
  return ctx;
}
typedef struct pair {
  iso_context *cpu, *device;
} pair;
static int set_up(void **state) {
  static pair p;
  char why[320];
  p.device = open_on("cuda:0", why, sizeof why);
  if (!p.device) print_message("no CUDA device can be used: %s\n", why);
  p.cpu = open_on("cpu", why, sizeof why);
  *state = &p;
  return 0;
}
static int tear_down(void **state) {
  pair *p = *state;
  iso_context_free(p->device), iso_context_free(p->cpu);
  return 0;
}
#define NEEDS_DEVICE(state)                                                                                            \
  const pair *p = *(state);                                                                                            \
  if (!p->device) skip()

/* ---- the same bits ---- */

enum { ROWS = 300, WIDTH = 70, BAGS = 40, LENGTH = 33 };
static iso_tensor *normal(iso_context *ctx, int n_dims, const int64_t *shape, uint32_t site) {
  iso_tensor *t = iso_tensor_new(ctx, ISO_F32, n_dims, shape);
  iso_fill_normal(t, &(iso_philox){.seed = 5, .stream = ISO_PHILOX_USER, .site = site}, 0, 1);
  return t;
}
/* In [0, below), a third of them 0. */
static iso_tensor *numbers(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, int64_t below) {
  int64_t v[BAGS * LENGTH * 4], n = 1;
  for (int d = 0; d < n_dims; d++) n *= shape[d];
  assert_in_range(n, 1, sizeof v / sizeof *v);
  const iso_philox at = {.seed = 5, .stream = ISO_PHILOX_USER, .site = 99};
  for (int64_t i = 0; i < n; i++) v[i] = i % 3 ? iso_philox_word(&at, (uint64_t)i) % below : 0;
  iso_tensor *t = iso_tensor_copy_from(ctx, ISO_I64, n_dims, shape, v);
  return dtype == ISO_I64 ? t : iso_cast(ctx, t, dtype);
}

typedef iso_tensor *function(iso_context *ctx, iso_tensor *table);
static iso_tensor *ids(iso_context *ctx) { return numbers(ctx, ISO_I64, 2, ISO_DIMS(BAGS, LENGTH), ROWS); }
static iso_tensor *embedding(iso_context *ctx, iso_tensor *t) { return iso_embedding(ctx, ids(ctx), t, NULL); }
static iso_tensor *padded(iso_context *ctx, iso_tensor *t) {
  return iso_embedding(ctx, ids(ctx), t, &(iso_embedding_options){.has_padding = true});
}
static iso_tensor *mean(iso_context *ctx, iso_tensor *t) {
  return iso_embedding_bag(ctx, ids(ctx), t, &(iso_embedding_bag_options){.has_padding = true});
}
static iso_tensor *plain_mean(iso_context *ctx, iso_tensor *t) {
  return iso_embedding_bag(ctx, numbers(ctx, ISO_I32, 2, ISO_DIMS(BAGS, LENGTH), ROWS), t, NULL);
}
static iso_tensor *weighted(iso_context *ctx, iso_tensor *t) {
  return iso_embedding_bag(ctx, ids(ctx), t,
                           &(iso_embedding_bag_options){
                               .mode = ISO_BAG_SUM, .per_sample_weights = normal(ctx, 2, ISO_DIMS(BAGS, LENGTH), 7)});
}
static iso_tensor *no_tokens(iso_context *ctx, iso_tensor *t) {
  return iso_embedding_bag(ctx, iso_tensor_new(ctx, ISO_I64, 2, ISO_DIMS(3, 0)), t, NULL);
}
static iso_tensor *select_columns(iso_context *ctx, iso_tensor *t) {
  return iso_index_select(ctx, t, 1, numbers(ctx, ISO_I64, 1, ISO_DIMS(200), WIDTH));
}
static iso_tensor *gather(iso_context *ctx, iso_tensor *t) {
  return iso_gather(ctx, t, 0, numbers(ctx, ISO_I64, 2, ISO_DIMS(50, WIDTH), ROWS));
}
static iso_tensor *along(iso_context *ctx, iso_tensor *t) {
  return iso_take_along_dim(ctx, t, iso_neg(ctx, numbers(ctx, ISO_I32, 2, ISO_DIMS(ROWS, 3), WIDTH)), 1);
}
static iso_tensor *take(iso_context *ctx, iso_tensor *t) {
  return iso_take(ctx, t, iso_neg(ctx, numbers(ctx, ISO_I64, 2, ISO_DIMS(9, 90), ROWS * WIDTH)));
}
static iso_tensor *index_add(iso_context *ctx, iso_tensor *t) {
  return iso_index_add(ctx, t, 0, numbers(ctx, ISO_I64, 1, ISO_DIMS(500), ROWS),
                       normal(ctx, 2, ISO_DIMS(500, WIDTH), 3), 0.5);
}
static iso_tensor *scatter_add(iso_context *ctx, iso_tensor *t) {
  return iso_scatter_add(ctx, t, 0, numbers(ctx, ISO_I64, 2, ISO_DIMS(60, WIDTH), ROWS),
                         normal(ctx, 2, ISO_DIMS(60, WIDTH), 4));
}
/* Many single elements: of each `among`, one goes to the same place, the others anywhere. */
static iso_tensor *scatter_many(iso_context *ctx, iso_tensor *t, int64_t among) {
  enum { N = 300000 };
  static int64_t v[N];
  const iso_philox at = {.seed = 5, .stream = ISO_PHILOX_USER, .site = 98};
  for (int64_t i = 0; i < N; i++)
    v[i] = among && i % among == 0 ? 77 : iso_philox_word(&at, (uint64_t)i) % (ROWS * WIDTH);
  return iso_scatter_add(ctx, iso_reshape(ctx, t, 1, ISO_DIMS(ROWS * WIDTH)), 0,
                         iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(N), v), normal(ctx, 1, ISO_DIMS(N), 6));
}
static iso_tensor *scatter_evenly(iso_context *ctx, iso_tensor *t) { return scatter_many(ctx, t, 0); }
static iso_tensor *scatter_half(iso_context *ctx, iso_tensor *t) { return scatter_many(ctx, t, 2); }
static iso_tensor *scatter_a_few(iso_context *ctx, iso_tensor *t) { return scatter_many(ctx, t, 40); }
static iso_tensor *scatter_all(iso_context *ctx, iso_tensor *t) { return scatter_many(ctx, t, 1); }
static iso_tensor *as_scattered(iso_context *ctx, iso_tensor *t) {
  return iso_index_add(ctx, normal(ctx, 2, ISO_DIMS(9, WIDTH), 3), 0, numbers(ctx, ISO_I64, 1, ISO_DIMS(ROWS), 9), t,
                       1);
}

/* f's result and the gradient of its squares' sum, as hashes. */
static void result_of(iso_context *ctx, function *f, char y_hash[33], char g_hash[33]) {
  iso_scope_push(ctx);
  iso_tensor *table = iso_requires_grad(normal(ctx, 2, ISO_DIMS(ROWS, WIDTH), 1), true), *y = f(ctx, table);
  iso_backward(iso_sum_all(ctx, iso_square(ctx, y)));
  iso_tensor_hash(y, y_hash), iso_tensor_hash(iso_grad(table), g_hash);
  if (iso_error_code(ctx)) fail_msg("%s: %s", iso_context_device(ctx), iso_error_message(ctx));
  iso_scope_pop(ctx);
}
static void test_bits(void **state) {
  NEEDS_DEVICE(state);
  static const struct {
    const char *name;
    function *f;
  } list[] = {{"embedding", embedding},
              {"padded embedding", padded},
              {"mean", mean},
              {"plain mean", plain_mean},
              {"weighted sum", weighted},
              {"no tokens", no_tokens},
              {"index_select", select_columns},
              {"gather", gather},
              {"take_along_dim", along},
              {"take", take},
              {"index_add", index_add},
              {"scatter_add", scatter_add},
              {"scatter_add evenly", scatter_evenly},
              {"scatter_add, half into one", scatter_half},
              {"scatter_add, a few into one", scatter_a_few},
              {"scatter_add, all into one", scatter_all},
              {"as source", as_scattered}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    char y[2][33], g[2][33];
    result_of(p->cpu, list[i].f, y[0], g[0]);
    result_of(p->device, list[i].f, y[1], g[1]);
    if (strcmp(y[0], y[1]) != 0) print_error("%s: another result than the CPU's\n", list[i].name);
    if (strcmp(g[0], g[1]) != 0) print_error("%s: another gradient than the CPU's\n", list[i].name);
    assert_string_equal(y[0], y[1]), assert_string_equal(g[0], g[1]);
  }
}

/* ---- bad indices ---- */

static iso_tensor *list_of(iso_context *ctx, const int64_t *v, int64_t n) {
  return iso_tensor_copy_from(ctx, ISO_I64, 1, &n, v);
}
/* Many, of which two are bad. */
static iso_tensor *one_of_many(iso_context *ctx, int64_t first, int64_t second) {
  enum { N = 100000 };
  static int64_t v[N];
  memset(v, 0, sizeof v);
  v[first] = 7, v[second] = -3;
  return list_of(ctx, v, N);
}
static iso_tensor *bad_select(iso_context *ctx) {
  return iso_index_select(ctx, normal(ctx, 2, ISO_DIMS(5, 4), 1), 0, one_of_many(ctx, 99999, 70012));
}
static iso_tensor *bad_embedding(iso_context *ctx) {
  const int64_t v[] = {0, 1, 2, 3, 9, -1};
  iso_tensor *index = iso_reshape(ctx, list_of(ctx, v, 6), 2, ISO_DIMS(2, 3));
  return iso_embedding(ctx, index, normal(ctx, 2, ISO_DIMS(5, 4), 1), NULL);
}
static iso_tensor *bad_take(iso_context *ctx) {
  return iso_take(ctx, normal(ctx, 2, ISO_DIMS(5, 4), 1), list_of(ctx, (const int64_t[]){-20, 19, -21}, 3));
}
static iso_tensor *bad_i32(iso_context *ctx) {
  return iso_index_select(ctx, normal(ctx, 2, ISO_DIMS(5, 4), 1), 1,
                          iso_cast(ctx, list_of(ctx, (const int64_t[]){3, -2}, 2), ISO_I32));
}
static iso_tensor *bad_scatter(iso_context *ctx) {
  return iso_index_add(ctx, normal(ctx, 2, ISO_DIMS(5, 4), 1), 0, list_of(ctx, (const int64_t[]){3, 5}, 2),
                       normal(ctx, 2, ISO_DIMS(2, 4), 1), 1);
}
static iso_tensor *bad_target(iso_context *ctx) {
  return iso_cross_entropy(ctx, normal(ctx, 2, ISO_DIMS(3, 4), 1), list_of(ctx, (const int64_t[]){3, 1, 4}, 3), NULL);
}
static iso_tensor *two_bad(iso_context *ctx) {
  iso_tensor *y = bad_embedding(ctx);
  return iso_add(ctx, iso_sum_all(ctx, bad_take(ctx)), iso_sum_all(ctx, y));
}
static iso_tensor *into_nothing(iso_context *ctx) {
  return iso_embedding(ctx, list_of(ctx, (const int64_t[]){3}, 1), iso_tensor_new(ctx, ISO_F32, 2, ISO_DIMS(0, 4)),
                       NULL);
}

/* Up to the place in the sources, which differs. */
static void copy_words(const iso_context *ctx, char words[256]) {
  snprintf(words, 256, "%s", iso_error_message(ctx));
  char *end = strrchr(words, ',');
  if (end) *end = 0;
}
static void test_bad_indices(void **state) {
  NEEDS_DEVICE(state);
  static const struct {
    iso_tensor *(*f)(iso_context *ctx);
    const char *words;
    bool at_once; /* what the host knows by itself */
  } list[] = {{bad_select, "index_select: index[70012] is -3: 0 to 4 are in range", false},
              {bad_embedding, "embedding: index[1,1] is 9: 0 to 4 are in range", false},
              {bad_take, "take: index[2] is -21: -20 to 19 are in range", false},
              {bad_i32, "index_select: index[1] is -2: 0 to 3 are in range", false},
              {bad_scatter, "index_add: index[1] is 5: 0 to 4 are in range", false},
              {bad_target, "cross_entropy: target[2] is 4: classes run from 0 to 3", false},
              {two_bad, "embedding: index[1,1] is 9: 0 to 4 are in range", false},
              {into_nothing, "embedding: index[0] is 3, but there is nothing to point at", true}};
  for (int round = 0; round < 2; round++)
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
      char here[256], there[256];
      iso_scope_push(p->cpu), iso_scope_push(p->device);
      assert_null(list[i].f(p->cpu));
      copy_words(p->cpu, here);
      iso_clear_error(p->cpu);
      iso_tensor *y = list[i].f(p->device);
      if (!list[i].at_once) {
        assert_non_null(y);
        assert_int_equal(iso_error_code(p->device), ISO_OK); /* nobody has waited */
        double value;
        assert_int_equal(round ? iso_synchronize(p->device) : iso_tensor_item(iso_sum_all(p->device, y), &value),
                         ISO_INVALID_ARGUMENT);
      }
      copy_words(p->device, there);
      iso_clear_error(p->device);
      assert_string_equal(there, here);
      assert_memory_equal(there, list[i].words, strlen(list[i].words));
      assert_int_equal(iso_synchronize(p->device), ISO_OK); /* told once */
      iso_scope_pop(p->cpu), iso_scope_pop(p->device);
    }
}

/* Another context on the device is told nothing. */
static void test_whose_error(void **state) {
  NEEDS_DEVICE(state);
  iso_context *child;
  assert_int_equal(iso_context_new_child(p->device, 1, &child), ISO_OK);
  iso_scope_push(p->device);
  assert_non_null(bad_select(p->device));
  assert_int_equal(iso_synchronize(child), ISO_OK);
  assert_int_equal(iso_synchronize(p->device), ISO_INVALID_ARGUMENT);
  iso_clear_error(p->device);
  iso_scope_pop(p->device);
  assert_non_null(bad_select(child)); /* freed with an error that nobody asked for */
  iso_context_free(child);
  assert_int_equal(iso_synchronize(p->device), ISO_OK);
}

/* What only the host can do is refused by name. */
static void test_refusals(void **state) {
  NEEDS_DEVICE(state);
  iso_context *ctx = p->device;
  iso_scope_push(ctx);
  iso_tensor *table = normal(ctx, 2, ISO_DIMS(ROWS, WIDTH), 1);
  assert_null(iso_embedding_bag(ctx, ids(ctx), table, &(iso_embedding_bag_options){.mode = ISO_BAG_MAX}));
  assert_int_equal(iso_error_code(ctx), ISO_UNSUPPORTED), iso_clear_error(ctx);
  assert_null(iso_scatter_add(ctx, table, 0, numbers(ctx, ISO_I64, 2, ISO_DIMS(3, 4), ROWS),
                              normal(ctx, 2, ISO_DIMS(3, 4), 1)));
  assert_int_equal(iso_error_code(ctx), ISO_UNSUPPORTED), iso_clear_error(ctx);
  iso_scope_pop(ctx);
}

/* What does not fit says what was asked for and who holds what. */
static void test_no_more_memory(void **state) {
  NEEDS_DEVICE(state);
  iso_context *ctx = p->device;
  iso_scope_push(ctx);
  iso_module *net = iso_text_classifier_new(ctx, &(iso_text_classifier_config){.vocabulary = 100000});
  size_t n;
  const iso_named_tensor *list = iso_module_tensors(net, &n);
  const size_t table_bytes = 100000 * 128 * sizeof(float);
  iso_optimizer *sgd = iso_sgd_new(ctx, n, list, &(iso_sgd_options){.momentum = 0.9});
  iso_tensor *y = iso_module_forward(net, numbers(ctx, ISO_I64, 2, ISO_DIMS(BAGS, LENGTH), 100000));
  assert_int_equal(iso_backward(iso_sum_all(ctx, y)), ISO_OK);
  iso_device_memory m = iso_device_get_memory(ctx);
  assert_in_range(m.now.weights, table_bytes, table_bytes + (4 << 20));
  assert_in_range(m.now.gradients, table_bytes, table_bytes + (4 << 20));
  assert_in_range(m.now.optimizer, table_bytes, table_bytes + (4 << 20));
  const iso_memory_owners *o = &m.now;
  assert_int_equal(o->weights + o->gradients + o->optimizer + o->activations + o->workspace + o->captures, m.live);
  assert_null(iso_tensor_new(ctx, ISO_F32, 2, ISO_DIMS(1 << 20, 1 << 20)));
  assert_int_equal(iso_error_code(ctx), ISO_OUT_OF_MEMORY);
  print_message("%s\n", iso_error_message(ctx));
  static const char *const words[] = {
      "cuda:0 has no 4.0 TiB more", "weights 4", "gradients 4", "optimizer 4", "activations ", "workspace ", "cache ",
      "largest free block"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) assert_non_null(strstr(iso_error_message(ctx), words[i]));
  iso_clear_error(ctx);
  iso_optimizer_free(sgd);
  iso_module_free(net);
  iso_scope_pop(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits), cmocka_unit_test(test_bad_indices),
                                     cmocka_unit_test(test_whose_error), cmocka_unit_test(test_refusals),
                                     cmocka_unit_test(test_no_more_memory)};
  return cmocka_run_group_tests_name("on a device", tests, set_up, tear_down);
}
