/* stream.h: part of a source read in order: as it lies, gunzipped, or inflated. */
#ifndef ISO_IO_STREAM_H
#define ISO_IO_STREAM_H
#include <zlib.h>
#include "io/source.h"

typedef enum iso__stream_kind {
  ISO__STREAM_STORED,
  ISO__STREAM_GZIP,    /* RFC 1952, any number of members; checksums are verified */
  ISO__STREAM_DEFLATE, /* RFC 1951, bare, as in a zip */
} iso__stream_kind;

typedef struct iso__stream {
  iso_context *ctx;
  const iso__source *source;
  iso__stream_kind kind;
  uint64_t position, end; /* of the source's bytes that were not fetched yet */
  bool wants_crc;         /* crc is kept up to date over what was read */
  uint32_t crc;
  bool ended; /* the compressed data has said that it ends */
  uint8_t *input;
  z_stream z;
} iso__stream;

/* Bytes [begin, end) of the source, which must lie within it. The source must outlive the stream. */
bool iso__stream_open(iso_context *ctx, const iso__source *source, uint64_t begin, uint64_t end, iso__stream_kind kind,
                      iso__stream *out);
/* Gzip where the source begins like it, else as it lies. */
bool iso__stream_open_any(iso_context *ctx, const iso__source *source, iso__stream *out);
void iso__stream_close(iso__stream *stream);

/* No more bytes than this can come: exact for what is stored, else by DEFLATE's best ratio of 1032 to 1. What a header
 * claims is held against it before memory is asked for. */
uint64_t iso__stream_bound(const iso__stream *stream);
/* Exactly n_bytes; where fewer are left: CORRUPT, naming `what`. */
bool iso__stream_read(iso__stream *stream, void *dst, uint64_t n_bytes, const char *what);
/* All that is left, into *bytes, which grows (iso__grow); the caller frees it, on an error too. */
bool iso__stream_read_rest(iso__stream *stream, uint8_t **bytes, size_t *n_bytes, size_t *capacity);
/* Nothing may be left: otherwise CORRUPT. Verifies gzip's checksum. */
bool iso__stream_finish(iso__stream *stream);

/* zlib's memory comes from the context: counted, limited, and failing on request like all else. */
void iso__zlib_memory(iso_context *ctx, z_stream *z);
/* The error behind zlib's code. */
void iso__zlib_fail(iso_context *ctx, const char *name, const z_stream *z, int code);

#endif
