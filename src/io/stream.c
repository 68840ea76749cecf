/* stream.c: sequential reading through zlib. Output goes straight into the caller's memory, so a tensor is inflated
 * where it will live; only the compressed side has a buffer. */
#include "io/stream.h"
#include <string.h>

enum { INPUT_BYTES = 1 << 16, ZLIB_HEADER_BYTES = ISO__ALIGNMENT };

/* zlib frees without a size, the heap wants one: it waits in front of the block. */
static voidpf zlib_alloc(voidpf opaque, uInt n_items, uInt item_bytes) {
  const size_t n_bytes = (size_t)n_items * item_bytes + ZLIB_HEADER_BYTES;
  uint8_t *block = iso__alloc(opaque, n_bytes);
  if (!block) return NULL;
  memcpy(block, &n_bytes, sizeof n_bytes);
  return block + ZLIB_HEADER_BYTES;
}

static void zlib_free(voidpf opaque, voidpf address) {
  if (!address) return;
  uint8_t *block = (uint8_t *)address - ZLIB_HEADER_BYTES;
  size_t n_bytes;
  memcpy(&n_bytes, block, sizeof n_bytes);
  iso__free(opaque, block, n_bytes);
}

void iso__zlib_memory(iso_context *ctx, z_stream *z) { z->zalloc = zlib_alloc, z->zfree = zlib_free, z->opaque = ctx; }

void iso__zlib_fail(iso_context *ctx, const char *name, const z_stream *z, int code) {
  if (code == Z_MEM_ERROR) {
    ISO__FAIL(ctx, ISO_OUT_OF_MEMORY, name, "no memory to compress or expand");
  } else {
    ISO__FAIL(ctx, ISO_CORRUPT, name, "compressed data is damaged: %s", z->msg ? z->msg : "unknown reason");
  }
}

bool iso__stream_open(iso_context *ctx, const iso__source *source, uint64_t begin, uint64_t end, iso__stream_kind kind,
                      iso__stream *out) {
  if (iso__failed(ctx)) return false;
  *out = (iso__stream){.ctx = ctx, .source = source, .kind = kind, .position = begin, .end = end};
  if (kind == ISO__STREAM_STORED) return true;
  out->input = iso__alloc(ctx, INPUT_BYTES);
  if (!out->input) return false;
  iso__zlib_memory(ctx, &out->z);
  const int code = inflateInit2(&out->z, kind == ISO__STREAM_GZIP ? 16 + MAX_WBITS : -MAX_WBITS);
  if (code == Z_OK) return true;
  iso__zlib_fail(ctx, source->name, &out->z, code);
  iso__free(ctx, out->input, INPUT_BYTES);
  return false;
}

bool iso__stream_open_any(iso_context *ctx, const iso__source *source, iso__stream *out) {
  uint8_t magic[2] = {0};
  if (source->n_bytes >= 2 && !iso__source_read(ctx, source, 0, magic, 2, "the magic number")) return false;
  const bool gzip = magic[0] == 0x1f && magic[1] == 0x8b;
  return iso__stream_open(ctx, source, 0, source->n_bytes, gzip ? ISO__STREAM_GZIP : ISO__STREAM_STORED, out);
}

void iso__stream_close(iso__stream *stream) {
  if (stream->kind == ISO__STREAM_STORED) return;
  inflateEnd(&stream->z);
  iso__free(stream->ctx, stream->input, INPUT_BYTES);
}

uint64_t iso__stream_bound(const iso__stream *stream) {
  const uint64_t n_left = stream->end - stream->position;
  if (stream->kind == ISO__STREAM_STORED) return n_left;
  /* 2^17: what zlib may hold back, a window and a match */
  return (n_left + stream->z.avail_in) * 1032 + (UINT64_C(1) << 17);
}

static bool refill(iso__stream *s) {
  const uint64_t n_left = s->end - s->position;
  const uint32_t n = n_left < INPUT_BYTES ? (uint32_t)n_left : INPUT_BYTES;
  if (n == 0) return true;
  if (!iso__source_read(s->ctx, s->source, s->position, s->input, n, "compressed data")) return false;
  s->position += n;
  s->z.next_in = s->input, s->z.avail_in = n;
  return true;
}

/* One member is complete. Another may follow in a gzip file; what follows and is none, inflate refuses. */
static bool member_end(iso__stream *s) {
  if (s->kind == ISO__STREAM_GZIP) {
    if (s->z.avail_in == 0 && !refill(s)) return false;
    if (s->z.avail_in > 0) return inflateReset(&s->z) == Z_OK;
  }
  s->ended = true;
  return true;
}

/* Up to n_bytes, fewer only where the data ends. */
static bool inflate_some(iso__stream *s, uint8_t *dst, uint64_t n_bytes, uint64_t *n_got) {
  const uint64_t n_most = 1 << 30; /* zlib counts in 32 bits */
  *n_got = 0;
  while (*n_got < n_bytes && !s->ended) {
    if (s->z.avail_in == 0 && !refill(s)) return false;
    const uint64_t n_wanted = n_bytes - *n_got;
    const uInt n_room = (uInt)(n_wanted < n_most ? n_wanted : n_most);
    s->z.next_out = dst + *n_got, s->z.avail_out = n_room;
    const int code = inflate(&s->z, Z_NO_FLUSH);
    *n_got += n_room - s->z.avail_out;
    if (code == Z_STREAM_END) {
      if (!member_end(s)) return false;
    } else if (code == Z_BUF_ERROR && s->position == s->end) {
      return ISO__FAIL(s->ctx, ISO_CORRUPT, s->source->name, "compressed data is cut off at byte %llu",
                       (unsigned long long)s->end),
             false;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      return iso__zlib_fail(s->ctx, s->source->name, &s->z, code), false;
    }
  }
  return true;
}

static void add_crc(iso__stream *s, const uint8_t *bytes, uint64_t n_bytes) {
  for (uint64_t i = 0; i < n_bytes; i += INPUT_BYTES)
    s->crc = (uint32_t)crc32(s->crc, bytes + i, (uInt)(n_bytes - i < INPUT_BYTES ? n_bytes - i : INPUT_BYTES));
}

bool iso__stream_read(iso__stream *stream, void *dst, uint64_t n_bytes, const char *what) {
  if (iso__failed(stream->ctx)) return false;
  uint64_t n_got = n_bytes;
  if (stream->kind == ISO__STREAM_STORED) {
    const uint64_t n_left = stream->end - stream->position;
    if (n_bytes > n_left) n_got = n_left;
    else if (!iso__source_read(stream->ctx, stream->source, stream->position, dst, n_bytes, what)) return false;
    else stream->position += n_bytes;
  } else if (!inflate_some(stream, dst, n_bytes, &n_got)) {
    return false;
  }
  if (n_got < n_bytes)
    return ISO__FAIL(stream->ctx, ISO_CORRUPT, stream->source->name, "ends inside %s: %llu of %llu bytes are there",
                     what, (unsigned long long)n_got, (unsigned long long)n_bytes),
           false;
  if (stream->wants_crc) add_crc(stream, dst, n_bytes);
  return true;
}

bool iso__stream_read_rest(iso__stream *s, uint8_t **bytes, size_t *n_bytes, size_t *capacity) {
  if (iso__failed(s->ctx)) return false;
  if (s->kind == ISO__STREAM_STORED) {
    const uint64_t n_left = s->end - s->position;
    *n_bytes = 0;
    if (n_left > SIZE_MAX || !iso__grow(s->ctx, (void **)bytes, capacity, (size_t)n_left, 1)) return false;
    *n_bytes = (size_t)n_left;
    return iso__stream_read(s, *bytes, n_left, "the file");
  }
  for (*n_bytes = 0; !s->ended;) {
    uint64_t n_got;
    if (!iso__grow(s->ctx, (void **)bytes, capacity, *n_bytes + INPUT_BYTES, 1) ||
        !inflate_some(s, *bytes + *n_bytes, *capacity - *n_bytes, &n_got))
      return false;
    *n_bytes += (size_t)n_got;
  }
  return true;
}

bool iso__stream_finish(iso__stream *stream) {
  if (iso__failed(stream->ctx)) return false;
  uint64_t n_left = stream->end - stream->position;
  if (stream->kind != ISO__STREAM_STORED) {
    uint8_t byte;
    uint64_t n_got;
    if (!inflate_some(stream, &byte, 1, &n_got)) return false;
    if (n_got > 0)
      return ISO__FAIL(stream->ctx, ISO_CORRUPT, stream->source->name, "more follows where the data should end"), false;
    n_left = stream->end - stream->position + stream->z.avail_in;
  }
  if (n_left == 0) return true;
  return ISO__FAIL(stream->ctx, ISO_CORRUPT, stream->source->name, "%llu bytes follow where the data should end",
                   (unsigned long long)n_left),
         false;
}
