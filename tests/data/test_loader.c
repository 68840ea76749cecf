/* test_loader.c: a batch's bits depend on (seed, epoch, sample) alone: not on workers, prefetch, seeks, batch size, or
 * the caller's floating-point mode. */
#include <isobit/data.h>
#include "base/hash.h"
#include "data/loader.h"
#include "io/io_test.h"
#include "support/foreign_device.h"
#if defined(__x86_64__)
#  include <xmmintrin.h>
#endif

static const double mean[3] = {0.2860, 0.4, 0.5}, deviation[3] = {0.3530, 0.25, 0.2};
static const iso_loader_options full = {.batch_size = 7,
                                        .shuffle = true,
                                        .crop_padding = 2,
                                        .flip = true,
                                        .seed = UINT64_C(0x123456789abcdef0),
                                        .mean = mean,
                                        .std = deviation};

static iso_dataset *make_set(iso_context *ctx, int64_t n, int channels) {
  iso_dataset *set = iso_dataset_synthetic(
      ctx, &(iso_synthetic_options){
               .n_samples = n, .channels = channels, .height = 9, .width = 8, .n_classes = 5, .seed = 3});
  expect_ok(ctx);
  return set;
}

/* A batch's tensors are dense; they may lie on a device. */
static void add_bytes(iso__hasher *hasher, const iso_tensor *t, size_t item_bytes) {
  const iso__storage *s = t->view.storage;
  const size_t n_bytes = (size_t)iso_tensor_numel(t) * item_bytes;
  void *bytes = malloc(n_bytes + 1);
  assert_non_null(bytes);
  assert_int_equal(s->device->copy(s->device, bytes, s->data, n_bytes), ISO_OK);
  iso__hasher_add(hasher, bytes, n_bytes);
  free(bytes);
}

/* The hash of `n` batches from where the loader stands, their places included. */
static iso__hash hash_batches(iso_context *ctx, iso_loader *loader, int n) {
  iso__hasher *hasher = iso__hasher_new();
  for (int i = 0; i < n; i++) {
    iso_batch batch;
    iso_scope_push(ctx);
    if (!iso_loader_next(loader, &batch)) fail_msg("batch %d: %s", i, iso_error_message(ctx));
    const int64_t place[3] = {batch.epoch, batch.index, iso_tensor_numel(batch.y)};
    iso__hasher_add(hasher, place, sizeof place);
    add_bytes(hasher, batch.x, 4);
    add_bytes(hasher, batch.y, 8);
    iso_scope_pop(ctx);
  }
  return iso__hasher_end(hasher);
}

static iso__hash hash_run(iso_context *ctx, iso_dataset *set, iso_loader_options options, int n) {
  iso_loader *loader = iso_loader_new(ctx, set, &options);
  expect_ok(ctx);
  const iso__hash hash = hash_batches(ctx, loader, n);
  iso_loader_free(loader);
  return hash;
}

static void expect_hash(iso__hash a, iso__hash b) { assert_true(a.low == b.low && a.high == b.high); }

static void test_workers(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  iso_dataset *set = make_set(ctx, 60, 3);
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  const iso__hash alone = hash_run(ctx, set, full, 25);
  static const int workers[] = {1, 2, 4, 4}, prefetch[] = {0, 1, 0, 17};
  for (int i = 0; i < 4; i++) {
    iso_loader_options options = full;
    options.n_workers = workers[i], options.n_prefetch = prefetch[i];
    expect_hash(hash_run(ctx, set, options, 25), alone);
  }
  iso_loader_options other = full;
  other.seed ^= UINT64_C(1) << 40;
  const iso__hash different = hash_run(ctx, set, other, 25);
  assert_false(different.low == alone.low && different.high == alone.high);
  assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);
  iso_dataset_free(set);
  iso__context_free(ctx);
}

/* Flush-to-zero, denormals-are-zero and upward rounding while loaders are made and asked; the mode survives. */
static void test_poisoned_mode(void **state) {
  (void)state;
#if defined(__x86_64__)
  iso_context *ctx = new_context();
  iso_dataset *set = make_set(ctx, 60, 3);
  iso_loader_options options = full;
  const iso__hash clean = hash_run(ctx, set, options, 20);
  const unsigned saved = _mm_getcsr(), poisoned = 0x1f80 | 0x8040 | 0x4000;
  for (int workers = 0; workers <= 4; workers += 2) {
    options.n_workers = workers;
    _mm_setcsr(poisoned);
    const iso__hash hash = hash_run(ctx, set, options, 20);
    const unsigned left = _mm_getcsr();
    _mm_setcsr(saved);
    assert_int_equal(left & ~0x3fu, poisoned);
    expect_hash(hash, clean);
  }
  iso_dataset_free(set);
  iso__context_free(ctx);
#else
  print_message("[  SKIPPED ] the floating-point mode is poisoned on x86-64 only\n");
  skip();
#endif
}

static void test_seek(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  iso_dataset *set = make_set(ctx, 60, 1);
  for (int workers = 0; workers <= 4; workers += 4) {
    iso_loader_options options = full;
    options.n_workers = workers;
    iso_loader *through = iso_loader_new(ctx, set, &options), *resumed = iso_loader_new(ctx, set, &options);
    assert_int_equal(iso_loader_n_batches(through), 9);
    for (int stop = 0; stop < 20; stop++) {
      uint32_t epoch;
      int64_t batch;
      iso_loader_position(through, &epoch, &batch);
      assert_int_equal(epoch, stop / 9);
      assert_int_equal(batch, stop % 9);
      assert_int_equal(iso_loader_seek(resumed, epoch, batch), ISO_OK);
      const iso__hash here = hash_batches(ctx, through, 1);
      expect_hash(hash_batches(ctx, resumed, 1), here);
    }
    hash_batches(ctx, resumed, 5);
    iso_loader_seek(resumed, 7, 9);
    expect_error(ctx, ISO_INVALID_ARGUMENT, "loader: batch 9 is sought, an epoch has 0 to 8");
    iso_loader_free(through);
    iso_loader_free(resumed);
  }
  iso_dataset_free(set);
  iso__context_free(ctx);
}

/* Each epoch gives every sample once, in another order; drop_last drops what is left over. */
static void test_epochs(void **state) {
  (void)state;
  enum { N = 50 };
  iso_context *ctx = new_context();
  uint8_t pixels[N];
  int64_t labels[N];
  for (int i = 0; i < N; i++) pixels[i] = (uint8_t)i, labels[i] = i;
  iso_dataset *set = iso_dataset_from_tensors(ctx, iso_tensor_copy_from(ctx, ISO_U8, 3, ISO_DIMS(N, 1, 1), pixels),
                                              iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(N), labels), 0);
  int64_t orders[2][N];
  for (int drop = 0; drop < 2; drop++) {
    iso_loader *loader = iso_loader_new(
        ctx, set,
        &(iso_loader_options){.batch_size = 8, .shuffle = true, .drop_last = drop, .n_epochs = 2, .n_workers = 2});
    expect_ok(ctx);
    assert_int_equal(iso_loader_n_batches(loader), drop ? 6 : 7);
    for (int epoch = 0; epoch < 2; epoch++) {
      int n = 0, seen[N] = {0};
      for (int64_t i = 0; i < iso_loader_n_batches(loader); i++) {
        iso_batch batch;
        assert_true(iso_loader_next(loader, &batch));
        const int64_t n_batch = iso_tensor_numel(batch.y);
        assert_int_equal(n_batch, i == 6 ? 2 : 8);
        assert_int_equal(batch.n_total, n_batch);
        for (int64_t s = 0; s < n_batch; s++) {
          const int64_t label = ((int64_t *)iso_tensor_data(batch.y))[s];
          assert_true(((float *)iso_tensor_data(batch.x))[s] == (float)((double)label / 255.0));
          if (!drop) orders[epoch][n] = label;
          seen[label]++;
          n++;
        }
      }
      assert_int_equal(n, drop ? 48 : 50);
      for (int i = 0; i < N; i++) assert_true(drop ? seen[i] <= 1 : seen[i] == 1);
    }
    iso_batch batch;
    assert_false(iso_loader_next(loader, &batch));
    expect_ok(ctx);
    assert_null(batch.x);
    assert_int_equal(iso_loader_seek(loader, 1, 0), ISO_OK); /* and on again */
    assert_true(iso_loader_next(loader, &batch));
    iso_loader_free(loader);
  }
  assert_memory_not_equal(orders[0], orders[1], sizeof orders[0]);
  /* the order is the stable sort of the draws */
  const iso_philox at = {.stream = ISO_PHILOX_LOADER, .site = ISO__PURPOSE_ORDER, .leaf = 1};
  for (int i = 1; i < N; i++) {
    uint64_t before, after;
    iso_philox_draws(&at, (uint64_t)orders[1][i - 1], (uint64_t)orders[1][i - 1] + 1, &before);
    iso_philox_draws(&at, (uint64_t)orders[1][i], (uint64_t)orders[1][i] + 1, &after);
    assert_true(before < after || (before == after && orders[1][i - 1] < orders[1][i]));
  }
  iso_dataset_free(set);
  iso__context_free(ctx);
}

/* Every pixel of augmented images, against a plain restatement of what augmentation means. */
static void test_augmentation(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  iso_dataset *set = make_set(ctx, 40, 2);
  const int p = 3, h = 9, w = 8;
  const iso_loader_options options = {
      .batch_size = 40, .crop_padding = p, .flip = true, .seed = 77, .mean = mean, .std = deviation};
  iso_loader *loader = iso_loader_new(ctx, set, &options);
  assert_int_equal(iso_loader_seek(loader, 5, 0), ISO_OK);
  iso_batch batch;
  assert_true(iso_loader_next(loader, &batch));
  assert_true(iso_tensor_is_channels_last(batch.x));
  int n_flipped = 0, n_moved = 0;
  for (int s = 0; s < 40; s++) {
    iso_philox at = {
        .seed = 77, .stream = ISO_PHILOX_LOADER, .leaf = 5, .step = (uint32_t)s, .site = ISO__PURPOSE_CROP};
    const int top = (int)((uint64_t)iso_philox_word(&at, 0) * 7 >> 32),
              left = (int)((uint64_t)iso_philox_word(&at, 1) * 7 >> 32);
    at.site = ISO__PURPOSE_FLIP;
    const bool flipped = iso_philox_word(&at, 0) >> 31;
    n_flipped += flipped, n_moved += top != p || left != p;
    for (int y = 0; y < h; y++)
      for (int x = 0; x < w; x++)
        for (int c = 0; c < 2; c++) {
          const int from_y = y + top - p, from_x = (flipped ? w - 1 - x : x) + left - p;
          const bool inside = from_y >= 0 && from_y < h && from_x >= 0 && from_x < w;
          const int pixel = inside ? set->pixels[((s * h + from_y) * w + from_x) * 2 + c] : 0;
          const float expected = (float)((pixel / 255.0 - mean[c]) / deviation[c]);
          double got;
          assert_int_equal(iso_tensor_at(batch.x, ISO_DIMS(s, c, y, x), &got), ISO_OK);
          assert_true((float)got == expected);
        }
  }
  assert_in_range(n_flipped, 8, 32);
  assert_in_range(n_moved, 30, 40);
  iso_loader_free(loader);
  iso_dataset_free(set);
  iso__context_free(ctx);
}

/* The leaves of a batch, loaded apart, are the batch. */
static void test_leaves(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  iso_dataset *set = make_set(ctx, 31, 3);
  iso_loader_options options = full;
  options.batch_size = 10;
  iso_loader *whole = iso_loader_new(ctx, set, &options), *part[3];
  static const int begins[] = {0, 1, 4}, ends[] = {1, 4, 8};
  options.n_leaves = 8;
  for (int i = 0; i < 3; i++) {
    options.leaf_begin = begins[i], options.leaf_end = ends[i], options.n_workers = i;
    part[i] = iso_loader_new(ctx, set, &options);
  }
  expect_ok(ctx);
  const int64_t n_pixels = 9 * 8 * 3;
  for (int step = 0; step < 8; step++) {
    iso_batch all, some;
    assert_true(iso_loader_next(whole, &all));
    int64_t at = 0;
    for (int i = 0; i < 3; i++) {
      assert_true(iso_loader_next(part[i], &some));
      const int64_t n = iso_tensor_numel(some.y);
      assert_int_equal(some.n_total, iso_tensor_numel(all.y));
      assert_memory_equal((float *)iso_tensor_data(all.x) + at * n_pixels, iso_tensor_data(some.x),
                          (size_t)(n * n_pixels) * 4);
      assert_memory_equal((int64_t *)iso_tensor_data(all.y) + at, iso_tensor_data(some.y), (size_t)n * 8);
      at += n;
    }
    assert_int_equal(at, iso_tensor_numel(all.y));
  }
  for (int i = 0; i < 3; i++) iso_loader_free(part[i]);
  iso_loader_free(whole);
  iso_dataset_free(set);
  iso__context_free(ctx);
}

static void test_bad_options(void **state) {
  (void)state;
  static const double nan_mean[3] = {0, 0.0 / 0.0, 0}, zero[3] = {1, 1, 0};
  static const struct {
    iso_loader_options options;
    const char *part;
  } cases[] = {
      {{.batch_size = -1}, "batch_size is -1"},
      {{.batch_size = 31, .drop_last = true}, "batch_size is 31, expected at most the number of samples"},
      {{.n_workers = -2}, "n_workers is -2"},
      {{.n_workers = 257}, "n_workers is 257"},
      {{.n_prefetch = -1}, "n_prefetch is -1"},
      {{.crop_padding = 10}, "crop_padding is 10"},
      {{.n_leaves = -1}, "n_leaves is -1"},
      {{.n_leaves = 4, .leaf_begin = 2, .leaf_end = 2}, "leaf_begin is 2"},
      {{.n_leaves = 4, .leaf_begin = 2, .leaf_end = 5}, "leaf_end is 5"},
      {{.mean = nan_mean}, "channel 1 has mean"},
      {{.std = zero}, "channel 2 has mean 0 and std 0"},
  };
  iso_context *ctx = new_context();
  iso_dataset *set = make_set(ctx, 30, 3);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_null(iso_loader_new(ctx, set, &cases[i].options));
    expect_error(ctx, ISO_INVALID_ARGUMENT, cases[i].part);
  }
  assert_null(iso_loader_new(ctx, NULL, NULL));
  expect_error(ctx, ISO_INVALID_ARGUMENT, "the data set is NULL");
  iso_dataset_free(set);
  iso__context_free(ctx);
}

static bool attempt_load(iso_context *ctx, void *arg) {
  iso_loader_options options = full;
  options.n_workers = 2;
  iso_scope_push(ctx);
  iso_loader *loader = iso_loader_new(ctx, arg, &options);
  iso_batch batch = {0};
  for (int i = 0; loader && i < 6; i++)
    if (!iso_loader_next(loader, &batch)) break;
  iso_scope_pop(ctx);
  iso_loader_free(loader);
  return batch.index == 5;
}

/* Whatever allocation fails, the loader can be freed; and a batch that failed can be asked for again. */
static void test_without_memory(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  iso_dataset *set = make_set(ctx, 60, 3);
  assert_true(attempt_load(ctx, set));
  assert_true(fail_every_allocation(ctx, attempt_load, set) >= 20);
  const iso__hash expected = hash_run(ctx, set, full, 12);
  for (uint64_t n = 1; n <= 4; n++) {
    iso_loader *loader = iso_loader_new(ctx, set, &full);
    iso_batch batch;
    iso_memory_fail_at(ctx, n);
    assert_false(iso_loader_next(loader, &batch));
    expect_error(ctx, ISO_OUT_OF_MEMORY, "");
    expect_hash(hash_batches(ctx, loader, 12), expected);
    iso_loader_free(loader);
  }
  iso_dataset_free(set);
  iso__context_free(ctx);
}

/* The hash of some batches, all taken before one is looked at. */
static iso__hash hash_together(iso_context *ctx, iso_loader *loader) {
  enum { N = 6 };
  iso_batch batch[N];
  iso__hasher *hasher = iso__hasher_new();
  iso_scope_push(ctx);
  for (int i = 0; i < N; i++) assert_true(iso_loader_next(loader, &batch[i]));
  for (int i = 0; i < N; i++) add_bytes(hasher, batch[i].x, 4), add_bytes(hasher, batch[i].y, 8);
  iso_scope_pop(ctx);
  return iso__hasher_end(hasher);
}

/* Copied ahead to a device that the host cannot touch, and whose copies arrive when they are waited for, not before. */
static void test_on_device(void **state) {
  (void)state;
  iso_context *ctx = new_context();
  iso_dataset *set = make_set(ctx, 60, 3);
  iso_loader_options on_device = full;
  on_device.on_device = true, on_device.drop_last = true, on_device.n_epochs = 3;
  const size_t live = iso_memory_get_info(ctx).live_bytes;
  const iso__hash expected = hash_run(ctx, set, on_device, 24);
  iso_loader *on_host = iso_loader_new(ctx, set, &on_device);
  const iso__hash together = hash_together(ctx, on_host);
  iso_loader_free(on_host);
  ctx->device = &foreign_device;
  static const int workers[] = {0, 1, 3, 4}, prefetch[] = {0, 1, 2, 17};
  for (int i = 0; i < 4; i++) {
    on_device.n_workers = workers[i], on_device.n_prefetch = prefetch[i];
    iso_loader *loader = iso_loader_new(ctx, set, &on_device);
    expect_ok(ctx);
    expect_hash(hash_together(ctx, loader), together);
    assert_int_equal(iso_loader_seek(loader, 0, 0), ISO_OK);
    expect_hash(hash_batches(ctx, loader, 24), expected);
    iso_batch batch;
    assert_false(iso_loader_next(loader, &batch));
    expect_ok(ctx);
    assert_int_equal(iso_loader_seek(loader, 1, 2), ISO_OK);
    iso_scope_push(ctx);
    assert_true(iso_loader_next(loader, &batch));
    assert_string_equal(iso_tensor_device(batch.x), "foreign:0");
    iso_scope_pop(ctx);
    iso_loader_free(loader); /* with batches on their way */
    assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);
  }
  on_device.n_workers = 2;
  iso_loader *loader = iso_loader_new(ctx, set, &on_device);
  for (uint64_t n = 1; n <= 6; n++) { /* a batch that found no memory can be asked for again */
    iso_batch batch;
    iso_scope_push(ctx);
    iso_memory_fail_at(ctx, n);
    const bool ok = iso_loader_next(loader, &batch);
    iso_memory_fail_at(ctx, 0);
    assert_true(ok == (iso_error_code(ctx) == ISO_OK));
    iso_clear_error(ctx);
    iso_scope_pop(ctx);
    assert_int_equal(iso_loader_seek(loader, 0, 0), ISO_OK);
  }
  expect_hash(hash_batches(ctx, loader, 24), expected);
  foreign_device_limit = 3 * 4096; /* pages of one batch: the next one comes when it is its turn */
  assert_int_equal(iso_loader_seek(loader, 0, 0), ISO_OK);
  expect_hash(hash_batches(ctx, loader, 24), expected);
  foreign_device_limit = 4096;
  assert_int_equal(iso_loader_seek(loader, 0, 0), ISO_OK);
  iso_batch batch;
  assert_false(iso_loader_next(loader, &batch));
  expect_error(ctx, ISO_OUT_OF_MEMORY, "");
  foreign_device_limit = 0;
  iso_loader_free(loader);
  assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);
  ctx->device = NULL;
  iso_dataset_free(set);
  iso__context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_workers),     cmocka_unit_test(test_poisoned_mode),  cmocka_unit_test(test_seek),
      cmocka_unit_test(test_epochs),      cmocka_unit_test(test_augmentation),   cmocka_unit_test(test_leaves),
      cmocka_unit_test(test_bad_options), cmocka_unit_test(test_without_memory), cmocka_unit_test(test_on_device),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
