/* Element types: names, half-precision roundings against a search over all halves, every cast against its rule, bulk
 * casts of every instruction set against single ones. */
#include "numeric_test.h"
#include "numeric/bulk.h"
#include "numeric/dtype.h"
#include <math.h>

static void names_and_sizes(void **state) {
  (void)state;
  static const char *names[] = {"f32", "f64", "f16", "bf16", "i64", "i32", "u8", "bool"};
  static const size_t sizes[] = {4, 8, 2, 2, 8, 4, 1, 1};
  for (int d = 0; d < ISO_DTYPE_COUNT; d++) {
    iso_dtype parsed = ISO_BOOL;
    assert_string_equal(iso_dtype_name((iso_dtype)d), names[d]);
    assert_int_equal(iso_dtype_size((iso_dtype)d), sizes[d]);
    assert_true(iso_dtype_parse(names[d], &parsed));
    assert_int_equal(parsed, d);
    assert_int_equal(iso_dtype_is_float((iso_dtype)d), d < 4);
  }
  iso_dtype untouched = ISO_I32;
  assert_false(iso_dtype_parse("f8", &untouched));
  assert_int_equal(untouched, ISO_I32);
  assert_int_equal(iso_dtype_size((iso_dtype)99), 0);
  assert_string_equal(iso_dtype_name((iso_dtype)99), "?");
}

static void same_bits(void **state) {
  (void)state;
  static uint32_t a[3000], b[3000];
  for (uint32_t i = 0; i < 3000; i++) a[i] = b[i] = i * 2654435761u;
  assert_true(iso_same_bits(a, b, 3000, ISO_I32));
  a[2999] = 0x7fc00000, b[2999] = 0xff800001; /* two NaNs */
  assert_true(iso_same_bits(a, b, 3000, ISO_F32));
  assert_false(iso_same_bits(a, b, 3000, ISO_I32));
  a[2999] = 0, b[2999] = 0x80000000; /* +0 and −0 differ */
  assert_false(iso_same_bits(a, b, 3000, ISO_F32));
  a[2999] = 0x7f800000, b[2999] = 0x7fc00000; /* infinity is no NaN */
  assert_false(iso_same_bits(a, b, 3000, ISO_F32));
  assert_true(iso_same_bits(a, b, 2999, ISO_F32));
  const uint16_t h[] = {0x7c01, 0x7e00, 0x7f81, 0xffc0};
  assert_true(iso_same_bits(h, h + 1, 1, ISO_F16));
  assert_true(iso_same_bits(h + 2, h + 3, 1, ISO_BF16));
  const uint64_t d[] = {0x7ff0000000000001, 0xfff8000000000000, 0x7ff0000000000000};
  assert_true(iso_same_bits(d, d + 1, 1, ISO_F64));
  assert_false(iso_same_bits(d, d + 2, 1, ISO_F64));
}

/* The value of a half by its fields, not by the code under test. */
static double half_value(unsigned h, int p, int bias) {
  const int exponent = (int)(h & 0x7fff) >> (p - 1), fraction = (int)(h & ((1u << (p - 1)) - 1));
  const double m = exponent ? ldexp(1.0 + ldexp(fraction, 1 - p), exponent - bias) : ldexp(fraction, 2 - p - bias);
  return h & 0x8000 ? -m : m;
}
struct format {
  int p, bias;
  unsigned infinity, nan;
};
static const struct format f16 = {11, 15, 0x7c00, 0x7e00}, bf16 = {8, 127, 0x7f80, 0x7fc0};

/* Nearest even by bisection over the format's own values; overflow is where the next value would be. */
static unsigned nearest(double x, const struct format *f) {
  if (isnan(x)) return f->nan;
  const unsigned sign = signbit(x) ? 0x8000 : 0;
  x = fabs(x);
  unsigned low = 0, high = f->infinity; /* value(infinity) reads as the power of two beyond the largest */
  if (x >= half_value(high, f->p, f->bias)) return sign | high;
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    if (half_value(middle, f->p, f->bias) <= x) low = middle;
    else high = middle;
  }
  const double below = x - half_value(low, f->p, f->bias), above = half_value(high, f->p, f->bias) - x;
  return sign | (below < above || (below == above && !(low & 1)) ? low : high);
}

static void halves(void **state) {
  (void)state;
  for (unsigned h = 0; h < 0x10000; h++) {
    const float x = iso_f32_from_f16((uint16_t)h), y = iso_f32_from_bf16((uint16_t)h);
    if ((h & 0x7fff) < f16.infinity) assert_true((double)x == half_value(h, 11, 15) && !signbit(x) == !(h & 0x8000));
    if ((h & 0x7fff) > f16.infinity) assert_true(isnan(x));
    if ((h & 0x7fff) == f16.infinity) assert_true(isinf(x));
    assert_int_equal(float_bits(y), h << 16);
    assert_int_equal(iso_f16_from_f32(x), isnan(x) ? 0x7e00 : h);
    assert_int_equal(iso_bf16_from_f32(y), isnan(y) ? 0x7fc0 : h);
    /* The middle to the next value, and a hair to either side, in double. */
    for (int format = 0; format < 2; format++) {
      const struct format *f = format ? &bf16 : &f16;
      if ((h & 0x7fff) >= f->infinity) continue;
      const double middle = (half_value(h, f->p, f->bias) + half_value(h + 1, f->p, f->bias)) / 2;
      for (int side = -1; side <= 1; side++) {
        const double d = side ? nextafter(middle, (double)side * 1e300) : middle;
        const unsigned want = nearest(d, f);
        assert_int_equal(format ? iso_bf16_from_f64(d) : iso_f16_from_f64(d), want);
        if ((double)(float)d == d)
          assert_int_equal(format ? iso_bf16_from_f32((float)d) : iso_f16_from_f32((float)d), want);
      }
    }
  }
  uint64_t seed = 1;
  for (int i = 0; i < 2000000; i++) {
    const double d = ldexp((double)(int64_t)test_random(&seed), (int)(test_random(&seed) % 300) - 220);
    assert_int_equal(iso_f16_from_f64(d), nearest(d, &f16));
    assert_int_equal(iso_bf16_from_f64(d), nearest(d, &bf16));
    assert_int_equal(iso_f16_from_f32((float)d), nearest((double)(float)d, &f16));
    assert_int_equal(iso_bf16_from_f32((float)d), nearest((double)(float)d, &bf16));
  }
}

static void cast(const void *from, iso_dtype a, void *to, iso_dtype b) { iso__cast_element(from, a, to, b); }

static void float_to_integer_saturates(void **state) {
  (void)state;
  static const struct {
    double x;
    int64_t i64;
    int32_t i32;
    unsigned char u8, boolean;
  } cases[] = {
      {0.0, 0, 0, 0, 0},
      {-0.0, 0, 0, 0, 0},
      {0.99, 0, 0, 0, 1},
      {-0.99, 0, 0, 0, 1},
      {1.5, 1, 1, 1, 1},
      {-1.5, -1, -1, 0, 1},
      {255.9, 255, 255, 255, 1},
      {256.0, 256, 256, 255, 1},
      {2147483647.5, 2147483647, 2147483647, 255, 1},
      {-2147483648.5, -2147483648, INT32_MIN, 0, 1},
      {4294967296.0, 4294967296, INT32_MAX, 255, 1},
      {9.3e18, INT64_MAX, INT32_MAX, 255, 1},
      {-9.3e18, INT64_MIN, INT32_MIN, 0, 1},
      {INFINITY, INT64_MAX, INT32_MAX, 255, 1},
      {-INFINITY, INT64_MIN, INT32_MIN, 0, 1},
      {NAN, 0, 0, 0, 1},
      {5e-324, 0, 0, 0, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int from = 0; from < 2; from++) {
      const float narrow = (float)cases[i].x;
      if (from && (double)narrow != cases[i].x && !isnan(narrow)) continue;
      const void *x = from ? (const void *)&narrow : &cases[i].x;
      const iso_dtype d = from ? ISO_F32 : ISO_F64;
      int64_t i64;
      int32_t i32;
      unsigned char u8, boolean;
      cast(x, d, &i64, ISO_I64), cast(x, d, &i32, ISO_I32), cast(x, d, &u8, ISO_U8), cast(x, d, &boolean, ISO_BOOL);
      assert_true(i64 == cases[i].i64);
      assert_int_equal(i32, cases[i].i32);
      assert_int_equal(u8, cases[i].u8);
      assert_int_equal(boolean, cases[i].boolean);
    }
}

static void integers_wrap_and_round_once(void **state) {
  (void)state;
  const int64_t big = INT64_C(0x1234567890abcdef);
  int32_t i32;
  unsigned char u8, boolean;
  cast(&big, ISO_I64, &i32, ISO_I32), cast(&big, ISO_I64, &u8, ISO_U8), cast(&big, ISO_I64, &boolean, ISO_BOOL);
  assert_int_equal((uint32_t)i32, 0x90abcdef);
  assert_int_equal(u8, 0xef);
  assert_int_equal(boolean, 1);
  const int32_t minus = -1;
  int64_t wide;
  cast(&minus, ISO_I32, &u8, ISO_U8), cast(&minus, ISO_I32, &wide, ISO_I64);
  assert_int_equal(u8, 255);
  assert_true(wide == -1);
  const unsigned char stray = 7;
  cast(&stray, ISO_BOOL, &i32, ISO_I32);
  assert_int_equal(i32, 1);
  /* By way of a double, 2^62 + 2^54 + 1 would be the tie 2^62 + 2^54 and round down to even; it is above the tie. */
  const int64_t above = (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1;
  uint16_t h;
  float f;
  for (int sign = 0; sign < 2; sign++) {
    const int64_t x = sign ? -above : above;
    cast(&x, ISO_I64, &h, ISO_BF16);
    assert_int_equal(h, 0x5e81 | sign << 15);
    cast(&x, ISO_I64, &h, ISO_F16);
    assert_int_equal(h, 0x7c00 | sign << 15);
  }
  const int64_t tie = (INT64_C(1) << 53) + (INT64_C(1) << 29) + 1;
  cast(&tie, ISO_I64, &f, ISO_F32);
  assert_int_equal(float_bits(f), float_bits(0x1p53f) + 1);
  /* And f64 to bf16 not by way of f32: 1 + 2^-8 + 2^-40 lies above the tie. */
  const double d = 1 + 0x1p-8 + 0x1p-40;
  cast(&d, ISO_F64, &h, ISO_BF16);
  assert_int_equal(h, 0x3f81);
}

static void nans_become_canonical(void **state) {
  (void)state;
  const uint32_t f = 0xffa00001;
  const uint64_t d = 0xfff4000000000001;
  const uint16_t h = 0xfd01, b = 0xff81;
  float to_f32;
  uint64_t to_f64;
  uint16_t to_half;
  cast(&d, ISO_F64, &to_f32, ISO_F32), assert_int_equal(float_bits(to_f32), 0x7fc00000);
  cast(&h, ISO_F16, &to_f32, ISO_F32), assert_int_equal(float_bits(to_f32), 0x7fc00000);
  cast(&b, ISO_BF16, &to_f32, ISO_F32), assert_int_equal(float_bits(to_f32), 0x7fc00000);
  cast(&f, ISO_F32, &to_f64, ISO_F64), assert_true(to_f64 == 0x7ff8000000000000);
  cast(&f, ISO_F32, &to_half, ISO_F16), assert_int_equal(to_half, 0x7e00);
  cast(&f, ISO_F32, &to_half, ISO_BF16), assert_int_equal(to_half, 0x7fc0);
  cast(&b, ISO_BF16, &to_half, ISO_F16), assert_int_equal(to_half, 0x7e00);
}

/* Every pair in bulk equals single casts, at every width, in buffers of exactly n elements. */
static void bulk_equals_single(void **state) {
  (void)state;
  enum { MOST = 77 };
  const struct iso__bulk *tables[3];
  const int n_tables = iso__bulk_available(tables);
  uint64_t seed = 9;
  for (int run = 0; run < 40; run++)
    for (int a = 0; a < ISO_DTYPE_COUNT; a++)
      for (int b = 0; b < ISO_DTYPE_COUNT; b++) {
        const iso_dtype from = (iso_dtype)a, to = (iso_dtype)b;
        const size_t n = test_random(&seed) % MOST, size_a = iso_dtype_size(from), size_b = iso_dtype_size(to);
        unsigned char *x = malloc(n * size_a + 1), *got = malloc(n * size_b + 1), *want = malloc(n * size_b + 1);
        for (size_t i = 0; i < n; i++) {
          /* Half of the elements are arbitrary bits (NaNs, infinities, subnormals), half ordinary numbers. */
          const uint64_t bits = test_random(&seed);
          const double ordinary = (double)test_float(&seed, 12) * 100;
          if (bits & 1) memcpy(x + i * size_a, &bits, size_a);
          else iso__cast_element(&ordinary, ISO_F64, x + i * size_a, from);
          iso__cast_element(x + i * size_a, from, want + i * size_b, to);
        }
        iso__cast(x, from, got, to, n);
        assert_memory_equal(got, want, n * size_b);
        for (int t = 0; t < n_tables; t++) {
          void (*loop)(const void *, void *, size_t) = from == ISO_F32 ? tables[t]->cast_from_f32[to]
                                                       : to == ISO_F32 ? tables[t]->cast_to_f32[from]
                                                                       : NULL;
          if (!loop) continue;
          memset(got, 0x5a, n * size_b);
          loop(x, got, n);
          assert_memory_equal(got, want, n * size_b);
        }
        free(want), free(got), free(x);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_and_sizes),
      cmocka_unit_test(same_bits),
      cmocka_unit_test(halves),
      cmocka_unit_test(float_to_integer_saturates),
      cmocka_unit_test(integers_wrap_and_round_once),
      cmocka_unit_test(nans_become_canonical),
      cmocka_unit_test(bulk_equals_single),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
