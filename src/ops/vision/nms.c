/* nms.c: suppression: boxes sorted by score, then (stably) by group, which makes each group a run for the kernel. */
#include "kernels/nms/nms.h"
#include "ops/sort/sort.h"

static bool check(iso_context *ctx, const char *op, const iso_tensor *boxes, const iso_tensor *scores,
                  const iso_tensor *groups) {
  if (!iso__takes(ctx, op, 2, ISO__TENSORS(boxes, scores)) || (groups && !iso__takes(ctx, op, 1, &groups)) ||
      !iso__takes_floats(ctx, op, 2, ISO__TENSORS(boxes, scores)))
    return false;
  char text[128];
  const int64_t n = boxes->view.n_dims == 2 ? boxes->view.shape[0] : -1;
  if (n < 0 || boxes->view.shape[1] != 4)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "boxes are %s: (n,4) is needed",
              iso__shape_text(boxes->view.n_dims, boxes->view.shape, text, sizeof text));
  else if (scores->view.n_dims != 1 || scores->view.shape[0] != n)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "scores are %s for %lld boxes",
              iso__shape_text(scores->view.n_dims, scores->view.shape, text, sizeof text), (long long)n);
  else if (groups && (groups->view.n_dims != 1 || groups->view.shape[0] != n))
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "groups are %s for %lld boxes",
              iso__shape_text(groups->view.n_dims, groups->view.shape, text, sizeof text), (long long)n);
  else if (groups && groups->view.dtype != ISO_I64)
    ISO__FAIL(ctx, ISO_DTYPE_MISMATCH, op, "groups are %s: i64 is needed", iso_dtype_name(groups->view.dtype));
  return !iso__failed(ctx);
}

/* Boxes in the order that `place` says. */
static iso_tensor *in_order(iso_context *ctx, const iso_tensor *boxes, const iso_tensor *place) {
  iso_tensor *dense = iso_contiguous(ctx, boxes), *y = iso_tensor_new(ctx, boxes->view.dtype, 2, boxes->view.shape);
  const size_t row = 4 * iso_dtype_size(boxes->view.dtype);
  const int64_t *at = iso__data(place);
  const char *from = iso__data(dense);
  char *to = iso__data(y);
  for (int64_t i = 0; !iso__failed(ctx) && i < boxes->view.shape[0]; i++)
    memcpy(to + (size_t)i * row, from + (size_t)at[i] * row, row);
  return y;
}

/* keep (n) bool of boxes in the kernel's order. */
static iso_tensor *suppress(iso_context *ctx, const iso_tensor *boxes, const iso_tensor *group, double threshold) {
  iso_tensor *keep = boxes ? iso_tensor_new(ctx, ISO_BOOL, 1, boxes->view.shape) : NULL;
  if (!keep) return NULL;
  iso_nms_problem p;
  ISO__PROBLEM_INIT(p, ISO__OP_NMS, boxes->view.dtype);
  p.n = boxes->view.shape[0];
  p.grouped = group != NULL;
  const iso_nms_args args = {
      .boxes = iso__data(boxes), .group = iso__data(group), .keep = iso__data(keep), .threshold = threshold};
  return iso__execute(ctx, &p.head, &args) == ISO_OK ? keep : NULL;
}

/* The numbers in `order` of boxes that stay; keep[i] is about box place[i]. */
static iso_tensor *staying(iso_context *ctx, const iso_tensor *order, const iso_tensor *place, const iso_tensor *keep) {
  const int64_t n = order->view.shape[0], *best = iso__data(order), *at = iso__data(place);
  const unsigned char *kept = iso__data(keep);
  iso_tensor *stays = iso_tensor_new(ctx, ISO_BOOL, 1, &n);
  if (!stays) return NULL;
  unsigned char *flag = iso__data(stays);
  int64_t n_staying = 0;
  for (int64_t i = 0; i < n; i++) flag[at[i]] = kept[i], n_staying += kept[i];
  iso_tensor *y = iso_tensor_new(ctx, ISO_I64, 1, &n_staying);
  int64_t *to = iso__data(y);
  for (int64_t i = 0, k = 0; y && i < n; i++)
    if (flag[best[i]]) to[k++] = best[i];
  return y;
}

static iso_tensor *nms(iso_context *ctx, const char *op, const iso_tensor *boxes, const iso_tensor *scores,
                       const iso_tensor *groups, double threshold) {
  if (!check(ctx, op, boxes, scores, groups)) return NULL;
  iso_no_grad_push(ctx);
  iso__enter(ctx);
  iso_tensor *order = iso_argsort(ctx, scores, 0, true), *place = order, *group = NULL, *keep = NULL;
  if (groups && order) {
    iso_tensor *dense = iso_contiguous(ctx, groups), *by_score = dense ? iso__pick(ctx, dense, order) : NULL, *by_group;
    group = iso_sort(ctx, by_score, 0, false, &by_group);
    if (group) place = iso__pick(ctx, order, by_group);
  }
  if (!iso__failed(ctx)) keep = suppress(ctx, in_order(ctx, boxes, place), group, threshold);
  iso_tensor *y = iso__leave(ctx, keep ? staying(ctx, order, place, keep) : NULL);
  iso_no_grad_pop(ctx);
  return y;
}

iso_tensor *iso_nms(iso_context *ctx, const iso_tensor *boxes, const iso_tensor *scores, double threshold) {
  return nms(ctx, "nms", boxes, scores, NULL, threshold);
}
iso_tensor *iso_batched_nms(iso_context *ctx, const iso_tensor *boxes, const iso_tensor *scores,
                            const iso_tensor *groups, double threshold) {
  if (iso__failed(ctx) || !groups) return NULL;
  return nms(ctx, "batched_nms", boxes, scores, groups, threshold);
}
