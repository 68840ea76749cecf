/* store.c: the folders of records: where they are, reading one, keeping one, and what is in them. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "plan/file.h"
#include "plan/state.h"

enum { NAME_BYTES = 32 + 5 }; /* "<32 hex digits>.plan" */
enum { LEFTOVER_SECONDS = 600 };

/* ---- where ---- */

/* A folder's text; one that does not fit, like "none" and "", is none. */
static void set_path(char path[ISO__STORE_PATH_BYTES], const char *base, const char *below) {
  path[0] = '\0';
  if (!base || !*base || strcmp(base, "none") == 0) return;
  const int n = snprintf(path, ISO__STORE_PATH_BYTES, "%s%s", base, below);
  if (n < 0 || n >= ISO__STORE_PATH_BYTES) path[0] = '\0';
}

static void set_own_path(char path[ISO__STORE_PATH_BYTES], const char *folder) {
  const char *cache = getenv("XDG_CACHE_HOME");
  if (!folder || !*folder) folder = getenv("ISOBIT_STORE");
  if (folder && *folder) set_path(path, folder, "");
  else if (cache && *cache) set_path(path, cache, "/isobit/plans");
  else set_path(path, getenv("HOME"), "/.cache/isobit/plans");
}

static void set_paths(iso__store *store, const char *folder, const char *shared) {
  set_own_path(store->folder, folder);
  set_path(store->shared, shared && *shared ? shared : getenv("ISOBIT_STORE_SHARED"), "");
  store->is_prepared = store->gave_up = false;
  char both[2 * ISO__STORE_PATH_BYTES];
  const int n = snprintf(both, sizeof both, "%s\n%s", store->folder, store->shared);
  store->id = n > 1 ? iso__hash64(both, (size_t)n) | 1 : 0;
}

void iso__store_init(iso__store *store) {
  pthread_mutex_init(&store->mutex, NULL);
  set_paths(store, NULL, NULL);
}
void iso__store_release(iso__store *store) { pthread_mutex_destroy(&store->mutex); }

iso_status iso_store_open(iso_context *ctx, const char *folder, const char *shared_folder) {
  if (iso__failed(ctx)) return iso_error_code(ctx);
  if ((folder && strlen(folder) >= ISO__STORE_PATH_BYTES) ||
      (shared_folder && strlen(shared_folder) >= ISO__STORE_PATH_BYTES))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, __func__, "the folder's name has more than %d bytes",
                     ISO__STORE_PATH_BYTES - 1);
  iso__store *store = &iso__plan_state_of(ctx)->job->store;
  pthread_mutex_lock(&store->mutex);
  set_paths(store, folder, shared_folder);
  pthread_mutex_unlock(&store->mutex);
  return ISO_OK;
}

/* ---- one record ---- */

/* A record's path; false for a folder that is none. */
static bool path_of(const char *folder, const char *head, size_t n_head, char path[ISO__STORE_PATH_BYTES + 64]) {
  char hex[33];
  if (!folder[0]) return false;
  iso__hash_format(iso__hash_bytes(head, n_head), hex);
  snprintf(path, ISO__STORE_PATH_BYTES + 64, "%s/%s.plan", folder, hex);
  return true;
}

/* The whole file; 0: not there, not a plain file, or larger than any record. */
static size_t read_small(const char *path, char bytes[ISO__RECORD_BYTES]) {
  size_t n;
  const int fd = iso__file_open(path, &n);
  if (fd < 0) return 0;
  const ssize_t got = n < ISO__RECORD_BYTES ? iso__file_read(fd, bytes, ISO__RECORD_BYTES) : 0;
  close(fd);
  return got > 0 && got < ISO__RECORD_BYTES ? (size_t)got : 0;
}

bool iso__store_find(iso__store *store, const char *head, size_t n_head, int n_engines, iso__record *record) {
  char paths[2][ISO__STORE_PATH_BYTES + 64], bytes[ISO__RECORD_BYTES];
  if (!store->id) return false;
  pthread_mutex_lock(&store->mutex);
  const bool has_path[2] = {path_of(store->folder, head, n_head, paths[0]),
                            path_of(store->shared, head, n_head, paths[1])};
  pthread_mutex_unlock(&store->mutex);
  for (int i = 0; i < 2; i++) {
    const size_t n = has_path[i] ? read_small(paths[i], bytes) : 0;
    if (n && iso__record_parse(bytes, n, head, n_head, n_engines, record)) return true;
  }
  return false;
}

/* Makes the folder and those around it. */
static bool make_folder(const char *folder) {
  char path[ISO__STORE_PATH_BYTES];
  snprintf(path, sizeof path, "%s", folder);
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(path, 0777); /* the last mkdir says what is wrong */
    *slash = '/';
  }
  struct stat info;
  if (mkdir(path, 0777) == 0) return true;
  const int wrong = errno;
  if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return true;
  return errno = wrong == EEXIST ? ENOTDIR : wrong, false;
}

static bool ends_with(const char *name, const char *end) {
  const size_t n = strlen(name), n_end = strlen(end);
  return n >= n_end && strcmp(name + n - n_end, end) == 0;
}

/* What writers that were killed left behind. */
static void remove_leftovers(const char *folder) {
  char path[ISO__STORE_PATH_BYTES + 260];
  struct stat info;
  DIR *entries = opendir(folder);
  if (!entries) return;
  for (const struct dirent *e; (e = readdir(entries));) {
    if (!ends_with(e->d_name, ".tmp") || !strstr(e->d_name, ".plan.")) continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (lstat(path, &info) == 0 && S_ISREG(info.st_mode) && time(NULL) - info.st_mtime > LEFTOVER_SECONDS) unlink(path);
  }
  closedir(entries);
}

void iso__store_keep(iso_context *ctx, iso__store *store, const char *text, size_t n_bytes, size_t n_head) {
  char path[ISO__STORE_PATH_BYTES + 64];
  pthread_mutex_lock(&store->mutex);
  bool must_say = false;
  if (!store->gave_up && path_of(store->folder, text, n_head, path)) {
    bool ok = store->is_prepared || make_folder(store->folder);
    if (ok && !store->is_prepared) remove_leftovers(store->folder), store->is_prepared = true;
    ok = ok && iso__file_replace(path, text, n_bytes, false);
    if (!ok) store->gave_up = must_say = true;
  }
  const int wrong = errno;
  pthread_mutex_unlock(&store->mutex);
  if (must_say)
    iso__warn(ctx, "measured plans are not kept: %s: %s. Set ISOBIT_STORE to a folder that can be written, or to none",
              store->folder, strerror(wrong));
}

/* ---- what is there ---- */

static bool is_record_name(const char *name) {
  return strlen(name) == NAME_BYTES && strspn(name, "0123456789abcdef") == 32 && ends_with(name, ".plan");
}

/* Whether a folder that is not there could be made. */
static bool can_be_made(const char *folder) {
  char path[ISO__STORE_PATH_BYTES];
  snprintf(path, sizeof path, "%s", folder);
  for (char *slash; (slash = strrchr(path, '/'));) {
    *slash = '\0';
    if (access(*path ? path : "/", F_OK) == 0) return access(*path ? path : "/", W_OK | X_OK) == 0;
  }
  return access(".", W_OK | X_OK) == 0;
}

static void look_into(const char *folder, iso_store_folder *out) {
  *out = (iso_store_folder){0};
  if (!folder[0]) return;
  snprintf(out->path, sizeof out->path, "%s", folder);
  DIR *entries = opendir(folder);
  out->exists = entries != NULL;
  out->writable = entries ? access(folder, W_OK | X_OK) == 0 : errno == ENOENT && can_be_made(folder);
  for (const struct dirent *e; entries && (e = readdir(entries));) {
    char path[ISO__STORE_PATH_BYTES + 260], bytes[ISO__RECORD_BYTES];
    struct stat info;
    if (!is_record_name(e->d_name)) continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    const size_t n = read_small(path, bytes);
    if (n && iso__record_is_whole(bytes, n)) out->n_records++;
    else out->n_bad++;
    if (lstat(path, &info) == 0) out->n_bytes += (uint64_t)info.st_size;
  }
  if (entries) closedir(entries);
}

iso_status iso_store_get_info(iso_context *ctx, iso_store_info *info) {
  if (!ctx || !info) return ISO_INVALID_ARGUMENT;
  iso__store *store = &iso__plan_state_of(ctx)->job->store;
  pthread_mutex_lock(&store->mutex);
  look_into(store->folder, &info->own);
  look_into(store->shared, &info->shared);
  pthread_mutex_unlock(&store->mutex);
  return ISO_OK;
}
