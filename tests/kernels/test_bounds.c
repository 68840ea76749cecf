/* test_bounds.c: what a convolution class promises of its error, measured.
 *
 * Every class of the three convolution operators computes images of several kinds (normal numbers, a wide range of
 * magnitudes, sums that cancel, constants, single bright pixels); a plain loop in binary64 says what is right. The
 * error is relative to the largest sum of |terms| nearby: in the same sample and channel within the reach of the class'
 * tile, positions just outside the image included (a tile's transform multiplies a bright pixel at the border with
 * every tap), for weights among the taps of the same pair of channels. The worst stays under the class' bound, and on
 * normal data under 1e-6 where the class calls itself `standard`. Prints the table that docs/numerics.md quotes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/cpu.h"
#include "kernels/conv/conv.h"
#include "plan/operands.h"
#include "plan/state.h"
#include "run_engine.h"

static const double standard_bound = 1e-6; /* on normal data: what `accuracy=standard` means */
static iso_context *ctx;

/* ---- data ---- */

typedef enum kind { NORMAL, WIDE, CANCELLING, CONSTANT, BRIGHT, N_KINDS } kind;
static const char *const kind_names[] = {"normal", "wide range", "cancelling", "constant", "bright pixels"};

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* What iso__operand_fill gave (normal numbers), made less kind. */
static void make_unkind(kind k, float *v, int64_t n, uint64_t seed) {
  for (int64_t i = 0; i < n; i++) {
    const uint64_t h = mix(seed + (uint64_t)i * 0x9e3779b97f4a7c15u);
    if (k == WIDE) v[i] = ldexpf(v[i], (int)(h % 25) - 12);
    else if (k == CANCELLING) v[i] = (i % 2 ? -1.0f : 1.0f) * (1.0f + 1e-3f * v[i]);
    else if (k == CONSTANT) v[i] = 0.7f;
    else if (k == BRIGHT) v[i] *= h % 97 ? 1.0f : 1000.0f;
  }
}

/* ---- what is right: y, dx or dw and the sums of |terms|, beyond each border too ---- */

enum { EDGE = 7 };

/* The output as planes: (outer, high, wide, inner), the last the channel that has nothing to do with its neighbours;
 * `edge` positions round them. */
typedef struct planes {
  int64_t outer, high, wide, inner, edge;
} planes;
static planes planes_of(const iso_conv_problem *p, int64_t reach) {
  if (p->head.op == ISO__OP_CONV_FWD) return (planes){p->n, iso__conv_out_h(p), iso__conv_out_w(p), p->k, EDGE};
  if (p->head.op == ISO__OP_CONV_BWD_DATA) return (planes){p->n, p->h, p->w, p->c, EDGE};
  return (planes){p->k, p->r, p->s, p->c / p->groups, reach < p->h ? reach : p->h};
}
static int64_t place(planes l, int64_t outer, int64_t high, int64_t wide, int64_t inner) {
  const int64_t h = high + l.edge, w = wide + l.edge;
  return ((outer * (l.high + 2 * l.edge) + h) * (l.wide + 2 * l.edge) + w) * l.inner + inner;
}

typedef struct truth {
  int64_t n;
  double *value, *magnitude;
} truth;

static void add_term(truth *t, int64_t at, double a, double b) {
  t->value[at] += a * b;
  t->magnitude[at] += fabs(a * b);
}

/* Every product of the convolution once, to the output that it belongs to. */
static void compute(const iso_conv_problem *p, const iso_conv_args *a, planes l, truth *t) {
  const int64_t out_h = iso__conv_out_h(p), out_w = iso__conv_out_w(p), cg = p->c / p->groups, kg = p->k / p->groups;
  const bool forward = p->head.op == ISO__OP_CONV_FWD, back = p->head.op == ISO__OP_CONV_BWD_DATA;
  const int64_t y_edge = forward ? EDGE : 0, x_edge = back ? EDGE : 0, w_edge = forward || back ? 0 : l.edge;
  const float *x = a->x, *w = a->w, *dy = a->dy;
  for (int64_t n = 0; n < p->n; n++)
    for (int64_t row = -y_edge; row < out_h + y_edge; row++)
      for (int64_t q = -y_edge; q < out_w + y_edge; q++)
        for (int64_t r = -w_edge; r < p->r + w_edge; r++)
          for (int64_t s = -w_edge; s < p->s + w_edge; s++) {
            const int64_t h = row * p->stride_h + r * p->dilation_h - p->pad_top,
                          v = q * p->stride_w + s * p->dilation_w - p->pad_left;
            if (h < -x_edge || h >= p->h + x_edge || v < -x_edge || v >= p->w + x_edge) continue;
            for (int64_t k = 0; k < p->k; k++)
              for (int64_t c = 0; c < cg; c++) {
                const int64_t channel = k / kg * cg + c, at_x = ((n * p->h + h) * p->w + v) * p->c + channel,
                              at_y = ((n * out_h + row) * out_w + q) * p->k + k,
                              at_w = ((k * p->r + r) * p->s + s) * cg + c;
                if (forward) add_term(t, place(l, n, row, q, k), (double)x[at_x], (double)w[at_w]);
                else if (back) add_term(t, place(l, n, h, v, channel), (double)dy[at_y], (double)w[at_w]);
                else add_term(t, place(l, k, r, s, c), (double)x[at_x], (double)dy[at_y]);
              }
          }
}

static double nearby(const truth *t, planes l, int64_t o, int64_t h, int64_t w, int64_t c, int64_t reach) {
  double most = 0;
  for (int64_t i = h - reach; i <= h + reach; i++)
    for (int64_t j = w - reach; j <= w + reach; j++)
      if (i >= -l.edge && i < l.high + l.edge && j >= -l.edge && j < l.wide + l.edge)
        most = fmax(most, t->magnitude[place(l, o, i, j, c)]);
  return most;
}

/* ---- one class ---- */

typedef struct error {
  double worst, sum_of_squares;
  int64_t n;
} error;

/* Tiles of a Winograd class are at most 8 wide, so 7 pixels reach from one corner to another; an FFT's tile is N wide.
 */
static int64_t reach_of(const char *class_name) {
  return strncmp(class_name, "fft.", 4) ? EDGE : strtoll(class_name + 4, NULL, 10);
}

static void measure(const iso__engine *row, const iso_conv_problem *p, kind k, error *e) {
  iso__operand_set set;
  assert_true(iso__operand_set_init(ctx, &p->head, NULL, 11, &set));
  int out = 0;
  for (int i = 0; i < set.n; i++)
    if (set.operand[i].output) out = i;
    else make_unkind(k, set.block[i], set.operand[i].n, (uint64_t)i + 3);
  const int64_t reach = reach_of(row->class_name);
  const planes l = planes_of(p, reach);
  truth t = {.n = l.outer * (l.high + 2 * l.edge) * (l.wide + 2 * l.edge) * l.inner};
  t.value = calloc((size_t)t.n + 1, sizeof(double)), t.magnitude = calloc((size_t)t.n + 1, sizeof(double));
  compute(p, (const iso_conv_args *)(const void *)set.args, l, &t);
  run_engine(ctx, row, &p->head, set.args);
  const float *y = set.block[out];
  for (int64_t i = 0; i < set.operand[out].n; i++) {
    const int64_t c = i % l.inner, w = i / l.inner % l.wide, h = i / l.inner / l.wide % l.high,
                  o = i / l.inner / l.wide / l.high;
    const double scale = nearby(&t, l, o, h, w, c, reach);
    if (scale <= 0) continue;
    const double relative = fabs((double)y[i] - t.value[place(l, o, h, w, c)]) / scale;
    e->worst = fmax(e->worst, relative), e->sum_of_squares += relative * relative, e->n++;
  }
  free(t.value), free(t.magnitude);
  iso__operand_set_release(ctx, &set);
}

/* The fastest rows come after the reference; any of them has the class' bits. */
static const iso__engine *row_of(const iso__engine *reference, const iso__problem *problem) {
  for (const iso__engine *e = iso__engine_first(reference->op); e; e = iso__engine_next(e))
    if (!e->reference && e->isa <= iso__cpu()->isa && iso__class_reference(e) == reference && !e->applicable(problem))
      return e;
  return reference;
}

static const char *const shapes[] = {"n2 c24 h13 w11 k20 r3 s3 p1",     "n1 c64 h14 w14 k32 r3 s3 p1",
                                     "n2 c16 h14 w15 k20 r5 s5 p2",     "n1 c8 h20 w20 k12 r11 s11 p5",
                                     "n2 c16 h17 w17 k16 r5 s5 p2 g16", "n1 c8 h22 w22 k8 r21 s21 p10 g8",
                                     "n2 c20 h15 w15 k24 r3 s3 st2 p1"};

static void test_operator(void **state) {
  const char *operator_name = *state;
  for (int s = 0; s < (int)(sizeof shapes / sizeof shapes[0]); s++) {
    _Alignas(16) unsigned char bytes[ISO__MAX_PROBLEM_BYTES];
    const iso_conv_problem *p = (const iso_conv_problem *)bytes;
    char text[256];
    snprintf(text, sizeof text, "%s f32 %s", operator_name, shapes[s]);
    assert_int_equal(iso__problem_parse(ctx, text, bytes), ISO_OK);
    for (const iso__engine *r = iso__engine_first(p->head.op); r; r = iso__engine_next(r)) {
      if (!r->reference || r->applicable(&p->head)) continue;
      const double bound = iso__class_error_bound(r);
      for (int k = 0; k < N_KINDS; k++) {
        error e = {0};
        measure(row_of(r, &p->head), p, (kind)k, &e);
        printf("%-16s %-18s %-34s %-13s max %.1e rms %.1e\n", r->class_name, operator_name, shapes[s], kind_names[k],
               e.worst, sqrt(e.sum_of_squares / (double)(e.n ? e.n : 1)));
        if (!(e.worst <= bound))
          fail_msg("%s on '%s', %s data: %.3g where the bound is %.3g", r->class_name, text, kind_names[k], e.worst,
                   bound);
        if (k == NORMAL && r->accuracy <= ISO_ACCURACY_STANDARD && !(e.worst <= standard_bound))
          fail_msg("%s on '%s': %.3g on normal data; `standard` means %.3g", r->class_name, text, e.worst,
                   standard_bound);
      }
    }
  }
}

int main(void) {
  if (iso__context_new(NULL, NULL, 1, iso__cpu()->isa, &ctx) || iso__plan_attach(ctx)) return 1;
  static const char *const names[] = {"conv2d.fwd", "conv2d.bwd_data", "conv2d.bwd_weights"};
  struct CMUnitTest tests[3];
  for (int i = 0; i < 3; i++)
    tests[i] =
        (struct CMUnitTest){.name = names[i], .test_func = test_operator, .initial_state = (void *)(uintptr_t)names[i]};
  const int n_failed = _cmocka_run_group_tests("bounds", tests, 3, NULL, NULL);
  iso__context_free(ctx);
  return n_failed;
}
