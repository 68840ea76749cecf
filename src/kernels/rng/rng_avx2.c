/* rng_avx2.c: dropout and random fills with 8 lanes; see rng_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/rng/rng_impl.h"
