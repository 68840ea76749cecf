/* test_cuda_memory.c: the caching allocator of a CUDA device, over a source of the host's memory: reuse, splitting and
 * joining, the hard limit, what goes back to the driver when it refuses, and many random requests without an overlap;
 * and the pools of captures in it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <pthread.h>
#include "device/cuda/pool.h"

enum { MIB = 1 << 20 };

typedef struct driver {
  size_t left;
  int n_taken, n_given;
  struct {
    void *segment;
    size_t n_bytes;
  } list[256];
} driver;

static void *take(void *user, size_t n_bytes) {
  driver *d = user;
  if (n_bytes > d->left) return NULL;
  void *segment = aligned_alloc(512, n_bytes);
  assert_non_null(segment);
  d->left -= n_bytes;
  d->list[d->n_taken].segment = segment, d->list[d->n_taken++].n_bytes = n_bytes;
  assert_in_range(d->n_taken, 1, 255);
  return segment;
}
static void give(void *user, void *segment) {
  driver *d = user;
  for (int i = 0; i < d->n_taken; i++)
    if (d->list[i].segment == segment) d->left += d->list[i].n_bytes, d->list[i].segment = NULL;
  free(segment);
  d->n_given++;
}

static iso__cuda_cache *open_cache(driver *d, size_t n_bytes) {
  *d = (driver){.left = n_bytes};
  iso__cuda_cache *c = iso__cuda_cache_new(&(iso__cuda_source){.take = take, .give = give, .user = d});
  assert_non_null(c);
  return c;
}
static void close_cache(driver *d, iso__cuda_cache *c) {
  iso__cuda_cache_free(c);
  assert_int_equal(d->n_taken, d->n_given);
}

static void test_reuse(void **state) {
  (void)state;
  driver d;
  iso__cuda_cache *c = open_cache(&d, 1024 * (size_t)MIB);
  iso_status status;
  void *a = iso__cuda_cache_alloc(c, 100, 0, &status), *b = iso__cuda_cache_alloc(c, 0, 0, &status);
  assert_non_null(a), assert_non_null(b), assert_ptr_not_equal(a, b);
  assert_int_equal((uintptr_t)a % 512, 0);
  assert_int_equal(d.n_taken, 1); /* both lie in one segment */
  assert_int_equal(iso__cuda_cache_info(c).live_bytes, 1024);
  iso__cuda_cache_release(c, a);
  assert_ptr_equal(iso__cuda_cache_alloc(c, 512, 0, &status), a);
  void *large = iso__cuda_cache_alloc(c, 5 * MIB, 0, &status);
  assert_int_equal(iso__cuda_cache_info(c).reserved_bytes, 8 * MIB); /* 2, and 5 rounded to 6 */
  iso__cuda_cache_release(c, large);
  assert_ptr_equal(iso__cuda_cache_alloc(c, 6 * MIB, 0, &status), large);
  assert_int_equal(d.n_taken, 2);
  assert_int_equal(iso__cuda_cache_info(c).peak_bytes, 1024 + 6 * MIB);
  iso__cuda_cache_release(c, NULL);
  close_cache(&d, c);
}

static void test_neighbours_join(void **state) {
  (void)state;
  driver d;
  iso__cuda_cache *c = open_cache(&d, 64 * MIB);
  iso_status status;
  char *whole = iso__cuda_cache_alloc(c, 12 * MIB, 0, &status);
  iso__cuda_cache_release(c, whole);
  char *part[3];
  for (int i = 0; i < 3; i++) part[i] = iso__cuda_cache_alloc(c, 4 * MIB, 0, &status);
  for (int i = 0; i < 3; i++) assert_ptr_equal(part[i], whole + i * 4 * MIB);
  iso__cuda_cache_release(c, part[0]), iso__cuda_cache_release(c, part[2]);
  assert_int_equal(iso__cuda_cache_info(c).largest_free_bytes, 4 * MIB);
  iso__cuda_cache_release(c, part[1]); /* joins both sides */
  assert_int_equal(iso__cuda_cache_info(c).largest_free_bytes, 12 * MIB);
  assert_ptr_equal(iso__cuda_cache_alloc(c, 12 * MIB, 0, &status), whole);
  close_cache(&d, c);
}

/* Blocks are their thread's owner's until they are freed or become another's; the peak remembers whose they were. */
static void test_owners(void **state) {
  (void)state;
  driver d;
  iso__cuda_cache *c = open_cache(&d, 64 * MIB);
  iso_status status;
  void *activations = iso__cuda_cache_alloc(c, 2 * MIB, 0, &status);
  iso__owner before = iso__owner_enter(ISO__OWNER_GRADIENTS);
  void *gradients = iso__cuda_cache_alloc(c, 4 * MIB, 0, &status);
  assert_int_equal(iso__owner_now(), ISO__OWNER_GRADIENTS);
  iso__owner_leave(before);
  iso__cuda_cache_set_owner(c, activations, ISO__OWNER_WEIGHTS);
  void *small = iso__cuda_cache_alloc(c, 512, 0, &status);
  iso__cuda_cache_set_owner(c, &d, ISO__OWNER_WORKSPACE); /* none of the cache's */
  iso__cuda_owners o = iso__cuda_cache_owners(c);
  assert_int_equal(o.now[ISO__OWNER_WEIGHTS], 2 * MIB);
  assert_int_equal(o.now[ISO__OWNER_GRADIENTS], 4 * MIB);
  assert_int_equal(o.now[ISO__OWNER_ACTIVATIONS], 512);
  assert_int_equal(o.now[ISO__OWNER_WORKSPACE], 0);
  assert_memory_equal(o.now, o.at_peak, sizeof o.now);
  iso__cuda_cache_release(c, gradients);
  o = iso__cuda_cache_owners(c);
  assert_int_equal(o.now[ISO__OWNER_GRADIENTS], 0);
  assert_int_equal(o.at_peak[ISO__OWNER_GRADIENTS], 4 * MIB);
  iso__cuda_cache_reset_peak(c);
  assert_int_equal(iso__cuda_cache_owners(c).at_peak[ISO__OWNER_GRADIENTS], 0);
  iso__cuda_cache_release(c, activations), iso__cuda_cache_release(c, small);
  o = iso__cuda_cache_owners(c);
  for (int i = 0; i < ISO__N_OWNERS; i++) assert_int_equal(o.now[i], 0);
  close_cache(&d, c);
}

static void test_limit(void **state) {
  (void)state;
  driver d;
  iso__cuda_cache *c = open_cache(&d, 64 * MIB);
  iso_status status;
  void *a = iso__cuda_cache_alloc(c, 10 * MIB, 16 * MIB, &status);
  assert_non_null(a);
  assert_null(iso__cuda_cache_alloc(c, 10 * MIB, 16 * MIB, &status));
  assert_int_equal(status, ISO_MEMORY_LIMIT);
  assert_null(iso__cuda_cache_alloc(c, SIZE_MAX - 5, 16 * MIB, &status));
  assert_int_equal(status, ISO_OUT_OF_MEMORY);
  iso__cuda_cache_release(c, a);
  assert_non_null(iso__cuda_cache_alloc(c, 14 * MIB, 16 * MIB, &status)); /* the free segment of 10 went back first */
  assert_int_equal(status, ISO_OK);
  assert_true(iso__cuda_cache_info(c).reserved_bytes <= 16 * MIB);
  close_cache(&d, c);
}

static void test_the_driver_refuses(void **state) {
  (void)state;
  driver d;
  iso__cuda_cache *c = open_cache(&d, 20 * MIB);
  iso_status status;
  void *a = iso__cuda_cache_alloc(c, 12 * MIB, 0, &status);
  assert_null(iso__cuda_cache_alloc(c, 12 * MIB, 0, &status));
  assert_int_equal(status, ISO_OUT_OF_MEMORY);
  iso__cuda_cache_release(c, a);
  assert_non_null(iso__cuda_cache_alloc(c, 18 * MIB, 0, &status)); /* what was kept is given back for it */
  assert_int_equal(d.n_given, 1);
  close_cache(&d, c);
}

static void test_no_two_overlap(void **state) {
  (void)state;
  enum { N = 200 };
  driver d;
  iso__cuda_cache *c = open_cache(&d, 512 * (size_t)MIB);
  unsigned char *held[N] = {NULL};
  size_t size[N] = {0};
  uint64_t seed = 1;
  for (int round = 0; round < 20000; round++) {
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    const int i = (int)(seed >> 33) % N;
    if (held[i]) { /* still as it was filled */
      assert_int_equal(held[i][0], i), assert_int_equal(held[i][size[i] - 1], i);
      iso__cuda_cache_release(c, held[i]);
      held[i] = NULL;
      continue;
    }
    size[i] = 1 + (size_t)(seed >> 20) % ((seed >> 60) ? 3000 : 3 * MIB);
    iso_status status;
    if (!(held[i] = iso__cuda_cache_alloc(c, size[i], 0, &status))) continue;
    held[i][0] = held[i][size[i] - 1] = (unsigned char)i;
  }
  for (int i = 0; i < N; i++) iso__cuda_cache_release(c, held[i]);
  assert_int_equal(iso__cuda_cache_info(c).live_bytes, 0);
  iso__cuda_cache_trim(c);
  assert_int_equal(iso__cuda_cache_info(c).reserved_bytes, 0); /* all blocks had joined */
  close_cache(&d, c);
}

/* ---- pools ---- */

static void test_a_capture_keeps_its_addresses(void **state) {
  (void)state;
  driver d;
  iso__cuda_cache *c = open_cache(&d, 256 * (size_t)MIB);
  iso__cuda_pools *pools = iso__cuda_pools_new(c, c);
  iso_status status;
  iso__cuda_pools_release(pools, iso__cuda_pools_alloc(pools, 20 * MIB, 0, &status)); /* of the warm-up */
  const int n_taken = d.n_taken;
  assert_false(iso__cuda_pool_serves(pools));
  iso__cuda_pool *pool = iso__cuda_pool_begin(pools, &status);
  assert_non_null(pool);
  assert_true(iso__cuda_pool_serves(pools));
  assert_null(iso__cuda_pool_begin(pools, &status)); /* one at a time */
  assert_int_equal(status, ISO_STATE);
  void *a = iso__cuda_pools_alloc(pools, 6 * MIB, 0, &status);
  assert_int_equal(d.n_taken, n_taken); /* what the warm-up left is used again */
  iso__cuda_pools_release(pools, a);
  assert_ptr_equal(iso__cuda_pools_alloc(pools, 5 * MIB, 0, &status), a); /* again, inside the capture */
  void *freed = iso__cuda_pools_alloc(pools, 4 * MIB, 0, &status),
       *kept = iso__cuda_pools_alloc(pools, 100, 0, &status);
  iso__cuda_pools_release(pools, freed);
  iso__cuda_pool_end(pools);
  assert_false(iso__cuda_pool_serves(pools));
  /* Whatever is asked for now lies elsewhere, though the capture's blocks are free. */
  assert_int_equal(iso__cuda_cache_info(c).live_bytes, (6 + 4 + 2) * MIB); /* a pool counts whole */
  iso__cuda_pools_release(pools, a);
  char *others[8];
  for (int i = 0; i < 8; i++) {
    others[i] = iso__cuda_pools_alloc(pools, 4 * MIB, 0, &status);
    assert_true(others[i] + 4 * MIB <= (char *)a || others[i] >= (char *)a + 6 * MIB);
    assert_true(others[i] + 4 * MIB <= (char *)freed || others[i] >= (char *)freed + 4 * MIB);
  }
  for (int i = 0; i < 8; i++) iso__cuda_pools_release(pools, others[i]);
  /* The graph goes, a tensor stays. */
  iso__cuda_pool_abandon(pools, pool);
  assert_int_equal(iso__cuda_cache_info(c).live_bytes, (6 + 4 + 2) * MIB);
  iso__cuda_pools_release(pools, kept);
  assert_int_equal(iso__cuda_cache_info(c).live_bytes, 0);
  iso__cuda_cache_trim(c);
  assert_int_equal(iso__cuda_cache_info(c).reserved_bytes, 0);
  iso__cuda_pools_free(pools);
  close_cache(&d, c);
}

static void test_a_pool_counts_for_the_limit(void **state) {
  (void)state;
  driver d;
  iso__cuda_cache *c = open_cache(&d, 256 * (size_t)MIB);
  iso__cuda_pools *pools = iso__cuda_pools_new(c, c);
  iso_status status;
  iso__cuda_pool *pool = iso__cuda_pool_begin(pools, &status);
  void *a = iso__cuda_pools_alloc(pools, 12 * MIB, 16 * MIB, &status);
  assert_non_null(a);
  iso__cuda_pools_release(pools, a);
  assert_null(iso__cuda_pools_alloc(pools, 14 * MIB, 16 * MIB, &status)); /* nothing of a pool goes back for another */
  assert_int_equal(status, ISO_MEMORY_LIMIT);
  iso__cuda_pool_end(pools);
  assert_null(iso__cuda_pools_alloc(pools, 6 * MIB, 16 * MIB, &status));
  assert_int_equal(status, ISO_MEMORY_LIMIT);
  iso__cuda_pool_abandon(pools, pool); /* nothing of it is in use */
  assert_non_null(iso__cuda_pools_alloc(pools, 6 * MIB, 16 * MIB, &status));
  iso__cuda_pools_free(pools);
  close_cache(&d, c);
}

static void *ask_elsewhere(void *user) {
  iso__cuda_pools *pools = user;
  return iso__cuda_pool_serves(pools) ? NULL : iso__cuda_pools_alloc(pools, 3 * MIB, 0, NULL);
}

static void test_other_threads_are_not_served(void **state) {
  (void)state;
  driver d;
  iso__cuda_cache *c = open_cache(&d, 256 * (size_t)MIB);
  iso__cuda_pools *pools = iso__cuda_pools_new(c, c);
  iso_status status;
  iso__cuda_pool *pool = iso__cuda_pool_begin(pools, &status);
  pthread_t thread;
  void *block;
  assert_int_equal(pthread_create(&thread, NULL, ask_elsewhere, pools), 0);
  assert_int_equal(pthread_join(thread, &block), 0);
  assert_non_null(block);
  assert_true(iso__cuda_cache_release(c, block)); /* the cache's own */
  assert_false(iso__cuda_cache_release(c, block));
  iso__cuda_pool_end(pools);
  iso__cuda_pool_abandon(pools, pool);
  iso__cuda_pools_free(pools);
  close_cache(&d, c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_reuse),
                                     cmocka_unit_test(test_neighbours_join),
                                     cmocka_unit_test(test_owners),
                                     cmocka_unit_test(test_limit),
                                     cmocka_unit_test(test_the_driver_refuses),
                                     cmocka_unit_test(test_no_two_overlap),
                                     cmocka_unit_test(test_a_capture_keeps_its_addresses),
                                     cmocka_unit_test(test_a_pool_counts_for_the_limit),
                                     cmocka_unit_test(test_other_threads_are_not_served)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
