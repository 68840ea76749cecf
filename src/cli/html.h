/* html.h: text into a page. What comes from outside goes through html_text, always. */
#ifndef ISO_CLI_HTML_H
#define ISO_CLI_HTML_H
#include <isobit/base.h>
#include <stdio.h>

/* Escaped, for element content and quoted attributes. */
void html_text(FILE *f, const char *text);
void html_textf(FILE *f, const char *format, ...) ISO_PRINTF(2, 3);
/* "12 MiB" */
void html_bytes(FILE *f, double n_bytes);
/* "12 µs", "3.4 ms". */
void html_ms(FILE *f, double ms);
/* "+3.1", with a true minus sign. */
void html_signed(FILE *f, double v);
#endif
