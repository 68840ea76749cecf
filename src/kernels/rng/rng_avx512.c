/* rng_avx512.c: dropout and random fills with 16 lanes; see rng_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/rng/rng_impl.h"
