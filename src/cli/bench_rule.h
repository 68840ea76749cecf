/* bench_rule.h: `isobit bench --rule`. */
#ifndef ISO_CLI_BENCH_RULE_H
#define ISO_CLI_BENCH_RULE_H
#include "cli.h"

typedef struct rule_options {
  int64_t count, seed;
  double budget_ms; /* for each engine of a problem */
  const char *only; /* problems that begin so; NULL: all */
} rule_options;

/* Prints the tables; EXIT_FAILED where the estimates are worse than the bar. */
int bench_rule(iso_context *ctx, const rule_options *options);

#endif
