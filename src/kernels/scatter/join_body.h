/* join_body.h: accumulators that start and that join others, once per type. */

static inline __attribute__((always_inline)) void T(fill)(TYPE *v, TYPE value, int64_t m) {
  for (int64_t i = 0; i < m; i++) v[i] = value;
}
/* v takes w, which starts again. */
static inline __attribute__((always_inline)) void T(join)(iso__scatter_fn fn, TYPE *restrict v, TYPE *restrict w,
                                                          int64_t m) {
  for (int64_t i = 0; i < m; i++) v[i] = T(take)(fn, v[i], w[i]), w[i] = T(start)(fn);
}
