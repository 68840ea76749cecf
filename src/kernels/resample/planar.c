/* planar.c: rows, workspace and lists of the engines for planes of one channel. */
#include "kernels/resample/planar.h"
#include "kernels/sizes.h"

enum { PAD_COLUMNS = 16, MOST_TERMS = 256 }; /* one chunk */

int64_t iso__resample_longest(const iso_resample_problem *p, int axis) {
  if (p->head.op == ISO__OP_RESAMPLE_FWD) return iso__resample_most_taps(p, axis);
  int64_t longest = 0;
  for (int64_t i = 0; i < p->axis[axis].in; i++) {
    const iso__tap_range r = iso__resample_seen_by(p, axis, i);
    longest = iso__max(longest, r.end - r.begin);
  }
  return longest;
}
static int64_t columns_of(const iso_resample_problem *p) {
  return iso__round_up(p->head.op == ISO__OP_RESAMPLE_BWD ? p->axis[2].in : p->axis[2].out, PAD_COLUMNS);
}

const char *iso__resample_planar_applicable(const iso__problem *problem) {
  const iso_resample_problem *p = (const iso_resample_problem *)problem;
  if (p->c != 1) return "is for planes of one channel";
  int64_t terms = 1;
  for (int d = 0; d < 3 && terms <= MOST_TERMS; d++) terms *= iso__resample_longest(p, d);
  return terms > MOST_TERMS ? "an element has more than 256 terms" : NULL;
}

static iso__columns columns_at(const iso_resample_problem *p, char *base, size_t *n_bytes) {
  size_t at = iso__resample_taps_bytes(p);
  const int64_t stride = columns_of(p), longest = iso__resample_longest(p, 2);
  const size_t begin = iso__take(&at, stride, sizeof(int32_t)), n = iso__take(&at, stride, sizeof(int32_t)),
               weight = iso__take(&at, stride * longest, sizeof(float));
  *n_bytes = at;
  iso__columns c = {.stride = stride, .longest = longest};
  if (base) c.begin = (void *)(base + begin), c.n = (void *)(base + n), c.weight = (void *)(base + weight);
  return c;
}
size_t iso__resample_planar_workspace(const iso__problem *problem, int n_threads) {
  size_t n_bytes;
  (void)n_threads;
  columns_at((const iso_resample_problem *)problem, NULL, &n_bytes);
  return n_bytes;
}
iso__columns iso__resample_columns(const iso_resample_problem *p, void *workspace, const iso__taps *taps) {
  size_t n_bytes;
  iso__columns c = columns_at(p, workspace, &n_bytes);
  const int64_t n = p->head.op == ISO__OP_RESAMPLE_BWD ? p->axis[2].in : p->axis[2].out;
  const float *weight = taps[2].weight;
  for (int64_t j = 0; j < c.stride; j++) {
    const int64_t from = j < n ? j : n - 1;
    c.begin[j] = taps[2].begin[from];
    c.n[j] = j < n ? taps[2].offset[j + 1] - taps[2].offset[j] : 0;
    for (int64_t k = 0; k < c.longest; k++)
      c.weight[k * c.stride + j] = k < c.n[j] ? weight[taps[2].offset[from] + k] : 0;
  }
  return c;
}

static double planar_cost(const iso__problem *problem, int n_threads, double lanes) {
  const iso_resample_problem *p = (const iso_resample_problem *)problem;
  const bool backward = problem->op == ISO__OP_RESAMPLE_BWD;
  double terms = (double)p->n;
  for (int d = 0; d < 3; d++) {
    const iso_resample_axis *a = &p->axis[d];
    const int64_t n = backward ? a->in : a->out;
    terms *= d == 2 ? (double)iso__round_up(n, (int64_t)lanes) : (double)n;
    terms *= backward ? (double)a->out / (double)a->in * (double)iso__resample_most_taps(p, d)
                      : (double)iso__resample_most_taps(p, d);
  }
  const double ns = iso__operands_bytes(problem) / 12 + terms * 2 / lanes;
  return 600 + (n_threads > 1 && ns > 3e4 ? 3000 + ns / n_threads : ns);
}
double iso__resample_planar_cost_avx2(const iso__problem *problem, int n_threads) {
  return planar_cost(problem, n_threads, 8);
}
double iso__resample_planar_cost_avx512(const iso__problem *problem, int n_threads) {
  return planar_cost(problem, n_threads, 16);
}
