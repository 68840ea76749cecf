/* lock.h: lockfiles in memory.
 *
 *   isobit lock 1
 *   conv2d.fwd f32 n64 c64 h56 w56 k64 r3 s3 p1 -> cpu.avx512.conv_igemm@1 class ordered ws 1.2MiB
 *
 * Sorted text, one plan a line; lines that start with # are remarks. A problem may have several lines: parts of a model
 * under different policies. The workspace is for readers only, since it follows from the number of threads. */
#ifndef ISO_PLAN_LOCK_H
#define ISO_PLAN_LOCK_H
#include <stdatomic.h>
#include "base/hash.h"
#include "plan/plan.h"

#define ISO__LOCK_HEADER "isobit lock 1"

typedef struct iso__lock_line {
  int number; /* in the file */
  int revision;
  const char *problem, *engine, *class_name, *workspace; /* inside the lock's text */
  iso__hash key; /* of the problem's text as this build prints it; of the text itself where it can't read it */
} iso__lock_line;

typedef struct iso__lock {
  atomic_int n_refs;
  iso__heap *heap;
  char *text;
  size_t n_text_bytes;
  iso__lock_line *line; /* by key, then number */
  size_t n_lines, capacity;
  iso__hash hash; /* of all plans */
} iso__lock;

/* NULL with ISO_CORRUPT, which names line and content, or ISO_OUT_OF_MEMORY. */
iso__lock *iso__lock_parse(iso_context *ctx, const char *name, const void *bytes, size_t n);
iso__lock *iso__lock_open(iso_context *ctx, const char *path);
void iso__lock_retain(iso__lock *lock);
void iso__lock_release(iso__lock *lock); /* NULL is fine */
/* From now on the context's; NULL: none. Takes the reference. */
void iso__lock_use(iso_context *ctx, iso__lock *lock);
/* The plans used, as a lockfile's *n bytes in a block of *n_block of the context's heap; NULL with the error kept. */
char *iso__lock_print(iso_context *ctx, size_t *n, size_t *n_block);
/* The lines of a problem: the first, and how many. */
size_t iso__lock_find(const iso__lock *lock, const char *problem_text, const iso__lock_line **first);
#endif
