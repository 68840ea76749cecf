/* class_impl.h: the two-dimensional transforms of one class on vectors of channels; included by kernels_impl.h with
 * OUT (outputs of a tile on an axis), TAPS and SUFFIX.
 *
 * Each goes down the columns first and leaves its result in a small array on the stack (L1), then across. A tile's
 * points are stored whole cache lines at a time, into as many streams. */
#define ALPHA (OUT + TAPS - 1)
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define OF(name) PASTE(name, SUFFIX)

/* ---- V = Bᵀ d B ---- */

/* One vector of channels. inside: rows are `row` apart from `from`; else each position has its pointer, at + c. */
VEC_FN void OF(data_vector_)(bool inside, size_t n, const float *from, int64_t row, int64_t pixel,
                             const float *const at[ALPHA][ALPHA], int64_t c, float *v, int64_t stride, int64_t chunk) {
  vf down[ALPHA][ALPHA], d[ALPHA], t[ALPHA];
  for (int j = 0; j < ALPHA; j++) {
    UNROLL_16
    for (int i = 0; i < ALPHA; i++) {
      const float *x = inside ? from + i * row + j * pixel + c : at[i][j] + c;
      d[i] = n == VF_LANES ? vf_load(x) : vf_load_n(x, n);
    }
    OF(wino_data_)(d, t);
    UNROLL_16
    for (int i = 0; i < ALPHA; i++) down[i][j] = t[i];
  }
  v += c / ISO__CHUNK * chunk + c % ISO__CHUNK;
  for (int i = 0; i < ALPHA; i++) {
    OF(wino_data_)(down[i], t);
    UNROLL_16
    for (int j = 0; j < ALPHA; j++) {
      float *to = v + (i * ALPHA + j) * stride;
      vf_store(to, t[j]);
      if (VF_LANES == 16 || c % 16 == 0) __builtin_prefetch(to + AHEAD, 1, 3);
    }
  }
}

static void OF(data_)(const iso__winograd_grid *g, const float *x, const float *zeros, int64_t tile, float *v,
                      int64_t stride, int64_t chunk) {
  const iso__winograd_place p = iso__winograd_place_of(g, tile);
  const int64_t row0 = p.row + g->offset_h, col0 = p.col + g->offset_w, pixel = g->source_pitch,
                row = g->source_w * pixel;
  const float *image = x + p.n * g->source_h * row;
  int64_t c = 0;
  if (row0 >= 0 && col0 >= 0 && row0 + ALPHA <= g->source_h && col0 + ALPHA <= g->source_w) {
    const float *from = image + row0 * row + col0 * pixel;
    for (; c + VF_LANES <= g->c; c += VF_LANES)
      OF(data_vector_)(true, VF_LANES, from, row, pixel, NULL, c, v, stride, chunk);
    if (c < g->c) OF(data_vector_)(true, (size_t)(g->c - c), from, row, pixel, NULL, c, v, stride, chunk);
    return;
  }
  const float *at[ALPHA][ALPHA];
  for (int i = 0; i < ALPHA; i++)
    for (int j = 0; j < ALPHA; j++) {
      const int64_t h = row0 + i, w = col0 + j;
      at[i][j] = h >= 0 && h < g->source_h && w >= 0 && w < g->source_w ? image + h * row + w * pixel : zeros;
    }
  for (; c + VF_LANES <= g->c; c += VF_LANES)
    OF(data_vector_)(false, VF_LANES, NULL, 0, 0, (const float *const(*)[ALPHA])at, c, v, stride, chunk);
  if (c < g->c)
    OF(data_vector_)(false, (size_t)(g->c - c), NULL, 0, 0, (const float *const(*)[ALPHA])at, c, v, stride, chunk);
}

/* ---- U = G g Gᵀ ---- */

/* fetch: what the line after next in each stream is asked for. */
VEC_FN void OF(kernel_vector_)(const vf g[TAPS][TAPS], float *u, int64_t stride, bool fetch) {
  vf down[ALPHA][TAPS], d[TAPS], t[ALPHA];
  UNROLL_16
  for (int j = 0; j < TAPS; j++) {
    UNROLL_16
    for (int i = 0; i < TAPS; i++) d[i] = g[i][j];
    OF(wino_kernel_)(d, t);
    UNROLL_16
    for (int i = 0; i < ALPHA; i++) down[i][j] = t[i];
  }
  for (int i = 0; i < ALPHA; i++) {
    OF(wino_kernel_)(down[i], t);
    UNROLL_16
    for (int j = 0; j < ALPHA; j++) {
      float *to = u + (i * ALPHA + j) * stride;
      vf_store(to, t[j]);
      if (fetch) __builtin_prefetch(to + AHEAD, 1, 3);
    }
  }
}

/* Forward: lanes are output channels, across rows of w, so squares of (output, source) channels are transposed tap by
 * tap. Whole lines of w are used up at once, 16 channels: its rows are often apart by multiples of 2 KiB, so lines do
 * not stay in L1. */
static void OF(kernel_forward_)(const iso__winograd_grid *g, const float *w, int64_t k, int64_t k1, int64_t c0,
                                int64_t c1, float *u, int64_t stride, int64_t lanes) {
  vf square[TAPS * TAPS][KERNEL_CHANNELS];
  const int64_t ld = TAPS * TAPS * g->c;
  for (int64_t c = c0; c < c1; c += KERNEL_CHANNELS)
    for (int64_t lane = 0; lane < lanes; lane += VF_LANES) {
      const int64_t n_c = c1 - c < KERNEL_CHANNELS ? c1 - c : KERNEL_CHANNELS;
      const int64_t n_k = k1 - k - lane < VF_LANES ? k1 - k - lane : VF_LANES;
      const bool whole = n_k == VF_LANES && n_c == KERNEL_CHANNELS;
      const float *rows = w + (k + lane) * ld + c;
      for (int tap = 0; tap < TAPS * TAPS; tap++)
        for (int64_t i = 0; i < n_c; i += VF_LANES) {
          const float *from = rows + tap * g->c + i;
          if (whole) load_transposed(square[tap] + i, from, ld, VF_LANES);
          else
            load_transposed_part(square[tap] + i, from, ld, (int)n_k, (int)(n_c - i < VF_LANES ? n_c - i : VF_LANES));
        }
      for (int64_t i = 0; i < n_c; i++) {
        vf taps[TAPS][TAPS];
        UNROLL_32
        for (int tap = 0; tap < TAPS * TAPS; tap++) taps[tap / TAPS][tap % TAPS] = square[tap][i];
        if (whole)
          for (int64_t tap = i / VF_LANES; tap < TAPS * TAPS; tap += KERNEL_CHANNELS / VF_LANES)
            __builtin_prefetch(rows + i % VF_LANES * ld + tap * g->c + KERNEL_CHANNELS, 0, 2);
        OF(kernel_vector_)((const vf(*)[TAPS])taps, u + (c - c0 + i) * lanes + lane, stride, lane % 16 == 0);
      }
    }
}

/* Backward: lanes are w's own innermost index; source channels are its rows. */
static void OF(kernel_turned_)(const iso__winograd_grid *g, const float *w, int64_t k, int64_t k1, int64_t c0,
                               int64_t c1, float *u, int64_t stride, int64_t lanes) {
  const int64_t ld = TAPS * TAPS * g->k;
  for (int64_t c = c0; c < c1; c++)
    for (int64_t lane = 0; lane < lanes; lane += VF_LANES) {
      const float *from = w + c * ld + k + lane;
      const int64_t n_k = k1 - k - lane < VF_LANES ? k1 - k - lane : VF_LANES;
      vf taps[TAPS][TAPS];
      UNROLL_32
      for (int tap = 0; tap < TAPS * TAPS; tap++) {
        const float *at = from + (TAPS * TAPS - 1 - tap) * g->k;
        taps[tap / TAPS][tap % TAPS] = n_k == VF_LANES ? vf_load(at) : vf_load_n(at, (size_t)n_k);
        if (lane % 16 == 0) __builtin_prefetch(at + 4 * ld, 0, 2);
      }
      OF(kernel_vector_)((const vf(*)[TAPS])taps, u + (c - c0) * lanes + lane, stride, lane % 16 == 0);
    }
}

static void OF(kernel_)(const iso__winograd_grid *g, const float *w, int64_t k0, int64_t k1, int64_t c0, int64_t c1,
                        float *u, int64_t stride) {
  for (int64_t k = k0; k < k1; k += 2 * VF_LANES) {
    const int64_t lanes = k1 - k > VF_LANES ? 2 * VF_LANES : VF_LANES;
    float *strip = u + (k - k0) * (c1 - c0);
    if (g->turned) OF(kernel_turned_)(g, w, k, k1, c0, c1, strip, stride, lanes);
    else OF(kernel_forward_)(g, w, k, k1, c0, c1, strip, stride, lanes);
  }
}

/* ---- y = Aᵀ m A ---- */

/* One vector of output channels: bias, residual and relu in this order where asked for. */
VEC_FN void OF(output_vector_)(size_t n, const iso__winograd_epilogue *e, int64_t rows, int64_t cols, const float *m,
                               int64_t stride, int64_t k, float *y, int64_t row, int64_t pixel) {
  vf down[OUT][ALPHA], d[ALPHA], t[OUT];
  for (int j = 0; j < ALPHA; j++) {
    UNROLL_16
    for (int i = 0; i < ALPHA; i++) d[i] = vf_load(m + (i * ALPHA + j) * stride);
    OF(wino_output_)(d, t);
    UNROLL_16
    for (int i = 0; i < OUT; i++) down[i][j] = t[i];
  }
  const vf zero = vf_zero(), bias = e->bias ? vf_load_n(e->bias + k, n) : zero;
  const float *residual = e->residual;
  for (int64_t i = 0; i < rows; i++) {
    OF(wino_output_)(down[i], t);
    UNROLL_16
    for (int j = 0; j < OUT; j++) {
      if (j >= cols) continue;
      const int64_t at = i * row + j * pixel + k;
      vf v = t[j];
      if (e->bias) v = vf_add(v, bias);
      if (residual) v = vf_add(v, n == VF_LANES ? vf_load(residual + at) : vf_load_n(residual + at, n));
      if (e->relu) v = vf_relu(v);
      if (n == VF_LANES) vf_store(y + at, v);
      else vf_store_n(y + at, v, n);
    }
  }
}

static void OF(output_)(const iso__winograd_grid *g, const iso__winograd_epilogue *e, const float *m, int64_t stride,
                        int64_t tile, int64_t k0, int64_t k1, float *y) {
  const iso__winograd_place p = iso__winograd_place_of(g, tile);
  const int64_t rows = g->out_h - p.row < OUT ? g->out_h - p.row : OUT,
                cols = g->out_w - p.col < OUT ? g->out_w - p.col : OUT;
  const int64_t pixel = g->out_pitch, row = g->out_w * pixel, first = (p.n * g->out_h + p.row) * row + p.col * pixel;
  const iso__winograd_epilogue here = {
      .bias = e->bias, .residual = e->residual ? e->residual + first : NULL, .relu = e->relu};
  static const iso__winograd_epilogue none = {.bias = NULL};
  const bool plain = !e->bias && !e->residual && !e->relu && cols == OUT;
  int64_t k = k0;
  for (; k + VF_LANES <= k1; k += VF_LANES) {
    if (plain) OF(output_vector_)(VF_LANES, &none, rows, OUT, m + k - k0, stride, k, y + first, row, pixel);
    else OF(output_vector_)(VF_LANES, &here, rows, cols, m + k - k0, stride, k, y + first, row, pixel);
  }
  if (k < k1) OF(output_vector_)((size_t)(k1 - k), &here, rows, cols, m + k - k0, stride, k, y + first, row, pixel);
}

#undef ALPHA
#undef PASTE_
#undef PASTE
#undef OF
#undef OUT
#undef TAPS
#undef SUFFIX
