/* attention.c: softmax(q·kᵀ·scale + mask)·v (Vaswani et al., "Attention is all you need", 2017) by one kernel that
 * never holds the weights (kernels/attention): memory is linear in length, and heads are read where a projection left
 * them.
 *
 * The kernel takes (batch,heads,rows,columns). Other leading dimensions are brought to that form by views on the tape,
 * copied only where no strides describe them. */
#include <math.h>
#include "kernels/attention/attention.h"
#include "ops/index/index.h"
#include "ops/product/attention.h"

static const char op[] = "scaled_dot_product_attention";

static iso_tensor *mismatch(iso_context *ctx, const iso_tensor *q, const iso_tensor *k, const iso_tensor *v) {
  char tq[128], tk[128], tv[128];
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "q is %s, k %s and v %s: (…,l,e), (…,s,e) and (…,s,f) are expected",
            iso__shape_text(q->view.n_dims, q->view.shape, tq, sizeof tq),
            iso__shape_text(k->view.n_dims, k->view.shape, tk, sizeof tk),
            iso__shape_text(v->view.n_dims, v->view.shape, tv, sizeof tv));
  return NULL;
}

/* The common leading dimensions of all four. */
typedef struct leading {
  int n;
  int64_t shape[ISO_MAX_DIMS], batch, heads, items; /* items: the first dimension, which lengths count */
} leading;

static bool add_leading(iso_context *ctx, leading *all, const iso_tensor *t) {
  if (!t || t->view.n_dims <= 2) return true;
  iso__view a = {.n_dims = all->n}, b = {.n_dims = t->view.n_dims - 2};
  memcpy(a.shape, all->shape, sizeof a.shape), memcpy(b.shape, t->view.shape, sizeof b.shape);
  return iso__broadcast(ctx, op, &a, &b, &all->n, all->shape);
}

/* t (…,rows,columns) as (batch,heads,rows,columns); `shared`: its heads stay one. A handle of its own. */
static iso_tensor *as_heads(iso_context *ctx, const iso_tensor *t, const leading *all, bool shared, int64_t rows,
                            int64_t columns) {
  int64_t shape[ISO_MAX_DIMS];
  if (!t) return NULL;
  memcpy(shape, all->shape, sizeof shape);
  if (shared && all->n) shape[all->n - 1] = 1;
  shape[all->n] = rows, shape[all->n + 1] = columns;
  iso_tensor *wide = iso_expand(ctx, t, all->n + 2, shape);
  const int64_t four[4] = {all->batch, shared ? 1 : all->heads, rows, columns};
  return all->n == 2 ? wide : iso__drop(iso_reshape(ctx, wide, 4, four), wide);
}

/* Columns adjacent, nothing backwards: t itself, passed on, or a copy in its place. */
static iso_tensor *readable(iso_context *ctx, iso_tensor *t) {
  if (!t) return NULL;
  const iso__view *v = &t->view;
  bool fine = v->strides[3] == 1 || v->shape[3] <= 1;
  for (int d = 0; d < 3; d++) fine = fine && (v->strides[d] >= 0 || v->shape[d] <= 1);
  if (fine) return t;
  iso_tensor *copy = iso__contiguous_copy(ctx, t); /* with t's history */
  return iso__drop(copy, t);
}

/* Strides of (batch,heads,rows,columns); those of an axis without a second element are the dense ones, so that equal
 * problems are equal bytes. */
static iso__attention_strides strides_of(const iso_tensor *t) {
  const iso__view *v = &t->view;
  int64_t dense[4];
  iso__strides_contiguous(4, v->shape, dense);
  for (int d = 0; d < 4; d++)
    if (v->shape[d] > 1) dense[d] = v->strides[d];
  return (iso__attention_strides){dense[0], dense[1], dense[2]};
}

/* New, and in memory as `like` is: heads within rows, or rows within heads. */
static iso_tensor *new_as(iso_context *ctx, const iso_tensor *like, int64_t columns) {
  const iso__view *v = &like->view;
  const bool inside = v->shape[1] > 1 && v->shape[2] > 1 && v->strides[1] < v->strides[2];
  const int64_t rows = v->shape[2], heads = v->shape[1];
  iso_tensor *t =
      iso_tensor_new(ctx, v->dtype, 4, (int64_t[]){v->shape[0], inside ? rows : heads, inside ? heads : rows, columns});
  if (!t || !inside) return t;
  t->view.shape[1] = heads, t->view.shape[2] = rows;
  t->view.strides[1] = columns, t->view.strides[2] = heads * columns;
  return t;
}

/* ---- the operator on (batch,heads,rows,columns) ---- */

enum { Q, K, V, O, LSE, MASK, KEY_LENGTHS, QUERY_LENGTHS };

static iso_attention_problem problem_of(iso__op which, const iso__attention *at, iso_tensor *const *t) {
  iso_attention_problem p;
  ISO__PROBLEM_INIT(p, which, t[Q]->view.dtype);
  p.batch = t[Q]->view.shape[0], p.heads = t[Q]->view.shape[1];
  p.l = t[Q]->view.shape[2], p.e = t[Q]->view.shape[3];
  p.s = t[V]->view.shape[2], p.f = t[V]->view.shape[3];
  p.group = t[K]->view.shape[1] > 0 ? p.heads / t[K]->view.shape[1] : 1;
  p.repeat = at->repeat;
  p.causal = at->causal, p.dropout = at->dropout != 0;
  p.q = strides_of(t[Q]), p.k = strides_of(t[K]), p.v = strides_of(t[V]), p.o = strides_of(t[O]);
  p.lengths = (uint8_t)((t[KEY_LENGTHS] ? ISO__KEY_LENGTHS : 0) | (t[QUERY_LENGTHS] ? ISO__QUERY_LENGTHS : 0));
  if (!t[MASK]) return p;
  const iso__view *mask = &t[MASK]->view;
  p.mask = mask->dtype == ISO_BOOL ? ISO__MASK_BOOL : ISO__MASK_ADDED;
  p.m.batch = mask->strides[0], p.m.head = mask->strides[1];
  p.m.row = mask->strides[2], p.m.column = mask->strides[3];
  return p;
}
static iso_attention_args args_of(iso_context *ctx, const iso__attention *at, iso_tensor *const *t) {
  return (iso_attention_args){.q = iso__data(t[Q]),
                              .k = iso__data(t[K]),
                              .v = iso__data(t[V]),
                              .mask = iso__data(t[MASK]),
                              .key_lengths = iso__data(t[KEY_LENGTHS]),
                              .query_lengths = iso__data(t[QUERY_LENGTHS]),
                              .scale = at->scale,
                              .p = at->dropout,
                              .seed = at->place.seed,
                              .stream = at->place.stream,
                              .site = at->place.site,
                              .leaf = at->place.leaf,
                              .step = at->place.step,
                              .step_at = iso__random_step_at(ctx)};
}

/* The first query that sees no key although it is there is named. */
static void warn_of_empty_rows(iso_context *ctx, const iso_attention_problem *p, const iso_attention_args *a) {
  int64_t n_empty = 0, first = -1;
  for (int64_t r = 0; r < p->batch * p->heads * p->l; r++) {
    const double lse = iso__real_at(a->lse, p->head.dtype == ISO_F64 ? ISO_F64 : ISO_F32, r);
    const int64_t item = r / (p->heads * p->l) / p->repeat;
    if (lse != -(double)INFINITY || (a->query_lengths && r % p->l >= a->query_lengths[item])) continue;
    if (n_empty++ == 0) first = r;
  }
  if (n_empty)
    iso__warn(ctx, "%s: query %lld of batch item %lld, head %lld attends to nothing and gives zeros, as do %lld others",
              op, (long long)(first % p->l), (long long)(first / (p->heads * p->l)),
              (long long)(first / p->l % p->heads), (long long)n_empty - 1);
}

static iso_tensor *attend(iso_context *ctx, const iso__attention *at, iso_tensor *t[8]) {
  t[O] = new_as(ctx, t[Q], t[V]->view.shape[3]);
  t[LSE] = iso_tensor_new(ctx, t[Q]->view.dtype == ISO_F64 ? ISO_F64 : ISO_F32, 3, t[Q]->view.shape);
  iso_status status = ISO_OUT_OF_MEMORY;
  if (t[O] && t[LSE]) {
    const iso_attention_problem p = problem_of(ISO__OP_ATTENTION_FWD, at, t);
    iso_attention_args args = args_of(ctx, at, t);
    args.o = iso__data(t[O]), args.lse = iso__data(t[LSE]);
    status = iso__execute(ctx, &p.head, &args);
    if (status == ISO_OK && iso__is_on_cpu(ctx)) warn_of_empty_rows(ctx, &p, &args);
  }
  iso_tensor *y = iso__finish(ctx, t[O], status, ISO__RULE_ATTENTION,
                              &(iso__finish_options){.inputs = ISO__TENSORS(t[Q], t[K], t[V], t[MASK]),
                                                     .n_inputs = 4,
                                                     .saved = (const iso_tensor *const *)t,
                                                     .n_saved = 8,
                                                     .attrs = at,
                                                     .attr_bytes = sizeof *at});
  return iso__drop(y, t[LSE]);
}

static bool check_lengths(iso_context *ctx, const char *name, const iso_tensor *lengths, const leading *all) {
  char text[128];
  if (!lengths || (all->n && lengths->view.n_dims == 1 && lengths->view.shape[0] == all->items)) return true;
  ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "%s are %s: (%lld) are expected, the first leading dimension", name,
            iso__shape_text(lengths->view.n_dims, lengths->view.shape, text, sizeof text), (long long)all->items);
  return false;
}

static bool takes(iso_context *ctx, const iso_tensor *q, const iso_tensor *k, const iso_tensor *v,
                  const iso_attention_options *o) {
  const uint32_t dtypes = ISO__REAL_DTYPES;
  if (!iso__takes(ctx, op, 3, ISO__TENSORS(q, k, v)) || !iso__takes_dtypes(ctx, op, dtypes, 3, ISO__TENSORS(q, k, v)) ||
      (o->mask && !iso__takes(ctx, op, 1, &o->mask)) || (o->lengths && !iso__takes(ctx, op, 1, &o->lengths)) ||
      (o->query_lengths && !iso__takes(ctx, op, 1, &o->query_lengths)))
    return false;
  if (o->mask && o->mask->view.dtype != ISO_BOOL && o->mask->view.dtype != q->view.dtype)
    return ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, op, "mask is %s: bool, or %s as q, is needed",
                     iso_dtype_name(o->mask->view.dtype), iso_dtype_name(q->view.dtype)),
           false;
  if (o->dropout >= 0 && o->dropout <= 1) return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "dropout is %g: 0 ≤ p ≤ 1 is needed", o->dropout);
  return false;
}

/* Whether k and v have one head for all of q's. */
static bool shares_head(const leading *all, const iso_tensor *t) {
  return all->n > 0 && all->heads > 1 && (t->view.n_dims == 2 || t->view.shape[t->view.n_dims - 3] == 1);
}

static iso_tensor *attention(iso_context *ctx, const iso_tensor *q, const iso_tensor *k, const iso_tensor *v,
                             const iso_attention_options *o) {
  const int nq = q->view.n_dims, nk = k->view.n_dims, nv = v->view.n_dims;
  if (nq < 2 || nk < 2 || nv < 2 || q->view.shape[nq - 1] != k->view.shape[nk - 1] ||
      k->view.shape[nk - 2] != v->view.shape[nv - 2])
    return mismatch(ctx, q, k, v);
  const int64_t l = q->view.shape[nq - 2], e = q->view.shape[nq - 1], s = v->view.shape[nv - 2],
                f = v->view.shape[nv - 1];
  leading all = {.batch = 1};
  if (!add_leading(ctx, &all, q) || !add_leading(ctx, &all, k) || !add_leading(ctx, &all, v) ||
      !add_leading(ctx, &all, o->mask))
    return NULL;
  all.items = all.n ? all.shape[0] : 1;
  all.heads = all.n > 1 ? all.shape[all.n - 1] : 1;
  for (int d = 0; d < all.n - (all.n > 1); d++) all.batch *= all.shape[d];
  if (!check_lengths(ctx, "lengths", o->lengths, &all) || !check_lengths(ctx, "query_lengths", o->query_lengths, &all))
    return NULL;
  iso__attention at = {.scale = o->scale != 0 ? o->scale : 1 / sqrt((double)(e > 0 ? e : 1)),
                       .dropout = o->dropout,
                       .causal = o->causal,
                       .repeat = all.items ? all.batch / all.items : 1};
  if (at.dropout != 0) {
    if (!iso__random_check_count(ctx, op, all.batch * all.heads * l * s, 1)) return NULL;
    at.place = iso__random_next_site(ctx);
  }
  const bool shared = all.n > 1 && shares_head(&all, k) && shares_head(&all, v);
  iso_tensor *t[8] = {0};
  t[Q] = readable(ctx, as_heads(ctx, q, &all, false, l, e));
  t[K] = readable(ctx, as_heads(ctx, k, &all, shared, s, e));
  t[V] = readable(ctx, as_heads(ctx, v, &all, shared, s, f));
  t[MASK] = as_heads(ctx, o->mask, &all, false, l, s);
  if (o->lengths) t[KEY_LENGTHS] = iso__index_read(ctx, op, "lengths", o->lengths, s + 1, false);
  if (o->query_lengths) t[QUERY_LENGTHS] = iso__index_read(ctx, op, "query_lengths", o->query_lengths, l + 1, false);
  if (iso__failed(ctx)) return NULL;
  iso_tensor *y = attend(ctx, &at, t);
  all.shape[all.n] = l, all.shape[all.n + 1] = f;
  return all.n == 2 ? y : iso_reshape(ctx, y, all.n + 2, all.shape);
}

iso_tensor *iso_scaled_dot_product_attention(iso_context *ctx, const iso_tensor *q, const iso_tensor *k,
                                             const iso_tensor *v, const iso_attention_options *options) {
  iso_attention_options o = options ? *options : (iso_attention_options){0};
  ISO__AUTOCAST(ctx, op, iso_scaled_dot_product_attention(ctx, q, k, v, &o), &q, &k, &v, &o.mask);
  if (!takes(ctx, q, k, v, &o)) return NULL;
  iso__enter(ctx);
  return iso__leave(ctx, attention(ctx, q, k, v, &o));
}

/* One kernel; under create_graph the same gradient in operators (attention_twice.c). */
void iso__attention_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  const iso__attention *at = iso__attrs(g);
  iso_tensor *t[8];
  for (int i = 0; i < 8; i++) t[i] = iso__saved(g, i);
  if (iso__failed(ctx)) return;
  if (iso__creates_graph(g)) {
    iso__attention_gradient_twice(
        g, &(iso__attention_operands){t[Q], t[K], t[V], t[MASK], t[KEY_LENGTHS], t[QUERY_LENGTHS]});
    return;
  }
  iso_tensor *dy = readable(ctx, iso_tensor_alias(ctx, g->dy[0]));
  iso_tensor *dq = new_as(ctx, t[Q], t[Q]->view.shape[3]), *dk = new_as(ctx, t[K], t[K]->view.shape[3]),
             *dv = new_as(ctx, t[V], t[V]->view.shape[3]), *ds = NULL;
  iso_attention_problem p = problem_of(ISO__OP_ATTENTION_BWD, at, t);
  p.ds = iso__needs(g, 3);
  if (p.ds) ds = iso_tensor_new(ctx, t[Q]->view.dtype, 4, (int64_t[]){p.batch, p.heads, p.l, p.s});
  if (iso__failed(ctx)) return;
  p.dy = strides_of(dy), p.dq = strides_of(dq), p.dk = strides_of(dk), p.dv = strides_of(dv);
  iso_attention_args args = args_of(ctx, at, t);
  args.o_saved = iso__data(t[O]), args.lse_saved = iso__data(t[LSE]), args.dy = iso__data(dy);
  args.dq = iso__data(dq), args.dk = iso__data(dk), args.dv = iso__data(dv), args.ds = iso__data(ds);
  if (iso__execute(ctx, &p.head, &args) != ISO_OK) return;
  if (iso__needs(g, 0)) g->dx[0] = dq;
  if (iso__needs(g, 1)) g->dx[1] = dk;
  if (iso__needs(g, 2)) g->dx[2] = dv;
  if (ds) g->dx[3] = ds;
}
