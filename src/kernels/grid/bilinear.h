/* bilinear.h: the taps of a vector of points at once, f32, of images sampled linearly: site.h's operations lane by
 * lane. And y and the grid's gradient of images with few channels, whose lanes are points: where the taps lie then is
 * most of the work, and memory is gathered. Included by channels_impl.h. */

enum { FEW_CHANNELS = 4, BILINEAR_TAPS = 4 };

static inline bool is_bilinear(const iso_grid_problem *p) {
  return p->dims == 2 && p->mode == ISO__GRID_LINEAR && iso__grid_places(p) <= INT32_MAX / FEW_CHANNELS;
}

typedef struct axis_vector {
  vf weight[2], scale;
  vi at[2];
  vm inside[2];
} axis_vector;
/* In the order row then column, ascending; both[h][w]: as weights of taps[2·h+w]. */
typedef struct taps_vector {
  axis_vector row, column;
  vf weight[BILINEAR_TAPS];
  vi place[BILINEAR_TAPS];
  vm inside[BILINEAR_TAPS];
} taps_vector;

VEC_FN vf reflect_vector(vf place, float low, float high, vf *sign) {
  if (high <= low) return *sign = vf_zero(), vf_zero();
  const vf from = vf_set1(low / 2), length = vf_set1((high - low) / 2);
  vf distance = vf_sub(place, from);
  const vm before = vf_lt(distance, vf_zero());
  distance = vf_select(before, vf_neg(distance), distance), *sign = vf_select(before, vf_neg(*sign), *sign);
  const vf turns = vf_floor(vf_div(distance, length)), rest = vf_fnma(turns, length, distance);
  const vf pairs = vf_floor(vf_mul(turns, vf_set1(0.5f)));
  const vm even = vf_eq(turns, vf_add(pairs, pairs));
  *sign = vf_select(even, *sign, vf_neg(*sign));
  return vf_add(vf_select(even, rest, vf_sub(length, rest)), from);
}
VEC_FN vf clip_vector(vf place, float last, vf *sign) {
  const vm above = vf_gt(place, vf_zero()), beyond = vf_ge(place, vf_set1(last));
  *sign = vf_select(vm_and(above, vm_not(beyond)), *sign, vf_zero());
  return vf_select(above, vf_select(beyond, vf_set1(last), place), vf_zero());
}
VEC_FN void axis_vector_of(const iso_grid_problem *p, vf coordinate, int64_t extent, axis_vector *a) {
  const float n = (float)extent, last = (float)(extent - 1);
  const vf one = vf_set1(1), half = vf_set1(0.5f);
  vf sign = one, place = vf_add(coordinate, one);
  if (p->corners) place = vf_mul(vf_mul(place, half), vf_set1(last));
  else place = vf_mul(vf_sub(vf_mul(place, vf_set1(n)), one), half);
  if (p->padding == ISO__GRID_REFLECTION)
    place = p->corners ? reflect_vector(place, 0, 2 * last, &sign) : reflect_vector(place, -1, 2 * n - 1, &sign);
  if (p->padding != ISO__GRID_ZEROS) place = clip_vector(place, last, &sign);
  const vm near = vm_and(vf_gt(place, vf_set1(-0x1p30f)), vf_lt(place, vf_set1(0x1p30f)));
  place = vf_select(near, place, vf_set1(-100)), sign = vf_select(near, sign, vf_zero());
  a->scale = vf_mul(vf_set1((p->corners ? last : n) / 2), sign);
  const vf whole = vf_floor(place), part = vf_sub(place, whole), next = vf_add(whole, one);
  a->weight[0] = vf_sub(one, part), a->weight[1] = part;
  a->inside[0] = vm_and(vf_ge(whole, vf_zero()), vf_lt(whole, vf_set1(n)));
  a->inside[1] = vm_and(vf_ge(next, vf_zero()), vf_lt(next, vf_set1(n)));
  a->at[0] = vi_from_vf(whole), a->at[1] = vi_from_vf(next);
}

/* Of n points, at most a vector of them. Lanes behind have no tap inside. */
VEC_FN void taps_vector_of(const iso_grid_problem *p, const float *grid, int64_t n, taps_vector *t) {
  const vm used = vm_first((size_t)n);
  const vi pairs = vi_add(vi_iota(), vi_iota());
  axis_vector_of(p, gather_far(grid, pairs, used), p->extent[2], &t->column);
  axis_vector_of(p, gather_far(grid + 1, pairs, used), p->extent[1], &t->row);
#pragma GCC unroll 4
  for (int k = 0; k < BILINEAR_TAPS; k++) {
    const int h = k / 2, w = k % 2;
    t->weight[k] = vf_mul(t->row.weight[h], t->column.weight[w]);
    t->place[k] = vi_add(vi_mul(t->row.at[h], vi_set1((int32_t)p->extent[2])), t->column.at[w]);
    t->inside[k] = vm_and(used, vm_and(t->row.inside[h], t->column.inside[w]));
  }
}

/* ---- few channels ---- */

/* Σ w·x over the taps of one channel. A tap outside reads 0, which changes no bit but a zero's sign. */
VEC_FN vf sum_taps(const taps_vector *t, const vf *weight, const float *x, int32_t c) {
  vf sum = vf_zero();
#pragma GCC unroll 4
  for (int k = 0; k < BILINEAR_TAPS; k++)
    sum = vf_fma(weight[k], gather_far(x, vi_mul(t->place[k], vi_set1(c)), t->inside[k]), sum);
  return sum;
}

/* n points of one image, from number `point`. */
VEC_FN void sample_few(const job *j, const float *x, int64_t point, int64_t n) {
  const int32_t c = (int32_t)j->p->c;
  taps_vector t;
  float out[FEW_CHANNELS][VF_LANES], *y = (float *)j->a->y + point * c;
  taps_vector_of(j->p, (const float *)j->a->grid + point * 2, n, &t);
  for (int32_t i = 0; i < c; i++) {
    const vf sum = vf_add(sum_taps(&t, t.weight, x + i, c), vf_zero());
    if (c == 1) vf_store_n(y, sum, (size_t)n);
    else vf_store(out[i], sum);
  }
  for (int64_t l = 0; l < n && c > 1; l++)
    for (int32_t i = 0; i < c; i++) y[l * c + i] = out[i][l];
}

VEC_FN void slope_few(const job *j, const float *x, int64_t point, int64_t n) {
  const int32_t c = (int32_t)j->p->c;
  const float *dy = (const float *)j->a->dy + point * c;
  const vm used = vm_first((size_t)n);
  const vi every = vi_mul(vi_iota(), vi_set1(c));
  taps_vector t;
  taps_vector_of(j->p, (const float *)j->a->grid + point * 2, n, &t);
  const vf *down = t.row.weight, *across = t.column.weight;
  const vf by_row[] = {vf_neg(across[0]), vf_neg(across[1]), across[0], across[1]};
  const vf by_column[] = {vf_neg(down[0]), down[0], vf_neg(down[1]), down[1]};
  vf row[FEW_CHANNELS] = {vf_zero(), vf_zero(), vf_zero(), vf_zero()}, column[FEW_CHANNELS];
  for (int i = 0; i < FEW_CHANNELS; i++) column[i] = vf_zero();
  for (int32_t i = 0; i < c; i++) {
    const vf sent = gather_far(dy + i, every, used);
    row[i] = vf_fma(sent, sum_taps(&t, by_row, x + i, c), vf_zero());
    column[i] = vf_fma(sent, sum_taps(&t, by_column, x + i, c), vf_zero());
  }
  /* The tree over 64 lanes, of which the others are +0. */
  const vf rows = vf_add(vf_add(row[0], row[1]), vf_add(row[2], row[3]));
  const vf columns = vf_add(vf_add(column[0], column[1]), vf_add(column[2], column[3]));
  float both[2][VF_LANES], *dgrid = (float *)j->a->dgrid + point * 2;
  vf_store(both[0], vf_mul(vf_add(columns, vf_zero()), t.column.scale));
  vf_store(both[1], vf_mul(vf_add(rows, vf_zero()), t.row.scale));
  for (int64_t l = 0; l < n; l++) dgrid[2 * l] = both[0][l], dgrid[2 * l + 1] = both[1][l];
}

static void run_few(const job *j, int64_t begin, int64_t end) {
  const iso_grid_problem *p = j->p;
  const bool forward = p->head.op == ISO__OP_GRID_SAMPLE_FWD;
  while (begin < end) {
    const int64_t image = begin / p->points, n = iso__min(VF_LANES, iso__min(end, (image + 1) * p->points) - begin);
    const float *x = (const float *)j->a->x + image * iso__grid_places(p) * p->c;
    if (forward) sample_few(j, x, begin, n);
    else slope_few(j, x, begin, n);
    begin += n;
  }
}
