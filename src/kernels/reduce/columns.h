/* columns.h: sizes that the column engine and its workspace function share. */
#ifndef ISO_KERNELS_REDUCE_COLUMNS_H
#define ISO_KERNELS_REDUCE_COLUMNS_H
#include "kernels/reduce/reduce.h"
enum { COLUMN_BLOCK = 1024, COLUMN_WAVE = 64 };
#endif
