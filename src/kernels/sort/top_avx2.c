/* top_avx2.c: the first of a row's order, blocks compared 8 keys at a time; see top_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/sort/top_impl.h"
