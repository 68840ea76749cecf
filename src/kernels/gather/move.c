/* move.c: gathers of any dtype in plain C: long rows by memcpy, which is as fast as memory; single elements by loads of
 * their size, whose cost is the cache misses. Threads share rows (outer,n). */
#include "base/pool.h"
#include "kernels/gather/gather.h"
#include "kernels/sizes.h"

enum { GRAIN_BYTES = 65536 };

typedef struct job {
  const iso_gather_problem *p;
  const iso_gather_args *a;
  size_t item;
} job;

/* Rows begin … end−1 of (outer,n), each of `inner` elements of one unsigned type. */
#define MOVE(type)                                                                                                     \
  static void move_##type(const iso_gather_problem *p, const iso_gather_args *a, int64_t begin, int64_t end) {         \
    const type *x = a->x;                                                                                              \
    type *y = (type *)a->y + begin * p->inner;                                                                         \
    for (int64_t row = begin; row < end;) {                                                                            \
      const int64_t o = row / p->n, stop = iso__min(end, (o + 1) * p->n);                                              \
      const type *from = x + o * p->extent * p->inner;                                                                 \
      if (p->each)                                                                                                     \
        for (; row < stop; row++, y += p->inner) {                                                                     \
          const int64_t *index = a->index + row * p->inner;                                                            \
          for (int64_t i = 0; i < p->inner; i++) y[i] = from[index[i] * p->inner + i];                                 \
        }                                                                                                              \
      else if (p->inner == 1)                                                                                          \
        for (const int64_t *index = a->index + (row - o * p->n); row < stop; row++) *y++ = from[*index++];             \
      else                                                                                                             \
        for (const int64_t *index = a->index + (row - o * p->n); row < stop; row++, index++, y += p->inner)            \
          memcpy(y, from + *index * p->inner, (size_t)p->inner * sizeof *y);                                           \
    }                                                                                                                  \
  }
MOVE(uint8_t)
MOVE(uint16_t)
MOVE(uint32_t)
MOVE(uint64_t)

static void move_rows(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  (void)thread;
  switch (j->item) {
  case 1: move_uint8_t(j->p, j->a, begin, end); break;
  case 2: move_uint16_t(j->p, j->a, begin, end); break;
  case 4: move_uint32_t(j->p, j->a, begin, end); break;
  default: move_uint64_t(j->p, j->a, begin, end); break;
  }
}

void iso__gather_run(const iso__call *call) {
  const iso_gather_problem *p = (const iso_gather_problem *)call->problem;
  job j = {.p = p, .a = call->args, .item = iso_dtype_size((iso_dtype)p->head.dtype)};
  if (p->inner == 0) return;
  const int64_t row_bytes = p->inner * (int64_t)j.item + (p->each ? 8 * p->inner : 8);
  iso__parallel_range(call->ctx, p->outer * p->n, iso__ceil_div(GRAIN_BYTES, row_bytes), 1, move_rows, &j);
}
