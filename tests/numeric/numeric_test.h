/* What the tests of numbers share. */
#ifndef NUMERIC_TEST_H
#define NUMERIC_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static inline uint32_t float_bits(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}
static inline float bits_float(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}
static inline uint64_t double_bits(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

/* A generator for test data alone, independent of what is tested (Steele, Lea, Flood: SplitMix64). */
static inline uint64_t test_random(uint64_t *state) {
  uint64_t z = (*state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
/* In [−1, 1) times a power of two from 2^-e to 2^e. */
static inline float test_float(uint64_t *state, int e) {
  const uint64_t r = test_random(state);
  const float u = (float)((int32_t)(r >> 32) >> 8) * 0x1p-23f;
  const int shift = e ? (int)((uint32_t)r % (unsigned)(2 * e + 1)) - e : 0;
  return u * bits_float((uint32_t)(127 + shift) << 23);
}

#endif
