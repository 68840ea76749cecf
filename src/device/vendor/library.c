/* library.c: finding a vendor's library. The order: the file or folder that a variable names, and then nothing else;
 * the loader's own places (LD_LIBRARY_PATH, its cache, the system's folders); the toolkit's folder; the packages of
 * Python environments. The first file whose version fits and that has every symbol is taken; if none does, the first
 * that was found and did not fit is named with its path and both versions. */
#define _GNU_SOURCE
#include "device/vendor/library.h"
#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct search {
  const iso__vendor_wanted *wanted;
  iso__vendor_library *library;
} search;

/* ---- one file ---- */

/* Where it was loaded from. */
static void path_of(void *handle, const char *name, char *path, size_t n_bytes) {
  struct link_map *map = NULL;
  char *real = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map ? realpath(map->l_name, NULL) : NULL;
  snprintf(path, n_bytes, "%s", real ? real : name);
  free(real);
}

/* The first thing that was wrong is what the user hears. */
static void complain(search *s, const char *format, ...) ISO_PRINTF(2, 3);
static void complain(search *s, const char *format, ...) {
  if (s->library->reason[0]) return;
  va_list list;
  va_start(list, format);
  vsnprintf(s->library->reason, sizeof s->library->reason, format, list);
  va_end(list);
}

static bool read_version(search *s, void *handle) {
  size_t (*get)(void) = NULL;
  *(void **)&get = dlsym(handle, s->wanted->version_symbol);
  if (!get) return false;
  const size_t version = get(), scale = version >= 10000 ? 10000 : 1000;
  s->library->major = (int)(version / scale);
  s->library->minor = (int)(version % scale / 100);
  s->library->patch = (int)(version % 100);
  return true;
}

static const char *missing_symbol(const search *s, void *handle) {
  for (const char *const *symbol = s->wanted->symbols; *symbol; symbol++)
    if (!dlsym(handle, *symbol)) return *symbol;
  return NULL;
}

/* Loads a file, or what the loader finds by this name. True: it is the one. */
static bool try_file(search *s, const char *name) {
  const iso__vendor_wanted *w = s->wanted;
  iso__vendor_library *l = s->library;
  char needs[32], path[sizeof l->path];
  snprintf(needs, sizeof needs, w->least_major == w->most_major ? "%d.x" : "%d.x to %d.x", w->least_major,
           w->most_major);
  void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *error = dlerror();
    const bool absent = !strncmp(error, name, strlen(name)) && strstr(error, "No such file");
    if (!absent) complain(s, "%s", error);
    return false;
  }
  path_of(handle, name, path, sizeof path);
  const char *symbol = NULL;
  if (!read_version(s, handle)) complain(s, "found %s, which has no %s: not %s", path, w->version_symbol, w->name);
  else if (l->major < w->least_major || l->major > w->most_major)
    complain(s, "found %s.%d (%d.%d.%d) at %s, needs %s", w->stem, l->major, l->major, l->minor, l->patch, path, needs);
  else if ((symbol = missing_symbol(s, handle)))
    complain(s, "found %s.%d (%d.%d.%d) at %s, which has no %s", w->stem, l->major, l->major, l->minor, l->patch, path,
             symbol);
  else {
    l->handle = handle;
    snprintf(l->path, sizeof l->path, "%s", path);
    l->reason[0] = '\0';
    return true;
  }
  dlclose(handle);
  l->major = l->minor = l->patch = 0;
  return false;
}

/* ---- places ---- */

static void note_place(search *s, const char *format, ...) ISO_PRINTF(2, 3);
static void note_place(search *s, const char *format, ...) {
  char *text = s->library->searched;
  const size_t n = strlen(text), room = sizeof s->library->searched;
  va_list list;
  va_start(list, format);
  if (n && n + 2 < room) memcpy(text + n, "; ", 3);
  const size_t at = strlen(text);
  vsnprintf(text + at, room - at, format, list);
  va_end(list);
}

/* The names of a version that fits, newest first; then those of the neighbours, to say that they are there. */
static bool try_names(search *s, const char *folder) {
  char name[640];
  const int most = s->wanted->most_major, least = s->wanted->least_major;
  const char *slash = *folder ? "/" : "";
  for (int major = most; major >= least; major--) {
    snprintf(name, sizeof name, "%s%s%s.%d", folder, slash, s->wanted->stem, major);
    if (try_file(s, name)) return true;
  }
  const int others[] = {most + 1, least - 1};
  for (int i = 0; i < 2; i++) {
    snprintf(name, sizeof name, "%s%s%s.%d", folder, slash, s->wanted->stem, others[i]);
    if (try_file(s, name)) return true;
  }
  snprintf(name, sizeof name, "%s%s%s", folder, slash, s->wanted->stem);
  return try_file(s, name);
}

static bool try_pattern(search *s, const char *pattern) {
  glob_t found;
  bool taken = false;
  note_place(s, "%s", pattern);
  if (glob(pattern, 0, NULL, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc && !taken; i++) taken = try_names(s, found.gl_pathv[i]);
  globfree(&found);
  return taken;
}

static bool is_folder(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The folder above bin/ of the python3 that PATH finds first; "": there is none. */
static void python_prefix(char *prefix, size_t n_bytes) {
  const char *path = getenv("PATH");
  char file[512];
  *prefix = '\0';
  for (const char *at = path ? path : ""; *at;) {
    const size_t n = strcspn(at, ":");
    snprintf(file, sizeof file, "%.*s/python3", (int)n, at);
    if (n && access(file, X_OK) == 0) {
      char *slash = strrchr(file, '/');
      *slash = '\0';
      if ((slash = strrchr(file, '/')) && slash != file) *slash = '\0', snprintf(prefix, n_bytes, "%s", file);
      return;
    }
    at += n + (at[n] == ':');
  }
}

/* Python environments keep the vendor's packages below lib/python3.x/site-packages. */
static bool try_python(search *s, const char *package) {
  static const char *const variables[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
  char prefix[512], pattern[640];
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    const char *root = getenv(variables[i]);
    if (!root || !*root) continue;
    snprintf(pattern, sizeof pattern, "%s/lib/python3*/site-packages/%s", root, package);
    if (try_pattern(s, pattern)) return true;
  }
  python_prefix(prefix, sizeof prefix);
  const char *home = getenv("HOME");
  const struct {
    const char *root, *below;
  } places[] = {{*prefix ? prefix : NULL, "lib/python3*/*-packages"},
                {home && *home ? home : NULL, ".local/lib/python3*/site-packages"},
                {"/usr/local", "lib/python3*/*-packages"},
                {"/usr", "lib/python3*/*-packages"}};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    if (!places[i].root) continue;
    snprintf(pattern, sizeof pattern, "%s/%s/%s", places[i].root, places[i].below, package);
    if (!strstr(s->library->searched, pattern) && try_pattern(s, pattern)) return true;
  }
  return false;
}

static bool try_all(search *s) {
  const iso__vendor_wanted *w = s->wanted;
  const char *named = getenv(w->variable), *loader = getenv("LD_LIBRARY_PATH");
  if (named && *named) {
    note_place(s, "%s=%s", w->variable, named);
    return is_folder(named) ? try_names(s, named) : try_file(s, named);
  }
  note_place(s, "LD_LIBRARY_PATH=%s and the loader's places", loader ? loader : "");
  if (try_names(s, "")) return true;
  for (const char *const *folder = w->folders; *folder; folder++)
    if (**folder == '/' ? try_pattern(s, *folder) : try_python(s, *folder)) return true;
  return false;
}

void iso__vendor_find(const iso__vendor_wanted *wanted, iso__vendor_library *library) {
  search s = {wanted, library};
  memset(library, 0, sizeof *library);
  if (try_all(&s)) return;
  if (wanted->least_major == wanted->most_major)
    complain(&s, "%s.%d not found: searched %s", wanted->stem, wanted->most_major, library->searched);
  else
    complain(&s, "%s.%d to .%d not found: searched %s", wanted->stem, wanted->least_major, wanted->most_major,
             library->searched);
}

/* ---- the process' own ---- */

static const char *const cublaslt_symbols[] = {"cublasLtCreate",
                                               "cublasLtMatmul",
                                               "cublasLtMatmulAlgoGetHeuristic",
                                               "cublasLtMatmulAlgoConfigGetAttribute",
                                               "cublasLtMatmulDescCreate",
                                               "cublasLtMatmulDescDestroy",
                                               "cublasLtMatmulDescSetAttribute",
                                               "cublasLtMatrixLayoutCreate",
                                               "cublasLtMatrixLayoutDestroy",
                                               "cublasLtMatrixLayoutSetAttribute",
                                               "cublasLtMatmulPreferenceCreate",
                                               "cublasLtMatmulPreferenceDestroy",
                                               "cublasLtMatmulPreferenceSetAttribute",
                                               NULL};
static const char *const cudnn_symbols[] = {"cudnnCreate",
                                            "cudnnSetStream",
                                            "cudnnCreateTensorDescriptor",
                                            "cudnnSetTensor4dDescriptor",
                                            "cudnnDestroyTensorDescriptor",
                                            "cudnnCreateFilterDescriptor",
                                            "cudnnSetFilter4dDescriptor",
                                            "cudnnDestroyFilterDescriptor",
                                            "cudnnCreateConvolutionDescriptor",
                                            "cudnnSetConvolution2dDescriptor",
                                            "cudnnSetConvolutionGroupCount",
                                            "cudnnSetConvolutionMathType",
                                            "cudnnDestroyConvolutionDescriptor",
                                            "cudnnGetConvolutionForwardAlgorithm_v7",
                                            "cudnnGetConvolutionBackwardDataAlgorithm_v7",
                                            "cudnnGetConvolutionBackwardFilterAlgorithm_v7",
                                            "cudnnConvolutionForward",
                                            "cudnnConvolutionBackwardData",
                                            "cudnnConvolutionBackwardFilter",
                                            NULL};
static const char *const cublaslt_folders[] = {"/usr/local/cuda/lib64", "nvidia/cu13/lib", "nvidia/cublas/lib", NULL};
static const char *const cudnn_folders[] = {"/usr/local/cuda/lib64", "nvidia/cudnn/lib", NULL};
static const iso__vendor_wanted wanted[ISO__N_VENDORS] = {
    [ISO__CUBLASLT] = {"cuBLASLt", "ISOBIT_CUBLASLT", "libcublasLt.so", 12, 13, "cublasLtGetVersion", cublaslt_symbols,
                       cublaslt_folders},
    [ISO__CUDNN] = {"cuDNN", "ISOBIT_CUDNN", "libcudnn.so", 9, 9, "cudnnGetVersion", cudnn_symbols, cudnn_folders}};

static iso__vendor_library libraries[ISO__N_VENDORS];
static void find_cublaslt(void) { iso__vendor_find(&wanted[ISO__CUBLASLT], &libraries[ISO__CUBLASLT]); }
static void find_cudnn(void) { iso__vendor_find(&wanted[ISO__CUDNN], &libraries[ISO__CUDNN]); }

const iso__vendor_library *iso__vendor_library_of(iso__vendor vendor) {
  static pthread_once_t cublaslt = PTHREAD_ONCE_INIT, cudnn = PTHREAD_ONCE_INIT;
  if (vendor == ISO__CUBLASLT) pthread_once(&cublaslt, find_cublaslt);
  else pthread_once(&cudnn, find_cudnn);
  return &libraries[vendor];
}

void *iso__vendor_symbol(const iso__vendor_library *library, const char *name) { return dlsym(library->handle, name); }

int iso_vendor_libraries(iso_vendor_library list[ISO_MAX_VENDOR_LIBRARIES]) {
  for (int i = 0; i < ISO__N_VENDORS; i++) {
    const iso__vendor_library *l = iso__vendor_library_of((iso__vendor)i);
    iso_vendor_library *out = &list[i];
    *out = (iso_vendor_library){.name = wanted[i].name, .usable = l->handle != NULL};
    if (l->handle) snprintf(out->version, sizeof out->version, "%d.%d.%d", l->major, l->minor, l->patch);
    snprintf(out->path, sizeof out->path, "%s", l->path);
    snprintf(out->reason, sizeof out->reason, "%s", l->reason);
    snprintf(out->searched, sizeof out->searched, "%s", l->searched);
  }
  return ISO__N_VENDORS;
}
