/* io.h: files of tensors: npy, npz, idx, safetensors, PNG, JPEG.
 *
 *   iso_tensor *x = iso_npy_read(ctx, "x.npy");
 *   iso_tensor_dict *weights = iso_safetensors_read(ctx, "model.safetensors");
 *   iso_tensor *w = iso_tensor_dict_find(weights, "conv1.weight");
 *
 * Readers check everything a file claims before they believe it: a damaged or hostile file is an error that names the
 * file, the field and its value (ISO_CORRUPT; ISO_UNSUPPORTED where the file is right but holds what Isobit has no type
 * for; ISO_NOT_FOUND; ISO_IO), and makes nobody allocate more than its size justifies. Writers write beside the target,
 * sync and rename: after a crash, a kill or a full disk the old file or the new one is there, never half of one. NaNs
 * are written as the one quiet NaN of their type, because their payload is nobody's contract. */
#ifndef ISOBIT_IO_H
#define ISOBIT_IO_H
#include <isobit/base.h>
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- one tensor a file ---- */

/* A numpy .npy file, versions 1 to 3, either byte order; one in Fortran order gives a tensor with such strides. bf16 is
 * a 2-byte void type ("<V2"), as ml_dtypes writes it. NULL on an error. */
ISO_API iso_tensor *iso_npy_read(iso_context *ctx, const char *path);
/* Version 1, little-endian; in Fortran order where the tensor is dense in that order only, as numpy does. */
ISO_API iso_status iso_npy_write(iso_context *ctx, const char *path, const iso_tensor *t);

/* An idx file (the format of MNIST), plain or gzip, of element type u8, i32, f32 or f64. */
ISO_API iso_tensor *iso_idx_read(iso_context *ctx, const char *path);
/* The same types; gzip where the path ends in ".gz". */
ISO_API iso_status iso_idx_write(iso_context *ctx, const char *path, const iso_tensor *t);

/* ---- images: u8 (C,H,W), 1 channel (gray) or 3 (RGB), with C innermost in memory ---- */

/* A PNG or JPEG file, known by its first bytes. PNG: palettes become RGB, fewer than 8 bits are spread over the range,
 * 16 bits are scaled and rounded, alpha is dropped, gamma ignored. JPEG: slow integer DCT and smooth ("fancy")
 * upsampling, so that samples depend on the file alone; CMYK becomes RGB; EXIF orientation is ignored. At most 2^27
 * pixels. NULL on an error. */
ISO_API iso_tensor *iso_image_read(iso_context *ctx, const char *path);
/* (H,W), (1,H,W) or (3,H,W) of u8, sides up to 65500. */
ISO_API iso_status iso_png_write(iso_context *ctx, const char *path, const iso_tensor *t);
ISO_API iso_status iso_jpeg_write(iso_context *ctx, const char *path, const iso_tensor *t, int quality); /* 1 to 100 */
/* The decoders' names and versions, as a run's manifest has them. */
ISO_API const char *iso_image_decoders(void);

/* ---- many named tensors a file ---- */

typedef struct iso_key_value {
  const char *key, *value;
} iso_key_value;

/* What such a file holds, ascending by name and by key. The dict owns the tensors, whatever scope is open: they live
 * until iso_tensor_dict_free, which must come before the context's end. iso_tensor_alias gives a handle that outlives
 * the dict. */
typedef struct iso_tensor_dict {
  size_t n_tensors, n_metadata;
  iso_named_tensor *tensors;
  iso_key_value *metadata;
} iso_tensor_dict;

/* NULL, and no error, where there is no such name or key. O(log n). */
ISO_API iso_tensor *iso_tensor_dict_find(const iso_tensor_dict *dict, const char *name);
ISO_API const char *iso_tensor_dict_metadata(const iso_tensor_dict *dict, const char *key);
ISO_API void iso_tensor_dict_free(iso_tensor_dict *dict); /* NULL is fine */

/* A safetensors file: offsets in bounds, without overlap or gap, sizes as dtype and shape say, names unique. */
ISO_API iso_tensor_dict *iso_safetensors_read(iso_context *ctx, const char *path);
/* Tensors are laid out by descending element size, then by name, the data begins at a multiple of 8 bytes: the file's
 * bytes depend on names, values and metadata alone. Names are UTF-8, unique, and not "__metadata__". */
ISO_API iso_status iso_safetensors_write(iso_context *ctx, const char *path, const iso_named_tensor *tensors,
                                         size_t n_tensors, const iso_key_value *metadata, size_t n_metadata);

/* A numpy .npz file (a zip of npy files, stored or deflated, below 4 GiB); a name is the member's without ".npy". */
ISO_API iso_tensor_dict *iso_npz_read(iso_context *ctx, const char *path);

#ifdef __cplusplus
}
#endif
#endif
