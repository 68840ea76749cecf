/* Sampling, once per precision; see reference.c. */

/* The place in the plane of taps k; −1: one of them is outside. */
static ISO__HD int64_t NAMED(place)(const iso_grid_problem *p, const NAMED(site) * s, const int k[3]) {
  int64_t place = 0;
  for (int d = 0; d < 3; d++) {
    if (s->axis[d].at[k[d]] < 0) return -1;
    place = place * p->extent[d] + s->axis[d].at[k[d]];
  }
  return place;
}
/* The sum over the taps of channel c; `axis` enters by its slope, −1: none does. */
static ISO__HD REAL NAMED(sum)(const iso_grid_problem *p, const NAMED(site) * s, const REAL *x, int64_t c, int axis) {
  struct NAMED(iso__ordered) sum = {0};
  int k[3];
  for (k[0] = 0; k[0] < s->axis[0].n; k[0]++)
    for (k[1] = 0; k[1] < s->axis[1].n; k[1]++)
      for (k[2] = 0; k[2] < s->axis[2].n; k[2]++) {
        const int64_t place = NAMED(place)(p, s, k);
        REAL w[3];
        for (int d = 0; d < 3; d++) w[d] = d == axis ? s->axis[d].slope[k[d]] : s->axis[d].weight[k[d]];
        if (place >= 0) NAMED(iso__ordered_fma)(&sum, (w[0] * w[1]) * w[2], x[place * p->c + c]);
      }
  return NAMED(iso__ordered_end)(&sum);
}

static ISO__HD void NAMED(element)(const iso_grid_problem *p, const iso_grid_args *a, int64_t index, void *value) {
  const bool forward = p->head.op == ISO__OP_GRID_SAMPLE_FWD;
  const int64_t point = index / (forward ? p->c : p->dims), rest = index % (forward ? p->c : p->dims);
  const REAL *x = (const REAL *)a->x + point / p->points * iso__grid_places(p) * p->c;
  NAMED(site) s;
  NAMED(site_of)(p, (const REAL *)a->grid + point * p->dims, &s);
  REAL y;
  if (forward) {
    y = NAMED(sum)(p, &s, x, rest, -1);
  } else {
    const int axis = 2 - (int)rest;
    struct NAMED(iso__lanes) lanes = {0};
    for (int64_t c = 0; c < p->c; c++)
      NAMED(iso__lanes_fma)(&lanes, ((const REAL *)a->dy)[point * p->c + c], NAMED(sum)(p, &s, x, c, axis));
    y = NAMED(iso__lanes_end)(&lanes) * s.axis[axis].scale;
  }
  memcpy(value, &y, sizeof y);
}

static ISO__HD void NAMED(bwd_input)(const iso__call *call) {
  const iso_grid_problem *p = (const iso_grid_problem *)call->problem;
  const iso_grid_args *a = (const iso_grid_args *)call->args;
  struct NAMED(iso__ordered) *sum = (struct NAMED(iso__ordered) *)call->workspace;
  const int64_t plane = iso__grid_places(p) * p->c;
  for (int64_t image = 0; image < p->n; image++) {
    for (int64_t i = 0; i < plane; i++) sum[i] = (struct NAMED(iso__ordered)){0};
    for (int64_t point = image * p->points; point < (image + 1) * p->points; point++) {
      NAMED(site) s;
      int k[3];
      NAMED(site_of)(p, (const REAL *)a->grid + point * p->dims, &s);
      for (k[0] = 0; k[0] < s.axis[0].n; k[0]++)
        for (k[1] = 0; k[1] < s.axis[1].n; k[1]++)
          for (k[2] = 0; k[2] < s.axis[2].n; k[2]++) {
            const int64_t place = NAMED(place)(p, &s, k);
            const REAL w = (s.axis[0].weight[k[0]] * s.axis[1].weight[k[1]]) * s.axis[2].weight[k[2]];
            for (int64_t c = 0; c < p->c && place >= 0; c++)
              NAMED(iso__ordered_fma)(&sum[place * p->c + c], w, ((const REAL *)a->dy)[point * p->c + c]);
          }
    }
    for (int64_t i = 0; i < plane; i++) ((REAL *)a->dx)[image * plane + i] = NAMED(iso__ordered_end)(&sum[i]);
  }
}
