/* file.c: reading and replacing small files with plain system calls, since nothing of it may wait, print or stop. */
#include "plan/file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"

int iso__file_open(const char *path, size_t *n_bytes) {
  struct stat info;
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return -1;
  int wrong = fstat(fd, &info) ? errno : S_ISREG(info.st_mode) ? 0 : S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
  if (wrong) return close(fd), errno = wrong, -1;
  *n_bytes = (size_t)info.st_size;
  return fd;
}

ssize_t iso__file_read(int fd, void *bytes, size_t n) {
  size_t done = 0;
  while (done < n) {
    const ssize_t got = read(fd, (char *)bytes + done, n - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += (size_t)got;
  }
  return (ssize_t)done;
}

static bool write_all(int fd, const char *bytes, size_t n) {
  while (n > 0) {
    const ssize_t put = write(fd, bytes, n);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes += put, n -= (size_t)put;
  }
  return true;
}

bool iso__file_replace(const char *path, const void *bytes, size_t n, bool sync) {
  char beside[4096];
  int fd = -1;
  for (int i = 0; i < 3 && fd < 0; i++) { /* another machine's process may have our number: then the clock differs */
    const int length =
        snprintf(beside, sizeof beside, "%s.%ld.%llx.tmp", path, (long)getpid(), (unsigned long long)iso__clock_ns());
    if (length < 0 || (size_t)length >= sizeof beside) return errno = ENAMETOOLONG, false;
    fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST) return false;
  }
  if (fd < 0) return false;
  bool ok = write_all(fd, bytes, n) && (!sync || fsync(fd) == 0);
  int wrong = errno;
  if (close(fd) != 0 && ok) ok = false, wrong = errno; /* network file systems report a full disk here */
  if (ok && rename(beside, path) != 0) ok = false, wrong = errno;
  if (!ok) unlink(beside), errno = wrong;
  return ok;
}
