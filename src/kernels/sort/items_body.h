/* Items of one width and their serial sort; included by items.h, which defines ITEM, KEY_BITS, NAMED(f), MAKE(key,
 * index), KEY(item), INDEX(item) and LESS(b, a) for an item b that stands behind a. */

static inline void NAMED(insertion)(ITEM *items, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    const ITEM item = items[i];
    int64_t j = i;
    for (; j > 0 && LESS(item, items[j - 1]); j--) items[j] = items[j - 1];
    items[j] = item;
  }
}

/* Runs of ITEMS_RUN by insertion, then merged, each step without a branch on the data. Returns where the result is. */
static inline ITEM *NAMED(merge)(ITEM *items, ITEM *spare, int64_t n) {
  for (int64_t i = 0; i < n; i += ITEMS_RUN) NAMED(insertion)(items + i, iso__min(ITEMS_RUN, n - i));
  for (int64_t width = ITEMS_RUN; width < n; width *= 2) {
    for (int64_t i = 0; i < n; i += 2 * width) {
      const ITEM *a = items + i, *const a_end = items + iso__min(i + width, n), *b = a_end;
      const ITEM *const b_end = items + iso__min(i + 2 * width, n);
      ITEM *out = spare + i;
      while (a < a_end && b < b_end) {
        const bool take_b = LESS(*b, *a);
        *out++ = take_b ? *b : *a;
        b += take_b, a += !take_b;
      }
      memcpy(out, a, sizeof *a * (size_t)(a_end - a));
      memcpy(out + (a_end - a), b, sizeof *b * (size_t)(b_end - b));
    }
    ITEM *const done = spare;
    spare = items, items = done;
  }
  return items;
}

/* Least significant digit first, all digits counted in one pass; a digit that all share is passed over. */
static inline ITEM *NAMED(radix)(ITEM *items, ITEM *spare, int64_t n, int key_bits) {
  uint32_t counts[KEY_BITS / 8][256];
  const int n_digits = (key_bits + 7) / 8;
  memset(counts, 0, sizeof counts[0] * (size_t)n_digits);
  for (int64_t i = 0; i < n; i++)
    for (int d = 0; d < n_digits; d++) counts[d][KEY(items[i]) >> 8 * d & 255]++;
  for (int d = 0; d < n_digits; d++) {
    uint32_t *const at = counts[d];
    if (at[KEY(items[0]) >> 8 * d & 255] == n) continue;
    for (uint32_t v = 0, sum = 0; v < 256; v++) {
      const uint32_t here = at[v];
      at[v] = sum, sum += here;
    }
    for (int64_t i = 0; i < n; i++) spare[at[KEY(items[i]) >> 8 * d & 255]++] = items[i];
    ITEM *const done = spare;
    spare = items, items = done;
  }
  return items;
}

/* Stable; n < 2^32. Returns where the result is: items or spare. */
static inline ITEM *NAMED(sort)(ITEM *items, ITEM *spare, int64_t n, int key_bits) {
  if (n <= ITEMS_RUN) return NAMED(insertion)(items, n), items;
  return n < ITEMS_RADIX ? NAMED(merge)(items, spare, n) : NAMED(radix)(items, spare, n, key_bits);
}

static inline void NAMED(emit)(const ITEM *items, int64_t n, const void *x, size_t item_bytes, void *y,
                               int64_t *index) {
  for (int64_t i = 0; i < n; i++) index[i] = (int64_t)INDEX(items[i]);
  if (item_bytes == 4)
    for (int64_t i = 0; i < n; i++) memcpy((char *)y + i * 4, (const char *)x + INDEX(items[i]) * 4, 4);
  else if (item_bytes == 8)
    for (int64_t i = 0; i < n; i++) memcpy((char *)y + i * 8, (const char *)x + INDEX(items[i]) * 8, 8);
  else
    for (int64_t i = 0; i < n; i++) ((char *)y)[i] = ((const char *)x)[INDEX(items[i])];
}
