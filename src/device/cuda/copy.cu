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

/* Dims are merged and sorted beforehand: the last is the destination's fastest. Index: counts elements; 64-bit quotients
 * would take longer than the memory. */
template <class Item, class Index> static __global__ void copy_same(Item *dst, const Item *src, const __grid_constant__ iso__strided f, Index n) {
  for (Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (Index)gridDim.x * blockDim.x) {
    Index rest = i;
    int64_t to = 0, from = 0;
    for (int d = f.n_dims - 1; d > 0; d--) {
      const Index shape = (Index)f.shape[d], quotient = rest / shape;
      const int64_t digit = rest - quotient * shape;
      rest = quotient, to += digit * f.dst_strides[d], from += digit * f.src_strides[d];
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

/* f32 to and from halves where both sides are one run: four neighbours a thread. Bits are those of iso__number_write. */
static __device__ float widened(uint16_t h, bool is_f16) {
  const float x = is_f16 ? iso__f32_from_f16(h) : iso__f32_from_bf16(h);
  return x != x ? NAN : x;
}
template <bool is_f16> static __global__ void widen_run(float *dst, const uint16_t *src, int64_t n) {
  const int64_t i = 4 * ((int64_t)blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 4 <= n) {
    const ushort4 v = *(const ushort4 *)(src + i);
    *(float4 *)(dst + i) = make_float4(widened(v.x, is_f16), widened(v.y, is_f16), widened(v.z, is_f16), widened(v.w, is_f16));
  } else {
    for (int64_t k = i; k < n; k++) dst[k] = widened(src[k], is_f16);
  }
}
template <bool is_f16> static __global__ void narrow_run(uint16_t *dst, const float *src, int64_t n) {
  const int64_t i = 4 * ((int64_t)blockIdx.x * blockDim.x + threadIdx.x);
  const auto narrowed = [](float x) { return is_f16 ? iso__f16_from_f32(x) : iso__bf16_from_f32(x); };
  if (i + 4 <= n) {
    const float4 v = *(const float4 *)(src + i);
    *(ushort4 *)(dst + i) = make_ushort4(narrowed(v.x), narrowed(v.y), narrowed(v.z), narrowed(v.w));
  } else {
    for (int64_t k = i; k < n; k++) dst[k] = narrowed(src[k]);
  }
}
static bool try_cast_run(void *dst, const void *src, const iso__strided *f, int64_t n, cudaStream_t stream) {
  const iso_dtype to = (iso_dtype)f->dst_dtype, from = (iso_dtype)f->src_dtype;
  const bool widens = to == ISO_F32 && (from == ISO_F16 || from == ISO_BF16);
  const bool narrows = from == ISO_F32 && (to == ISO_F16 || to == ISO_BF16);
  const bool is_run = f->n_dims == 1 && (n == 1 || (f->dst_strides[0] == 1 && f->src_strides[0] == 1));
  const uintptr_t wide = (uintptr_t)(widens ? dst : src), half = (uintptr_t)(widens ? src : dst);
  if (!(widens || narrows) || !is_run || wide % 16 || half % 8 || n > (int64_t)1 << 40) return false;
  const unsigned blocks = (unsigned)((n + 1023) / 1024);
  if (widens && from == ISO_F16) widen_run<true><<<blocks, 256, 0, stream>>>((float *)dst, (const uint16_t *)src, n);
  else if (widens) widen_run<false><<<blocks, 256, 0, stream>>>((float *)dst, (const uint16_t *)src, n);
  else if (to == ISO_F16) narrow_run<true><<<blocks, 256, 0, stream>>>((uint16_t *)dst, (const float *)src, n);
  else narrow_run<false><<<blocks, 256, 0, stream>>>((uint16_t *)dst, (const float *)src, n);
  return true;
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
    if (r0 + j < n_rows && c0 + threadIdx.x < n_columns) __stcs(dst + (r0 + j) * dst_row + c0 + threadIdx.x, tile[threadIdx.x][j]);
}

/* The same for 4-byte items that lie in fours on both sides: four loads of 16 bytes a thread are under way at once, and
 * lines are whole. A row of the tile takes an odd number of banks, so that two lanes of a warp meet in one at most.
 * Stores that ask the cache to be rid of their lines soon: 0.97 of a copy's speed instead of 0.73. */
enum { WIDE_TILE = 64, WIDE_THREADS = 256, WIDE_ROUNDS = WIDE_TILE * WIDE_TILE / 4 / WIDE_THREADS };
static __global__ void __launch_bounds__(WIDE_THREADS)
    transpose_fours(uint32_t *dst, const uint32_t *src, int64_t n_rows, int64_t n_columns, int64_t dst_row,
                    int64_t src_column, int64_t dst_batch, int64_t src_batch) {
  __shared__ uint32_t tile[WIDE_TILE][WIDE_TILE + 1];
  const int64_t c0 = (int64_t)blockIdx.x * WIDE_TILE, r0 = (int64_t)blockIdx.y * WIDE_TILE;
  const int four = (int)threadIdx.x % (WIDE_TILE / 4) * 4, line = (int)threadIdx.x / (WIDE_TILE / 4);
  dst += blockIdx.z * dst_batch + r0 * dst_row + c0, src += blockIdx.z * src_batch + c0 * src_column + r0;
  const int rows = (int)(n_rows - r0 < WIDE_TILE ? n_rows - r0 : WIDE_TILE), columns = (int)(n_columns - c0 < WIDE_TILE ? n_columns - c0 : WIDE_TILE);
  uint4 v[WIDE_ROUNDS] = {};
#pragma unroll
  for (int k = 0; k < WIDE_ROUNDS; k++) {
    const int j = line + k * (WIDE_TILE / WIDE_ROUNDS);
    if (j < columns && four < rows) v[k] = __ldcs((const uint4 *)(src + j * src_column + four));
  }
#pragma unroll
  for (int k = 0; k < WIDE_ROUNDS; k++) {
    uint32_t *to = &tile[line + k * (WIDE_TILE / WIDE_ROUNDS)][four];
    to[0] = v[k].x, to[1] = v[k].y, to[2] = v[k].z, to[3] = v[k].w;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < WIDE_ROUNDS; k++) {
    const int j = line + k * (WIDE_TILE / WIDE_ROUNDS);
    if (j < rows && four < columns)
      __stcs((uint4 *)(dst + j * dst_row + four), make_uint4(tile[four][j], tile[four + 1][j], tile[four + 2][j], tile[four + 3][j]));
  }
}

/* Whether `times` neighbours of the dimension `dense` lie on that many items' bytes wherever they begin. */
static bool lies_in(int times, int64_t extent, int dense, int n_dims, const int64_t *strides, const void *p, size_t item_bytes) {
  bool does = extent % times == 0 && (uintptr_t)p % ((size_t)times * item_bytes) == 0;
  for (int d = 0; d < n_dims; d++) does &= d == dense || strides[d] % times == 0;
  return does;
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
  if constexpr (sizeof(Item) == 4) {
    const int64_t across = (f->shape[inner] + WIDE_TILE - 1) / WIDE_TILE, down = (f->shape[dense] + WIDE_TILE - 1) / WIDE_TILE;
    if (lies_in(4, f->shape[inner], inner, f->n_dims, f->dst_strides, dst, 4) &&
        lies_in(4, f->shape[dense], dense, f->n_dims, f->src_strides, src, 4) && down <= 65535 && n_batch <= 65535) {
      transpose_fours<<<dim3((unsigned)across, (unsigned)down, (unsigned)n_batch), WIDE_THREADS, 0, stream>>>(
          dst, src, f->shape[dense], f->shape[inner], f->dst_strides[dense], f->src_strides[inner],
          batch < 0 ? 0 : f->dst_strides[batch], batch < 0 ? 0 : f->src_strides[batch]);
      return true;
    }
  }
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
  if constexpr (sizeof(Item) <= 8)
    if (try_transpose(to, from, f, stream)) return;
  const unsigned blocks = blocks_for(n, 256);
  if (n < (int64_t)1 << 30) copy_same<Item, uint32_t><<<blocks, 256, 0, stream>>>(to, from, *f, (uint32_t)n);
  else copy_same<Item, int64_t><<<blocks, 256, 0, stream>>>(to, from, *f, n);
}
/* Twice as large items, as long as neighbours of the last dim go to neighbours: to 16 bytes. Returns their size. */
static int widen(iso__strided *f, int64_t *n, int n_bytes, const void *dst, const void *src) {
  const int inner = f->n_dims - 1;
  while (n_bytes < 16 && inner >= 0 && f->dst_strides[inner] == 1 && f->src_strides[inner] == 1 &&
         lies_in(2, f->shape[inner], inner, f->n_dims, f->dst_strides, dst, (size_t)n_bytes) &&
         lies_in(2, f->shape[inner], inner, f->n_dims, f->src_strides, src, (size_t)n_bytes)) {
    for (int d = 0; d < inner; d++) f->dst_strides[d] /= 2, f->src_strides[d] /= 2;
    f->shape[inner] /= 2, *n /= 2, n_bytes *= 2;
  }
  return n_bytes;
}

extern "C" iso_status iso__cuda_copy_strided(const iso__device *device, void *dst, const void *src,
                                             const iso__strided *form) {
  cudaStream_t stream = iso__cuda_stream_of(iso__cuda_device_of(device));
  int64_t n = 1;
  for (int d = 0; d < form->n_dims; d++) n *= form->shape[d];
  if (n == 0) return ISO_OK;
  const int dst_bytes = (int)iso_dtype_size(form->dst_dtype), src_bytes = (int)iso_dtype_size(form->src_dtype);
  if (form->dst_dtype != form->src_dtype) {
    if (!try_cast_run(dst, src, form, n, stream))
      copy_cast<<<blocks_for(n, 256), 256, 0, stream>>>((char *)dst, (const char *)src, *form, n, dst_bytes, src_bytes);
    return cudaGetLastError() == cudaSuccess ? ISO_OK : ISO_DEVICE_ERROR;
  }
  iso__strided wide = *form;
  switch (widen(&wide, &n, dst_bytes, dst, src)) {
  case 1: copy_items<uint8_t>(dst, src, &wide, n, stream); break;
  case 2: copy_items<uint16_t>(dst, src, &wide, n, stream); break;
  case 4: copy_items<uint32_t>(dst, src, &wide, n, stream); break;
  case 8: copy_items<uint64_t>(dst, src, &wide, n, stream); break;
  default: copy_items<uint4>(dst, src, &wide, n, stream); break;
  }
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
  cudaStream_t stream = iso__cuda_stream_of(iso__cuda_device_of(device));
  if (n == 0) return ISO_OK;
  if (item_bytes == 1) fill_items<uint8_t>(dst, element, n, stream);
  else if (item_bytes == 2) fill_items<uint16_t>(dst, element, n, stream);
  else if (item_bytes == 4) fill_items<uint32_t>(dst, element, n, stream);
  else fill_items<uint64_t>(dst, element, n, stream);
  return cudaGetLastError() == cudaSuccess ? ISO_OK : ISO_DEVICE_ERROR;
}
