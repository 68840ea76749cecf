/* npz.c: numpy's archives: a zip (APPNOTE 6.3) whose members are npy files, stored or deflated. Only the central
 * directory is believed, after checks: every member within the file, and all members together no larger than it, so
 * that overlapping members cannot multiply what a small file expands to. */
#include "io/formats.h"
#include <string.h>

enum {
  END_BYTES = 22,   /* end of central directory, without its comment of at most 65535 bytes */
  ENTRY_BYTES = 46, /* central directory entry, without name, extra field, comment */
  LOCAL_BYTES = 30, /* local header, without name and extra field */
  MAX_NAME_BYTES = 1024
};

typedef struct archive {
  iso_context *ctx;
  const iso__source *source;
  uint8_t *directory;
  uint64_t directory_begin, n_directory;
  unsigned n_members;
  uint64_t n_spent; /* bytes of the file that the members so far account for */
} archive;

typedef struct member {
  char name[MAX_NAME_BYTES + 1];
  size_t n_name;
  unsigned method;
  uint32_t crc;
  uint64_t n_compressed, n_bytes, header_begin;
} member;

/* The end record is searched from the file's end backwards, over a comment. */
static bool read_end(archive *a) {
  const uint64_t n_file = a->source->n_bytes, n_most = END_BYTES + 65535, n_tail = n_file < n_most ? n_file : n_most;
  if (n_file < END_BYTES)
    return ISO__FAIL(a->ctx, ISO_CORRUPT, a->source->name, "is no zip file: it has %llu bytes",
                     (unsigned long long)n_file),
           false;
  uint8_t *tail = iso__alloc(a->ctx, (size_t)n_tail);
  bool ok = tail && iso__source_read(a->ctx, a->source, n_file - n_tail, tail, n_tail, "the zip end record");
  const uint8_t *end = NULL;
  for (uint64_t i = n_tail - END_BYTES + 1; ok && !end && i-- > 0;)
    if (iso__u32_le(tail + i) == 0x06054b50 && i + END_BYTES + iso__u16_le(tail + i + 20) == n_tail) end = tail + i;
  if (ok && !end) {
    ISO__FAIL(a->ctx, ISO_CORRUPT, a->source->name, "is no zip file: there is no end record");
  } else if (ok) {
    const uint64_t end_begin = n_file - n_tail + (uint64_t)(end - tail);
    a->n_members = iso__u16_le(end + 10);
    a->n_directory = iso__u32_le(end + 12), a->directory_begin = iso__u32_le(end + 16);
    if (a->n_members == 0xffff || a->directory_begin == 0xffffffff || a->n_directory == 0xffffffff) {
      ISO__FAIL(a->ctx, ISO_UNSUPPORTED, a->source->name, "is a zip64 archive, supported are those below 4 GiB");
    } else if (iso__u16_le(end + 4) != 0 || iso__u16_le(end + 6) != 0 || iso__u16_le(end + 8) != a->n_members) {
      ISO__FAIL(a->ctx, ISO_UNSUPPORTED, a->source->name, "is a zip archive of several disks");
    } else if (a->directory_begin + a->n_directory != end_begin) {
      ISO__FAIL(a->ctx, ISO_CORRUPT, a->source->name, "zip directory is at %llu + %llu bytes, expected to end at %llu",
                (unsigned long long)a->directory_begin, (unsigned long long)a->n_directory,
                (unsigned long long)end_begin);
    }
  }
  iso__free(a->ctx, tail, (size_t)n_tail);
  return !iso__failed(a->ctx);
}

/* The entry at *at of the directory; *at moves to the next. */
static bool read_entry(archive *a, uint64_t *at, member *m) {
  const uint8_t *p = a->directory + *at;
  const uint64_t n_left = a->n_directory - *at;
  if (n_left < ENTRY_BYTES || iso__u32_le(p) != 0x02014b50)
    return ISO__FAIL(a->ctx, ISO_CORRUPT, a->source->name, "zip directory has no entry at byte %llu",
                     (unsigned long long)(a->directory_begin + *at)),
           false;
  const uint64_t n_name = iso__u16_le(p + 28);
  const uint64_t n_entry = ENTRY_BYTES + n_name + iso__u16_le(p + 30) + iso__u16_le(p + 32);
  char text[80];
  const char *name = (const char *)p + ENTRY_BYTES;
  if (n_entry > n_left || n_name > MAX_NAME_BYTES || memchr(name, 0, n_name))
    return ISO__FAIL(a->ctx, ISO_CORRUPT, a->source->name, "zip directory entry at byte %llu has a name of %llu bytes",
                     (unsigned long long)(a->directory_begin + *at), (unsigned long long)n_name),
           false;
  memcpy(m->name, name, n_name);
  m->name[n_name] = '\0', m->n_name = n_name;
  m->method = iso__u16_le(p + 10), m->crc = iso__u32_le(p + 16);
  m->n_compressed = iso__u32_le(p + 20), m->n_bytes = iso__u32_le(p + 24), m->header_begin = iso__u32_le(p + 42);
  *at += n_entry;
  iso__printable(m->name, n_name, text, sizeof text);
  if (iso__u16_le(p + 8) & 1)
    return ISO__FAIL(a->ctx, ISO_UNSUPPORTED, a->source->name, "member '%s' is encrypted", text), false;
  if (m->n_compressed == 0xffffffff || m->n_bytes == 0xffffffff || m->header_begin == 0xffffffff)
    return ISO__FAIL(a->ctx, ISO_UNSUPPORTED, a->source->name, "member '%s' has zip64 sizes", text), false;
  if (m->method != 0 && m->method != 8)
    return ISO__FAIL(a->ctx, ISO_UNSUPPORTED, a->source->name,
                     "member '%s' has compression method %u, supported are 0 (stored) and 8 (deflate)", text,
                     m->method),
           false;
  if (n_name < 4 || memcmp(m->name + n_name - 4, ".npy", 4) != 0)
    return ISO__FAIL(a->ctx, ISO_UNSUPPORTED, a->source->name, "member '%s' is not a .npy file", text), false;
  m->name[m->n_name -= 4] = '\0';
  return true;
}

/* Where the member's data begins: behind the local header, whose own name and extra field may differ in length. */
static bool find_data(archive *a, const member *m, uint64_t *begin) {
  uint8_t local[LOCAL_BYTES];
  char text[80];
  iso__printable(m->name, m->n_name, text, sizeof text);
  if (!iso__source_read(a->ctx, a->source, m->header_begin, local, LOCAL_BYTES, "a zip local header")) return false;
  *begin = m->header_begin + LOCAL_BYTES + iso__u16_le(local + 26) + iso__u16_le(local + 28);
  if (iso__u32_le(local) != 0x04034b50)
    return ISO__FAIL(a->ctx, ISO_CORRUPT, a->source->name, "member '%s': no local header at byte %llu", text,
                     (unsigned long long)m->header_begin),
           false;
  if (*begin > a->directory_begin || m->n_compressed > a->directory_begin - *begin ||
      (m->method == 0 && m->n_bytes != m->n_compressed))
    return ISO__FAIL(a->ctx, ISO_CORRUPT, a->source->name,
                     "member '%s': %llu bytes (%llu expanded) at byte %llu do not fit", text,
                     (unsigned long long)m->n_compressed, (unsigned long long)m->n_bytes, (unsigned long long)*begin),
           false;
  a->n_spent += *begin - m->header_begin + m->n_compressed;
  if (a->n_spent > a->directory_begin)
    return ISO__FAIL(a->ctx, ISO_CORRUPT, a->source->name, "member '%s' overlaps others", text), false;
  return true;
}

static bool read_member(archive *a, const member *m, iso_tensor_dict *dict) {
  uint64_t begin;
  iso__stream stream;
  char name[160], text[80];
  if (!find_data(a, m, &begin)) return false;
  /* messages name the archive and the member */
  const size_t n = strlen(a->source->name), n_most = sizeof name - sizeof text - 2;
  const char *tail = n > n_most ? a->source->name + (n - n_most) : a->source->name;
  iso__source source = *a->source;
  source.name = strcat(strcat(strcpy(name, tail), ":"), iso__printable(m->name, m->n_name, text, sizeof text));
  if (!iso__stream_open(a->ctx, &source, begin, begin + m->n_compressed,
                        m->method == 0 ? ISO__STREAM_STORED : ISO__STREAM_DEFLATE, &stream))
    return false;
  stream.wants_crc = true;
  iso_tensor *t = iso__npy_read_stream(&stream);
  iso__stream_close(&stream);
  if (t && stream.crc != m->crc) {
    ISO__FAIL(a->ctx, ISO_CORRUPT, name, "checksum is %08x, the directory says %08x", stream.crc, m->crc);
    iso_release(t);
    return false;
  }
  return t && iso__dict_add(dict, m->name, m->n_name, t);
}

static iso_tensor_dict *read_source(iso_context *ctx, const iso__source *source) {
  archive a = {.ctx = ctx, .source = source};
  iso_tensor_dict *dict = iso__dict_new(ctx);
  member *m = iso__alloc(ctx, sizeof *m);
  bool ok = dict && m && read_end(&a);
  if (ok) a.directory = iso__alloc(ctx, (size_t)a.n_directory);
  ok = ok && a.directory &&
       iso__source_read(ctx, source, a.directory_begin, a.directory, a.n_directory, "the zip directory");
  uint64_t at = 0;
  for (unsigned i = 0; ok && i < a.n_members; i++) ok = read_entry(&a, &at, m) && read_member(&a, m, dict);
  if (ok && at != a.n_directory)
    ok = (ISO__FAIL(ctx, ISO_CORRUPT, source->name, "zip directory has %llu bytes, its %u entries fill %llu",
                    (unsigned long long)a.n_directory, a.n_members, (unsigned long long)at),
          false);
  ok = ok && iso__dict_sort(dict, source->name);
  iso__free(ctx, a.directory, (size_t)a.n_directory);
  iso__free(ctx, m, sizeof *m);
  if (!ok) iso_tensor_dict_free(dict);
  return ok ? dict : NULL;
}

iso_tensor_dict *iso__npz_parse(iso_context *ctx, const char *name, const void *bytes, size_t n_bytes) {
  if (iso__failed(ctx)) return NULL;
  const iso__source source = iso__source_memory(name, bytes, n_bytes);
  return read_source(ctx, &source);
}

iso_tensor_dict *iso_npz_read(iso_context *ctx, const char *path) {
  iso__source source;
  if (!iso__source_open(ctx, path, &source)) return NULL;
  iso_tensor_dict *dict = read_source(ctx, &source);
  iso__source_close(&source);
  return dict;
}
