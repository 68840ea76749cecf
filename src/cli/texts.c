/* texts.c: what predict, embed and export share. */
#include "texts.h"
#include <stdlib.h>
#include <string.h>

texts_options texts;
const option texts_model_options[] = {
    {"--checkpoint", OPTION_TEXT, &texts.checkpoint, "DIR", "folder of a text job's checkpoint", 0},
    {"--weights", OPTION_TEXT, &texts.weights, "DIR",
     "instead: folder of a pretrained model, as Hugging Face has it, or as 'isobit export' writes it", 0},
    {0}};
const option texts_input_options[] = {
    {"--data", OPTION_TEXT, &texts.data, "FILE", "csv, tsv or jsonl file of texts, or .txt: a text a line", 0},
    {"--text", OPTION_TEXT, &texts.text, "TEXT", "instead: this one", 0},
    {"--text-column", OPTION_TEXT, &texts.text_column, "NAME",
     "name, or number from 1 of files without header [text; of .txt the line]", 0},
    {"--format", OPTION_TEXT, &texts.format, "NAME", "csv, tsv or jsonl [by the file's name]", 0},
    {"--out", OPTION_TEXT, &texts.out, "FILE", "where results go [standard output]", 0},
    {"--precision", OPTION_TEXT, &texts.precision, "f32|bf16|f16",
     "of products and what the list of 'isobit autocast' says; the result is f32 [f32]", 0},
    {"--batch-size", OPTION_COUNT, &texts.batch_size, "N", "texts computed together; never changes a bit [32]", 1},
    {"--max-length", OPTION_COUNT, &texts.max_length, "N",
     "tokens of a text [as in training, or the model's positions]", 1},
    {"--truncate", OPTION_FLAG, &texts.truncate, NULL, "cut longer texts at their end [they are an error]", 0},
    {0}};

int texts_check(void) {
  if (!texts.checkpoint == !texts.weights)
    return fprintf(stderr, "isobit: give either --checkpoint DIR or --weights DIR\n"), EXIT_USAGE;
  if (!texts.data == !texts.text)
    return fprintf(stderr, "isobit: give either --data FILE or --text TEXT\n"), EXIT_USAGE;
  if (texts.precision && strcmp(texts.precision, "f32") && strcmp(texts.precision, "bf16") &&
      strcmp(texts.precision, "f16"))
    return fprintf(stderr, "isobit: --precision is '%s'; it must be f32, bf16 or f16\n", texts.precision), EXIT_USAGE;
  return output_check("--out", texts.out);
}

iso_text_predictor *texts_predictor(iso_context *ctx, bool embeds) {
  iso_dtype dtype = ISO_F32;
  if (texts.precision && iso_dtype_parse(texts.precision, &dtype) &&
      iso_autocast_push(ctx, &(iso_autocast_options){.dtype = dtype}))
    return NULL;
  return iso_text_predictor_open(ctx, texts.checkpoint ? texts.checkpoint : texts.weights,
                                 &(iso_text_predictor_options){.embeds = embeds,
                                                               .batch_size = texts.batch_size,
                                                               .max_length = texts.max_length,
                                                               .truncate = texts.truncate});
}

/* ---- texts ---- */

static bool ends_in(const char *text, const char *ending) {
  const size_t n = text ? strlen(text) : 0, m = strlen(ending);
  return n >= m && !strcmp(text + n - m, ending);
}

bool texts_read(iso_context *ctx, text_list *list) {
  *list = (text_list){.n = 1};
  if (texts.data) {
    const bool lines = !texts.format && (ends_in(texts.data, ".txt") || ends_in(texts.data, ".txt.gz"));
    const char *column = texts.text_column ? texts.text_column : lines ? "1" : NULL;
    list->set = iso_text_dataset_open(
        ctx, texts.data,
        &(iso_text_file_options){.format = lines ? "tsv" : texts.format, .text_column = column, .no_labels = true});
    if (!list->set) return false;
    list->n = iso_text_dataset_get_info(list->set).n_samples;
  }
  if (!(list->text = calloc((size_t)list->n, sizeof *list->text))) return texts_release(list), false;
  for (int64_t i = 0; i < list->n; i++)
    list->text[i] = list->set ? iso_text_dataset_text(list->set, i) : (iso_text){texts.text, strlen(texts.text)};
  return true;
}

void texts_release(text_list *list) {
  iso_text_dataset_free(list->set);
  free(list->text);
  *list = (text_list){0};
}

float *texts_run(iso_context *ctx, iso_text_predictor *p, const text_list *list, const char *label) {
  enum { CHUNK = 1024 };
  progress bar;
  char note[64];
  const size_t width = (size_t)iso_text_predictor_width(p);
  float *out = calloc((size_t)list->n * width + 1, sizeof *out);
  bool ok = out != NULL;
  progress_begin(&bar, label, (uint64_t)list->n, job.quiet);
  for (int64_t i = 0; i < list->n && ok; i += CHUNK) {
    const int64_t n = list->n - i < CHUNK ? list->n - i : CHUNK;
    ok = !iso_text_predictor_run(p, n, list->text + i, out + (size_t)i * width) && !job_interrupted();
    snprintf(note, sizeof note, "%.0f texts/s", 1e9 * (double)(i + n) / (double)(now_ns() - bar.begin_ns + 1));
    progress_add(&bar, (uint64_t)n, note);
  }
  progress_end(&bar);
  if (ok) return out;
  free(out);
  if (job_interrupted() && !iso_error_code(ctx)) fprintf(stderr, "isobit: interrupted\n");
  return NULL;
}

/* ---- results ---- */

void texts_print_field(FILE *f, iso_text text) {
  for (size_t i = 0; i < text.n_bytes; i++) {
    const char c = text.bytes[i];
    fputc(c == '\t' || c == '\n' || c == '\r' || !c ? ' ' : c, f);
  }
}

/* Bytes at `text` that are one character of UTF-8; 0: they are none. */
static size_t character_at(const char *text, size_t n_left) {
  for (size_t n = 1; n <= 4 && n <= n_left; n++) {
    json_t *one = json_stringn(text, n);
    json_decref(one);
    if (one) return n;
  }
  return 0;
}

json_t *texts_json(iso_text text) {
  json_t *value = json_stringn(text.bytes, text.n_bytes);
  char *copy = value ? NULL : malloc(3 * text.n_bytes + 1);
  size_t n = 0;
  for (size_t i = 0; copy && i < text.n_bytes;) {
    const size_t used = character_at(text.bytes + i, text.n_bytes - i);
    memcpy(copy + n, used ? text.bytes + i : "\xEF\xBF\xBD", used ? used : 3);
    n += used ? used : 3, i += used ? used : 1;
  }
  if (copy) value = json_stringn(copy, n);
  free(copy);
  return value ? value : json_null();
}

bool texts_out_is(const char *ending) { return ends_in(texts.out, ending); }

int texts_open_out(output *o) {
  if (texts.out) return output_open(o, "--out", texts.out);
  *o = (output){.file = stdout};
  return EXIT_OK;
}

int texts_close_out(output *o) {
  if (texts.out) return output_close(o);
  return fflush(stdout) || ferror(stdout) ? EXIT_FAILED : EXIT_OK;
}
