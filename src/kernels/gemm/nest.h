/* nest.h: the loop nest of the tiled engines over one rectangle of C and one range of K, run by one thread.
 *
 * Engines differ in how they cut a product into rectangles and ranges and in where sums wait, not in this nest. */
#ifndef ISO_KERNELS_GEMM_NEST_H
#define ISO_KERNELS_GEMM_NEST_H
#include "kernels/gemm/tile.h"

/* Where blocking constants live: one row an instruction set. */
typedef struct iso__gemm_blocking {
  int64_t rows;       /* MC: rows of A packed at a time: they stay in L2                    */
  int64_t columns;    /* NC: columns of B packed at a time                                  */
  int64_t group_rows; /* rows whose sums may wait apart from C at a time                             */
  double gflops;      /* one core, for cost functions: only ratios between engines matter                   */
} iso__gemm_blocking;
const iso__gemm_blocking *iso__gemm_blocking_of(const iso__tiles *tiles);

/* One matrix product of a problem's batch. Pointers are to f32, or to the problem's f16 or bf16: only the nest takes
 * those. */
typedef struct iso__gemm_item {
  const iso_gemm_problem *problem;
  const float *a, *b, *bias, *residual;
  float *c;
  const float *kept_b; /* or NULL: all of B packed, below */
  int64_t kept_columns;
  float alpha, beta, scale;
} iso__gemm_item;
iso__gemm_item iso__gemm_item_of(const iso__call *call, int64_t batch_index);
static inline bool iso__gemm_has_epilogue(const iso_gemm_problem *p) {
  return p->head.dtype != ISO_F32 || p->has_alpha || p->has_beta || p->has_bias || p->has_residual || p->has_scale ||
         p->activation;
}

/* The rectangle [row_begin, row_end) × [column_begin, column_end) of C and the terms [k_begin, k_end), k_begin a
 * multiple of 1024. Usually the sums end in C by the order; otherwise in one of two kinds of dense rectangles:
 * `slots`: each panel's sum in a rectangle of its own, panel after panel (k_end: the end of K or a multiple of 1024);
 * `sums`: all chunk sums are added to one rectangle, which is overwritten first unless `sums_begun`. */
typedef struct iso__gemm_block {
  int64_t row_begin, row_end, column_begin, column_end, k_begin, k_end;
  float *slots, *sums;
  bool sums_begun;
} iso__gemm_block;

/* What follows the sum over K; bias and residual as for the item's first element. */
iso__epilogue iso__gemm_epilogue_of(const iso__gemm_item *item);
/* The same for engines that fold without tiles: c(row, j) = epilogue(t[j]) for n elements; t may be there. */
void iso__gemm_epilogue_row(const iso__tiles *tiles, const iso__gemm_item *item, const float *t, int64_t row,
                            int64_t n);

/* B as kept for the nest: every chunk's strips, chunk after chunk, kept_columns · terms floats each. */
int64_t iso__gemm_kept_columns(const iso_gemm_problem *p, const iso__tiles *tiles);
/* Packs the terms [p, p + k) of a chunk, for the columns [j, j + n), j at the beginning of a strip. */
void iso__gemm_pack_b(const iso__tiles *tiles, const iso__gemm_item *g, int64_t p, int64_t k, int64_t j, int64_t n,
                      float *dst);

/* How operands are read and how many floats of scratch a thread needs, for rectangles of at most rows × columns. */
typedef struct iso__gemm_layout {
  int64_t block_rows, block_columns, group_rows; /* as in iso__gemm_blocking, no larger than the rectangle */
  int64_t depth;                                 /* terms that are packed at a time: one or two chunks */
  bool direct_a, direct_b;                       /* read where they lie */
  bool waits_apart;                              /* sums may not wait in C, because the epilogue reads it */
  int64_t a_floats, b_floats, strip_floats, panel_floats, total_floats;
} iso__gemm_layout;
iso__gemm_layout iso__gemm_layout_of(const iso_gemm_problem *p, const iso__tiles *tiles, int64_t rows, int64_t columns);
static inline size_t iso__gemm_layout_bytes(const iso__gemm_layout *l) {
  return (size_t)(l->a_floats + l->b_floats + l->strip_floats + l->panel_floats + l->total_floats) * sizeof(float);
}

/* Estimated ns to bring operands of so many bytes from beyond L2, per thread and all threads at once. */
double iso__gemm_read_cost(double n_bytes);

/* scratch: iso__gemm_layout_bytes, 64-byte aligned. */
void iso__gemm_nest(const iso__tiles *tiles, const iso__gemm_layout *layout, const iso__gemm_item *item,
                    const iso__gemm_block *block, float *scratch);
#endif
