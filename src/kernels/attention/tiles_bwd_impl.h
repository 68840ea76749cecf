/* tiles_bwd_impl.h: attention's gradients by tiles; see tiles_impl.h.
 *
 * A chunk of 256 keys stays while tiles of 64 rows (a row: a query of one of the heads that share these keys) pass by.
 * Of a tile and a block of 64 keys the scores and dy·v are computed, weights and ds made of them in place, and three
 * products added up: dq over the chunk's keys, dk and dv over rows, each folded at its own chunks of 256. A task is all
 * of a head of k and v; or, where these are too few for the threads, 256 rows' dq, and then a chunk's dk and dv, for
 * which scores are computed twice. */
#include "kernels/attention/tiles_impl.h"

typedef struct backward {
  tile t;
  rows of_q, of_k, of_v, of_o, of_dy;
  block q, dy, k, v, o;        /* rows of whole vectors: a tile's; a chunk's; a tile's */
  float *q_turned, *dy_turned; /* [column][row] */
  float *s, *ds, *mask;        /* [key][row] */
  float *lse, *d;              /* of each row */
  block dq, dk, dv;            /* sums of the chunk under way */
  float *dk_panel, *dv_panel, *dk_total, *dv_total, *dq_panel, *dq_total;
  bool q_finite, dy_finite, k_finite;
  uint64_t see[TILE], keep[TILE]; /* bits of rows, by key: present; of these, kept */
} backward;

static backward backward_init(const iso_attention_problem *p, const iso_attention_args *a, float *w) {
  const int64_t e = iso__tile_columns(p->e), f = iso__tile_columns(p->f), n_rows = p->l * p->group;
  const iso_philox at = iso__attention_noise(a);
  const bool many = p->s > CHUNK;
  return (backward){.t = {.p = p, .a = a, .group = p->group, .noise = philox_begin(&at)},
                    .q = {piece(&w, TILE * e), e},
                    .dy = {piece(&w, TILE * f), f},
                    .o = {piece(&w, TILE * f), f},
                    .k = {piece(&w, CHUNK * e), e},
                    .v = {piece(&w, CHUNK * f), f},
                    .q_turned = piece(&w, TILE * (e > f ? e : f)), /* o, too */
                    .dy_turned = piece(&w, TILE * f),
                    .s = piece(&w, TILE * TILE),
                    .ds = piece(&w, TILE * TILE),
                    .mask = piece(&w, TILE * TILE),
                    .lse = piece(&w, TILE),
                    .d = piece(&w, TILE),
                    .dq = {piece(&w, TILE * e), e},
                    .dk = {piece(&w, CHUNK * e), e},
                    .dv = {piece(&w, CHUNK * f), f},
                    .dk_panel = piece(&w, CHUNK * e),
                    .dv_panel = piece(&w, CHUNK * f),
                    .dk_total = piece(&w, CHUNK * e),
                    .dv_total = piece(&w, CHUNK * f),
                    .dq_panel = many ? piece(&w, n_rows * e) : NULL,
                    .dq_total = many ? piece(&w, n_rows * e) : NULL};
}

/* ---- sums ---- */

/* sum = sum + part, part = 0, of n whole vectors. */
static void join(float *sum, float *part, int64_t n) {
  for (int64_t i = 0; i < n; i += VF_LANES) {
    vf_store(sum + i, vf_add(vf_load(sum + i), vf_load(part + i)));
    vf_store(part + i, vf_zero());
  }
}
static void clear(float *x, int64_t n) { memset(x, 0, (size_t)n * sizeof *x); }

/* (x + 0)·scale to the rows of an output. */
static void put_rows(block x, const rows *to, void *out, int64_t first, int64_t n, float scale, bool scaled) {
  for (int64_t r = 0; r < n; r++) {
    const int64_t at = row_at(to, first + r);
    for (int64_t c = 0; c < to->columns; c += VF_LANES) {
      vf y = vf_add(vf_load(x.at + r * x.ld + c), vf_zero());
      if (scaled) y = vf_mul(y, vf_set1(scale));
      store_some(out, to->dtype, at + c, y, (size_t)least(VF_LANES, to->columns - c));
    }
  }
}

/* ---- a tile ---- */

/* D = ordered(dy·o), L and the two factors of the tile's rows, in both orders. */
static void take_tile(backward *w, int64_t row, int64_t n) {
  const iso_attention_problem *p = w->t.p;
  const float *lse = w->t.a->lse_saved;
  tile_init(&w->t, row, n);
  if (!w->t.there) return;
  w->q_finite = take_rows(&w->of_q, row, n, TILE, w->q);
  w->dy_finite = take_rows(&w->of_dy, row, n, TILE, w->dy);
  take_rows(&w->of_o, row, n, TILE, w->o);
  turn_rows(w->o, w->q_turned), turn_rows(w->dy, w->dy_turned);
  for (int g = 0; g < GROUPS; g++) {
    vf d = vf_zero();
    for (int64_t c = 0; c < p->f; c++) {
      const int64_t at = c * TILE + g * VF_LANES;
      d = vf_fma(vf_load(w->dy_turned + at), vf_load(w->q_turned + at), d);
    }
    vf_store(w->d + g * VF_LANES, vf_add(d, vf_zero()));
  }
  turn_rows(w->q, w->q_turned);
  for (int64_t r = 0; r < TILE; r++) {
    const int64_t head = head_of(&w->t, r), query = query_of(&w->t, r);
    w->lse[r] = r < n ? lse[(w->t.b * p->heads + head) * p->l + query] : 0;
    if (w->lse[r] == -INFINITY) w->t.there &= ~(UINT64_C(1) << r);
  }
}

/* Weights and ds of vector g of rows and n keys, in place of q·k and dy·v. */
VEC_FN void weigh_pairs(backward *w, int g, int64_t n, bool all, bool masked, bool drops) {
  const vf scale = vf_set1((float)w->t.a->scale), kept = vf_set1((float)(1 / (1 - w->t.a->p)));
  const vf lse = vf_load(w->lse + g * VF_LANES), d = vf_load(w->d + g * VF_LANES), low = vf_set1(-INFINITY);
  for (int64_t j = 0; j < n; j++) {
    const int64_t at = j * TILE + g * VF_LANES;
    vf s = vf_mul(vf_add(vf_load(w->s + at), vf_zero()), scale);
    if (masked) s = vf_add(s, vf_load(w->mask + at));
    if (!all) s = vf_select(bits_at(w->see, j, g), s, low);
    const vm gone = vf_eq(s, low);
    vf p = vf_select(gone, vf_zero(), v_exp(vf_sub(s, lse))), dp = vf_add(vf_load(w->ds + at), vf_zero());
    if (drops) dp = vf_select(bits_at(w->keep, j, g), vf_mul(dp, kept), vf_zero());
    vf_store(w->ds + at, vf_select(gone, vf_zero(), vf_mul(p, vf_sub(dp, d))));
    if (drops) p = vf_select(bits_at(w->keep, j, g), vf_mul(p, kept), vf_zero());
    vf_store(w->s + at, p);
  }
}
/* Bits of the pairs of vector g that are present; before weigh_pairs. */
static void note_present(backward *w, int g, int64_t n, bool masked) {
  const vf scale = vf_set1((float)w->t.a->scale);
  for (int64_t j = 0; j < n; j++) {
    const int64_t at = j * TILE + g * VF_LANES;
    vf s = vf_mul(vf_add(vf_load(w->s + at), vf_zero()), scale);
    if (masked) s = vf_add(s, vf_load(w->mask + at));
    w->see[j] &= ~((uint64_t)vm_bits(vf_eq(s, vf_set1(-INFINITY))) << (g * VF_LANES));
  }
}

static void multiply(bool finite, left_factor a, block b, block c, int64_t n_rows, int64_t n, const uint64_t *bits,
                     bool turned) {
  if (finite) product(a, b, c, n_rows, c.ld, n, true);
  else add_present(a, b, c, n_rows, c.ld, n, bits, turned);
}

/* Keys j0 … j0 + n − 1 of the chunk that begins at key c0. */
static void add_block(backward *w, int64_t c0, int64_t j0, int64_t n, bool wants_q, bool wants_kv) {
  const iso_attention_problem *p = w->t.p;
  const int64_t columns = (w->t.n + VF_LANES - 1) / VF_LANES * VF_LANES, at = j0 - c0;
  const block k = {w->k.at + at * w->k.ld, w->k.ld}, v = {w->v.at + at * w->v.ld, w->v.ld};
  const bool masked = p->mask == ISO__MASK_ADDED, careful = !w->q_finite || !w->dy_finite || !w->k_finite;
  const bool all = tile_sees(&w->t, j0, n, w->see);
  if (masked) tile_mask(&w->t, j0, n, w->mask);
  if (p->dropout) tile_keeps(&w->t, j0, n, w->keep);
  product((left_factor){k.at, 1, k.ld}, (block){w->q_turned, TILE}, (block){w->s, TILE}, n, columns, p->e, false);
  product((left_factor){v.at, 1, v.ld}, (block){w->dy_turned, TILE}, (block){w->ds, TILE}, n, columns, p->f, false);
  if (all && careful)
    for (int64_t j = 0; j < n; j++) w->see[j] = ~UINT64_C(0);
  for (int g = 0; g * VF_LANES < w->t.n; g++) {
    if (careful) note_present(w, g, n, masked);
    if (p->dropout) weigh_pairs(w, g, n, all, masked, true);
    else if (masked) weigh_pairs(w, g, n, all, true, false);
    else if (all) weigh_pairs(w, g, n, true, false, false);
    else weigh_pairs(w, g, n, false, false, false);
  }
  if (wants_q) multiply(w->k_finite, (left_factor){w->ds, TILE, 1}, k, w->dq, w->t.n, n, w->see, false);
  if (!wants_kv) return;
  const block dk = {w->dk.at + at * w->dk.ld, w->dk.ld}, dv = {w->dv.at + at * w->dv.ld, w->dv.ld};
  multiply(w->q_finite, (left_factor){w->ds, 1, TILE}, w->q, dk, n, w->t.n, w->see, true);
  for (int64_t j = 0; j < n && !w->dy_finite && p->dropout; j++) w->see[j] &= w->keep[j];
  multiply(w->dy_finite, (left_factor){w->s, 1, TILE}, w->dy, dv, n, w->t.n, w->see, true);
}

/* ---- a chunk of keys, a range of rows ---- */

typedef struct part {
  int64_t b, shared;        /* batch item, head of k and v */
  int64_t row, row_end;     /* from a multiple of TILE on */
  int64_t chunk, chunk_end; /* of keys */
  bool wants_q, wants_kv;
} part;

static void add_tile(backward *w, const part *x, int64_t c0, int64_t n_keys, int64_t row) {
  const iso_attention_problem *p = w->t.p;
  take_tile(w, row, least(TILE, x->row_end - row));
  const int64_t end = least(c0 + n_keys, w->t.n_keys);
  const bool only = p->s <= CHUNK;
  if (x->wants_q) clear(w->dq.at, TILE * w->dq.ld);
  if (w->t.there)
    for (int64_t j0 = c0; j0 < end; j0 += ISO__KEY_BLOCK)
      add_block(w, c0, j0, least(ISO__KEY_BLOCK, end - j0), x->wants_q, x->wants_kv);
  if (!x->wants_q) return;
  const rows to = rows_of(NULL, (iso_dtype)p->head.dtype, &p->dq, x->b, x->shared * p->group, p->e);
  rows dq = to;
  dq.group = p->group;
  if (only) put_rows(w->dq, &dq, w->t.a->dq, row, w->t.n, (float)w->t.a->scale, true);
  else join(w->dq_panel + (row - x->row) * w->dq.ld, w->dq.at, w->t.n * w->dq.ld);
}

static void join_kv(backward *w, bool panel) {
  const int64_t e = CHUNK * w->dk.ld, f = CHUNK * w->dv.ld;
  join(panel ? w->dk_total : w->dk_panel, panel ? w->dk_panel : w->dk.at, e);
  join(panel ? w->dv_total : w->dv_panel, panel ? w->dv_panel : w->dv.at, f);
}

static void add_chunk(backward *w, const part *x, int64_t chunk) {
  const iso_attention_problem *p = w->t.p;
  const int64_t c0 = chunk * CHUNK, n = least(CHUNK, p->s - c0), n_rows = x->row_end - x->row;
  const bool one = n_rows <= CHUNK; /* of rows: their sums need no panel */
  w->k_finite = take_rows(&w->of_k, c0, n, n, w->k);
  take_rows(&w->of_v, c0, n, n, w->v);
  if (x->wants_kv) {
    clear(w->dk.at, CHUNK * w->dk.ld), clear(w->dv.at, CHUNK * w->dv.ld);
    if (!one) {
      clear(w->dk_panel, CHUNK * w->dk.ld), clear(w->dv_panel, CHUNK * w->dv.ld);
      clear(w->dk_total, CHUNK * w->dk.ld), clear(w->dv_total, CHUNK * w->dv.ld);
    }
  }
  for (int64_t row = x->row; row < x->row_end; row += TILE) {
    add_tile(w, x, c0, n, row);
    const int64_t done = row + TILE;
    if (!x->wants_kv || one) continue;
    if (done % CHUNK == 0 || done >= x->row_end) join_kv(w, false);
    if (done % (4 * CHUNK) == 0 || done >= x->row_end) join_kv(w, true);
  }
  if (!x->wants_kv) return;
  const rows dk = rows_of(NULL, (iso_dtype)p->head.dtype, &p->dk, x->b, x->shared, p->e);
  const rows dv = rows_of(NULL, (iso_dtype)p->head.dtype, &p->dv, x->b, x->shared, p->f);
  put_rows((block){one ? w->dk.at : w->dk_total, w->dk.ld}, &dk, w->t.a->dk, c0, n, (float)w->t.a->scale, true);
  put_rows((block){one ? w->dv.at : w->dv_total, w->dv.ld}, &dv, w->t.a->dv, c0, n, 1, false);
}

static void run_part(backward *w, const part *x) {
  const iso_attention_problem *p = w->t.p;
  const iso_attention_args *a = w->t.a;
  const iso_dtype dtype = (iso_dtype)p->head.dtype;
  const int64_t head = x->shared * p->group, e = w->dq.ld, n_rows = x->row_end - x->row;
  const bool panels = x->wants_q && p->s > CHUNK;
  w->t.b = x->b, w->t.shared = x->shared, w->t.head = head;
  w->of_q = rows_of(a->q, dtype, &p->q, x->b, head, p->e),
  w->of_o = rows_of(a->o_saved, dtype, &p->o, x->b, head, p->f);
  w->of_dy = rows_of(a->dy, dtype, &p->dy, x->b, head, p->f);
  w->of_q.group = w->of_o.group = w->of_dy.group = p->group;
  w->of_k = rows_of(a->k, dtype, &p->k, x->b, x->shared, p->e);
  w->of_v = rows_of(a->v, dtype, &p->v, x->b, x->shared, p->f);
  if (panels) clear(w->dq_panel, n_rows * e), clear(w->dq_total, n_rows * e);
  for (int64_t c = x->chunk; c < x->chunk_end; c++) {
    add_chunk(w, x, c);
    if (panels && (c % 4 == 3 || c + 1 == x->chunk_end)) join(w->dq_total, w->dq_panel, n_rows * e);
  }
  rows dq = rows_of(NULL, dtype, &p->dq, x->b, head, p->e);
  dq.group = p->group;
  if (panels) put_rows((block){w->dq_total, e}, &dq, a->dq, x->row, n_rows, (float)a->scale, true);
  /* Without keys no chunk has written them. */
  if (x->wants_q && p->s == 0) clear(w->dq.at, TILE * e);
  for (int64_t row = x->row; row < x->row_end && x->wants_q && p->s == 0; row += TILE)
    put_rows(w->dq, &dq, a->dq, row, least(TILE, x->row_end - row), 1, false);
}

/* ---- tasks ---- */

typedef enum kind { PHASE_ALL, PHASE_Q, PHASE_KV } kind;
typedef struct backward_job {
  const iso__call *call;
  kind phase;
  int64_t n, of_task; /* parts; of a task */
} backward_job;

static int64_t chunks(int64_t n) { return (n + CHUNK - 1) / CHUNK; }
static int64_t parts_of_head(const iso_attention_problem *p, kind phase) {
  return phase == PHASE_ALL ? 1 : phase == PHASE_Q ? chunks(p->l * p->group) : chunks(p->s);
}

static void backward_task(void *arg, int task, int thread) {
  const backward_job *j = arg;
  const iso_attention_problem *p = (const iso_attention_problem *)j->call->problem;
  const size_t n_bytes = ((size_t)iso__tiles_backward_floats(p) * sizeof(float) + 63) / 64 * 64;
  backward w =
      backward_init(p, j->call->args, (float *)(void *)((char *)j->call->workspace + (size_t)thread * n_bytes));
  const int64_t shared = p->heads / p->group, each = parts_of_head(p, j->phase), n_rows = p->l * p->group;
  for (int64_t i = task * j->of_task; i < least((task + 1) * j->of_task, j->n); i++) {
    const int64_t at = i % each;
    part x = {.b = i / each / shared,
              .shared = i / each % shared,
              .row_end = n_rows,
              .chunk_end = chunks(p->s),
              .wants_q = j->phase != PHASE_KV,
              .wants_kv = j->phase != PHASE_Q};
    if (j->phase == PHASE_Q) x.row = at * CHUNK, x.row_end = least(n_rows, x.row + CHUNK);
    if (j->phase == PHASE_KV) x.chunk = at, x.chunk_end = at + 1;
    run_part(&w, &x);
  }
}

static void run_phase(const iso__call *call, kind phase) {
  const iso_attention_problem *p = (const iso_attention_problem *)call->problem;
  const int64_t each = parts_of_head(p, phase);
  backward_job j = {.call = call, .phase = phase, .n = p->batch * (p->heads / p->group) * each};
  const double part_ns =
      (double)(p->l * p->group) * (double)p->s * (double)(6 * p->e + 4 * p->f + 64) / 100 / (double)(each ? each : 1) +
      500;
  j.of_task = (int64_t)(20000 / part_ns) + 1;
  if ((double)j.n * part_ns < 40000) j.of_task = j.n;
  if (j.n > 0) iso__parallel(call->ctx, (int)((j.n + j.of_task - 1) / j.of_task), backward_task, &j);
}

void ISA(iso__attention_bwd_tiles_run)(const iso__call *call) {
  const iso_attention_problem *p = (const iso_attention_problem *)call->problem;
  if (!iso__tiles_split(p, call->ctx->n_threads)) {
    run_phase(call, PHASE_ALL);
    return;
  }
  run_phase(call, PHASE_Q);
  run_phase(call, PHASE_KV);
}
