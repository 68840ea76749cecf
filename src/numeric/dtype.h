/* Casts between element types. Every cast rounds once, to nearest even: f64 to bf16 directly, i64 to bf16 too.
 * Float to integer truncates and saturates, a NaN gives 0. Integers wrap. To bool: whether it differs from zero (a NaN
 * does). A NaN becomes the canonical one (0x7fc00000, 0x7ff8000000000000, 0x7e00, 0x7fc0). Equal dtypes: a copy of the
 * bytes. */
#ifndef ISO__NUMERIC_DTYPE_H
#define ISO__NUMERIC_DTYPE_H

#include "hd.h"
#include "isobit/numeric.h"
#include "number.h"

/* iso_dtype_size and iso_dtype_is_float of a known dtype, for device code too. */
static inline ISO__HD size_t iso__dtype_size(iso_dtype dtype) {
  return dtype == ISO_F64 || dtype == ISO_I64   ? 8
         : dtype == ISO_F32 || dtype == ISO_I32 ? 4
         : dtype <= ISO_BF16                    ? 2
                                                : 1;
}
static inline ISO__HD bool iso__dtype_is_float(iso_dtype dtype) { return dtype < ISO_I64; }

/* One element. */
static inline ISO__HD void iso__cast_element(const void *from, iso_dtype from_dtype, void *to, iso_dtype to_dtype) {
  if (from_dtype == to_dtype) memcpy(to, from, iso__dtype_size(to_dtype));
  else iso__number_write(iso__number_read(from, from_dtype), to, to_dtype);
}
/* n contiguous elements; the arrays may be the same only where the dtypes are of one size. */
void iso__cast(const void *from, iso_dtype from_dtype, void *to, iso_dtype to_dtype, size_t n);

#endif
