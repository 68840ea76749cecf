/* elements.h: what all formats do to elements on their way in and out. */
#ifndef ISO_IO_ELEMENTS_H
#define ISO_IO_ELEMENTS_H
#include "io/source.h"
#include "io/stream.h"
#include "io/writer.h"
#include "tensor/tensor.h"

/* Reverses the bytes of each of n items of 1, 2, 4 or 8 bytes. */
void iso__elements_swap(void *data, size_t n, size_t item_bytes);
/* Every NaN becomes the quiet one of its type; other dtypes stay as they are. data is aligned to its items. */
void iso__elements_quiet_nans(iso_dtype dtype, void *data, size_t n);
/* A bool is 0 or 1: anything else is CORRUPT, naming the element. */
bool iso__elements_check_bools(iso_context *ctx, const char *name, const uint8_t *data, int64_t n);

/* Where a file's shape comes from: n_dims and extents are checked, then the bytes that it needs are held against those
 * that the file still has. `field` names the tensor in messages. */
bool iso__elements_check_shape(iso_context *ctx, const char *name, const char *field, iso_dtype dtype, int n_dims,
                               const int64_t *shape, uint64_t n_available, uint64_t *n_bytes);

/* All elements of t in row-major order (of its axes reversed if `reversed`, which then must be the dense order). */
bool iso__writer_add_tensor(iso__writer *writer, const iso_tensor *t, bool reversed, bool big_endian);

#endif
