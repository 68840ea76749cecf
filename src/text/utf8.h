/* utf8.h: UTF-8 in and out. */
#ifndef ISO_TEXT_UTF8_H
#define ISO_TEXT_UTF8_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ISO__REPLACEMENT = 0xFFFD };

/* Where the bytes stop being UTF-8 (no overlong form, surrogate or code point above U+10FFFF); n_bytes: nowhere. */
size_t iso__utf8_valid_prefix(const uint8_t *bytes, size_t n_bytes);
/* A code point of any bytes (n_left of at least 1), *n_used of them. What is none gives -1 and its maximal subpart, the
 * bytes that one U+FFFD stands for in the Unicode Standard (3.9), Python and Rust. */
int32_t iso__utf8_decode_any(const uint8_t *bytes, size_t n_left, size_t *n_used);
/* Bytes [begin, end) of valid UTF-8 in code points. */
int64_t iso__utf8_count(const uint8_t *bytes, size_t begin, size_t end);

/* The code point at *i of valid UTF-8; *i goes past it. */
static inline uint32_t iso__utf8_next(const uint8_t *bytes, size_t *i) {
  const uint8_t *p = bytes + *i;
  if (p[0] < 0x80) return *i += 1, p[0];
  if (p[0] < 0xE0) return *i += 2, (p[0] & 0x1Fu) << 6 | (p[1] & 0x3Fu);
  if (p[0] < 0xF0) return *i += 3, (p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
  return *i += 4, (p[0] & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
}
/* The code point before `end` (of at least 1) of valid UTF-8; *begin is where it begins. */
static inline uint32_t iso__utf8_last(const uint8_t *bytes, size_t end, size_t *begin) {
  size_t i = end - 1;
  while ((bytes[i] & 0xC0) == 0x80) i--;
  *begin = i;
  return iso__utf8_next(bytes, &i);
}
/* Writes a code point, and returns its bytes' number. */
static inline size_t iso__utf8_put(uint32_t c, uint8_t out[4]) {
  if (c < 0x80) return out[0] = (uint8_t)c, 1;
  if (c < 0x800) return out[0] = (uint8_t)(0xC0 | c >> 6), out[1] = (uint8_t)(0x80 | (c & 0x3F)), 2;
  if (c < 0x10000)
    return out[0] = (uint8_t)(0xE0 | c >> 12), out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3F)),
           out[2] = (uint8_t)(0x80 | (c & 0x3F)), 3;
  out[0] = (uint8_t)(0xF0 | c >> 18), out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3F));
  out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3F)), out[3] = (uint8_t)(0x80 | (c & 0x3F));
  return 4;
}
#endif
