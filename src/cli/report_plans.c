/* report_plans.c: which algorithm ran for each operator under each policy, and why not the others; what the same bits
 * cost operator by operator where both were measured; and the manifest. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "report.h"

static const json_t *plan_of(const compare_result *r, int p, const char *problem) {
  return json_object_get(json_object_get(r->told[p][0], "plans"), problem);
}
static double number(const json_t *o, const char *key) { return json_number_value(json_object_get(o, key)); }
static const char *text(const json_t *o, const char *key) {
  const char *t = json_string_value(json_object_get(o, key));
  return t ? t : "";
}

/* All rows' problems, each once, in the order of first use. */
static json_t *all_problems(const compare_result *r) {
  json_t *all = json_object();
  for (int p = 0; p < r->c->n_rows; p++) {
    const char *problem;
    json_t *unused;
    json_object_foreach(json_object_get(r->told[p][0], "plans"), problem, unused)
        json_object_set_new(all, problem, json_true());
  }
  return all;
}

/* ---- one operator: engines down, policies across ---- */
static const json_t *candidate_of(const json_t *plan, const char *engine) {
  size_t i;
  json_t *c;
  json_array_foreach(json_object_get(plan, "candidates"), i, c) if (!strcmp(text(c, "engine"), engine)) return c;
  return NULL;
}

static void verdict_cell(FILE *f, const json_t *plan, const char *engine) {
  const json_t *c = candidate_of(plan, engine);
  const bool chosen = json_is_true(json_object_get(c, "chosen"));
  const double ms = number(c, "measured_ms");
  fprintf(f, "<td%s>", chosen ? " class=\"yes\"" : "");
  if (chosen) fprintf(f, "runs (%s)", text(plan, "source"));
  else html_text(f, !c ? "–" : *text(c, "reason") ? text(c, "reason") : text(c, "verdict"));
  if (ms > 0) fputs(" <small>", f), html_ms(f, ms), fputs("</small>", f);
  fputs("</td>", f);
}

static void engine_row(FILE *f, const compare_result *r, const char *problem, const json_t *c) {
  fputs("<tr><th scope=\"row\"><code>", f);
  html_textf(f, "%s@%d", text(c, "engine"), (int)number(c, "revision"));
  fputs("</code></th><td>", f), html_text(f, text(c, "class"));
  fputs("</td><td class=\"n\">", f), html_bytes(f, number(c, "workspace_bytes")), fputs("</td>", f);
  for (int p = 0; p < r->c->n_rows; p++) verdict_cell(f, plan_of(r, p, problem), text(c, "engine"));
  fputs("</tr>\n", f);
}

static const json_t *some_plan(const compare_result *r, const char *problem) {
  for (int p = 0; p < r->c->n_rows; p++)
    if (plan_of(r, p, problem)) return plan_of(r, p, problem);
  return NULL;
}

/* Whether one engine runs under all policies that have the problem. */
static const char *common_engine(const compare_result *r, const char *problem) {
  const char *engine = text(some_plan(r, problem), "engine");
  for (int p = 0; p < r->c->n_rows; p++)
    if (plan_of(r, p, problem) && strcmp(text(plan_of(r, p, problem), "engine"), engine) != 0)
      return "differs by policy";
  return engine;
}

static void operator_block(FILE *f, const compare_result *r, const char *problem) {
  size_t i;
  json_t *c;
  fputs("<details><summary><code>", f), html_text(f, problem), fputs("</code> <small>", f);
  html_text(f, common_engine(r, problem)), fputs("</small></summary>\n", f);
  fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Candidates for ", f), html_text(f, problem);
  fputs("\"><table><caption><span>Candidates; what became of each under each policy</span></caption><thead><tr><th "
        "scope=\"col\">Engine</th><th scope=\"col\">Class</th><th scope=\"col\" class=\"n\">Workspace</th>",
        f);
  for (int p = 0; p < r->c->n_rows; p++)
    fputs("<th scope=\"col\">", f), html_text(f, r->c->row[p].name), fputs("</th>", f);
  fputs("</tr></thead><tbody>\n", f);
  json_array_foreach(json_object_get(some_plan(r, problem), "candidates"), i, c) engine_row(f, r, problem, c);
  fputs("</tbody></table></div></details>\n", f);
}

/* ---- price by operator: fast against the page's main row ---- */
static int row_named(const compare_result *r, const char *name) {
  for (int p = 0; p < r->c->n_rows; p++)
    if (!strcmp(r->c->row[p].name, name)) return p;
  return -1;
}

static void price_begin(FILE *f, const compare_result *r, int same) {
  fputs(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Price by "
      "operator\"><table><caption><span>Where the "
      "two "
      "run other engines or measured other times; each time is the chosen engine's, from when the run made its "
      "plan</span></caption>"
      "<thead><tr><th scope=\"col\">Operator</th><th scope=\"col\" class=\"n\">fast</th><th scope=\"col\" class=\"n\">",
      f);
  html_text(f, r->c->row[same].name);
  fputs("</th><th scope=\"col\" class=\"n\">Ratio</th><th scope=\"col\">Engine</th></tr></thead><tbody>\n", f);
}

static void price_row(FILE *f, const char *problem, const json_t *fast, const json_t *same, bool same_engine) {
  const double a = number(fast, "measured_ms"), b = number(same, "measured_ms");
  fputs("<tr><th scope=\"row\"><code>", f), html_text(f, problem), fputs("</code></th><td class=\"n\">", f);
  html_ms(f, a), fputs("</td><td class=\"n\">", f), html_ms(f, b);
  fprintf(f, "</td><td class=\"n\">%.2f</td><td>%s</td></tr>\n", b / a, same_engine ? "the same" : "another");
}

static void price_section(FILE *f, const compare_result *r, const json_t *problems) {
  const int fast = row_named(r, "fast"), same = report_main_row(r);
  const char *problem;
  json_t *unused;
  int n_equal = 0, n_rows = 0;
  if (fast < 0 || same < 0) return;
  fputs("<h3>Price by operator</h3>\n", f);
  json_object_foreach((json_t *)(uintptr_t)problems, problem, unused) {
    const json_t *a = plan_of(r, fast, problem), *b = plan_of(r, same, problem);
    const double fast_ms = number(a, "measured_ms"), same_ms = number(b, "measured_ms");
    const bool same_engine = !strcmp(text(a, "engine"), text(b, "engine"));
    if (!(fast_ms > 0) || !(same_ms > 0)) continue;
    if (same_engine && fast_ms == same_ms) {
      n_equal++;
      continue;
    }
    if (!n_rows++) price_begin(f, r, same);
    price_row(f, problem, a, b, same_engine);
  }
  if (n_rows) fputs("</tbody></table></div>\n", f);
  fprintf(f, "<p>%d operators were measured under both policies; for %d of them one measurement serves both.</p>\n",
          n_rows + n_equal, n_equal);
}

/* ---- plans, by operator ---- */
/* The length of a problem's first word, "conv2d.fwd". */
static size_t operator_length(const char *problem) { return strcspn(problem, " "); }

static bool is_of(const char *problem, const char *other) {
  const size_t n = operator_length(problem);
  return n == operator_length(other) && !strncmp(problem, other, n);
}

/* Writes the operator of `first` with all its problems, unless an earlier problem was of it. */
static void operator_group(FILE *f, const compare_result *r, const json_t *problems, const char *first) {
  const char *problem;
  json_t *unused;
  int n = 0;
  json_object_foreach((json_t *)(uintptr_t)problems, problem, unused) {
    if (!is_of(problem, first)) continue;
    if (!n++ && strcmp(problem, first) != 0) return;
  }
  fputs("<details><summary><b>", f), html_textf(f, "%.*s", (int)operator_length(first), first);
  fprintf(f, "</b> <small>%d %s</small></summary>\n<div class=\"list\">\n", n, n == 1 ? "problem" : "problems");
  json_object_foreach((json_t *)(uintptr_t)problems, problem, unused) if (is_of(problem, first))
      operator_block(f, r, problem);
  fputs("</div></details>\n", f);
}

void report_plans(FILE *f, const compare_result *r) {
  json_t *problems = all_problems(r), *unused;
  const char *problem;
  fputs("<section id=\"operators\" aria-labelledby=\"h-operators\">\n<h2 id=\"h-operators\">Operators</h2>\n", f);
  fprintf(
      f,
      "<p>A run has %zu different problems. Engines of one class give the same bits, so a policy that promises them "
      "may choose freely inside it.</p>\n",
      json_object_size(problems));
  price_section(f, r, problems);
  fputs("<h3>Plans</h3>\n<p>Which engine runs, and what became of the others.</p>\n<div class=\"list\">\n", f);
  json_object_foreach(problems, problem, unused) operator_group(f, r, problems, problem);
  fputs("</div>\n</section>\n", f);
  json_decref(problems);
}

/* ---- manifest ---- */
static void value(FILE *f, const json_t *v) {
  if (json_is_string(v)) {
    html_text(f, json_string_value(v));
    return;
  }
  char *dumped = json_dumps(v, JSON_ENCODE_ANY);
  html_text(f, dumped ? dumped : "");
  free(dumped);
}

static void manifest_row(FILE *f, const char *name, const json_t *v) {
  fputs("<div><dt>", f), html_text(f, name), fputs("</dt><dd>", f), value(f, v), fputs("</dd></div>\n", f);
}

void report_manifest(FILE *f, const compare_result *r) {
  const char *key;
  const json_t *v;
  fputs("<section id=\"manifest\" aria-labelledby=\"h-manifest\">\n<h2 id=\"h-manifest\">Manifest</h2>\n<p>Enough to "
        "repeat "
        "the comparison.</p>\n<dl>\n",
        f);
  json_object_foreach(json_object_get(r->told[0][0], "manifest"), key,
                      v) if (strcmp(key, "policy") != 0 && strcmp(key, "argv") != 0) manifest_row(f, key, v);
  for (int p = 0; p < r->c->n_rows; p++) {
    char name[96];
    snprintf(name, sizeof name, "policy %s", r->c->row[p].name);
    manifest_row(f, name, json_object_get(json_object_get(r->told[p][0], "manifest"), "policy"));
  }
  fputs("</dl>\n</section>\n", f);
}
