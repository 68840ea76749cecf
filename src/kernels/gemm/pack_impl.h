/* pack_impl.h: packing of operands into strips (tile.h), part of tile_impl.h.
 *
 * Operands whose terms are contiguous pass through register transposes; the others are copied line
 * by line. A strip's rows may be narrower than a vector: then each store is overwritten in part by the next row's, and
 * only the strip's last rows are stored with a mask, so nothing is written beyond the strip. */

/* Up to WIDTH lines (columns s … of the strip) × WIDTH terms. `masked`: the stores may not touch what follows the
 * strip. */
INLINE void store_square(float *dst, int width, const vec *r, int terms, bool masked, vec_mask mask) {
  UNROLL_16
  for (int i = 0; i < WIDTH; i++) { /* one exit: clang unrolls no loop with a break */
    if (i < terms && masked) vec_store_masked(dst + i * width, r[i], mask);
    else if (i < terms) vec_store(dst + i * width, r[i]);
  }
}

/* A strip no wider than a vector, all of its lines there: what A is packed into. Rows of the strip overlap the stores
 * before them, so only those are stored with a mask that whole vectors would carry beyond the strip's end. */
static void pack_transposing_narrow(float *dst, int width, const float *x, int64_t ld, int64_t k) {
  const line_set l = lines_of(x, ld, width);
  const vec_mask mask = vec_mask_first(width);
  vec r[WIDTH];
  int64_t p = 0;
  for (; p + WIDTH < k; p += WIDTH) {
    load_transposed_lines(r, &l, p);
    store_square(dst + p * width, width, r, WIDTH, (k - p - WIDTH + 1) * width < WIDTH, mask);
  }
  if (p == k) return;
  if (p + WIDTH == k) load_transposed_lines(r, &l, p);
  else load_transposed_part(r, x + p, ld, width, (int)(k - p));
  store_square(dst + p * width, width, r, (int)(k - p), true, mask);
}

/* Only the last group of columns can store into the next row of the strip, and it must be stored before that row is. */
static void pack_transposing(float *dst, int width, const float *x, int64_t ld, int n, int64_t k) {
  if (n == width && width <= WIDTH) {
    pack_transposing_narrow(dst, width, x, ld, k);
    return;
  }
  for (int64_t p = 0; p < k; p += WIDTH) {
    const int terms = k - p < WIDTH ? (int)(k - p) : WIDTH;
    for (int s = 0; s < width; s += WIDTH) {
      const int left = width - s < WIDTH ? width - s : WIDTH;
      const int lines = n - s < 0 ? 0 : n - s < left ? n - s : left;
      const float *from = lines ? x + s * ld + p : x;
      float *to = dst + p * width + s;
      /* A partial group overlaps the following row: harmless while that row is still to be written. */
      const bool masked = left < WIDTH && (s > 0 || p + terms + WIDTH > k);
      vec r[WIDTH];
      if (lines == WIDTH && terms == WIDTH) {
        load_transposed(r, from, ld, WIDTH);
        store_square(to, width, r, WIDTH, false, vec_mask_first(WIDTH));
        continue;
      }
      if (lines && terms == WIDTH) {
        load_transposed(r, from, ld, lines);
        if (lines < left) {
          const vec_mask valid = vec_mask_first(lines);
          UNROLL_16
          for (int i = 0; i < WIDTH; i++) r[i] = vec_keep(r[i], valid);
        }
      } else load_transposed_part(r, from, ld, lines, terms);
      store_square(to, width, r, terms, masked, vec_mask_first(left));
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
  /* As above; whole vectors are read where another row follows, and written where they end within the strip. */
  if (n == width && ld >= WIDTH) {
    for (; k > 1 && k * width >= whole + WIDTH; k--, x += ld, dst += width)
      for (int s = 0; s <= whole; s += WIDTH) vec_store(dst + s, vec_load(x + s));
  }
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
