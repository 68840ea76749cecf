/* copy.cu: copies with casts between two arrangements of the same elements on one device, and fills. */
#include <cuda_runtime.h>
#include "numeric/number.h"
extern "C" {
#include "device/cuda/state.h"
}

static unsigned blocks_for(int64_t n, int64_t size) {
  const int64_t blocks = (n + size - 1) / size;
  return (unsigned)(blocks > 0x7fffffff ? 0x7fffffff : blocks);
}

/* Dims are merged and sorted beforehand: the last is the destination's fastest. */
template <class Item> static __global__ void copy_same(Item *dst, const Item *src, iso__strided f, int64_t n) {
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
    int64_t rest = i, to = 0, from = 0;
    for (int d = f.n_dims - 1; d > 0; d--) {
      const int64_t digit = rest % f.shape[d];
      rest /= f.shape[d], to += digit * f.dst_strides[d], from += digit * f.src_strides[d];
    }
    to += rest * f.dst_strides[0], from += rest * f.src_strides[0];
    dst[to] = src[from];
  }
}

static __global__ void copy_cast(char *dst, const char *src, iso__strided f, int64_t n, int dst_bytes, int src_bytes) {
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
    int64_t rest = i, to = 0, from = 0;
    for (int d = f.n_dims - 1; d > 0; d--) {
      const int64_t digit = rest % f.shape[d];
      rest /= f.shape[d], to += digit * f.dst_strides[d], from += digit * f.src_strides[d];
    }
    to += rest * f.dst_strides[0], from += rest * f.src_strides[0];
    iso__number_write(iso__number_read(src + from * src_bytes, f.src_dtype), dst + to * dst_bytes, f.dst_dtype);
  }
}

/* A transpose of matrices: tiles through shared memory, so that both sides are met line by line. dst (rows, columns)
 * dense along columns, src dense along rows. */
enum { TILE = 32, TILE_ROWS = 8 };
template <class Item>
static __global__ void transpose(Item *dst, const Item *src, int64_t n_rows, int64_t n_columns, int64_t dst_row,
                                 int64_t src_column, int64_t dst_batch, int64_t src_batch) {
  __shared__ Item tile[TILE][TILE + 1];
  const int64_t c0 = (int64_t)blockIdx.x * TILE, r0 = (int64_t)blockIdx.y * TILE;
  dst += blockIdx.z * dst_batch, src += blockIdx.z * src_batch;
  for (int j = threadIdx.y; j < TILE; j += TILE_ROWS)
    if (c0 + j < n_columns && r0 + threadIdx.x < n_rows) tile[j][threadIdx.x] = src[(c0 + j) * src_column + r0 + threadIdx.x];
  __syncthreads();
  for (int j = threadIdx.y; j < TILE; j += TILE_ROWS)
    if (r0 + j < n_rows && c0 + threadIdx.x < n_columns) dst[(r0 + j) * dst_row + c0 + threadIdx.x] = tile[threadIdx.x][j];
}

/* A transpose, if the last dim is dense on dst's side, another dense on src's, and at most one more is left. */
template <class Item> static bool try_transpose(Item *dst, const Item *src, const iso__strided *f, cudaStream_t stream) {
  const int inner = f->n_dims - 1;
  int dense = -1;
  for (int d = 0; d < inner; d++)
    if (f->src_strides[d] == 1) dense = d;
  if (f->n_dims > 3 || dense < 0 || f->dst_strides[inner] != 1) return false;
  const int batch = f->n_dims == 3 ? 1 - dense : -1;
  const int64_t n_batch = batch < 0 ? 1 : f->shape[batch];
  const dim3 grid((unsigned)((f->shape[inner] + TILE - 1) / TILE), (unsigned)((f->shape[dense] + TILE - 1) / TILE),
                  (unsigned)n_batch);
  if ((f->shape[dense] + TILE - 1) / TILE > 65535 || n_batch > 65535) return false;
  transpose<<<grid, dim3(TILE, TILE_ROWS), 0, stream>>>(dst, src, f->shape[dense], f->shape[inner], f->dst_strides[dense],
                                                        f->src_strides[inner], batch < 0 ? 0 : f->dst_strides[batch],
                                                        batch < 0 ? 0 : f->src_strides[batch]);
  return true;
}

template <class Item> static void copy_items(void *dst, const void *src, const iso__strided *f, int64_t n, cudaStream_t stream) {
  Item *to = (Item *)dst;
  const Item *from = (const Item *)src;
  if (try_transpose(to, from, f, stream)) return;
  const unsigned blocks = blocks_for(n, 256);
  copy_same<Item><<<blocks, 256, 0, stream>>>(to, from, *f, n);
}

extern "C" iso_status iso__cuda_copy_strided(const iso__device *device, void *dst, const void *src,
                                             const iso__strided *form) {
  cudaStream_t stream = iso__cuda_device_of(device)->stream;
  int64_t n = 1;
  for (int d = 0; d < form->n_dims; d++) n *= form->shape[d];
  if (n == 0) return ISO_OK;
  const int dst_bytes = (int)iso_dtype_size(form->dst_dtype), src_bytes = (int)iso_dtype_size(form->src_dtype);
  if (form->dst_dtype != form->src_dtype)
    copy_cast<<<blocks_for(n, 256), 256, 0, stream>>>((char *)dst, (const char *)src, *form, n, dst_bytes, src_bytes);
  else if (dst_bytes == 1) copy_items<uint8_t>(dst, src, form, n, stream);
  else if (dst_bytes == 2) copy_items<uint16_t>(dst, src, form, n, stream);
  else if (dst_bytes == 4) copy_items<uint32_t>(dst, src, form, n, stream);
  else copy_items<uint64_t>(dst, src, form, n, stream);
  return cudaGetLastError() == cudaSuccess ? ISO_OK : ISO_DEVICE_ERROR;
}

/* ---- fills ---- */

/* The element comes with the launch: nothing of the host's is read later, so that a fill can be captured. */
template <class Item> static __global__ void fill(Item *dst, Item element, int64_t n) {
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
    dst[i] = element;
}

template <class Item> static void fill_items(void *dst, const void *element, int64_t n, cudaStream_t stream) {
  Item item;
  memcpy(&item, element, sizeof item);
  fill<Item><<<blocks_for(n, 256), 256, 0, stream>>>((Item *)dst, item, n);
}

extern "C" iso_status iso__cuda_fill(const iso__device *device, void *dst, const void *element, size_t item_bytes,
                                     int64_t n) {
  cudaStream_t stream = iso__cuda_device_of(device)->stream;
  if (n == 0) return ISO_OK;
  if (item_bytes == 1) fill_items<uint8_t>(dst, element, n, stream);
  else if (item_bytes == 2) fill_items<uint16_t>(dst, element, n, stream);
  else if (item_bytes == 4) fill_items<uint32_t>(dst, element, n, stream);
  else fill_items<uint64_t>(dst, element, n, stream);
  return cudaGetLastError() == cudaSuccess ? ISO_OK : ISO_DEVICE_ERROR;
}
