/* layers.c: lstm, gru and rnn of several layers and directions, and their cells: for each layer and direction one
 * product W·x + b for all steps (a linear), then the recurrence. Padding of x counts as zeros, so that what it holds
 * reaches no weight's gradient. */
#include "ops/index/index.h"
#include "ops/recurrent/recurrent.h"

/* What a call is about. */
typedef struct stack {
  const char *op;
  iso__cell cell;
  iso_recurrent_options o;
  const iso_recurrent_weights *weights;
  int n_layers, n_directions;
  int64_t hidden, batch, time;
} stack;

/* ---- checks ---- */

static bool fits(iso_context *ctx, const char *op, const char *name, int layer, int direction, const iso_tensor *t,
                 int n_dims, const int64_t *shape) {
  char is[128], wanted[128];
  if (t->view.n_dims == n_dims && !memcmp(t->view.shape, shape, (size_t)n_dims * sizeof *shape)) return true;
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "%s of layer %d%s is %s where %s is needed", name, layer,
            direction ? ", reverse," : "", iso__shape_text(t->view.n_dims, t->view.shape, is, sizeof is),
            iso__shape_text(n_dims, shape, wanted, sizeof wanted));
  return false;
}

static bool check_weights(iso_context *ctx, const stack *s, const iso_tensor *x, int layer, int direction,
                          int64_t width) {
  const iso_recurrent_weights *w = &s->weights[layer * s->n_directions + direction];
  const int64_t gates = iso__cell_gates(s->cell) * s->hidden;
  if (!iso__takes(ctx, s->op, 2, ISO__TENSORS(w->w_ih, w->w_hh)) ||
      !iso__takes_floats(ctx, s->op, 5, ISO__TENSORS(x, w->w_ih, w->w_hh, w->b_ih, w->b_hh)))
    return false;
  return fits(ctx, s->op, "w_ih", layer, direction, w->w_ih, 2, (const int64_t[]){gates, width}) &&
         fits(ctx, s->op, "w_hh", layer, direction, w->w_hh, 2, (const int64_t[]){gates, s->hidden}) &&
         (!w->b_ih || fits(ctx, s->op, "b_ih", layer, direction, w->b_ih, 1, &gates)) &&
         (!w->b_hh || fits(ctx, s->op, "b_hh", layer, direction, w->b_hh, 1, &gates));
}

static bool check_state(iso_context *ctx, const stack *s, const iso_tensor *x, const char *name, const iso_tensor *t) {
  char is[128];
  if (!t) return true;
  if (!iso__takes_floats(ctx, s->op, 2, ISO__TENSORS(x, t))) return false;
  const int64_t shape[] = {s->n_layers * s->n_directions, s->batch, s->hidden};
  if (t->view.n_dims == 3 && !memcmp(t->view.shape, shape, sizeof shape)) return true;
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, s->op, "%s is %s where (%lld,%lld,%lld) is needed", name,
            iso__shape_text(t->view.n_dims, t->view.shape, is, sizeof is), (long long)shape[0], (long long)shape[1],
            (long long)shape[2]);
  return false;
}

/* Fills the extents; false with the error kept. */
static bool check(iso_context *ctx, stack *s, const iso_tensor *x) {
  char is[128];
  if (!iso__takes_floats(ctx, s->op, 1, &x)) return false;
  const iso__view *v = &x->view;
  s->n_layers = s->o.n_layers ? s->o.n_layers : 1, s->n_directions = s->o.bidirectional ? 2 : 1;
  if (v->n_dims != 3 || s->n_layers < 1 || !s->weights || !(s->o.dropout >= 0 && s->o.dropout <= 1)) {
    ISO__FAIL(ctx, v->n_dims != 3 ? ISO_SHAPE_MISMATCH : ISO_INVALID_ARGUMENT, s->op,
              "x is %s, %d layers%s, dropout %g: three dimensions, a layer with weights and 0 ≤ dropout ≤ 1 are needed",
              iso__shape_text(v->n_dims, v->shape, is, sizeof is), s->n_layers, s->weights ? "" : " without weights",
              s->o.dropout);
    return false;
  }
  if (!iso__takes(ctx, s->op, 1, &s->weights[0].w_hh)) return false;
  const iso__view *u = &s->weights[0].w_hh->view;
  s->batch = v->shape[!s->o.time_first ? 0 : 1], s->time = v->shape[s->o.time_first ? 0 : 1];
  s->hidden = u->n_dims == 2 ? u->shape[1] : 0;
  if (s->hidden < 1) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, s->op, "w_hh is %s: (gates·hidden,hidden) of at least one unit is needed",
              iso__shape_text(u->n_dims, u->shape, is, sizeof is));
    return false;
  }
  for (int layer = 0; layer < s->n_layers; layer++)
    for (int d = 0; d < s->n_directions; d++)
      if (!check_weights(ctx, s, x, layer, d, layer ? s->hidden * s->n_directions : v->shape[2])) return false;
  const iso_tensor *lengths = s->o.lengths;
  if (lengths && (lengths->view.n_dims != 1 || lengths->view.shape[0] != s->batch)) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, s->op, "lengths are %s: one for each of %lld samples are needed",
              iso__shape_text(lengths->view.n_dims, lengths->view.shape, is, sizeof is), (long long)s->batch);
    return false;
  }
  return check_state(ctx, s, x, "h0", s->o.h0) && check_state(ctx, s, x, "c0", s->o.c0);
}

/* ---- lengths ---- */

/* As i64 within [0,time]; NULL without an error where all samples have all steps. */
static iso_tensor *ragged(iso_context *ctx, const stack *s) {
  iso_tensor *lengths = s->o.lengths ? iso__index_read(ctx, s->op, "lengths", s->o.lengths, s->time + 1, false) : NULL;
  const int64_t *length = iso__data(lengths);
  for (int64_t i = 0; i < s->batch && length; i++)
    if (length[i] < s->time) return lengths;
  return NULL;
}

/* x (time,batch,in) with zeros from each sample's length on. */
static iso_tensor *without_padding(iso_context *ctx, const stack *s, const iso_tensor *x, const iso_tensor *lengths) {
  iso_tensor *mask = iso_tensor_new(ctx, ISO_BOOL, 3, (const int64_t[]){s->time, s->batch, 1});
  if (!mask) return NULL;
  uint8_t *is_padding = iso__data(mask);
  const int64_t *length = iso__data(lengths);
  for (int64_t t = 0; t < s->time; t++)
    for (int64_t i = 0; i < s->batch; i++) is_padding[t * s->batch + i] = t >= length[i];
  return iso_masked_fill(ctx, x, mask, 0);
}

/* ---- layers ---- */

static iso_tensor *initial(iso_context *ctx, const stack *s, const iso_tensor *x, const iso_tensor *states, int at) {
  if (!states) return iso_tensor_zeros(ctx, x->view.dtype, 2, (const int64_t[]){s->batch, s->hidden});
  return iso_contiguous(ctx, iso_select(ctx, states, 0, at));
}

/* x (time,batch,in) through layer and direction number `at`. */
static iso_tensor *run(iso_context *ctx, const stack *s, const iso_tensor *x, const iso_tensor *lengths, int at,
                       iso_tensor **h_n, iso_tensor **c_n) {
  const iso_recurrent_weights *w = &s->weights[at];
  const bool is_lstm = s->cell == ISO__CELL_LSTM;
  const iso__recurrence r = {.cell = s->cell,
                             .reverse = s->n_directions == 2 && at % 2 == 1,
                             .w_hh = iso_contiguous(ctx, w->w_hh),
                             .b_hh = w->b_hh ? iso_contiguous(ctx, w->b_hh) : NULL,
                             .h0 = initial(ctx, s, x, s->o.h0, at),
                             .c0 = is_lstm ? initial(ctx, s, x, s->o.c0, at) : NULL,
                             .lengths = lengths};
  iso_tensor *inputs = iso_linear(ctx, x, w->w_ih, w->b_ih, false);
  return iso__recurrent(ctx, inputs, &r, h_n, c_n);
}

enum { MOST_LAYERS = 64 };

/* All of them; *h_n and *c_n (where not NULL) get the last states. */
static iso_tensor *run_all(iso_context *ctx, const stack *s, const iso_tensor *x, iso_tensor **h_n, iso_tensor **c_n) {
  iso_tensor *last_h[2 * MOST_LAYERS], *last_c[2 * MOST_LAYERS];
  iso_tensor *lengths = ragged(ctx, s);
  iso_tensor *y = s->o.time_first ? iso_contiguous(ctx, x) : iso_contiguous(ctx, iso_transpose(ctx, x, 0, 1));
  if (lengths) y = without_padding(ctx, s, y, lengths);
  for (int layer = 0, at = 0; layer < s->n_layers && y; layer++) {
    iso_tensor *sides[2];
    for (int d = 0; d < s->n_directions; d++, at++) sides[d] = run(ctx, s, y, lengths, at, &last_h[at], &last_c[at]);
    y = s->n_directions == 2 ? iso_cat(ctx, 2, (const iso_tensor *const *)sides, 2) : sides[0];
    if (y && s->o.training && s->o.dropout > 0 && layer + 1 < s->n_layers) y = iso_dropout(ctx, y, s->o.dropout, true);
  }
  if (iso__failed(ctx)) return NULL;
  const int n = s->n_layers * s->n_directions;
  if (h_n) *h_n = iso_stack(ctx, n, (const iso_tensor *const *)last_h, 0);
  if (c_n) *c_n = iso_stack(ctx, n, (const iso_tensor *const *)last_c, 0);
  return s->o.time_first ? y : iso_transpose(ctx, y, 0, 1);
}

static iso_tensor *recur(iso_context *ctx, const char *op, iso__cell cell, const iso_tensor *x,
                         const iso_recurrent_weights *weights, const iso_recurrent_options *options, iso_tensor **h_n,
                         iso_tensor **c_n) {
  if (h_n) *h_n = NULL;
  if (c_n) *c_n = NULL;
  if (iso__failed(ctx) || !x) return NULL;
  stack s = {.op = op, .cell = cell, .weights = weights, .o = options ? *options : (iso_recurrent_options){0}};
  if (s.o.n_layers > MOST_LAYERS) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%d layers: at most %d", s.o.n_layers, MOST_LAYERS);
    return NULL;
  }
  if (!check(ctx, &s, x)) return NULL;
  iso__enter(ctx);
  iso_tensor *y = run_all(ctx, &s, x, h_n, c_n);
  if (iso__failed(ctx)) {
    if (h_n) *h_n = NULL;
    if (c_n) *c_n = NULL;
    return iso__leave(ctx, NULL);
  }
  if (h_n) iso_escape(*h_n);
  if (c_n) iso_escape(*c_n);
  return iso__leave(ctx, y);
}

iso_tensor *iso_lstm(iso_context *ctx, const iso_tensor *x, const iso_recurrent_weights *weights,
                     const iso_recurrent_options *options, iso_tensor **h_n, iso_tensor **c_n) {
  ISO__AUTOCAST(ctx, "lstm", iso_lstm(ctx, x, weights, options, h_n, c_n), &x);
  return recur(ctx, "lstm", ISO__CELL_LSTM, x, weights, options, h_n, c_n);
}
iso_tensor *iso_gru(iso_context *ctx, const iso_tensor *x, const iso_recurrent_weights *weights,
                    const iso_recurrent_options *options, iso_tensor **h_n) {
  ISO__AUTOCAST(ctx, "gru", iso_gru(ctx, x, weights, options, h_n), &x);
  return recur(ctx, "gru", ISO__CELL_GRU, x, weights, options, h_n, NULL);
}
iso_tensor *iso_rnn(iso_context *ctx, const iso_tensor *x, const iso_recurrent_weights *weights,
                    const iso_recurrent_options *options, iso_tensor **h_n) {
  ISO__AUTOCAST(ctx, "rnn", iso_rnn(ctx, x, weights, options, h_n), &x);
  return recur(ctx, "rnn", options && options->relu ? ISO__CELL_RELU : ISO__CELL_TANH, x, weights, options, h_n, NULL);
}

/* ---- cells: a sequence of one step ---- */

static iso_tensor *step(iso_context *ctx, const char *op, iso__cell cell, const iso_tensor *x, const iso_tensor *h,
                        const iso_tensor *c, const iso_recurrent_weights *weights, iso_tensor **c_next) {
  if (c_next) *c_next = NULL;
  if (!iso__takes(ctx, op, 2, ISO__TENSORS(x, h)) || (cell == ISO__CELL_LSTM && !iso__takes(ctx, op, 1, &c)))
    return NULL;
  if (x->view.n_dims != 2 || h->view.n_dims != 2 || (c && c->view.n_dims != 2)) {
    char tx[128], th[128];
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "x is %s and h %s: (batch,in) and (batch,hidden) are needed",
              iso__shape_text(x->view.n_dims, x->view.shape, tx, sizeof tx),
              iso__shape_text(h->view.n_dims, h->view.shape, th, sizeof th));
    return NULL;
  }
  iso__enter(ctx);
  const iso_recurrent_options o = {
      .time_first = true, .h0 = iso_unsqueeze(ctx, h, 0), .c0 = c ? iso_unsqueeze(ctx, c, 0) : NULL};
  iso_tensor *states = NULL;
  iso_tensor *y = recur(ctx, op, cell, iso_unsqueeze(ctx, x, 0), weights, &o, NULL, c_next ? &states : NULL);
  if (c_next && states) *c_next = iso_escape(iso_select(ctx, states, 0, 0));
  return iso__leave(ctx, y ? iso_select(ctx, y, 0, 0) : NULL);
}

iso_tensor *iso_lstm_cell(iso_context *ctx, const iso_tensor *x, const iso_tensor *h, const iso_tensor *c,
                          const iso_recurrent_weights *weights, iso_tensor **c_next) {
  ISO__AUTOCAST(ctx, "lstm_cell", iso_lstm_cell(ctx, x, h, c, weights, c_next), &x, &h, &c);
  return step(ctx, "lstm_cell", ISO__CELL_LSTM, x, h, c, weights, c_next);
}
iso_tensor *iso_gru_cell(iso_context *ctx, const iso_tensor *x, const iso_tensor *h,
                         const iso_recurrent_weights *weights) {
  ISO__AUTOCAST(ctx, "gru_cell", iso_gru_cell(ctx, x, h, weights), &x, &h);
  return step(ctx, "gru_cell", ISO__CELL_GRU, x, h, NULL, weights, NULL);
}
iso_tensor *iso_rnn_cell(iso_context *ctx, const iso_tensor *x, const iso_tensor *h,
                         const iso_recurrent_weights *weights, bool relu) {
  ISO__AUTOCAST(ctx, "rnn_cell", iso_rnn_cell(ctx, x, h, weights, relu), &x, &h);
  return step(ctx, "rnn_cell", relu ? ISO__CELL_RELU : ISO__CELL_TANH, x, h, NULL, weights, NULL);
}
