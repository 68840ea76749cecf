/* random_problem.h: seeded random problems of gemm and convolution as text: for `isobit bench --rule` and for the soak
 * of the engine tests. One (kind, seed, index) is one problem, everywhere. */
#ifndef ISO_CLI_RANDOM_PROBLEM_H
#define ISO_CLI_RANDOM_PROBLEM_H
#include <stddef.h>
#include <stdint.h>

typedef enum random_kind {
  RANDOM_LAYER, /* what networks ask for, at sizes that nobody chose: 20 thousand to 600 million operations */
  RANDOM_ODD    /* every attribute, small and uneven, now and then empty */
} random_kind;

/* "conv2d.fwd f32 n3 c17 …" */
void random_problem(random_kind kind, uint64_t seed, uint64_t index, char *text, size_t n_bytes);

#endif
