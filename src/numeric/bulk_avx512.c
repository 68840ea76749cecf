/* The array forms of bulk.h, sixteen lanes. */
#define BULK_TABLE iso__bulk_avx512
#include "bulk_body.h"
