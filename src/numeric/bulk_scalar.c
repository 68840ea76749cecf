/* The array forms of bulk.h, one lane: any machine. */
#define BULK_TABLE iso__bulk_scalar
#include "bulk_body.h"
