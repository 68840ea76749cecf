/* report_html.c: the page of a comparison: one file, no network, no script; words first, figures next, plans to unfold.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "report.h"

static const char *told_text(const compare_result *r, const char *key) {
  const char *text = json_string_value(json_object_get(json_object_get(r->told[0][0], "manifest"), key));
  return text ? text : "";
}

static void page_begin(FILE *f, const compare_result *r) {
  fprintf(f, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<meta name=\"color-scheme\" content=\"light dark\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
             "<title>Isobit compare: ");
  html_text(f, job_kind->model_name());
  fprintf(f, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#results\">To the results</a>\n",
          report_style);
  char day[32];
  const time_t now = time(NULL);
  strftime(day, sizeof day, "%Y-%m-%d", localtime(&now));
  fputs("<header>\n<p class=\"kicker\">Isobit compare <span>", f);
  html_textf(f, "%s, batch %lld", job_kind->model_name(), (long long)r->batch_size);
  fputs("</span> <span>", f), html_text(f, told_text(r, "cpu"));
  if (r->c->row[0].run[0].peak_device_mib > 0) fputs("</span> <span>", f), html_text(f, r->c->row[0].run[0].device);
  fputs("</span> <span>", f), html_text(f, day);
  fputs("</span></p>\n", f);
  report_verdict(f, r);
  fputs(
      "<nav aria-label=\"Sections\"><a href=\"#results\">Results</a> <a href=\"#loss\">Loss</a> <a href=\"#time\">Step "
      "time</a> <a href=\"#operators\">Operators</a> <a href=\"#manifest\">Manifest</a></nav>\n</header>\n<main>\n",
      f);
}

/* ---- the table; on a narrow screen each row becomes a card, so the roles are said aloud ---- */
static const char *const headings[] = {"Policy",     "Step time",   "Against fast", "95th perc.", "Samples/s",
                                       "First step", "Peak memory", "Loss",         "Accuracy",   "Same bits"};

static void cell_begin(FILE *f, int column, const char *class) {
  fprintf(f, "<td role=\"cell\" data-label=\"%s\"%s%s%s>", headings[column], *class ? " class=\"" : "", class,
          *class ? "\"" : "");
}

static void times(FILE *f, const compare_result *r, const iso_compare_row *row) {
  cell_begin(f, 1, "n"), html_ms(f, row->step_ms.median);
  if (!isnan(row->step_ms.low))
    fprintf(f, " <small>%.4g&thinsp;–&thinsp;%.4g</small>", row->step_ms.low, row->step_ms.high);
  fputs("</td>", f), cell_begin(f, 2, "n");
  if (isnan(row->over_fast.median)) fputs("–", f);
  else
    html_signed(f, 100 * (row->over_fast.median - 1)), fputs("&nbsp;% <small>", f),
        html_signed(f, 100 * (row->over_fast.low - 1)), fputs("&thinsp;…&thinsp;", f),
        html_signed(f, 100 * (row->over_fast.high - 1)), fputs("</small>", f);
  fputs("</td>", f), cell_begin(f, 3, "n"), html_ms(f, row->step_ms.p95), fputs("</td>", f);
  cell_begin(f, 4, "n");
  if (row->step_ms.median > 0) fprintf(f, "%.0f", 1000.0 * (double)r->batch_size / row->step_ms.median);
  else fputs("–", f);
  fputs("</td>", f), cell_begin(f, 5, "n"), html_ms(f, row->run[0].steps[0].time_ms), fputs("</td>", f);
}

static void table_row(FILE *f, const compare_result *r, int p) {
  const iso_compare_row *row = &r->c->row[p];
  const iso_compare_step *last = &row->run[0].steps[row->run[0].n_steps - 1];
  fprintf(f, "<tr role=\"row\"%s><th role=\"rowheader\" scope=\"row\">",
          p == report_main_row(r) ? " class=\"main\"" : "");
  html_text(f, row->name), fprintf(f, " <small>%llu steps</small></th>", (unsigned long long)row->run[0].n_steps);
  times(f, r, row);
  cell_begin(f, 6, "n"), html_bytes(f, compare_peak_mib(&row->run[0]) * 1048576), fputs("</td>", f);
  cell_begin(f, 7, "n"), fprintf(f, "%.5f</td>", last->loss);
  cell_begin(f, 8, "n"),
      fprintf(f, "%.2f&nbsp;%%</td>", 100 * json_number_value(json_object_get(r->told[p][0], "accuracy")));
  cell_begin(f, 9, row->same_bits ? "yes" : row->promise_kept ? "" : "bad");
  if (row->same_bits) fputs("yes", f);
  else fprintf(f, "no, from step %lld", (long long)row->first_differing_step);
  fprintf(f, " <small><code>%.8s…</code></small></td></tr>\n", last->hash);
}

static void results(FILE *f, const compare_result *r) {
  fputs("<section id=\"results\" aria-labelledby=\"h-results\">\n<h2 id=\"h-results\">Results</h2>\n"
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"h-results\">\n"
        "<table role=\"table\" class=\"cards\"><caption><span>Time and memory are of the run with all threads, its "
        "first step apart. Small figures are "
        "95&nbsp;% intervals of the median, and hashes of the weights.</span></caption>\n"
        "<thead role=\"rowgroup\"><tr role=\"row\">",
        f);
  for (size_t i = 0; i < sizeof headings / sizeof headings[0]; i++)
    fprintf(f, "<th role=\"columnheader\" scope=\"col\"%s>%s</th>", i > 0 && i < 9 ? " class=\"n\"" : "", headings[i]);
  fputs("</tr></thead>\n<tbody role=\"rowgroup\">\n", f);
  for (int p = 0; p < r->c->n_rows; p++) table_row(f, r, p);
  fputs("</tbody></table>\n</div>\n</section>\n", f);
}

static void page_end(FILE *f, const compare_result *r) {
  fprintf(f,
          "</main>\n<footer><p>The runs took turns of %llu steps, %.1f s in all, of which %.1f s were steps. Made by "
          "Isobit "
          "%s.</p></footer>\n</body>\n</html>\n",
          (unsigned long long)r->c->slice, r->c->total_s, r->c->steps_s, iso_version());
}

int report_write(const compare_result *r, const char *path) {
  output o;
  const int code = output_open(&o, "--report", path);
  if (code) return code;
  page_begin(o.file, r);
  results(o.file, r);
  report_charts(o.file, r);
  report_plans(o.file, r);
  report_manifest(o.file, r);
  page_end(o.file, r);
  return output_close(&o);
}
