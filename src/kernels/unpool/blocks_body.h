/* One block of channels, once per precision; see blocks.c. v and index begin at the block's first pick, u at its first
 * place; rows are c elements apart. */

static void NAMED(pick)(const job *j, const REAL *u, REAL *v, const int64_t *index, int64_t n) {
  const int64_t c = j->p->c;
  for (int64_t k = 0; k < j->p->picks; k++)
    for (int64_t l = 0; l < n; l++) v[k * c + l] = u[index[k * c + l] * c + l];
}

static void NAMED(clear)(const job *j, REAL *u, int64_t n) {
  for (int64_t i = 0; i < j->p->places; i++)
    for (int64_t l = 0; l < n; l++) u[i * j->p->c + l] = 0;
}
static void NAMED(put)(const job *j, const REAL *v, REAL *u, const int64_t *index, int64_t n) {
  const int64_t c = j->p->c;
  NAMED(clear)(j, u, n);
  for (int64_t k = 0; k < j->p->picks; k++)
    for (int64_t l = 0; l < n; l++) u[index[k * c + l] * c + l] = v[k * c + l];
}

/* Sums whose contributions fill chunks: the slots of one thread, touched at the first full chunk. */
typedef struct NAMED(slots) {
  uint8_t *count, *chunks;
  REAL *panel, *total;
  bool used;
} NAMED(slots);
static void NAMED(chunk_end)(NAMED(slots) * s, int64_t slot, int64_t n_slots, REAL *u) {
  if (!s->used) {
    for (int64_t i = 0; i < n_slots; i++) s->panel[i] = s->total[i] = 0, s->chunks[i] = 0;
    s->used = true;
  }
  s->panel[slot] = s->panel[slot] + *u, *u = 0;
  if (++s->chunks[slot] % (ISO__PANEL / ISO__CHUNK) == 0)
    s->total[slot] = s->total[slot] + s->panel[slot], s->panel[slot] = 0;
}
static void NAMED(add)(const job *j, const REAL *v, REAL *u, const int64_t *index, int64_t n, int thread) {
  const int64_t c = j->p->c, n_slots = j->p->places * n;
  char *at = (char *)j->call->workspace + (size_t)thread * j->thread_bytes;
  NAMED(slots)
  s = {.count = (uint8_t *)at,
       .chunks = (uint8_t *)at + j->chunks_at,
       .panel = (REAL *)(void *)(at + j->panel_at),
       .total = (REAL *)(void *)(at + j->total_at)};
  NAMED(clear)(j, u, n);
  memset(s.count, 0, (size_t)n_slots);
  for (int64_t k = 0; k < j->p->picks; k++)
    for (int64_t l = 0; l < n; l++) {
      const int64_t i = index[k * c + l];
      REAL *sum = &u[i * c + l];
      *sum = *sum + v[k * c + l];
      if (++s.count[i * n + l] == 0) NAMED(chunk_end)(&s, i * n + l, n_slots, sum);
    }
  for (int64_t slot = 0; s.used && slot < n_slots; slot++) {
    REAL *sum = &u[slot / n * c + slot % n];
    *sum = s.total[slot] + (s.panel[slot] + *sum);
  }
}

static void NAMED(block)(const job *j, int64_t image, int64_t c, int64_t n, int thread) {
  const iso_unpool_problem *p = j->p;
  const int64_t *index = j->a->index + image * p->picks * p->c + c;
  const int64_t u = image * p->places * p->c + c, v = image * p->picks * p->c + c;
  const REAL *in = j->a->in;
  REAL *out = j->a->out;
  if (p->head.op == ISO__OP_UNPOOL_PICK) NAMED(pick)(j, in + u, out + v, index, n);
  else if (p->head.op == ISO__OP_UNPOOL_PUT) NAMED(put)(j, in + v, out + u, index, n);
  else NAMED(add)(j, in + v, out + u, index, n, thread);
}
