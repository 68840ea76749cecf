/* encode.c: many texts on the context's threads: runs of neighbouring texts of about equal bytes are a task each; what
 * the tasks made is then laid end to end, so the result does not know how they were cut. */
#include <string.h>
#include "text/encoder.h"

enum { TASK_BYTES = 1 << 16, TASKS_A_THREAD = 8, TEXT_BYTES = 16 /* what a text costs beyond its bytes, in bytes */ };

typedef struct task {
  iso__encoder encoder;
  int64_t begin, end; /* texts */
  int64_t n_invalid;
  int64_t long_text, long_length; /* the first text over the limit; -1: none */
} task;

typedef struct job {
  iso_context *ctx;
  const iso_tokenizer *tokenizer;
  const iso_text *texts;
  iso_encode_options options;
  task *tasks;
  int n_tasks;
  iso_encodings *out;
} job;

/* ---- a task ---- */

/* Tokens from `first` on are the text's. False: they are over the limit. */
static bool finish_text(task *t, const job *j, int64_t text, size_t first) {
  iso__encoder *e = &t->encoder;
  const int32_t *after = j->tokenizer->special + j->tokenizer->n_before;
  const int64_t n_after = j->options.no_special ? 0 : j->tokenizer->n_after, most = j->options.max_length;
  const int64_t n = (int64_t)(e->n - first) + n_after;
  if (most > 0 && n > most) {
    if (!j->options.truncate) return t->long_text = text, t->long_length = n, false;
    e->n = first + (size_t)(most - n_after);
  }
  for (int64_t i = 0; i < n_after; i++) iso__push_token(e, after[i], 0, 0);
  return true;
}

static void run_task(void *arg, int number, int thread) {
  (void)thread;
  job *j = arg;
  task *t = &j->tasks[number];
  iso__encoder *e = &t->encoder;
  for (int64_t i = t->begin; i < t->end && e->status == ISO_OK; i++) {
    const size_t first = e->n;
    if (!j->options.no_special)
      for (int k = 0; k < j->tokenizer->n_before; k++) iso__push_token(e, j->tokenizer->special[k], 0, 0);
    t->n_invalid += iso__encode_text(e, (const uint8_t *)j->texts[i].bytes, j->texts[i].n_bytes);
    if (!finish_text(t, j, i, first)) return;
    j->out->begin[i + 1] = (int64_t)(e->n - first);
  }
}

/* ---- cutting the texts into tasks ---- */

static bool cut(job *j, int64_t n) {
  size_t n_bytes = 0, so_far = 0;
  for (int64_t i = 0; i < n; i++) n_bytes += j->texts[i].n_bytes + TEXT_BYTES;
  const size_t n_most = (size_t)iso_n_threads(j->ctx) * TASKS_A_THREAD, n_full = n_bytes / TASK_BYTES + 1;
  const int n_tasks = (int)(n_full < n_most ? n_full : n_most);
  j->tasks = iso__zalloc(j->ctx, (size_t)n_tasks * sizeof *j->tasks);
  if (!j->tasks) return false;
  j->n_tasks = n_tasks;
  int64_t text = 0;
  for (int k = 0; k < n_tasks; k++) {
    task *t = &j->tasks[k];
    *t = (task){.begin = text, .long_text = -1};
    t->encoder = (iso__encoder){.characters = &j->tokenizer->characters,
                                .tokenizer = j->tokenizer,
                                .heap = j->ctx->heap,
                                .with_offsets = j->options.offsets};
    const size_t wanted = k + 1 == n_tasks ? n_bytes : n_bytes / (size_t)n_tasks * (size_t)(k + 1);
    while (text < n && so_far < wanted) so_far += j->texts[text++].n_bytes + TEXT_BYTES;
    t->end = text;
  }
  return true;
}

/* ---- the result ---- */

static bool check_tasks(const job *j) {
  for (int k = 0; k < j->n_tasks; k++) { /* in the order of the texts: the same error for any cut */
    const task *t = &j->tasks[k];
    if (t->encoder.status != ISO_OK) return iso__fail_memory(j->ctx, t->encoder.status, t->encoder.n_wanted), false;
    if (t->long_text < 0) continue;
    ISO__FAIL(j->ctx, ISO_INVALID_ARGUMENT, "tokenizer_encode",
              "text %lld (from 0) has %lld tokens, the limit max_length is %lld; truncate cuts such texts",
              (long long)t->long_text, (long long)t->long_length, (long long)j->options.max_length);
    return false;
  }
  return true;
}

static bool assemble(job *j, int64_t n) {
  iso_encodings *out = j->out;
  for (int64_t i = 0; i < n; i++) out->begin[i + 1] += out->begin[i];
  const size_t n_ids = (size_t)out->begin[n];
  out->ids = iso__alloc(j->ctx, n_ids * sizeof *out->ids);
  if (!out->ids) return false;
  if (j->options.offsets && !(out->offsets = iso__alloc(j->ctx, n_ids * sizeof *out->offsets))) return false;
  size_t at = 0;
  for (int k = 0; k < j->n_tasks; k++) {
    const iso__encoder *e = &j->tasks[k].encoder;
    if (e->n > 0) memcpy(out->ids + at, e->ids, e->n * sizeof *e->ids);
    if (e->n > 0 && out->offsets) memcpy(out->offsets + at, e->offsets, e->n * sizeof *e->offsets);
    at += e->n;
    out->n_invalid += j->tasks[k].n_invalid;
  }
  return true;
}

static bool check_call(iso_context *ctx, const iso_tokenizer *t, int64_t n, const iso_text *texts,
                       const iso_encode_options *options) {
  const char *const op = "tokenizer_encode";
  if (!t) return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "the tokenizer is NULL"), false;
  if (n < 0 || (n > 0 && !texts))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "n is %lld, texts are %s", (long long)n, texts ? "there" : "NULL"),
           false;
  for (int64_t i = 0; i < n; i++)
    if (!texts[i].bytes && texts[i].n_bytes > 0)
      return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "text %lld (from 0) is NULL", (long long)i), false;
  const int64_t n_special = options->no_special ? 0 : t->n_before + t->n_after;
  if (options->max_length < 0 || (options->max_length > 0 && options->max_length < n_special))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, op, "max_length is %lld, the special tokens alone are %lld",
                     (long long)options->max_length, (long long)n_special),
           false;
  return true;
}

iso_status iso_tokenizer_encode(iso_context *ctx, const iso_tokenizer *t, int64_t n, const iso_text *texts,
                                const iso_encode_options *options, iso_encodings *out) {
  static const iso_encode_options defaults;
  if (out) *out = (iso_encodings){0};
  if (iso__failed(ctx)) return ctx ? iso_error_code(ctx) : ISO_INVALID_ARGUMENT;
  if (!out) return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "tokenizer_encode", "out is NULL");
  if (!options) options = &defaults;
  if (!check_call(ctx, t, n, texts, options)) return iso_error_code(ctx);
  job j = {.ctx = ctx, .tokenizer = t, .texts = texts, .options = *options, .out = out};
  out->n = n;
  out->begin = iso__zalloc(ctx, (size_t)(n + 1) * sizeof *out->begin);
  bool ok = out->begin && cut(&j, n);
  if (ok) iso__parallel(ctx, j.n_tasks, run_task, &j);
  ok = ok && check_tasks(&j) && assemble(&j, n);
  for (int k = 0; k < j.n_tasks; k++) iso__encoder_release(&j.tasks[k].encoder);
  iso__free(ctx, j.tasks, (size_t)j.n_tasks * sizeof *j.tasks);
  if (ok) return ISO_OK;
  iso_encodings_free(ctx, out);
  return iso_error_code(ctx);
}

void iso_encodings_free(iso_context *ctx, iso_encodings *e) {
  if (!ctx || !e || !e->begin) return;
  const size_t n_ids = e->ids ? (size_t)e->begin[e->n] : 0;
  iso__free(ctx, e->offsets, n_ids * sizeof *e->offsets);
  iso__free(ctx, e->ids, n_ids * sizeof *e->ids);
  iso__free(ctx, e->begin, (size_t)(e->n + 1) * sizeof *e->begin);
  *e = (iso_encodings){0};
}
