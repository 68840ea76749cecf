/* report.h: the parts of the page, each a section; written by report_html.c in order. */
#ifndef ISO_CLI_REPORT_H
#define ISO_CLI_REPORT_H
#include "compare.h"
#include "html.h"

extern const char report_style[];

/* The row that the page is about: the first that promises the same bits and gave them, default before the others; −1:
 * none. */
int report_main_row(const compare_result *r);
void report_verdict(FILE *f, const compare_result *r);
void report_charts(FILE *f, const compare_result *r);
void report_plans(FILE *f, const compare_result *r);
void report_manifest(FILE *f, const compare_result *r);
#endif
