/* archive.h: makes gzip and zip bytes for tests and fuzz seeds. */
#ifndef ISO_TESTS_ARCHIVE_H
#define ISO_TESTS_ARCHIVE_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Compresses into out (room for n + n/1000 + 64 bytes); window_bits 31: gzip, -15: bare deflate. Returns the length. */
static inline size_t compress_bytes(const void *bytes, size_t n, int window_bits, uint8_t *out, size_t room) {
  z_stream z = {0};
  if (deflateInit2(&z, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK) abort();
  z.next_in = (z_const Bytef *)bytes, z.avail_in = (uInt)n, z.next_out = out, z.avail_out = (uInt)room;
  if (deflate(&z, Z_FINISH) != Z_STREAM_END) abort();
  deflateEnd(&z);
  return room - z.avail_out;
}

static inline uint8_t *put_le(uint8_t *p, uint64_t value, int n_bytes) {
  for (int i = 0; i < n_bytes; i++) *p++ = (uint8_t)(value >> 8 * i);
  return p;
}

typedef struct zip_maker {
  uint8_t *bytes, directory[4096];
  size_t n, n_directory, n_members;
} zip_maker;

/* Appends a member; method 0 or 8 (or a lie). */
static inline void zip_add(zip_maker *zip, const char *name, int method, const void *data, size_t n) {
  const size_t n_name = strlen(name), begin = zip->n;
  const uint32_t crc = (uint32_t)crc32(0, data, (uInt)n);
  uint8_t *local = zip->bytes + begin, *p = local + 30;
  memcpy(p, name, n_name);
  p += n_name;
  size_t n_stored = n;
  if (method == 8) n_stored = compress_bytes(data, n, -15, p, n + 256);
  else memcpy(p, data, n);
  zip->n = (size_t)(p - zip->bytes) + n_stored;
  p = put_le(put_le(put_le(put_le(put_le(local, 0x04034b50, 4), 20, 2), 0, 2), (uint64_t)method, 2), 0, 4);
  p = put_le(put_le(put_le(p, crc, 4), n_stored, 4), n, 4);
  put_le(put_le(p, n_name, 2), 0, 2);
  uint8_t *entry = zip->directory + zip->n_directory;
  p = put_le(put_le(put_le(put_le(put_le(entry, 0x02014b50, 4), 20, 2), 20, 2), 0, 2), (uint64_t)method, 2);
  p = put_le(put_le(put_le(put_le(p, 0, 4), crc, 4), n_stored, 4), n, 4);
  p = put_le(put_le(put_le(put_le(p, n_name, 2), 0, 2), 0, 2), 0, 2);
  p = put_le(put_le(put_le(p, 0, 2), 0, 4), begin, 4);
  memcpy(p, name, n_name);
  zip->n_directory += 46 + n_name;
  zip->n_members++;
}

static inline size_t zip_end(zip_maker *zip, const char *comment) {
  const size_t begin = zip->n, n_comment = strlen(comment);
  memcpy(zip->bytes + begin, zip->directory, zip->n_directory);
  uint8_t *p = zip->bytes + begin + zip->n_directory;
  p = put_le(put_le(put_le(put_le(p, 0x06054b50, 4), 0, 4), zip->n_members, 2), zip->n_members, 2);
  p = put_le(put_le(put_le(p, zip->n_directory, 4), begin, 4), n_comment, 2);
  memcpy(p, comment, n_comment);
  return zip->n = (size_t)(p - zip->bytes) + n_comment;
}

/* A one-axis f32 .npy file of n ≤ 16 elements: 80 + 4·n bytes. */
static inline size_t make_npy(uint8_t *out, const float *values, size_t n) {
  const char dict[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (%),           }    \n";
  memcpy(out, "\x93NUMPY\x01\0", 8);
  put_le(out + 8, 70, 2);
  memset(out + 10, ' ', 70);
  const size_t n_head = (size_t)(strchr(dict, '%') - dict);
  memcpy(out + 10, dict, n_head);
  uint8_t *p = out + 10 + n_head;
  if (n >= 10) *p++ = '1';
  *p++ = (uint8_t)('0' + n % 10), *p++ = ',', *p++ = ')', *p++ = '}';
  out[79] = '\n';
  memcpy(out + 80, values, 4 * n);
  return 80 + 4 * n;
}

#endif
