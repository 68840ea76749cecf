/* planar.c: rows, workspace and windows of the engines on planes of one channel. */
#include "kernels/pool/planar.h"
#include "kernels/fields.h"

enum { MOST_POSITIONS = 256 }; /* one chunk */

const char *iso__pool_planar_applicable(const iso__problem *problem) {
  const iso_pool_problem *p = (const iso_pool_problem *)problem;
  if (p->c != 1) return "is for planes of one channel";
  if (iso__pool_in_positions(p) >> 31) return "a plane has 2^31 positions or more";
  return iso__pool_window_volume(p) > MOST_POSITIONS ? "a window has more than 256 positions" : NULL;
}
const char *iso__pool_bwd_applicable(const iso__problem *problem);
const char *iso__pool_planar_bwd_applicable(const iso__problem *problem) {
  const char *no = iso__pool_planar_applicable(problem);
  return no ? no : iso__pool_bwd_applicable(problem);
}

static iso__pool_columns columns_at(const iso_pool_problem *p, char *base, size_t *at) {
  const iso_pool_axis *a = &p->axis[2];
  iso__pool_columns c = {.stride = iso__round_up(iso__pool_out(p, 2), ISO__POOL_COLUMNS), .longest = a->kernel};
  if (a->out) c.longest = iso__min(iso__ceil_div(a->in, a->out) + 1, a->in);
  const size_t first = iso__take(at, c.stride, sizeof *c.first), lo = iso__take(at, c.stride, sizeof *c.lo),
               hi = iso__take(at, c.stride, sizeof *c.hi), n = iso__take(at, c.stride, sizeof *c.n),
               full = iso__take(at, c.stride / ISO__POOL_COLUMNS, 1);
  if (!base) return c;
  c.first = (void *)(base + first), c.lo = (void *)(base + lo), c.hi = (void *)(base + hi);
  c.n = (void *)(base + n), c.full = (void *)(base + full);
  return c;
}
size_t iso__pool_planar_workspace(const iso__problem *problem, int n_threads) {
  size_t at = 0;
  (void)n_threads;
  columns_at((const iso_pool_problem *)problem, NULL, &at);
  return at;
}
iso__pool_columns iso__pool_columns_make(const iso_pool_problem *p, void *workspace) {
  const iso_pool_axis *a = &p->axis[2];
  const int64_t n_out = iso__pool_out(p, 2);
  size_t at = 0;
  iso__pool_columns c = columns_at(p, workspace, &at);
  memset(c.full, 1, (size_t)(c.stride / ISO__POOL_COLUMNS));
  for (int64_t o = 0; o < c.stride; o++) {
    const int64_t from = iso__min(o, n_out - 1);
    const range r = window_inside(a, from), all = p->count_padding ? window_padded(a, from) : r;
    c.first[o] = (int32_t)window_first(a, from), c.n[o] = (float)(all.end - all.begin);
    c.lo[o] = (int32_t)r.begin, c.hi[o] = o < n_out ? (int32_t)r.end : 0;
    c.full[o / ISO__POOL_COLUMNS] &= c.lo[o] == 0 && c.hi[o] == c.longest;
  }
  return c;
}

/* Forward: positions by vectors of columns; backward: one by one. */
static double planar_cost(const iso__problem *problem, int n_threads, double lanes) {
  const iso_pool_problem *p = (const iso_pool_problem *)problem;
  const bool backward = problem->op == ISO__OP_MAX_POOL_BWD || problem->op == ISO__OP_AVG_POOL_BWD;
  const double windows = (double)p->n * (double)iso__pool_out_positions(p);
  double ns = iso__operands_bytes(problem) / 12;
  if (problem->op == ISO__OP_MAX_POOL_BWD) ns += windows * 1.5;
  else ns += windows * (double)iso__pool_window_volume(p) * (backward ? 0.6 : 4 / lanes);
  return 300 + (n_threads > 1 && ns > 3e4 ? 3000 + ns / n_threads : ns);
}
double iso__pool_planar_cost_avx2(const iso__problem *problem, int n_threads) {
  return planar_cost(problem, n_threads, 8);
}
double iso__pool_planar_cost_avx512(const iso__problem *problem, int n_threads) {
  return planar_cost(problem, n_threads, 16);
}
