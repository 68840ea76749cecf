/* rank.h: what rank_impl.h and its description in select.c share. */
#ifndef ISO_KERNELS_SORT_RANK_H
#define ISO_KERNELS_SORT_RANK_H
enum { RANK_MOST = 128 }; /* elements of a row */
#endif
