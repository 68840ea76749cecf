/* statistic.c: one element of a row by its place in the order, or by how often it is there. */
#include "base/pool.h"
#include "ops/sort/sort.h"

static bool take_filled(iso_context *ctx, const char *op, const iso_tensor *x, int axis, iso__rows *rows) {
  if (!iso__rows_take(ctx, op, x, axis, rows)) return false;
  if (rows->n > 0) return true;
  char text[160];
  iso_tensor_format(x, text, sizeof text);
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "x is %s: nothing to choose from along axis %d", text, axis);
  iso_release(rows->x);
  return false;
}

iso_tensor *iso_kthvalue(iso_context *ctx, const iso_tensor *x, int64_t k, int axis, bool keep_dim,
                         iso_tensor **indices) {
  iso__rows rows;
  if (indices) *indices = NULL;
  if (!take_filled(ctx, "kthvalue", x, axis, &rows)) return NULL;
  if (k >= 1 && k <= rows.n) return iso__rows_window(ctx, &rows, k - 1, 1, false, !keep_dim, indices);
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "kthvalue", "k is %lld: 1 to %lld are possible", (long long)k,
            (long long)rows.n);
  return iso__drop(NULL, rows.x);
}

/* The index of one place a row: chosen by `choose` from a row, its sorted values and their index. */
typedef int64_t choose_fn(const void *x, const void *sorted, const int64_t *index, iso_dtype dtype, int64_t n);
typedef struct choice {
  const iso__rows *rows;
  choose_fn *choose;
  const char *x, *sorted;
  const int64_t *index;
  int64_t n_sorted, *out;
} choice;

static void choose_rows(void *arg, int64_t begin, int64_t end, int thread) {
  const choice *c = arg;
  const iso_dtype dtype = c->rows->x->view.dtype;
  const int64_t item = (int64_t)iso_dtype_size(dtype), n = c->rows->n;
  (void)thread;
  for (int64_t r = begin; r < end; r++)
    c->out[r] =
        c->choose(c->x + r * n * item, c->sorted + r * c->n_sorted * item, c->index + r * c->n_sorted, dtype, n);
}

/* Sorts places begin … begin+count−1, chooses one a row and picks it. */
static iso_tensor *chosen(iso_context *ctx, iso__rows *rows, int64_t begin, int64_t count, choose_fn *choose,
                          bool keep_dim, iso_tensor **indices) {
  iso_tensor *index = NULL;
  iso_no_grad_push(ctx);
  iso_tensor *sorted = iso__sort_window(ctx, rows, begin, count, false, &index);
  iso_no_grad_pop(ctx);
  iso_tensor *picked = sorted ? iso__rows_new(ctx, rows->x, ISO_I64, 1) : NULL;
  if (picked) {
    choice c = {.rows = rows,
                .choose = choose,
                .x = iso__data(rows->x),
                .sorted = iso__data(sorted),
                .index = iso__data(index),
                .n_sorted = count,
                .out = iso__data(picked)};
    iso__parallel_range(ctx, rows->rows, 1 + 16384 / rows->n, 1, choose_rows, &c);
  }
  iso_release(sorted), iso_release(index);
  return iso__rows_finish(ctx, rows, picked ? iso__pick(ctx, rows->x, picked) : NULL, picked, !keep_dim, indices);
}

static int64_t choose_median(const void *x, const void *sorted, const int64_t *index, iso_dtype dtype, int64_t n) {
  const int64_t nan = iso__first_nan(x, dtype, n);
  (void)sorted;
  return nan >= 0 ? nan : index[0];
}
iso_tensor *iso_median(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim, iso_tensor **indices) {
  iso__rows rows;
  if (indices) *indices = NULL;
  if (!take_filled(ctx, "median", x, axis, &rows)) return NULL;
  return chosen(ctx, &rows, (rows.n - 1) / 2, 1, choose_median, keep_dim, indices);
}

static int64_t choose_nanmedian(const void *x, const void *sorted, const int64_t *index, iso_dtype dtype, int64_t n) {
  const int64_t nan = iso__first_nan(sorted, dtype, n), n_valid = nan < 0 ? n : nan;
  (void)x;
  return index[n_valid > 0 ? (n_valid - 1) / 2 : 0];
}
iso_tensor *iso_nanmedian(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim, iso_tensor **indices) {
  iso__rows rows;
  if (indices) *indices = NULL;
  if (!take_filled(ctx, "nanmedian", x, axis, &rows)) return NULL;
  if (iso__first_nan(iso__data(rows.x), rows.x->view.dtype, rows.rows * rows.n) < 0)
    return iso__rows_window(ctx, &rows, (rows.n - 1) / 2, 1, false, !keep_dim, indices);
  return chosen(ctx, &rows, 0, rows.n, choose_nanmedian, keep_dim, indices);
}

static int64_t choose_mode(const void *x, const void *sorted, const int64_t *index, iso_dtype dtype, int64_t n) {
  int64_t best = 0, best_length = 0, begin = 0;
  (void)x;
  for (int64_t i = 1; i <= n; i++) {
    if (i < n && iso__elements_equal(sorted, dtype, i - 1, i)) continue;
    if (i - begin > best_length) best = i - 1, best_length = i - begin;
    begin = i;
  }
  return index[best];
}
iso_tensor *iso_mode(iso_context *ctx, const iso_tensor *x, int axis, bool keep_dim, iso_tensor **indices) {
  iso__rows rows;
  if (indices) *indices = NULL;
  if (!take_filled(ctx, "mode", x, axis, &rows)) return NULL;
  return chosen(ctx, &rows, 0, rows.n, choose_mode, keep_dim, indices);
}
