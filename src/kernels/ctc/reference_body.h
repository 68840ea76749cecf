/* One sample of CTC, forward and backward, once per precision; see reference.c. */

static REAL NAMED(lse)(REAL x, REAL y, REAL z) {
  const REAL none = -(REAL)INFINITY;
  const REAL hi = x > y ? x : y, lo = x > y ? y : x;
  REAL m = hi > z ? hi : z, one = 1;
  const REAL r = hi > z ? z : hi;
  if (m == none) m = 0, one = 0;
  return MATH(log)((one + MATH(exp)(r - m)) + MATH(exp)(lo - m)) + m;
}

static REAL NAMED(loss_of)(const iso__ctc_sample *q, const REAL *alpha) {
  if (q->frames == 0) return q->letters == 0 ? 0 : (REAL)INFINITY;
  const REAL *blank = alpha + (q->frames - 1) * (2 * q->s + 1), *letter = blank + q->s + 1, none = -(REAL)INFINITY;
  return -NAMED(lse)(blank[q->letters], q->letters ? letter[q->letters - 1] : none, none);
}

static void NAMED(forward)(const iso__ctc_sample *q, const REAL *log_p, REAL *alpha, REAL *loss) {
  const int64_t row = 2 * q->s + 1;
  const REAL none = -(REAL)INFINITY;
  for (int64_t i = 0; i < q->t; i++) {
    const REAL *e = log_p + i * q->frame_step, *blank = alpha + (i - 1) * row, *letter = blank + q->s + 1;
    REAL *new_blank = alpha + i * row, *new_letter = new_blank + q->s + 1;
    for (int64_t k = 0; k < row; k++) new_blank[k] = none;
    if (i == 0 && q->frames) {
      new_blank[0] = e[q->blank];
      if (q->letters) new_letter[0] = e[q->target[0]];
    }
    for (int64_t k = 0; i && i < q->frames && k <= q->letters; k++)
      new_blank[k] = NAMED(lse)(blank[k], k ? letter[k - 1] : none, none) + e[q->blank];
    for (int64_t k = 0; i && i < q->frames && k < q->letters; k++)
      new_letter[k] = NAMED(lse)(letter[k], blank[k], iso__ctc_follows(q, k) ? letter[k - 1] : none) + e[q->target[k]];
  }
  *loss = NAMED(loss_of)(q, alpha);
}

/* room: 4·(s+2) values. */
static void NAMED(backward)(const iso__ctc_sample *q, const REAL *log_p, const REAL *alpha, REAL scale, REAL *room,
                            REAL *dx) {
  const REAL loss = NAMED(loss_of)(q, alpha), none = -(REAL)INFINITY;
  const bool absent = q->zero_infinity && loss == (REAL)INFINITY;
  REAL *blank = room, *letter = room + q->s + 2, *v_blank = letter + q->s + 2, *v_letter = v_blank + q->s + 2;
  for (int64_t i = q->t; i-- > 0;) {
    REAL *d = dx + i * q->frame_step;
    for (int64_t j = 0; j < q->c; j++) d[j] = 0;
    if (i >= q->frames || absent) continue;
    if (i + 1 == q->frames) {
      for (int64_t k = 0; k <= q->letters; k++) blank[k] = k == q->letters ? 0 : none;
      for (int64_t k = 0; k < q->letters; k++) letter[k] = k == q->letters - 1 ? 0 : none;
    } else {
      const REAL *e = log_p + (i + 1) * q->frame_step;
      for (int64_t k = 0; k <= q->letters; k++) v_blank[k] = blank[k] + e[q->blank];
      for (int64_t k = 0; k < q->letters; k++) v_letter[k] = letter[k] + e[q->target[k]];
      for (int64_t k = 0; k <= q->letters; k++)
        blank[k] = NAMED(lse)(v_blank[k], k < q->letters ? v_letter[k] : none, none);
      for (int64_t k = 0; k < q->letters; k++)
        letter[k] = NAMED(lse)(v_letter[k], v_blank[k + 1], iso__ctc_follows(q, k + 1) ? v_letter[k + 1] : none);
    }
    const REAL *a_blank = alpha + i * (2 * q->s + 1), *a_letter = a_blank + q->s + 1;
    struct NAMED(iso__lanes) sum = {.i = 0};
    for (int64_t k = 0; k <= q->letters; k++) NAMED(iso__lanes_add)(&sum, MATH(exp)((a_blank[k] + blank[k]) + loss));
    d[q->blank] = NAMED(iso__lanes_end)(&sum);
    for (int64_t k = 0; k < q->letters; k++) d[q->target[k]] += MATH(exp)((a_letter[k] + letter[k]) + loss);
    for (int64_t j = 0; j < q->c; j++) d[j] = -scale * d[j];
  }
}

static void NAMED(run)(const iso__call *call) {
  const iso_ctc_problem *p = (const iso_ctc_problem *)call->problem;
  const iso_ctc_args *a = call->args;
  for (int64_t i = 0; i < p->n; i++) {
    const iso__ctc_sample q = iso__ctc_sample_of(p, a, i);
    const REAL *log_p = (const REAL *)a->log_p + i * p->c;
    const int64_t states = i * p->t * (2 * p->s + 1);
    if (p->head.op == ISO__OP_CTC_FWD) {
      NAMED(forward)(&q, log_p, (REAL *)a->alpha + states, (REAL *)a->loss + i);
      continue;
    }
    NAMED(backward)
    (&q, log_p, (const REAL *)a->alpha_saved + states, ((const REAL *)a->scale)[i], call->workspace,
     (REAL *)a->dx + i * p->c);
  }
}
