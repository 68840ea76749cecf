/* ring.c: a loader's threads. The consumer fills in what a batch is to hold and gives it memory; a worker takes the
 * oldest such cell and makes it. One mutex and two conditions: a batch takes far longer than they do. */
#include "data/feed.h"
#include <signal.h>
#include "base/fenv.h"
#include "base/owner.h"

/* A new thread inherits its maker's floating-point mode, so each sets its own. */
static void *work(void *arg) {
  iso__ring *ring = arg;
  iso__fenv_enter();
  iso__owner_enter(ISO__OWNER_DATA);
  pthread_mutex_lock(&ring->mutex);
  for (;;) {
    while (!ring->stop && ring->next == ring->tail) pthread_cond_wait(&ring->work, &ring->mutex);
    if (ring->stop) break;
    iso__cell *cell = iso__ring_cell(ring, ring->next++);
    ring->n_busy++;
    pthread_mutex_unlock(&ring->mutex);
    ring->make(ring->loader, cell);
    pthread_mutex_lock(&ring->mutex);
    ring->n_busy--;
    cell->ready = true;
    pthread_cond_broadcast(&ring->done);
  }
  pthread_mutex_unlock(&ring->mutex);
  return NULL;
}

/* Signals stay with the program's own threads. */
bool iso__ring_start(iso__ring *ring, int n_workers, int *error) {
  sigset_t all, saved;
  pthread_mutex_init(&ring->mutex, NULL);
  pthread_cond_init(&ring->work, NULL);
  pthread_cond_init(&ring->done, NULL);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &saved);
  *error = 0;
  while (*error == 0 && ring->n_workers < n_workers) {
    *error = pthread_create(&ring->workers[ring->n_workers], NULL, work, ring);
    if (*error == 0) ring->n_workers++;
  }
  pthread_sigmask(SIG_SETMASK, &saved, NULL);
  if (*error != 0) iso__ring_stop(ring);
  return *error == 0;
}

void iso__ring_stop(iso__ring *ring) {
  pthread_mutex_lock(&ring->mutex);
  ring->stop = true;
  pthread_cond_broadcast(&ring->work);
  pthread_mutex_unlock(&ring->mutex);
  for (int i = 0; i < ring->n_workers; i++) pthread_join(ring->workers[i], NULL);
  pthread_cond_destroy(&ring->done);
  pthread_cond_destroy(&ring->work);
  pthread_mutex_destroy(&ring->mutex);
}

void iso__ring_push(iso__ring *ring) {
  iso__cell *cell = iso__ring_cell(ring, ring->tail);
  if (ring->n_workers == 0) ring->make(ring->loader, cell);
  pthread_mutex_lock(&ring->mutex);
  cell->ready = ring->n_workers == 0;
  ring->tail++;
  if (ring->n_workers == 0) ring->next = ring->tail;
  pthread_cond_signal(&ring->work);
  pthread_mutex_unlock(&ring->mutex);
}

void iso__ring_wait(iso__ring *ring) {
  pthread_mutex_lock(&ring->mutex);
  while (!iso__ring_cell(ring, ring->head)->ready) pthread_cond_wait(&ring->done, &ring->mutex);
  pthread_mutex_unlock(&ring->mutex);
}

bool iso__ring_is_ready(iso__ring *ring, const iso__cell *cell) {
  pthread_mutex_lock(&ring->mutex);
  const bool ready = cell->ready;
  pthread_mutex_unlock(&ring->mutex);
  return ready;
}

void iso__ring_settle(iso__ring *ring) {
  pthread_mutex_lock(&ring->mutex);
  ring->next = ring->tail;
  while (ring->n_busy > 0) pthread_cond_wait(&ring->done, &ring->mutex);
  pthread_mutex_unlock(&ring->mutex);
}
