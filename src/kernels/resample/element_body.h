/* One element of the result, once per precision; see channels_impl.h. */

/* The lists of one element, and the operand's plane at the block's first channel. */
typedef struct NAMED(element) {
  const REAL *in;
  int32_t begin[3], n[3];
  const REAL *weight[3];
  int64_t row, plane, c; /* elements from one column, row of columns and plane of rows to the next */
} NAMED(element);
