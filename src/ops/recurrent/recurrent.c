/* recurrent.c: the recurrence of one layer in one direction, and its gradient: a kernel through all steps, then the
 * weights' sums over (time, batch) as one product (NUMERICS §4).
 *
 * That product wants the states before each step side by side. So y is made within a tensor with one more time: forward
 * y is its times 1 … T and h0 its time 0, and what came before y is 0 … T−1; in reverse y is 0 … T−1, h0 is T and what
 * came before is 1 … T. Only samples that begin elsewhere (in reverse, shorter than T) need a copy. */
#include "ops/recurrent/recurrent.h"

typedef struct attributes {
  iso_recurrent_problem problem;
} attributes;

static iso_tensor *times(iso_context *ctx, const iso_tensor *states, int64_t begin, int64_t n) {
  return iso_slice(ctx, states, 0, begin, begin + n, 1);
}

static iso_recurrent_problem problem_of(const iso_tensor *x, const iso__recurrence *r, bool saves) {
  iso_recurrent_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_RECURRENT_FWD, x->view.dtype);
  p.time = x->view.shape[0], p.batch = x->view.shape[1], p.hidden = r->w_hh->view.shape[1];
  p.cell = (uint8_t)r->cell, p.reverse = r->reverse;
  p.has_lengths = r->lengths != NULL, p.has_bias = r->b_hh != NULL;
  p.saves = saves;
  return p;
}

/* (time,batch,n), or NULL where n is 0. */
static iso_tensor *of_steps(iso_context *ctx, const iso_recurrent_problem *p, int64_t n) {
  return n ? iso_tensor_new(ctx, (iso_dtype)p->head.dtype, 3, (const int64_t[]){p->time, p->batch, n}) : NULL;
}
static iso_tensor *of_samples(iso_context *ctx, const iso_recurrent_problem *p, bool is_there) {
  return is_there ? iso_tensor_new(ctx, (iso_dtype)p->head.dtype, 2, (const int64_t[]){p->batch, p->hidden}) : NULL;
}
/* time+1 states; h0 lies in its place. */
static iso_tensor *states_with(iso_context *ctx, const iso_recurrent_problem *p, const iso_tensor *h0) {
  iso_tensor *states = iso_tensor_new(ctx, h0->view.dtype, 3, (const int64_t[]){p->time + 1, p->batch, p->hidden});
  iso_tensor *first = states ? iso_select(ctx, states, 0, p->reverse ? p->time : 0) : NULL;
  if (first) iso__view_copy(ctx, &first->view, &h0->view), iso_release(first);
  return states;
}

iso_tensor *iso__recurrent(iso_context *ctx, const iso_tensor *x, const iso__recurrence *r, iso_tensor **h_n,
                           iso_tensor **c_n) {
  if (iso__failed(ctx) || !x) return NULL;
  const iso_tensor *const inputs[] = {x, r->w_hh, r->b_hh, r->h0, r->c0};
  const bool saves = iso__is_recorded(ctx, 5, inputs), is_lstm = r->cell == ISO__CELL_LSTM;
  const attributes a = {.problem = problem_of(x, r, saves)};
  const iso_recurrent_problem *p = &a.problem;
  iso_tensor *states = states_with(ctx, p, r->h0), *y = states ? times(ctx, states, p->reverse ? 0 : 1, p->time) : NULL;
  iso_tensor *gates = of_steps(ctx, p, saves ? iso__cell_saved(r->cell) * p->hidden : 0);
  iso_tensor *cells = of_steps(ctx, p, saves && is_lstm ? p->hidden : 0);
  *h_n = of_samples(ctx, p, true), *c_n = of_samples(ctx, p, is_lstm);
  const iso_recurrent_args args = {.x = iso__data(x),
                                   .u = iso__data(r->w_hh),
                                   .bias = iso__data(r->b_hh),
                                   .h0 = iso__data(r->h0),
                                   .c0 = iso__data(r->c0),
                                   .lengths = iso__data(r->lengths),
                                   .y = iso__data(y),
                                   .gates = iso__data(gates),
                                   .cells = iso__data(cells),
                                   .hn = iso__data(*h_n),
                                   .cn = iso__data(*c_n)};
  y = iso__finish(ctx, y, iso__failed(ctx) ? ISO_OUT_OF_MEMORY : iso__execute_with(ctx, &p->head, &args, r->w_hh),
                  ISO__RULE_RECURRENT,
                  &(iso__finish_options){.inputs = inputs,
                                         .n_inputs = 5,
                                         .saved = ISO__TENSORS(r->w_hh, gates, cells, states, r->c0, r->lengths),
                                         .n_saved = 6,
                                         .second = *h_n,
                                         .third = *c_n,
                                         .attrs = &a,
                                         .attr_bytes = sizeof a});
  if (!y) *h_n = *c_n = NULL;
  iso_release(states), iso_release(gates), iso_release(cells);
  return y;
}

/* ---- gradient ---- */

/* dy as the kernel reads it: units side by side, otherwise any strides. */
static iso_tensor *readable(iso_context *ctx, iso_tensor *dy) {
  if (!dy) return NULL;
  const iso__view *v = &dy->view;
  const bool fits = (v->strides[2] == 1 || v->shape[2] == 1) && v->strides[0] >= 0 && v->strides[1] >= 0;
  return fits ? dy : iso_contiguous(ctx, dy);
}

/* The states before each step, (time,batch,hidden). */
static iso_tensor *before(iso_context *ctx, const iso_recurrent_problem *p, const iso_tensor *states,
                          const iso_tensor *lengths) {
  iso_tensor *part = times(ctx, states, p->reverse ? 1 : 0, p->time);
  if (!p->reverse || !lengths || !part) return part;
  iso_tensor *all = iso_clone(ctx, part);
  const int64_t *length = iso__data(lengths);
  const size_t row = (size_t)p->hidden * iso_dtype_size(states->view.dtype);
  char *to = iso__data(all);
  const char *h0 = (const char *)iso__data(states) + (size_t)(p->time * p->batch) * row;
  for (int64_t i = 0; i < p->batch && all; i++)
    if (length[i]) memcpy(to + (size_t)((length[i] - 1) * p->batch + i) * row, h0 + (size_t)i * row, row);
  return all;
}

static iso_tensor *as_rows(iso_context *ctx, iso_tensor *t) {
  return t ? iso_reshape(ctx, t, 2, (const int64_t[]){t->view.shape[0] * t->view.shape[1], t->view.shape[2]}) : NULL;
}

void iso__recurrent_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_recurrent_problem p = ((const attributes *)iso__attrs(g))->problem;
  iso_tensor *u = iso__saved(g, 0), *gates = iso__saved(g, 1), *cells = iso__saved(g, 2), *states = iso__saved(g, 3);
  iso_tensor *c0 = iso__saved(g, 4), *lengths = iso__saved(g, 5);
  iso_tensor *dy = readable(ctx, g->dy[0]), *dhn = g->dy[1] ? iso_contiguous(ctx, g->dy[1]) : NULL;
  iso_tensor *dcn = p.cell == ISO__CELL_LSTM && g->dy[2] ? iso_contiguous(ctx, g->dy[2]) : NULL;
  p.head.op = ISO__OP_RECURRENT_BWD;
  p.saves = 0, p.has_bias = 0, p.has_dy = dy != NULL, p.has_dhn = dhn != NULL, p.has_dcn = dcn != NULL;
  if (dy) p.dy_time = dy->view.strides[0], p.dy_batch = dy->view.strides[1];
  const int64_t width = iso__cell_gates(p.cell) * p.hidden;
  const bool is_lstm = p.cell == ISO__CELL_LSTM, is_gru = p.cell == ISO__CELL_GRU;
  iso_tensor *dx = of_steps(ctx, &p, width), *dz = is_gru ? of_steps(ctx, &p, width) : NULL;
  iso_tensor *dh0 = of_samples(ctx, &p, true), *dc0 = of_samples(ctx, &p, is_lstm);
  if (iso__failed(ctx)) return;
  iso_tensor *y = times(ctx, states, p.reverse ? 0 : 1, p.time);
  iso_tensor *h0 = times(ctx, states, p.reverse ? p.time : 0, 1);
  const iso_recurrent_args args = {.u = iso__data(u),
                                   .gates_saved = iso__data(gates),
                                   .cells_saved = iso__data(cells),
                                   .y_saved = iso__data(y),
                                   .h0 = iso__data(h0),
                                   .c0 = iso__data(c0),
                                   .lengths = iso__data(lengths),
                                   .dy = iso__data(dy),
                                   .dhn = iso__data(dhn),
                                   .dcn = iso__data(dcn),
                                   .dx = iso__data(dx),
                                   .dz = iso__data(dz),
                                   .dh0 = iso__data(dh0),
                                   .dc0 = iso__data(dc0)};
  if (iso__failed(ctx) || iso__execute(ctx, &p.head, &args) != ISO_OK) return;
  iso_tensor *rows = as_rows(ctx, is_gru ? dz : dx);
  if (iso__needs(g, 0)) g->dx[0] = dx;
  if (iso__needs(g, 1)) {
    iso_tensor *columns = iso_transpose(ctx, rows, 0, 1), *h = as_rows(ctx, before(ctx, &p, states, lengths));
    g->dx[1] = iso_matmul(ctx, columns, h);
  }
  if (iso__needs(g, 2)) g->dx[2] = iso_sum(ctx, rows, 1, (const int[]){0}, false);
  if (iso__needs(g, 3)) g->dx[3] = dh0;
  if (iso__needs(g, 4)) g->dx[4] = dc0;
}
