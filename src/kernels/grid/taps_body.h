/* The taps of one point, once per precision; see channels_impl.h. */

/* The taps inside of one point, ascending: places in the plane and weights; slope[d]: with axis d's derivative. */
typedef struct NAMED(taps) {
  int64_t place[MOST_TAPS];
  REAL weight[MOST_TAPS], slope[3][MOST_TAPS];
  int n;
} NAMED(taps);

static inline __attribute__((always_inline)) void NAMED(taps_of)(const iso_grid_problem *p, const NAMED(site) * s,
                                                                 bool slopes, NAMED(taps) * t) {
  const NAMED(axis_site) *a0 = &s->axis[0], *a1 = &s->axis[1], *a2 = &s->axis[2];
  t->n = 0;
  for (int i = 0; i < a0->n; i++)
    for (int h = 0; h < a1->n; h++) {
      if (a0->at[i] < 0 || a1->at[h] < 0) continue;
      const REAL both = a0->weight[i] * a1->weight[h];
      const int64_t row = (a0->at[i] * p->extent[1] + a1->at[h]) * p->extent[2];
      for (int w = 0; w < a2->n; w++) {
        if (a2->at[w] < 0) continue;
        t->place[t->n] = row + a2->at[w];
        t->weight[t->n] = both * a2->weight[w];
        if (slopes) {
          t->slope[0][t->n] = (a0->slope[i] * a1->weight[h]) * a2->weight[w];
          t->slope[1][t->n] = (a0->weight[i] * a1->slope[h]) * a2->weight[w];
          t->slope[2][t->n] = both * a2->slope[w];
        }
        t->n++;
      }
    }
}
