/* copy.c: strided copies of any dtype, with casts.
 *
 * Bytes that lie in the same order on both sides go through memcpy. Where the input's fast dimension is another than
 * the output's (a transpose, NCHW to channels-last and back), tiles of 16 lines by 64 elements keep both sides' cache
 * lines in L1 until they are used up. 32-bit elements are turned in
 * blocks of 4×4. Casts round once, element by element, in the numeric room. */
#if defined(__SSE2__)
#  include <emmintrin.h>
#endif
#include "base/pool.h"
#include "kernels/map/functions.h"
#include "numeric/dtype.h"

enum {
  TILE_LINES = 16,
  TILE_ELEMENTS = 64,
  GRAIN_BYTES = 65536,
  NARROW = 8,         /* last dimensions below this are passed the other way: along `cross`, element by element */
  NARROW_LINES = 512, /* of `cross` at a time: they stay in L1 between the passes */
};

typedef struct job {
  const iso_map_problem *p;
  char *out;
  const char *in;
  iso_dtype to, from;
  size_t to_bytes, from_bytes;
  int last, cross; /* innermost dimension; the one along which the input is contiguous, or -1 */
  int64_t n_lines; /* of `cross` in one tile; 1 without a transpose */
} job;

#define STRIDED_LOOP(type)                                                                                             \
  do {                                                                                                                 \
    type *y = (type *)(void *)out;                                                                                     \
    const type *x = (const type *)(const void *)in;                                                                    \
    for (int64_t i = 0; i < n; i++) y[i * step_out] = x[i * step_in];                                                  \
  } while (0)

/* n elements along one dimension. */
static void copy_line(const job *j, char *out, int64_t step_out, const char *in, int64_t step_in, int64_t n) {
  if (j->to != j->from) {
    if (step_out == 1 && step_in == 1) {
      iso__map_cast(in, j->from, out, j->to, (size_t)n);
      return;
    }
    for (int64_t i = 0; i < n; i++)
      iso__cast_element(in + i * step_in * (int64_t)j->from_bytes, j->from, out + i * step_out * (int64_t)j->to_bytes,
                        j->to);
  } else if (step_out == 1 && step_in == 1) {
    memcpy(out, in, (size_t)n * j->to_bytes);
  } else {
    switch (j->to_bytes) {
    case 1: STRIDED_LOOP(uint8_t); break;
    case 2: STRIDED_LOOP(uint16_t); break;
    case 4: STRIDED_LOOP(uint32_t); break;
    default: STRIDED_LOOP(uint64_t); break;
    }
  }
}

/* A tile of 32-bit elements: `lines` lines that lie next to each other in the input, n elements along the output. */
static void copy_tile_32(uint32_t *out, int64_t line_out, const uint32_t *in, int64_t step_in, int64_t lines,
                         int64_t n) {
  int64_t line = 0;
#if defined(__SSE2__)
  for (; line + 4 <= lines; line += 4) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
      const uint32_t *x = in + line + i * step_in;
      const __m128i a = _mm_loadu_si128((const __m128i *)(const void *)x),
                    b = _mm_loadu_si128((const __m128i *)(const void *)(x + step_in));
      const __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(x + 2 * step_in)),
                    d = _mm_loadu_si128((const __m128i *)(const void *)(x + 3 * step_in));
      const __m128i ab_low = _mm_unpacklo_epi32(a, b), ab_high = _mm_unpackhi_epi32(a, b);
      const __m128i cd_low = _mm_unpacklo_epi32(c, d), cd_high = _mm_unpackhi_epi32(c, d);
      uint32_t *y = out + line * line_out + i;
      _mm_storeu_si128((__m128i *)(void *)y, _mm_unpacklo_epi64(ab_low, cd_low));
      _mm_storeu_si128((__m128i *)(void *)(y + line_out), _mm_unpackhi_epi64(ab_low, cd_low));
      _mm_storeu_si128((__m128i *)(void *)(y + 2 * line_out), _mm_unpacklo_epi64(ab_high, cd_high));
      _mm_storeu_si128((__m128i *)(void *)(y + 3 * line_out), _mm_unpackhi_epi64(ab_high, cd_high));
    }
    for (; i < n; i++)
      for (int64_t q = 0; q < 4; q++) out[(line + q) * line_out + i] = in[line + q + i * step_in];
  }
#endif
  for (; line < lines; line++)
    for (int64_t i = 0; i < n; i++) out[line * line_out + i] = in[line + i * step_in];
}

/* Units are (outer dimensions without `cross`) × groups of n_lines of `cross`; each copies lines of the last dimension.
 */
static void copy_units(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const iso_map_problem *p = j->p;
  const int64_t n = p->shape[j->last], most = j->n_lines > 1 ? TILE_ELEMENTS : n;
  const bool is_narrow = n < NARROW && j->cross >= 0;
  const bool turns = !is_narrow && j->cross >= 0 && j->to == j->from && j->to_bytes == 4 &&
                     p->strides[0][j->last] == 1 && p->strides[1][j->cross] == 1;
  (void)thread;
  for (int64_t unit = begin; unit < end; unit++) {
    int64_t rest = unit, out = 0, in = 0, lines = 1;
    if (j->cross >= 0) {
      const int64_t groups = (p->shape[j->cross] + j->n_lines - 1) / j->n_lines, first = rest % groups * j->n_lines;
      rest /= groups;
      lines = p->shape[j->cross] - first < j->n_lines ? p->shape[j->cross] - first : j->n_lines;
      out += first * p->strides[0][j->cross], in += first * p->strides[1][j->cross];
    }
    for (int d = j->last - 1; d >= 0; d--) {
      if (d == j->cross) continue;
      const int64_t digit = rest % p->shape[d];
      rest /= p->shape[d];
      out += digit * p->strides[0][d], in += digit * p->strides[1][d];
    }
    for (int64_t i = 0; i < n && is_narrow; i++)
      copy_line(j, j->out + (out + i * p->strides[0][j->last]) * (int64_t)j->to_bytes, p->strides[0][j->cross],
                j->in + (in + i * p->strides[1][j->last]) * (int64_t)j->from_bytes, p->strides[1][j->cross], lines);
    if (is_narrow) continue;
    if (turns) {
      for (int64_t i = 0; i < n; i += most)
        copy_tile_32((uint32_t *)(void *)j->out + out + i, p->strides[0][j->cross],
                     (const uint32_t *)(const void *)j->in + in + i * p->strides[1][j->last], p->strides[1][j->last],
                     lines, n - i < most ? n - i : most);
      continue;
    }
    for (int64_t i = 0; i < n; i += most)
      for (int64_t line = 0; line < lines; line++) {
        int64_t to = out + i * p->strides[0][j->last], from = in + i * p->strides[1][j->last];
        if (line) to += line * p->strides[0][j->cross], from += line * p->strides[1][j->cross];
        copy_line(j, j->out + to * (int64_t)j->to_bytes, p->strides[0][j->last], j->in + from * (int64_t)j->from_bytes,
                  p->strides[1][j->last], n - i < most ? n - i : most);
      }
  }
}

static void copy_block(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  (void)thread;
  copy_line(j, j->out + begin * (int64_t)j->to_bytes, 1, j->in + begin * (int64_t)j->from_bytes, 1, end - begin);
}

void iso__copy_run(const iso__call *call) {
  const iso_map_problem *p = (const iso_map_problem *)call->problem;
  const iso_map_args *args = call->args;
  job j = {.p = p,
           .out = args->out,
           .in = args->in[0],
           .to = (iso_dtype)p->head.dtype,
           .from = (iso_dtype)p->from_dtype,
           .last = p->n_dims - 1,
           .cross = -1,
           .n_lines = 1};
  int64_t units = 1;
  j.to_bytes = iso_dtype_size(j.to), j.from_bytes = iso_dtype_size(j.from);
  for (int d = 0; d < p->n_dims; d++) {
    if (p->shape[d] == 0) return;
    if (d < j.last && llabs(p->strides[1][d]) == 1 && llabs(p->strides[1][j.last]) != 1) j.cross = d;
  }
  const int64_t n = p->shape[j.last];
  if (p->n_dims == 1 && p->strides[0][0] == 1 && p->strides[1][0] == 1) {
    iso__parallel_range(call->ctx, n, GRAIN_BYTES / (int64_t)j.to_bytes, 64, copy_block, &j);
    return;
  }
  for (int d = 0; d < j.last && n < NARROW; d++) /* the longest dimension, where none is contiguous in the input */
    if (j.cross < 0 || (p->shape[d] > p->shape[j.cross] && llabs(p->strides[1][j.cross]) != 1)) j.cross = d;
  if (j.cross >= 0) j.n_lines = n < NARROW ? NARROW_LINES : TILE_LINES;
  for (int d = 0; d < j.last; d++) units *= d == j.cross ? (p->shape[d] + j.n_lines - 1) / j.n_lines : p->shape[d];
  const int64_t grain = GRAIN_BYTES / (int64_t)j.to_bytes / (n * j.n_lines);
  iso__parallel_range(call->ctx, units, grain > 0 ? grain : 1, 1, copy_units, &j);
}
