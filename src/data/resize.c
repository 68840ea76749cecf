/* resize.c: antialiased bilinear resizing, in two passes, columns first: the triangle filter as wide as a pixel of the
 * smaller image, its weights fixed-point numbers of 22 bits, sums in integers and rounded to 8 bits after each pass, as
 * Pillow's "bilinear" defines it. A window of the result costs no more than the window. */
#include "data/resize.h"
#include <math.h>
#include <string.h>

enum { WEIGHT_BITS = 22 };

/* One axis: output i of the window is Σ weights[i·n_most + k]·source[begin[i] + k], k < n[i]. */
typedef struct axis {
  int n_out, n_most;
  int *begin, *n, *weights;
} axis;

/* How many weights an output can have. */
static int most_weights(int from, int to) {
  const double scale = (double)from / to;
  return (int)ceil(scale > 1 ? scale : 1) * 2 + 1;
}

static double triangle(double x) { return fabs(x) < 1 ? 1 - fabs(x) : 0; }

static void fill_axis(axis *a, int from, int to, int first) {
  const double scale = (double)from / to, width = scale > 1 ? scale : 1, narrow = 1 / width;
  for (int i = 0; i < a->n_out; i++) {
    const double centre = (first + i + 0.5) * scale;
    int low = (int)(centre - width + 0.5), high = (int)(centre + width + 0.5);
    if (low < 0) low = 0;
    if (high > from) high = from;
    double sum = 0;
    for (int k = low; k < high; k++) sum += triangle((k - centre + 0.5) * narrow);
    for (int k = low; k < high; k++)
      a->weights[i * a->n_most + k - low] =
          (int)(0.5 + triangle((k - centre + 0.5) * narrow) / sum * (1 << WEIGHT_BITS));
    a->begin[i] = low, a->n[i] = high - low;
  }
}

/* Weights sum to 2^22 and a little: sums stay below 2^31. */
static inline uint8_t to_byte(int32_t sum) {
  const int32_t v = (sum + (1 << (WEIGHT_BITS - 1))) >> WEIGHT_BITS;
  return v > 255 ? 255 : (uint8_t)v;
}

/* One pixel of C channels; C a constant to the compiler. */
static inline __attribute__((always_inline)) void column_pixel(const uint8_t *p, const int *weights, int n, int C,
                                                               uint8_t *to) {
  int32_t sums[4] = {0};
  for (int k = 0; k < n; k++, p += C)
    for (int c = 0; c < C; c++) sums[c] += weights[k] * p[c];
  for (int c = 0; c < C; c++) to[c] = to_byte(sums[c]);
}

static void pass_columns(const iso__resizing *r, const axis *a, int first_row, int n_rows, uint8_t *to) {
  const int n_channels = r->channels;
  for (int y = 0; y < n_rows; y++) {
    const uint8_t *row = r->pixels + ((ptrdiff_t)(r->from.y + first_row + y) * r->width + r->from.x) * n_channels;
    for (int i = 0; i < a->n_out; i++, to += n_channels) {
      const uint8_t *p = row + (ptrdiff_t)a->begin[i] * n_channels;
      const int *weights = a->weights + (ptrdiff_t)i * a->n_most;
      if (n_channels == 3) column_pixel(p, weights, a->n[i], 3, to);
      else
        for (int c = 0; c < n_channels; c++) {
          int32_t sum = 0;
          for (int k = 0; k < a->n[i]; k++) sum += weights[k] * p[k * n_channels + c];
          to[c] = to_byte(sum);
        }
    }
  }
}

enum { BLOCK = 256 };
static void pass_rows(const axis *a, const uint8_t *from, int first_row, int row_bytes, uint8_t *to) {
  int32_t sums[BLOCK];
  for (int i = 0; i < a->n_out; i++, to += row_bytes) {
    const uint8_t *rows = from + (ptrdiff_t)(a->begin[i] - first_row) * row_bytes;
    for (int x = 0; x < row_bytes; x += BLOCK) {
      const int n = row_bytes - x < BLOCK ? row_bytes - x : BLOCK;
      memset(sums, 0, sizeof sums);
      for (int k = 0; k < a->n[i]; k++) {
        const uint8_t *row = rows + (ptrdiff_t)k * row_bytes + x;
        const int weight = a->weights[(ptrdiff_t)i * a->n_most + k];
        for (int e = 0; e < n; e++) sums[e] += weight * row[e];
      }
      for (int e = 0; e < n; e++) to[x + e] = to_byte(sums[e]);
    }
  }
}

static size_t axis_items(const axis *a) { return (size_t)a->n_out * (size_t)(a->n_most + 2); }
static int *place_axis(axis *a, int *at) {
  a->begin = at, a->n = at + a->n_out, a->weights = at + 2 * (size_t)a->n_out;
  return at + axis_items(a);
}

bool iso__resize(iso__heap *heap, const iso__resizing *r, uint8_t *out) {
  axis x = {.n_out = r->window.width, .n_most = most_weights(r->from.width, r->to_width)};
  axis y = {.n_out = r->window.height, .n_most = most_weights(r->from.height, r->to_height)};
  const size_t n_bytes = (axis_items(&x) + axis_items(&y)) * sizeof(int);
  int *items = iso__heap_alloc(heap, n_bytes, NULL);
  if (!items) return false;
  place_axis(&y, place_axis(&x, items));
  fill_axis(&x, r->from.width, r->to_width, r->window.x);
  fill_axis(&y, r->from.height, r->to_height, r->window.y);
  const int first_row = y.begin[0], n_rows = y.begin[y.n_out - 1] + y.n[y.n_out - 1] - first_row;
  const int row_bytes = r->window.width * r->channels;
  const size_t n_between = (size_t)n_rows * (size_t)row_bytes;
  uint8_t *between = iso__heap_alloc(heap, n_between, NULL);
  if (between) {
    pass_columns(r, &x, first_row, n_rows, between);
    pass_rows(&y, between, first_row, row_bytes, out);
  }
  iso__heap_free(heap, between, n_between);
  iso__heap_free(heap, items, n_bytes);
  return between != NULL;
}
