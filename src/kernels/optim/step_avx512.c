/* step_avx512.c: optimiser steps with 16 lanes; see step_impl.h. */
#define ISA(name) name##_avx512
#include "kernels/optim/step_impl.h"
