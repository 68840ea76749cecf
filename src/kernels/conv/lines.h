/* lines.h: calling memory that will be read soon into L2, a few lines at a time, while products run. */
#ifndef ISO_KERNELS_CONV_LINES_H
#define ISO_KERNELS_CONV_LINES_H
#include <stdint.h>

typedef struct iso__conv_lines {
  const char *at, *end;
  int64_t step; /* bytes at a time */
} iso__conv_lines;

/* [begin, end), to be passed in n_steps steps. */
static inline iso__conv_lines iso__conv_lines_of(const void *begin, const void *end, int64_t n_steps) {
  iso__conv_lines l = {.at = begin, .end = end};
  const int64_t n_bytes = l.end - l.at;
  l.step = n_bytes > 0 && n_steps > 0 ? (n_bytes / n_steps / 64 + 1) * 64 : 0;
  return l;
}
static inline void iso__conv_lines_step(iso__conv_lines *l) {
  const char *stop = l->end - l->at < l->step ? l->end : l->at + l->step;
  for (; l->at < stop; l->at += 64) __builtin_prefetch(l->at, 0, 2);
}
#endif
