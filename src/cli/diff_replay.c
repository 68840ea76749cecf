/* diff_replay.c: repeats both runs, each in a process of its own, up to the run of an engine whose results differ, and
 * compares them element by element. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "diff.h"

/* ---- one run, in a child ---- */

typedef struct dump {
  FILE *file;
  int wanted, n_runs;
  bool found;
} dump;

typedef struct dump_head {
  char name[64];
  int32_t dtype;
  int64_t n;
} dump_head;

static void write_run(void *user, const iso_trace_entry *run, int n_outputs, const iso_trace_output *outputs) {
  dump *d = user;
  (void)run;
  if (d->n_runs++ != d->wanted) return;
  d->found = true;
  for (int i = 0; i < n_outputs; i++) {
    dump_head head = {.dtype = (int32_t)outputs[i].dtype, .n = outputs[i].n};
    snprintf(head.name, sizeof head.name, "%s", outputs[i].name);
    fwrite(&head, sizeof head, 1, d->file);
    fwrite(outputs[i].data, iso_dtype_size(outputs[i].dtype), (size_t)outputs[i].n, d->file);
  }
}

static int repeat_steps(iso_context *ctx, iso_trainer *t, uint64_t step, dump *d) {
  for (uint64_t i = 0; i < step; i++)
    if (iso_trainer_step(t, NULL)) return job_failed(ctx);
  if (iso_trace_start(ctx, &(iso_trace_options){.observer = write_run, .observer_user = d})) return job_failed(ctx);
  if (iso_trainer_step(t, NULL) || iso_trace_stop(ctx)) return job_failed(ctx);
  if (d->found) return EXIT_OK;
  fprintf(stderr, "isobit: the repeated step has no run %d\n", d->wanted);
  return EXIT_FAILED;
}

static int repeat(const recorded *r, uint64_t step, dump *d) {
  iso_policy policy;
  if (!recorded_apply(r, &policy)) return EXIT_FAILED;
  job.lock = NULL;
  iso_context *ctx = job_context(&policy, job.threads);
  if (!ctx) return EXIT_FAILED;
  iso_trainer *t = !*r->lock || !iso_lock_load(ctx, r->lock) ? job_trainer(ctx) : NULL;
  const int code = t ? repeat_steps(ctx, t, step, d) : job_failed(ctx);
  iso_trainer_free(t);
  iso_context_free(ctx);
  return code;
}

static bool run_child(const diff_run *run, const char *environment, const diff_found *f, FILE *file) {
  int status;
  fflush(stdout), fflush(stderr);
  const pid_t child = fork();
  if (child < 0) return fprintf(stderr, "isobit: cannot start a process: %s\n", strerror(errno)), false;
  if (!child) {
    char copy[256];
    dump d = {.file = file, .wanted = f->index};
    if (environment) snprintf(copy, sizeof copy, "%s", environment), putenv(copy);
    const int code = repeat(&run->record, f->step, &d);
    _exit(fflush(file) || ferror(file) ? EXIT_FAILED : code);
  }
  if (waitpid(child, &status, 0) < 0) return false;
  return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* ---- the comparison ---- */

/* A whole number that ascends with the value, so that neighbours are one apart: halves and bf16 too. */
static int64_t rank_of(const void *p, iso_dtype dtype) {
  int64_t bits = 0;
  int n_bits = (int)iso_dtype_size(dtype) * 8;
  memcpy(&bits, p, iso_dtype_size(dtype));
  if (dtype != ISO_F32 && dtype != ISO_F64 && dtype != ISO_F16 && dtype != ISO_BF16) {
    return n_bits == 64 ? bits : n_bits == 32 ? (int32_t)bits : bits;
  }
  const int64_t sign = n_bits == 64 ? bits < 0 : bits >> (n_bits - 1) & 1;
  const int64_t size = n_bits == 64 ? bits & INT64_MAX : bits & (((int64_t)1 << (n_bits - 1)) - 1);
  return sign ? -size : size;
}

static void print_value(const void *p, iso_dtype dtype, char *text, size_t n_bytes) {
  double d;
  float f;
  uint16_t h;
  switch (dtype) {
  case ISO_F64: memcpy(&d, p, sizeof d), snprintf(text, n_bytes, "%.17g", d); break;
  case ISO_F32: memcpy(&f, p, sizeof f), snprintf(text, n_bytes, "%.9g", (double)f); break;
  case ISO_F16: memcpy(&h, p, sizeof h), snprintf(text, n_bytes, "%.5g", (double)iso_f32_from_f16(h)); break;
  case ISO_BF16: memcpy(&h, p, sizeof h), snprintf(text, n_bytes, "%.4g", (double)iso_f32_from_bf16(h)); break;
  default: snprintf(text, n_bytes, "%lld", (long long)rank_of(p, dtype));
  }
}

static void compare_elements(diff_found *f, iso_dtype dtype, int64_t n, const char *a, const char *b) {
  const int64_t size = (int64_t)iso_dtype_size(dtype);
  for (int64_t i = 0; i < n; i++) {
    if (!memcmp(a + i * size, b + i * size, (size_t)size)) continue;
    const int64_t x = rank_of(a + i * size, dtype), y = rank_of(b + i * size, dtype);
    const uint64_t ulp = x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
    if (!f->n_differing++) {
      f->first = i, f->ulp = ulp;
      print_value(a + i * size, dtype, f->value[0], sizeof f->value[0]);
      print_value(b + i * size, dtype, f->value[1], sizeof f->value[1]);
    }
    if (ulp < f->worst_ulp) continue;
    f->worst = i, f->worst_ulp = ulp;
    print_value(a + i * size, dtype, f->worst_value[0], sizeof f->worst_value[0]);
    print_value(b + i * size, dtype, f->worst_value[1], sizeof f->worst_value[1]);
  }
}

/* The first output with a difference. */
static bool compare_files(diff_found *f, FILE *file[2]) {
  dump_head head[2];
  rewind(file[0]), rewind(file[1]);
  while (!f->n_differing && fread(&head[0], sizeof head[0], 1, file[0]) == 1 &&
         fread(&head[1], sizeof head[1], 1, file[1]) == 1) {
    if (head[0].dtype != head[1].dtype || head[0].n != head[1].n) break;
    const size_t n_bytes = (size_t)head[0].n * iso_dtype_size((iso_dtype)head[0].dtype);
    char *data[2] = {malloc(n_bytes + 1), malloc(n_bytes + 1)};
    const bool read = data[0] && data[1] && fread(data[0], 1, n_bytes, file[0]) == n_bytes &&
                      fread(data[1], 1, n_bytes, file[1]) == n_bytes;
    f->n_elements = head[0].n;
    snprintf(f->output, sizeof f->output, "%s", head[0].name);
    snprintf(f->dtype, sizeof f->dtype, "%s", iso_dtype_name((iso_dtype)head[0].dtype));
    if (read) compare_elements(f, (iso_dtype)head[0].dtype, head[0].n, data[0], data[1]);
    free(data[0]), free(data[1]);
    if (!read) break;
  }
  if (f->n_differing) return f->replayed = true;
  fprintf(stderr, "isobit: on replay both runs gave the same bits there: the difference does not come back\n");
  return false;
}

bool diff_replay(diff_report *r, const char *const environment[2]) {
  FILE *file[2] = {tmpfile(), tmpfile()};
  bool done = file[0] && file[1];
  if (!done) fprintf(stderr, "isobit: cannot make a temporary file: %s\n", strerror(errno));
  for (int i = 0; i < 2 && done; i++) {
    if (!r->run[i]->has_record)
      done = fprintf(stderr, "isobit: %s is a bare hash log: only runs with --record can be replayed\n",
                     r->run[i]->name) < 0;
    else if (!(done = run_child(r->run[i], environment[i], &r->found, file[i])))
      fprintf(stderr, "isobit: %s could not be replayed\n", r->run[i]->name);
  }
  done = done && compare_files(&r->found, file);
  for (int i = 0; i < 2; i++)
    if (file[i]) fclose(file[i]);
  return done;
}
