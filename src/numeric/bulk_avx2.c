/* The array forms of bulk.h, eight lanes. */
#define BULK_TABLE iso__bulk_avx2
#include "bulk_body.h"
