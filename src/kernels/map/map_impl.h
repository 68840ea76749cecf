/* map_impl.h: pointwise functions over f32, f16 and bf16, one vector loop a function; included once per instruction
 * set, which names what it exports by ISA(name).
 *
 * The collapsed problem is rows of its last dimension. A kernel walks (rows, n) with a step a row for each operand, so
 * a broadcast row costs what a whole operand costs; along n an operand is contiguous or one splatted vector. Anything
 * else (transposed, sliced, flipped) is gathered in blocks that stay in L1, and so is what is not f32: bool, f16 and
 * bf16 are widened into blocks and results cut from them. Rows, or blocks of long rows, are shared out. */
#include "base/pool.h"
#include "kernels/map/functions.h"
#include "kernels/map/vector_functions.h"
#include "numeric/bulk.h"
#include "numeric/unroll.h"

typedef struct span {
  float *out;
  const float *in[3];
  int64_t rows, n;
  int64_t step[4]; /* elements from row to row: out, in0, in1, in2 */
  int64_t walk[3]; /* 1: contiguous along n; 0: `in` is one splatted vector */
  float s0, s1, s2;
} span;
typedef void kernel_fn(const span *s);

/* How many inputs a function has is a constant of its kernel, so that unused ones cost nothing. */
enum {
#define N_INPUTS(id, name, n, kind) n_inputs_##id = n,
  ISO__MAP_LIST(N_INPUTS)
#undef N_INPUTS
};

/* Vectors computed side by side: the longer functions are chains of operations whose latencies these hide, provided the
 * compiler mixes their instructions (CMakeLists.txt asks gcc to). As many as the registers hold. */
enum { TOGETHER = 3 };

#define KERNEL(id, expression)                                                                                         \
  VEC_FN vf value_##id(vf a, vf b, vf c, float s0, float s1, float s2) {                                               \
    (void)a, (void)b, (void)c, (void)s0, (void)s1, (void)s2;                                                           \
    return expression;                                                                                                 \
  }                                                                                                                    \
  static void kernel_##id(const span *s) {                                                                             \
    const int64_t n = s->n, w1 = s->walk[0], w2 = s->walk[1], w3 = s->walk[2];                                         \
    const float s0 = s->s0, s1 = s->s1, s2 = s->s2;                                                                    \
    for (int64_t row = 0; row < s->rows; row++) {                                                                      \
      float *out = s->out + row * s->step[0];                                                                          \
      const float *x = s->in[0] + row * s->step[1];                                                                    \
      const float *y = n_inputs_##id > 1 ? s->in[1] + row * s->step[2] : NULL;                                         \
      const float *z = n_inputs_##id > 2 ? s->in[2] + row * s->step[3] : NULL;                                         \
      int64_t i = 0;                                                                                                   \
      for (; i + TOGETHER * VF_LANES <= n; i += TOGETHER * VF_LANES) {                                                 \
        vf results[TOGETHER];                                                                                          \
        UNROLL_4                                                                                                       \
        for (int g = 0; g < TOGETHER; g++) {                                                                           \
          const int64_t at = i + g * VF_LANES;                                                                         \
          results[g] = value_##id(vf_load(x + at * w1), n_inputs_##id > 1 ? vf_load(y + at * w2) : vf_zero(),          \
                                  n_inputs_##id > 2 ? vf_load(z + at * w3) : vf_zero(), s0, s1, s2);                   \
        }                                                                                                              \
        UNROLL_4                                                                                                       \
        for (int g = 0; g < TOGETHER; g++) vf_store(out + i + g * VF_LANES, results[g]);                               \
      }                                                                                                                \
      for (; i + VF_LANES <= n; i += VF_LANES)                                                                         \
        vf_store(out + i, value_##id(vf_load(x + i * w1), n_inputs_##id > 1 ? vf_load(y + i * w2) : vf_zero(),         \
                                     n_inputs_##id > 2 ? vf_load(z + i * w3) : vf_zero(), s0, s1, s2));                \
      const size_t rest = (size_t)(n - i);                                                                             \
      if (rest)                                                                                                        \
        vf_store_n(out + i,                                                                                            \
                   value_##id(vf_load_n(x + i * w1, rest),                                                             \
                              n_inputs_##id > 1 ? vf_load_n(y + i * w2, rest) : vf_zero(),                             \
                              n_inputs_##id > 2 ? vf_load_n(z + i * w3, rest) : vf_zero(), s0, s1, s2),                \
                   rest);                                                                                              \
    }                                                                                                                  \
  }
VECTOR_FUNCTIONS(KERNEL)
#undef KERNEL

static kernel_fn *const kernels[ISO__N_MAPS] = {
#define ENTRY(id, expression) [ISO__MAP_##id] = kernel_##id,
    VECTOR_FUNCTIONS(ENTRY)
#undef ENTRY
};

/* ---- walking the problem ---- */

enum { GATHER_BLOCK = 512, LONG_ROW = 16384, ROW_BLOCK = 8192, STREAM_ELEMENTS = 8 << 20 };

typedef struct job {
  const iso_map_problem *p;
  const iso_map_args *args;
  kernel_fn *kernel;
  int n_inputs, last; /* last: number of the innermost dimension */
  int64_t n_blocks;   /* of ROW_BLOCK elements a row; 1: rows are taken whole */
  iso_dtype dtype[4]; /* of the result and the inputs */
  int64_t item[4];    /* their bytes */
  bool direct;        /* every operand is f32 and contiguous along rows */
  bool streams;       /* the output is too large to be worth a place in the caches */
  bool gathers;       /* some operand passes through blocks */
  float s0, s1, s2;
} job;

/* Stores that bypass the caches; out is aligned to a vector. */
VEC_FN void stream(float *out, const float *values, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + VF_LANES <= n; i += VF_LANES) _mm512_stream_ps(out + i, vf_load(values + i));
#else
  for (; i + VF_LANES <= n; i += VF_LANES) _mm256_stream_ps(out + i, vf_load(values + i));
#endif
  if (i < n) memcpy(out + i, values + i, (size_t)(n - i) * sizeof *out);
}

/* n elements of one input, `step` apart, widened into f32. */
static void gather(float *block, const char *in, iso_dtype dtype, int64_t step, int64_t n) {
  uint16_t raw[GATHER_BLOCK];
  const void *from = in;
  if (dtype == ISO_F32) {
    for (int64_t q = 0; q < n; q++) block[q] = ((const float *)(const void *)in)[q * step];
    return;
  }
  if (step != 1) {
    if (dtype == ISO_BOOL)
      for (int64_t q = 0; q < n; q++) ((char *)raw)[q] = in[q * step];
    else
      for (int64_t q = 0; q < n; q++) raw[q] = ((const uint16_t *)(const void *)in)[q * step];
    from = raw;
  }
  WIDTH.cast_to_f32[dtype](from, block, (size_t)n);
}

/* The reverse; truths are 1 and 0 like u8. */
static void scatter(char *out, iso_dtype dtype, int64_t step, const float *block, int64_t n) {
  uint16_t raw[GATHER_BLOCK];
  if (dtype == ISO_F32) {
    for (int64_t q = 0; q < n; q++) ((float *)(void *)out)[q * step] = block[q];
    return;
  }
  WIDTH.cast_from_f32[dtype == ISO_BOOL ? ISO_U8 : dtype](block, step == 1 ? (void *)out : raw, (size_t)n);
  if (step == 1) return;
  if (dtype == ISO_BOOL)
    for (int64_t q = 0; q < n; q++) out[q * step] = ((const char *)raw)[q];
  else
    for (int64_t q = 0; q < n; q++) ((uint16_t *)(void *)out)[q * step] = raw[q];
}

/* n elements of one row; what is not f32 and contiguous goes through blocks in L1. */
static void run_row(const job *j, char *out, const char *const in[3], int64_t n) {
  float block[4][GATHER_BLOCK];
  int64_t stride[4];
  span s = {.rows = 1, .s0 = j->s0, .s1 = j->s1, .s2 = j->s2};
  for (int o = 0; o < 4; o++) stride[o] = j->p->strides[o][j->last];
  for (int k = 0; k < j->n_inputs; k++) {
    s.walk[k] = stride[k + 1] != 0;
    if (s.walk[k]) continue;
    gather(block[k], in[k], j->dtype[k + 1], 1, 1);
    vf_store(block[k], vf_set1(block[k][0])), s.in[k] = block[k];
  }
  const bool to_out = stride[0] == 1 && j->dtype[0] == ISO_F32;
  const int64_t most = j->gathers || j->streams ? GATHER_BLOCK : n;
  for (int64_t i = 0; i < n; i += most) {
    const int64_t m = n - i < most ? n - i : most;
    for (int k = 0; k < j->n_inputs; k++) {
      const int64_t step = stride[k + 1];
      const char *at = in[k] + i * step * j->item[k + 1];
      if (step == 0) continue;
      if (step == 1 && j->dtype[k + 1] == ISO_F32) s.in[k] = (const float *)(const void *)at;
      else gather(block[k], at, j->dtype[k + 1], step, m), s.in[k] = block[k];
    }
    s.n = m;
    s.out = to_out && !j->streams ? (float *)(void *)out + i : block[3];
    j->kernel(&s);
    if (j->streams) stream((float *)(void *)out + i, block[3], m);
    else if (!to_out) scatter(out + i * stride[0] * j->item[0], j->dtype[0], stride[0], block[3], m);
  }
}

static void run_rows(const job *j, int64_t begin, int64_t end) {
  const iso_map_problem *p = j->p;
  const int outer = j->last - 1;
  const int64_t per_plane = outer >= 0 ? p->shape[outer] : 1;
  for (int64_t row = begin; row < end;) {
    int64_t offsets[4];
    iso__map_row_offsets(p, j->last, row, offsets);
    char *out = (char *)j->args->out + offsets[0] * j->item[0];
    const char *in[3] = {NULL, NULL, NULL};
    for (int k = 0; k < j->n_inputs; k++) in[k] = (const char *)j->args->in[k] + offsets[k + 1] * j->item[k + 1];
    if (!j->direct) {
      run_row(j, out, in, p->shape[j->last]);
      row++;
      continue;
    }
    const int64_t left = per_plane - row % per_plane, rows = left < end - row ? left : end - row;
    span s = {.out = (float *)(void *)out,
              .in = {(const float *)(const void *)in[0], (const float *)(const void *)in[1],
                     (const float *)(const void *)in[2]},
              .rows = rows,
              .n = p->shape[j->last],
              .walk = {1, 1, 1},
              .s0 = j->s0,
              .s1 = j->s1,
              .s2 = j->s2};
    for (int o = 0; o < 4 && outer >= 0; o++) s.step[o] = p->strides[o][outer];
    j->kernel(&s);
    row += rows;
  }
}

/* Units are rows, or blocks of ROW_BLOCK elements of long rows. */
static void run_units(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  (void)thread;
  if (j->n_blocks == 1) {
    run_rows(j, begin, end);
    return;
  }
  for (int64_t unit = begin; unit < end;) {
    int64_t offsets[4];
    const int64_t first = unit % j->n_blocks * ROW_BLOCK, left = j->n_blocks - unit % j->n_blocks;
    const int64_t blocks = left < end - unit ? left : end - unit;
    int64_t n = j->p->shape[j->last] - first;
    if (n > blocks * ROW_BLOCK) n = blocks * ROW_BLOCK;
    iso__map_row_offsets(j->p, j->last, unit / j->n_blocks, offsets);
    for (int o = 0; o < 4; o++) offsets[o] += first * j->p->strides[o][j->last];
    const char *in[3] = {NULL, NULL, NULL};
    for (int k = 0; k < j->n_inputs; k++) in[k] = (const char *)j->args->in[k] + offsets[k + 1] * j->item[k + 1];
    run_row(j, (char *)j->args->out + offsets[0] * j->item[0], in, n);
    unit += blocks;
  }
  if (j->streams) _mm_sfence();
}

void ISA(iso__map_run)(const iso__call *call) {
  const iso_map_problem *p = (const iso_map_problem *)call->problem;
  const iso_map_args *args = call->args;
  job j = {.p = p,
           .args = args,
           .kernel = kernels[p->fn],
           .n_inputs = iso__map_n_inputs((iso__map_fn)p->fn),
           .last = p->n_dims - 1,
           .n_blocks = 1,
           .direct = true,
           .s0 = iso__map_scalar_f32(args->scalar[0], (iso_dtype)p->head.dtype),
           .s1 = iso__map_scalar_f32(args->scalar[1], (iso_dtype)p->head.dtype),
           .s2 = iso__map_scalar_f32(args->scalar[2], (iso_dtype)p->head.dtype)};
  int64_t rows = 1;
  for (int d = 0; d < j.last; d++) rows *= p->shape[d];
  const int64_t n = p->shape[j.last];
  if (rows == 0 || n == 0) return;
  for (int o = 0; o <= j.n_inputs; o++) {
    const int64_t stride = p->strides[o][j.last];
    j.dtype[o] = iso__map_operand_dtype((iso__map_fn)p->fn, (iso_dtype)p->head.dtype, o);
    j.item[o] = (int64_t)iso_dtype_size(j.dtype[o]);
    const bool plain = j.dtype[o] == ISO_F32 && stride == 1;
    j.direct &= plain;
    j.gathers |= !plain && (o == 0 || stride != 0);
  }
  j.streams = n >= STREAM_ELEMENTS && p->strides[0][j.last] == 1 && j.dtype[0] == ISO_F32 &&
              (uintptr_t)args->out % sizeof(vf) == 0;
  for (int d = 0; d < j.last; d++) j.streams &= p->strides[0][d] % VF_LANES == 0; /* every row is aligned, too */
  if (n > LONG_ROW) j.n_blocks = (n + ROW_BLOCK - 1) / ROW_BLOCK;
  const int64_t unit = j.n_blocks > 1 ? ROW_BLOCK : n, grain = iso__map_grain((iso__map_fn)p->fn);
  iso__parallel_range(call->ctx, rows * j.n_blocks, (grain + unit - 1) / unit, 1, run_units, &j);
}
