/* file.h: small files of the plan room: read whole, replaced whole. */
#ifndef ISO_PLAN_FILE_H
#define ISO_PLAN_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Opens a regular file for reading and says its size; -1 with errno. Never waits for a pipe's other end. */
int iso__file_open(const char *path, size_t *n_bytes);
/* At most n bytes; how many, or -1 with errno. */
ssize_t iso__file_read(int fd, void *bytes, size_t n);
/* Writes beside the name and renames; with `sync`, also to the disk before that. False with errno, and nothing has
 * changed. */
bool iso__file_replace(const char *path, const void *bytes, size_t n, bool sync);
#endif
