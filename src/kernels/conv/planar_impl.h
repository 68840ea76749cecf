/* planar_impl.h: micro-tiles of planar.h for one instruction set; included by planar_avx2.c and planar_avx512.c with
 * VECTORS(channels), the widest tile that the registers hold, defined. */
#include "kernels/conv/planar.h"
#include "kernels/conv/transpose8.h"
#include "numeric/unroll.h"
#include "numeric/vec.h"

#define ROWS ISO__PLANAR_CHANNELS
#define COLUMNS ISO__PLANAR_VECTORS

/* An unaligned load once, not again in every fma. */
#if defined(__AVX512F__)
#  define IN_REGISTER(x) __asm__("" : "+v"(x))
#else
#  define IN_REGISTER(x) __asm__("" : "+x"(x))
#endif

/* sum = [sum +] value, all from +0. */
VEC_FN void fold(float *sum, const float *value, const bool add, const int n) {
  for (int i = 0; i < n; i += VF_LANES)
    vf_store(sum + i, vf_add(add ? vf_load(sum + i) : vf_zero(), vf_load(value + i)));
}

VEC_FN void tile(const iso__planar_tile *t, const int rows, const int nv) {
  const int n = rows * nv * VF_LANES;
  float *panel = t->sums, *total = t->sums + n;
  bool in_panel = false, in_total = false;
  vf acc[ROWS][COLUMNS];
  UNROLL_16 for (int i = 0; i < rows; i++) UNROLL_16 for (int j = 0; j < nv; j++) acc[i][j] = vf_zero();
  for (int64_t s = 0; s < t->n_segments; s++) {
    const iso__conv_segment *g = &t->segments[s];
    const float *b = t->source + g->offset, *a = t->weights + g->k * rows;
    iso__conv_lines_step(t->ahead);
    for (int64_t k = 0; k < g->n; k++, b += t->pitch, a += rows) {
      vf w[ROWS];
      UNROLL_16 for (int i = 0; i < rows; i++) w[i] = vf_set1(a[i]);
      UNROLL_16 for (int j = 0; j < nv; j++) {
        vf x = vf_load(b + j * VF_LANES);
        IN_REGISTER(x);
        UNROLL_16 for (int i = 0; i < rows; i++) acc[i][j] = vf_fma(w[i], x, acc[i][j]);
      }
    }
    if (s + 1 < t->n_segments && g->fold == ISO__FOLD_NONE) continue;
    UNROLL_16 for (int i = 0; i < rows; i++) UNROLL_16 for (int j = 0; j < nv; j++) {
      vf_store(t->out + (i * nv + j) * VF_LANES, acc[i][j]);
      acc[i][j] = vf_zero();
    }
    fold(panel, t->out, in_panel, n);
    in_panel = true;
    if (s + 1 < t->n_segments && g->fold != ISO__FOLD_PANEL) continue;
    fold(total, panel, in_total, n);
    in_panel = false;
    in_total = true;
  }
  for (int i = 0; i < n; i += VF_LANES) vf_store(t->out + i, in_total ? vf_load(total + i) : vf_zero());
}

#define TILE(rows, nv)                                                                                                 \
  static void tile_##rows##_##nv(const iso__planar_tile *t) {                                                          \
    if (nv <= VECTORS(rows)) tile(t, rows, nv <= VECTORS(rows) ? nv : 1);                                              \
  }
#define TILES(rows)                                                                                                    \
  TILE(rows, 1) TILE(rows, 2) TILE(rows, 3) TILE(rows, 4) TILE(rows, 5) TILE(rows, 6) TILE(rows, 7) TILE(rows, 8)
TILES(1)
TILES(2)
TILES(3)
TILES(4)
#define ENTRIES(rows)                                                                                                  \
  {                                                                                                                    \
    NULL, tile_##rows##_1, tile_##rows##_2, tile_##rows##_3, tile_##rows##_4, tile_##rows##_5, tile_##rows##_6,        \
        tile_##rows##_7, tile_##rows##_8                                                                               \
  }

static void separate(const float *from, int64_t n_channels, int64_t n, int64_t pitch, float *to) {
  int64_t c = 0;
  for (; c + 8 <= n_channels; c += 8) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
      __m256 r[8];
      UNROLL_16 for (int j = 0; j < 8; j++) r[j] = _mm256_loadu_ps(from + (i + j) * n_channels + c);
      transpose8(r);
      UNROLL_16 for (int j = 0; j < 8; j++) _mm256_storeu_ps(to + (c + j) * pitch + i, r[j]);
    }
    for (; i < n; i++)
      for (int j = 0; j < 8; j++) to[(c + j) * pitch + i] = from[i * n_channels + c + j];
  }
  for (; c < n_channels; c++)
    for (int64_t i = 0; i < n; i++) to[c * pitch + i] = from[i * n_channels + c];
}

#define PLANAR_TILES                                                                                                   \
  {                                                                                                                    \
    .lanes = VF_LANES, .vectors = {0, VECTORS(1), VECTORS(2), VECTORS(3), VECTORS(4)},                                 \
    .tile = {[1] = ENTRIES(1), [2] = ENTRIES(2), [3] = ENTRIES(3), [4] = ENTRIES(4)}, .separate = separate             \
  }
