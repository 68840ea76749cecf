/* step_avx2.c: optimiser steps with 8 lanes; see step_impl.h. */
#define ISA(name) name##_avx2
#include "kernels/optim/step_impl.h"
