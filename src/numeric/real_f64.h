/* real_f64.h: see real_f32.h. */
#undef REAL
#undef NAMED
#undef EXACT
#undef MATH
#define REAL double
#define NAMED(f) f##_f64
#define EXACT(name) name
#define MATH(f) iso__##f##_f64
