/* writer.h: a file that appears whole or not at all: written beside its name, synced, renamed, the folder synced. */
#ifndef ISO_IO_WRITER_H
#define ISO_IO_WRITER_H
#include <zlib.h>
#include "io/source.h"
#include <isobit/numeric.h>

typedef struct iso__writer {
  iso_context *ctx;
  const char *name;  /* for messages */
  char *path, *temp; /* of a regular file: its real path and the one beside it; temp NULL: a device, written directly */
  size_t n_path, n_temp;
  int fd;
  uint8_t *buffer;
  size_t n_buffered;
  bool gzip;
  z_stream z;
} iso__writer;

bool iso__writer_open(iso_context *ctx, const char *path, bool gzip, iso__writer *out);
bool iso__writer_add(iso__writer *writer, const void *bytes, size_t n_bytes);
/* n elements with every NaN as the one quiet NaN of its type; most significant byte first if big_endian. */
bool iso__writer_add_elements(iso__writer *writer, iso_dtype dtype, const void *data, size_t n, bool big_endian);
/* ok: the new content takes the name. Otherwise, or when that fails, the old file stays and the new one is gone.
 * Always frees the writer; returns the context's code. */
iso_status iso__writer_end(iso__writer *writer, bool ok);

/* All of it at once. */
iso_status iso__file_write_atomic(iso_context *ctx, const char *path, const void *bytes, size_t n_bytes);

#endif
