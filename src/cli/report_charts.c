/* report_charts.c: the loss curves of all runs, one over the other, and the distribution of step times; as SVG in the
 * page's own colours, each with its figures as a table for those who cannot see it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "report.h"

enum { WIDTH = 640, LEFT = 72, RIGHT = 14, MAX_POINTS = 600, MAX_DOTS = 400 };
enum { LOSS_HEIGHT = 300, LOSS_TOP = 14, LOSS_BOTTOM = 256, BAND = 62, BAND_TOP = 26 };

/* ---- axes ---- */
typedef struct axis {
  double low, high, step; /* of the data; between ticks */
  double from, to;        /* in the picture */
} axis;

/* Ticks at 1, 2 or 5 times a power of ten, about n of them; the ends move out to ticks. */
static axis axis_of(double low, double high, int n, double from, double to) {
  if (!(high > low)) high = low + (low != 0 ? fabs(low) * 0.1 : 1);
  const double raw = (high - low) / n, power = pow(10, floor(log10(raw))), times = raw / power;
  const double step = power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
  return (axis){floor(low / step) * step, ceil(high / step) * step, step, from, to};
}

static double at(const axis *a, double v) { return a->from + (a->to - a->from) * (v - a->low) / (a->high - a->low); }
static int n_ticks(const axis *a) { return (int)floor((a->high - a->low) / a->step + 1.5); }
static double tick(const axis *a, int i) { return a->low + i * a->step; }
static int decimals(const axis *a) {
  const double d = -floor(log10(a->step) + 1e-9);
  return d > 0 ? (int)d : 0;
}

static void draw_y_axis(FILE *f, const axis *y) {
  for (int i = 0; i < n_ticks(y); i++) {
    const double place = at(y, tick(y, i));
    fprintf(f, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT, WIDTH - RIGHT, place, place);
    fprintf(f, "<text class=\"end\" x=\"%d\" y=\"%.1f\">%.*f</text>\n", LEFT - 8, place + 5, decimals(y), tick(y, i));
  }
}

/* Numbers below `bottom`, with lines up to `top`. */
static void draw_x_axis(FILE *f, const axis *x, double top, double bottom) {
  for (int i = 0; i < n_ticks(x); i++) {
    const double place = at(x, tick(x, i));
    fprintf(f, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", place, place, top, bottom);
    fprintf(f, "<text class=\"middle\" x=\"%.1f\" y=\"%.1f\">%.*f</text>\n", place, bottom + 24, decimals(x),
            tick(x, i));
  }
}

/* The page's main row has the accent; the others are told apart by their dashes. */
static const char *class_of(const compare_result *r, int p) {
  static const char *const classes[] = {"line a", "line b", "line c", "line d"};
  return p == report_main_row(r) ? "line main" : classes[p % 4];
}

static void legend(FILE *f, const compare_result *r) {
  fputs("<ul class=\"legend\">", f);
  for (int p = 0; p < r->c->n_rows; p++) {
    fprintf(f, "<li><svg viewBox=\"0 0 34 10\" aria-hidden=\"true\"><path class=\"%s\" d=\"M1 5H33\"/></svg> ",
            class_of(r, p));
    html_text(f, r->c->row[p].name), fputs("</li>", f);
  }
  fputs("</ul>\n", f);
}

/* ---- loss ---- */
static axis loss_axis(const iso_comparison *c) {
  double low = INFINITY, high = -INFINITY;
  for (int i = 0; i < 2 * c->n_rows; i++) {
    const iso_compare_run *run = &c->row[i / 2].run[i % 2];
    for (uint64_t s = 0; s < run->n_steps; s++)
      low = fmin(low, run->steps[s].loss), high = fmax(high, run->steps[s].loss);
  }
  return axis_of(low, high, 4, LOSS_BOTTOM, LOSS_TOP);
}

static uint64_t longest(const iso_comparison *c) {
  uint64_t n = 1;
  for (int p = 0; p < c->n_rows; p++) n = c->row[p].run[0].n_steps > n ? c->row[p].run[0].n_steps : n;
  return n;
}

static void draw_curve(FILE *f, const iso_compare_run *run, const axis *x, const axis *y, const char *class) {
  const uint64_t stride = run->n_steps / MAX_POINTS + 1;
  fprintf(f, "<polyline class=\"%s\" points=\"", class);
  for (uint64_t s = 0; s < run->n_steps; s += stride)
    fprintf(f, "%.1f,%.1f ", at(x, (double)s), at(y, run->steps[s].loss));
  const uint64_t last = run->n_steps ? run->n_steps - 1 : 0;
  if (last % stride) fprintf(f, "%.1f,%.1f ", at(x, (double)last), at(y, run->steps[last].loss));
  fputs("\"/>\n", f);
}

/* The loss at up to eight steps. */
static void loss_table(FILE *f, const iso_comparison *c) {
  const uint64_t n = longest(c), stride = n > 8 ? (n + 6) / 7 : 1;
  fputs(
      "<details><summary>The figures</summary><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Loss "
      "by "
      "step\"><table><caption><span>Loss by step; two figures where the two runs differ</span></caption><thead><tr><th "
      "scope=\"col\">Policy</th>",
      f);
  for (uint64_t s = 0; s < n; s += stride) fprintf(f, "<th scope=\"col\" class=\"n\">%llu</th>", (unsigned long long)s);
  fputs("</tr></thead><tbody>\n", f);
  for (int p = 0; p < c->n_rows; p++) {
    const iso_compare_run *one = &c->row[p].run[0], *two = &c->row[p].run[1];
    fputs("<tr><th scope=\"row\">", f), html_text(f, c->row[p].name), fputs("</th>", f);
    for (uint64_t s = 0; s < n; s += stride) {
      if (s >= one->n_steps) fputs("<td class=\"n\">–</td>", f);
      else if (!memcmp(&one->steps[s].loss, &two->steps[s].loss, sizeof(double)))
        fprintf(f, "<td class=\"n\">%.6f</td>", one->steps[s].loss);
      else fprintf(f, "<td class=\"n\">%.6f<br>%.6f</td>", one->steps[s].loss, two->steps[s].loss);
    }
    fputs("</tr>\n", f);
  }
  fputs("</tbody></table></div></details>\n", f);
}

/* The most that any two runs' losses lie apart in a step that both made. */
static double widest(const iso_comparison *c, uint64_t *step) {
  double most = 0;
  for (uint64_t s = 0; s < longest(c); s++) {
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < 2 * c->n_rows; i++) {
      const iso_compare_run *run = &c->row[i / 2].run[i % 2];
      if (s < run->n_steps) low = fmin(low, run->steps[s].loss), high = fmax(high, run->steps[s].loss);
    }
    if (high - low > most) most = high - low, *step = s;
  }
  return most;
}

static void loss_section(FILE *f, const compare_result *r) {
  const iso_comparison *c = r->c;
  const axis y = loss_axis(c), x = axis_of(0, (double)(longest(c) - 1), 5, LEFT, WIDTH - RIGHT);
  const int main_row = report_main_row(r);
  uint64_t step = 0;
  const double apart = widest(c, &step);
  fputs("<section id=\"loss\" aria-labelledby=\"h-loss\">\n<h2 id=\"h-loss\">Loss</h2>\n<p>", f);
  if (apart > 0)
    fprintf(f, "All %d runs, one over the other. They lie furthest apart in step %llu, by %.2g.", 2 * c->n_rows,
            (unsigned long long)step, apart);
  else fprintf(f, "All %d runs, one over the other: they are the same, bit for bit.", 2 * c->n_rows);
  fprintf(f,
          "</p>\n<figure><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"t-loss\" "
          "aria-describedby=\"d-loss\"><title "
          "id=\"t-loss\">Loss "
          "by step, all runs</title><desc id=\"d-loss\">",
          WIDTH, LOSS_HEIGHT);
  fprintf(f, "Starts at %.4f; at the end it is", c->row[0].run[0].steps[0].loss);
  for (int p = 0; p < c->n_rows; p++)
    fprintf(f, " %.4f under ", c->row[p].run[0].steps[c->row[p].run[0].n_steps - 1].loss), html_text(f, c->row[p].name),
        fputs(p + 1 < c->n_rows ? "," : ".", f);
  fputs("</desc>\n", f);
  draw_y_axis(f, &y), draw_x_axis(f, &x, LOSS_BOTTOM, LOSS_BOTTOM);
  for (int i = 0; i < 2 * c->n_rows; i++)
    if (i / 2 != main_row) draw_curve(f, &c->row[i / 2].run[i % 2], &x, &y, class_of(r, i / 2));
  for (int i = 0; main_row >= 0 && i < 2; i++) draw_curve(f, &c->row[main_row].run[i], &x, &y, class_of(r, main_row));
  fprintf(f, "</svg><figcaption>Loss by optimiser step</figcaption></figure>\n");
  legend(f, r), loss_table(f, c);
  fputs("</section>\n", f);
}

/* ---- step times ---- */
typedef struct sorted {
  double *v;
  size_t n;
} sorted;

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The first step, which plans and tunes, is left out. */
static sorted sorted_times(const iso_compare_run *run) {
  sorted s = {malloc((size_t)run->n_steps * sizeof(double)), 0};
  for (uint64_t i = 1; s.v && i < run->n_steps; i++) s.v[s.n++] = run->steps[i].time_ms;
  if (s.n) qsort(s.v, s.n, sizeof *s.v, by_value);
  return s;
}

static double quantile(const sorted *s, double q) { return s->v[(size_t)floor(q * (double)(s->n - 1) + 0.5)]; }

/* From the fastest step to a little beyond every row's 95th percentile. */
static axis time_axis(const iso_comparison *c) {
  double low = INFINITY, high = 0;
  for (int p = 0; p < c->n_rows; p++) {
    const sorted s = sorted_times(&c->row[p].run[0]);
    if (s.n) low = fmin(low, s.v[0]), high = fmax(high, fmin(quantile(&s, 0.95) * 1.15, s.v[s.n - 1]));
    free(s.v);
  }
  return axis_of(isinf(low) ? 0 : low, isinf(low) ? 1 : high, 5, (double)LEFT * 0.25, WIDTH - RIGHT - 12);
}

static void draw_band(FILE *f, const compare_result *r, int p, const axis *x) {
  const iso_compare_run *run = &r->c->row[p].run[0];
  const sorted s = sorted_times(run);
  const double top = BAND_TOP + p * BAND, middle = top + 18;
  size_t beyond = 0;
  const uint64_t stride = run->n_steps / MAX_DOTS + 1;
  fprintf(f, "<g class=\"%s\"><text x=\"%.1f\" y=\"%.1f\">", p == report_main_row(r) ? "band main" : "band", x->from,
          top - 4);
  html_text(f, r->c->row[p].name);
  for (size_t i = 0; i < s.n; i++) beyond += s.v[i] > x->high;
  if (beyond) fprintf(f, " (%zu beyond the edge)", beyond);
  fputs("</text>\n", f);
  for (uint64_t i = 1; i < run->n_steps; i += stride) /* a fixed scatter, so that dots do not hide each other */
    if (run->steps[i].time_ms <= x->high)
      fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.4\"/>", at(x, run->steps[i].time_ms),
              middle - 9 + 18 * fmod((double)i * 0.618034, 1));
  if (s.n) {
    const double low = at(x, quantile(&s, 0.25)), high = at(x, fmin(quantile(&s, 0.75), x->high));
    const double median = at(x, r->c->row[p].step_ms.median);
    fprintf(f, "\n<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"26\" rx=\"3\"/>", low, middle - 13,
            fmax(high - low, 1));
    fprintf(f, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", median, median, middle - 15, middle + 15);
  }
  fputs("</g>\n", f);
  free(s.v);
}

static void time_section(FILE *f, const compare_result *r) {
  const iso_comparison *c = r->c;
  const axis x = time_axis(c);
  const int bottom = BAND_TOP + c->n_rows * BAND - 14;
  fprintf(
      f,
      "<section id=\"time\" aria-labelledby=\"h-time\">\n<h2 id=\"h-time\">Step time</h2>\n<p>A dot is a step with %d "
      "threads; the box holds the middle half, its line is the median.</p>\n<figure><svg viewBox=\"0 0 %d %d\" "
      "role=\"img\" "
      "aria-labelledby=\"t-time\" aria-describedby=\"d-time\"><title id=\"t-time\">Distribution of step times by "
      "policy</title><desc "
      "id=\"d-time\">",
      c->row[0].run[0].n_threads, WIDTH, bottom + 34);
  for (int p = 0; p < c->n_rows; p++)
    html_textf(f, "%s: median %.2f ms, 95th percentile %.2f ms. ", c->row[p].name, c->row[p].step_ms.median,
               c->row[p].step_ms.p95);
  fputs("</desc>\n", f);
  draw_x_axis(f, &x, 4, bottom);
  for (int p = 0; p < c->n_rows; p++) draw_band(f, r, p, &x);
  fputs("</svg><figcaption>Milliseconds a step</figcaption></figure>\n</section>\n", f);
}

void report_charts(FILE *f, const compare_result *r) {
  loss_section(f, r);
  time_section(f, r);
}
