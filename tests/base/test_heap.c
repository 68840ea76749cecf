/* test_heap.c: the heap's counts, limit, cache and fault injection, against a source that counts for itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/heap.h"
#include "base/region.h"

typedef struct counting_source {
  size_t n_blocks, n_bytes, budget;
} counting_source;

static void *counting_alloc(void *user, size_t n_bytes, size_t alignment) {
  counting_source *s = user;
  void *block = NULL;
  if (s->budget && s->n_bytes + n_bytes > s->budget) return NULL;
  if (posix_memalign(&block, alignment, n_bytes) != 0) return NULL;
  s->n_blocks++;
  s->n_bytes += n_bytes;
  return block;
}

static void counting_free(void *user, void *block, size_t n_bytes) {
  counting_source *s = user;
  s->n_blocks--;
  s->n_bytes -= n_bytes;
  free(block);
}

static iso__heap *counting_heap(counting_source *s) {
  return iso__heap_new(&(iso_allocator){counting_alloc, counting_free, s});
}

/* Every size: aligned, writable, its tail readable, little waste, counts back to zero, everything given back. */
static void test_sizes(void **state) {
  (void)state;
  counting_source s = {0};
  iso__heap *heap = counting_heap(&s);
  for (size_t n = 0; n < 3000000; n += 1 + n / 7) {
    size_t before = iso__heap_info(heap).live_bytes;
    assert_int_equal(before, 0);
    unsigned char *block = iso__heap_alloc(heap, n, NULL);
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % ISO__ALIGNMENT, 0);
    memset(block, 1, n);
    volatile unsigned char tail = block[n + ISO__TAIL_BYTES - 1];
    (void)tail;
    size_t live = iso__heap_info(heap).live_bytes;
    assert_true(live >= n + ISO__TAIL_BYTES);
    if (n >= 512) assert_true(live - n - ISO__TAIL_BYTES <= (n + ISO__TAIL_BYTES) / 8);
    iso__heap_free(heap, block, n);
  }
  iso__heap_trim(heap);
  assert_int_equal(iso__heap_info(heap).cached_bytes, 0);
  assert_int_equal(s.n_blocks, 1);
  iso__heap_release(heap);
  assert_int_equal(s.n_blocks, 0);
  assert_int_equal(s.n_bytes, 0);
}

static size_t sum_of(const iso_memory_owners *o) {
  return o->weights + o->gradients + o->optimizer + o->activations + o->workspace + o->captures + o->kept + o->data +
         o->other;
}

/* Blocks are their thread's owner's, move to another's, and are nobody's at the end; the peak keeps its own counts. */
static void test_owners(void **state) {
  (void)state;
  enum { N = 64 };
  iso__heap *heap = iso__heap_new(NULL);
  void *blocks[N];
  for (int i = 0; i < N; i++) {
    const iso__owner before = iso__owner_enter((iso__owner)(i % ISO__N_OWNERS));
    assert_non_null(blocks[i] = iso__heap_alloc(heap, (size_t)(i * i * 1000), NULL));
    memset(blocks[i], 0xff, (size_t)(i * i * 1000));
    iso__owner_leave(before);
    const iso_memory_info info = iso__heap_info(heap);
    assert_int_equal(sum_of(&info.now), info.live_bytes);
    assert_int_equal(sum_of(&info.at_peak), info.peak_bytes);
  }
  const iso_memory_info full = iso__heap_info(heap);
  assert_int_equal(iso__owner_now(), ISO__OWNER_ACTIVATIONS);
  iso__heap_set_owner(heap, blocks[ISO__OWNER_DATA], ISO__OWNER_DATA * ISO__OWNER_DATA * 1000, ISO__OWNER_WEIGHTS);
  iso_memory_info info = iso__heap_info(heap);
  assert_int_equal(info.live_bytes, full.live_bytes);
  assert_int_equal(full.now.data - info.now.data, info.now.weights - full.now.weights);
  assert_true(full.now.data - info.now.data >= ISO__OWNER_DATA * ISO__OWNER_DATA * 1000);
  for (int i = 0; i < N; i++) iso__heap_free(heap, blocks[i], (size_t)(i * i * 1000));
  info = iso__heap_info(heap);
  assert_int_equal(info.live_bytes, 0);
  assert_int_equal(sum_of(&info.now), 0);
  assert_memory_equal(&info.at_peak, &full.at_peak, sizeof full.at_peak);
  iso__heap_reset_peak(heap);
  info = iso__heap_info(heap);
  assert_int_equal(sum_of(&info.at_peak), 0);
  iso__heap_release(heap);
}

/* Random allocations against a model of the counts; the cache never holds more than its bound. */
static void test_counts(void **state) {
  (void)state;
  enum { N = 200 };
  counting_source s = {0};
  iso__heap *heap = counting_heap(&s);
  void *blocks[N] = {0};
  size_t sizes[N] = {0}, costs[N] = {0}, live = 0, peak = 0;
  uint32_t random = 1;
  for (int step = 0; step < 20000; step++) {
    random = random * 1664525u + 1013904223u;
    int i = (int)((random >> 8) % N);
    if (blocks[i]) {
      for (size_t k = 0; k < sizes[i]; k += 997) assert_int_equal(((unsigned char *)blocks[i])[k], (unsigned char)i);
      iso__heap_free(heap, blocks[i], sizes[i]);
      live -= costs[i];
      blocks[i] = NULL;
    } else {
      sizes[i] = (random >> 16) % (step < 10000 ? 100000 : 3000);
      blocks[i] = iso__heap_alloc(heap, sizes[i], NULL);
      assert_non_null(blocks[i]);
      memset(blocks[i], i, sizes[i]);
      costs[i] = iso__heap_info(heap).live_bytes - live;
      live += costs[i];
      if (live > peak) peak = live;
    }
    iso_memory_info info = iso__heap_info(heap);
    assert_int_equal(info.live_bytes, live);
    assert_int_equal(info.peak_bytes, peak);
    assert_true(info.live_bytes + info.cached_bytes <= peak + peak / 4 + (16u << 20));
  }
  iso__heap_reset_peak(heap);
  assert_int_equal(iso__heap_info(heap).peak_bytes, live);
  for (int i = 0; i < N; i++)
    if (blocks[i]) iso__heap_free(heap, blocks[i], sizes[i]);
  assert_int_equal(iso__heap_info(heap).live_bytes, 0);
  iso__heap_release(heap);
  assert_int_equal(s.n_blocks, 0);
}

static void test_limit(void **state) {
  (void)state;
  counting_source s = {0};
  iso__heap *heap = counting_heap(&s);
  iso__heap_set_limit(heap, 1 << 20);
  iso_status status;
  void *a = iso__heap_alloc(heap, 600 << 10, &status);
  assert_non_null(a);
  assert_null(iso__heap_alloc(heap, 600 << 10, &status));
  assert_int_equal(status, ISO_MEMORY_LIMIT);
  assert_null(iso__heap_alloc(heap, SIZE_MAX, &status));
  assert_int_equal(status, ISO_OUT_OF_MEMORY);
  iso__heap_free(heap, a, 600 << 10);
  void *b = iso__heap_alloc(heap, 900 << 10, &status); /* the cached 600 KiB make room */
  assert_non_null(b);
  assert_true(s.n_bytes <= (1 << 20) + 64 + 16384); /* the heap's own struct is not the context's data */
  iso__heap_free(heap, b, 900 << 10);
  iso__heap_set_limit(heap, 0);
  b = iso__heap_alloc(heap, 2 << 20, &status);
  assert_non_null(b);
  iso__heap_free(heap, b, 2 << 20);
  iso__heap_release(heap);
  assert_int_equal(s.n_bytes, 0);
}

/* A source that is out of memory gets the cache back before the heap gives up. */
static void test_source_exhausted(void **state) {
  (void)state;
  counting_source s = {.budget = 1 << 20};
  iso__heap *heap = counting_heap(&s);
  iso_status status;
  void *a = iso__heap_alloc(heap, 700 << 10, &status);
  assert_non_null(a);
  assert_null(iso__heap_alloc(heap, 700 << 10, &status));
  assert_int_equal(status, ISO_OUT_OF_MEMORY);
  iso__heap_free(heap, a, 700 << 10);
  void *b = iso__heap_alloc(heap, 400 << 10, &status);
  assert_non_null(b);
  iso__heap_free(heap, b, 400 << 10);
  iso__heap_release(heap);
  s.budget = 100;
  assert_null(counting_heap(&s));
}

static void test_fail_at(void **state) {
  (void)state;
  iso__heap *heap = iso__heap_new(NULL);
  iso__heap_fail_at(heap, 3);
  for (int i = 1; i <= 5; i++) {
    iso_status status;
    void *block = iso__heap_alloc(heap, 100, &status);
    assert_int_equal(block == NULL, i == 3);
    assert_int_equal(status, i == 3 ? ISO_OUT_OF_MEMORY : ISO_OK);
    iso__heap_free(heap, block, 100);
  }
  iso__heap_fail_at(heap, 1);
  iso__heap_fail_at(heap, 0);
  void *block = iso__heap_alloc(heap, 100, NULL);
  assert_non_null(block);
  iso__heap_free(heap, block, 100);
  assert_int_equal(iso__heap_info(heap).n_allocations, 6);
  iso__heap_free(heap, NULL, 5);
  iso__heap_release(heap);
}

static void *churn(void *arg) {
  iso__heap *heap = arg;
  void *blocks[16] = {0};
  size_t sizes[16] = {0};
  for (int i = 0; i < 20000; i++) {
    int k = i * 7 % 16;
    if (blocks[k] && *(int *)blocks[k] != k) return arg;
    iso__heap_free(heap, blocks[k], sizes[k]);
    sizes[k] = 4 + (size_t)(i * 131 % 5000);
    if (!(blocks[k] = iso__heap_alloc(heap, sizes[k], NULL))) return arg;
    *(int *)blocks[k] = k;
  }
  for (int k = 0; k < 16; k++) iso__heap_free(heap, blocks[k], sizes[k]);
  iso__heap_release(heap);
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  iso__heap *heap = iso__heap_new(NULL);
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) {
    iso__heap_retain(heap);
    assert_int_equal(pthread_create(&threads[i], NULL, churn, heap), 0);
  }
  for (int i = 0; i < 3; i++) {
    void *failed;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  assert_int_equal(iso__heap_info(heap).live_bytes, 0);
  iso__heap_release(heap);
}

#if defined(__SANITIZE_ADDRESS__)
enum { HAS_REGIONS = 0 };
#else
enum { HAS_REGIONS = 1 };
#endif

static uint64_t missed(const iso__region *r) {
  uint64_t n_asked, n_missed;
  iso__region_counts(r, &n_asked, &n_missed);
  return n_missed;
}

/* Blocks of many sizes in a region: apart from each other, aligned, not counted; holes are found again, all of it is
 * one block in the end; what has no room, is small or another owner's comes from the heap; the last block ends it. */
static void test_region(void **state) {
  (void)state;
  enum { N = 64, REGION_BYTES = 1 << 20 };
  counting_source s = {0};
  iso__heap *heap = counting_heap(&s);
  iso__region *r = iso__region_new(heap, REGION_BYTES, NULL);
  assert_non_null(r);
  const size_t live = iso__heap_info(heap).live_bytes;
  assert_true(live >= REGION_BYTES);
  assert_null(iso__region_enter(r));
  unsigned char *blocks[N] = {0};
  size_t sizes[N] = {0};
  uint32_t seed = 1;
  for (int round = 0; round < 20000; round++) {
    seed = seed * 1664525 + 1013904223;
    const int i = (int)(seed >> 26);
    if (blocks[i]) {
      for (size_t k = 0; k < sizes[i]; k += 97) assert_int_equal(blocks[i][k], i);
      iso__heap_free(heap, blocks[i], sizes[i]);
      blocks[i] = NULL;
      continue;
    }
    sizes[i] = 1024 + (seed >> 10) % 8000;
    blocks[i] = iso__heap_alloc(heap, sizes[i], NULL);
    assert_int_equal((uintptr_t)blocks[i] % ISO__ALIGNMENT, 0);
    memset(blocks[i], i, sizes[i]);
  }
  if (HAS_REGIONS) assert_int_equal(iso__heap_info(heap).live_bytes, live);
  for (int i = 0; i < N; i++)
    if (blocks[i]) iso__heap_free(heap, blocks[i], sizes[i]);
  assert_int_equal(iso__heap_info(heap).live_bytes, live);
  assert_int_equal(missed(r), 0);
  void *whole = iso__heap_alloc(heap, REGION_BYTES - 4 * ISO__ALIGNMENT, NULL); /* no holes are left */
  assert_int_equal(missed(r), 0);
  void *more = iso__heap_alloc(heap, 4096, NULL), *small = iso__heap_alloc(heap, 64, NULL);
  const iso__owner before = iso__owner_enter(ISO__OWNER_KEPT);
  void *kept = iso__heap_alloc(heap, 4096, NULL);
  iso__owner_leave(before);
  if (HAS_REGIONS) assert_int_equal(missed(r), 1);
  assert_true(iso__heap_info(heap).live_bytes > live);
  iso__heap_free(heap, more, 4096), iso__heap_free(heap, small, 64), iso__heap_free(heap, kept, 4096);
  assert_ptr_equal(iso__region_enter(NULL), r);
  iso__region_free(r);
  if (HAS_REGIONS) assert_int_equal(iso__heap_info(heap).live_bytes, live); /* a block of it is still in use */
  iso__heap_free(heap, whole, REGION_BYTES - 4 * ISO__ALIGNMENT);
  assert_int_equal(iso__heap_info(heap).live_bytes, 0);
  iso__heap_release(heap);
  assert_int_equal(s.n_blocks, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes),
                                     cmocka_unit_test(test_owners),
                                     cmocka_unit_test(test_counts),
                                     cmocka_unit_test(test_limit),
                                     cmocka_unit_test(test_source_exhausted),
                                     cmocka_unit_test(test_fail_at),
                                     cmocka_unit_test(test_threads),
                                     cmocka_unit_test(test_region)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
