/* idx_folder.c: finds the files of an MNIST-like folder by what their names contain, whatever prefix, count or
 * compression the names carry, and refuses to guess where two files fit. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include "data/dataset.h"
#include "io/source.h"

enum { PATH_BYTES = 4096, NAME_BYTES = 256 };

/* What is looked for: both patterns name the same file (the second may repeat the first). */
typedef struct wanted {
  const char *what, *patterns[2];
} wanted;

static const wanted images_of[2] = {
    [ISO_SPLIT_TRAIN] = {"training images", {"*train*images*idx[34]*", "*train*images*idx[34]*"}},
    [ISO_SPLIT_TEST] = {"test images", {"*t10k*images*idx[34]*", "*test*images*idx[34]*"}}};
static const wanted labels_of[2] = {
    [ISO_SPLIT_TRAIN] = {"training labels", {"*train*labels*idx1*", "*train*labels*idx1*"}},
    [ISO_SPLIT_TEST] = {"test labels", {"*t10k*labels*idx1*", "*test*labels*idx1*"}}};

/* Whether longer is shorter with ".gz" behind it. */
static bool is_gzip_of(const char *longer, const char *shorter) {
  const size_t n = strlen(shorter);
  return n > 0 && strncmp(longer, shorter, n) == 0 && strcmp(longer + n, ".gz") == 0;
}

/* Of a file and its own gzip the plain one is taken; any other second file is an error. */
static bool consider(iso_context *ctx, const char *folder, const wanted *w, const char *name, char found[NAME_BYTES]) {
  if (fnmatch(w->patterns[0], name, 0) != 0 && fnmatch(w->patterns[1], name, 0) != 0) return true;
  if (strlen(name) >= NAME_BYTES || is_gzip_of(name, found)) return true;
  if (found[0] && !is_gzip_of(found, name)) {
    const bool in_order = strcmp(found, name) < 0;
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, iso__path_tail(folder), "two files could be the %s: '%.80s' and '%.80s'",
              w->what, in_order ? found : name, in_order ? name : found);
    return false;
  }
  strcpy(found, name);
  return true;
}

/* The path of the one file that fits. */
static bool find_file(iso_context *ctx, const char *folder, const wanted *w, char path[PATH_BYTES]) {
  char text[128], found[NAME_BYTES] = "";
  const char *name = iso__path_tail(folder);
  DIR *dir = opendir(folder);
  if (!dir) {
    const int error = errno;
    ISO__FAIL(ctx, error == ENOENT ? ISO_NOT_FOUND : ISO_IO, name, "cannot open the folder: %s",
              iso__errno_text(error, text, sizeof text));
    return false;
  }
  bool ok = true;
  for (struct dirent *item; ok && (errno = 0, item = readdir(dir));) ok = consider(ctx, folder, w, item->d_name, found);
  const int error = ok ? errno : 0; /* the list ends without one */
  closedir(dir);
  if (error)
    return ISO__FAIL(ctx, ISO_IO, name, "cannot read the folder: %s", iso__errno_text(error, text, sizeof text)), false;
  if (!ok) return false;
  if (!found[0])
    return ISO__FAIL(ctx, ISO_NOT_FOUND, name, "holds no %s: no file is called %s or %s", w->what, w->patterns[0],
                     w->patterns[1]),
           false;
  const int n = snprintf(path, PATH_BYTES, "%s/%s", folder, found);
  if (n >= PATH_BYTES)
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, name, "a path has %d bytes, the limit is %d", n, PATH_BYTES - 1), false;
  return true;
}

/* The first `limit` samples (0: all): a view in the current scope; t is released. */
static iso_tensor *cut(iso_context *ctx, iso_tensor *t, int64_t limit) {
  iso__view view;
  if (limit == 0 || iso_tensor_shape(t)[0] <= limit) return t;
  iso_tensor *part = iso__view_slice(ctx, &t->view, 0, 0, limit, 1, &view) ? iso__tensor_from_view(ctx, &view) : NULL;
  iso_release(t);
  return part;
}

/* Counts are compared before the limit cuts both. */
static bool check_counts(iso_context *ctx, const iso_tensor *images, const char *images_path, const iso_tensor *labels,
                         const char *labels_path) {
  const int64_t n_images = iso_tensor_shape(images)[0], n_labels = iso_tensor_shape(labels)[0];
  if (n_images == n_labels) return true;
  ISO__FAIL(ctx, ISO_CORRUPT, iso__path_tail(labels_path), "holds %lld labels, but %s holds %lld images",
            (long long)n_labels, strrchr(images_path, '/') + 1, (long long)n_images);
  return false;
}

iso_dataset *iso_dataset_open_idx(iso_context *ctx, const iso_idx_options *options) {
  const iso_idx_options o = options ? *options : (iso_idx_options){0};
  const char *folder = o.folder ? o.folder : ISO_FASHION_MNIST_FOLDER;
  char images_path[PATH_BYTES], labels_path[PATH_BYTES];
  if (iso__failed(ctx)) return NULL;
  if ((o.split != ISO_SPLIT_TRAIN && o.split != ISO_SPLIT_TEST) || o.limit < 0)
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "dataset_open_idx", "split is %d, limit is %lld", (int)o.split,
                     (long long)o.limit),
           NULL;
  if (!find_file(ctx, folder, &images_of[o.split], images_path) ||
      !find_file(ctx, folder, &labels_of[o.split], labels_path))
    return NULL;
  iso_tensor *images = iso_idx_read(ctx, images_path), *labels = images ? iso_idx_read(ctx, labels_path) : NULL;
  iso_dataset *set = NULL;
  if (labels && check_counts(ctx, images, images_path, labels, labels_path)) {
    images = cut(ctx, images, o.limit), labels = cut(ctx, labels, o.limit);
    set = iso__dataset_make(ctx, images, iso__path_tail(images_path), labels, iso__path_tail(labels_path), o.n_classes);
  }
  iso_release(images);
  iso_release(labels);
  return set;
}
