/* One output element, once per precision; see reference.c. */

/* Where window o of an axis begins; a sample that is no number in [0,1) leaves it inside all the same. */
static ISO__HD int64_t NAMED(window_begin)(const iso_fractional_axis *a, int64_t o, REAL u) {
  if (o == a->out - 1) return a->in - a->kernel;
  const REAL step = (REAL)(a->in - a->kernel) / (REAL)(a->out - 1);
  const REAL begin = EXACT(trunc)(((REAL)o + u) * step) - EXACT(trunc)(u * step);
  if (!(begin > 0)) return 0;
  return begin < (REAL)(a->in - a->kernel) ? (int64_t)begin : a->in - a->kernel;
}

static ISO__HD void NAMED(element)(const iso_fractional_problem *p, const iso_fractional_args *a, int operand,
                                   int64_t index, void *value) {
  const iso_fractional_axis *axis = p->axis;
  const int64_t c = index % p->c;
  int64_t begin[3], rest = index / p->c;
  const int64_t image = rest / (axis[0].out * axis[1].out * axis[2].out);
  for (int d = 2; d >= 0; d--) {
    begin[d] =
        NAMED(window_begin)(&axis[d], rest % axis[d].out, ((const REAL *)a->samples)[(image * p->c + c) * 3 + d]);
    rest /= axis[d].out;
  }
  const REAL *x = (const REAL *)a->x + image * axis[0].in * axis[1].in * axis[2].in * p->c + c;
  REAL best = 0;
  int64_t winner = -1;
  for (int64_t t = begin[0]; t < begin[0] + axis[0].kernel; t++)
    for (int64_t h = begin[1]; h < begin[1] + axis[1].kernel; h++)
      for (int64_t w = begin[2]; w < begin[2] + axis[2].kernel; w++) {
        const int64_t at = (t * axis[1].in + h) * axis[2].in + w;
        const REAL v = x[at * p->c];
        if (winner < 0 || v > best || (v != v && best == best)) winner = at, best = v;
      }
  if (operand == 3) memcpy(value, &winner, sizeof winner);
  else memcpy(value, &best, sizeof best);
}
