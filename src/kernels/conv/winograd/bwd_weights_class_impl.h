/* bwd_weights_class_impl.h: the three two-dimensional transforms of one class (bwd_weights.h), for the instruction set
 * of the including file; WINO_M and WINO_R name the class. Included by bwd_weights_impl.h. */
#define CLASS_3(name, m, r) name##_##m##k##r
#define CLASS_2(name, m, r) CLASS_3(name, m, r)
#define CLASS(name) CLASS_2(name, WINO_M, WINO_R)
#define POINTS (WINO_M + WINO_R - 1) /* along one axis */
#define V_GROUP ((POINTS * POINTS | 1) * V_POINT)
#define Z_GROUP ((POINTS * POINTS | 1) * Z_POINT)

/* V of one vector of channels. from[i][j] are the tile's pixels where some lie in the padding; inside, they lie at base
 * + i·row + j·column. */
VEC_FN void CLASS(data_vector)(const bool inside, const float *base, int64_t row, int64_t column,
                               const float *const (*from)[POINTS], int64_t c, size_t n, float *v) {
  vf half[POINTS][POINTS];
  UNROLL_16 for (int j = 0; j < POINTS; j++) {
    vf d[POINTS], e[POINTS];
    UNROLL_16 for (int i = 0; i < POINTS; i++) {
      const float *at = (inside ? base + i * row + j * column : from[i][j]) + c;
      d[i] = n >= VF_LANES ? vf_load(at) : vf_load_n(at, n);
    }
    CLASS(wino_data)(d, e);
    UNROLL_16 for (int i = 0; i < POINTS; i++) half[i][j] = e[i];
    IN_TURN;
  }
  UNROLL_16 for (int i = 0; i < POINTS; i++) {
    vf e[POINTS];
    CLASS(wino_data)(half[i], e);
    UNROLL_16 for (int j = 0; j < POINTS; j++) vf_store(v + (i * POINTS + j) * V_POINT, e[j]);
    IN_TURN;
  }
}

static void CLASS(data)(const iso__wino_block *b, int64_t tile, int n_tiles, float *v) {
  const iso_conv_problem *p = b->problem;
  const int64_t row = p->w * p->c;
  place at = place_of(b, tile);
  for (int t = 0; t < n_tiles; t++, place_step(b, &at)) {
    float *mine = v + t / ISO__WINO_GROUP * V_GROUP + t % ISO__WINO_GROUP * PANEL;
    const int64_t h = at.row * WINO_M - p->pad_top, w = at.column * WINO_M - p->pad_left;
    const bool inside = h >= 0 && w >= 0 && h + POINTS <= p->h && w + POINTS <= p->w;
    const float *image = b->x + at.sample * p->h * row + b->c, *from[POINTS][POINTS];
    if (!inside)
      for (int64_t i = 0; i < POINTS; i++)
        for (int64_t j = 0; j < POINTS; j++)
          from[i][j] =
              h + i >= 0 && h + i < p->h && w + j >= 0 && w + j < p->w ? image + (h + i) * row + (w + j) * p->c : zeros;
    const float *base = inside ? image + h * row + w * p->c : NULL;
    int c = 0;
    for (; c + VF_LANES <= b->n_c; c += VF_LANES) {
      float *to = mine + c / PANEL * b->v_panel + c % PANEL;
      if (inside) CLASS(data_vector)(true, base, row, p->c, NULL, c, VF_LANES, to);
      else CLASS(data_vector)(false, NULL, 0, 0, from, c, VF_LANES, to);
    }
    if (c == b->n_c) continue;
    float *to = mine + c / PANEL * b->v_panel + c % PANEL;
    const size_t left = (size_t)(b->n_c - c);
    if (inside) CLASS(data_vector)(true, base, row, p->c, NULL, c, left, to);
    else CLASS(data_vector)(false, NULL, 0, 0, from, c, left, to);
  }
}

/* Z of one vector of output channels. */
VEC_FN void CLASS(grad_vector)(const float *const (*from)[WINO_M], int64_t k, size_t n, float *z) {
  vf half[POINTS][WINO_M];
  UNROLL_16 for (int j = 0; j < WINO_M; j++) {
    vf d[WINO_M], e[POINTS];
    UNROLL_16 for (int i = 0; i < WINO_M; i++) d[i] =
        n >= VF_LANES ? vf_load(from[i][j] + k) : vf_load_n(from[i][j] + k, n);
    CLASS(wino_grad)(d, e);
    UNROLL_16 for (int i = 0; i < POINTS; i++) half[i][j] = e[i];
    IN_TURN;
  }
  UNROLL_16 for (int i = 0; i < POINTS; i++) {
    vf e[POINTS];
    CLASS(wino_grad)(half[i], e);
    UNROLL_16 for (int j = 0; j < POINTS; j++) {
      vf_store(z + (i * POINTS + j) * Z_POINT, e[j]);
      __builtin_prefetch(z + (i * POINTS + j) * Z_POINT + 16, 1, 3);
    }
    IN_TURN;
  }
}

static void CLASS(grad)(const iso__wino_block *b, int64_t tile, int n_tiles, float *z) {
  const iso_conv_problem *p = b->problem;
  place at = place_of(b, tile);
  for (int t = 0; t < n_tiles; t++, place_step(b, &at)) {
    float *mine = z + t / ISO__WINO_GROUP * Z_GROUP + t % ISO__WINO_GROUP * ISO__WINO_BLOCK;
    const int64_t row = at.row * WINO_M, column = at.column * WINO_M;
    const float *from[WINO_M][WINO_M];
    for (int64_t i = 0; i < WINO_M; i++)
      for (int64_t j = 0; j < WINO_M; j++)
        from[i][j] = row + i < b->out_h && column + j < b->out_w
                         ? b->dy + ((at.sample * b->out_h + row + i) * b->out_w + column + j) * p->k + b->k
                         : zeros;
    int k = 0;
    for (; k + VF_LANES <= b->n_k; k += VF_LANES) CLASS(grad_vector)(from, k, VF_LANES, mine + k);
    if (k < b->n_k) CLASS(grad_vector)(from, k, (size_t)(b->n_k - k), mine + k);
  }
}

/* dw of one output channel and one vector of input channels. */
VEC_FN void CLASS(dkernel_vector)(const float *sums, float *dw, int64_t tap, size_t n) {
  vf half[WINO_R][POINTS];
  UNROLL_16 for (int j = 0; j < POINTS; j++) {
    vf d[POINTS], e[WINO_R];
    UNROLL_16 for (int i = 0; i < POINTS; i++) d[i] = vf_load(sums + (i * POINTS + j) * ISO__WINO_SUMS);
    CLASS(wino_dkernel)(d, e);
    UNROLL_16 for (int i = 0; i < WINO_R; i++) half[i][j] = e[i];
    IN_TURN;
  }
  UNROLL_16 for (int i = 0; i < WINO_R; i++) {
    vf e[WINO_R];
    CLASS(wino_dkernel)(half[i], e);
    UNROLL_16 for (int j = 0; j < WINO_R; j++) {
      __builtin_prefetch(dw + (i * WINO_R + j) * tap + WINO_R * WINO_R * tap, 1, 3);
      if (n >= VF_LANES) vf_store(dw + (i * WINO_R + j) * tap, e[j]);
      else vf_store_n(dw + (i * WINO_R + j) * tap, e[j], n);
    }
  }
}

static void CLASS(dkernel)(const iso__wino_block *b, const float *sums) {
  const int64_t tap = b->problem->c / b->problem->groups;
  for (int k = 0; k < b->n_k; k++, sums += ISO__WINO_BLOCK) {
    float *dw = b->dw + (b->k + k) * WINO_R * WINO_R * tap + b->c_of_group;
    int c = 0;
    for (; c + VF_LANES <= b->n_c; c += VF_LANES) CLASS(dkernel_vector)(sums + c, dw + c, tap, VF_LANES);
    if (c < b->n_c) CLASS(dkernel_vector)(sums + c, dw + c, tap, (size_t)(b->n_c - c));
  }
}

#define ENGINE(weights, free_, in_one_chain)                                                                           \
  static const iso__wino_weights weights = {.m = WINO_M,                                                               \
                                            .r = WINO_R,                                                               \
                                            .width = VF_LANES,                                                         \
                                            .one_chain = in_one_chain,                                                 \
                                            .data = CLASS(data),                                                       \
                                            .grad = CLASS(grad),                                                       \
                                            .product = product,                                                        \
                                            .dkernel = CLASS(dkernel)};                                                \
  size_t PUBLIC(workspace##free_)(const iso__problem *problem, int n_threads);                                         \
  double PUBLIC(cost##free_)(const iso__problem *problem, int n_threads);                                              \
  void PUBLIC(run##free_)(const iso__call *call);                                                                      \
  size_t PUBLIC(workspace##free_)(const iso__problem *problem, int n_threads) {                                        \
    return iso__wino_weights_workspace(&weights, (const iso_conv_problem *)problem, n_threads);                        \
  }                                                                                                                    \
  double PUBLIC(cost##free_)(const iso__problem *problem, int n_threads) {                                             \
    return iso__wino_weights_cost(&weights, (const iso_conv_problem *)problem, n_threads);                             \
  }                                                                                                                    \
  void PUBLIC(run##free_)(const iso__call *call) { iso__wino_weights_run(&weights, call); }
#define ISA_2(name, isa) name##_##isa
#define ISA_1(name, isa) ISA_2(name, isa)
#define PUBLIC(name) ISA_1(CLASS(iso__wino_bwd_weights_##name), WINO_ISA)
ENGINE(CLASS(weights), , false)
#ifdef WINO_FREE
ENGINE(CLASS(weights_free), _free, true)
#  undef WINO_FREE
#endif
#undef ENGINE

#undef CLASS_3
#undef CLASS_2
#undef CLASS
#undef POINTS
#undef V_GROUP
#undef Z_GROUP
#undef ISA_2
#undef ISA_1
#undef PUBLIC
#undef WINO_M
#undef WINO_R
