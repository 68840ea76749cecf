/* test_cuda_cuts.c: how Winograd and FFT convolutions are cut for a CUDA device (cut.h), without one: slices cover all
 * tiles, grids stay countable, chunks and panels of the weights' gradient end with slices, and the workspace does not
 * grow with the batch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "kernels/conv/conv.h"
#include "kernels/conv/fft/cuda/cut.h"
#include "kernels/conv/winograd/cuda/cut.h"
#include "kernels/conv/winograd/winograd.h"
#include "numeric/order.h"

extern const char *const iso__conv_cases[];

enum {
  MAX_GRID = 65535,
  MIB = 1 << 20,
  MOST_GROWTH_MIB = 64 /* of 256: slices are equal parts, of more tiles the more there are */
};

/* What both families' cuts have in common. */
typedef struct cut {
  int64_t tiles;
  int slice, slab, groups, points, slots;
  size_t floats, panel;
} cut;
static cut of_winograd(const iso_conv_problem *p, int m) {
  const iso__wino_cuda_cut c =
      p->head.op == ISO__OP_CONV_BWD_WEIGHTS ? iso__wino_cuda_cut_weights(p, m) : iso__wino_cuda_cut_images(p, m);
  return (cut){c.tiles, c.slice, c.slab, c.groups, c.points, c.slots, c.floats, c.panel};
}
static cut of_fft(const iso_conv_problem *p, int n) {
  const iso__fft_cuda_cut c =
      p->head.op == ISO__OP_CONV_BWD_WEIGHTS ? iso__fft_cuda_cut_weights(p, n) : iso__fft_cuda_cut_images(p, n);
  return (cut){c.tiles, c.slice, c.slab, c.groups, c.frequencies, c.slots, c.n_floats, c.panel};
}

static void check(const char *text, const iso_conv_problem *p, cut (*cut_of)(const iso_conv_problem *, int), int m) {
  iso_conv_problem many = *p, more = *p;
  many.n *= 1 << 18, more.n *= 1 << 20;
  const cut c = cut_of(p, m), large = cut_of(&many, m);
  if (c.slice < 1 || c.slice > (c.tiles > 0 ? c.tiles + ISO__PANEL : 1)) fail_msg("'%s': a slice of %d", text, c.slice);
  if (c.groups && (c.slab < 1 || (int64_t)c.slab * c.points > MAX_GRID)) fail_msg("'%s': a slab of %d", text, c.slab);
  if (c.slots < 1 || c.slots > MAX_GRID) fail_msg("'%s': %d slots", text, c.slots);
  if (p->head.op == ISO__OP_CONV_BWD_WEIGHTS && large.slice < large.tiles) {
    if (large.slice % ISO__CHUNK) fail_msg("'%s': a slice ends within a chunk", text);
    if (large.slice % ISO__PANEL && large.panel == 0) fail_msg("'%s': a panel has no place to wait", text);
  }
  const size_t before = large.floats * sizeof(float), after = cut_of(&more, m).floats * sizeof(float);
  if (p->c && p->k && after > before + (size_t)MOST_GROWTH_MIB * MIB)
    fail_msg("'%s': %zu MiB, with four times the batch %zu", text, before / MIB, after / MIB);
}

static void test_cuts(void **state) {
  (void)state;
  int n_checked = 0;
  for (const char *const *text = iso__conv_cases; *text; text++) {
    _Alignas(16) unsigned char bytes[ISO__MAX_PROBLEM_BYTES];
    char why[320];
    if (iso__problem_read(*text, bytes, why, sizeof why)) fail_msg("%s", why);
    const iso_conv_problem *p = (const iso_conv_problem *)bytes;
    for (const iso__engine *e = iso__engine_first(p->head.op); e; e = iso__engine_next(e)) {
      int m = 0;
      if (!e->reference || e->applicable(&p->head)) continue;
      if (sscanf(e->class_name, "winograd.%d", &m) == 1) check(*text, p, of_winograd, m);
      else if (sscanf(e->class_name, "fft.%d", &m) == 1) check(*text, p, of_fft, m);
      n_checked += m > 0;
    }
  }
  assert_true(n_checked > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cuts)};
  return cmocka_run_group_tests_name("cuda_cuts", tests, NULL, NULL);
}
