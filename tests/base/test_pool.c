/* test_pool.c: every task once, on its own thread number, in the default floating-point environment, for 1 to 4 threads
 * (more than many machines have cores), ten thousand forks, with pauses long enough that workers fall asleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fenv.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include "base/context.h"
#include "base/cpu.h"
#include "base/fenv.h"
#include "base/pool.h"

enum { MAX_TASKS = 100 };

typedef struct job {
  int n_runs[MAX_TASKS]; /* plain: a task is one thread's */
  int n_threads;
  atomic_int n_running[8], n_bad;
} job;

static void count_task(void *arg, int task, int thread) {
  job *j = arg;
  if (thread < 0 || thread >= j->n_threads || atomic_fetch_add(&j->n_running[thread], 1) != 0) j->n_bad++;
  j->n_runs[task]++;
  atomic_fetch_sub(&j->n_running[thread], 1);
}

static void nap(long us) { nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL); }

static void test_every_task_once(void **state) {
  (void)state;
  for (int n_threads = 1; n_threads <= 4; n_threads++) {
    iso__pool *pool = iso__pool_new(n_threads);
    assert_non_null(pool);
    for (int fork = 0; fork < 10000; fork++) {
      job j = {.n_threads = n_threads};
      int n_tasks = fork % 37 == 0 ? MAX_TASKS : fork % 7;
      iso__pool_run(pool, n_tasks, count_task, &j);
      for (int i = 0; i < MAX_TASKS; i++) assert_int_equal(j.n_runs[i], i < n_tasks);
      assert_int_equal(j.n_bad, 0);
      if (fork % 500 == 0) nap(200);
    }
    iso__pool_free(pool);
  }
}

static void test_no_pool(void **state) {
  (void)state;
  job j = {.n_threads = 1};
  iso__pool_run(NULL, 9, count_task, &j);
  for (int i = 0; i < 9; i++) assert_int_equal(j.n_runs[i], 1);
  iso__pool_free(NULL);
}

/* ---- nested ---- */

typedef struct nested {
  iso__pool *pool;
  atomic_int n_inner, n_bad;
} nested;
typedef struct inner {
  nested *outer;
  int thread, next;
} inner;

static void inner_task(void *arg, int task, int thread) {
  inner *in = arg;
  if (task != in->next++ || thread != in->thread) in->outer->n_bad++;
  in->outer->n_inner++;
}

static void outer_task(void *arg, int task, int thread) {
  (void)task;
  nested *n = arg;
  inner in = {.outer = n, .thread = thread};
  iso__pool_run(n->pool, 5, inner_task, &in);
}

static void test_nested(void **state) {
  (void)state;
  nested n = {.pool = iso__pool_new(3)};
  for (int i = 0; i < 200; i++) iso__pool_run(n.pool, 8, outer_task, &n);
  assert_int_equal(n.n_inner, 200 * 8 * 5);
  assert_int_equal(n.n_bad, 0);
  iso__pool_free(n.pool);
}

/* ---- floating-point environment ---- */

static bool environment_is_default(void) {
  volatile float tiny = 0x1p-130f, one = 1.0f, eps = 0x1p-30f;
  return tiny * 0.5f == 0x1p-131f && one + eps == 1.0f;
}

static void poison(void) {
#if defined(__x86_64__)
  _mm_setcsr(0x1f80u | 0x8040u | 0x4000u); /* flush to zero, subnormals are zero, round upward */
#else
  fesetround(FE_UPWARD);
#endif
}

static void poisoning_task(void *arg, int task, int thread) {
  (void)task, (void)thread;
  atomic_int *n_bad = arg;
  if (!environment_is_default()) ++*n_bad;
  poison();
}

static void poisoning_range(void *arg, int64_t begin, int64_t end, int thread) {
  (void)begin, (void)end;
  poisoning_task(arg, 0, thread);
}

static void test_environment(void **state) {
  (void)state;
  iso_context *ctx;
  for (int n_threads = 1; n_threads <= 4; n_threads++) {
    assert_int_equal(iso__context_new(NULL, NULL, n_threads, ISO_ISA_AVX512, &ctx), ISO_OK);
    atomic_int n_bad = 0;
    for (int i = 0; i < 200; i++) {
      poison();
      iso__pool_run(ctx->pool, 1 + i % 9, poisoning_task, &n_bad);
      iso__parallel_range(ctx, 100, 1, 1, poisoning_range, &n_bad);
      bool restored = !environment_is_default();
      iso__fenv_enter();
      assert_true(restored);
      iso__pool_run(ctx->pool, 1 + i % 9, poisoning_task, &n_bad);
      assert_true(environment_is_default());
    }
    assert_int_equal(n_bad, 0);
    iso__context_free(ctx);
  }
}

/* ---- ranges ---- */

enum { MAX_N = 5000 };
typedef struct ranges {
  unsigned char hits[MAX_N];
  int64_t n, grain, multiple;
  atomic_int n_ranges, n_bad;
} ranges;

static void mark(void *arg, int64_t begin, int64_t end, int thread) {
  (void)thread;
  ranges *r = arg;
  if (begin >= end || begin % r->multiple != 0 || (end != r->n && (end % r->multiple != 0 || end - begin < r->grain)))
    r->n_bad++;
  for (int64_t i = begin; i < end; i++) r->hits[i]++;
  r->n_ranges++;
}

static void test_ranges(void **state) {
  (void)state;
  static const int64_t ns[] = {0, 1, 2, 63, 64, 65, 1000, 4999}, grains[] = {1, 10, 4096}, multiples[] = {1, 16, 64};
  for (int n_threads = 1; n_threads <= 4; n_threads++) {
    iso_context *ctx;
    assert_int_equal(iso__context_new(NULL, NULL, n_threads, ISO_ISA_AVX512, &ctx), ISO_OK);
    for (int i = 0; i < 8 * 3 * 3; i++) {
      ranges r = {.n = ns[i % 8], .grain = grains[i / 8 % 3], .multiple = multiples[i / 24]};
      iso__parallel_range(ctx, r.n, r.grain, r.multiple, mark, &r);
      for (int64_t k = 0; k < MAX_N; k++) assert_int_equal(r.hits[k], k < r.n);
      assert_int_equal(r.n_bad, 0);
      assert_true(r.n_ranges <= n_threads);
    }
    iso__context_free(ctx);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_task_once), cmocka_unit_test(test_no_pool),
                                     cmocka_unit_test(test_nested), cmocka_unit_test(test_environment),
                                     cmocka_unit_test(test_ranges)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
