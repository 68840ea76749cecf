/* report_verdict.c: the verdict in plain words: what the same bits cost here, and which policies gave them. */
#include <math.h>
#include <string.h>
#include "report.h"

static bool keeps_promise(const iso_compare_row *row) {
  return row->policy.repro >= ISO_REPRO_INVARIANT && row->same_bits && strcmp(row->name, "plain") != 0;
}

int report_main_row(const compare_result *r) {
  int found = -1;
  for (int p = r->c->n_rows; p-- > 0;)
    if (keeps_promise(&r->c->row[p]) && (found < 0 || strcmp(r->c->row[found].name, "default") != 0)) found = p;
  return found;
}

static const iso_compare_row *broken(const compare_result *r) {
  for (int p = 0; p < r->c->n_rows; p++)
    if (!r->c->row[p].promise_kept) return &r->c->row[p];
  return NULL;
}

/* Wider than a tenth of a step on either side. */
static bool is_vague(const iso_sample_stats *s) { return s->high - s->low > 0.2; }

static void headline(FILE *f, const compare_result *r, const iso_compare_row *row) {
  const iso_compare_row *bad = broken(r);
  if (bad) html_textf(f, "%s broke its promise: its two runs do not have the same bits.", bad->name);
  else if (!row) fputs("None of these policies promises the same bits.", f);
  else if (isnan(row->over_fast.median)) fputs("The same bits in every run.", f);
  else if (row->over_fast.low > 1)
    fprintf(f, "The same bits in every run cost %.1f&nbsp;%% more time.", 100 * (row->over_fast.median - 1));
  else if (row->over_fast.high < 1)
    fprintf(f, "The same bits in every run, and %.1f&nbsp;%% faster than fast.", 100 * (1 - row->over_fast.median));
  else if (is_vague(&row->over_fast)) fputs("The same bits in every run. Their price is lost in the noise.", f);
  else fputs("The same bits in every run, at no measurable cost.", f);
}

static void price(FILE *f, const iso_compare_row *row) {
  const iso_sample_stats *s = &row->over_fast;
  fputs("<p>A step under <b>", f), html_text(f, row->name), fputs("</b> takes ", f), html_ms(f, row->step_ms.median);
  if (isnan(s->median)) fputs(".", f);
  else {
    fputs(": <b>", f), html_signed(f, 100 * (s->median - 1)),
        fputs("&nbsp;%</b> against <b>fast</b>, which promises ", f);
    fputs("nothing (95&nbsp;% interval ", f), html_signed(f, 100 * (s->low - 1)), fputs(" to ", f);
    html_signed(f, 100 * (s->high - 1)), fputs("&nbsp;%, paired by turns).", f);
    if (is_vague(s)) fputs(" The interval is wide: a quieter machine or more steps would narrow it.", f);
  }
  fputs("</p>\n", f);
}

static void bits(FILE *f, const iso_compare_row *row) {
  fputs("<li><b>", f), html_text(f, row->name), fputs("</b> ", f);
  const unsigned long long n = (unsigned long long)row->run[0].n_steps;
  const bool promises = row->policy.repro >= ISO_REPRO_INVARIANT;
  if (row->same_bits && promises) fprintf(f, "promises the same bits and gave them: all %llu steps agree.", n);
  else if (row->same_bits) fprintf(f, "does not promise the same bits; this time all %llu steps agree.", n);
  else
    fprintf(f, "%s: the two runs differ from step %lld on.",
            promises ? "promises the same bits and did not give them" : "does not promise the same bits",
            (long long)row->first_differing_step);
  fputs("</li>\n", f);
}

void report_verdict(FILE *f, const compare_result *r) {
  const int main_row = report_main_row(r);
  const iso_compare_row *row = main_row < 0 ? NULL : &r->c->row[main_row];
  fprintf(f, "<h1%s>", broken(r) ? " class=\"bad\"" : ""), headline(f, r, row), fputs("</h1>\n", f);
  if (row) price(f, row);
  fprintf(f,
          "<p>Each policy trained the same model twice, in processes of their own with %d and %d threads.</p>\n<ul>\n",
          r->c->row[0].run[0].n_threads, r->c->row[0].run[1].n_threads);
  for (int p = 0; p < r->c->n_rows; p++) bits(f, &r->c->row[p]);
  fputs("</ul>\n", f);
}
