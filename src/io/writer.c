/* writer.c: atomic file writing. rename(2) replaces a name in one step, so a reader, a crash or a kill finds the old
 * content or the new; the syncs around it order the two on the disk. */
#include "io/writer.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "io/elements.h"
#include "io/stream.h"

enum { BUFFER_BYTES = 1 << 16, CHUNK_BYTES = 1 << 13 };

static bool fail_errno(iso__writer *w, const char *doing, int error) {
  char text[128];
  return ISO__FAIL(w->ctx, ISO_IO, w->name, "cannot %s: %s", doing, iso__errno_text(error, text, sizeof text)), false;
}

static char *copy_text(iso_context *ctx, const char *text, size_t n_room, size_t *n_bytes) {
  *n_bytes = strlen(text) + n_room;
  char *copy = iso__alloc(ctx, *n_bytes);
  if (copy) memcpy(copy, text, strlen(text) + 1);
  return copy;
}

/* Follows links, so that the file behind one is replaced and not the link. */
static bool find_target(iso__writer *w, const char *path, bool *direct) {
  struct stat info;
  *direct = false;
  if (stat(path, &info) != 0) {
    w->path = copy_text(w->ctx, path, 1, &w->n_path);
    return w->path != NULL;
  }
  if (S_ISDIR(info.st_mode)) return ISO__FAIL(w->ctx, ISO_IO, w->name, "is a directory, not a file"), false;
  *direct = !S_ISREG(info.st_mode);
  char *real = realpath(path, NULL);
  if (!real) return fail_errno(w, "resolve the path", errno);
  w->path = copy_text(w->ctx, real, 1, &w->n_path);
  free(real);
  return w->path != NULL;
}

/* ---- what killed writers left: NAME.PID-N.tmp that nobody holds a lock on, for a kill ends the lock ---- */

static bool is_temp_of(const char *item, const char *name) {
  const size_t n = strlen(name);
  if (strncmp(item, name, n) != 0 || item[n] != '.') return false;
  item += n + 1;
  const size_t n_pid = strspn(item, "0123456789");
  if (n_pid == 0 || item[n_pid] != '-') return false;
  item += n_pid + 1;
  const size_t n_try = strspn(item, "0123456789");
  return n_try > 0 && strcmp(item + n_try, ".tmp") == 0;
}

static void remove_if_abandoned(int folder, const char *item) {
  const int fd = openat(folder, item, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) unlinkat(folder, item, 0);
  close(fd);
}

static void remove_abandoned(const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  char folder[4096];
  const size_t n = (size_t)(name - path);
  if (n >= sizeof folder) return;
  memcpy(folder, path, n);
  memcpy(folder + n, n ? "" : ".", n ? 1 : 2);
  DIR *dir = opendir(folder);
  if (!dir) return;
  for (struct dirent *item; (item = readdir(dir));)
    if (is_temp_of(item->d_name, name)) remove_if_abandoned(dirfd(dir), item->d_name);
  closedir(dir);
}

/* Locked, and still there: somebody who cleaned up may have been faster than the lock. Where a file system knows no
 * locks nobody can take one either, so nothing is cleaned up. */
static bool is_ours(int fd) {
  struct stat info;
  flock(fd, LOCK_EX);
  return fstat(fd, &info) != 0 || info.st_nlink > 0;
}

static bool open_target(iso__writer *w, bool direct) {
  if (direct) {
    w->fd = open(w->path, O_WRONLY | O_CLOEXEC);
    return w->fd >= 0 || fail_errno(w, "open", errno);
  }
  w->temp = copy_text(w->ctx, w->path, 64, &w->n_temp);
  if (!w->temp) return false;
  const size_t n = strlen(w->path);
  remove_abandoned(w->path);
  for (unsigned try = 0; w->fd < 0 && try < 1000; try++) {
    snprintf(w->temp + n, w->n_temp - n, ".%ld-%u.tmp", (long)getpid(), try);
    w->fd = open(w->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (w->fd < 0 && errno != EEXIST) break;
    if (w->fd >= 0 && !is_ours(w->fd)) close(w->fd), w->fd = -1;
  }
  return w->fd >= 0 || fail_errno(w, "create a file beside it", errno);
}

static void writer_free(iso__writer *w) {
  if (w->fd >= 0) close(w->fd);
  if (w->z.state) deflateEnd(&w->z);
  iso__free(w->ctx, w->path, w->n_path);
  iso__free(w->ctx, w->temp, w->n_temp);
  iso__free(w->ctx, w->buffer, BUFFER_BYTES);
  *w = (iso__writer){.ctx = w->ctx, .fd = -1};
}

bool iso__writer_open(iso_context *ctx, const char *path, bool gzip, iso__writer *out) {
  if (iso__failed(ctx)) return false;
  if (!path || !*path) return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "write", "the path is empty"), false;
  *out = (iso__writer){.ctx = ctx, .name = iso__path_tail(path), .fd = -1, .gzip = gzip};
  bool direct, ok = false;
  out->buffer = iso__alloc(ctx, BUFFER_BYTES);
  if (out->buffer && find_target(out, path, &direct)) {
    int code = Z_OK;
    if (gzip) {
      iso__zlib_memory(ctx, &out->z);
      code = deflateInit2(&out->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
      out->z.next_out = out->buffer, out->z.avail_out = BUFFER_BYTES;
    }
    if (code != Z_OK) iso__zlib_fail(ctx, out->name, &out->z, code);
    else ok = open_target(out, direct);
  }
  if (!ok) writer_free(out);
  return ok;
}

static bool write_all(iso__writer *w, const uint8_t *bytes, size_t n_bytes) {
  while (n_bytes > 0) {
    const ssize_t n = write(w->fd, bytes, n_bytes < (1u << 30) ? n_bytes : 1u << 30);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(w, "write", errno);
    bytes += n, n_bytes -= (size_t)n;
  }
  return true;
}

/* Feeds zlib's pending input; with Z_FINISH also drains it. The buffer is zlib's output then. */
static bool deflate_pending(iso__writer *w, int flush) {
  for (;;) {
    const int code = deflate(&w->z, flush);
    const bool done = flush == Z_FINISH ? code == Z_STREAM_END : w->z.avail_in == 0 && w->z.avail_out > 0;
    if (w->z.avail_out == 0 || (done && flush == Z_FINISH)) {
      if (!write_all(w, w->buffer, BUFFER_BYTES - w->z.avail_out)) return false;
      w->z.next_out = w->buffer, w->z.avail_out = BUFFER_BYTES;
    }
    if (done) return true;
  }
}

static bool flush(iso__writer *w) {
  if (w->gzip) {
    w->z.next_in = NULL, w->z.avail_in = 0;
    return deflate_pending(w, Z_FINISH);
  }
  const size_t n = w->n_buffered;
  w->n_buffered = 0;
  return write_all(w, w->buffer, n);
}

bool iso__writer_add(iso__writer *writer, const void *bytes, size_t n_bytes) {
  if (iso__failed(writer->ctx)) return false;
  const uint8_t *from = bytes;
  while (n_bytes > 0) {
    size_t n = n_bytes;
    if (writer->gzip) {
      if (n > 1u << 30) n = 1u << 30;
      writer->z.next_in = (z_const Bytef *)from, writer->z.avail_in = (uInt)n;
      if (!deflate_pending(writer, Z_NO_FLUSH)) return false;
    } else if (writer->n_buffered == 0 && n >= BUFFER_BYTES) {
      if (!write_all(writer, from, n)) return false;
    } else {
      if (n > BUFFER_BYTES - writer->n_buffered) n = BUFFER_BYTES - writer->n_buffered;
      memcpy(writer->buffer + writer->n_buffered, from, n);
      writer->n_buffered += n;
      if (writer->n_buffered == BUFFER_BYTES && !flush(writer)) return false;
    }
    from += n, n_bytes -= n;
  }
  return true;
}

bool iso__writer_add_elements(iso__writer *writer, iso_dtype dtype, const void *data, size_t n, bool big_endian) {
  _Alignas(8) uint8_t chunk[CHUNK_BYTES];
  const size_t item = iso_dtype_size(dtype), n_chunk = CHUNK_BYTES / item;
  for (size_t i = 0; i < n; i += n_chunk) {
    const size_t m = n - i < n_chunk ? n - i : n_chunk;
    memcpy(chunk, (const uint8_t *)data + i * item, m * item);
    iso__elements_quiet_nans(dtype, chunk, m);
    if (big_endian) iso__elements_swap(chunk, m, item);
    if (!iso__writer_add(writer, chunk, m * item)) return false;
  }
  return !iso__failed(writer->ctx);
}

/* The rename itself must reach the disk. Some file systems cannot sync a folder and say EINVAL: nothing more can be
 * done. */
static bool sync_folder(iso__writer *w) {
  char *slash = strrchr(w->path, '/');
  if (slash) slash[slash == w->path ? 1 : 0] = '\0';
  const int fd = open(slash ? w->path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fail_errno(w, "open the folder", errno);
  const int error = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  close(fd);
  return error == 0 || fail_errno(w, "sync the folder", error);
}

/* The lock ends with the close, so the name must be the final one by then. */
static bool rename_synced(iso__writer *w) {
  if (fsync(w->fd) != 0) return fail_errno(w, "sync", errno);
  return rename(w->temp, w->path) == 0 || fail_errno(w, "rename", errno);
}

static bool close_file(iso__writer *w) {
  const int fd = w->fd;
  w->fd = -1;
  return close(fd) == 0 || fail_errno(w, "close", errno);
}

iso_status iso__writer_end(iso__writer *writer, bool ok) {
  iso_context *ctx = writer->ctx;
  ok = ok && !iso__failed(ctx) && flush(writer) && (!writer->temp || rename_synced(writer));
  if (!ok && writer->temp) unlink(writer->temp);
  if (ok && close_file(writer) && writer->temp) sync_folder(writer);
  writer_free(writer);
  return iso_error_code(ctx);
}

iso_status iso__file_write_atomic(iso_context *ctx, const char *path, const void *bytes, size_t n_bytes) {
  iso__writer writer;
  if (!iso__writer_open(ctx, path, false, &writer)) return iso_error_code(ctx);
  return iso__writer_end(&writer, iso__writer_add(&writer, bytes, n_bytes));
}
