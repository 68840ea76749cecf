/* formats.h: each format's reader over any source (a path is one kind), for archives, tests and fuzzers. */
#ifndef ISO_IO_FORMATS_H
#define ISO_IO_FORMATS_H
#include <isobit/io.h>
#include "io/elements.h"

iso_tensor *iso__npy_parse(iso_context *ctx, const char *name, const void *bytes, size_t n_bytes);
iso_tensor *iso__idx_parse(iso_context *ctx, const char *name, const void *bytes, size_t n_bytes);
iso_tensor_dict *iso__npz_parse(iso_context *ctx, const char *name, const void *bytes, size_t n_bytes);
iso_tensor_dict *iso__safetensors_parse(iso_context *ctx, const char *name, const void *bytes, size_t n_bytes);

iso_tensor *iso__image_parse(iso_context *ctx, const char *name, const void *bytes, size_t n_bytes); /* PNG or JPEG */

/* A .npy file from where the stream stands to its end. */
iso_tensor *iso__npy_read_stream(iso__stream *stream);

/* What a .npy header says. */
typedef struct iso__npy_header {
  iso_dtype dtype;
  bool big_endian, fortran_order;
  int n_dims;
  int64_t shape[ISO_MAX_DIMS];
} iso__npy_header;
/* The header's text: a Python dict literal with exactly the keys descr, fortran_order, shape. */
bool iso__npy_header_parse(iso_context *ctx, const char *name, const char *text, size_t n_bytes, iso__npy_header *out);

/* ---- making a dict ---- */
iso_tensor_dict *iso__dict_new(iso_context *ctx);
/* Keeps the tensor; where there is no memory for that, releases it and returns false. Names are copied, without NULs
 * inside. */
bool iso__dict_add(iso_tensor_dict *dict, const char *name, size_t n_name, iso_tensor *tensor);
bool iso__dict_add_metadata(iso_tensor_dict *dict, const char *key, const char *value);
/* Sorts; a name twice is CORRUPT in the file `source_name`. */
bool iso__dict_sort(iso_tensor_dict *dict, const char *source_name);

#endif
