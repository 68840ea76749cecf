/* pack_impl.h: packing of operands into strips (tile.h), part of tile_impl.h.
 *
 * Operands whose terms are contiguous pass through register transposes of whole cache lines; the others are copied line
 * by line. A strip's rows may be narrower than a vector: then each store is overwritten in part by the next row's, and
 * only the strip's last rows are stored with a mask, so nothing is written beyond the strip. */

/* Transposes WIDTH × WIDTH; r[i] becomes column i. */
#if WIDTH == 16
INLINE void transpose(vec *r) {
  vec t[16], u[16];
  UNROLL_16
  for (int i = 0; i < 8; i++) {
    t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  UNROLL_16
  for (int h = 0; h < 4; h++) {
    u[4 * h + 0] = _mm512_shuffle_ps(t[4 * h], t[4 * h + 2], 0x44);
    u[4 * h + 1] = _mm512_shuffle_ps(t[4 * h], t[4 * h + 2], 0xEE);
    u[4 * h + 2] = _mm512_shuffle_ps(t[4 * h + 1], t[4 * h + 3], 0x44);
    u[4 * h + 3] = _mm512_shuffle_ps(t[4 * h + 1], t[4 * h + 3], 0xEE);
  }
  UNROLL_16
  for (int i = 0; i < 4; i++) { /* u[4h+i]: rows 4h … 4h+3 of columns i, i+4, i+8, i+12 */
    const vec a = _mm512_shuffle_f32x4(u[i], u[4 + i], 0x88), b = _mm512_shuffle_f32x4(u[i], u[4 + i], 0xDD);
    const vec c = _mm512_shuffle_f32x4(u[8 + i], u[12 + i], 0x88), d = _mm512_shuffle_f32x4(u[8 + i], u[12 + i], 0xDD);
    r[i] = _mm512_shuffle_f32x4(a, c, 0x88);
    r[i + 8] = _mm512_shuffle_f32x4(a, c, 0xDD);
    r[i + 4] = _mm512_shuffle_f32x4(b, d, 0x88);
    r[i + 12] = _mm512_shuffle_f32x4(b, d, 0xDD);
  }
}
#else
INLINE void transpose(vec *r) {
  vec t[8], u[8];
  UNROLL_16
  for (int i = 0; i < 4; i++) {
    t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  UNROLL_16
  for (int h = 0; h < 2; h++) {
    u[4 * h + 0] = _mm256_shuffle_ps(t[4 * h], t[4 * h + 2], 0x44);
    u[4 * h + 1] = _mm256_shuffle_ps(t[4 * h], t[4 * h + 2], 0xEE);
    u[4 * h + 2] = _mm256_shuffle_ps(t[4 * h + 1], t[4 * h + 3], 0x44);
    u[4 * h + 3] = _mm256_shuffle_ps(t[4 * h + 1], t[4 * h + 3], 0xEE);
  }
  UNROLL_16
  for (int i = 0; i < 4; i++) {
    r[i] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x20);
    r[i + 4] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x31);
  }
}
#endif

/* Up to WIDTH lines (columns s … of the strip) × WIDTH terms. `masked`: the stores may not touch what follows the
 * strip. */
INLINE void pack_square(float *dst, int width, const float *x, int64_t ld, int n, int terms, bool masked,
                        vec_mask store_mask) {
  vec r[WIDTH];
  const vec_mask load_mask = vec_mask_first(terms);
  UNROLL_16
  for (int i = 0; i < WIDTH; i++) {
    if (terms == WIDTH) r[i] = i < n ? vec_load(x + i * ld) : vec_zero();
    else r[i] = i < n ? vec_load_masked(x + i * ld, load_mask) : vec_zero();
  }
  transpose(r);
  UNROLL_16
  for (int i = 0; i < WIDTH; i++) {
    if (i >= terms) break;
    if (masked) vec_store_masked(dst + i * width, r[i], store_mask);
    else vec_store(dst + i * width, r[i]);
  }
}

/* Only the last group of columns can store into the next row of the strip, and it must be stored before that row is. */
static void pack_transposing(float *dst, int width, const float *x, int64_t ld, int n, int64_t k) {
  for (int64_t p = 0; p < k; p += WIDTH) {
    const int terms = k - p < WIDTH ? (int)(k - p) : WIDTH;
    for (int s = 0; s < width; s += WIDTH) {
      const int left = width - s < WIDTH ? width - s : WIDTH;
      const int lines = n - s < 0 ? 0 : n - s < WIDTH ? n - s : WIDTH;
      const float *from = lines ? x + s * ld + p : x;
      float *to = dst + p * width + s;
      /* A partial group overlaps the following row: harmless while that row is still to be written. */
      const bool masked = left < WIDTH && (s > 0 || p + terms + WIDTH > k);
      if (lines == WIDTH && terms == WIDTH && left == WIDTH)
        pack_square(to, width, from, ld, WIDTH, WIDTH, false, vec_mask_first(WIDTH));
      else if (!masked) pack_square(to, width, from, ld, lines, terms, false, vec_mask_first(WIDTH));
      else pack_square(to, width, from, ld, lines, terms, true, vec_mask_first(left));
    }
  }
}

static void pack_copying(float *dst, int width, const float *x, int64_t ld, int n, int64_t k) {
  if (n == width && width % WIDTH == 0) {
    for (int64_t p = 0; p < k; p++, x += ld, dst += width)
      for (int s = 0; s < width; s += WIDTH) vec_store(dst + s, vec_load(x + s));
    return;
  }
  const int whole = n / WIDTH * WIDTH;
  const vec_mask load_mask = vec_mask_first(n - whole);
  for (int64_t p = 0; p < k; p++, x += ld, dst += width) {
    for (int s = 0; s < whole; s += WIDTH) vec_store(dst + s, vec_load(x + s));
    for (int s = whole; s < width; s += WIDTH) {
      const vec v = s == whole && n > whole ? vec_load_masked(x + s, load_mask) : vec_zero();
      if (width - s >= WIDTH) vec_store(dst + s, v);
      else vec_store_masked(dst + s, v, vec_mask_first(width - s));
    }
  }
}
