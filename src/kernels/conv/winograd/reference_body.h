/* reference_body.h: the element function for one dtype; included by reference.c after transforms_real.h. */

typedef void NAMED(transform)(const REAL *from, REAL *to);
typedef struct NAMED(class) {
  int m, r;
  NAMED(transform) * data, *kernel, *output;
} NAMED(class);

#define CLASS_ENTRY(suffix, m, r)                                                                                      \
  [ISO__WINOGRAD_##                                                                                                    \
      suffix] = {m, r, NAMED(wino_data_##suffix), NAMED(wino_kernel_##suffix), NAMED(wino_output_##suffix)},
static const NAMED(class) NAMED(classes)[ISO__N_WINOGRAD] = {ISO__WINOGRAD_CLASSES(CLASS_ENTRY)};
#undef CLASS_ENTRY

typedef struct NAMED(tile) {
  REAL at[ISO__WINOGRAD_MAX_ALPHA][ISO__WINOGRAD_MAX_ALPHA];
} NAMED(tile);

/* from (n_from, n_from) to (n_to, n_to): down each column, then across each row of that. */
static void NAMED(both)(NAMED(transform) * transform, int n_from, int n_to, const NAMED(tile) * from,
                        NAMED(tile) * to) {
  REAL down[ISO__WINOGRAD_MAX_ALPHA][ISO__WINOGRAD_MAX_ALPHA], column[ISO__WINOGRAD_MAX_ALPHA],
      moved[ISO__WINOGRAD_MAX_ALPHA];
  for (int j = 0; j < n_from; j++) {
    for (int i = 0; i < n_from; i++) column[i] = from->at[i][j];
    transform(column, moved);
    for (int i = 0; i < n_to; i++) down[i][j] = moved[i];
  }
  for (int i = 0; i < n_to; i++) transform(down[i], to->at[i]);
}

/* The taps between source channel c and output channel k of a group. */
static NAMED(tile) NAMED(taps)(const iso__winograd_grid *g, const REAL *w, int64_t group, int64_t k, int64_t c) {
  NAMED(tile) t;
  const int64_t r = g->r;
  for (int64_t i = 0; i < r; i++)
    for (int64_t j = 0; j < r; j++)
      t.at[i][j] = g->turned ? w[(((group * g->c + c) * r + r - 1 - i) * r + r - 1 - j) * g->k + k]
                             : w[(((group * g->k + k) * r + i) * r + j) * g->c + c];
  return t;
}

static NAMED(tile) NAMED(source)(const iso__winograd_grid *g, const REAL *x, iso__winograd_place p, int64_t channel) {
  NAMED(tile) t;
  for (int64_t i = 0; i < g->alpha; i++)
    for (int64_t j = 0; j < g->alpha; j++) {
      const int64_t h = p.row + g->offset_h + i, w = p.col + g->offset_w + j;
      const bool inside = h >= 0 && h < g->source_h && w >= 0 && w < g->source_w;
      t.at[i][j] = inside ? x[((p.n * g->source_h + h) * g->source_w + w) * g->source_pitch + channel] : 0;
    }
  return t;
}

static REAL NAMED(element)(const NAMED(class) * class, const iso_conv_problem *p, const iso_conv_args *a,
                           int64_t index) {
  const iso__winograd_grid g = iso__winograd_grid_of(p, class->m);
  const int alpha = (int)g.alpha;
  const int64_t channel = index % g.out_pitch, col = index / g.out_pitch % g.out_w,
                row = index / g.out_pitch / g.out_w % g.out_h, n = index / g.out_pitch / g.out_w / g.out_h;
  const int64_t group = channel / g.k;
  const iso__winograd_place place = {n, row / g.m * g.m, col / g.m * g.m};
  struct NAMED(iso__ordered) sum[ISO__WINOGRAD_MAX_ALPHA][ISO__WINOGRAD_MAX_ALPHA] = {0};
  for (int64_t c = 0; c < g.c; c++) {
    NAMED(tile) d = NAMED(source)(&g, g.turned ? a->dy : a->x, place, group * g.c + c), v;
    NAMED(tile) taps = NAMED(taps)(&g, a->w, group, channel % g.k, c), u;
    NAMED(both)(class->data, alpha, alpha, &d, &v);
    NAMED(both)(class->kernel, (int)g.r, alpha, &taps, &u);
    for (int i = 0; i < alpha; i++)
      for (int j = 0; j < alpha; j++) NAMED(iso__ordered_fma)(&sum[i][j], v.at[i][j], u.at[i][j]);
  }
  NAMED(tile) m, out;
  for (int i = 0; i < alpha; i++)
    for (int j = 0; j < alpha; j++) m.at[i][j] = NAMED(iso__ordered_end)(&sum[i][j]);
  NAMED(both)(class->output, alpha, class->m, &m, &out);
  REAL y = out.at[row % g.m][col % g.m];
  if (p->has_bias) y += ((const REAL *)a->bias)[channel];
  if (p->has_residual) y += ((const REAL *)a->residual)[index];
  if (p->activation == ISO__ACTIVATION_RELU) y = y > 0 ? y : y != y ? y : 0;
  return y;
}
