/* hash_steps.h: two hash logs (iso_trainer_log_hashes) read side by side, a step at a time. */
#ifndef ISO_CLI_HASH_STEPS_H
#define ISO_CLI_HASH_STEPS_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct hash_line {
  uint64_t step;
  char name[256], gradient[33],
      weight[33]; /* names "start", "batch" and "loss" are no tensors (iso_trainer_log_hashes) */
} hash_line;

typedef struct hash_steps {
  FILE *recorded, *now;
  uint64_t line; /* of the recorded file, read last */
  bool has_ahead;
  hash_line ahead; /* of the recorded file, read but not used */
} hash_steps;

/* One line of a log, which is changed; false: it is none. */
bool hash_line_parse(char *text, hash_line *line);

typedef enum hash_kind { HASH_SAME, HASH_INPUT, HASH_LOSS, HASH_GRADIENT, HASH_WEIGHTS, HASH_RECORD } hash_kind;
typedef struct hash_difference {
  hash_kind kind; /* HASH_RECORD: the recorded file ends early, or is not such a file; `name` says so */
  char name[320], recorded[33], now[33];
} hash_difference;

/* The step of the first recorded line; false: there is none. */
bool hash_steps_first(hash_steps *steps, uint64_t *step);
/* Reads what the new log has got since the last call, all of one step, and as many recorded lines. Names the tensor
 * that differs first in the order of computation: the weights at the start or the batch; the loss; then gradients, from
 * the last layer to the first; then weights. */
hash_difference hash_steps_compare(hash_steps *steps);
/* The same without a look at the record: for steps before its first. */
void hash_steps_skip(hash_steps *steps);
#endif
