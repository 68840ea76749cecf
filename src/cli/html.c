/* html.c: escaping, and numbers as people write them. */
#include "html.h"
#include <math.h>
#include <stdarg.h>

void html_text(FILE *f, const char *text) {
  for (; *text; text++) switch (*text) {
    case '&': fputs("&amp;", f); break;
    case '<': fputs("&lt;", f); break;
    case '>': fputs("&gt;", f); break;
    case '"': fputs("&quot;", f); break;
    case '\'': fputs("&#39;", f); break;
    default: fputc(*text, f);
    }
}

void html_textf(FILE *f, const char *format, ...) {
  char text[4096];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  html_text(f, text);
}

void html_bytes(FILE *f, double n) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
  int u = 0;
  while (n >= 1024 && u < 3) n /= 1024, u++;
  fprintf(f, n < 10 && u ? "%.1f&nbsp;%s" : "%.0f&nbsp;%s", n, units[u]);
}

void html_ms(FILE *f, double ms) {
  if (!(ms > 0)) fputs("–", f);
  else if (ms < 1) fprintf(f, "%.3g&nbsp;µs", ms * 1000);
  else if (ms < 1000) fprintf(f, ms < 10 ? "%.2f&nbsp;ms" : ms < 100 ? "%.1f&nbsp;ms" : "%.0f&nbsp;ms", ms);
  else fprintf(f, "%.1f&nbsp;s", ms / 1000);
}

void html_signed(FILE *f, double v) { fprintf(f, "%s%.1f", v < 0 ? "−" : "+", fabs(v)); }
