/* One element, once per precision; see reference.c. */

/* The weight between element `here` of the result's side and `there` of the other. */
static ISO__HD REAL NAMED(axis_weight)(const iso_resample_problem *p, int axis, int64_t here, int64_t there) {
  const bool backward = p->head.op == ISO__OP_RESAMPLE_BWD;
  const int64_t o = backward ? there : here, i = backward ? here : there;
  const iso__tap_range r = iso__resample_range(p, axis, o);
  return (REAL)iso__resample_weight(p, axis, o, &r, i);
}

static ISO__HD void NAMED(element)(const iso_resample_problem *p, const iso_resample_args *a, int64_t index,
                                   void *value) {
  const bool backward = p->head.op == ISO__OP_RESAMPLE_BWD;
  int64_t here[3], rest = index / p->c, there[3], extent[3];
  iso__tap_range r[3];
  for (int d = 2; d >= 0; d--) {
    const iso_resample_axis *axis = &p->axis[d];
    here[d] = rest % (backward ? axis->in : axis->out), rest /= backward ? axis->in : axis->out;
    extent[d] = backward ? axis->out : axis->in;
    r[d] = backward ? iso__resample_seen_by(p, d, here[d]) : iso__resample_range(p, d, here[d]);
  }
  struct NAMED(iso__ordered) sum = {0};
  REAL y = 0;
  for (there[0] = r[0].begin; there[0] < r[0].end; there[0]++)
    for (there[1] = r[1].begin; there[1] < r[1].end; there[1]++)
      for (there[2] = r[2].begin; there[2] < r[2].end; there[2]++) {
        const int64_t at = ((rest * extent[0] + there[0]) * extent[1] + there[1]) * extent[2] + there[2];
        const REAL v = ((const REAL *)a->in)[at * p->c + index % p->c];
        REAL w = NAMED(axis_weight)(p, 0, here[0], there[0]) * NAMED(axis_weight)(p, 1, here[1], there[1]);
        w = w * NAMED(axis_weight)(p, 2, here[2], there[2]);
        NAMED(iso__ordered_fma)(&sum, w, v);
        y = v;
      }
  if (!iso__resample_copies(p)) y = NAMED(iso__ordered_end)(&sum);
  memcpy(value, &y, sizeof y);
}
