/* predict.c: `isobit predict`: classes of texts, with their probabilities. */
#include <stdlib.h>
#include <string.h>
#include "texts.h"

static int64_t top = 1;
static bool all;
static const option predict_options[] = {
    {"--top", OPTION_COUNT, &top, "K", "that many classes a text, the likeliest first [1]", 1},
    {"--all", OPTION_FLAG, &all, NULL, "the probabilities of all classes", 0},
    {0}};
static const command predict_command = {
    .usage = "isobit predict --checkpoint DIR --data FILE [options]",
    .about =
        "The likeliest class of each text, and its probability: a line a text, in the file's order. As TSV (label, "
        "probability, …,\n"
        "text) with a header, or as JSON objects where --out ends in .jsonl. A text's figures do not depend on "
        "those beside it.",
    .options =
        (const option *const[]){predict_options, texts_model_options, texts_input_options, job_option_list, NULL},
    .notes = "exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted\n"
             "example: isobit predict --checkpoint ck --text 'Where is my card?' --top 3"};

static const float *row_now;

/* The likelier first, of equal ones the first class. */
static int by_probability(const void *a, const void *b) {
  const int x = *(const int *)a, y = *(const int *)b;
  if (row_now[x] != row_now[y]) return row_now[x] < row_now[y] ? 1 : -1;
  return (x > y) - (x < y);
}

static void write_tsv(FILE *f, const iso_text_predictor *p, iso_text text, const float *row, const int *order) {
  const int n = iso_text_predictor_n_classes(p);
  for (int k = 0; k < top && k < n; k++)
    fprintf(f, "%s\t%.9g\t", iso_text_predictor_class_name(p, order[k]), (double)row[order[k]]);
  for (int k = 0; all && k < n; k++) fprintf(f, "%.9g\t", (double)row[k]);
  texts_print_field(f, text);
  fputc('\n', f);
}

static void write_header(FILE *f, const iso_text_predictor *p) {
  const int n = iso_text_predictor_n_classes(p);
  for (int k = 0; k < top && k < n; k++) {
    if (k) fprintf(f, "label_%d\tprobability_%d\t", k + 1, k + 1);
    else fputs("label\tprobability\t", f);
  }
  for (int k = 0; all && k < n; k++) fprintf(f, "%s\t", iso_text_predictor_class_name(p, k));
  fputs("text\n", f);
}

static void write_json(FILE *f, const iso_text_predictor *p, iso_text text, const float *row, const int *order) {
  const int n = iso_text_predictor_n_classes(p);
  json_t *line = json_object(), *list = json_array(), *shares = json_object();
  json_object_set_new(line, "text", texts_json(text));
  json_object_set_new(line, "label", json_string(iso_text_predictor_class_name(p, order[0])));
  json_object_set_new(line, "probability", json_real((double)row[order[0]]));
  for (int k = 0; k < top && k < n; k++)
    json_array_append_new(list, json_pack("{s:s, s:f}", "label", iso_text_predictor_class_name(p, order[k]),
                                          "probability", (double)row[order[k]]));
  for (int k = 0; all && k < n; k++)
    json_object_set_new(shares, iso_text_predictor_class_name(p, k), json_real((double)row[k]));
  if (top > 1) json_object_set(line, "top", list);
  if (all) json_object_set(line, "probabilities", shares);
  json_decref(list), json_decref(shares);
  char *dump = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9));
  fprintf(f, "%s\n", dump ? dump : "{}");
  free(dump);
  json_decref(line);
}

static int write_all(const iso_text_predictor *p, const text_list *list, const float *out) {
  output o;
  const int n = iso_text_predictor_n_classes(p);
  const bool json = texts_out_is(".jsonl");
  int *order = calloc((size_t)n, sizeof *order), code = order ? texts_open_out(&o) : EXIT_FAILED;
  if (code) return free(order), code;
  if (!json) write_header(o.file, p);
  for (int64_t i = 0; i < list->n; i++) {
    row_now = out + i * n;
    for (int k = 0; k < n; k++) order[k] = k;
    qsort(order, (size_t)n, sizeof *order, by_probability);
    (json ? write_json : write_tsv)(o.file, p, list->text[i], row_now, order);
  }
  free(order);
  return texts_close_out(&o);
}

int command_predict(int argc, char **argv) {
  iso_policy policy;
  text_list list;
  int code = options_read(&predict_command, argc, argv);
  if (code >= 0 || (code = texts_check()) >= 0 || (code = job_policy(job.policy, &policy)) >= 0) return code;
  job_catch_interrupts();
  iso_context *ctx = job_context(&policy, job.threads);
  if (!ctx) return EXIT_FAILED;
  iso_text_predictor *p = texts_predictor(ctx, false);
  float *out = NULL;
  if (p && texts_read(ctx, &list)) {
    out = texts_run(ctx, p, &list, "predicting");
    code = out ? write_all(p, &list, out) : job_interrupted() ? EXIT_INTERRUPTED : EXIT_FAILED;
    texts_release(&list);
  }
  if (iso_error_code(ctx)) code = job_failed(ctx);
  free(out);
  iso_text_predictor_free(p);
  iso_context_free(ctx);
  return code;
}
