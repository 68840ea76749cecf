/* Philox against Random123's published vectors, the fills against single words, every instruction set alike. */
#include "numeric_test.h"
#include "numeric/bulk.h"
#include <math.h>

static void known_answers(void **state) {
  (void)state;
  static const struct {
    uint32_t counter[4], key[2], words[4];
  } cases[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint32_t words[4];
    iso_philox_block(cases[i].key, cases[i].counter, words);
    assert_memory_equal(words, cases[i].words, sizeof words);
    /* The same block as a place: seed and counter put the key and counter words where they belong. */
    const iso_philox at = {.seed = cases[i].key[0] | (uint64_t)cases[i].key[1] << 32,
                           .site = cases[i].counter[1],
                           .leaf = cases[i].counter[2],
                           .step = cases[i].counter[3]};
    const uint64_t element = (uint64_t)cases[i].counter[0] * 4;
    for (uint64_t j = 0; j < 4; j++) assert_int_equal(iso_philox_word(&at, element + j), cases[i].words[j]);
    uint32_t range[3];
    assert_true(iso_philox_words(&at, element + 1, element + 4, range));
    assert_memory_equal(range, cases[i].words + 1, sizeof range);
  }
}

static void stream_enters_the_high_key(void **state) {
  (void)state;
  const iso_philox user = {.seed = 7, .stream = ISO_PHILOX_USER, .site = 1, .leaf = 2, .step = 3};
  const uint32_t key[2] = {7, 3}, counter[4] = {5, 1, 2, 3};
  uint32_t words[4];
  iso_philox_block(key, counter, words);
  assert_int_equal(iso_philox_word(&user, 22), words[2]);
}

static void fills_equal_single_words(void **state) {
  (void)state;
  const struct iso__bulk *tables[3];
  const int n_tables = iso__bulk_available(tables);
  const iso_philox at = {.seed = 0x123456789abcdef0u, .stream = 2, .site = 11, .leaf = 5, .step = 1u << 31};
  enum { MOST = 200, GUARD = 4 };
  uint64_t seed = 1;
  for (int run = 0; run < 300; run++) {
    const uint64_t base = run % 2 ? ISO_PHILOX_ELEMENTS - MOST - 9 : 0;
    const uint64_t begin = base + test_random(&seed) % 9, end = begin + test_random(&seed) % MOST;
    for (int t = 0; t < n_tables; t++) {
      uint32_t out[MOST + 2 * GUARD];
      memset(out, 0xa5, sizeof out);
      tables[t]->words(&at, begin, end, out + GUARD);
      for (uint64_t e = begin; e < end; e++) assert_int_equal(out[GUARD + (e - begin)], iso_philox_word(&at, e));
      for (uint64_t g = 0; g < GUARD; g++) {
        assert_int_equal(out[g], 0xa5a5a5a5);
        assert_int_equal(out[GUARD + (end - begin) + g], 0xa5a5a5a5);
      }
      float u[MOST];
      tables[t]->uniform(&at, begin, end, -0.75f, 2.5f, u);
      for (uint64_t e = begin; e < end; e++) {
        const float unit = (float)(iso_philox_word(&at, e) >> 8) * 0x1p-24f;
        assert_int_equal(float_bits(u[e - begin]), float_bits(fmaf(3.25f, unit, -0.75f)));
      }
    }
  }
}

static void ranges_are_checked(void **state) {
  (void)state;
  const iso_philox at = {.seed = 1};
  uint32_t word = 17;
  uint64_t draw = 17;
  double real;
  assert_false(iso_philox_words(&at, ISO_PHILOX_ELEMENTS, ISO_PHILOX_ELEMENTS + 1, &word));
  assert_false(iso_philox_words(&at, 2, 1, &word));
  assert_int_equal(word, 17);
  assert_true(iso_philox_words(&at, ISO_PHILOX_ELEMENTS - 1, ISO_PHILOX_ELEMENTS, &word));
  assert_false(iso_philox_draws(&at, ISO_PHILOX_ELEMENTS / 2, ISO_PHILOX_ELEMENTS / 2 + 1, &draw));
  assert_int_equal(draw, 17);
  assert_false(iso_philox_uniform_f64(&at, 0, ISO_PHILOX_ELEMENTS, 0, 1, &real));
  assert_true(iso_philox_words(&at, 5, 5, NULL));
}

static void draws_are_word_pairs(void **state) {
  (void)state;
  const iso_philox at = {.seed = 99, .site = 4};
  uint64_t draws[11];
  double unit[11];
  assert_true(iso_philox_draws(&at, 3, 14, draws));
  assert_true(iso_philox_uniform_f64(&at, 3, 14, 0, 1, unit));
  for (uint64_t i = 3; i < 14; i++) {
    const uint64_t want = iso_philox_word(&at, 2 * i) | (uint64_t)iso_philox_word(&at, 2 * i + 1) << 32;
    assert_true(draws[i - 3] == want);
    assert_true(unit[i - 3] == (double)(want >> 11) * 0x1p-53);
  }
}

static void permutation_sorts_draws(void **state) {
  (void)state;
  const iso_philox at = {.seed = 5, .stream = ISO_PHILOX_LOADER, .leaf = 8};
  static const uint64_t sizes[] = {0, 1, 2, 3, 7, 64, 1000, 60000};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const uint64_t n = sizes[s];
    int64_t *p = malloc((n + 1) * sizeof *p);
    uint64_t *draw = malloc((n + 1) * sizeof *draw);
    char *seen = calloc(n + 1, 1);
    void *scratch = malloc(16 * n + 16);
    assert_true(iso_philox_permutation(&at, n, p, scratch));
    assert_true(iso_philox_draws(&at, 0, n, draw));
    for (uint64_t i = 0; i < n; i++) {
      assert_true(p[i] >= 0 && (uint64_t)p[i] < n && !seen[p[i]]);
      seen[p[i]] = 1;
      if (i) assert_true(draw[p[i - 1]] < draw[p[i]] || (draw[p[i - 1]] == draw[p[i]] && p[i - 1] < p[i]));
    }
    free(scratch), free(seen), free(draw), free(p);
  }
}

static void normals_by_definition(void **state) {
  (void)state;
  const struct iso__bulk *tables[3];
  const int n_tables = iso__bulk_available(tables);
  const iso_philox at = {.seed = 77, .stream = ISO_PHILOX_INIT, .site = 3};
  enum { N = 1000 };
  float z[N];
  for (int t = 0; t < n_tables; t++) {
    const uint64_t begin = (uint64_t)t * 5 + 1;
    tables[t]->normal(&at, begin, begin + N, 0.5f, 2.0f, z);
    for (uint64_t e = begin; e < begin + N; e++) {
      const uint64_t first = e & ~(uint64_t)1;
      const float v = (float)((iso_philox_word(&at, first) >> 8) + 1) * 0x1p-24f;
      const float u = (float)(iso_philox_word(&at, first + 1) >> 8) * 0x1p-24f, r = sqrtf(-2.0f * iso_f32_log(v));
      const float want = fmaf(2.0f, r * (e & 1 ? iso_f32_sinpi(2 * u) : iso_f32_cospi(2 * u)), 0.5f);
      assert_int_equal(float_bits(z[e - begin]), float_bits(want));
    }
  }
}

/* Moments and tails of a million f32 and a hundred thousand f64 normals: five standard errors. */
static void normals_are_normal(void **state) {
  (void)state;
  enum { N = 1000000, M = 100000 };
  const iso_philox at = {.seed = 2026, .stream = ISO_PHILOX_USER};
  float *z = malloc(N * sizeof *z);
  double *w = malloc(M * sizeof *w);
  assert_true(iso_philox_normal_f32(&at, 0, N, 0, 1, z));
  assert_true(iso_philox_normal_f64(&at, 0, M, 0, 1, w));
  for (int wide = 0; wide < 2; wide++) {
    const int n = wide ? M : N;
    double sum[5] = {0}, within = 0;
    for (int i = 0; i < n; i++) {
      const double x = wide ? w[i] : (double)z[i];
      sum[1] += x, sum[2] += x * x, sum[3] += x * x * x, sum[4] += x * x * x * x;
      within += fabs(x) < 1.959963985;
    }
    const double se = 5 / sqrt(n);
    assert_true(fabs(sum[1] / n) < se);
    assert_true(fabs(sum[2] / n - 1) < se * sqrt(2));
    assert_true(fabs(sum[3] / n) < se * sqrt(15));
    assert_true(fabs(sum[4] / n - 3) < se * sqrt(96));
    assert_true(fabs(within / n - 0.95) < se * sqrt(0.0475));
  }
  free(w), free(z);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_answers),
      cmocka_unit_test(stream_enters_the_high_key),
      cmocka_unit_test(fills_equal_single_words),
      cmocka_unit_test(ranges_are_checked),
      cmocka_unit_test(draws_are_word_pairs),
      cmocka_unit_test(permutation_sorts_draws),
      cmocka_unit_test(normals_by_definition),
      cmocka_unit_test(normals_are_normal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
