/* frame.c: padding by a tensor's own elements (reflected, repeated, from the other side) on any number of axes in one
 * pass: every element of the result knows whose copy it is, axis by axis.
 *
 * Of the last padded axis, in storage, whole lines are moved: the middle as it lies, the frame element by element. The
 * gradient walks the lines of dx and adds to each, from +0, all lines of dy that are copies of it, in ascending order
 * of their logical index: class `ordered`. An element with more than 256 copies (wide frames of equal elements) has
 * chunks: then a scatter adds. */
#include "base/pool.h"
#include "kernels/sizes.h"
#include "numeric/order.h"
#include "ops/index/index.h"
#include "ops/shape/view.h"

enum { GRAIN_ELEMENTS = 16384 };

int64_t iso__frame_extent(const iso__frame *f, int axis) { return f->extent[axis] + f->before[axis] + f->behind[axis]; }

/* Where element j of the padded axis comes from. */
static int64_t origin(const iso__frame *f, int axis, int64_t j) {
  const int64_t n = f->extent[axis], i = j - f->before[axis];
  if (f->mode == ISO_PAD_REPLICATE) return iso__max(0, iso__min(i, n - 1));
  if (f->mode == ISO_PAD_REFLECT) return i < 0 ? -i : i < n ? i : 2 * (n - 1) - i;
  const int64_t left = iso__max(0, -f->before[axis]), m = n - left - iso__max(0, -f->behind[axis]);
  return (i - left < 0 ? i + m : i - left < m ? i : i - m);
}
/* The stretch of the padded axis that is the axis itself: [*begin, *end). */
static void middle(const iso__frame *f, int axis, int64_t *begin, int64_t *end) {
  const int64_t n = iso__frame_extent(f, axis); /* what is cropped may be more than the axis itself */
  *begin = iso__min(iso__max(0, f->before[axis]), n);
  *end = iso__max(*begin, n - iso__max(0, f->behind[axis]));
}
/* At most so many copies does an element of the axis have. */
static int64_t most_copies(const iso__frame *f, int axis) {
  const int64_t before = iso__max(0, f->before[axis]), behind = iso__max(0, f->behind[axis]);
  if (before + behind == 0) return 1;
  if (f->mode != ISO_PAD_REPLICATE) return 3;
  return 1 + (f->extent[axis] == 1 ? before + behind : iso__max(before, behind));
}

/* Both tensors line by line. Axes are in the order of storage; the last padded one is number `last`. */
typedef struct lines {
  const iso__frame *f;
  int axes[ISO_MAX_DIMS], last;
  int64_t small[ISO_MAX_DIMS], large[ISO_MAX_DIMS]; /* extents of x and of the result */
  int64_t small_strides[ISO_MAX_DIMS], large_strides[ISO_MAX_DIMS];
  int64_t run;                 /* elements behind the last padded axis */
  int64_t begin, end, *origin; /* of that axis: its middle, and where all of it comes from */
  int64_t *copies[ISO_MAX_DIMS], *first_copy[ISO_MAX_DIMS]; /* of other padded axes, by origin: the places of copies */
  const void *from;
  void *to;
  iso_dtype dtype;
} lines;

static bool is_padded(const iso__frame *f, int axis) { return f->before[axis] || f->behind[axis]; }

static void order_axes(lines *l, const iso__frame *f, bool channels_last) {
  int n = 0;
  for (int d = 0; d < f->n_dims; d++)
    if (!channels_last || d != 1) l->axes[n++] = d;
  if (channels_last) l->axes[n++] = 1;
  int64_t small = 1, large = 1;
  for (int k = n - 1; k >= 0; k--) {
    const int d = l->axes[k];
    if (l->run == 0 && is_padded(f, d)) l->last = k, l->run = small;
    l->small[k] = f->extent[d], l->large[k] = iso__frame_extent(f, d);
    l->small_strides[k] = small, l->large_strides[k] = large;
    small *= l->small[k], large *= l->large[k];
  }
}

/* Tables of origins and copies; their memory is *table, of *n numbers. */
static bool make_tables(iso_context *ctx, lines *l, bool of_copies, int64_t **table, size_t *n) {
  const iso__frame *f = l->f;
  *n = (size_t)l->large[l->last] + 1;
  for (int k = 0; of_copies && k < l->last; k++)
    if (is_padded(f, l->axes[k])) *n += (size_t)(l->small[k] + 1 + l->large[k]);
  int64_t *t = *table = iso__alloc(ctx, *n * sizeof *t);
  if (!t) return false;
  l->origin = t;
  for (int64_t j = 0; j < l->large[l->last]; j++) *t++ = origin(f, l->axes[l->last], j);
  middle(f, l->axes[l->last], &l->begin, &l->end);
  for (int k = 0; of_copies && k < l->last; k++) {
    const int d = l->axes[k];
    if (!is_padded(f, d)) continue;
    int64_t *first = l->first_copy[k] = t, *copies = l->copies[k] = t + l->small[k] + 1;
    t = copies + l->large[k];
    memset(first, 0, (size_t)(l->small[k] + 1) * sizeof *first);
    for (int64_t j = 0; j < l->large[k]; j++) first[origin(f, d, j) + 1]++;
    for (int64_t i = 0; i < l->small[k]; i++) first[i + 1] += first[i];
    for (int64_t j = l->large[k] - 1; j >= 0; j--) copies[--first[origin(f, d, j) + 1]] = j;
    for (int64_t i = 0; i < l->small[k]; i++) first[i] = first[i + 1]; /* each has moved to its own beginning */
    first[l->small[k]] = l->large[k];
  }
  return true;
}

/* The indices of a line along the axes before the last padded one; and the next line's. */
static void indices_of(const lines *l, const int64_t *extents, int64_t line, int64_t *at) {
  for (int k = l->last - 1; k >= 0; k--) at[k] = line % extents[k], line /= extents[k];
}
static void next_line(const lines *l, const int64_t *extents, int64_t *at) {
  for (int k = l->last - 1; k >= 0 && ++at[k] == extents[k]; k--) at[k] = 0;
}
static int64_t n_lines(const lines *l, const int64_t *extents) {
  int64_t n = 1;
  for (int k = 0; k < l->last; k++) n *= extents[k];
  return n;
}

/* ---- the padded tensor ---- */

static void copy_frame(const lines *l, char *to, const char *from, int64_t begin, int64_t end) {
  const size_t bytes = (size_t)l->run * iso_dtype_size(l->dtype);
  if (bytes == sizeof(uint32_t)) {
    for (int64_t j = begin; j < end; j++)
      ((uint32_t *)(void *)to)[j] = ((const uint32_t *)(const void *)from)[l->origin[j]];
  } else {
    for (int64_t j = begin; j < end; j++) memcpy(to + (size_t)j * bytes, from + (size_t)l->origin[j] * bytes, bytes);
  }
}
static void copy_lines(void *arg, int64_t begin, int64_t end, int thread) {
  const lines *l = arg;
  const size_t item = iso_dtype_size(l->dtype), bytes = (size_t)l->run * item;
  const int64_t n = l->large[l->last];
  int64_t at[ISO_MAX_DIMS];
  (void)thread;
  indices_of(l, l->large, begin, at);
  for (int64_t line = begin; line < end; line++, next_line(l, l->large, at)) {
    int64_t offset = 0;
    for (int k = 0; k < l->last; k++) {
      const bool padded = is_padded(l->f, l->axes[k]);
      offset += (padded ? origin(l->f, l->axes[k], at[k]) : at[k]) * l->small_strides[k];
    }
    const char *from = (const char *)l->from + (size_t)offset * item;
    char *to = (char *)l->to + (size_t)(line * n) * bytes;
    copy_frame(l, to, from, 0, l->begin);
    if (l->end > l->begin)
      memcpy(to + (size_t)l->begin * bytes, from + (size_t)l->origin[l->begin] * bytes,
             (size_t)(l->end - l->begin) * bytes);
    copy_frame(l, to, from, l->end, n);
  }
}

/* Whether lines follow the storage of channels-last images: not where channels are padded, too, since their index then
 * comes before the others'. */
static bool lies_channels_last(const iso_tensor *t, const iso__frame *f) {
  return iso__view_is_channels_last(&t->view) && !iso__view_is_contiguous(&t->view) && !is_padded(f, 1);
}

/* t as a result of f's small or large shape, in the same storage order. */
static iso_tensor *result_like(iso_context *ctx, const iso_tensor *t, const iso__frame *f, bool large,
                               bool channels_last) {
  int64_t shape[ISO_MAX_DIMS];
  for (int d = 0; d < f->n_dims; d++) shape[d] = large ? iso__frame_extent(f, d) : f->extent[d];
  return channels_last ? iso_tensor_new_channels_last(ctx, t->view.dtype, f->n_dims, shape)
                       : iso_tensor_new(ctx, t->view.dtype, f->n_dims, shape);
}

iso_tensor *iso__frame_pad(iso_context *ctx, const iso_tensor *x, const iso__frame *f) {
  if (iso__failed(ctx) || !x) return NULL;
  const bool channels_last = lies_channels_last(x, f);
  iso_tensor *copy = channels_last ? NULL : iso__contiguous_copy(ctx, x);
  iso_tensor *y = result_like(ctx, x, f, true, channels_last);
  lines l = {.f = f, .from = iso__data(copy ? copy : x), .to = iso__data(y), .dtype = x->view.dtype};
  int64_t *table;
  size_t n_table;
  order_axes(&l, f, channels_last);
  if (y && iso__view_numel(&y->view) > 0 && make_tables(ctx, &l, false, &table, &n_table)) {
    const int64_t grain = iso__ceil_div(GRAIN_ELEMENTS, l.large[l.last] * l.run);
    iso__parallel_range(ctx, n_lines(&l, l.large), grain, 1, copy_lines, &l);
    iso__free(ctx, table, n_table * sizeof *table);
  }
  iso_release(copy);
  return iso__finish(ctx, y, ctx->error.code, ISO__RULE_FRAME,
                     &(iso__finish_options){.inputs = &x, .n_inputs = 1, .attrs = f, .attr_bytes = sizeof *f});
}

/* ---- its gradient ---- */

#define ADD_LINES(real)                                                                                                \
  static void add_line_##real(const lines *l, real *restrict to, const real *restrict from) {                          \
    const int64_t run = l->run, n = l->large[l->last], middle_run = (l->end - l->begin) * run;                         \
    for (int64_t j = 0; j < l->begin; j++)                                                                             \
      for (int64_t i = 0; i < run; i++) to[l->origin[j] * run + i] += from[j * run + i];                               \
    if (middle_run > 0) {                                                                                              \
      real *restrict t = to + l->origin[l->begin] * run;                                                               \
      const real *restrict s = from + l->begin * run;                                                                  \
      for (int64_t i = 0; i < middle_run; i++) t[i] += s[i];                                                           \
    }                                                                                                                  \
    for (int64_t j = l->end; j < n; j++)                                                                               \
      for (int64_t i = 0; i < run; i++) to[l->origin[j] * run + i] += from[j * run + i];                               \
  }                                                                                                                    \
  /* All copies of a line of x, `at` on axis k and beyond, of those that begin at `from`. */                           \
  static void add_copies_##real(const lines *l, const int64_t *at, int k, real *to, const real *from) {                \
    if (k == l->last) {                                                                                                \
      add_line_##real(l, to, from);                                                                                    \
    } else if (!l->copies[k]) {                                                                                        \
      add_copies_##real(l, at, k + 1, to, from + at[k] * l->large_strides[k]);                                         \
    } else {                                                                                                           \
      for (int64_t c = l->first_copy[k][at[k]]; c < l->first_copy[k][at[k] + 1]; c++)                                  \
        add_copies_##real(l, at, k + 1, to, from + l->copies[k][c] * l->large_strides[k]);                             \
    }                                                                                                                  \
  }
ADD_LINES(float)
ADD_LINES(double)

static void sum_lines(void *arg, int64_t begin, int64_t end, int thread) {
  const lines *l = arg;
  const int64_t n = l->small[l->last] * l->run;
  int64_t at[ISO_MAX_DIMS];
  (void)thread;
  indices_of(l, l->small, begin, at);
  for (int64_t line = begin; line < end; line++, next_line(l, l->small, at)) {
    char *to = (char *)l->to + (size_t)(line * n) * iso_dtype_size(l->dtype);
    memset(to, 0, (size_t)n * iso_dtype_size(l->dtype));
    if (l->dtype == ISO_F64) add_copies_double(l, at, 0, (double *)(void *)to, l->from);
    else add_copies_float(l, at, 0, (float *)(void *)to, l->from);
  }
}

/* By a scatter: the places of x, padded like x, are where elements of dy go. */
static iso_tensor *by_scatter(iso_context *ctx, const iso_tensor *dy, const iso__frame *f) {
  iso_tensor *place = iso_tensor_new(ctx, ISO_I64, f->n_dims, f->extent), *padded = NULL, *y = NULL;
  if (!place) return NULL;
  const iso__indexing at = {.extent = iso__view_numel(&place->view), .padding = -1};
  int64_t *v = iso__data(place);
  for (int64_t i = 0; i < at.extent; i++) v[i] = i;
  if ((padded = iso__frame_pad(ctx, place, f))) {
    iso_tensor *from = iso_reshape(ctx, dy, 1, ISO_DIMS(-1)), *to = iso_reshape(ctx, padded, 1, ISO_DIMS(-1));
    y = iso__scatter_run(ctx, ISO__SCATTER_ADD, ISO__SCATTER_NONE, NULL, from, to, &at);
  }
  return y ? iso_reshape(ctx, y, f->n_dims, f->extent) : NULL;
}

static iso_tensor *by_lines(iso_context *ctx, const iso_tensor *dy, const iso__frame *f) {
  const bool channels_last = lies_channels_last(dy, f);
  iso_tensor *copy = channels_last ? NULL : iso__contiguous_copy(ctx, dy);
  iso_tensor *dx = result_like(ctx, dy, f, false, channels_last);
  lines l = {.f = f, .from = iso__data(copy ? copy : dy), .to = iso__data(dx), .dtype = dy->view.dtype};
  int64_t *table;
  size_t n_table;
  order_axes(&l, f, channels_last);
  if (dx && iso__view_numel(&dx->view) > 0 && make_tables(ctx, &l, true, &table, &n_table)) {
    const int64_t grain = iso__ceil_div(GRAIN_ELEMENTS, iso__max(1, l.small[l.last] * l.run));
    iso__parallel_range(ctx, n_lines(&l, l.small), grain, 1, sum_lines, &l);
    iso__free(ctx, table, n_table * sizeof *table);
  }
  iso_release(copy);
  return dx;
}

/* f16 and bf16: in f32, rounded once. */
static iso_tensor *frame_bwd(iso_context *ctx, const iso_tensor *dy, const iso__frame *f) {
  if (iso__failed(ctx) || !dy) return NULL;
  if (iso__is_half(dy->view.dtype)) return iso_cast(ctx, frame_bwd(ctx, iso_cast(ctx, dy, ISO_F32), f), dy->view.dtype);
  int64_t copies = 1;
  for (int d = 0; d < f->n_dims; d++)
    copies = iso__min(copies * iso__min(most_copies(f, d), ISO__CHUNK + 1), ISO__CHUNK + 1);
  iso_no_grad_push(ctx);
  iso_tensor *dx = copies <= ISO__CHUNK ? by_lines(ctx, dy, f) : by_scatter(ctx, dy, f);
  iso_no_grad_pop(ctx);
  return iso__finish(ctx, dx, ctx->error.code, ISO__RULE_FRAME_BWD,
                     &(iso__finish_options){.inputs = &dy, .n_inputs = 1, .attrs = f, .attr_bytes = sizeof *f});
}
void iso__frame_gradient(iso__gradient *g) { g->dx[0] = frame_bwd(g->ctx, g->dy[0], iso__attrs(g)); }
void iso__frame_bwd_gradient(iso__gradient *g) { g->dx[0] = iso__frame_pad(g->ctx, g->dy[0], iso__attrs(g)); }
