/* output.c: files that a job writes at its end: checked before the work, written beside and renamed. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli.h"

static int failed(const output *o, int error) {
  fprintf(stderr, "isobit: cannot write %s '%s': %s\n", o->option, o->path, strerror(error));
  return EXIT_FAILED;
}

/* Where the text goes first: beside the file, or straight into what is no file (a device, a pipe) and must not be
 * replaced by one. */
static bool find_target(output *o) {
  struct stat info;
  const bool special = stat(o->path, &info) == 0 && !S_ISREG(info.st_mode);
  if (strlen(o->path) > sizeof o->target - 32) return errno = ENAMETOOLONG, false;
  if (special) strcpy(o->target, o->path);
  else snprintf(o->target, sizeof o->target, "%s.%ld.part", o->path, (long)getpid());
  o->beside = !special;
  return true;
}

int output_check(const char *option_name, const char *path) {
  output o = {.option = option_name, .path = path};
  struct stat info;
  if (!path) return -1;
  if (!*path) return failed(&o, ENOENT);
  if (!find_target(&o)) return failed(&o, errno);
  if (!o.beside) { /* opening a pipe would already be reading's end */
    const bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    return folder ? failed(&o, EISDIR) : access(path, W_OK) ? failed(&o, errno) : -1;
  }
  FILE *file = fopen(o.target, "a");
  if (!file) return failed(&o, errno);
  fclose(file);
  remove(o.target);
  return -1;
}

int output_open(output *o, const char *option_name, const char *path) {
  *o = (output){.option = option_name, .path = path};
  if (!find_target(o) || !(o->file = fopen(o->target, "w"))) return failed(o, errno);
  return EXIT_OK;
}

int output_close(output *o) {
  const bool wrong = ferror(o->file) | fclose(o->file);
  if (!wrong && (!o->beside || !rename(o->target, o->path))) return EXIT_OK;
  const int error = errno;
  if (o->beside) remove(o->target);
  return failed(o, error);
}

int output_make_folder(const char *option_name, const char *path) {
  if (!mkdir(path, 0777) || errno == EEXIST) return EXIT_OK;
  fprintf(stderr, "isobit: cannot make the folder %s '%s': %s\n", option_name, path, strerror(errno));
  return EXIT_FAILED;
}

int job_check_json(void) { return output_check("--json", job.json); }

int job_write_json(const char *path, json_t *root) {
  output o;
  const int code = output_open(&o, path == job.json ? "--json" : "the file", path);
  if (!code) json_dumpf(root, o.file, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
  json_decref(root);
  return code ? code : output_close(&o);
}
