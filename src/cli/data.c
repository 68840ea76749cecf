/* data.c: `isobit data FILE`: what is in a file of texts before anything trains on it: classes, lengths, what padding
 * costs, and what is wrong. */
#include "data.h"
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static struct {
  const char *test, *tokenizer;
  iso_text_file_options file;
  int64_t max_length, batch_size;
} asked = {.batch_size = 16};

static const option data_option_list[] = {
    {"--test", OPTION_TEXT, &asked.test, "FILE", "the file that will test: what it shares with the first", 0},
    {"--tokenizer", OPTION_TEXT, &asked.tokenizer, "PATH",
     "vocab.txt, tokenizer.json or a folder with one: lengths in tokens, and padding", 0},
    {"--text-column", OPTION_TEXT, &asked.file.text_column, "NAME|N", "column or field of the texts [text]", 0},
    {"--label-column", OPTION_TEXT, &asked.file.label_column, "NAME|N",
     "column or field of the labels [label, category, intent or class]", 0},
    {"--format", OPTION_TEXT, &asked.file.format, "NAME", "csv, tsv or jsonl [by the file's name]", 0},
    {"--no-labels", OPTION_FLAG, &asked.file.no_labels, NULL, "texts alone", 0},
    {"--max-length", OPTION_COUNT, &asked.max_length, "N", "tokens at which texts are cut [no limit]", 1},
    {"--batch-size", OPTION_COUNT, &asked.batch_size, "N", "of the batches whose padding is counted [16]", 1},
    {"--threads", OPTION_COUNT, &job.threads, "N", "threads [all cores]", 1},
    {"--json", OPTION_TEXT, &job.json, "FILE", "write the result as JSON", 0},
    {0}};
static const option *const lists[] = {data_option_list, NULL};
static const command data_command = {"isobit data FILE [options]",
                                     "What is in a file of texts (CSV, TSV or JSONL, plain or gzip): rows, classes, "
                                     "lengths, what padding costs at several\n"
                                     "bucket sizes, and what is wrong: rows that test and training share, repeated "
                                     "texts, contradicting labels, classes\n"
                                     "that are rare.",
                                     lists, "example: isobit data train.csv --test test.csv --tokenizer models/minilm"};

/* ---- a file ---- */

static const text_file *sorting; /* qsort has no room for it */
static int by_count(const void *a, const void *b) {
  const int x = *(const int *)a, y = *(const int *)b;
  if (sorting->n_of[x] != sorting->n_of[y]) return sorting->n_of[x] > sorting->n_of[y] ? -1 : 1;
  return (x > y) - (x < y);
}

static bool is_blank(iso_text text) {
  for (size_t i = 0; i < text.n_bytes; i++)
    if (!memchr(" \t\r\n", text.bytes[i], 4)) return false;
  return true;
}

static bool count_rows(text_file *file) {
  const size_t n = (size_t)file->info.n_classes;
  file->n_of = calloc(n + 1, sizeof *file->n_of);
  file->by_count = calloc(n + 1, sizeof *file->by_count);
  if (!file->n_of || !file->by_count) return false;
  for (int64_t i = 0; i < file->info.n_samples; i++) {
    if (n) file->n_of[iso_text_dataset_label(file->set, i)]++;
    file->n_empty += is_blank(iso_text_dataset_text(file->set, i));
  }
  for (size_t k = 0; k < n; k++) file->by_count[k] = (int)k;
  sorting = file;
  qsort(file->by_count, n, sizeof *file->by_count, by_count);
  return true;
}

/* With the classes of another file, or NULL. 0 or an exit code. */
static int open_file(iso_context *ctx, const char *path, const text_file *classes, text_file *out) {
  iso_text_file_options o = asked.file;
  o.one_class = true;
  const int n = classes ? classes->info.n_classes : 0;
  const char **names = calloc((size_t)n + 1, sizeof *names);
  for (int k = 0; names && k < n; k++) names[k] = iso_text_dataset_class_name(classes->set, k);
  o.n_classes = n, o.classes = names;
  *out = (text_file){.path = path};
  out->set = names ? iso_text_dataset_open(ctx, path, &o) : NULL;
  free(names);
  if (iso_error_code(ctx)) return job_failed(ctx);
  out->info = iso_text_dataset_get_info(out->set);
  if (out->set && count_rows(out)) return EXIT_OK;
  return fprintf(stderr, "isobit: no memory for the rows of %s\n", path), EXIT_FAILED;
}

static void close_file(text_file *file) {
  iso_text_dataset_free(file->set);
  free(file->n_of), free(file->by_count);
}

static void print_class(const text_file *file, int k) {
  printf("  %8" PRId64 "  %5.1f %%  %s\n", file->n_of[k], 100.0 * (double)file->n_of[k] / (double)file->info.n_samples,
         iso_text_dataset_class_name(file->set, k));
}

/* All classes, or of many the ends of the list. */
static void print_file(const text_file *file) {
  enum { ALL = 24, END = 5 };
  const int n = file->info.n_classes;
  printf("%s: %" PRId64 " rows, %d classes, %" PRId64 " empty texts, hash %s\n", file->path, file->info.n_samples, n,
         file->n_empty, file->info.hash);
  for (int i = 0; i < n; i++) {
    if (n > ALL && i == END) {
      printf("  … %d classes between them\n", n - 2 * END);
      i = n - END;
    }
    print_class(file, file->by_count[i]);
  }
}

static json_t *file_json(const text_file *file) {
  json_t *classes = json_array();
  for (int k = 0; k < file->info.n_classes; k++)
    json_array_append_new(classes, json_pack("{s:s, s:I}", "name", iso_text_dataset_class_name(file->set, k), "n_rows",
                                             (json_int_t)file->n_of[k]));
  return json_pack("{s:s, s:I, s:I, s:s, s:o}", "path", file->path, "n_rows", (json_int_t)file->info.n_samples,
                   "n_empty", (json_int_t)file->n_empty, "hash", file->info.hash, "classes", classes);
}

/* ---- lengths and padding ---- */

/* Of one bucket size; false: the context has the error. */
static bool count_padding(iso_context *ctx, const text_file *file, const iso_tokenizer *tokenizer, int bucket_batches,
                          iso_text_loader_stats *s) {
  const iso_text_loader_options o = {.batch_size = asked.batch_size,
                                     .shuffle = true,
                                     .max_length = asked.max_length,
                                     .truncate = asked.max_length > 0,
                                     .bucket_batches = bucket_batches};
  iso_text_loader *loader = iso_text_loader_new(ctx, file->set, tokenizer, &o);
  const bool ok = loader && iso_text_loader_get_stats(loader, 0, s) == ISO_OK;
  iso_text_loader_free(loader);
  return ok;
}

static void report_lengths(findings *f, const text_file *file, const iso_text_loader_stats *s) {
  printf("lengths in tokens: shortest %" PRId64 ", median %" PRId64 ", 90 %% up to %" PRId64 ", 99 %% up to %" PRId64
         ", longest %" PRId64 "; %" PRId64 " in all\n",
         s->shortest, s->median, s->p90, s->p99, s->longest, s->n_tokens);
  if (s->n_truncated)
    finding_add(f, "truncated", "%s: %" PRId64 " texts are cut at %" PRId64 " tokens", file->path, s->n_truncated,
                asked.max_length);
  if (s->n_invalid)
    finding_add(f, "invalid", "%s: U+FFFD stands for bytes that are no UTF-8 in %" PRId64 " places", file->path,
                s->n_invalid);
}

static json_t *lengths_json(const iso_text_loader_stats *s) {
  return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "shortest", (json_int_t)s->shortest, "median",
                   (json_int_t)s->median, "p90", (json_int_t)s->p90, "p99", (json_int_t)s->p99, "longest",
                   (json_int_t)s->longest, "n_tokens", (json_int_t)s->n_tokens, "n_truncated",
                   (json_int_t)s->n_truncated, "n_invalid", (json_int_t)s->n_invalid);
}

/* Into `result`; false: the context has the error. */
static bool report_padding(iso_context *ctx, findings *f, const text_file *file, const iso_tokenizer *tokenizer,
                           json_t *result) {
  static const int buckets[] = {1, 10, 50};
  iso_text_loader_stats s;
  json_t *padding = json_array();
  for (int i = 0; i < 3; i++) {
    if (!count_padding(ctx, file, tokenizer, buckets[i], &s)) return json_decref(padding), false;
    if (i == 0) {
      report_lengths(f, file, &s);
      json_object_set_new(result, "lengths", lengths_json(&s));
      printf("padding in batches of %" PRId64 ", an epoch:\n  bucket_batches  padding  shapes  largest batch\n",
             asked.batch_size);
    }
    printf("  %14d  %5.1f %%  %6" PRId64 "  %" PRId64 " x %" PRId64 "\n", buckets[i], 100 * s.padding_share,
           s.n_lengths, s.largest_n, s.largest_length);
    json_array_append_new(padding, json_pack("{s:i, s:f, s:I, s:I, s:I, s:I}", "bucket_batches", buckets[i], "share",
                                             s.padding_share, "n_padding", (json_int_t)s.n_padding, "n_lengths",
                                             (json_int_t)s.n_lengths, "largest_n", (json_int_t)s.largest_n,
                                             "largest_length", (json_int_t)s.largest_length));
  }
  json_object_set_new(result, "padding", padding);
  return true;
}

/* ---- the command ---- */

static int print_findings(const findings *f) {
  size_t i;
  json_t *finding;
  json_array_foreach(f->list, i, finding)
      printf("%s  %s\n", i ? "" : "warnings:\n", json_string_value(json_object_get(finding, "text")));
  if (i == 0) printf("no warnings\n");
  return EXIT_OK;
}

static int report(iso_context *ctx, findings *f, const text_file *train, const text_file *test, json_t *result) {
  print_file(train);
  json_object_set_new(result, "file", file_json(train));
  if (test) {
    print_file(test);
    json_object_set_new(result, "test", file_json(test));
  }
  if (asked.tokenizer) {
    iso_tokenizer *tokenizer = iso_tokenizer_open(ctx, asked.tokenizer, NULL);
    const bool ok = tokenizer && report_padding(ctx, f, train, tokenizer, result);
    iso_tokenizer_free(tokenizer);
    if (!ok) return job_failed(ctx);
  }
  if (!data_judge(f, train) || (test && (!data_judge(f, test) || !data_judge_pair(f, train, test))))
    return fprintf(stderr, "isobit: no memory to compare rows\n"), EXIT_FAILED;
  return print_findings(f);
}

static int run(iso_context *ctx, const char *path) {
  text_file train, test = {0};
  findings f = {.list = json_array()};
  json_t *result = json_object();
  int code = open_file(ctx, path, NULL, &train);
  if (code == EXIT_OK && asked.test) code = open_file(ctx, asked.test, &train, &test);
  if (code == EXIT_OK) code = report(ctx, &f, &train, asked.test ? &test : NULL, result);
  json_object_set_new(result, "warnings", f.list);
  close_file(&train), close_file(&test);
  if (code == EXIT_OK && job.json) return job_write_json(job.json, result);
  json_decref(result);
  return code;
}

int command_data(int argc, char **argv) {
  const bool has_path = argc > 0 && argv[0][0] != '-';
  int code = options_read(&data_command, argc - has_path, argv + has_path);
  if (code >= 0) return code;
  if (!has_path) return fprintf(stderr, "isobit: which file? usage: %s\n", data_command.usage), EXIT_USAGE;
  if ((code = job_check_json()) >= 0) return code;
  iso_context *ctx = job_context(NULL, job.threads);
  if (!ctx) return EXIT_FAILED;
  code = run(ctx, argv[0]);
  iso_context_free(ctx);
  return code;
}
