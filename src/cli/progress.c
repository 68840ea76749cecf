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

/* ", M:SS left", or nothing as long as the first twentieth, which tunes and warms up, says little about the rest. */
static void format_left(const progress *p, char *text, size_t n_bytes) {
  const double elapsed = (double)(now_ns() - p->begin_ns) / 1e9;
  *text = 0;
  if (p->done < (p->n + 19) / 20) return;
  const int left = (int)(elapsed * (double)(p->n - p->done) / (double)p->done);
  snprintf(text, n_bytes, ", %d:%02d left", left / 60, left % 60);
}

static void show(const progress *p, const char *note) {
  const double percent = 100.0 * (double)p->done / (double)p->n;
  char left[32];
  format_left(p, left, sizeof left);
  if (!note) note = "";
  if (!p->terminal) {
    fprintf(stderr, "%s %3.0f %%%s  %s\n", p->label, percent, left, note);
    return;
  }
  enum { WIDTH = 30 };
  const int filled = (int)(WIDTH * p->done / p->n);
  fprintf(stderr, "\r%s [", p->label);
  for (int i = 0; i < WIDTH; i++) fputs(i < filled ? "█" : "·", stderr);
  fprintf(stderr, "] %3.0f %%%s  %-44.44s", percent, left, note);
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
