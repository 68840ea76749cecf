/* random_problem.c: sizes are drawn nearly uniformly by logarithm; a draw of too much work is thrown away. */
#include "random_problem.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static const double least_layer = 2e4, most_layer = 6e8, most_odd = 2e6; /* operations */

/* splitmix64 */
typedef struct source {
  uint64_t state;
} source;
static uint64_t next(source *s) {
  uint64_t x = s->state += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
static double uniform(source *s) { return (double)(next(s) >> 11) * 0x1p-53; }
static bool chance(source *s, double p) { return uniform(s) < p; }
static int64_t between(source *s, int64_t low, int64_t high) {
  return low + (int64_t)(next(s) % (uint64_t)(high - low + 1));
}
/* An octave above low, then a number in it: nearly uniform by logarithm, and the same with every C library. */
static int64_t size_between(source *s, int64_t low, int64_t high) {
  int n_octaves = 0;
  while (3 * (low << n_octaves) <= high) n_octaves++; /* no octave of a few numbers only */
  const int64_t from = low << between(s, 0, n_octaves);
  return between(s, from, 2 * from - 1 < high ? 2 * from - 1 : high);
}
static int64_t one_of(source *s, const int64_t *list, size_t n) { return list[next(s) % n]; }
#define ONE_OF(s, ...) one_of(s, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / 8)

/* Text that grows; what does not fit is cut. */
typedef struct line {
  char *text;
  size_t n_bytes, used;
} line;
static void put(line *l, const char *format, ...) {
  va_list list;
  va_start(list, format);
  const int n = vsnprintf(l->text + l->used, l->n_bytes - l->used, format, list);
  va_end(list);
  if (n > 0) l->used = l->used + (size_t)n < l->n_bytes ? l->used + (size_t)n : l->n_bytes - 1;
}
/* A key that is left out at its usual value. */
static void put_unless(line *l, const char *key, int64_t value, int64_t usual) {
  if (value != usual) put(l, " %s%lld", key, (long long)value);
}

static bool fits_kind(random_kind kind, double flops) {
  return kind == RANDOM_LAYER ? flops >= least_layer && flops <= most_layer : flops <= most_odd;
}

/* ---- gemm ---- */

static int64_t gemm_extent(random_kind kind, source *s) {
  if (kind == RANDOM_LAYER) return chance(s, 0.5) ? 8 * size_between(s, 1, 256) : size_between(s, 1, 2048);
  if (chance(s, 0.03)) return 0;
  return chance(s, 0.2) ? ONE_OF(s, 255, 256, 257, 511, 1025) : size_between(s, 1, 80);
}

static void put_gemm_oddities(line *l, source *s, int64_t m, int64_t n, int64_t k, bool ta, bool tb) {
  if (chance(s, 0.3)) put(l, " lda%lld", (long long)((ta ? m : k) + between(s, 1, 9)));
  if (chance(s, 0.3)) put(l, " ldb%lld", (long long)((tb ? k : n) + between(s, 1, 9)));
  if (chance(s, 0.3)) put(l, " ldc%lld", (long long)(n + between(s, 1, 9)));
  if (chance(s, 0.3)) put(l, " batch%lld", (long long)between(s, 2, 4));
  put_unless(l, "alpha", chance(s, 0.3), 0);
  put_unless(l, "beta", chance(s, 0.3), 0);
}

static bool draw_gemm(random_kind kind, source *s, line *l) {
  const int64_t m = gemm_extent(kind, s), n = gemm_extent(kind, s), k = gemm_extent(kind, s);
  const bool ta = chance(s, 0.25), tb = chance(s, 0.4);
  if (!fits_kind(kind, 2.0 * (double)m * (double)n * (double)k)) return false;
  put(l, "gemm f32 m%lld n%lld k%lld", (long long)m, (long long)n, (long long)k);
  put_unless(l, "ta", ta, 0);
  put_unless(l, "tb", tb, 0);
  if (kind == RANDOM_ODD) put_gemm_oddities(l, s, m, n, k, ta, tb);
  put_unless(l, "bias", chance(s, 0.2), 0);
  if (kind == RANDOM_ODD) put_unless(l, "res", chance(s, 0.2), 0);
  if (kind == RANDOM_ODD) put_unless(l, "scale", chance(s, 0.2), 0);
  if (chance(s, 0.2)) put(l, " relu1");
  else if (kind == RANDOM_ODD && chance(s, 0.3)) put(l, " act%lld", (long long)between(s, 2, 4));
  put_unless(l, "kept", chance(s, 0.15), 0);
  return true;
}

/* ---- convolution ---- */

typedef struct conv {
  int direction; /* forward, bwd_data, bwd_weights */
  int64_t n, c, k, groups;
  struct axis {
    int64_t extent, kernel, stride, dilation, before, after;
  } depth, rows, columns;
} conv;
static const char *const directions[] = {"fwd", "bwd_data", "bwd_weights"};

static double outputs(const struct axis *a) {
  const int64_t room = a->extent + a->before + a->after - a->dilation * (a->kernel - 1) - 1;
  return room < 0 ? 0 : (double)(room / a->stride + 1);
}

static double conv_flops(const conv *p) {
  const double taps = (double)(p->depth.kernel * p->rows.kernel * p->columns.kernel);
  return 2.0 * (double)p->n * outputs(&p->depth) * outputs(&p->rows) * outputs(&p->columns) * (double)p->k *
         (double)(p->c / p->groups) * taps;
}

static const struct axis flat = {1, 1, 1, 1, 0, 0};

/* Square images and kernels with the usual padding; depthwise now and then. */
static conv draw_layer(source *s) {
  conv p = {.direction = (int)between(s, 0, 2), .n = size_between(s, 1, 32), .depth = flat, .groups = 1};
  const int64_t kernel = ONE_OF(s, 1, 1, 3, 3, 3, 3, 3, 5, 7, 11),
                image = size_between(s, kernel > 4 ? kernel : 4, 112);
  p.c = chance(s, 0.1) ? between(s, 1, 4) : chance(s, 0.6) ? 8 * size_between(s, 1, 64) : size_between(s, 1, 512);
  p.k = chance(s, 0.6) ? 8 * size_between(s, 1, 64) : size_between(s, 1, 512);
  if (chance(s, 0.12)) p.k = p.groups = p.c;
  p.rows = (struct axis){image, kernel, chance(s, 0.2) ? 2 : 1, 1, kernel / 2, kernel / 2};
  p.columns = p.rows;
  if (chance(s, 0.2)) p.columns.extent = size_between(s, kernel > 4 ? kernel : 4, 112);
  return p;
}

static struct axis draw_axis(source *s, int64_t most_extent, int64_t most_kernel) {
  const int64_t kernel = between(s, 1, most_kernel);
  return (struct axis){chance(s, 0.02) ? 0 : size_between(s, 1, most_extent),
                       kernel,
                       chance(s, 0.6) ? 1 : between(s, 2, 3),
                       chance(s, 0.75) ? 1 : between(s, 2, 3),
                       between(s, 0, kernel),
                       between(s, 0, kernel)};
}

/* Kernels that Winograd and FFT classes know, in frames that they don't expect, and everything else. */
static conv draw_odd(source *s) {
  conv p = {
      .direction = (int)between(s, 0, 2), .n = chance(s, 0.03) ? 0 : between(s, 1, 3), .depth = flat, .groups = 1};
  p.rows = draw_axis(s, 24, 7), p.columns = draw_axis(s, 24, 7);
  if (chance(s, 0.5)) {
    const int64_t kernel = ONE_OF(s, 3, 3, 5, 9, 11, 15);
    struct axis *const both[] = {&p.rows, &p.columns};
    for (int i = 0; i < 2; i++)
      both[i]->kernel = kernel, both[i]->stride = both[i]->dilation = 1, both[i]->before = between(s, 0, kernel - 1);
  }
  if (chance(s, 0.15)) p.depth = draw_axis(s, 6, 3);
  p.c = size_between(s, 1, 40), p.k = size_between(s, 1, 40);
  if (chance(s, 0.15)) p.groups = p.c, p.k = p.c * between(s, 1, 2);
  else if (chance(s, 0.2)) p.groups = between(s, 2, 3), p.c *= p.groups, p.k *= p.groups;
  return p;
}

static void put_conv_axis(line *l, const struct axis *a, const char *const keys[4]) {
  const int64_t values[] = {a->stride, a->dilation, a->before, a->after};
  for (int i = 0; i < 4; i++) put_unless(l, keys[i], values[i], i < 2);
}

/* As Isobit prints it: one key where rows and columns agree. */
static void put_frame(line *l, const struct axis *rows, const struct axis *columns) {
  const bool same = rows->stride == columns->stride && rows->dilation == columns->dilation &&
                    rows->before == rows->after && columns->before == columns->after && rows->before == columns->before;
  if (same) {
    put_unless(l, "st", rows->stride, 1);
    put_unless(l, "p", rows->before, 0);
    put_unless(l, "d", rows->dilation, 1);
    return;
  }
  put_conv_axis(l, rows, (const char *const[]){"sth", "dh", "pt", "pb"});
  put_conv_axis(l, columns, (const char *const[]){"stw", "dw", "pl", "pr"});
}

static bool draw_conv(random_kind kind, source *s, line *l) {
  const conv p = kind == RANDOM_LAYER ? draw_layer(s) : draw_odd(s);
  if (!fits_kind(kind, conv_flops(&p))) return false;
  put(l, "conv2d.%s f32 n%lld c%lld h%lld w%lld k%lld r%lld s%lld", directions[p.direction], (long long)p.n,
      (long long)p.c, (long long)p.rows.extent, (long long)p.columns.extent, (long long)p.k, (long long)p.rows.kernel,
      (long long)p.columns.kernel);
  put_unless(l, "z", p.depth.extent, 1);
  put_unless(l, "t", p.depth.kernel, 1);
  put_conv_axis(l, &p.depth, (const char *const[]){"stz", "dz", "pf", "pk"});
  put_frame(l, &p.rows, &p.columns);
  put_unless(l, "g", p.groups, 1);
  if (p.direction == 0) {
    put_unless(l, "b", chance(s, 0.2), 0);
    put_unless(l, "res", chance(s, 0.1), 0);
    put_unless(l, "act", chance(s, 0.2), 0);
  }
  if (kind == RANDOM_ODD && p.direction != 1) put_unless(l, "xf", chance(s, 0.1), 0);
  if (p.direction != 2) put_unless(l, "kept", chance(s, kind == RANDOM_ODD ? 0.3 : 0.15), 0);
  return true;
}

void random_problem(random_kind kind, uint64_t seed, uint64_t index, char *text, size_t n_bytes) {
  source s = {.state = seed * 0xd1342543de82ef95u + index};
  s.state = next(&s);
  for (;;) {
    line l = {.text = text, .n_bytes = n_bytes};
    if (chance(&s, 0.35) ? draw_gemm(kind, &s, &l) : draw_conv(kind, &s, &l)) return;
  }
}
