/* safetensors.h: what the format's reader and writer share. */
#ifndef ISO_IO_SAFETENSORS_H
#define ISO_IO_SAFETENSORS_H
#include <isobit/numeric.h>
#include <stddef.h>

/* The file: header length (8 bytes), header (JSON), data. */
enum {
  ISO__SAFETENSORS_MAX_HEADER_BYTES = 100000000, /* the format's own limit */
  ISO__SAFETENSORS_MAX_VALUES = 1 << 20          /* of its JSON, ten a tensor or so */
};
static const struct {
  const char *name;
  iso_dtype dtype;
} iso__safetensors_types[ISO_DTYPE_COUNT] = {{"F32", ISO_F32}, {"F64", ISO_F64}, {"F16", ISO_F16}, {"BF16", ISO_BF16},
                                             {"I64", ISO_I64}, {"I32", ISO_I32}, {"U8", ISO_U8},   {"BOOL", ISO_BOOL}};

#endif
