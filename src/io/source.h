/* source.h: bytes to parse, from a file or from memory, with the name that errors about them carry. */
#ifndef ISO_IO_SOURCE_H
#define ISO_IO_SOURCE_H
#include "base/context.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the file formats are read and written as little-endian memory");

typedef struct iso__source {
  const char *name;     /* what messages begin with: the path or its tail */
  const uint8_t *bytes; /* NULL: a file */
  int fd;               /* -1: memory */
  uint64_t n_bytes;
} iso__source;

/* A regular file, size taken now. Read by pread, never mapped: a file cut short while we read is an error, not a
 * SIGBUS. */
bool iso__source_open(iso_context *ctx, const char *path, iso__source *out);
void iso__source_close(iso__source *source);
/* Borrows the bytes. */
iso__source iso__source_memory(const char *name, const void *bytes, size_t n_bytes);

/* Exactly n_bytes from an offset. Where the source ends before: CORRUPT, naming `what`. */
bool iso__source_read(iso_context *ctx, const iso__source *source, uint64_t offset, void *dst, uint64_t n_bytes,
                      const char *what);

/* The path, or its last 200 characters: errors have room for the rest. */
const char *iso__path_tail(const char *path);
/* Bytes of a file as text for a message: what is not printable ASCII becomes '?', a long text ends in "...". Returns
 * text. */
char *iso__printable(const void *bytes, size_t n_bytes, char *text, size_t n_text);
/* An errno value as text. Returns text. */
char *iso__errno_text(int error, char *text, size_t n_text);

static inline uint16_t iso__u16_le(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t iso__u32_le(const uint8_t *p) { return iso__u16_le(p) | (uint32_t)iso__u16_le(p + 2) << 16; }
static inline uint64_t iso__u64_le(const uint8_t *p) { return iso__u32_le(p) | (uint64_t)iso__u32_le(p + 4) << 32; }
static inline uint32_t iso__u32_be(const uint8_t *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

#endif
