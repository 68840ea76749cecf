/* source.c: positioned reads of a file or of memory, and what error messages about them need. */
#include "io/source.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *iso__path_tail(const char *path) {
  const size_t n = strlen(path), n_kept = 200;
  return n > n_kept ? path + (n - n_kept) : path;
}

char *iso__printable(const void *bytes, size_t n_bytes, char *text, size_t n_text) {
  const unsigned char *from = bytes;
  const bool cut = n_bytes > n_text - 1;
  const size_t n = cut ? n_text - 4 : n_bytes;
  for (size_t i = 0; i < n; i++) text[i] = from[i] >= 0x20 && from[i] < 0x7f ? (char)from[i] : '?';
  memcpy(text + n, cut ? "..." : "", cut ? 4 : 1);
  return text;
}

char *iso__errno_text(int error, char *text, size_t n_text) {
  if (strerror_r(error, text, n_text) != 0) snprintf(text, n_text, "error %d", error);
  return text;
}

iso__source iso__source_memory(const char *name, const void *bytes, size_t n_bytes) {
  static const uint8_t nothing[1];
  return (iso__source){.name = name, .bytes = bytes ? bytes : nothing, .fd = -1, .n_bytes = n_bytes};
}

bool iso__source_open(iso_context *ctx, const char *path, iso__source *out) {
  if (iso__failed(ctx)) return false;
  if (!path) return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "read", "the path is NULL"), false;
  char text[128];
  const char *name = iso__path_tail(path);
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* O_NONBLOCK: a FIFO must not hang us before fstat */
  if (fd < 0) {
    const int error = errno;
    const iso_status code = error == ENOENT || error == ENOTDIR ? ISO_NOT_FOUND : ISO_IO;
    return ISO__FAIL(ctx, code, name, "cannot open: %s", iso__errno_text(error, text, sizeof text)), false;
  }
  struct stat info;
  if (fstat(fd, &info) != 0) {
    ISO__FAIL(ctx, ISO_IO, name, "cannot ask for the size: %s", iso__errno_text(errno, text, sizeof text));
  } else if (S_ISDIR(info.st_mode)) {
    ISO__FAIL(ctx, ISO_IO, name, "is a directory, not a file");
  } else if (!S_ISREG(info.st_mode)) {
    ISO__FAIL(ctx, ISO_UNSUPPORTED, name, "is not a regular file");
  } else {
    *out = (iso__source){.name = name, .fd = fd, .n_bytes = (uint64_t)info.st_size};
    return true;
  }
  close(fd);
  return false;
}

void iso__source_close(iso__source *source) {
  if (source->fd >= 0) close(source->fd);
  source->fd = -1;
}

static bool read_file(iso_context *ctx, const iso__source *source, uint64_t offset, uint8_t *dst, uint64_t n_bytes) {
  const uint64_t n_most = 1 << 30; /* Linux moves a little less than 2 GiB a call */
  while (n_bytes > 0) {
    const size_t n_asked = (size_t)(n_bytes < n_most ? n_bytes : n_most);
    const ssize_t n_got = pread(source->fd, dst, n_asked, (off_t)offset);
    if (n_got < 0 && errno == EINTR) continue;
    if (n_got < 0) {
      char text[128];
      return ISO__FAIL(ctx, ISO_IO, source->name, "cannot read at byte %llu: %s", (unsigned long long)offset,
                       iso__errno_text(errno, text, sizeof text)),
             false;
    }
    if (n_got == 0)
      return ISO__FAIL(ctx, ISO_IO, source->name, "was cut to %llu bytes while being read, from %llu",
                       (unsigned long long)offset, (unsigned long long)source->n_bytes),
             false;
    dst += n_got, offset += (uint64_t)n_got, n_bytes -= (uint64_t)n_got;
  }
  return true;
}

bool iso__source_read(iso_context *ctx, const iso__source *source, uint64_t offset, void *dst, uint64_t n_bytes,
                      const char *what) {
  if (iso__failed(ctx)) return false;
  if (offset > source->n_bytes || n_bytes > source->n_bytes - offset)
    return ISO__FAIL(ctx, ISO_CORRUPT, source->name, "ends after %llu bytes, inside %s",
                     (unsigned long long)source->n_bytes, what),
           false;
  if (source->fd >= 0) return read_file(ctx, source, offset, dst, n_bytes);
  if (n_bytes > 0) memcpy(dst, source->bytes + offset, (size_t)n_bytes);
  return true;
}
