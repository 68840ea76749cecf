/* real_f32.h, real_f64.h: what a body that is written once for both precisions calls its type, its own functions, the C
 * library's exact ones and the shared elementary ones. Include one, then the body; then the other, then the body again.
 * MATH(f) is the one-lane f32 function: only for files that are compiled for no vector extension. */
#undef REAL
#undef NAMED
#undef EXACT
#undef MATH
#define REAL float
#define NAMED(f) f##_f32
#define EXACT(name) name##f
#define MATH(f) v_##f
