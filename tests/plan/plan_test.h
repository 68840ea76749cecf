/* plan_test.h: what the tests of the plan room share: contexts with a store of their own, folders, child processes. */
#ifndef ISO_TESTS_PLAN_TEST_H
#define ISO_TESTS_PLAN_TEST_H
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <isobit/isobit.h>
#include "base/clock.h"
#include "plan/plan.h"

static inline bool is_sanitized(void) { return getenv("ISOBIT_TEST_SANITIZED") != NULL; }
static inline bool is_long(void) { return getenv("ISOBIT_TEST_LONG") != NULL; }

/* A context whose tuner takes the machine for idle: what is tested then does not depend on the neighbours. */
static inline iso_context *plan_context(const char *preset, int threads, const char *store, const char *shared) {
  iso_policy policy;
  iso_context *ctx;
  assert_int_equal(iso_policy_preset(preset, &policy), ISO_OK);
  policy.problem_budget_ms = 2;
  assert_int_equal(iso_context_new(&(iso_context_options){.policy = &policy, .n_threads = threads}, &ctx), ISO_OK);
  assert_int_equal(iso_store_open(ctx, store, shared ? shared : "none"), ISO_OK);
  iso__tuner_set_load(ctx, ISO__LOAD_NONE);
  return ctx;
}

static inline void set_tuning(iso_context *ctx, iso_tuning tuning) {
  iso_policy policy = *iso_policy_current(ctx);
  policy.tuning = tuning;
  assert_int_equal(iso_policy_push(ctx, &policy), ISO_OK);
}

/* Gets the problem's plan as an operator would. */
static inline iso__plan plan_of(iso_context *ctx, const char *text) {
  _Alignas(16) unsigned char buffer[ISO__MAX_PROBLEM_BYTES];
  iso__plan plan = {0};
  assert_int_equal(iso__problem_parse(ctx, text, buffer), ISO_OK);
  if (!iso__plan_get(ctx, (iso__problem *)buffer, &plan)) fail_msg("%s: %s", text, iso_error_message(ctx));
  return plan;
}

static inline void make_folder(char path[64]) {
  snprintf(path, 64, "/tmp/isobit-plan-XXXXXX");
  assert_non_null(mkdtemp(path));
}

/* Calls each(path) for the files whose names end so; how many there are. */
static inline size_t for_files(const char *folder, const char *end, void (*each)(const char *path)) {
  size_t n = 0;
  DIR *entries = opendir(folder);
  if (!entries) return 0;
  for (const struct dirent *e; (e = readdir(entries));) {
    const size_t length = strlen(e->d_name);
    if (length < strlen(end) || strcmp(e->d_name + length - strlen(end), end) != 0 || e->d_name[0] == '.') continue;
    char path[512];
    snprintf(path, sizeof path, "%s/%.300s", folder, e->d_name);
    if (each) each(path);
    n++;
  }
  closedir(entries);
  return n;
}
static inline void remove_file(const char *path) {
  if (unlink(path)) rmdir(path);
}
static inline void remove_folder(const char *folder) {
  for_files(folder, "", remove_file);
  rmdir(folder);
}

/* The whole of a small file, with a 0 behind it. */
static inline size_t read_file(const char *path, char *bytes, size_t n_bytes) {
  FILE *file = fopen(path, "rb");
  if (!file) fail_msg("%s: %s", path, strerror(errno));
  const size_t n = fread(bytes, 1, n_bytes - 1, file);
  fclose(file);
  bytes[n] = '\0';
  return n;
}
static inline void write_file(const char *path, const void *bytes, size_t n) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, n, file), n);
  assert_int_equal(fclose(file), 0);
}

/* Runs fn in a child; its exit status, or 256 + signal. Nothing that the child asserts ends the test silently. */
static inline int in_child(int (*fn)(void *user), void *user) {
  fflush(NULL);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    const int status = fn(user);
    fflush(NULL);
    _exit(status);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

/* A warning handler that counts and keeps the last sentence. */
typedef struct heard {
  int n;
  char last[400];
} heard;
static inline void hear(void *user, const char *sentence) {
  heard *h = user;
  h->n++;
  snprintf(h->last, sizeof h->last, "%s", sentence);
}
#endif
