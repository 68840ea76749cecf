/* integers.c: random integers, permutations, and categories by weight.
 *
 * An integer below n is the upper half of a 64-bit draw times n: unbiased to n·2^−64 (Lemire, "Fast random integer
 * generation in an interval", 2019, without its rejection, so that an element takes one draw). */
#include <math.h>
#include "base/fenv.h"
#include "base/pool.h"
#include "numeric/dtype.h"
#include "numeric/math_f64.h"
#include "ops/random/random.h"

enum { GRAIN_ELEMENTS = 4096, N_DRAWS = 256 /* at a time */ };

/* The upper 64 bits of a·b. */
static uint64_t multiply_high(uint64_t a, uint64_t b) {
  const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), low = a0 * b1 + (uint32_t)middle;
  return a1 * b1 + (middle >> 32) + (low >> 32);
}

typedef struct integers_job {
  iso_philox at;
  int64_t low;
  uint64_t n;
  char *out;
  iso_dtype dtype;
} integers_job;
static void integers_range(void *arg, int64_t begin, int64_t end, int thread) {
  const integers_job *j = arg;
  const size_t item = iso_dtype_size(j->dtype);
  uint64_t draws[N_DRAWS];
  (void)thread;
  for (int64_t i = begin; i < end; i += N_DRAWS) {
    const int64_t n = end - i < N_DRAWS ? end - i : N_DRAWS;
    iso_philox_draws(&j->at, (uint64_t)i, (uint64_t)(i + n), draws);
    for (int64_t k = 0; k < n; k++) {
      const int64_t value = (int64_t)((uint64_t)j->low + multiply_high(draws[k], j->n));
      iso__cast_element(&value, ISO_I64, j->out + (size_t)(i + k) * item, j->dtype);
    }
  }
}

/* Whether every integer of [low, high) is a number of the dtype. */
static bool fits(iso_dtype dtype, int64_t low, int64_t high) {
  switch (dtype) {
  case ISO_I64: return true;
  case ISO_I32: return low >= INT32_MIN && high <= (int64_t)INT32_MAX + 1;
  case ISO_U8: return low >= 0 && high <= 256;
  case ISO_BOOL: return low >= 0 && high <= 2;
  case ISO_F64: return low >= -(INT64_C(1) << 53) && high <= (INT64_C(1) << 53) + 1;
  case ISO_F32: return low >= -(1 << 24) && high <= (1 << 24) + 1;
  case ISO_F16: return low >= -(1 << 11) && high <= (1 << 11) + 1;
  case ISO_BF16: return low >= -(1 << 8) && high <= (1 << 8) + 1;
  }
  return false;
}

static iso_tensor *integers(iso_context *ctx, const char *op, iso_dtype dtype, int n_dims, const int64_t *shape,
                            int64_t low, int64_t high) {
  if (iso__failed(ctx)) return NULL;
  if (low >= high) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "no integer lies in [%lld, %lld)", (long long)low, (long long)high);
    return NULL;
  }
  iso_tensor *t = iso_tensor_new(ctx, dtype, n_dims, shape);
  if (!t) return NULL;
  if (!fits(dtype, low, high))
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%s does not hold every integer of [%lld, %lld)", iso_dtype_name(dtype),
              (long long)low, (long long)high);
  if (iso__failed(ctx) || !iso__random_check_count(ctx, op, iso__view_numel(&t->view), 2)) return iso_release(t), NULL;
  iso__parallel_range(ctx, iso__view_numel(&t->view), GRAIN_ELEMENTS, 64, integers_range,
                      &(integers_job){.at = iso__random_next_site(ctx),
                                      .low = low,
                                      .n = (uint64_t)high - (uint64_t)low,
                                      .out = iso__data(t),
                                      .dtype = dtype});
  return t;
}

iso_tensor *iso_randint(iso_context *ctx, iso_dtype dtype, int n_dims, const int64_t *shape, int64_t low,
                        int64_t high) {
  return integers(ctx, "randint", dtype, n_dims, shape, low, high);
}
iso_tensor *iso_randint_like(iso_context *ctx, const iso_tensor *x, int64_t low, int64_t high) {
  if (!iso__takes(ctx, "randint_like", 1, ISO__TENSORS(x))) return NULL;
  return integers(ctx, "randint_like", x->view.dtype, x->view.n_dims, x->view.shape, low, high);
}

iso_tensor *iso_randperm(iso_context *ctx, int64_t n) {
  if (iso__failed(ctx)) return NULL;
  if (n < 0) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "randperm", "n is %lld: at least 0 is needed", (long long)n);
    return NULL;
  }
  if (!iso__random_check_count(ctx, "randperm", n, 2)) return NULL;
  const size_t n_bytes = 16 * (size_t)n;
  const iso__device *device = iso__host_enter(ctx);
  iso_tensor *t = iso_tensor_new(ctx, ISO_I64, 1, &n);
  void *scratch = t ? iso__alloc(ctx, n_bytes) : NULL;
  if (scratch) {
    const iso_philox at = iso__random_next_site(ctx);
    iso_philox_permutation(&at, (uint64_t)n, iso__data(t), scratch);
    iso__free(ctx, scratch, n_bytes);
  } else t = iso__drop(NULL, t);
  return iso__host_finish(ctx, device, t);
}

/* ---- categories by weight ---- */

/* One row of weights in f64, checked; *n_positive: how many can be drawn. */
static bool read_row(iso_context *ctx, const iso_tensor *w, int64_t row, int64_t n, double *out, int64_t *n_positive) {
  const char *data = (const char *)iso__data(w);
  const size_t item = iso_dtype_size(w->view.dtype);
  double sum = 0;
  *n_positive = 0;
  for (int64_t i = 0; i < n; i++) {
    iso__cast_element(data + (size_t)(row * n + i) * item, w->view.dtype, &out[i], ISO_F64);
    if (!(out[i] >= 0 && isfinite(out[i]))) {
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "multinomial",
                "weight %lld of row %lld is %g: a finite number, at least 0, is needed", (long long)i, (long long)row,
                out[i]);
      return false;
    }
    *n_positive += out[i] > 0;
    sum += out[i];
  }
  if (isfinite(sum)) return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "multinomial", "the weights of row %lld add up to infinity", (long long)row);
  return false;
}

/* By inversion: the first category whose ascending sum exceeds u times the whole. */
static void draw_again(const iso_philox *at, int64_t row, double *sums, int64_t n, int64_t k, int64_t *out) {
  int64_t last = 0;
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    if (sums[i] > 0) last = i;
    sum += sums[i];
    sums[i] = sum;
  }
  double u[N_DRAWS];
  for (int64_t j = 0; j < k; j++) {
    if (j % N_DRAWS == 0)
      iso_philox_uniform_f64(at, (uint64_t)(row * k + j), (uint64_t)(row * k + (k - j < N_DRAWS ? k : j + N_DRAWS)), 0,
                             1, u);
    const double target = u[j % N_DRAWS] * sum;
    int64_t low = 0, high = last; /* the answer lies in [low, high]; rounding must not step beyond the last */
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (sums[middle] > target) high = middle;
      else low = middle + 1;
    }
    out[j] = low;
  }
}

/* Category `a` rings before `b`: its time is less, or equal and its number is less. */
static bool before(const double *times, int64_t a, int64_t b) {
  return times[a] < times[b] || (times[a] == times[b] && a < b);
}
static void sift_down(const double *times, int64_t *heap, int64_t i, int64_t n) {
  for (;;) {
    int64_t first = 2 * i + 1;
    if (first >= n) return;
    if (first + 1 < n && before(times, heap[first + 1], heap[first])) first++;
    if (!before(times, heap[first], heap[i])) return;
    const int64_t swap = heap[i];
    heap[i] = heap[first], heap[first] = swap, i = first;
  }
}

/* Without replacement: clocks that ring after −log(w)/weight; the first k to ring, in their order, have the
 * distribution of drawing one after the other from what is left (Efraimidis and Spirakis, "Weighted random sampling
 * with a reservoir", 2006). */
static void draw_once(const iso_philox *at, int64_t row, double *times, int64_t n, int64_t k, int64_t *heap,
                      int64_t *out) {
  uint64_t draws[N_DRAWS];
  for (int64_t i = 0; i < n; i++) {
    if (i % N_DRAWS == 0)
      iso_philox_draws(at, (uint64_t)(row * n + i), (uint64_t)(row * n + (n - i < N_DRAWS ? n : i + N_DRAWS)), draws);
    const double time = -iso__log_f64(((double)(draws[i % N_DRAWS] >> 12) + 0.5) * 0x1p-52) / times[i];
    times[i] = times[i] > 0 ? (isfinite(time) ? time : 0x1.fffffffffffffp+1023) : INFINITY;
    heap[i] = i;
  }
  for (int64_t i = n / 2; i-- > 0;) sift_down(times, heap, i, n);
  for (int64_t j = 0; j < k; j++) {
    out[j] = heap[0];
    heap[0] = heap[n - 1 - j];
    sift_down(times, heap, 0, n - 1 - j);
  }
}

static bool draw_rows(iso_context *ctx, const iso_tensor *w, int64_t rows, int64_t n, int64_t k, bool replacement,
                      int64_t *out) {
  const size_t n_bytes = (size_t)n * (sizeof(double) + sizeof(int64_t));
  double *row_of = iso__alloc(ctx, n_bytes);
  if (!row_of) return false;
  const iso_philox at = iso__random_next_site(ctx);
  int64_t n_positive;
  bool ok = true;
  const iso__fenv saved = iso__fenv_enter();
  for (int64_t row = 0; ok && row < rows; row++) {
    ok = read_row(ctx, w, row, n, row_of, &n_positive);
    if (ok && n_positive < (replacement ? 1 : k)) {
      ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "multinomial",
                "row %lld has %lld weights above 0: %lld categories cannot be drawn", (long long)row,
                (long long)n_positive, (long long)k);
      ok = false;
    }
    if (ok && replacement) draw_again(&at, row, row_of, n, k, out + row * k);
    if (ok && !replacement) draw_once(&at, row, row_of, n, k, (int64_t *)(row_of + n), out + row * k);
  }
  iso__fenv_leave(saved);
  iso__free(ctx, row_of, n_bytes);
  return ok;
}

iso_tensor *iso_multinomial(iso_context *ctx, const iso_tensor *weights, int64_t k, bool replacement) {
  static const char op[] = "multinomial";
  if (!iso__takes(ctx, op, 1, ISO__TENSORS(weights)) ||
      !iso__takes_dtypes(ctx, op, ISO__REAL_DTYPES, 1, ISO__TENSORS(weights)))
    return NULL;
  const iso__view *v = &weights->view;
  char text[128];
  const int64_t n = v->n_dims > 0 ? v->shape[v->n_dims - 1] : 0, rows = v->n_dims == 2 ? v->shape[0] : 1;
  if ((v->n_dims != 1 && v->n_dims != 2) || n == 0) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, op, "weights have shape %s: (n) or (m,n), n above 0, is needed",
              iso__shape_text(v->n_dims, v->shape, text, sizeof text));
    return NULL;
  }
  if (k <= 0 || (!replacement && k > n)) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "%lld categories to draw of %lld%s", (long long)k, (long long)n,
              replacement ? "" : " without replacement");
    return NULL;
  }
  iso__enter(ctx);
  iso_tensor *copy = iso__contiguous_copy(ctx, weights);
  iso_tensor *y = iso__failed(ctx)
                      ? NULL
                      : iso_tensor_new(ctx, ISO_I64, v->n_dims, (const int64_t[]){v->n_dims == 2 ? rows : k, k});
  if (y && iso__random_check_count(ctx, op, rows * (k > n ? k : n), 2) &&
      draw_rows(ctx, copy ? copy : weights, rows, n, k, replacement, iso__data(y)))
    return iso__leave(ctx, y);
  return iso__leave(ctx, NULL);
}
