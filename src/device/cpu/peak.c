/* peak.c: runs the FMA kernels on as many threads as are asked for, all starting together. */
#include "device/cpu/peak.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "base/clock.h"

static const iso__peak_kernel *const kernels[] = {
    [ISO_ISA_SCALAR] = &iso__peak_scalar,
#if defined(__x86_64__)
    [ISO_ISA_AVX2] = &iso__peak_avx2,
    [ISO_ISA_AVX512] = &iso__peak_avx512,
#endif
};

/* x = x·factor + term tends to 1, a normal number for ever. Volatile, so that nothing is known when compiling. */
static volatile float factor = 0.5f, term = 0.5f;

enum { WAIT, GO, GIVE_UP };
typedef struct start_line {
  atomic_int signal, n_ready;
} start_line;

typedef struct runner {
  iso__peak_run *run;
  start_line *line;
  int64_t n_rounds;
  float result;
  pthread_t thread;
} runner;

static void *run_on_signal(void *arg) {
  runner *r = arg;
  atomic_fetch_add(&r->line->n_ready, 1);
  int signal;
  while ((signal = atomic_load(&r->line->signal)) == WAIT) sched_yield();
  if (signal == GO) r->result = r->run(r->n_rounds, factor, term);
  return NULL;
}

/* How long n_rounds take on n_threads threads, from the common start to the last one's end; 0: no threads. */
static double time_rounds(iso__peak_run *run, int n_threads, int64_t n_rounds) {
  runner *runners = calloc((size_t)n_threads, sizeof *runners);
  if (!runners) return 0;
  start_line line = {WAIT, 0};
  for (int i = 0; i < n_threads; i++) runners[i] = (runner){.run = run, .line = &line, .n_rounds = n_rounds};
  int n_started = 1;
  while (n_started < n_threads &&
         pthread_create(&runners[n_started].thread, NULL, run_on_signal, &runners[n_started]) == 0)
    n_started++;
  const bool complete = n_started == n_threads;
  while (atomic_load(&line.n_ready) < n_started - 1) sched_yield();
  const double begin = (double)iso__clock_ns();
  atomic_store(&line.signal, complete ? GO : GIVE_UP);
  run_on_signal(&runners[0]);
  for (int i = 1; i < n_started; i++) pthread_join(runners[i].thread, NULL);
  const double elapsed = (double)iso__clock_ns() - begin;
  free(runners);
  return complete ? elapsed : 0;
}

double iso__peak_measure(iso_isa isa, int n_threads, double slice_ms) {
  const iso__peak_kernel *kernel = kernels[isa];
  const int64_t probe = 20000;
  const double probe_ns = time_rounds(kernel->run, n_threads, probe);
  if (probe_ns <= 0) return 0;
  const int64_t n_rounds = (int64_t)((double)probe * slice_ms * 1e6 / probe_ns) + 1;
  const double ns = time_rounds(kernel->run, n_threads, n_rounds);
  return ns > 0 ? 2.0 * (double)ISO__PEAK_CHAINS * kernel->n_lanes * (double)n_rounds * n_threads / ns : 0;
}
