/* grid.c: shapes and strides of pointwise problems: collapsing, text, checks, operands. */
#include "kernels/map/grid.h"
#include <stdio.h>
#include <stdlib.h>

/* Whether dimension a belongs outside b: the larger step first, by the output and then by the inputs. */
static bool goes_outside(int n_operands, const int64_t *const *strides, int a, int b) {
  for (int o = 0; o < n_operands; o++) {
    const int64_t x = llabs(strides[o][a]), y = llabs(strides[o][b]);
    if (x != y) return x > y;
  }
  return false;
}

void iso__grid_collapse(iso__grid *g, int n_dims, const int64_t *shape, const int64_t *const *strides) {
  const int n_operands = g->n_operands;
  int order[ISO__MAP_MAX_DIMS], n = 0;
  bool empty = false;
  /* Elements are independent of each other, so dimensions may be visited in any order: descending steps reads memory
   * as it lies, and makes more of them mergeable. Extents of 1 say nothing. */
  for (int d = 0; d < n_dims; d++) {
    empty |= shape[d] == 0;
    if (shape[d] == 1) continue;
    int at = n++;
    for (; at > 0 && goes_outside(n_operands, strides, d, order[at - 1]); at--) order[at] = order[at - 1];
    order[at] = d;
  }
  g->n_dims = 1;
  g->shape[0] = empty ? 0 : 1;
  for (int o = 0; o < n_operands; o++) g->strides[o][0] = 1;
  if (empty || n == 0) return;
  int last = -1;
  for (int i = 0; i < n; i++) {
    const int d = order[i];
    bool merges = last >= 0;
    for (int o = 0; merges && o < n_operands; o++) merges = g->strides[o][last] == strides[o][d] * shape[d];
    if (!merges) g->shape[++last] = 1;
    g->shape[last] *= shape[d];
    for (int o = 0; o < n_operands; o++) g->strides[o][last] = strides[o][d];
  }
  g->n_dims = last + 1;
}

/* ---- text: "64x3136", then the strides of every operand that is not contiguous: "b0x1" ---- */

static const char *const stride_keys[ISO__GRID_OPERANDS] = {"out", "a", "b", "c", "d"};

static void contiguous_strides(const iso__grid *g, int64_t *strides) {
  int64_t step = 1;
  for (int d = g->n_dims - 1; d >= 0; d--) strides[d] = step, step *= g->shape[d] > 0 ? g->shape[d] : 1;
}

static void list_format(iso__words *words, const char *key, const int64_t *list, int n) {
  char text[ISO__MAP_MAX_DIMS * 22];
  int length = 0;
  for (int i = 0; i < n; i++)
    length += snprintf(text + length, sizeof text - (size_t)length, i ? "x%lld" : "%lld", (long long)list[i]);
  iso__words_add(words, "%s%s", key, text);
}

void iso__grid_format(const iso__grid *g, iso__words *words) {
  int64_t contiguous[ISO__MAP_MAX_DIMS];
  list_format(words, "", g->shape, g->n_dims);
  contiguous_strides(g, contiguous);
  for (int o = 0; o < g->n_operands; o++)
    if (memcmp(g->strides[o], contiguous, (size_t)g->n_dims * sizeof *contiguous) != 0)
      list_format(words, stride_keys[o], g->strides[o], g->n_dims);
}

/* "64x3136" into list; how many, or 0 when it is no list. */
static int list_parse(const char *text, int64_t *list) {
  for (int n = 0; n < ISO__MAP_MAX_DIMS; n++) {
    char number[24];
    const size_t length = strcspn(text, "x");
    if (length >= sizeof number) return 0;
    memcpy(number, text, length);
    number[length] = 0;
    if (!iso__number_parse(number, &list[n])) return 0;
    if (!text[length]) return n + 1;
    text += length + 1;
  }
  return 0;
}

const char *iso__grid_parse(iso__grid *g, const char *word) {
  if (*word >= '0' && *word <= '9') {
    const int n = list_parse(word, g->shape);
    if (!n) return "the shape is not of the form 4x5x6";
    g->n_dims = n;
    for (int o = 0; o < g->n_operands; o++) contiguous_strides(g, g->strides[o]);
    return NULL;
  }
  for (int o = 0; o < g->n_operands; o++) {
    const size_t length = strlen(stride_keys[o]);
    if (strncmp(word, stride_keys[o], length) != 0) continue;
    if (!g->n_dims || list_parse(word + length, g->strides[o]) != g->n_dims)
      return "strides need one number a dimension, after the shape";
    return NULL;
  }
  return "neither a function, nor a shape, nor strides";
}

const char *iso__grid_check(const iso__grid *g) {
  int64_t n = 1;
  if (!g->n_dims) return "the shape is missing";
  for (int d = 0; d < g->n_dims; d++) {
    if (g->shape[d] < 0) return "an extent is negative";
    if (!iso__extents_fit(n, g->shape[d], 1)) return "the shape holds too many elements";
    n *= g->shape[d];
  }
  for (int o = 0; o < g->n_operands; o++) {
    int64_t hull = 1;
    for (int d = 0; d < g->n_dims; d++) {
      const int64_t stride = g->strides[o][d];
      if (stride < -((int64_t)1 << ISO__MAX_EXTENT_BITS) || !iso__extents_fit(llabs(stride), g->shape[d], 1))
        return "a stride is too large";
      if (o == 0 && stride == 0 && g->shape[d] > 1) return "the output's strides must not be 0";
      hull += g->shape[d] > 1 ? (g->shape[d] - 1) * llabs(stride) : 0;
      if (hull >> ISO__MAX_EXTENT_BITS) return "a stride is too large";
    }
  }
  return NULL;
}

/* Truths are filled with both of them. */
iso__operand iso__grid_operand(const iso__grid *g, int o, size_t offset, iso_dtype dtype) {
  int64_t n = 1, origin = 0;
  for (int d = 0; d < g->n_dims; d++) {
    const int64_t reach = (g->shape[d] - 1) * g->strides[o][d];
    if (g->shape[d] == 0) n = INT64_MIN / 2;
    n += llabs(reach);
    if (reach < 0 && g->shape[d] > 1) origin -= reach;
  }
  if (n < 0) n = origin = 0;
  return (iso__operand){.name = stride_keys[o],
                        .offset = offset,
                        .dtype = dtype,
                        .n = n,
                        .origin = origin,
                        .input = o > 0,
                        .output = o == 0,
                        .fill = dtype == ISO_BOOL ? ISO__FILL_INDEX : ISO__FILL_NORMAL,
                        .limit = dtype == ISO_BOOL ? 2 : 0};
}

double iso__grid_elements(const iso__grid *g) {
  double n = 1;
  for (int d = 0; d < g->n_dims; d++) n *= (double)g->shape[d];
  return n;
}
