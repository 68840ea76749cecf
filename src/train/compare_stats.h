/* compare_stats.h: the judgement of a finished comparison. */
#ifndef ISO_TRAIN_COMPARE_STATS_H
#define ISO_TRAIN_COMPARE_STATS_H
#include <isobit/compare.h>

/* Fills in same bits, step times and ratios of every row from its two runs. */
void iso__comparison_judge(iso_comparison *comparison);
#endif
