/* reference.c: the classes of linear algebra in plain C, one matrix after the other. */
#define ISA(name) name##_scalar
#include "kernels/linalg/linalg_impl.h"
