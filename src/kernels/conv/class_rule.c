/* class_rule.c: the numeric class of a convolution (NUMERICS §8). rule@1: `ordered`. rule@2: the class of least
 * estimated cost for one image, among those that apply and that the policy's accuracy allows.
 *
 * The estimate is a count of multiply-adds for tiles of T transformed points:
 *   cost = tiles·T·(pairs·product + C·input + K·output) + T·pairs·kernel / 8
 * where pairs = C·K/groups and classes of tiles count a group's channels rounded up to 16, with the coefficients below,
 * least squares over bench/class_rule.py's measurements (batch 8, whence the last divisor). `ordered` is a tile a pixel
 * with T = kernel taps for its product. A published rule's figures never change: better ones are rule@3. Only +, × and
 * / on binary64 in this order, so every machine chooses alike. */
#include "kernels/conv/class_rule.h"
#include <math.h>
#include "kernels/conv/fft/fft.h"
#include "kernels/conv/winograd/winograd.h"

typedef struct model {
  const char *class_name;
  bool depthwise;                        /* groups = channels: figures of their own */
  int winograd, fft;                     /* outputs of a tile along an axis; window; both 0: ordered */
  double product, input, output, kernel; /* see above */
} model;

#include "kernels/conv/class_rule_coefficients.h"

/* Tiles of one image, and points of one of them. */
static void shape_of(const model *m, const iso_conv_problem *p, double *tiles, double *points) {
  iso_conv_problem one = *p;
  one.n = 1;
  if (m->winograd) {
    const iso__winograd_grid g = iso__winograd_grid_of(&one, m->winograd);
    *tiles = (double)g.tiles, *points = (double)g.points;
  } else if (m->fft) {
    const iso__fft_geometry g = iso__fft_geometry_of(&one, m->fft);
    *tiles = (double)g.n_tiles, *points = 2.0 * (double)g.n * (double)g.n_columns;
  } else {
    *tiles = (double)(iso__conv_out_d(p) * iso__conv_out_h(p) * iso__conv_out_w(p)), *points = 1;
  }
}

static double cost_of(const model *m, const iso_conv_problem *p) {
  double tiles, points;
  shape_of(m, p, &tiles, &points);
  const bool is_ordered = !m->winograd && !m->fft, is_pointwise = m->fft && m->depthwise;
  const int64_t wide = is_ordered || is_pointwise ? 1 : 16, g = p->groups;
  const double c = (double)((p->c / g + wide - 1) / wide * wide * g),
               k = (double)((p->k / g + wide - 1) / wide * wide * g);
  double pairs = c * k / (double)g;
  if (is_ordered) pairs = pairs * (double)(p->t * p->r * p->s);
  const double image = tiles * points * (pairs * m->product + c * m->input + k * m->output);
  return image + points * pairs * m->kernel / 8;
}

/* The class' reference row if the class is for this problem and the policy. */
static bool is_allowed(const model *m, const iso__problem *problem, const iso_policy *policy) {
  for (const iso__engine *e = iso__engine_first(problem->op); e; e = iso__engine_next(e))
    if (e->element && !strcmp(e->class_name, m->class_name))
      return (e->dtypes & ISO__DTYPE_BIT(problem->dtype)) && e->accuracy <= policy->accuracy && !e->applicable(problem);
  return false;
}

const char *iso__conv_class_rule(const iso__problem *problem, const iso_policy *policy) {
  iso_conv_problem p = *(const iso_conv_problem *)problem;
  p.x_first = 0; /* storage has no say */
  const model *models = problem->op == ISO__OP_CONV_FWD        ? fwd_models
                        : problem->op == ISO__OP_CONV_BWD_DATA ? bwd_data_models
                                                               : bwd_weights_models;
  const bool depthwise = p.groups == p.c && p.groups > 1;
  const char *best = "ordered";
  double least = INFINITY;
  if (policy->rule < 2 || problem->dtype != ISO_F32) return best;
  for (const model *m = models; m->class_name; m++) {
    if (m->depthwise != depthwise || !is_allowed(m, &p.head, policy)) continue;
    const double cost = cost_of(m, &p);
    if (cost < least) least = cost, best = m->class_name;
  }
  return best;
}
