/* order.c: the orders of summation in binary32 and binary64; see order.h. */
#include "numeric/order.h"
#include <math.h>
#include "numeric/real_f32.h"
#include "numeric/order_body.h"
#include "numeric/real_f64.h"
#include "numeric/order_body.h"
