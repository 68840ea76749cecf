/* top_avx512.c: the first of a row's order, blocks compared 16 keys at a time; see top_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/sort/top_impl.h"
