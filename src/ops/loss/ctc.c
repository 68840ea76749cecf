/* ctc.c: connectionist temporal classification: shapes and lengths in, one kernel forward, one backward (class `ctc`).
 *
 * Targets come as rows or one after another; the kernel gets rows as long as the longest. */
#include "kernels/ctc/ctc.h"
#include "ops/loss/loss.h"

typedef struct attributes {
  iso_ctc_problem problem;
} attributes;

/* Lengths as a contiguous i64 vector of n, each in [0, most]. */
static iso_tensor *lengths(iso_context *ctx, const iso_tensor *t, const char *name, int64_t n, int64_t most) {
  if (iso_dtype_is_float(t->view.dtype) || iso__view_numel(&t->view) != n || t->view.n_dims > 1) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "ctc_loss",
              "%s are %s with %d axes and %lld elements: %lld integers are needed, one a sample", name,
              iso_dtype_name(t->view.dtype), t->view.n_dims, (long long)iso__view_numel(&t->view), (long long)n);
    return NULL;
  }
  iso_tensor *y = iso_contiguous(ctx, iso_reshape(ctx, iso_cast(ctx, t, ISO_I64), 1, &n));
  const int64_t *value = iso__data(y);
  for (int64_t i = 0; y && i < n; i++)
    if (value[i] < 0 || value[i] > most) {
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "ctc_loss", "%s[%lld] is %lld: 0 to %lld are possible", name, (long long)i,
                (long long)value[i], (long long)most);
      return NULL;
    }
  return y;
}

/* (n, longest) targets, 0 beyond each sample's; classes checked. `all` has rows of `row` targets, or (row 0) one after
 * another. */
static iso_tensor *target_rows(iso_context *ctx, const iso_tensor *all, int64_t row, const iso_tensor *length,
                               int64_t classes) {
  const int64_t n = length->view.shape[0], *l = iso__data(length);
  int64_t longest = 0, sum = 0;
  for (int64_t i = 0; i < n; i++) longest = l[i] > longest ? l[i] : longest, sum += l[i];
  if (!row && sum > iso__view_numel(&all->view)) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "ctc_loss", "targets are %lld where target_lengths add up to %lld",
              (long long)iso__view_numel(&all->view), (long long)sum);
    return NULL;
  }
  iso_tensor *from = iso_contiguous(ctx, all), *to = iso_tensor_zeros(ctx, ISO_I64, 2, (const int64_t[]){n, longest});
  if (!from || !to) return NULL;
  const int64_t *in = iso__data(from);
  int64_t *out = iso__data(to);
  for (int64_t i = 0, begin = 0; i < n; begin += row ? row : l[i], i++)
    for (int64_t k = 0; k < l[i]; k++) {
      const int64_t t = in[begin + k];
      if (t < 0 || t >= classes) {
        ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "ctc_loss",
                  row ? "targets[%lld,%lld] is %lld: classes run from 0 to %lld"
                      : "target %lld of sample %lld is %lld: classes run from 0 to %lld",
                  (long long)(row ? i : k), (long long)(row ? k : i), (long long)t, (long long)classes - 1);
        return NULL;
      }
      out[i * longest + k] = t;
    }
  return to;
}

/* The samples' losses (N), recorded. log_p (T,N,C). */
static iso_tensor *losses(iso_context *ctx, const iso_tensor *log_p, const iso_tensor *targets,
                          const iso_tensor *input_lengths, const iso_tensor *target_lengths, const iso_ctc_options *o) {
  attributes a;
  ISO__PROBLEM_INIT(a.problem, ISO__OP_CTC_FWD, log_p->view.dtype);
  iso_ctc_problem *p = &a.problem;
  p->t = log_p->view.shape[0], p->n = log_p->view.shape[1], p->c = log_p->view.shape[2];
  p->s = targets->view.shape[1], p->blank = o->blank, p->zero_infinity = o->zero_infinity;
  const int64_t states[] = {p->n, p->t, 2 * p->s + 1};
  iso_tensor *dense = iso_contiguous(ctx, log_p);
  iso_tensor *alpha = iso_tensor_new(ctx, log_p->view.dtype, 3, states);
  iso_tensor *loss = alpha ? iso_tensor_new(ctx, log_p->view.dtype, 1, &p->n) : NULL;
  if (!dense || !loss) return NULL;
  const iso_ctc_args args = {.log_p = iso__data(dense),
                             .targets = iso__data(targets),
                             .input_lengths = iso__data(input_lengths),
                             .target_lengths = iso__data(target_lengths),
                             .alpha = iso__data(alpha),
                             .loss = iso__data(loss)};
  const iso_status status = iso__execute(ctx, &p->head, &args);
  for (int64_t i = 0; status == ISO_OK && o->zero_infinity && i < p->n; i++) {
    if (p->head.dtype == ISO_F64 && ((double *)args.loss)[i] == (double)INFINITY) ((double *)args.loss)[i] = 0;
    if (p->head.dtype == ISO_F32 && ((float *)args.loss)[i] == INFINITY) ((float *)args.loss)[i] = 0;
  }
  return iso__finish(ctx, loss, status, ISO__RULE_CTC,
                     &(iso__finish_options){.inputs = ISO__TENSORS(dense),
                                            .n_inputs = 1,
                                            .saved = ISO__TENSORS(dense, targets, input_lengths, target_lengths, alpha),
                                            .n_saved = 5,
                                            .attrs = &a,
                                            .attr_bytes = sizeof a});
}

void iso__ctc_gradient(iso__gradient *g) {
  iso_context *ctx = g->ctx;
  iso_ctc_problem p = ((const attributes *)iso__attrs(g))->problem;
  iso_tensor *log_p = iso__saved(g, 0), *scale = iso_contiguous(ctx, g->dy[0]);
  const iso_ctc_args args = {.log_p = iso__data(log_p),
                             .targets = iso__data(iso__saved(g, 1)),
                             .input_lengths = iso__data(iso__saved(g, 2)),
                             .target_lengths = iso__data(iso__saved(g, 3)),
                             .alpha_saved = iso__data(iso__saved(g, 4)),
                             .scale = iso__data(scale)};
  if (iso__failed(ctx)) return;
  iso_tensor *dx = iso_tensor_new(ctx, log_p->view.dtype, 3, log_p->view.shape);
  iso_ctc_args out = args;
  out.dx = iso__data(dx);
  p.head.op = ISO__OP_CTC_BWD;
  if (dx && iso__execute(ctx, &p.head, &out) == ISO_OK) g->dx[0] = dx;
}

static bool check_shapes(iso_context *ctx, const iso_tensor *log_p, const iso_tensor *targets) {
  const iso__view *x = &log_p->view, *t = &targets->view;
  const bool batched = x->n_dims == 3;
  char tx[128], tt[128];
  if (t->dtype != ISO_I64)
    ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, "ctc_loss", "targets are %s: i64 is needed", iso_dtype_name(t->dtype));
  else if ((x->n_dims != 2 && !batched) || (t->n_dims != 1 && !(batched && t->n_dims == 2)) ||
           (t->n_dims == 2 && t->shape[0] != x->shape[1]) || x->shape[x->n_dims - 1] < 1)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "ctc_loss",
              "log_p is %s and targets %s: (T,N,classes) and (N,S) or (Σ lengths), or (T,classes) and (S), are needed",
              iso__shape_text(x->n_dims, x->shape, tx, sizeof tx), iso__shape_text(t->n_dims, t->shape, tt, sizeof tt));
  return !iso__failed(ctx);
}

iso_tensor *iso_ctc_loss(iso_context *ctx, const iso_tensor *log_p, const iso_tensor *targets,
                         const iso_tensor *input_lengths, const iso_tensor *target_lengths,
                         const iso_ctc_options *options) {
  ISO__AUTOCAST(ctx, "ctc_loss", iso_ctc_loss(ctx, log_p, targets, input_lengths, target_lengths, options), &log_p,
                &targets, &input_lengths, &target_lengths);
  const iso_ctc_options none = {0}, *o = options ? options : &none;
  if (!iso__takes(ctx, "ctc_loss", 4, ISO__TENSORS(log_p, targets, input_lengths, target_lengths)) ||
      !iso__takes_floats(ctx, "ctc_loss", 1, &log_p) || !check_shapes(ctx, log_p, targets))
    return NULL;
  const bool batched = log_p->view.n_dims == 3, rows = targets->view.n_dims == 2;
  const int64_t t = log_p->view.shape[0], n = batched ? log_p->view.shape[1] : 1,
                classes = log_p->view.shape[log_p->view.n_dims - 1], row = rows ? targets->view.shape[1] : 0;
  if (o->blank < 0 || o->blank >= classes) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "ctc_loss", "blank is %lld: classes run from 0 to %lld", (long long)o->blank,
              (long long)classes - 1);
    return NULL;
  }
  iso__enter(ctx);
  iso_tensor *frames = lengths(ctx, input_lengths, "input_lengths", n, t);
  iso_tensor *letters =
      frames ? lengths(ctx, target_lengths, "target_lengths", n, rows ? row : iso__view_numel(&targets->view)) : NULL;
  iso_tensor *spelt = letters ? target_rows(ctx, targets, row, letters, classes) : NULL;
  iso_tensor *x = batched ? iso_tensor_alias(ctx, log_p) : iso_unsqueeze(ctx, log_p, 1);
  iso_tensor *loss = spelt && x ? losses(ctx, x, spelt, frames, letters, o) : NULL;
  if (!loss) return iso__leave(ctx, NULL);
  if (o->reduction == ISO_REDUCTION_MEAN) {
    int64_t *letter = iso__data(letters);
    iso_tensor *per = iso_tensor_new(ctx, ISO_I64, 1, &n);
    for (int64_t i = 0; per && i < n; i++) ((int64_t *)iso__data(per))[i] = letter[i] > 1 ? letter[i] : 1;
    loss = iso_div(ctx, loss, iso_cast(ctx, per, log_p->view.dtype));
  }
  if (!batched && o->reduction == ISO_REDUCTION_NONE) loss = iso_squeeze(ctx, loss, 0);
  return iso__leave(ctx,
                    iso__loss_reduce(ctx, loss, &(iso_loss_options){.reduction = o->reduction, .count = o->count}));
}
