/* steps_impl.h: engine `recurrent_steps`: U is packed once, then each thread takes a block of samples through all steps
 * with the states at hand: a product of the block's h (or gradients) with U by the tiles of gemm, and the gates behind
 * it. Samples don't meet, so threads don't wait for each other. Within a block samples are ordered by length: those
 * that still run are the first ones. Included once per instruction set, which names its exports by ISA(name). */
#include "base/pool.h"
#include "kernels/gemm/tile.h"
#include "kernels/recurrent/engine.h"
#include "numeric/math_f32.h"
#include "numeric/order.h"

enum { STRIP = 2 * VF_LANES }; /* columns of a tile */

typedef struct job {
  const iso_recurrent_problem *p;
  const iso_recurrent_args *a;
  iso__recurrent_pieces pieces;
  const float
      *packed; /* strips of Uᵀ (fwd: unit block by unit block, its gates side by side) or U (bwd), all k of each */
  char *locals;
  int64_t k, n_gates;
  int n_blocks;
} job;

/* A thread's samples: number, length, and where a step lies of each. */
typedef struct block {
  const job *j;
  int64_t n, sample[ISO__RECURRENT_SAMPLES], length[ISO__RECURRENT_SAMPLES];
  float *state[4], *gates, *panel;
} block;

static int64_t row_of(const block *b, int64_t i, int64_t s) {
  return iso__recurrent_row(b->j->p, b->sample[i], b->length[i], s);
}

/* Samples [begin, end), the longest first. */
static void block_init(block *b, const job *j, int64_t begin, int64_t end, int thread) {
  char *local = j->locals + (size_t)thread * j->pieces.local;
  *b = (block){.j = j, .n = end - begin};
  for (int i = 0; i < 4; i++) b->state[i] = (float *)(local + j->pieces.states[i]);
  b->gates = (float *)(local + j->pieces.gates), b->panel = (float *)(local + j->pieces.panel);
  for (int64_t q = begin; q < end; q++) {
    const int64_t length = iso__recurrent_length(j->p, j->a, q);
    int64_t i = q - begin;
    for (; i > 0 && b->length[i - 1] < length; i--) b->length[i] = b->length[i - 1], b->sample[i] = b->sample[i - 1];
    b->length[i] = length, b->sample[i] = q;
  }
}

/* A state from (batch,hidden), or zeros; and back. */
static void state_read(const block *b, float *state, const void *from) {
  const int64_t n = b->j->p->hidden;
  for (int64_t i = 0; i < b->n; i++) {
    if (from) memcpy(state + i * b->j->pieces.ld, (const float *)from + b->sample[i] * n, (size_t)n * sizeof(float));
    else memset(state + i * b->j->pieces.ld, 0, (size_t)n * sizeof(float));
  }
}
static void state_write(const block *b, const float *state, void *to) {
  const int64_t n = b->j->p->hidden;
  for (int64_t i = 0; i < b->n; i++)
    memcpy((float *)to + b->sample[i] * n, state + i * b->j->pieces.ld, (size_t)n * sizeof(float));
}
/* What lies beyond the samples' lengths, of (time,batch,n). */
static void clear_rest(const block *b, void *data, int64_t n) {
  for (int64_t i = 0; i < b->n && data; i++)
    for (int64_t t = b->length[i]; t < b->j->p->time; t++)
      memset((float *)data + (t * b->j->p->batch + b->sample[i]) * n, 0, (size_t)n * sizeof(float));
}

/* ---- products ---- */

/* c = a·strip, all k of one tile at once; c waits for its chunks itself, later panels' sums in `panel`. */
static void multiply(const job *j, int64_t rows, const float *a, int64_t lda, const float *strip, float *c, int64_t ldc,
                     float *panel) {
  for (int64_t k = 0; k < j->k; k += ISO__CHUNK_TERMS) {
    iso__fold f = {.columns = STRIP, .total = c, .c = c, .ld_panel = ldc, .ld_total = ldc, .ldc = ldc};
    iso__fold_place(&f, k, j->k);
    f.panel = f.first_panel ? c : panel;
    if (!f.first_panel) f.ld_panel = STRIP;
    ISA(iso__tiles).row[2][rows](iso__min(ISO__CHUNK_TERMS, j->k - k), a + k, lda, strip + k * STRIP, STRIP, &f);
  }
}

/* dh = dz·U of the first m samples, chunk by chunk so that a chunk of dz stays near; `direct` is added last. */
static void multiply_back(const block *b, int64_t m, float *dh, const float *direct) {
  const job *j = b->j;
  const iso__tiles *tiles = &ISA(iso__tiles);
  const int64_t ld = j->pieces.ld, n_tiles = iso__tile_count(m, tiles->max_rows);
  for (int64_t k = 0; k < j->k; k += ISO__CHUNK_TERMS) {
    const int64_t terms = iso__min(ISO__CHUNK_TERMS, j->k - k);
    for (int64_t first = 0; first < j->p->hidden; first += STRIP) {
      const float *strip = j->packed + first * j->k + k * STRIP;
      for (int64_t t = 0; t < n_tiles; t++) {
        const int64_t row = iso__tile_begin(m, n_tiles, t), rows = iso__tile_begin(m, n_tiles, t + 1) - row;
        float *c = dh + row * ld + first;
        const iso__epilogue add = {
            .dtype = ISO_F32, .residual = direct ? direct + row * ld + first : NULL, .ld_residual = ld};
        iso__fold f = {.columns = STRIP, .total = c, .c = c, .ld_panel = ld, .ld_total = ld, .ldc = ld};
        iso__fold_place(&f, k, j->k);
        f.panel = f.first_panel ? c : b->panel + row * ld + first;
        f.epilogue = direct ? &add : NULL;
        tiles->row[2][rows](terms, b->gates + row * j->pieces.ld_gates + k, j->pieces.ld_gates, strip, STRIP, &f);
      }
    }
  }
}

/* ---- gates of one sample and at most a strip of units: `left` of VF_LANES at j ---- */

/* Where they lie: x, bias and what is saved by gates, `stride` apart; u by gates, STRIP apart. */
typedef struct gate_place {
  const float *x, *bias, *u, *h;
  float *c, *y, *h_next, *gates, *cells;
  int64_t stride;
} gate_place;

VEC_FN vf recurrent(const gate_place *g, int gate, int64_t j, size_t left) {
  const vf u = vf_load_n(g->u + gate * STRIP + j, left);
  return g->bias ? vf_add(u, vf_load_n(g->bias + gate * g->stride + j, left)) : u;
}
VEC_FN vf input(const gate_place *g, int gate, int64_t j, size_t left) {
  return vf_load_n(g->x + gate * g->stride + j, left);
}
VEC_FN void save(const gate_place *g, int gate, int64_t j, vf v, size_t left) {
  vf_store_n(g->gates + gate * g->stride + j, v, left);
}

VEC_FN vf lstm(const gate_place *g, int64_t j, size_t left) {
  const vf i = v_sigmoid(vf_add(input(g, 0, j, left), recurrent(g, 0, j, left)));
  const vf f = v_sigmoid(vf_add(input(g, 1, j, left), recurrent(g, 1, j, left)));
  const vf n = v_tanh(vf_add(input(g, 2, j, left), recurrent(g, 2, j, left)));
  const vf o = v_sigmoid(vf_add(input(g, 3, j, left), recurrent(g, 3, j, left)));
  const vf c = vf_fma(f, vf_load_n(g->c + j, left), vf_mul(i, n));
  vf_store_n(g->c + j, c, left);
  if (g->gates) {
    save(g, 0, j, i, left), save(g, 1, j, f, left), save(g, 2, j, n, left), save(g, 3, j, o, left);
    vf_store_n(g->cells + j, c, left);
  }
  return vf_mul(o, v_tanh(c));
}
VEC_FN vf gru(const gate_place *g, int64_t j, size_t left) {
  const vf r = v_sigmoid(vf_add(input(g, 0, j, left), recurrent(g, 0, j, left)));
  const vf z = v_sigmoid(vf_add(input(g, 1, j, left), recurrent(g, 1, j, left)));
  const vf u = recurrent(g, 2, j, left), n = v_tanh(vf_fma(r, u, input(g, 2, j, left)));
  if (g->gates) save(g, 0, j, r, left), save(g, 1, j, z, left), save(g, 2, j, n, left), save(g, 3, j, u, left);
  return vf_fma(z, vf_sub(vf_load_n(g->h + j, left), n), n);
}
VEC_FN vf plain(const gate_place *g, int64_t j, size_t left, bool is_tanh) {
  const vf v = vf_add(input(g, 0, j, left), recurrent(g, 0, j, left));
  return is_tanh ? v_tanh(v) : vf_relu(v);
}
VEC_FN void gates_of(const gate_place *g, int64_t n, unsigned cell) {
#define STEP(i, left)                                                                                                  \
  do {                                                                                                                 \
    const vf h = cell == ISO__CELL_LSTM  ? lstm(g, i, left)                                                            \
                 : cell == ISO__CELL_GRU ? gru(g, i, left)                                                             \
                                         : plain(g, i, left, cell == ISO__CELL_TANH);                                  \
    vf_store_n(g->y + i, h, left), vf_store_n(g->h_next + i, h, left);                                                 \
  } while (0)
  VEC_EACH(n, STEP);
#undef STEP
}

/* ---- forward ---- */

/* One step of the first m samples: h to h_next. */
VEC_FN void forward_step(const block *b, int64_t s, int64_t m, const float *h, float *h_next, float *c, unsigned cell) {
  const job *j = b->j;
  const iso_recurrent_problem *p = j->p;
  const iso_recurrent_args *a = j->a;
  const int64_t n = p->hidden, ld = j->pieces.ld, width = j->n_gates * STRIP, saved = iso__cell_saved(cell) * n;
  const int64_t n_tiles = iso__tile_count(m, ISA(iso__tiles).max_rows);
  for (int64_t first = 0; first < n; first += STRIP) {
    for (int64_t gate = 0; gate < j->n_gates; gate++)
      for (int64_t t = 0; t < n_tiles; t++) {
        const int64_t row = iso__tile_begin(m, n_tiles, t), rows = iso__tile_begin(m, n_tiles, t + 1) - row;
        multiply(j, rows, h + row * ld, ld, j->packed + (first * j->n_gates + gate * STRIP) * n,
                 b->gates + row * width + gate * STRIP, width, b->panel);
      }
    for (int64_t i = 0; i < m; i++) {
      const int64_t row = row_of(b, i, s);
      const gate_place g = {.x = (const float *)a->x + row * j->n_gates * n + first,
                            .bias = p->has_bias ? (const float *)a->bias + first : NULL,
                            .u = b->gates + i * width,
                            .h = h + i * ld + first,
                            .c = c + i * ld + first,
                            .y = (float *)a->y + row * n + first,
                            .h_next = h_next + i * ld + first,
                            .gates = p->saves && saved ? (float *)a->gates + row * saved + first : NULL,
                            .cells = p->saves && cell == ISO__CELL_LSTM ? (float *)a->cells + row * n + first : NULL,
                            .stride = n};
      gates_of(&g, iso__min(STRIP, n - first), cell);
    }
  }
}

VEC_FN void forward_block(block *b, unsigned cell) {
  const job *j = b->j;
  const iso_recurrent_args *a = j->a;
  const int64_t n = j->p->hidden, ld = j->pieces.ld;
  float *h = b->state[0], *next = b->state[1], *c = b->state[2];
  state_read(b, h, a->h0);
  if (cell == ISO__CELL_LSTM) state_read(b, c, a->c0);
  int64_t m = b->n;
  for (int64_t s = 0; s < j->p->time; s++) {
    for (; m && b->length[m - 1] <= s; m--) /* its last h is its result */
      memcpy((float *)a->hn + b->sample[m - 1] * n, h + (m - 1) * ld, (size_t)n * sizeof(float));
    if (!m) break;
    forward_step(b, s, m, h, next, c, cell);
    float *last = h;
    h = next, next = last;
  }
  for (; m; m--) memcpy((float *)a->hn + b->sample[m - 1] * n, h + (m - 1) * ld, (size_t)n * sizeof(float));
  if (cell == ISO__CELL_LSTM) state_write(b, c, a->cn);
  clear_rest(b, a->y, n);
  if (!j->p->saves) return;
  clear_rest(b, a->gates, iso__cell_saved(cell) * n);
  clear_rest(b, a->cells, n);
}

/* ---- backward: gradients of one sample's gates, at units of VF_LANES ---- */

typedef struct gradient_place {
  const float *gates, *cells, *c, *y, *h, *dy;
  float *dh, *dc, *dx, *dz, *near, *direct; /* near: what the product reads */
  int64_t n;
} gradient_place;

VEC_FN vf one_minus(vf a) { return vf_sub(vf_set1(1), a); }
VEC_FN vf one_minus_square(vf a) { return vf_fma(vf_neg(a), a, vf_set1(1)); }
VEC_FN vf saved(const gradient_place *g, int gate, int64_t j, size_t left) {
  return vf_load_n(g->gates + gate * g->n + j, left);
}
VEC_FN void put(const gradient_place *g, float *out, int gate, int64_t j, vf v, size_t left) {
  vf_store_n(out + gate * g->n + j, v, left), vf_store_n(g->near + gate * g->n + j, v, left);
}

VEC_FN void lstm_gradient(const gradient_place *g, int64_t j, vf dh, size_t left) {
  const vf i = saved(g, 0, j, left), f = saved(g, 1, j, left), n = saved(g, 2, j, left), o = saved(g, 3, j, left);
  const vf c = vf_load_n(g->c + j, left), t = v_tanh(vf_load_n(g->cells + j, left));
  const vf dc = vf_fma(vf_mul(dh, o), one_minus_square(t), vf_load_n(g->dc + j, left));
  put(g, g->dx, 0, j, vf_mul(vf_mul(dc, n), vf_mul(i, one_minus(i))), left);
  put(g, g->dx, 1, j, vf_mul(vf_mul(dc, c), vf_mul(f, one_minus(f))), left);
  put(g, g->dx, 2, j, vf_mul(vf_mul(dc, i), one_minus_square(n)), left);
  put(g, g->dx, 3, j, vf_mul(vf_mul(dh, t), vf_mul(o, one_minus(o))), left);
  vf_store_n(g->dc + j, vf_mul(dc, f), left);
}
VEC_FN void gru_gradient(const gradient_place *g, int64_t j, vf dh, size_t left) {
  const vf r = saved(g, 0, j, left), z = saved(g, 1, j, left), n = saved(g, 2, j, left), u = saved(g, 3, j, left);
  const vf h = vf_load_n(g->h + j, left), dn = vf_mul(vf_mul(dh, one_minus(z)), one_minus_square(n));
  const vf dr = vf_mul(vf_mul(dn, u), vf_mul(r, one_minus(r)));
  const vf dz = vf_mul(vf_mul(dh, vf_sub(h, n)), vf_mul(z, one_minus(z)));
  put(g, g->dz, 0, j, dr, left), put(g, g->dz, 1, j, dz, left), put(g, g->dz, 2, j, vf_mul(dn, r), left);
  vf_store_n(g->dx + j, dr, left), vf_store_n(g->dx + g->n + j, dz, left), vf_store_n(g->dx + 2 * g->n + j, dn, left);
  vf_store_n(g->direct + j, vf_mul(dh, z), left);
}
VEC_FN void plain_gradient(const gradient_place *g, int64_t j, vf dh, size_t left, bool is_tanh) {
  const vf y = vf_load_n(g->y + j, left);
  put(g, g->dx, 0, j, is_tanh ? vf_mul(dh, one_minus_square(y)) : vf_relu_gradient(y, dh), left);
}
VEC_FN void gradients_of(const gradient_place *g, unsigned cell) {
#define STEP(i, left)                                                                                                  \
  do {                                                                                                                 \
    vf dh = vf_load_n(g->dh + i, left);                                                                                \
    if (g->dy) dh = vf_add(vf_load_n(g->dy + i, left), dh);                                                            \
    if (cell == ISO__CELL_LSTM) lstm_gradient(g, i, dh, left);                                                         \
    else if (cell == ISO__CELL_GRU) gru_gradient(g, i, dh, left);                                                      \
    else plain_gradient(g, i, dh, left, cell == ISO__CELL_TANH);                                                       \
  } while (0)
  VEC_EACH(g->n, STEP);
#undef STEP
}

VEC_FN void backward_block(block *b, unsigned cell) {
  const job *j = b->j;
  const iso_recurrent_problem *p = j->p;
  const iso_recurrent_args *a = j->a;
  const int64_t n = p->hidden, ld = j->pieces.ld, width = j->k, saved_width = iso__cell_saved(cell) * n;
  const bool is_lstm = cell == ISO__CELL_LSTM, is_gru = cell == ISO__CELL_GRU;
  float *dh = b->state[0], *dc = b->state[1], *direct = b->state[2];
  state_read(b, dh, p->has_dhn ? a->dhn : NULL);
  if (is_lstm) state_read(b, dc, p->has_dcn ? a->dcn : NULL);
  int64_t m = 0;
  for (int64_t s = b->n ? b->length[0] - 1 : -1; s >= 0; s--) {
    while (m < b->n && b->length[m] > s) m++;
    for (int64_t i = 0; i < m; i++) {
      const int64_t row = row_of(b, i, s), before = s ? row_of(b, i, s - 1) : 0, t = row / p->batch;
      const gradient_place g = {.gates = saved_width ? (const float *)a->gates_saved + row * saved_width : NULL,
                                .cells = is_lstm ? (const float *)a->cells_saved + row * n : NULL,
                                .c = !is_lstm ? NULL
                                     : s      ? (const float *)a->cells_saved + before * n
                                              : (const float *)a->c0 + b->sample[i] * n,
                                .y = is_lstm ? NULL : (const float *)a->y_saved + row * n,
                                .h = !is_gru ? NULL
                                     : s     ? (const float *)a->y_saved + before * n
                                             : (const float *)a->h0 + b->sample[i] * n,
                                .dy = p->has_dy ? (const float *)a->dy + t * p->dy_time + b->sample[i] * p->dy_batch
                                                : NULL,
                                .dh = dh + i * ld,
                                .dc = dc + i * ld,
                                .dx = (float *)a->dx + row * width,
                                .dz = is_gru ? (float *)a->dz + row * width : NULL,
                                .near = b->gates + i * j->pieces.ld_gates,
                                .direct = direct + i * ld,
                                .n = n};
      gradients_of(&g, cell);
    }
    multiply_back(b, m, dh, is_gru ? direct : NULL);
  }
  state_write(b, dh, a->dh0);
  if (is_lstm) state_write(b, dc, a->dc0);
  clear_rest(b, a->dx, width);
  if (is_gru) clear_rest(b, a->dz, width);
}

/* ---- threads ---- */

#define CELL(name, cell)                                                                                               \
  static void forward_##name(block *b) { forward_block(b, cell); }                                                     \
  static void backward_##name(block *b) { backward_block(b, cell); }
CELL(lstm, ISO__CELL_LSTM)
CELL(gru, ISO__CELL_GRU)
CELL(tanh, ISO__CELL_TANH)
CELL(relu, ISO__CELL_RELU)
#undef CELL

static void run_block(void *arg, int task, int thread) {
  static void (*const forward[])(block *) = {forward_lstm, forward_gru, forward_tanh, forward_relu};
  static void (*const backward[])(block *) = {backward_lstm, backward_gru, backward_tanh, backward_relu};
  const job *j = arg;
  block b;
  block_init(&b, j, iso__tile_begin(j->p->batch, j->n_blocks, task),
             iso__tile_begin(j->p->batch, j->n_blocks, task + 1), thread);
  (j->p->head.op == ISO__OP_RECURRENT_FWD ? forward : backward)[j->p->cell](&b);
}

typedef struct packing {
  const job *j;
  float *to;
} packing;

/* Strips of U for units [begin, end), whole strips. */
static void pack(void *arg, int64_t begin, int64_t end, int thread) {
  const packing *q = arg;
  const job *j = q->j;
  const float *u = j->a->u;
  const int64_t n = j->p->hidden;
  (void)thread;
  for (int64_t first = begin; first < end; first += STRIP) {
    const int columns = (int)iso__min(STRIP, n - first);
    if (j->p->head.op == ISO__OP_RECURRENT_BWD) {
      ISA(iso__tiles).pack_copying(q->to + first * j->k, STRIP, u + first, n, columns, j->k);
      continue;
    }
    for (int64_t gate = 0; gate < j->n_gates; gate++)
      ISA(iso__tiles)
          .pack_transposing(q->to + (first * j->n_gates + gate * STRIP) * n, STRIP, u + (gate * n + first) * n, n,
                            columns, n);
  }
}

/* Blocks of at most ISO__RECURRENT_SAMPLES, as many for each thread, but not of less than a few samples. */
static int n_blocks_for(int64_t batch, int n_threads) {
  const int64_t least = iso__ceil_div(batch, ISO__RECURRENT_SAMPLES), few = iso__ceil_div(batch, 4);
  int64_t n = least < n_threads ? n_threads : iso__round_up(least, n_threads);
  if (n > few) n = few < least ? least : few;
  return (int)n;
}

static void pack_all(const iso__call *call, const job *j, float *to) {
  iso__parallel_range(call->ctx, j->p->hidden, iso__ceil_div(16384, j->n_gates * j->p->hidden), STRIP, pack,
                      &(packing){.j = j, .to = to});
}
static job job_of(const iso__call *call) {
  const iso_recurrent_problem *p = (const iso_recurrent_problem *)call->problem;
  job j = {.p = p, .a = call->args, .n_gates = iso__cell_gates(p->cell)};
  j.pieces = iso__recurrent_pieces_of(p, STRIP, iso_n_threads(call->ctx));
  j.k = p->head.op == ISO__OP_RECURRENT_FWD ? p->hidden : j.n_gates * p->hidden;
  return j;
}

void ISA(iso__recurrent_run)(const iso__call *call) {
  job j = job_of(call);
  if (!j.p->batch) return;
  char *ws = call->workspace;
  j.locals = ws + (call->kept ? 0 : j.pieces.packed_bytes);
  j.packed = call->kept ? call->kept : call->workspace;
  j.n_blocks = n_blocks_for(j.p->batch, iso_n_threads(call->ctx));
  if (!call->kept) pack_all(call, &j, call->workspace);
  iso__parallel(call->ctx, j.n_blocks, run_block, &j);
}

size_t ISA(iso__recurrent_workspace)(const iso__problem *problem, int n_threads) {
  return iso__recurrent_workspace(problem, n_threads, STRIP);
}

/* U in strips. */
size_t ISA(iso__recurrent_kept_bytes)(const iso__problem *problem) {
  return iso__recurrent_pieces_of((const iso_recurrent_problem *)problem, STRIP, 0).packed_bytes;
}
void ISA(iso__recurrent_prepare)(const iso__call *call, void *kept) {
  const job j = job_of(call);
  pack_all(call, &j, kept);
}
