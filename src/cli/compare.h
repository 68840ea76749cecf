/* compare.h: a comparison and what its runs told at their end; made by compare.c, shown by compare_report.c and, as a
 * page, by report_html.c. */
#ifndef ISO_CLI_COMPARE_H
#define ISO_CLI_COMPARE_H
#include "cli.h"

typedef struct compare_result {
  const iso_comparison *c;
  int64_t batch_size;
  /* Of each row's two runs: {"manifest": …}; of the first also accuracy, test_loss and, for a page, plans: an object by
   * problem. */
  json_t *told[ISO_MAX_COMPARE_POLICIES][2];
} compare_result;

/* The memory that policies decide about: the device's, or the process's on the CPU. */
double compare_peak_mib(const iso_compare_run *run);
void compare_print(const compare_result *r);
json_t *compare_json(const compare_result *r);
/* The page. 0 or an exit code. */
int report_write(const compare_result *r, const char *path);
#endif
