/* utf8.c: checking, decoding and counting UTF-8; eight ASCII bytes at a time. */
#include "text/utf8.h"
#include <string.h>

static const uint64_t high_bits = 0x8080808080808080u;

static inline uint64_t eight(const uint8_t *p) {
  uint64_t word;
  memcpy(&word, p, 8);
  return word;
}

/* What may follow a first byte: [low, high] for the second, 80…BF for the others (Unicode Standard, table 3-7). */
static size_t lead(uint8_t byte, uint8_t *low, uint8_t *high) {
  *low = 0x80, *high = 0xBF;
  if (byte < 0x80) return 1;
  if (byte < 0xC2 || byte > 0xF4) return 0;
  if (byte < 0xE0) return 2;
  if (byte == 0xE0) *low = 0xA0;
  if (byte == 0xED) *high = 0x9F;
  if (byte < 0xF0) return 3;
  if (byte == 0xF0) *low = 0x90;
  if (byte == 0xF4) *high = 0x8F;
  return 4;
}

int32_t iso__utf8_decode_any(const uint8_t *bytes, size_t n_left, size_t *n_used) {
  uint8_t low, high;
  const size_t n = lead(bytes[0], &low, &high);
  size_t i = 1;
  for (; i < n && i < n_left && bytes[i] >= low && bytes[i] <= high; i++) low = 0x80, high = 0xBF;
  *n_used = i;
  if (i < n || n == 0) return -1;
  i = 0;
  return (int32_t)iso__utf8_next(bytes, &i);
}

size_t iso__utf8_valid_prefix(const uint8_t *bytes, size_t n_bytes) {
  size_t i = 0, n_used;
  while (i < n_bytes) {
    if (i + 8 <= n_bytes && !(eight(bytes + i) & high_bits)) {
      i += 8;
      continue;
    }
    if (iso__utf8_decode_any(bytes + i, n_bytes - i, &n_used) < 0) return i;
    i += n_used;
  }
  return i;
}

int64_t iso__utf8_count(const uint8_t *bytes, size_t begin, size_t end) {
  int64_t n = 0;
  size_t i = begin;
  for (; i + 8 <= end; i += 8) {
    const uint64_t word = eight(bytes + i); /* a byte 10xxxxxx continues a code point */
    n += 8 - __builtin_popcountll(word & ~(word << 1) & high_bits);
  }
  for (; i < end; i++) n += (bytes[i] & 0xC0) != 0x80;
  return n;
}
