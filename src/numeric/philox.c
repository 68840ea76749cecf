/* Random numbers by place: the public face of Philox4x32-10 (Salmon et al. 2011); philox.h holds the rounds. */
#include "philox.h"
#include "base/fenv.h"
#include "bulk.h"
#include "math_f64.h"

void iso_philox_block(const uint32_t key[2], const uint32_t counter[4], uint32_t words[4]) {
  philox_block(key, counter, words);
}
uint32_t iso_philox_word(const iso_philox *at, uint64_t element) { return philox_word(at, element); }

enum { N_DRAWS = 256 }; /* at a time; even */

static bool in_range(uint64_t begin, uint64_t end, uint64_t limit) { return begin <= end && end <= limit; }

bool iso_philox_words(const iso_philox *at, uint64_t begin, uint64_t end, uint32_t *out) {
  if (!in_range(begin, end, ISO_PHILOX_ELEMENTS)) return false;
  iso__bulk()->words(at, begin, end, out);
  return true;
}

bool iso_philox_uniform_f32(const iso_philox *at, uint64_t begin, uint64_t end, float a, float b, float *out) {
  if (!in_range(begin, end, ISO_PHILOX_ELEMENTS)) return false;
  const iso__fenv saved = iso__fenv_enter();
  iso__bulk()->uniform(at, begin, end, a, b, out);
  iso__fenv_leave(saved);
  return true;
}

/* Draw i: words 2i and 2i + 1, low word first. */
static void fill_draws(const iso_philox *at, uint64_t begin, uint64_t end, uint64_t *out) {
  uint32_t w[2 * N_DRAWS];
  for (uint64_t i = begin; i < end; i += N_DRAWS) {
    const uint64_t n = end - i < N_DRAWS ? end - i : N_DRAWS;
    iso__bulk()->words(at, 2 * i, 2 * (i + n), w);
    for (uint64_t k = 0; k < n; k++) out[i - begin + k] = w[2 * k] | (uint64_t)w[2 * k + 1] << 32;
  }
}

bool iso_philox_draws(const iso_philox *at, uint64_t begin, uint64_t end, uint64_t *out) {
  if (!in_range(begin, end, ISO_PHILOX_ELEMENTS / 2)) return false;
  fill_draws(at, begin, end, out);
  return true;
}

bool iso_philox_uniform_f64(const iso_philox *at, uint64_t begin, uint64_t end, double a, double b, double *out) {
  if (!in_range(begin, end, ISO_PHILOX_ELEMENTS / 2)) return false;
  uint64_t draw[N_DRAWS];
  const iso__fenv saved = iso__fenv_enter();
  const double low = iso__fenv_pin(a), width = b - low;
  for (uint64_t i = begin; i < end; i += N_DRAWS) {
    const uint64_t n = end - i < N_DRAWS ? end - i : N_DRAWS;
    fill_draws(at, i, i + n, draw);
    for (uint64_t k = 0; k < n; k++) out[i - begin + k] = fma(width, (double)(draw[k] >> 11) * 0x1p-53, low);
  }
  iso__fenv_leave(saved);
  return true;
}

bool iso_philox_normal_f32(const iso_philox *at, uint64_t begin, uint64_t end, float mean, float std, float *out) {
  if (!in_range(begin, end, ISO_PHILOX_ELEMENTS)) return false;
  const iso__fenv saved = iso__fenv_enter();
  iso__bulk()->normal(at, begin, end, mean, std, out);
  iso__fenv_leave(saved);
  return true;
}

bool iso_philox_normal_f64(const iso_philox *at, uint64_t begin, uint64_t end, double mean, double std, double *out) {
  if (!in_range(begin, end, ISO_PHILOX_ELEMENTS / 2)) return false;
  const iso__fenv saved = iso__fenv_enter();
  for (uint64_t i = begin; i < end;) {
    uint64_t draw[N_DRAWS]; /* from the pair that i is of */
    const uint64_t first = i & ~(uint64_t)1, stop = end - first < N_DRAWS ? end : first + N_DRAWS;
    fill_draws(at, first, stop + (stop & 1), draw);
    for (; i < stop; i++) {
      const uint64_t *pair = draw + ((i - first) & ~(uint64_t)1);
      const double v = (double)((pair[0] >> 11) + 1) * 0x1p-53, turn = (double)(pair[1] >> 11) * 0x1p-52; /* 2u */
      const double r = sqrt(-2.0 * iso__log_f64(v));
      out[i - begin] = fma(std, r * (i & 1 ? iso__sinpi_f64(turn) : iso__cospi_f64(turn)), mean);
    }
  }
  iso__fenv_leave(saved);
  return true;
}

/* Merges the sorted index runs from[low, middle) and from[middle, high); of equal draws the left one comes first. */
static void merge(const uint64_t *draw, const int64_t *from, int64_t *to, uint64_t low, uint64_t middle,
                  uint64_t high) {
  uint64_t l = low, r = middle;
  for (uint64_t o = low; o < high; o++)
    to[o] = l < middle && (r >= high || draw[from[l]] <= draw[from[r]]) ? from[l++] : from[r++];
}

bool iso_philox_permutation(const iso_philox *at, uint64_t n, int64_t *out, void *scratch) {
  uint64_t *draw = scratch;
  int64_t *from = out, *to = (int64_t *)(draw + n);
  if (!iso_philox_draws(at, 0, n, draw)) return false;
  for (uint64_t i = 0; i < n; i++) out[i] = (int64_t)i;
  for (uint64_t run = 1; run < n; run *= 2) {
    for (uint64_t low = 0; low < n; low += 2 * run) {
      const uint64_t middle = n - low < run ? n : low + run, high = n - low < 2 * run ? n : low + 2 * run;
      merge(draw, from, to, low, middle, high);
    }
    int64_t *swap = from;
    from = to, to = swap;
  }
  if (from != out && n) memcpy(out, from, n * sizeof *out);
  return true;
}
