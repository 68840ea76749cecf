/* tokenize.c: `isobit tokenize`: what a tokenizer makes of texts: ids, tokens, and where in the text they are. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

static struct {
  const char *tokenizer, *text, *data;
  iso_tokenizer_options open;
  iso_encode_options encode;
  iso_text_file_options file;
} asked;

static const option tokenize_option_list[] = {
    {"--tokenizer", OPTION_TEXT, &asked.tokenizer, "PATH", "vocab.txt, tokenizer.json or a folder with one", 0},
    {"--text", OPTION_TEXT, &asked.text, "TEXT", "the text", 0},
    {"--data", OPTION_TEXT, &asked.data, "FILE", "instead: the texts of a CSV, TSV or JSONL file", 0},
    {"--text-column", OPTION_TEXT, &asked.file.text_column, "NAME|N", "its column or field with the texts [text]", 0},
    {"--format", OPTION_TEXT, &asked.file.format, "NAME", "csv, tsv or jsonl [by the file's name]", 0},
    {"--limit", OPTION_COUNT, &asked.file.limit, "N", "only its first so many texts [all]", 1},
    {"--cased", OPTION_FLAG, &asked.open.cased, NULL, "of a vocab.txt: case and accents stay", 0},
    {"--no-special", OPTION_FLAG, &asked.encode.no_special, NULL, "without [CLS] and [SEP] around a text", 0},
    {"--max-length", OPTION_COUNT, &asked.encode.max_length, "N", "tokens at which texts are cut [no limit]", 1},
    {"--threads", OPTION_COUNT, &job.threads, "N", "threads [all cores]", 1},
    {"--json", OPTION_TEXT, &job.json, "FILE", "write the result as JSON", 0},
    {0}};
static const command tokenize_command = {
    "isobit tokenize --tokenizer PATH (--text TEXT | --data FILE) [options]",
    "What a tokenizer makes of texts: a line a token with its id, its place in the text (code points, the first and\n"
    "the one after the last) and itself; a blank line between texts.",
    (const option *const[]){tokenize_option_list, NULL},
    "example: isobit tokenize --tokenizer models/minilm --text \"How do I locate my card?\""};

/* The token with every byte that would move a terminal's cursor as '?'. */
static void print_token(const char *token) {
  for (; *token; token++) putchar((unsigned char)*token < 0x20 || *token == 0x7f ? '?' : *token);
  putchar('\n');
}

static void print_encodings(const iso_tokenizer *t, const iso_encodings *e) {
  for (int64_t i = 0; i < e->n; i++) {
    if (i > 0) putchar('\n');
    for (int64_t k = e->begin[i]; k < e->begin[i + 1]; k++) {
      printf("%8d  %6" PRId64 " %6" PRId64 "  ", e->ids[k], e->offsets[k][0], e->offsets[k][1]);
      print_token(iso_tokenizer_token(t, e->ids[k]));
    }
  }
  if (e->n_invalid)
    fprintf(stderr, "isobit: %" PRId64 " places in the texts are no UTF-8; U+FFFD stands for each\n", e->n_invalid);
}

static json_t *text_json(const iso_tokenizer *t, const iso_encodings *e, int64_t i) {
  json_t *ids = json_array(), *tokens = json_array(), *offsets = json_array();
  for (int64_t k = e->begin[i]; k < e->begin[i + 1]; k++) {
    json_array_append_new(ids, json_integer(e->ids[k]));
    json_array_append_new(tokens, json_string(iso_tokenizer_token(t, e->ids[k])));
    json_array_append_new(offsets, json_pack("[I, I]", (json_int_t)e->offsets[k][0], (json_int_t)e->offsets[k][1]));
  }
  return json_pack("{s:o, s:o, s:o}", "ids", ids, "tokens", tokens, "offsets", offsets);
}

static json_t *encodings_json(const iso_tokenizer *t, const iso_encodings *e) {
  json_t *texts = json_array();
  for (int64_t i = 0; i < e->n; i++) json_array_append_new(texts, text_json(t, e, i));
  return json_pack("{s:{s:s, s:s, s:I, s:I}, s:I, s:o}", "tokenizer", "path", asked.tokenizer, "hash",
                   iso_tokenizer_hash(t), "size", (json_int_t)iso_tokenizer_size(t), "padding",
                   (json_int_t)iso_tokenizer_padding(t), "n_invalid", (json_int_t)e->n_invalid, "texts", texts);
}

/* Encodes, prints and writes. 0 or an exit code. */
static int tokenize(iso_context *ctx, const iso_tokenizer *t, int64_t n, const iso_text *texts) {
  iso_encodings e;
  if (iso_tokenizer_encode(ctx, t, n, texts, &asked.encode, &e) != ISO_OK) return job_failed(ctx);
  int code = EXIT_OK;
  if (job.json) code = job_write_json(job.json, encodings_json(t, &e));
  else print_encodings(t, &e);
  iso_encodings_free(ctx, &e);
  return code;
}

static int tokenize_file(iso_context *ctx, const iso_tokenizer *t) {
  asked.file.no_labels = true;
  iso_text_dataset *set = iso_text_dataset_open(ctx, asked.data, &asked.file);
  if (!set) return job_failed(ctx);
  const int64_t n = iso_text_dataset_get_info(set).n_samples;
  iso_text *texts = malloc((size_t)n * sizeof *texts);
  for (int64_t i = 0; texts && i < n; i++) texts[i] = iso_text_dataset_text(set, i);
  const int code = texts ? tokenize(ctx, t, n, texts)
                         : (fprintf(stderr, "isobit: no memory for the texts of %s\n", asked.data), EXIT_FAILED);
  free(texts);
  iso_text_dataset_free(set);
  return code;
}

int command_tokenize(int argc, char **argv) {
  int code = options_read(&tokenize_command, argc, argv);
  if (code >= 0) return code;
  if (!asked.tokenizer) return fprintf(stderr, "isobit: --tokenizer is missing\n"), EXIT_USAGE;
  if (!asked.text == !asked.data)
    return fprintf(stderr, "isobit: %s\n",
                   asked.text ? "--text and --data exclude each other"
                              : "neither --text nor --data says what to tokenize"),
           EXIT_USAGE;
  if ((code = job_check_json()) >= 0) return code;
  asked.encode.truncate = asked.encode.max_length > 0, asked.encode.offsets = true;
  iso_context *ctx = job_context(NULL, job.threads);
  if (!ctx) return EXIT_FAILED;
  iso_tokenizer *t = iso_tokenizer_open(ctx, asked.tokenizer, &asked.open);
  if (!t) code = job_failed(ctx);
  else code = asked.data ? tokenize_file(ctx, t) : tokenize(ctx, t, 1, &(iso_text){asked.text, strlen(asked.text)});
  iso_tokenizer_free(t);
  iso_context_free(ctx);
  return code;
}
