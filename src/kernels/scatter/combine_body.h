/* combine_body.h: what one contribution does to an accumulator, once per type (types.h). */

static inline ISO__HD TYPE T(start)(iso__scatter_fn fn) {
  return (TYPE)(fn == ISO__SCATTER_MUL ? 1 : fn == ISO__SCATTER_AMAX ? LEAST : fn == ISO__SCATTER_AMIN ? MOST : 0);
}
/* A NaN that is there stays, since nothing is above or below it. */
static inline ISO__HD TYPE T(take)(iso__scatter_fn fn, TYPE acc, TYPE x) {
  switch (fn) {
  case ISO__SCATTER_MUL: return TIMES(acc, x);
  case ISO__SCATTER_AMAX: return x > acc || IS_NAN(x) ? x : acc;
  case ISO__SCATTER_AMIN: return x < acc || IS_NAN(x) ? x : acc;
  default: return PLUS(acc, x);
  }
}
static inline ISO__HD TYPE T(divided)(iso__scatter_fn fn, TYPE acc, int64_t count) {
  if (fn == ISO__SCATTER_MEAN) return (TYPE)(acc / (TYPE)count);
  if (iso__scatter_is_extremum(fn)) return POSITIVE_ZERO(acc);
  return acc;
}
/* Of `count` contributions whose accumulator is acc, and the base (0 without one). */
static inline ISO__HD TYPE T(finish)(iso__scatter_fn fn, iso__scatter_base how, TYPE base, TYPE acc, int64_t count) {
  if (how == ISO__SCATTER_INCLUDED) return T(divided)(fn, T(take)(fn, base, acc), count + 1);
  return count ? T(divided)(fn, acc, count) : base;
}
