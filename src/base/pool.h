/* pool.h: a fork-join thread pool: workers spin briefly, then sleep; tasks are taken dynamically.
 *
 * Why our own and not OpenMP: every task must run in the default floating-point environment on every thread, waiting
 * must not depend on OMP_WAIT_POLICY (no environment variable is required for anything), a context owns exactly its
 * threads, and ThreadSanitizer understands it with any compiler. */
#ifndef ISO_BASE_POOL_H
#define ISO_BASE_POOL_H
#include <isobit/base.h>

typedef struct iso__pool iso__pool;
/* task in [0, n_tasks), thread in [0, n_threads): thread 0 is the caller. Runs in the default floating-point
 * environment. */
typedef void iso__task_fn(void *arg, int task, int thread);

iso__pool *iso__pool_new(int n_threads); /* NULL when threads or memory are missing */
void iso__pool_free(iso__pool *pool);
/* Runs every task and returns when all are done. pool NULL, or called from inside a task: in order on the caller. */
void iso__pool_run(iso__pool *pool, int n_tasks, iso__task_fn *fn, void *arg);

/* The context's pool; n_tasks of at least 1. Nothing that a task computes may depend on the thread it runs on. */
void iso__parallel(iso_context *ctx, int n_tasks, iso__task_fn *fn, void *arg);
/* Splits [0, n) into at most n_threads contiguous ranges of at least `grain`, multiples of `multiple` but for the last.
 */
typedef void iso__range_fn(void *arg, int64_t begin, int64_t end, int thread);
void iso__parallel_range(iso_context *ctx, int64_t n, int64_t grain, int64_t multiple, iso__range_fn *fn, void *arg);

#endif
