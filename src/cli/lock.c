/* lock.c: `isobit lock diff A B` and `isobit lock check FILE`. */
#include <string.h>
#include "cli.h"

static int usage(FILE *to, int code) {
  fprintf(
      to,
      "usage: isobit lock diff A B     which problems two lockfiles plan differently (exit code 1 if any)\n"
      "       isobit lock check FILE   whether every line still exists at its revision (exit code 1 if not; for CI)\n");
  return code;
}

static void print_change(void *user, const iso_lock_change *change) {
  (void)user;
  printf("%s%s\n  - %s\n  + %s\n", change->problem, change->other_class ? "   (another class: other bits)" : "",
         change->before ? change->before : "(not planned)", change->after ? change->after : "(not planned)");
}
static void print_finding(void *user, const iso_lock_finding *finding) {
  printf("%s:%d: %s\n  %s\n", (const char *)user, finding->line, finding->reason, finding->text);
}

static int diff(iso_context *ctx, const char *before, const char *after) {
  size_t n;
  if (iso_lock_diff(ctx, before, after, print_change, NULL, &n)) return job_failed(ctx);
  printf("%zu differences\n", n);
  return n ? EXIT_FAILED : EXIT_OK;
}

static int check(iso_context *ctx, char *path) {
  size_t n_lines, n_stale;
  if (iso_lock_check(ctx, path, print_finding, path, &n_lines, &n_stale)) return job_failed(ctx);
  printf("%zu plans, %zu of them not in this build\n", n_lines, n_stale);
  return n_stale ? EXIT_FAILED : EXIT_OK;
}

int command_lock(int argc, char **argv) {
  const bool wants_diff = argc == 3 && !strcmp(argv[0], "diff"), wants_check = argc == 2 && !strcmp(argv[0], "check");
  if (argc && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"))) return usage(stdout, EXIT_OK);
  if (!wants_diff && !wants_check) return usage(stderr, EXIT_USAGE);
  iso_context *ctx = job_context(NULL, 1);
  if (!ctx) return EXIT_FAILED;
  const int code = wants_diff ? diff(ctx, argv[1], argv[2]) : check(ctx, argv[1]);
  iso_context_free(ctx);
  return code;
}
