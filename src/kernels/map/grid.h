/* grid.h: what pointwise problems share: a shape, and strides of the output and the inputs. */
#ifndef ISO_KERNELS_MAP_GRID_H
#define ISO_KERNELS_MAP_GRID_H
#include "kernels/fields.h"
#include "kernels/map/map.h"

enum { ISO__GRID_OPERANDS = 5 }; /* at most: the output, then inputs a, b, c, d */
/* A problem's own arrays, seen alike. */
typedef struct iso__grid {
  int n_operands, n_dims;
  int64_t *shape;
  int64_t (*strides)[ISO__MAP_MAX_DIMS]; /* of n_operands */
} iso__grid;

/* Merges dimensions that are adjacent in every operand; arrays are zeroed before. */
void iso__grid_collapse(iso__grid *g, int n_dims, const int64_t *shape, const int64_t *const *strides);
void iso__grid_format(const iso__grid *g, iso__words *words);
/* A word of shape or strides; NULL, or what is wrong with it. */
const char *iso__grid_parse(iso__grid *g, const char *word);
const char *iso__grid_check(const iso__grid *g);
iso__operand iso__grid_operand(const iso__grid *g, int o, size_t offset, iso_dtype dtype);
double iso__grid_elements(const iso__grid *g);
#endif
