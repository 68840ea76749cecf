/* tiles_fwd_impl.h: attention forward by tiles: a task is a tile of queries of one head; see tiles_impl.h. */
#include "kernels/attention/tiles_impl.h"

/* A tile under way. */
typedef struct forward {
  tile t;
  block q, k, v, o;                /* rows of whole vectors */
  float *q_turned, *scores, *mask; /* [column][query], [key][query] twice */
  float *m, *l, *c;                /* of each query: greatest score, sum, factor of the sums so far */
  uint64_t see[TILE];              /* bits of queries, by key */
} forward;

static forward forward_init(const iso_attention_problem *p, const iso_attention_args *a, float *w) {
  const int64_t e = iso__tile_columns(p->e), f = iso__tile_columns(p->f);
  const iso_philox at = iso__attention_noise(a);
  return (forward){.t = {.p = p, .a = a, .group = 1, .noise = philox_begin(&at)},
                   .q = {piece(&w, TILE * e), e},
                   .k = {piece(&w, TILE * e), e},
                   .v = {piece(&w, TILE * f), f},
                   .o = {piece(&w, TILE * f), f},
                   .q_turned = piece(&w, TILE * e),
                   .scores = piece(&w, TILE * TILE),
                   .mask = piece(&w, TILE * TILE),
                   .m = piece(&w, TILE),
                   .l = piece(&w, TILE),
                   .c = piece(&w, TILE)};
}

/* Scores of n keys in vector g of queries: products to scores, the greatest of them and of m; NaNs are passed over:
 * they come back as weights. Absent ones become −inf. */
VEC_FN vf finish_scores(forward *w, int g, int64_t n, bool all, bool masked) {
  const vf scale = vf_set1((float)w->t.a->scale);
  vf most = vf_load(w->m + g * VF_LANES);
  for (int64_t j = 0; j < n; j++) {
    float *at = w->scores + j * TILE + g * VF_LANES;
    vf s = vf_mul(vf_add(vf_load(at), vf_zero()), scale);
    if (masked) s = vf_add(s, vf_load(w->mask + j * TILE + g * VF_LANES));
    if (!all) s = vf_select(bits_at(w->see, j, g), s, vf_set1(-INFINITY));
    vf_store(at, s);
    most = vf_max(s, most);
  }
  return most;
}

/* Weights exp(s − m) in place of n scores; returns lanes of them: the tree over 64 keys, those beyond n +0. */
VEC_FN vf weigh(float *scores, vf m, int64_t n) {
  vf sum[TILE / 8];
  for (int i = 0; i < TILE / 8; i++) {
    vf p[8];
    sum[i] = vf_zero();
    if (8 * i >= n) continue;
    for (int q = 0; q < 8; q++) {
      float *at = scores + (8 * i + q) * TILE;
      p[q] = vf_zero();
      if (8 * i + q >= n) continue;
      p[q] = v_exp_below_0(vf_sub(vf_load(at), m));
      vf_store(at, p[q]);
    }
    sum[i] = vf_add(vf_add(vf_add(p[0], p[1]), vf_add(p[2], p[3])), vf_add(vf_add(p[4], p[5]), vf_add(p[6], p[7])));
  }
  for (int step = 1; step < TILE / 8; step *= 2)
    for (int i = 0; i < TILE / 8; i += 2 * step) sum[i] = vf_add(sum[i], sum[i + step]);
  return vf_add(sum[0], vf_zero());
}

/* Bits of the queries of vector g to which key j is present: seen, and its score not −inf. */
static void note_present(forward *w, int g, int64_t n) {
  for (int64_t j = 0; j < n; j++) {
    const vm gone = vf_eq(vf_load(w->scores + j * TILE + g * VF_LANES), vf_set1(-INFINITY));
    w->see[j] &= ~((uint64_t)vm_bits(gone) << (g * VF_LANES));
  }
}

/* A block's scores to weights; m, l and c of each query. */
static void softmax_block(forward *w, int64_t n, bool all, bool careful) {
  const bool masked = w->t.p->mask == ISO__MASK_ADDED;
  for (int g = 0; g * VF_LANES < w->t.n; g++) {
    float *m = w->m + g * VF_LANES, *l = w->l + g * VF_LANES;
    const vf next = masked ? finish_scores(w, g, n, all, true)
                    : all  ? finish_scores(w, g, n, true, false)
                           : finish_scores(w, g, n, false, false);
    if (careful) note_present(w, g, n);
    /* Without a present key so far m is −inf, and exp(s − m) is 0, not NaN. */
    const vf from = vf_select(vf_eq(next, vf_set1(-INFINITY)), vf_zero(), next);
    const vf c = v_exp_below_0(vf_sub(vf_load(m), from));
    const vf sum = weigh(w->scores + g * VF_LANES, from, n);
    vf_store(l, vf_fma(vf_load(l), c, sum));
    vf_store(m, next), vf_store(w->c + g * VF_LANES, c);
  }
}

static void drop_weights(forward *w, int64_t j0, int64_t n) {
  const vf factor = vf_set1((float)(1 / (1 - w->t.a->p)));
  uint64_t keep[TILE];
  tile_keeps(&w->t, j0, n, keep);
  for (int64_t j = 0; j < n; j++) {
    w->see[j] &= keep[j];
    for (int g = 0; g * VF_LANES < w->t.n; g++) {
      float *at = w->scores + j * TILE + g * VF_LANES;
      vf_store(at, vf_select(bits_at(keep, j, g), vf_mul(vf_load(at), factor), vf_zero()));
    }
  }
}

static void multiply_rows(block o, const float *c, int64_t n) {
  for (int64_t r = 0; r < n; r++) {
    const vf factor = vf_set1(c[r]);
    for (int64_t j = 0; j < o.ld; j += VF_LANES)
      vf_store(o.at + r * o.ld + j, vf_mul(vf_load(o.at + r * o.ld + j), factor));
  }
}

/* Keys j0 … j0 + n − 1. */
static void attend_block(forward *w, const rows *k, const rows *v, int64_t j0, int64_t n) {
  const iso_attention_problem *p = w->t.p;
  const int64_t queries = (w->t.n + VF_LANES - 1) / VF_LANES * VF_LANES;
  const bool finite = take_rows(v, j0, n, n, w->v), all = tile_sees(&w->t, j0, n, w->see);
  if (all && (!finite || p->dropout))
    for (int64_t j = 0; j < n; j++) w->see[j] = ~UINT64_C(0);
  take_rows(k, j0, n, n, w->k);
  if (p->mask == ISO__MASK_ADDED) tile_mask(&w->t, j0, n, w->mask);
  product((left_factor){w->k.at, 1, w->k.ld}, (block){w->q_turned, TILE}, (block){w->scores, TILE}, n, queries, p->e,
          false);
  softmax_block(w, n, all, !finite);
  if (p->dropout) drop_weights(w, j0, n);
  const left_factor weights = {w->scores, TILE, 1};
  multiply_rows(w->o, w->c, w->t.n);
  if (finite) product(weights, w->v, w->o, w->t.n, w->o.ld, n, true);
  else add_present(weights, w->v, w->o, w->t.n, w->o.ld, n, w->see, false);
}

static void finish_tile(const forward *w) {
  const iso_attention_problem *p = w->t.p;
  const iso_attention_args *a = w->t.a;
  float *lse = (float *)a->lse + (w->t.b * p->heads + w->t.head) * p->l + w->t.row;
  for (int g = 0; g * VF_LANES < w->t.n; g++) {
    const vf l = vf_load(w->l + g * VF_LANES), m = vf_load(w->m + g * VF_LANES);
    const vf none = vf_zero(); /* no key: o is 0, and stays so */
    vf_store(w->c + g * VF_LANES, vf_select(vf_eq(l, vf_zero()), none, vf_div(vf_set1(1), l)));
    vf_store_n(lse + g * VF_LANES, vf_add(m, v_log(l)), (size_t)least(VF_LANES, w->t.n - g * VF_LANES));
  }
  for (int64_t r = 0; r < w->t.n; r++) {
    const vf factor = vf_set1(w->c[r]);
    const int64_t at = iso__attention_at(&p->o, w->t.b, w->t.head, w->t.row + r);
    for (int64_t c = 0; c < p->f; c += VF_LANES)
      store_some(a->o, (iso_dtype)p->head.dtype, at + c,
                 vf_add(vf_mul(vf_load(w->o.at + r * w->o.ld + c), factor), vf_zero()),
                 (size_t)least(VF_LANES, p->f - c));
  }
}

static void attend_tile(forward *w, int64_t b, int64_t h, int64_t row) {
  const iso_attention_problem *p = w->t.p;
  const iso_attention_args *a = w->t.a;
  const iso_dtype dtype = (iso_dtype)p->head.dtype;
  const rows q = rows_of(a->q, dtype, &p->q, b, h, p->e), k = rows_of(a->k, dtype, &p->k, b, h / p->group, p->e),
             v = rows_of(a->v, dtype, &p->v, b, h / p->group, p->f);
  w->t.b = b, w->t.head = h;
  tile_init(&w->t, row, least(TILE, p->l - row));
  for (int i = 0; i < TILE; i++) w->m[i] = -INFINITY, w->l[i] = 0;
  memset(w->o.at, 0, (size_t)(TILE * w->o.ld) * sizeof(float));
  if (w->t.n_keys > 0) {
    take_rows(&q, row, w->t.n, TILE, w->q);
    turn_rows(w->q, w->q_turned);
  }
  for (int64_t j0 = 0; j0 < w->t.n_keys; j0 += ISO__KEY_BLOCK)
    attend_block(w, &k, &v, j0, least(ISO__KEY_BLOCK, w->t.n_keys - j0));
  finish_tile(w);
}

/* ---- tasks ---- */

typedef struct forward_job {
  const iso__call *call;
  int64_t n_tiles, tiles; /* in all; of a task */
} forward_job;

static void forward_task(void *arg, int task, int thread) {
  const forward_job *j = arg;
  const iso_attention_problem *p = (const iso_attention_problem *)j->call->problem;
  const size_t n_bytes = ((size_t)iso__tiles_forward_floats(p) * sizeof(float) + 63) / 64 * 64;
  forward w = forward_init(p, j->call->args, (float *)(void *)((char *)j->call->workspace + (size_t)thread * n_bytes));
  const int64_t of_head = (p->l + TILE - 1) / TILE;
  for (int64_t i = task * j->tiles; i < least((task + 1) * j->tiles, j->n_tiles); i++)
    attend_tile(&w, i / of_head / p->heads, i / of_head % p->heads, i % of_head * TILE);
}

void ISA(iso__attention_fwd_tiles_run)(const iso__call *call) {
  const iso_attention_problem *p = (const iso_attention_problem *)call->problem;
  forward_job j = {.call = call, .n_tiles = p->batch * p->heads * ((p->l + TILE - 1) / TILE)};
  /* A task is worth some 20 µs: less, and threads cost more than they bring. */
  const double tile_ns = (double)least(p->l, TILE) * (double)p->s * (double)(2 * (p->e + p->f) + 48) / 100 + 300;
  j.tiles = (int64_t)(20000 / tile_ns) + 1;
  if ((double)j.n_tiles * tile_ns < 40000) j.tiles = j.n_tiles;
  if (j.n_tiles > 0) iso__parallel(call->ctx, (int)((j.n_tiles + j.tiles - 1) / j.tiles), forward_task, &j);
}
