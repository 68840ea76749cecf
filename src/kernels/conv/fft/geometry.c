/* geometry.c: where tiles lie and which problems the classes are for (fft.h). */
#include "kernels/conv/fft/fft.h"
#include "kernels/sizes.h"

/* One tile gives everything where whatever wraps round meets padding: N ≥ image + max(pad, pad_end). */
static bool fits_whole(int64_t image, int64_t outputs, int64_t kernel, int64_t pad, int n) {
  const int64_t pad_end = outputs + kernel - 1 - image - pad;
  return outputs <= n && kernel <= n && image + iso__max(pad, pad_end) <= n;
}

static iso__fft_axis axis_of(int64_t image, int64_t outputs, int64_t kernel, int64_t pad, int n) {
  iso__fft_axis a = {.image = image, .outputs = outputs, .kernel = kernel, .pad = pad};
  a.step = fits_whole(image, outputs, kernel, pad, n) ? iso__max(outputs, 1) : n - kernel + 1;
  a.n_tiles = (outputs + a.step - 1) / a.step;
  return a;
}

iso__fft_geometry iso__fft_geometry_of(const iso_conv_problem *p, int n) {
  const int64_t out_h = iso__conv_out_h(p), out_w = iso__conv_out_w(p);
  iso__fft_geometry g = {.n = n, .n_columns = n / 2 + 1, .groups = p->groups, .scale = 1.0f / (float)(4 * n * n)};
  if (p->head.op == ISO__OP_CONV_BWD_DATA) {
    g.row = axis_of(out_h, p->h, p->r, p->r - 1 - p->pad_top, n);
    g.col = axis_of(out_w, p->w, p->s, p->s - 1 - p->pad_left, n);
    g.from = p->k / p->groups, g.to = p->c / p->groups;
  } else {
    g.row = axis_of(p->h, out_h, p->r, p->pad_top, n);
    g.col = axis_of(p->w, out_w, p->s, p->pad_left, n);
    g.from = p->c / p->groups, g.to = p->k / p->groups;
  }
  g.n_tiles = p->n * g.row.n_tiles * g.col.n_tiles;
  return g;
}

iso__fft_span iso__fft_image_span(const iso__fft_axis *axis, int n, int64_t tile) {
  const int64_t begin = tile * axis->step - axis->pad;
  return (iso__fft_span){.first = (int)iso__min(iso__max(-begin, 0), n),
                         .end = (int)iso__max(iso__min(axis->image - begin, n), 0)};
}
int iso__fft_outputs_of(const iso__fft_axis *axis, int64_t tile) {
  return (int)iso__min(axis->step, axis->outputs - tile * axis->step);
}

static bool axis_fits(const iso__fft_axis *a, int n) { return fits_whole(a->image, a->outputs, a->kernel, a->pad, n); }
/* A smaller N whose one tile holds the image does the same with less. */
static bool smaller_suffices(const iso__fft_geometry *g) {
  static const int sizes[] = {
#define SIZE(n) n,
      ISO__FFT_SIZES(SIZE)
#undef SIZE
  };
  for (int i = 0; sizes[i] < g->n; i++)
    if (axis_fits(&g->row, sizes[i]) && axis_fits(&g->col, sizes[i])) return true;
  return false;
}

const char *iso__fft_applicable(const iso__problem *problem, int n) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  const char *reason = iso__conv_plain_applicable(problem);
  if (reason) return reason;
  if (p->stride_h != 1 || p->stride_w != 1) return "the stride is not 1";
  if (p->dilation_h != 1 || p->dilation_w != 1) return "the dilation is not 1";
  if (p->r > n || p->s > n) return "the kernel is larger than the tile";
  if (p->r < 2 || p->s < 2 || (p->r < 4 && p->s < 4)) return "the kernel is too small to gain";
  const iso__fft_geometry g = iso__fft_geometry_of(p, n);
  if (g.row.outputs == 0 || g.col.outputs == 0 || g.row.image == 0 || g.col.image == 0) return "the image is empty";
  if ((g.row.n_tiles > 1 && 4 * g.row.step < n) || (g.col.n_tiles > 1 && 4 * g.col.step < n))
    return "tiles would mostly overlap";
  return smaller_suffices(&g) ? "a smaller tile holds the whole image" : NULL;
}
