/* fenv.h: the floating-point environment that all bits assume: nearest-even, subnormals kept, exceptions masked. */
#ifndef ISO_BASE_FENV_H
#define ISO_BASE_FENV_H
#if defined(__FAST_MATH__)
#  error "Isobit must not be built with -ffast-math or -Ofast: its bits would no longer be defined"
#endif
#include <float.h>
#if FLT_EVAL_METHOD != 0
#  error "Isobit needs FLT_EVAL_METHOD == 0 (on x86: SSE arithmetic, not x87)"
#endif

#if defined(__x86_64__)
#  include <xmmintrin.h>
typedef unsigned iso__fenv;
static inline iso__fenv iso__fenv_enter(void) {
  unsigned saved = _mm_getcsr();
  if ((saved & ~0x3fu) != 0x1f80) _mm_setcsr(0x1f80);
  return saved;
}
static inline void iso__fenv_leave(iso__fenv saved) {
  if ((saved & ~0x3fu) != 0x1f80) _mm_setcsr(saved);
}
#else
#  include <fenv.h>
typedef fenv_t iso__fenv;
static inline iso__fenv iso__fenv_enter(void) {
  fenv_t saved;
  fegetenv(&saved);
  fesetenv(FE_DFL_ENV);
  return saved;
}
static inline void iso__fenv_leave(iso__fenv saved) { fesetenv(&saved); }
#endif

/* v, read anew: arithmetic on it stays between iso__fenv_enter and iso__fenv_leave, which compilers do not know to be
 * borders. For the operands after the one and the result before the other. */
static inline float iso__fenv_pin_f32(float v) {
  volatile float pinned = v;
  return pinned;
}
static inline double iso__fenv_pin(double v) {
  volatile double pinned = v;
  return pinned;
}
/* One operation in that environment. */
static inline double iso__fenv_sub(double a, double b) {
  const iso__fenv saved = iso__fenv_enter();
  const double result = iso__fenv_pin(iso__fenv_pin(a) - iso__fenv_pin(b));
  iso__fenv_leave(saved);
  return result;
}
static inline double iso__fenv_mul(double a, double b) {
  const iso__fenv saved = iso__fenv_enter();
  const double result = iso__fenv_pin(iso__fenv_pin(a) * iso__fenv_pin(b));
  iso__fenv_leave(saved);
  return result;
}
static inline double iso__fenv_div(double a, double b) {
  const iso__fenv saved = iso__fenv_enter();
  const double result = iso__fenv_pin(iso__fenv_pin(a) / iso__fenv_pin(b));
  iso__fenv_leave(saved);
  return result;
}
#endif
