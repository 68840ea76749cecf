/* embed.c: `isobit embed`: texts as vectors of length 1, and a search among them by cosine. */
#include <stdlib.h>
#include <string.h>
#include "texts.h"

static const char *query;
static int64_t top = 10;
static const option embed_options[] = {
    {"--search", OPTION_TEXT, &query, "TEXT", "instead of the vectors: the texts of --data that are nearest to it", 0},
    {"--top", OPTION_COUNT, &top, "K", "how many of them [10]", 1},
    {0}};
static const command embed_command = {
    .usage = "isobit embed --weights DIR --data FILE [options]",
    .about =
        "A vector of length 1 for each text: pooled as the model's folder says (all-MiniLM: the mean over its tokens). "
        "As TSV (one\n"
        "number a column, then the text), or f32 (texts, width) where --out ends in .npy. With --search: cosine and "
        "text of the\n"
        "nearest, best first. A text's vector does not depend on those beside it.",
    .options = (const option *const[]){embed_options, texts_model_options, texts_input_options, job_option_list, NULL},
    .notes = "exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted\n"
             "example: isobit embed --weights minilm --data train.csv --search 'my card has not come' --top 5"};

/* ---- the vectors ---- */

static int write_npy(iso_context *ctx, const text_list *list, int width, const float *out) {
  iso_tensor *t = iso_tensor_copy_from(ctx, ISO_F32, 2, ISO_DIMS(list->n, width), out);
  return t && !iso_npy_write(ctx, texts.out, t) ? EXIT_OK : EXIT_FAILED;
}

static int write_tsv(const text_list *list, int width, const float *out) {
  output o;
  const int code = texts_open_out(&o);
  if (code) return code;
  for (int64_t i = 0; i < list->n; i++) {
    for (int k = 0; k < width; k++) fprintf(o.file, "%.9g\t", (double)out[i * width + k]);
    texts_print_field(o.file, list->text[i]);
    fputc('\n', o.file);
  }
  return texts_close_out(&o);
}

/* ---- the search ---- */

typedef struct hit {
  double cosine;
  int64_t at;
} hit;

/* Of equal ones the first in the file. */
static int by_cosine(const void *a, const void *b) {
  const hit *x = a, *y = b;
  if (x->cosine != y->cosine) return x->cosine < y->cosine ? 1 : -1;
  return (x->at > y->at) - (x->at < y->at);
}

static int search(iso_text_predictor *p, const text_list *list, const float *out) {
  const int width = iso_text_predictor_width(p);
  const iso_text text = {query, strlen(query)};
  output o;
  float *q = calloc((size_t)width, sizeof *q);
  hit *hits = calloc((size_t)list->n, sizeof *hits);
  int code = q && hits && !iso_text_predictor_run(p, 1, &text, q) ? texts_open_out(&o) : EXIT_FAILED;
  for (int64_t i = 0; !code && i < list->n; i++) {
    hits[i].at = i;
    for (int k = 0; k < width; k++) hits[i].cosine += (double)out[i * width + k] * (double)q[k];
  }
  if (!code) {
    qsort(hits, (size_t)list->n, sizeof *hits, by_cosine);
    for (int64_t i = 0; i < top && i < list->n; i++) {
      fprintf(o.file, "%.6f\t", hits[i].cosine);
      texts_print_field(o.file, list->text[hits[i].at]);
      fputc('\n', o.file);
    }
    code = texts_close_out(&o);
  }
  free(q), free(hits);
  return code;
}

static int embed(iso_context *ctx, iso_text_predictor *p) {
  text_list list;
  if (!p || !texts_read(ctx, &list)) return EXIT_FAILED;
  const int width = iso_text_predictor_width(p);
  float *out = texts_run(ctx, p, &list, "embedding");
  int code = job_interrupted() ? EXIT_INTERRUPTED : EXIT_FAILED;
  if (out)
    code = query                  ? search(p, &list, out)
           : texts_out_is(".npy") ? write_npy(ctx, &list, width, out)
                                  : write_tsv(&list, width, out);
  free(out);
  texts_release(&list);
  return code;
}

int command_embed(int argc, char **argv) {
  iso_policy policy;
  int code = options_read(&embed_command, argc, argv);
  if (code >= 0 || (code = texts_check()) >= 0 || (code = job_policy(job.policy, &policy)) >= 0) return code;
  if (query && texts.text) return fprintf(stderr, "isobit: --search looks among the texts of --data\n"), EXIT_USAGE;
  job_catch_interrupts();
  iso_context *ctx = job_context(&policy, job.threads);
  if (!ctx) return EXIT_FAILED;
  iso_text_predictor *p = texts_predictor(ctx, true);
  code = embed(ctx, p);
  if (iso_error_code(ctx)) code = job_failed(ctx);
  iso_text_predictor_free(p);
  iso_context_free(ctx);
  return code;
}
