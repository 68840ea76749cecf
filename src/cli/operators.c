/* operators.c: `isobit operators`: what every operator computes, takes and gives, from the rows of the library.
 * docs/operators.md is what --markdown prints. */
#include <stdlib.h>
#include <string.h>
#include "cli.h"

static bool markdown;
static const char *json_path;
static const option operators_options[] = {
    {"--markdown", OPTION_FLAG, &markdown, NULL, "the page docs/operators.md", 0},
    {"--json", OPTION_TEXT, &json_path, "FILE", "the rows, by topic", 0},
    {0}};
static const command operators_command = {
    .usage = "isobit operators [NAME ...] [options]",
    .about = "The operators: formula, shapes, dtypes, numeric class, gradient, and where PyTorch's differs. NAME: an\n"
             "operator (iso_exp or exp) or a topic; without one, a line each.",
    .options = (const option *const[]){operators_options, NULL},
    .notes = "example: isobit operators softmax"};

/* ---- which rows ---- */
static const iso_operator_info *rows;
static int n_rows;

static const char *bare(const char *name) { return strncmp(name, "iso_", 4) ? name : name + 4; }

/* Row i belongs to what `names` ask for; topic: the last topic's row before it. */
static bool is_asked(const iso_operator_info *row, const iso_operator_info *topic, int n, char **names) {
  if (!n) return true;
  for (int i = 0; i < n; i++)
    if (!strcmp(bare(names[i]), row->name) || !strcmp(names[i], topic->topic)) return true;
  return false;
}

static bool is_known(char *name) {
  const iso_operator_info *topic = rows;
  for (int i = 0; i < n_rows; i++)
    if (rows[i].topic) topic = &rows[i];
    else if (is_asked(&rows[i], topic, 1, &name)) return true;
  return false;
}

/* ---- the page ---- */
/* A cell ends at a bar. */
static void print_cell(const char *text) {
  printf(" ");
  for (; *text; text++) {
    if (*text == '|') printf("\\");
    putchar(*text);
  }
  printf(" |");
}

static void print_markdown(int n, char **names) {
  const iso_operator_info *topic = rows, *shown = NULL;
  printf("# Operators\n\n"
         "Printed by `isobit operators --markdown` from the rows of `src/ops/*/ops.def`. An operator `name` is the "
         "function\n`iso_name` of `include/isobit/ops/`, whose comment says more. Classes are those of "
         "[numerics.md](numerics.md).\n"
         "The last column says where the result is not PyTorch's, and why.\n");
  for (int i = 0; i < n_rows; i++) {
    if (rows[i].topic) topic = &rows[i];
    else if (is_asked(&rows[i], topic, n, names)) {
      if (shown != topic)
        printf("\n## %s\n\n| operator | formula | shapes | dtypes | class | gradient | difference from PyTorch |\n"
               "|---|---|---|---|---|---|---|\n",
               topic->formula);
      shown = topic;
      const iso_operator_info *r = &rows[i];
      printf("| `%s` |", r->name);
      const char *const cells[] = {r->formula, r->shapes, r->dtypes, r->numeric_class, r->gradient, r->difference};
      for (size_t c = 0; c < sizeof cells / sizeof *cells; c++) print_cell(cells[c]);
      printf("\n");
    }
  }
}

/* ---- on a terminal ---- */
static void print_in_full(const iso_operator_info *r) {
  const char *const labels[] = {"formula", "shapes", "dtypes", "class", "gradient", "difference"};
  const char *const cells[] = {r->formula, r->shapes, r->dtypes, r->numeric_class, r->gradient, r->difference};
  printf("iso_%s\n", r->name);
  for (size_t c = 0; c < sizeof cells / sizeof *cells; c++)
    if (*cells[c]) printf("  %-11s %s\n", labels[c], cells[c]);
}

static void print_text(int n, char **names) {
  const iso_operator_info *topic = rows;
  for (int i = 0; i < n_rows; i++) {
    if (rows[i].topic) {
      topic = &rows[i];
      if (!n) printf("%s%s: %s\n", i ? "\n" : "", topic->topic, topic->formula);
    } else if (is_asked(&rows[i], topic, n, names)) {
      if (n) print_in_full(&rows[i]);
      else printf("  %-26s %s\n", rows[i].name, rows[i].formula);
    }
  }
}

static json_t *rows_json(int n, char **names) {
  json_t *topics = json_array(), *operators = NULL;
  const iso_operator_info *topic = rows, *shown = NULL;
  for (int i = 0; i < n_rows; i++) {
    const iso_operator_info *r = &rows[i];
    if (r->topic) topic = r;
    else if (is_asked(r, topic, n, names)) {
      if (shown != topic) {
        operators = json_array();
        json_array_append_new(topics, json_pack("{s:s, s:s, s:o}", "topic", topic->topic, "title", topic->formula,
                                                "operators", operators));
      }
      shown = topic;
      json_array_append_new(operators,
                            json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "name", r->name, "formula", r->formula,
                                      "shapes", r->shapes, "dtypes", r->dtypes, "class", r->numeric_class, "gradient",
                                      r->gradient, "difference", r->difference));
    }
  }
  return json_pack("{s:o}", "topics", topics);
}

int command_operators(int argc, char **argv) {
  const int n = problems_count_words(argc, argv);
  int code = options_read(&operators_command, argc - n, argv + n);
  if (code < 0) code = output_check("--json", json_path);
  if (code >= 0) return code;
  rows = iso_operator_list(&n_rows);
  for (int i = 0; i < n; i++)
    if (!is_known(argv[i])) {
      fprintf(stderr, "isobit: there is no operator or topic '%s'; isobit operators lists them\n", argv[i]);
      return EXIT_USAGE;
    }
  if (markdown) print_markdown(n, argv);
  else if (!json_path) print_text(n, argv);
  return json_path ? job_write_json(json_path, rows_json(n, argv)) : EXIT_OK;
}
