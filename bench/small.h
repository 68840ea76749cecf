/* small.h: the price of one operator on a few elements. */
#ifndef ISOBIT_BENCH_SMALL_H
#define ISOBIT_BENCH_SMALL_H
#include "words.h"

/* small n N ms X: {"forward_us": …, "with_tape_us": …}, medians over about X ms each. */
json_t *small_operators(const words *w);

#endif
