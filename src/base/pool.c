/* pool.c: fork-join with one word of work.
 *
 * `n_left` counts the tasks that nobody has taken yet; a thread takes one by lowering it with compare-and-swap, and
 * only then reads the job. The job cannot change while a taken task is unfinished, so no generation number is needed,
 * and a worker that sleeps or was preempted delays nobody: the caller takes the tasks itself and waits only for those
 * that others have really begun.
 *
 * Idle workers spin for a few dozen microseconds, because the next fork of a training step usually comes sooner than
 * that and waking a thread costs more; then they sleep. With more threads than cores, waiting gives the core away all
 * the time, as many workers as there are cores wait awake, and the others sleep until one that found several tasks
 * wakes the next: short jobs then never pay for threads that could only take turns. */
#include "base/pool.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/context.h"
#include "base/cpu.h"
#include "base/fenv.h"

enum { SPIN_NS = 40000, PAUSES_BETWEEN_CLOCKS = 16, LINE_BYTES = 64 };

typedef struct worker {
  iso__pool *pool;
  pthread_t thread;
  int index;
} worker;

struct iso__pool {
  /* Each group on a cache line of its own: spinners read the first, finishers write the second. */
  _Alignas(LINE_BYTES) atomic_uint n_left;
  _Alignas(LINE_BYTES) atomic_uint n_done;
  _Alignas(LINE_BYTES) iso__task_fn *fn;
  void *arg;
  unsigned n_tasks;
  _Alignas(LINE_BYTES) atomic_int n_sleeping;
  atomic_bool caller_sleeps, stop;
  pthread_mutex_t mutex;
  pthread_cond_t wake, done;
  int n_threads, n_cores;
  worker *workers;
};

/* The pool whose task this thread runs, and its number there: a nested call runs inline. */
static _Thread_local iso__pool *current_pool;
static _Thread_local int current_thread;
static _Thread_local bool inside_task;

static inline void cpu_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

/* Restores the caller's environment whatever the last task left behind. */
static void fenv_restore(iso__fenv saved) {
  iso__fenv_enter();
  iso__fenv_leave(saved);
}

static bool is_crowded(const iso__pool *pool) { return pool->n_threads > pool->n_cores; }

static bool take(iso__pool *pool, unsigned *n_left) {
  unsigned n = atomic_load_explicit(&pool->n_left, memory_order_acquire);
  while (n)
    if (atomic_compare_exchange_weak_explicit(&pool->n_left, &n, n - 1, memory_order_acq_rel, memory_order_acquire)) {
      *n_left = n;
      return true;
    }
  return false;
}

static void wake_workers(iso__pool *pool, int n_wanted) {
  int n_sleeping = atomic_load(&pool->n_sleeping);
  if (n_sleeping == 0) return;
  pthread_mutex_lock(&pool->mutex);
  if (n_wanted >= n_sleeping) pthread_cond_broadcast(&pool->wake);
  else
    for (int i = 0; i < n_wanted; i++) pthread_cond_signal(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
}

/* Takes tasks until none is left; returns whether this finished the job. */
static bool work(iso__pool *pool, int thread) {
  unsigned n_left, n_mine = 0, n_tasks = 0;
  while (take(pool, &n_left)) {
    if (is_crowded(pool) && n_mine == 0 && thread != 0 && n_left > 1) wake_workers(pool, 1);
    n_tasks = pool->n_tasks;
    iso__fenv_enter(); /* anew for every task: the one before may have been a guest's that changed it */
    pool->fn(pool->arg, (int)(n_tasks - n_left), thread);
    n_mine++;
  }
  return n_mine && atomic_fetch_add(&pool->n_done, n_mine) + n_mine == n_tasks;
}

static bool has_work(iso__pool *pool) {
  return atomic_load_explicit(&pool->n_left, memory_order_acquire) != 0 || atomic_load(&pool->stop);
}

static bool is_done(iso__pool *pool) {
  return atomic_load_explicit(&pool->n_done, memory_order_acquire) == pool->n_tasks;
}

/* Whether `ready` came true while spinning. */
static bool spin_until(iso__pool *pool, bool (*ready)(iso__pool *)) {
  if (ready(pool)) return true;
  uint64_t start = iso__clock_ns();
  do
    for (int i = 0; i < PAUSES_BETWEEN_CLOCKS; i++) {
      if (is_crowded(pool)) sched_yield();
      else cpu_pause();
      if (ready(pool)) return true;
    }
  while (iso__clock_ns() - start < SPIN_NS);
  return false;
}

static void sleep_until_work(iso__pool *pool) {
  pthread_mutex_lock(&pool->mutex);
  atomic_fetch_add(&pool->n_sleeping, 1); /* before the look at n_left: run() stores that before it looks here */
  while (atomic_load(&pool->n_left) == 0 && !atomic_load(&pool->stop)) pthread_cond_wait(&pool->wake, &pool->mutex);
  atomic_fetch_sub(&pool->n_sleeping, 1);
  pthread_mutex_unlock(&pool->mutex);
}

static void sleep_until_done(iso__pool *pool) {
  pthread_mutex_lock(&pool->mutex);
  atomic_store(&pool->caller_sleeps, true);
  while (atomic_load(&pool->n_done) != pool->n_tasks) pthread_cond_wait(&pool->done, &pool->mutex);
  atomic_store(&pool->caller_sleeps, false);
  pthread_mutex_unlock(&pool->mutex);
}

static void *worker_main(void *arg) {
  worker *self = arg;
  iso__pool *pool = self->pool;
  current_pool = pool;
  current_thread = self->index;
  inside_task = true;
  while (!atomic_load(&pool->stop)) {
    if (work(pool, self->index) && atomic_load(&pool->caller_sleeps)) {
      pthread_mutex_lock(&pool->mutex);
      pthread_cond_signal(&pool->done);
      pthread_mutex_unlock(&pool->mutex);
    }
    bool waits_awake = self->index < pool->n_cores;
    if (!waits_awake || !spin_until(pool, has_work)) sleep_until_work(pool);
  }
  return NULL;
}

static void stop_workers(iso__pool *pool, int n_started) {
  pthread_mutex_lock(&pool->mutex);
  atomic_store(&pool->stop, true);
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
  for (int i = 0; i < n_started; i++) pthread_join(pool->workers[i].thread, NULL);
}

/* Workers take no signals: the host's handlers run on the host's threads. */
static int start_workers(iso__pool *pool) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int n_started = 0;
  for (; n_started < pool->n_threads - 1; n_started++) {
    worker *w = &pool->workers[n_started];
    *w = (worker){.pool = pool, .index = n_started + 1};
    if (pthread_create(&w->thread, NULL, worker_main, w) != 0) break;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return n_started;
}

iso__pool *iso__pool_new(int n_threads) {
  if (n_threads < 1) n_threads = 1;
  iso__pool *pool = aligned_alloc(LINE_BYTES, sizeof *pool);
  worker *workers = calloc((size_t)n_threads, sizeof *workers);
  if (!pool || !workers) {
    free(pool);
    free(workers);
    return NULL;
  }
  *pool = (iso__pool){.n_threads = n_threads, .n_cores = iso__cpu()->n_cores, .workers = workers};
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->wake, NULL);
  pthread_cond_init(&pool->done, NULL);
  int n_started = start_workers(pool);
  if (n_started == n_threads - 1) return pool;
  pool->n_threads = n_started + 1;
  iso__pool_free(pool);
  return NULL;
}

void iso__pool_free(iso__pool *pool) {
  if (!pool) return;
  stop_workers(pool, pool->n_threads - 1);
  pthread_mutex_destroy(&pool->mutex);
  pthread_cond_destroy(&pool->wake);
  pthread_cond_destroy(&pool->done);
  free(pool->workers);
  free(pool);
}

/* In order on this thread. Inside a task of the same pool it keeps its number, so that scratch indexed by thread stays
 * apart; anywhere else it is that call's thread 0. */
static void run_inline(iso__pool *pool, int n_tasks, iso__task_fn *fn, void *arg) {
  int thread = inside_task && pool && pool == current_pool ? current_thread : 0;
  iso__fenv saved = iso__fenv_enter();
  for (int i = 0; i < n_tasks; i++) {
    iso__fenv_enter();
    fn(arg, i, thread);
  }
  fenv_restore(saved);
}

void iso__pool_run(iso__pool *pool, int n_tasks, iso__task_fn *fn, void *arg) {
  if (n_tasks <= 0) return;
  if (!pool || pool->n_threads == 1 || n_tasks == 1 || inside_task) {
    run_inline(pool, n_tasks, fn, arg);
    return;
  }
  iso__fenv saved = iso__fenv_enter();
  pool->fn = fn;
  pool->arg = arg;
  pool->n_tasks = (unsigned)n_tasks;
  atomic_store_explicit(&pool->n_done, 0, memory_order_relaxed);
  atomic_store(&pool->n_left, (unsigned)n_tasks);
  if (!is_crowded(pool)) wake_workers(pool, n_tasks - 1);
  else if (atomic_load(&pool->n_sleeping) == pool->n_threads - 1)
    wake_workers(pool, 1); /* the others are woken in a chain */

  current_pool = pool;
  current_thread = 0;
  inside_task = true;
  bool finished = work(pool, 0);
  inside_task = false;
  current_pool = NULL;
  if (!finished && !spin_until(pool, is_done)) sleep_until_done(pool);
  fenv_restore(saved);
}

void iso__parallel(iso_context *ctx, int n_tasks, iso__task_fn *fn, void *arg) {
  iso__pool_run(ctx->pool, n_tasks, fn, arg);
}

typedef struct range_job {
  iso__range_fn *fn;
  void *arg;
  int64_t n, step;
} range_job;

static void range_task(void *arg, int task, int thread) {
  const range_job *job = arg;
  int64_t begin = task * job->step;
  int64_t end = job->n - begin < job->step ? job->n : begin + job->step;
  job->fn(job->arg, begin, end, thread);
}

void iso__parallel_range(iso_context *ctx, int64_t n, int64_t grain, int64_t multiple, iso__range_fn *fn, void *arg) {
  if (n <= 0) return;
  if (multiple < 1) multiple = 1;
  int64_t n_ranges = ctx->pool && !inside_task ? ctx->n_threads : 1;
  int64_t step = (n - 1) / n_ranges + 1;
  if (step < grain) step = grain;
  step = ((step - 1) / multiple + 1) * multiple;
  range_job job = {fn, arg, n, step};
  iso__pool_run(ctx->pool, (int)((n - 1) / step + 1), range_task, &job);
}
