/* diff_page.c: a comparison of two runs as a page: one file, no network, no script. */
#include <string.h>
#include "diff.h"
#include "html.h"
#include "report.h"

static void row(FILE *f, const char *what, const char *a, const char *b) {
  fputs("<tr><th scope=\"row\">", f), html_text(f, what);
  fputs("</th><td><code>", f), html_text(f, *a ? a : "–");
  fputs("</code></td><td><code>", f), html_text(f, *b ? b : "–");
  fputs("</code></td></tr>\n", f);
}

static void table_begin(FILE *f, const char *id, const char *title, const char *caption) {
  fprintf(
      f,
      "<section id=\"%s\" aria-labelledby=\"h-%s\">\n<h2 id=\"h-%s\">%s</h2>\n<div class=\"scroll\" tabindex=\"0\" "
      "role=\"region\" aria-labelledby=\"h-%s\"><table><caption><span>%s</span></caption>\n"
      "<thead><tr><th scope=\"col\">What</th><th scope=\"col\">A</th><th scope=\"col\">B</th></tr></thead>\n<tbody>\n",
      id, id, id, title, id, caption);
}
static void table_end(FILE *f) { fputs("</tbody></table></div></section>\n", f); }

static void place(FILE *f, const diff_report *r) {
  const diff_found *d = &r->found;
  char text[160];
  table_begin(f, "place", "Where", "The first difference in the order of computation.");
  row(f, "Run", r->run[0]->name, r->run[1]->name);
  if (d->kind == DIFF_RUN || d->kind == DIFF_SEQUENCE) {
    row(f, "Direction", d->line[0].phase, d->line[1].phase);
    row(f, "Module", d->line[0].module, d->line[1].module);
    row(f, "Problem", d->line[0].problem, d->line[1].problem);
    row(f, "Engine and class", d->line[0].engine, d->line[1].engine);
  } else if (d->kind != DIFF_NONE && d->kind != DIFF_LENGTH)
    row(f, "Tensor", d->line[0].line.name, d->line[1].line.name);
  row(f, "Hash", d->line[0].line.gradient, d->line[1].line.gradient);
  if (*d->line[0].line.weight && strcmp(d->line[0].line.weight, "-"))
    row(f, "Hash of the weights", d->line[0].line.weight, d->line[1].line.weight);
  if (d->replayed) {
    snprintf(text, sizeof text, "First element, %lld: %llu ulp", (long long)d->first, (unsigned long long)d->ulp);
    row(f, text, d->value[0], d->value[1]);
    snprintf(text, sizeof text, "Largest, element %lld: %llu ulp", (long long)d->worst,
             (unsigned long long)d->worst_ulp);
    row(f, text, d->worst_value[0], d->worst_value[1]);
  }
  table_end(f);
}

static void facts(FILE *f, const diff_report *r) {
  if (!r->n_facts) return;
  table_begin(f, "facts", "What differs around it", "From the manifests: versions, machine, policy, data and options.");
  for (int i = 0; i < r->n_facts; i++) row(f, r->facts[i].what, r->facts[i].value[0], r->facts[i].value[1]);
  table_end(f);
}

static void plans(FILE *f, const diff_report *r) {
  size_t i;
  json_t *plan;
  if (!json_array_size(r->plans)) return;
  table_begin(f, "plans", "Plans", "Lines of the lockfiles that differ.");
  json_array_foreach(r->plans, i, plan) {
    const char *a = json_string_value(json_object_get(plan, "a")), *b = json_string_value(json_object_get(plan, "b"));
    row(f, json_string_value(json_object_get(plan, "problem")), a ? a : "", b ? b : "");
  }
  table_end(f);
}

int diff_write_page(const diff_report *r, const char *path) {
  output o;
  char text[512];
  const int code = output_open(&o, "--html", path);
  if (code) return code;
  FILE *f = o.file;
  const bool same = r->found.kind == DIFF_NONE;
  fprintf(f,
          "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
          "<title>Isobit diff</title>\n<style>\n%s</style>\n</head>\n<body>\n<header>\n<p class=\"kicker\">Isobit "
          "diff</p>\n<h1%s>",
          report_style, same ? "" : " class=\"bad\"");
  html_text(f, diff_headline(r, text, sizeof text));
  fputs("</h1>\n", f);
  if (!same) fputs("<p><strong>Likely cause:</strong> ", f), html_text(f, r->cause), fputs("</p>\n", f);
  fprintf(f, "<p>%llu steps before it are the same", (unsigned long long)r->found.n_steps);
  if (r->found.n_same) fprintf(f, ", and %llu runs of engines in the step itself", (unsigned long long)r->found.n_same);
  fputs(".</p>\n</header>\n<main>\n", f);
  if (!same) place(f, r);
  facts(f, r), plans(f, r);
  fprintf(f, "</main>\n<footer><p>Made by Isobit %s.</p></footer>\n</body>\n</html>\n", iso_version());
  return output_close(&o);
}
