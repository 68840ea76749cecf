/* Casts between element types. Every cast rounds once, to nearest even: f64 to bf16 directly, i64 to bf16 too.
 * Float to integer truncates and saturates, a NaN gives 0. Integers wrap. To bool: whether it differs from zero (a NaN
 * does). A NaN becomes the canonical one (0x7fc00000, 0x7ff8000000000000, 0x7e00, 0x7fc0). Equal dtypes: a copy of the
 * bytes. */
#ifndef ISO__NUMERIC_DTYPE_H
#define ISO__NUMERIC_DTYPE_H

#include "isobit/numeric.h"

/* One element. */
void iso__cast_element(const void *from, iso_dtype from_dtype, void *to, iso_dtype to_dtype);
/* n contiguous elements; the arrays may be the same only where the dtypes are of one size. */
void iso__cast(const void *from, iso_dtype from_dtype, void *to, iso_dtype to_dtype, size_t n);

#endif
