/* unpool.c: max unpooling, and moving elements to and from numbered places, which the gradients of pooling with indices
 * are made of. */
#include "ops/index/index.h"
#include "ops/pool/pool.h"

static int64_t volume(const int64_t extent[3]) { return extent[0] * extent[1] * extent[2]; }

iso_tensor *iso__unpool(iso_context *ctx, iso__op op, iso__rule_id rule, const iso__unpooling *u, const iso_tensor *in,
                        const iso_tensor *index) {
  if (iso__failed(ctx) || !in || !index) return NULL;
  iso_unpool_problem p;
  ISO__PROBLEM_INIT(p, op, in->view.dtype);
  p.n = iso__planes_n(&u->form), p.c = iso__planes_c(&u->form);
  p.places = volume(u->places), p.picks = volume(u->picks);
  iso_tensor *copies[] = {iso__planes_copy(ctx, &u->form, in), iso__planes_copy(ctx, &u->form, index)};
  if (copies[0]) in = copies[0];
  if (copies[1]) index = copies[1];
  const int64_t *extent = op == ISO__OP_UNPOOL_PICK ? u->picks : u->places;
  iso_tensor *out = iso__failed(ctx) ? NULL : iso__planes_new(ctx, &u->form, in->view.dtype, extent);
  const iso_unpool_args args = {.in = iso__data(in), .index = iso__data(index), .out = iso__data(out)};
  out = iso__finish(ctx, out, out ? iso__execute(ctx, &p.head, &args) : ISO_OUT_OF_MEMORY, rule,
                    &(iso__finish_options){.inputs = ISO__TENSORS(in),
                                           .n_inputs = 1,
                                           .saved = ISO__TENSORS(index),
                                           .n_saved = 1,
                                           .attrs = u,
                                           .attr_bytes = sizeof *u});
  iso_release(copies[1]);
  return iso__drop(out, copies[0]);
}

void iso__unpool_add_gradient(iso__gradient *g) {
  g->dx[0] = iso__unpool(g->ctx, ISO__OP_UNPOOL_PICK, ISO__RULE_UNPOOL_PICK, iso__attrs(g), g->dy[0], iso__saved(g, 0));
}
void iso__max_unpool_gradient(iso__gradient *g) { iso__unpool_add_gradient(g); }
void iso__unpool_pick_gradient(iso__gradient *g) {
  g->dx[0] = iso__unpool(g->ctx, ISO__OP_UNPOOL_ADD, ISO__RULE_UNPOOL_ADD, iso__attrs(g), g->dy[0], iso__saved(g, 0));
}

static iso_tensor *unpool(iso_context *ctx, const char *op, const iso_tensor *x, const iso_tensor *indices, int n_axes,
                          const int64_t out[3]) {
  bool batched = false;
  if (!iso__takes(ctx, op, 2, ISO__TENSORS(x, indices))) return NULL;
  if (indices->view.dtype != ISO_I64) {
    ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, op, "indices are %s: i64 is needed", iso_dtype_name(indices->view.dtype));
    return NULL;
  }
  if (!iso__same_shape(&x->view, &indices->view)) {
    char a[128], b[128];
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "x is %s but indices are %s",
              iso__shape_text(x->view.n_dims, x->view.shape, a, sizeof a),
              iso__shape_text(indices->view.n_dims, indices->view.shape, b, sizeof b));
    return NULL;
  }
  int64_t n_places;
  if (!iso__shape_numel(3, out, 1, &n_places) || n_places < 1 || n_places >> 46) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "an output of (%lld,%lld,%lld) positions", (long long)out[0],
              (long long)out[1], (long long)out[2]);
    return NULL;
  }
  iso_tensor *image = iso__batch(ctx, op, x, n_axes, &batched), *y = NULL;
  iso_tensor *checked = image ? iso__index_read(ctx, op, "indices", indices, n_places, false) : NULL, *index = NULL;
  if (checked) index = batched ? iso_tensor_alias(ctx, checked) : iso_unsqueeze(ctx, checked, 0);
  if (index) {
    iso__unpooling u;
    memset(&u, 0, sizeof u);
    u.form = iso__planes_of(image);
    memcpy(u.places, out, sizeof u.places);
    iso__planes_extent(image, u.picks);
    y = iso__unpool(ctx, ISO__OP_UNPOOL_PUT, ISO__RULE_MAX_UNPOOL, &u, image, index);
  }
  iso_release(index), iso_release(checked), iso_release(image);
  return iso__unbatch(ctx, y, batched);
}
iso_tensor *iso_max_unpool1d(iso_context *ctx, const iso_tensor *x, const iso_tensor *indices, int64_t out) {
  return unpool(ctx, "max_unpool1d", x, indices, 1, (const int64_t[]){1, 1, out});
}
iso_tensor *iso_max_unpool2d(iso_context *ctx, const iso_tensor *x, const iso_tensor *indices, int64_t out_h,
                             int64_t out_w) {
  return unpool(ctx, "max_unpool2d", x, indices, 2, (const int64_t[]){1, out_h, out_w});
}
iso_tensor *iso_max_unpool3d(iso_context *ctx, const iso_tensor *x, const iso_tensor *indices, int64_t out_d,
                             int64_t out_h, int64_t out_w) {
  return unpool(ctx, "max_unpool3d", x, indices, 3, (const int64_t[]){out_d, out_h, out_w});
}
