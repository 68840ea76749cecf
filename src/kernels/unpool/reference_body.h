/* Whole planes, once per precision; see reference.c. */

static ISO__HD void NAMED(put)(const iso__call *call) {
  const iso_unpool_problem *p = (const iso_unpool_problem *)call->problem;
  const iso_unpool_args *a = (const iso_unpool_args *)call->args;
  REAL *u = (REAL *)a->out;
  for (int64_t i = 0; i < p->n * p->places * p->c; i++) u[i] = 0;
  for (int64_t j = 0; j < p->n * p->picks * p->c; j++) {
    const int64_t image = j / p->c / p->picks;
    u[(image * p->places + a->index[j]) * p->c + j % p->c] = ((const REAL *)a->in)[j];
  }
}

static ISO__HD void NAMED(add)(const iso__call *call) {
  const iso_unpool_problem *p = (const iso_unpool_problem *)call->problem;
  const iso_unpool_args *a = (const iso_unpool_args *)call->args;
  struct NAMED(iso__ordered) *sum = (struct NAMED(iso__ordered) *)call->workspace;
  for (int64_t image = 0; image < p->n; image++)
    for (int64_t c = 0; c < p->c; c++) {
      for (int64_t i = 0; i < p->places; i++) sum[i] = (struct NAMED(iso__ordered)){0};
      for (int64_t j = 0; j < p->picks; j++) {
        const int64_t at = (image * p->picks + j) * p->c + c;
        NAMED(iso__ordered_add)(&sum[a->index[at]], ((const REAL *)a->in)[at]);
      }
      for (int64_t i = 0; i < p->places; i++)
        ((REAL *)a->out)[(image * p->places + i) * p->c + c] = NAMED(iso__ordered_end)(&sum[i]);
    }
}
