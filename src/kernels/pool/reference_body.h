/* Pooling of one output element, once per precision; see reference.c. REAL is the type, NAMED(f) the name of f in it.
 */

/* The winner's kernel position, and its value: the first NaN, else the lowest position of the largest. */
static int64_t NAMED(max_at)(const iso_pool_problem *p, const REAL *x, place o, REAL *value) {
  const range rows = window_inside(o.row, p->stride_h, p->pad_h, p->kernel_h, p->h);
  const range columns = window_inside(o.column, p->stride_w, p->pad_w, p->kernel_w, p->w);
  int64_t winner = -1;
  for (int64_t r = rows.begin; r < rows.end; r++)
    for (int64_t s = columns.begin; s < columns.end; s++) {
      const REAL v = x[input_index(p, o.image, o.row * p->stride_h - p->pad_h + r,
                                   o.column * p->stride_w - p->pad_w + s, o.channel)];
      if (winner < 0 || v > *value || (v != v && *value == *value)) winner = r * p->kernel_w + s, *value = v;
    }
  return winner;
}

static REAL NAMED(average)(const iso_pool_problem *p, const REAL *x, place o) {
  struct NAMED(iso__ordered) sum = {0};
  for (int64_t r = 0; r < p->kernel_h; r++)
    for (int64_t s = 0; s < p->kernel_w; s++) {
      const int64_t row = o.row * p->stride_h - p->pad_h + r, column = o.column * p->stride_w - p->pad_w + s;
      if (row >= 0 && row < p->h && column >= 0 && column < p->w)
        NAMED(iso__ordered_add)(&sum, x[input_index(p, o.image, row, column, o.channel)]);
      else if (p->count_padding) NAMED(iso__ordered_add)(&sum, 0);
    }
  return NAMED(iso__ordered_end)(&sum) / (REAL)window_count(p, o.row, o.column);
}

/* The gradient of input element i: what the windows over it send back, ascending by output (row, column). */
static REAL NAMED(gradient)(const iso_pool_problem *p, const iso_pool_args *a, place i) {
  struct NAMED(iso__ordered) sum = {0};
  const range rows = windows_over(i.row, p->stride_h, p->pad_h, p->kernel_h, iso__pool_out_h(p));
  const range columns = windows_over(i.column, p->stride_w, p->pad_w, p->kernel_w, iso__pool_out_w(p));
  for (int64_t oh = rows.begin; oh < rows.end; oh++)
    for (int64_t ow = columns.begin; ow < columns.end; ow++) {
      const int64_t at = output_index(p, i.image, oh, ow, i.channel);
      const int64_t r = i.row + p->pad_h - oh * p->stride_h, s = i.column + p->pad_w - ow * p->stride_w;
      const REAL dy = ((const REAL *)a->dy)[at];
      if (p->head.op == ISO__OP_AVG_POOL_BWD) NAMED(iso__ordered_add)(&sum, dy / (REAL)window_count(p, oh, ow));
      else if (a->index[at] == r * p->kernel_w + s) NAMED(iso__ordered_add)(&sum, dy);
    }
  return NAMED(iso__ordered_end)(&sum);
}

static void NAMED(element)(const iso_pool_problem *p, const iso_pool_args *a, int operand, int64_t index, void *value) {
  REAL y = 0;
  switch (p->head.op) {
  case ISO__OP_MAX_POOL_FWD: {
    const int64_t winner = NAMED(max_at)(p, a->x, output_place(p, index), &y);
    if (operand == 2) {
      *(uint8_t *)value = (uint8_t)winner;
      return;
    }
    break;
  }
  case ISO__OP_AVG_POOL_FWD: y = NAMED(average)(p, a->x, output_place(p, index)); break;
  default: y = NAMED(gradient)(p, a, input_place(p, index)); break;
  }
  memcpy(value, &y, sizeof y);
}
