/* progress.c: a bar with the time left. */
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cli.h"

uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void progress_begin(progress *p, const char *label, uint64_t n, bool quiet) {
  *p = (progress){
      .label = label, .n = n ? n : 1, .begin_ns = now_ns(), .terminal = isatty(STDERR_FILENO), .quiet = quiet};
}

static void show(const progress *p, const char *note) {
  const double elapsed = (double)(now_ns() - p->begin_ns) / 1e9;
  const double left = p->done ? elapsed * (double)(p->n - p->done) / (double)p->done : 0;
  const int minutes = (int)(left / 60), seconds = (int)left % 60;
  if (!p->terminal) {
    fprintf(stderr, "%s %3.0f %%, %d:%02d left  %s\n", p->label, 100.0 * (double)p->done / (double)p->n, minutes,
            seconds, note ? note : "");
    return;
  }
  enum { WIDTH = 30 };
  const int filled = (int)(WIDTH * p->done / p->n);
  fprintf(stderr, "\r%s [", p->label);
  for (int i = 0; i < WIDTH; i++) fputs(i < filled ? "█" : "·", stderr);
  fprintf(stderr, "] %3.0f %%  %d:%02d left  %-44.44s", 100.0 * (double)p->done / (double)p->n, minutes, seconds,
          note ? note : "");
}

void progress_add(progress *p, uint64_t n, const char *note) {
  p->done = p->done + n < p->n ? p->done + n : p->n;
  const uint64_t now = now_ns();
  if (p->quiet || now - p->shown_ns < (p->terminal ? 100000000u : 10000000000u)) return;
  p->shown_ns = now;
  show(p, note);
}

void progress_end(progress *p) {
  if (!p->quiet && p->terminal) fprintf(stderr, "\r\033[K");
}
