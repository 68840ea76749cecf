/* Pooling of one output element, once per precision; see reference.c. REAL is the type, NAMED(f) the name of f in it.
 */

/* The winner of window o, as kernel position (wide: as position in the plane), and its value: the first NaN, else the
 * lowest position of the largest. */
static ISO__HD int64_t NAMED(max_at)(const iso_pool_problem *p, const extents *e, const REAL *x, const place *o,
                                     REAL *value) {
  range r[3];
  for (int d = 0; d < 3; d++) r[d] = window_inside(&p->axis[d], o->at[d]);
  int64_t winner = -1, k[3];
  for (k[0] = r[0].begin; k[0] < r[0].end; k[0]++)
    for (k[1] = r[1].begin; k[1] < r[1].end; k[1]++)
      for (k[2] = r[2].begin; k[2] < r[2].end; k[2]++) {
        const place i = seen(p, o, k);
        const REAL v = x[index_of(&i, e->in, p->c)];
        if (winner >= 0 && !(v > *value || (v != v && *value == *value))) continue;
        *value = v;
        winner = p->wide ? (i.at[0] * e->in[1] + i.at[1]) * e->in[2] + i.at[2] : kernel_number(p, k);
      }
  return winner;
}

static ISO__HD REAL NAMED(average)(const iso_pool_problem *p, const extents *e, const REAL *x, const place *o) {
  struct NAMED(iso__ordered) sum = {0};
  range inside[3], all[3];
  for (int d = 0; d < 3; d++) {
    inside[d] = window_inside(&p->axis[d], o->at[d]);
    all[d] = p->count_padding ? window_padded(&p->axis[d], o->at[d]) : inside[d];
  }
  int64_t k[3];
  for (k[0] = all[0].begin; k[0] < all[0].end; k[0]++)
    for (k[1] = all[1].begin; k[1] < all[1].end; k[1]++)
      for (k[2] = all[2].begin; k[2] < all[2].end; k[2]++) {
        bool real = true;
        for (int d = 0; d < 3; d++) real &= k[d] >= inside[d].begin && k[d] < inside[d].end;
        const place i = seen(p, o, k);
        NAMED(iso__ordered_add)(&sum, real ? x[index_of(&i, e->in, p->c)] : 0);
      }
  return NAMED(iso__ordered_end)(&sum) / (REAL)window_divisor(p, o->at);
}

/* The gradient of input element i: what the windows over it send back, ascending by output position. */
static ISO__HD REAL NAMED(gradient)(const iso_pool_problem *p, const extents *e, const iso_pool_args *a,
                                    const place *i) {
  struct NAMED(iso__ordered) sum = {0};
  range over[3];
  place o = *i;
  for (int d = 0; d < 3; d++) over[d] = windows_over(&p->axis[d], i->at[d], e->out[d]);
  for (o.at[0] = over[0].begin; o.at[0] < over[0].end; o.at[0]++)
    for (o.at[1] = over[1].begin; o.at[1] < over[1].end; o.at[1]++)
      for (o.at[2] = over[2].begin; o.at[2] < over[2].end; o.at[2]++) {
        int64_t k[3];
        for (int d = 0; d < 3; d++) k[d] = window_position(&p->axis[d], o.at[d], i->at[d]);
        if (k[0] < 0 || k[1] < 0 || k[2] < 0) continue;
        const int64_t at = index_of(&o, e->out, p->c);
        const REAL dy = ((const REAL *)a->dy)[at];
        if (p->head.op == ISO__OP_AVG_POOL_BWD) NAMED(iso__ordered_add)(&sum, dy / (REAL)window_divisor(p, o.at));
        else if (((const uint8_t *)a->index)[at] == kernel_number(p, k)) NAMED(iso__ordered_add)(&sum, dy);
      }
  return NAMED(iso__ordered_end)(&sum);
}

/* x at the place that window o chose; a kernel position that names none inside gives +0. */
static ISO__HD REAL NAMED(picked)(const iso_pool_problem *p, const extents *e, const iso_pool_args *a, const place *o) {
  const int64_t number = ((const uint8_t *)a->index)[index_of(o, e->out, p->c)];
  const int64_t kernel_h = p->axis[1].kernel, kernel_w = p->axis[2].kernel;
  const int64_t k[3] = {number / kernel_w / kernel_h, number / kernel_w % kernel_h, number % kernel_w};
  const place i = seen(p, o, k);
  for (int d = 0; d < 3; d++)
    if (i.at[d] < 0 || i.at[d] >= e->in[d]) return 0;
  return ((const REAL *)a->x)[index_of(&i, e->in, p->c)];
}

static ISO__HD void NAMED(element)(const iso_pool_problem *p, const iso_pool_args *a, int operand, int64_t index,
                                   void *value) {
  const extents e = extents_of(p);
  const bool backward = p->head.op == ISO__OP_MAX_POOL_BWD || p->head.op == ISO__OP_AVG_POOL_BWD;
  const place at = place_of(index, backward ? e.in : e.out, p->c);
  REAL y = 0;
  if (p->head.op == ISO__OP_MAX_POOL_FWD) {
    const int64_t winner = NAMED(max_at)(p, &e, (const REAL *)a->x, &at, &y);
    if (operand == 2 && p->wide) memcpy(value, &winner, sizeof winner);
    else if (operand == 2) *(uint8_t *)value = (uint8_t)winner;
    if (operand == 2) return;
  } else if (p->head.op == ISO__OP_AVG_POOL_FWD) {
    y = NAMED(average)(p, &e, (const REAL *)a->x, &at);
  } else if (p->head.op == ISO__OP_MAX_POOL_PICK) {
    y = NAMED(picked)(p, &e, a, &at);
  } else {
    y = NAMED(gradient)(p, &e, a, &at);
  }
  memcpy(value, &y, sizeof y);
}
