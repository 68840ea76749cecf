/* test_text_loader.c: batches of texts hold what they must, in an order that is a function of (seed, epoch) and lengths
 * alone: not of workers, prefetch, seeks, threads, a kill, or the caller's floating-point mode. */
#include <isobit/isobit.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include "base/hash.h"
#include "data/dataset.h"
#include "support/foreign_device.h"
#include "text/text_test.h"
#if defined(__x86_64__)
#  include <xmmintrin.h>
#endif

enum { N = 230, N_SPECIALS = 2, PAD = 3, FIRST_WORD = 4 };
static const iso_text_loader_options full = {
    .batch_size = 7, .shuffle = true, .seed = UINT64_C(0x123456789abcdef0), .bucket_batches = 6};

static iso_tokenizer *make_tokenizer(iso_context *ctx) {
  char folder[256], path[600], vocabulary[600];
  size_t n = (size_t)sprintf(vocabulary, "[UNK]\n[CLS]\n[SEP]\n[PAD]\n");
  for (int i = 0; i < 40; i++) n += (size_t)sprintf(vocabulary + n, "w%d\n", i);
  put_file(join(path, make_folder(folder), "vocab.txt"), vocabulary, n);
  iso_tokenizer *tokenizer = iso_tokenizer_open(ctx, path, NULL);
  expect_ok(ctx);
  remove_folder(folder);
  assert_int_equal(iso_tokenizer_padding(tokenizer), PAD);
  return tokenizer;
}

/* Text i has i·37 mod 23 words, the t-th of them w{(i + t) mod 40}. */
static int n_words(int64_t i) { return (int)(i * 37 % 23); }

static iso_text_dataset *make_set(iso_context *ctx, int64_t n, bool labelled) {
  static char bytes[N][128];
  static const char *const names[3] = {"a", "b", "c"};
  iso_text texts[N];
  const char *labels[N];
  for (int64_t i = 0; i < n; i++) {
    size_t at = 0;
    for (int t = 0; t < n_words(i); t++) at += (size_t)sprintf(bytes[i] + at, "W%d ", (int)(i + t) % 40);
    texts[i] = (iso_text){bytes[i], at}, labels[i] = names[i % 3];
  }
  iso_text_dataset *set = iso_text_dataset_from_memory(ctx, n, texts, labelled ? labels : NULL, NULL);
  expect_ok(ctx);
  return set;
}

/* A batch's tensors are dense; they may lie on a device. */
static void add_bytes(iso__hasher *hasher, const iso_tensor *t) {
  const iso__storage *s = t->view.storage;
  const size_t n_bytes = (size_t)iso_tensor_numel(t) * sizeof(int64_t);
  void *bytes = malloc(n_bytes + 1);
  assert_non_null(bytes);
  assert_int_equal(s->device->copy(s->device, bytes, s->data, n_bytes), ISO_OK);
  iso__hasher_add(hasher, bytes, n_bytes);
  free(bytes);
}

static iso__hash hash_batch(const iso_text_batch *batch) {
  iso__hasher *hasher = iso__hasher_new();
  const int64_t place[6] = {batch->epoch,   batch->index,    iso_tensor_numel(batch->lengths),
                            batch->n_total, batch->n_tokens, batch->n_padding};
  iso__hasher_add(hasher, place, sizeof place);
  iso__hasher_add(hasher, batch->samples, (size_t)place[2] * sizeof *batch->samples);
  add_bytes(hasher, batch->ids), add_bytes(hasher, batch->lengths);
  if (batch->y) add_bytes(hasher, batch->y);
  return iso__hasher_end(hasher);
}

static iso__hash hash_batches(iso_context *ctx, iso_text_loader *loader, int n) {
  iso__hasher *hasher = iso__hasher_new();
  for (int i = 0; i < n; i++) {
    iso_text_batch batch;
    iso_scope_push(ctx);
    if (!iso_text_loader_next(loader, &batch)) fail_msg("batch %d: %s", i, iso_error_message(ctx));
    const iso__hash hash = hash_batch(&batch);
    iso__hasher_add(hasher, &hash, sizeof hash);
    iso_scope_pop(ctx);
  }
  return iso__hasher_end(hasher);
}

typedef struct fixture {
  iso_context *ctx;
  iso_tokenizer *tokenizer;
  iso_text_dataset *set;
  size_t live_bytes; /* of the bare context */
} fixture;

static fixture setup_with(int n_threads) {
  fixture f;
  assert_int_equal(iso__context_new(NULL, NULL, n_threads, ISO_ISA_SCALAR, &f.ctx), ISO_OK);
  f.live_bytes = iso_memory_get_info(f.ctx).live_bytes;
  f.tokenizer = make_tokenizer(f.ctx), f.set = make_set(f.ctx, N, true);
  return f;
}
static fixture setup(void) { return setup_with(1); }

static void teardown(fixture *f) {
  iso_text_dataset_free(f->set), iso_tokenizer_free(f->tokenizer);
  assert_int_equal(iso_memory_get_info(f->ctx).live_bytes, f->live_bytes);
  iso__context_free(f->ctx);
}

static iso_text_loader *new_loader(const fixture *f, const iso_text_loader_options *options) {
  iso_text_loader *loader = iso_text_loader_new(f->ctx, f->set, f->tokenizer, options);
  expect_ok(f->ctx);
  return loader;
}

static iso__hash hash_run(const fixture *f, iso_text_loader_options options, int n) {
  iso_text_loader *loader = new_loader(f, &options);
  const iso__hash hash = hash_batches(f->ctx, loader, n);
  iso_text_loader_free(loader);
  return hash;
}

static void expect_hash(iso__hash a, iso__hash b) { assert_true(a.low == b.low && a.high == b.high); }

/* ---- what a batch holds ---- */

static void check_rows(const iso_text_batch *batch, int64_t multiple) {
  const int64_t n = iso_tensor_shape(batch->ids)[0], length = iso_tensor_shape(batch->ids)[1];
  const int64_t *ids = iso_tensor_data(batch->ids), *lengths = iso_tensor_data(batch->lengths),
                *y = batch->y ? iso_tensor_data(batch->y) : NULL;
  int64_t longest = 0, n_tokens = 0;
  for (int64_t i = 0; i < n; i++, ids += length) {
    const int64_t sample = batch->samples[i];
    assert_int_equal(lengths[i], n_words(sample) + N_SPECIALS);
    assert_int_equal(ids[0], 1);
    for (int t = 0; t < n_words(sample); t++) assert_int_equal(ids[1 + t], FIRST_WORD + (sample + t) % 40);
    assert_int_equal(ids[lengths[i] - 1], 2);
    for (int64_t t = lengths[i]; t < length; t++) assert_int_equal(ids[t], PAD);
    if (y) assert_int_equal(y[i], sample % 3);
    if (lengths[i] > longest) longest = lengths[i];
    n_tokens += lengths[i];
  }
  assert_int_equal(length, (longest + multiple - 1) / multiple * multiple);
  assert_int_equal(batch->n_tokens, n_tokens);
  assert_int_equal(batch->n_padding, n * length - n_tokens);
}

/* Each epoch gives every sample once, as it is in the set; drop_last drops what is left over. */
static void test_epochs(void **state) {
  (void)state;
  fixture f = setup();
  for (int mode = 0; mode < 8; mode++) {
    const bool drop = mode & 1, shuffle = mode & 2;
    const int multiple = mode & 4 ? 5 : 8;
    iso_text_loader *loader = new_loader(&f, &(iso_text_loader_options){.batch_size = 16,
                                                                        .shuffle = shuffle,
                                                                        .drop_last = drop,
                                                                        .n_epochs = 2,
                                                                        .n_workers = mode % 3,
                                                                        .bucket_batches = mode & 4 ? 3 : 0,
                                                                        .pad_multiple = mode & 4 ? multiple : 0});
    assert_int_equal(iso_text_loader_n_batches(loader), drop ? 14 : 15);
    for (int epoch = 0; epoch < 2; epoch++) {
      int seen[N] = {0}, n_seen = 0, n_short = 0;
      for (int64_t i = 0; i < iso_text_loader_n_batches(loader); i++) {
        iso_text_batch batch;
        iso_scope_push(f.ctx);
        assert_true(iso_text_loader_next(loader, &batch));
        assert_int_equal(batch.epoch, epoch);
        assert_int_equal(batch.index, i);
        check_rows(&batch, multiple);
        n_short += batch.n_total != 16;
        for (int64_t s = 0; s < batch.n_total; s++) seen[batch.samples[s]]++, n_seen++;
        iso_scope_pop(f.ctx);
      }
      assert_int_equal(n_seen, drop ? 224 : N);
      assert_int_equal(n_short, !drop);
      for (int i = 0; i < N; i++) assert_true(drop ? seen[i] <= 1 : seen[i] == 1);
    }
    iso_text_batch batch;
    assert_false(iso_text_loader_next(loader, &batch));
    expect_ok(f.ctx);
    iso_text_loader_free(loader);
  }
  teardown(&f);
}

static void permutation_of(uint64_t seed, uint32_t purpose, uint32_t epoch, int n, int64_t *out) {
  const iso_philox at = {.seed = seed, .stream = ISO_PHILOX_LOADER, .site = purpose, .leaf = epoch};
  int64_t scratch[2 * N];
  assert_true(iso_philox_permutation(&at, (uint64_t)n, out, scratch));
}

/* The order, restated: groups of the permutation, sorted by insertion, cut, and the batches permuted. */
static void test_order(void **state) {
  (void)state;
  fixture f = setup();
  iso_text_loader *loader = new_loader(&f, &full);
  enum { SIZE = 7, N_BATCHES = (N + SIZE - 1) / SIZE, GROUP = 6 * SIZE };
  for (uint32_t epoch = 0; epoch < 3; epoch++) {
    int64_t order[N], batches[N_BATCHES];
    permutation_of(full.seed, ISO__PURPOSE_ORDER, epoch, N, order);
    permutation_of(full.seed, ISO__PURPOSE_BATCHES, epoch, N_BATCHES, batches);
    for (int first = 0; first < N; first += GROUP)
      for (int i = first + 1; i < N && i < first + GROUP; i++)
        for (int j = i; j > first && n_words(order[j - 1]) > n_words(order[j]); j--) {
          const int64_t saved = order[j];
          order[j] = order[j - 1], order[j - 1] = saved;
        }
    for (int b = 0; b < N_BATCHES; b++) {
      iso_text_batch batch;
      iso_scope_push(f.ctx);
      assert_true(iso_text_loader_next(loader, &batch));
      for (int64_t s = 0; s < batch.n_total; s++) assert_int_equal(batch.samples[s], order[batches[b] * SIZE + s]);
      iso_scope_pop(f.ctx);
    }
  }
  iso_text_loader_free(loader);
  teardown(&f);
}

/* ---- what changes nothing ---- */

static void test_workers(void **state) {
  (void)state;
  fixture f = setup();
  const iso__hash alone = hash_run(&f, full, 70);
  static const int workers[] = {1, 2, 4, 4}, prefetch[] = {0, 1, 0, 17};
  for (int i = 0; i < 4; i++) {
    iso_text_loader_options options = full;
    options.n_workers = workers[i], options.n_prefetch = prefetch[i];
    expect_hash(hash_run(&f, options, 70), alone);
  }
  iso_text_loader_options other = full;
  other.seed ^= UINT64_C(1) << 40;
  const iso__hash different = hash_run(&f, other, 70);
  assert_false(different.low == alone.low && different.high == alone.high);
  fixture threads = setup_with(4);
  expect_hash(hash_run(&threads, full, 70), alone);
  teardown(&threads), teardown(&f);
}

/* Flush-to-zero, denormals-are-zero and upward rounding while loaders are made and asked; the mode survives. */
static void test_poisoned_mode(void **state) {
  (void)state;
#if defined(__x86_64__)
  fixture f = setup();
  iso_text_loader_options options = full;
  const iso__hash clean = hash_run(&f, options, 40);
  const unsigned saved = _mm_getcsr(), poisoned = 0x1f80 | 0x8040 | 0x4000;
  for (int workers = 0; workers <= 4; workers += 2) {
    options.n_workers = workers;
    _mm_setcsr(poisoned);
    const iso__hash hash = hash_run(&f, options, 40);
    const unsigned left = _mm_getcsr();
    _mm_setcsr(saved);
    assert_int_equal(left & ~0x3fu, poisoned);
    expect_hash(hash, clean);
  }
  teardown(&f);
#else
  print_message("[  SKIPPED ] the floating-point mode is poisoned on x86-64 only\n");
  skip();
#endif
}

static void test_seek(void **state) {
  (void)state;
  fixture f = setup();
  for (int workers = 0; workers <= 4; workers += 4) {
    iso_text_loader_options options = full;
    options.n_workers = workers;
    iso_text_loader *through = new_loader(&f, &options), *resumed = new_loader(&f, &options);
    iso_text_loader_stats stats;
    assert_int_equal(iso_text_loader_n_batches(through), 33);
    for (int stop = 0; stop < 70; stop++) {
      uint32_t epoch;
      int64_t batch;
      iso_text_loader_position(through, &epoch, &batch);
      assert_int_equal(epoch, stop / 33);
      assert_int_equal(batch, stop % 33);
      assert_int_equal(iso_text_loader_seek(resumed, epoch, batch), ISO_OK);
      assert_int_equal(iso_text_loader_get_stats(through, 5, &stats), ISO_OK); /* of any epoch: it moves nothing */
      const iso__hash here = hash_batches(f.ctx, through, 1);
      expect_hash(hash_batches(f.ctx, resumed, 1), here);
    }
    iso_text_loader_seek(resumed, 7, 33);
    expect_error(f.ctx, ISO_INVALID_ARGUMENT, "loader: batch 33 is sought, an epoch has 0 to 32");
    iso_text_loader_free(through), iso_text_loader_free(resumed);
  }
  teardown(&f);
}

/* A process that writes each batch's place and hash, until it is killed. */
static void run_until_killed(int out) {
  fixture f = setup();
  iso_text_loader_options options = full;
  options.n_workers = 3;
  iso_text_loader *loader = new_loader(&f, &options);
  iso_text_batch batch;
  for (;;) {
    iso_scope_push(f.ctx);
    if (!iso_text_loader_next(loader, &batch)) _exit(1);
    const iso__hash hash = hash_batch(&batch);
    if (write(out, &hash, sizeof hash) != sizeof hash) _exit(1);
    iso_scope_pop(f.ctx);
  }
}

static void test_kill(void **state) {
  (void)state;
  enum { N_BEFORE = 50 };
  int ends[2];
  iso__hash before[N_BEFORE];
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) run_until_killed(ends[1]);
  close(ends[1]);
  size_t at = 0;
  for (ssize_t n; at < sizeof before && (n = read(ends[0], (char *)before + at, sizeof before - at)) > 0;)
    at += (size_t)n;
  kill(child, SIGKILL);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  assert_int_equal(at, sizeof before);
  close(ends[0]);
  fixture f = setup();
  iso_text_loader *loader = new_loader(&f, &full), *resumed = new_loader(&f, &full);
  for (int i = 0; i < 66; i++) {
    iso_text_batch batch;
    iso_scope_push(f.ctx);
    assert_true(iso_text_loader_next(loader, &batch));
    const iso__hash hash = hash_batch(&batch);
    if (i < N_BEFORE) expect_hash(before[i], hash);
    if (i == N_BEFORE - 1) assert_int_equal(iso_text_loader_seek(resumed, batch.epoch, batch.index + 1), ISO_OK);
    if (i >= N_BEFORE) {
      assert_true(iso_text_loader_next(resumed, &batch));
      expect_hash(hash_batch(&batch), hash);
    }
    iso_scope_pop(f.ctx);
  }
  iso_text_loader_free(loader), iso_text_loader_free(resumed);
  teardown(&f);
}

/* The leaves of a batch, loaded apart, are the batch: padded alike. */
static void test_leaves(void **state) {
  (void)state;
  fixture f = setup();
  iso_text_loader_options options = full;
  options.batch_size = 10;
  iso_text_loader *whole = new_loader(&f, &options), *part[3];
  static const int begins[] = {0, 1, 4}, ends[] = {1, 4, 8};
  options.n_leaves = 8;
  for (int i = 0; i < 3; i++) {
    options.leaf_begin = begins[i], options.leaf_end = ends[i], options.n_workers = i;
    part[i] = new_loader(&f, &options);
  }
  for (int step = 0; step < 30; step++) {
    iso_text_batch all, some;
    iso_scope_push(f.ctx);
    assert_true(iso_text_loader_next(whole, &all));
    const int64_t length = iso_tensor_shape(all.ids)[1];
    int64_t at = 0, n_tokens = 0;
    for (int i = 0; i < 3; i++) {
      assert_true(iso_text_loader_next(part[i], &some));
      const int64_t n = iso_tensor_numel(some.y);
      assert_int_equal(some.n_total, iso_tensor_numel(all.y));
      assert_int_equal(iso_tensor_shape(some.ids)[1], length);
      assert_memory_equal((int64_t *)iso_tensor_data(all.ids) + at * length, iso_tensor_data(some.ids),
                          (size_t)(n * length) * 8);
      assert_memory_equal((int64_t *)iso_tensor_data(all.lengths) + at, iso_tensor_data(some.lengths), (size_t)n * 8);
      assert_memory_equal((int64_t *)iso_tensor_data(all.y) + at, iso_tensor_data(some.y), (size_t)n * 8);
      at += n, n_tokens += some.n_tokens;
    }
    assert_int_equal(at, all.n_total);
    assert_int_equal(n_tokens, all.n_tokens);
    iso_scope_pop(f.ctx);
  }
  for (int i = 0; i < 3; i++) iso_text_loader_free(part[i]);
  iso_text_loader_free(whole);
  teardown(&f);
}

/* ---- lengths and stats ---- */

static void test_long_texts(void **state) {
  (void)state;
  fixture f = setup();
  iso_text_loader_options options = {.batch_size = 16, .max_length = 20};
  assert_null(iso_text_loader_new(f.ctx, f.set, f.tokenizer, &options));
  /* 19 words: the first of more than 18 */
  expect_error(f.ctx, ISO_INVALID_ARGUMENT, "text 4 has 21 tokens, max_length is 20");
  iso_text_dataset *file = parse_text(f.ctx, "csv", "text,label\nw1,a\n\"w1\nw2\",b\nw1 w2 w3,a\n");
  options.max_length = 4;
  assert_null(iso_text_loader_new(f.ctx, file, f.tokenizer, &options));
  expect_error(f.ctx, ISO_INVALID_ARGUMENT, "test: row 3 (line 5) has 5 tokens, max_length is 4");
  iso_text_dataset_free(file);
  options.max_length = 20, options.truncate = true;
  iso_text_loader *loader = new_loader(&f, &options);
  iso_text_loader_stats stats;
  assert_int_equal(iso_text_loader_get_stats(loader, 0, &stats), ISO_OK);
  int n_longer = 0;
  for (int i = 0; i < N; i++) n_longer += n_words(i) + N_SPECIALS > 20;
  assert_int_equal(stats.n_truncated, n_longer);
  assert_int_equal(stats.longest, 20);
  for (int64_t b = 0; b < iso_text_loader_n_batches(loader); b++) {
    iso_text_batch batch;
    iso_scope_push(f.ctx);
    assert_true(iso_text_loader_next(loader, &batch));
    const int64_t length = iso_tensor_shape(batch.ids)[1];
    const int64_t *ids = iso_tensor_data(batch.ids), *lengths = iso_tensor_data(batch.lengths);
    assert_true(length <= 20); /* the limit, not the multiple of 8 above it */
    for (int64_t i = 0; i < iso_tensor_numel(batch.lengths); i++) {
      const int words = n_words(batch.samples[i]);
      assert_int_equal(lengths[i], words > 18 ? 20 : words + 2);
      assert_int_equal(ids[i * length + lengths[i] - 1], 2);
    }
    iso_scope_pop(f.ctx);
  }
  iso_text_loader_free(loader);
  teardown(&f);
}

/* Against the epoch as it runs. */
static void test_stats(void **state) {
  (void)state;
  fixture f = setup();
  static const int buckets[] = {1, 3, 50};
  double share[3];
  for (int i = 0; i < 3; i++) {
    iso_text_loader_options options = full;
    options.bucket_batches = buckets[i];
    iso_text_loader *loader = new_loader(&f, &options);
    iso_text_loader_stats s;
    assert_int_equal(iso_text_loader_seek(loader, 2, 0), ISO_OK);
    assert_int_equal(iso_text_loader_get_stats(loader, 2, &s), ISO_OK);
    int64_t n_tokens = 0, n_padding = 0, slots = 0, largest = -1;
    bool seen[64] = {false};
    int64_t n_lengths = 0;
    for (int64_t b = 0; b < iso_text_loader_n_batches(loader); b++) {
      iso_text_batch batch;
      iso_scope_push(f.ctx);
      assert_true(iso_text_loader_next(loader, &batch));
      n_tokens += batch.n_tokens, n_padding += batch.n_padding;
      if (iso_tensor_numel(batch.ids) > slots) slots = iso_tensor_numel(batch.ids), largest = b;
      const int64_t length = iso_tensor_shape(batch.ids)[1];
      n_lengths += !seen[length], seen[length] = true;
      iso_scope_pop(f.ctx);
    }
    assert_int_equal(s.n_epoch_tokens, n_tokens);
    assert_int_equal(s.n_tokens, n_tokens);
    assert_int_equal(s.n_padding, n_padding);
    assert_int_equal(s.largest_batch, largest);
    assert_int_equal(s.largest_n * s.largest_length, slots);
    assert_int_equal(s.n_lengths, n_lengths);
    assert_true(fabs(s.padding_share - (double)n_padding / (double)(n_padding + n_tokens)) < 1e-15);
    share[i] = s.padding_share;
    assert_int_equal(s.n_samples, N);
    assert_int_equal(s.n_empty, 10); /* every 23rd */
    assert_int_equal(s.shortest, 2);
    assert_int_equal(s.median, 13);
    assert_int_equal(s.p90, 22);
    assert_int_equal(s.p99, 24);
    assert_int_equal(s.longest, 24);
    iso_text_loader_free(loader);
  }
  print_message("padding %.3f, %.3f, %.3f\n", share[0], share[1], share[2]);
  assert_true(share[0] > 1.25 * share[1] && share[1] > share[2]);
  teardown(&f);
}

/* Bytes that are no UTF-8 and texts of nothing but spaces are texts. */
static void test_odd_texts(void **state) {
  (void)state;
  fixture f = setup();
  const iso_text texts[3] = {{"w1 \xff\xfe w2", 8}, {"  \0 ", 4}, {NULL, 0}};
  iso_text_dataset *set = iso_text_dataset_from_memory(f.ctx, 3, texts, NULL, NULL);
  iso_text_loader *loader = iso_text_loader_new(f.ctx, set, f.tokenizer, NULL);
  expect_ok(f.ctx);
  iso_text_loader_stats s;
  iso_text_batch batch;
  assert_int_equal(iso_text_loader_get_stats(loader, 0, &s), ISO_OK);
  assert_int_equal(s.n_invalid, 2);
  assert_int_equal(s.n_empty, 2);
  assert_true(iso_text_loader_next(loader, &batch));
  assert_null(batch.y);
  assert_int_equal(iso_tensor_shape(batch.ids)[1], 8);
  iso_text_loader_free(loader);
  iso_text_dataset_free(set);
  iso_release(batch.ids), iso_release(batch.lengths);
  teardown(&f);
}

static void test_bad_options(void **state) {
  (void)state;
  static const struct {
    iso_text_loader_options options;
    const char *part;
  } cases[] = {
      {{.batch_size = -1}, "batch_size is -1"},
      {{.batch_size = N + 1, .drop_last = true}, "batch_size is 231, expected at most the number of samples"},
      {{.n_workers = 257}, "n_workers is 257"},
      {{.n_prefetch = -1}, "n_prefetch is -1"},
      {{.n_leaves = 4, .leaf_begin = 2, .leaf_end = 2}, "leaf_begin is 2"},
      {{.max_length = -1}, "max_length is -1"},
      {{.truncate = true}, "truncate is 1, expected a max_length to cut at"},
      {{.bucket_batches = -1}, "bucket_batches is -1"},
      {{.pad_multiple = 4097}, "pad_multiple is 4097"},
  };
  fixture f = setup();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_null(iso_text_loader_new(f.ctx, f.set, f.tokenizer, &cases[i].options));
    expect_error(f.ctx, ISO_INVALID_ARGUMENT, cases[i].part);
  }
  assert_null(iso_text_loader_new(f.ctx, NULL, f.tokenizer, NULL));
  expect_error(f.ctx, ISO_INVALID_ARGUMENT, "the data set is NULL");
  assert_null(iso_text_loader_new(f.ctx, f.set, NULL, NULL));
  expect_error(f.ctx, ISO_INVALID_ARGUMENT, "the tokenizer is NULL");
  teardown(&f);
}

/* ---- memory and devices ---- */

static bool attempt_load(iso_context *ctx, void *arg) {
  const fixture *f = arg;
  iso_text_loader_options options = full;
  options.n_workers = 2;
  iso_scope_push(ctx);
  iso_text_loader *loader = iso_text_loader_new(ctx, f->set, f->tokenizer, &options);
  iso_text_batch batch = {0};
  iso_text_loader_stats stats;
  for (int i = 0; loader && i < 6; i++)
    if (!iso_text_loader_next(loader, &batch)) break;
  const bool ok = batch.index == 5 && iso_text_loader_get_stats(loader, 1, &stats) == ISO_OK;
  iso_scope_pop(ctx);
  iso_text_loader_free(loader);
  return ok;
}

/* Whatever allocation fails, the loader can be freed; and a batch that failed can be asked for again. */
static void test_without_memory(void **state) {
  (void)state;
  fixture f = setup();
  assert_true(attempt_load(f.ctx, &f));
  assert_true(fail_every_allocation(f.ctx, attempt_load, &f) >= 30);
  const iso__hash expected = hash_run(&f, full, 12);
  for (uint64_t n = 1; n <= 6; n++) {
    iso_text_loader *loader = new_loader(&f, &full);
    iso_text_batch batch;
    iso_memory_fail_at(f.ctx, n);
    assert_false(iso_text_loader_next(loader, &batch));
    expect_error(f.ctx, ISO_OUT_OF_MEMORY, "");
    expect_hash(hash_batches(f.ctx, loader, 12), expected);
    iso_text_loader_free(loader);
  }
  teardown(&f);
}

/* Copied ahead to a device that the host cannot touch, and whose copies arrive when they are waited for, not before. */
static void test_on_device(void **state) {
  (void)state;
  fixture f = setup();
  iso_text_loader_options on_device = full;
  on_device.on_device = true, on_device.n_epochs = 2;
  const iso__hash expected = hash_run(&f, on_device, 66);
  f.ctx->device = &foreign_device;
  static const int workers[] = {0, 1, 3, 4}, prefetch[] = {0, 1, 2, 17};
  for (int i = 0; i < 4; i++) {
    on_device.n_workers = workers[i], on_device.n_prefetch = prefetch[i];
    iso_text_loader *loader = new_loader(&f, &on_device);
    expect_hash(hash_batches(f.ctx, loader, 66), expected);
    iso_text_batch batch;
    assert_false(iso_text_loader_next(loader, &batch));
    expect_ok(f.ctx);
    assert_int_equal(iso_text_loader_seek(loader, 1, 2), ISO_OK);
    iso_scope_push(f.ctx);
    assert_true(iso_text_loader_next(loader, &batch));
    assert_string_equal(iso_tensor_device(batch.ids), "foreign:0");
    assert_string_equal(iso_tensor_device(batch.lengths), "foreign:0");
    iso_scope_pop(f.ctx);
    iso_text_loader_free(loader); /* with batches on their way */
  }
  f.ctx->device = NULL;
  teardown(&f);
}

/* On a GPU: the CPU's batches, each taken while the next ones are on their way. */
static void test_on_cuda(void **state) {
  (void)state;
  char why[256];
  fixture f = setup(), there = {.tokenizer = NULL};
  iso_policy policy;
  assert_int_equal(iso_policy_preset("portable", &policy), ISO_OK);
  if (iso_context_new_message(&(iso_context_options){.policy = &policy, .device = "cuda:0"}, &there.ctx, why,
                              sizeof why)) {
    teardown(&f);
    print_message("[  SKIPPED ] %s\n", why);
    skip();
  }
  there.tokenizer = make_tokenizer(there.ctx), there.set = make_set(there.ctx, N, true);
  for (int workers = 0; workers < 4; workers++) {
    iso_text_loader_options options = full;
    const iso__hash expected = hash_run(&f, options, 99);
    options.on_device = true, options.n_workers = workers;
    iso_text_loader *loader = new_loader(&there, &options);
    expect_hash(hash_batches(there.ctx, loader, 99), expected);
    iso_scope_push(there.ctx);
    iso_text_batch batch;
    assert_true(iso_text_loader_next(loader, &batch));
    assert_string_equal(iso_tensor_device(batch.ids), "cuda:0");
    iso_scope_pop(there.ctx);
    iso_text_loader_free(loader);
  }
  iso_text_dataset_free(there.set), iso_tokenizer_free(there.tokenizer);
  iso_context_free(there.ctx);
  teardown(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_epochs),        cmocka_unit_test(test_order),       cmocka_unit_test(test_workers),
      cmocka_unit_test(test_poisoned_mode), cmocka_unit_test(test_seek),        cmocka_unit_test(test_kill),
      cmocka_unit_test(test_leaves),        cmocka_unit_test(test_long_texts),  cmocka_unit_test(test_stats),
      cmocka_unit_test(test_odd_texts),     cmocka_unit_test(test_bad_options), cmocka_unit_test(test_without_memory),
      cmocka_unit_test(test_on_device),     cmocka_unit_test(test_on_cuda),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
