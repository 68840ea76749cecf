/* image_folder.c: a folder a class. Names are listed and sorted by bytes, so that labels and sample numbers depend on
 * names alone, not on the file system's order; samples are read and decoded when somebody asks for them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/pool.h"
#include "data/dataset.h"
#include "io/source.h"

enum { PATH_BYTES = 4096, MAX_FILE_BYTES = 1 << 30 };

/* ---- files, without a context ---- */

void iso__image_files_release(iso__heap *heap, iso__image_files *f) {
  iso__heap_free(heap, f->text, f->n_text);
  iso__heap_free(heap, f->paths, (size_t)f->n_files * sizeof *f->paths);
  iso__heap_free(heap, f->classes, (size_t)f->n_classes * sizeof *f->classes);
  *f = (iso__image_files){0};
}

static bool refuse_errno(iso__image_fault *fault, const char *what) {
  char text[128];
  return iso__image_refuse(fault, errno == ENOENT ? ISO_NOT_FOUND : ISO_IO, "cannot %s: %s", what,
                           iso__errno_text(errno, text, sizeof text));
}
static bool read_all(int fd, uint8_t *bytes, size_t n, iso__image_fault *fault) {
  for (size_t at = 0; at < n;) {
    const ssize_t got = read(fd, bytes + at, n - at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse_errno(fault, "read");
    if (got == 0) return iso__image_refuse(fault, ISO_IO, "was cut to %zu bytes while being read", at);
    at += (size_t)got;
  }
  return true;
}
/* All of a regular file in a block of the heap. */
static uint8_t *read_file(const char *path, iso__heap *heap, size_t *n_bytes, iso__image_fault *fault) {
  struct stat info;
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return refuse_errno(fault, "open"), NULL;
  uint8_t *bytes = NULL;
  if (fstat(fd, &info) != 0) refuse_errno(fault, "ask for the size");
  else if (!S_ISREG(info.st_mode)) iso__image_refuse(fault, ISO_UNSUPPORTED, "is not a regular file");
  else if (info.st_size > MAX_FILE_BYTES) iso__image_refuse(fault, ISO_UNSUPPORTED, "is larger than 1 GiB");
  else if (*n_bytes = (size_t)info.st_size, !(bytes = iso__heap_alloc(heap, *n_bytes, NULL)))
    iso__image_refuse(fault, ISO_OUT_OF_MEMORY, "no memory for its %zu bytes", *n_bytes);
  else if (!read_all(fd, bytes, *n_bytes, fault)) iso__heap_free(heap, bytes, *n_bytes), bytes = NULL;
  close(fd);
  return bytes;
}

uint8_t *iso__image_files_decode(const iso__image_files *files, iso__heap *heap, int64_t i, iso__image_info *info,
                                 size_t *n_bytes, iso__image_fault *fault) {
  size_t n_file;
  uint8_t *pixels = NULL, *bytes = read_file(files->text + files->paths[i], heap, &n_file, fault);
  if (!bytes) return NULL;
  if (iso__image_probe(bytes, n_file, info, fault)) {
    *n_bytes = (size_t)info->width * (size_t)info->height * (size_t)info->channels;
    pixels = iso__heap_alloc(heap, *n_bytes, NULL);
    if (!pixels) iso__image_refuse(fault, ISO_OUT_OF_MEMORY, "no memory for %d×%d pixels", info->width, info->height);
    else if (!iso__image_decode(bytes, n_file, info, pixels, fault))
      iso__heap_free(heap, pixels, *n_bytes), pixels = NULL;
  }
  iso__heap_free(heap, bytes, n_file);
  return pixels;
}

/* ---- listing ---- */

/* Names, gathered by the C library's memory; sorted by bytes. */
typedef struct names {
  char **items;
  size_t n;
} names;
static void free_names(names *list) {
  for (size_t i = 0; i < list->n; i++) free(list->items[i]);
  free(list->items);
}
static bool add_name(names *list, const char *name) {
  char **items = realloc(list->items, (list->n + 1) * sizeof *items);
  if (items) list->items = items;
  return items && (items[list->n] = strdup(name)) && ++list->n;
}
static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static bool is_image(const char *name) {
  const char *end = strrchr(name, '.');
  return end && (!strcasecmp(end, ".png") || !strcasecmp(end, ".jpg") || !strcasecmp(end, ".jpeg"));
}
static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool join(iso_context *ctx, const char *folder, const char *name, char path[PATH_BYTES]) {
  if (snprintf(path, PATH_BYTES, "%s/%s", folder, name) < PATH_BYTES) return true;
  ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, iso__path_tail(folder), "a path is longer than %d bytes", PATH_BYTES - 1);
  return false;
}

/* The sub-folders of a folder, or its images. */
static bool list(iso_context *ctx, const char *folder, bool folders, names *out) {
  char text[128], path[PATH_BYTES];
  DIR *dir = opendir(folder);
  if (!dir) {
    const int error = errno;
    ISO__FAIL(ctx, error == ENOENT ? ISO_NOT_FOUND : ISO_IO, iso__path_tail(folder), "cannot open the folder: %s",
              iso__errno_text(error, text, sizeof text));
    return false;
  }
  bool ok = true;
  for (struct dirent *item; ok && (errno = 0, item = readdir(dir));) {
    if (item->d_name[0] == '.' || (!folders && !is_image(item->d_name))) continue;
    if (!(ok = join(ctx, folder, item->d_name, path)) || (folders && !is_folder(path))) continue;
    if (!(ok = add_name(out, item->d_name)))
      ISO__FAIL(ctx, ISO_OUT_OF_MEMORY, iso__path_tail(folder), "no memory for the names");
  }
  const int error = ok ? errno : 0; /* the list ends without one */
  closedir(dir);
  if (error) {
    ISO__FAIL(ctx, ISO_IO, iso__path_tail(folder), "cannot read the folder: %s",
              iso__errno_text(error, text, sizeof text));
    return false;
  }
  if (ok && out->n) qsort(out->items, out->n, sizeof *out->items, by_bytes);
  if (ok && !out->n)
    ISO__FAIL(ctx, ISO_NOT_FOUND, iso__path_tail(folder),
              folders ? "holds no folders, one a class" : "holds no images: no .png, .jpg or .jpeg file");
  return ok && out->n;
}

typedef struct listing {
  names classes, *files; /* (classes.n) */
} listing;
static void free_listing(listing *l) {
  for (size_t c = 0; l->files && c < l->classes.n; c++) free_names(&l->files[c]);
  free(l->files);
  free_names(&l->classes);
}
static bool list_all(iso_context *ctx, const char *folder, listing *l) {
  char path[PATH_BYTES];
  if (!list(ctx, folder, true, &l->classes)) return false;
  if (!(l->files = calloc(l->classes.n, sizeof *l->files)))
    return ISO__FAIL(ctx, ISO_OUT_OF_MEMORY, iso__path_tail(folder), "no memory for the names"), false;
  for (size_t c = 0; c < l->classes.n; c++)
    if (!join(ctx, folder, l->classes.items[c], path) || !list(ctx, path, false, &l->files[c])) return false;
  return true;
}

/* Into blocks of the heap. */
static bool keep(iso_context *ctx, const char *folder, const listing *l, iso_dataset *set) {
  iso__image_files *f = &set->files;
  size_t n_text = 0;
  int64_t n_files = 0;
  for (size_t c = 0; c < l->classes.n; c++) {
    n_text += strlen(l->classes.items[c]) + 1;
    n_files += (int64_t)l->files[c].n;
    for (size_t i = 0; i < l->files[c].n; i++)
      n_text += strlen(folder) + strlen(l->classes.items[c]) + strlen(l->files[c].items[i]) + 3;
  }
  if (n_files > INT32_MAX || l->classes.n > INT32_MAX)
    return ISO__FAIL(ctx, ISO_UNSUPPORTED, iso__path_tail(folder), "holds more than 2^31 images"), false;
  f->n_files = n_files, f->n_classes = (int)l->classes.n, f->n_text = n_text;
  f->text = iso__alloc(ctx, n_text);
  f->paths = iso__alloc(ctx, (size_t)n_files * sizeof *f->paths);
  f->classes = iso__alloc(ctx, l->classes.n * sizeof *f->classes);
  set->labels = iso__alloc(ctx, (size_t)n_files * sizeof *set->labels);
  set->info.n_samples = n_files, set->info.n_classes = f->n_classes;
  if (!f->text || !f->paths || !f->classes || !set->labels) return false;
  size_t at = 0;
  for (size_t c = 0, file = 0; c < l->classes.n; c++) {
    f->classes[c] = (int64_t)at;
    at += (size_t)snprintf(f->text + at, n_text - at, "%s", l->classes.items[c]) + 1;
    for (size_t i = 0; i < l->files[c].n; i++, file++) {
      f->paths[file] = (int64_t)at, set->labels[file] = (int32_t)c;
      at += (size_t)snprintf(f->text + at, n_text - at, "%s/%s/%s", folder, l->classes.items[c], l->files[c].items[i]) +
            1;
    }
  }
  return true;
}

/* ---- the hash ---- */

typedef struct facts {
  int64_t n_bytes; /* of the file */
  int32_t sizes[3], label;
  iso__hash samples;
} facts;
typedef struct hash_job {
  const iso_dataset *set;
  int64_t n_hashed;
  facts *facts;
  iso__image_fault *faults; /* (n_files): code ISO_OK where all is well */
} hash_job;

static void hash_file(void *arg, int task, int thread) {
  const hash_job *j = arg;
  const iso__image_files *f = &j->set->files;
  facts *fact = &j->facts[task];
  struct stat info;
  iso__image_info form;
  size_t n_pixels;
  (void)thread;
  *fact = (facts){.label = j->set->labels[task]};
  j->faults[task].code = ISO_OK;
  if (stat(f->text + f->paths[task], &info) == 0) fact->n_bytes = info.st_size;
  if ((task + 1) * j->n_hashed / f->n_files == task * j->n_hashed / f->n_files) return;
  uint8_t *pixels = iso__image_files_decode(f, j->set->heap, task, &form, &n_pixels, &j->faults[task]);
  if (!pixels) return;
  fact->sizes[0] = form.width, fact->sizes[1] = form.height, fact->sizes[2] = form.channels;
  fact->samples = iso__hash_bytes(pixels, n_pixels);
  iso__heap_free(j->set->heap, pixels, n_pixels);
}

static bool sum_up(iso_context *ctx, const hash_job *j, size_t n_folder, iso_dataset *set) {
  const iso__image_files *f = &set->files;
  for (int64_t i = 0; i < f->n_files; i++)
    if (j->faults[i].code != ISO_OK)
      return ISO__FAIL(ctx, j->faults[i].code, iso__path_tail(f->text + f->paths[i]), "%s", j->faults[i].text), false;
  iso__hasher *hasher = iso__hasher_new();
  if (!hasher) return ISO__FAIL(ctx, ISO_OUT_OF_MEMORY, "dataset_open_images", "no memory to hash the data"), false;
  iso__hasher_add(hasher, &f->n_classes, sizeof f->n_classes);
  for (int64_t i = 0; i < f->n_files; i++) {
    const char *name = f->text + f->paths[i] + n_folder; /* "/class/file" */
    iso__hasher_add(hasher, name, strlen(name) + 1);
  }
  iso__hasher_add(hasher, j->facts, (size_t)f->n_files * sizeof *j->facts);
  iso__hash_format(iso__hasher_end(hasher), set->info.hash);
  return true;
}

static bool hash_all(iso_context *ctx, int64_t n_hashed, size_t n_folder, iso_dataset *set) {
  const size_t n = (size_t)set->files.n_files;
  hash_job j = {.set = set, .n_hashed = n_hashed > 0 && n_hashed < (int64_t)n ? n_hashed : (int64_t)n};
  j.facts = iso__alloc(ctx, n * sizeof *j.facts);
  j.faults = iso__alloc(ctx, n * sizeof *j.faults);
  bool ok = j.facts && j.faults;
  if (ok) {
    iso__parallel(ctx, (int)n, hash_file, &j);
    ok = sum_up(ctx, &j, n_folder, set);
  }
  iso__free(ctx, j.faults, n * sizeof *j.faults);
  iso__free(ctx, j.facts, n * sizeof *j.facts);
  return ok;
}

iso_dataset *iso_dataset_open_images(iso_context *ctx, const iso_image_folder_options *options) {
  static const char op[] = "dataset_open_images";
  iso_image_folder_options o = options ? *options : (iso_image_folder_options){0};
  if (iso__failed(ctx)) return NULL;
  if (!o.channels) o.channels = 3;
  if (!o.height) o.height = o.width ? o.width : 224;
  if (!o.width) o.width = o.height;
  if (!o.folder || (o.channels != 1 && o.channels != 3) || o.height < 1 || o.width < 1 || o.height > 8192 ||
      o.width > 8192 || o.n_hashed < 0)
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op,
                     "folder %s, %d channels, %d×%d, n_hashed %lld: a folder, 1 or 3 channels, sides of 1 to 8192, and "
                     "a count are needed",
                     o.folder ? iso__path_tail(o.folder) : "NULL", o.channels, o.height, o.width,
                     (long long)o.n_hashed),
           NULL;
  iso_dataset *set = iso__zalloc(ctx, sizeof *set);
  if (!set) return NULL;
  atomic_init(&set->n_refs, 1);
  iso__heap_retain(ctx->heap);
  set->heap = ctx->heap;
  set->info = (iso_dataset_info){.channels = o.channels, .height = o.height, .width = o.width};
  listing l = {0};
  const bool ok =
      list_all(ctx, o.folder, &l) && keep(ctx, o.folder, &l, set) && hash_all(ctx, o.n_hashed, strlen(o.folder), set);
  free_listing(&l);
  if (ok) return set;
  iso_dataset_free(set);
  return NULL;
}

const char *iso_dataset_class_name(const iso_dataset *set, int label) {
  return set && label >= 0 && label < set->files.n_classes ? set->files.text + set->files.classes[label] : NULL;
}
