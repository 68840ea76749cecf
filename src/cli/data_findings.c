/* data_findings.c: what is wrong with files of texts: found by sorting all rows by their text, so equal ones are
 * neighbours, whichever file they are from. Texts are compared without the case of ASCII letters and with every run of
 * white space as one blank: most models can't tell more apart. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "data.h"

void finding_add(findings *f, const char *kind, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  json_array_append_new(f->list, json_pack("{s:s, s:s}", "kind", kind, "text", text));
}

typedef struct row {
  iso_text text; /* folded */
  const text_file *file;
  int64_t index;
} row;

typedef struct sorted_rows {
  int64_t n;
  row *rows;
  char *bytes; /* of their texts */
} sorted_rows;

/* The text, folded, into out, which has room for all of it; returns its size there. */
static size_t fold(iso_text text, char *out) {
  size_t n = 0;
  for (size_t i = 0; i < text.n_bytes; i++) {
    const char c = text.bytes[i];
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      if (n > 0 && out[n - 1] != ' ') out[n++] = ' ';
    } else {
      out[n++] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
  }
  return n > 0 && out[n - 1] == ' ' ? n - 1 : n;
}

/* By text, then file as given, then row. */
static int by_text(const void *a, const void *b) {
  const row *x = a, *y = b;
  const size_t n = x->text.n_bytes < y->text.n_bytes ? x->text.n_bytes : y->text.n_bytes;
  const int order = n ? memcmp(x->text.bytes, y->text.bytes, n) : 0;
  if (order) return order;
  if (x->text.n_bytes != y->text.n_bytes) return x->text.n_bytes < y->text.n_bytes ? -1 : 1;
  if (x->file != y->file) return x->file < y->file ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

static bool same_text(const row *a, const row *b) {
  return a->text.n_bytes == b->text.n_bytes && memcmp(a->text.bytes, b->text.bytes, a->text.n_bytes) == 0;
}

static void release_rows(sorted_rows *s) { free(s->rows), free(s->bytes); }

/* All rows of files [0, n_files), sorted; to be released in any case. */
static bool sort_rows(const text_file *files, int n_files, sorted_rows *out) {
  size_t n_bytes = 0;
  *out = (sorted_rows){0};
  for (int f = 0; f < n_files; f++)
    for (int64_t i = 0; i < files[f].info.n_samples; i++, out->n++)
      n_bytes += iso_text_dataset_text(files[f].set, i).n_bytes;
  out->rows = malloc((size_t)out->n * sizeof *out->rows);
  out->bytes = malloc(n_bytes + 1);
  if (!out->rows || !out->bytes) return false;
  row *at = out->rows;
  char *text = out->bytes;
  for (int f = 0; f < n_files; f++)
    for (int64_t i = 0; i < files[f].info.n_samples; i++, at++) {
      const size_t n = fold(iso_text_dataset_text(files[f].set, i), text);
      *at = (row){{text, n}, &files[f], i};
      text += n;
    }
  qsort(out->rows, (size_t)out->n, sizeof *out->rows, by_text);
  return true;
}

static int label_of(const row *r) { return iso_text_dataset_label(r->file->set, r->index); }
static long long line_of(const row *r) { return (long long)iso_text_dataset_line(r->file->set, r->index); }

/* Texts that stand more than once, and those of them whose labels contradict each other. */
static bool find_duplicates(findings *f, const text_file *file) {
  int64_t n_again = 0, n_contrary = 0;
  sorted_rows all;
  row again[2] = {{{0}, NULL, 0}}, contrary[2] = {{{0}, NULL, 0}};
  if (!sort_rows(file, 1, &all)) return release_rows(&all), false;
  const row *rows = all.rows;
  for (int64_t i = 1; i < all.n; i++) {
    if (!same_text(&rows[i - 1], &rows[i])) continue;
    if (n_again++ == 0) memcpy(again, &rows[i - 1], sizeof again);
    if (label_of(&rows[i - 1]) != label_of(&rows[i]) && n_contrary++ == 0)
      memcpy(contrary, &rows[i - 1], sizeof contrary);
  }
  release_rows(&all);
  if (n_again)
    finding_add(f, "duplicates", "%s: %" PRId64 " rows repeat the text of another one, as lines %lld and %lld do",
                file->path, n_again, line_of(&again[0]), line_of(&again[1]));
  if (n_contrary)
    finding_add(f, "contradictions",
                "%s: %" PRId64 " rows repeat a text with another label, as lines %lld (%s) and %lld (%s) do",
                file->path, n_contrary, line_of(&contrary[0]),
                iso_text_dataset_class_name(file->set, label_of(&contrary[0])), line_of(&contrary[1]),
                iso_text_dataset_class_name(file->set, label_of(&contrary[1])));
  return true;
}

static const char *name_of(const text_file *file, int k) { return iso_text_dataset_class_name(file->set, k); }

static void find_imbalance(findings *f, const text_file *file) {
  enum { FEW = 8, MUCH = 10 };
  const int n = file->info.n_classes, most = file->by_count[0], least = file->by_count[n - 1];
  int n_few = 0;
  for (int k = 0; k < n; k++) n_few += file->n_of[k] < FEW;
  if (n == 1) {
    finding_add(f, "one_class", "%s: every row has the label %s: there is nothing to tell apart", file->path,
                name_of(file, 0));
    return;
  }
  if (file->n_of[most] >= MUCH * file->n_of[least])
    finding_add(f, "imbalance",
                "%s: %s has %" PRId64 " rows, %s %" PRId64
                "; accuracy hides the rare ones, and always answering %s is right in %.1f %%",
                file->path, name_of(file, most), file->n_of[most], name_of(file, least), file->n_of[least],
                name_of(file, most), 100.0 * (double)file->n_of[most] / (double)file->info.n_samples);
  if (n > file->info.n_samples / 2)
    finding_add(f, "many_classes", "%s: %d labels for %" PRId64 " rows: is it the column of labels?", file->path, n,
                file->info.n_samples);
  else if (n_few)
    finding_add(f, "few_rows", "%s: %d of %d classes have fewer than %d rows, %s only %" PRId64, file->path, n_few, n,
                FEW, name_of(file, least), file->n_of[least]);
}

bool data_judge(findings *f, const text_file *file) {
  if (file->n_empty) finding_add(f, "empty", "%s: %" PRId64 " texts are empty", file->path, file->n_empty);
  if (file->info.n_classes > 0) find_imbalance(f, file);
  return find_duplicates(f, file);
}

bool data_judge_pair(findings *f, const text_file *train, const text_file *test) {
  const text_file files[2] = {*train, *test};
  int64_t n_shared = 0;
  sorted_rows all;
  row first[2] = {{{0}, NULL, 0}};
  if (!sort_rows(files, 2, &all)) return release_rows(&all), false;
  const row *rows = all.rows;
  for (int64_t i = 0, known = -1; i < all.n; i++) { /* known: the first row of this text, if it trains */
    if (known < 0 || !same_text(&rows[known], &rows[i])) known = rows[i].file == &files[0] ? i : -1;
    if (known < 0 || rows[i].file == &files[0] || n_shared++ > 0) continue;
    first[0] = rows[known], first[1] = rows[i];
  }
  release_rows(&all);
  if (n_shared)
    finding_add(f, "leak",
                "%" PRId64 " of %" PRId64
                " rows of %s are in %s too, as its line %lld is in line %lld: the test is easier than it says",
                n_shared, test->info.n_samples, test->path, train->path, line_of(&first[1]), line_of(&first[0]));
  int n_missing = 0, missing = 0;
  for (int k = test->info.n_classes - 1; k >= 0; k--)
    if (test->n_of[k] == 0) n_missing++, missing = k;
  if (n_missing)
    finding_add(f, "untested", "%s: %d of %d classes have no row, as %s", test->path, n_missing, test->info.n_classes,
                name_of(test, missing));
  return true;
}
