/* cublaslt.c: products by cuBLASLt, float32 without TF32 (pedantic), an opaque class for each major version.
 *
 * Row-major C = A·B is column-major Cᵀ = Bᵀ·Aᵀ: operands change places, each keeps its memory and its op. The algorithm
 * is the library's own first choice (its heuristics see shapes and alignment, nothing that changes from run to run). It
 * documents that equal calls give equal bits but where parts of a split sum are added in place, in whatever order they
 * end: that scheme is a row of its own, for level `off`. Operands that are no 16 bytes aligned have an algorithm of
 * their own. */
#ifdef ISO_HAS_CUDA
#  include <stdio.h>
#  include <stdlib.h>
#  include "device/cuda/cuda.h"
#  include "device/vendor/library.h"
#  include "kernels/gemm/gemm.h"
#  include "kernels/vendor/made.h"

/* ---- of the library's interface (cublasLt.h), what is used; the same in versions 12 and 13 ---- */
typedef struct lt_algo {
  uint64_t data[8];
} lt_algo;
typedef struct lt_result {
  lt_algo algo;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
} lt_result;
enum {
  LT_COMPUTE_32F_PEDANTIC = 69,
  LT_R_32F = 0,
  LT_DESC_TRANSA = 3,
  LT_DESC_TRANSB = 4,
  LT_LAYOUT_BATCH_COUNT = 5,
  LT_LAYOUT_BATCH_OFFSET = 6,
  LT_PREF_MAX_WORKSPACE = 1,
  LT_PREF_REDUCTION_MASK = 3,
  LT_PREF_ALIGNMENT_A = 5, /* and B, C, D behind it */
  LT_CONFIG_REDUCTION = 3,
  LT_REDUCTION_IN_PLACE = 1,
  LT_REDUCTION_SEPARATE = 2 | 4
};
static struct {
  int (*Create)(void **handle);
  int (*Matmul)(void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b,
                void *b_layout, const void *beta, const void *c, void *c_layout, void *d, void *d_layout,
                const lt_algo *algo, void *workspace, size_t workspace_bytes, void *stream);
  int (*MatmulAlgoGetHeuristic)(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference,
                                int n_wanted, lt_result *results, int *n);
  int (*MatmulAlgoConfigGetAttribute)(const lt_algo *algo, int attribute, void *value, size_t n_bytes, size_t *written);
  int (*MatmulDescCreate)(void **desc, int compute, int scale);
  int (*MatmulDescSetAttribute)(void *desc, int attribute, const void *value, size_t n_bytes);
  int (*MatmulDescDestroy)(void *desc);
  int (*MatrixLayoutCreate)(void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld);
  int (*MatrixLayoutSetAttribute)(void *layout, int attribute, const void *value, size_t n_bytes);
  int (*MatrixLayoutDestroy)(void *layout);
  int (*MatmulPreferenceCreate)(void **preference);
  int (*MatmulPreferenceSetAttribute)(void *preference, int attribute, const void *value, size_t n_bytes);
  int (*MatmulPreferenceDestroy)(void *preference);
} lt;
enum { MAX_DEVICES = 16, SEPARATE = 0, IN_PLACE = 1 };
static const size_t most_workspace = 32u << 20; /* what the library's own callers give it on this kind of chip */
static void *handles[MAX_DEVICES];
static iso__vendor_made made = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* The device's handle; NULL: the library has none for it. */
static void *handle_of(int device) {
  const iso__vendor_library *l = iso__vendor_library_of(ISO__CUBLASLT);
  if (!l->handle || device < 0 || device >= MAX_DEVICES) return NULL;
  if (!lt.Create) {
#  define TAKE(name) *(void **)&lt.name = iso__vendor_symbol(l, "cublasLt" #  name)
    TAKE(Matmul);
    TAKE(MatmulAlgoGetHeuristic);
    TAKE(MatmulAlgoConfigGetAttribute);
    TAKE(MatmulDescCreate);
    TAKE(MatmulDescSetAttribute);
    TAKE(MatmulDescDestroy);
    TAKE(MatrixLayoutCreate);
    TAKE(MatrixLayoutSetAttribute);
    TAKE(MatrixLayoutDestroy);
    TAKE(MatmulPreferenceCreate);
    TAKE(MatmulPreferenceSetAttribute);
    TAKE(MatmulPreferenceDestroy);
    TAKE(Create);
#  undef TAKE
  }
  if (!handles[device] && lt.Create(&handles[device]) != 0) handles[device] = NULL;
  return handles[device];
}

/* ---- what is made for a problem ---- */

typedef struct choice {
  lt_algo algo;
  size_t workspace;
  bool good;
} choice;
typedef struct product {
  void *desc, *a, *b, *c;    /* in the library's order: its a is our b */
  choice aligned, unaligned; /* to 16 bytes, to 4 */
} product;

static void *layout(int64_t rows, int64_t columns, int64_t ld, int64_t batch, int64_t stride) {
  void *made_one = NULL;
  const int32_t count = (int32_t)batch;
  if (lt.MatrixLayoutCreate(&made_one, LT_R_32F, (uint64_t)rows, (uint64_t)columns, ld) != 0) return NULL;
  lt.MatrixLayoutSetAttribute(made_one, LT_LAYOUT_BATCH_COUNT, &count, sizeof count);
  lt.MatrixLayoutSetAttribute(made_one, LT_LAYOUT_BATCH_OFFSET, &stride, sizeof stride);
  return made_one;
}

/* The library's first choice among the row's schemes. */
static choice choose(void *handle, const product *p, int row, uint32_t alignment) {
  const uint32_t mask = row == IN_PLACE ? LT_REDUCTION_IN_PLACE : LT_REDUCTION_SEPARATE;
  void *preference = NULL;
  lt_result result = {0};
  int n = 0;
  uint32_t scheme = 0;
  if (lt.MatmulPreferenceCreate(&preference) != 0) return (choice){0};
  lt.MatmulPreferenceSetAttribute(preference, LT_PREF_MAX_WORKSPACE, &most_workspace, sizeof most_workspace);
  lt.MatmulPreferenceSetAttribute(preference, LT_PREF_REDUCTION_MASK, &mask, sizeof mask);
  for (int operand = 0; operand < 4; operand++)
    lt.MatmulPreferenceSetAttribute(preference, LT_PREF_ALIGNMENT_A + operand, &alignment, sizeof alignment);
  const int status = lt.MatmulAlgoGetHeuristic(handle, p->desc, p->a, p->b, p->c, p->c, preference, 1, &result, &n);
  lt.MatmulPreferenceDestroy(preference);
  if (status != 0 || n < 1 || result.state != 0) return (choice){0};
  lt.MatmulAlgoConfigGetAttribute(&result.algo, LT_CONFIG_REDUCTION, &scheme, sizeof scheme, NULL);
  return (choice){.algo = result.algo,
                  .workspace = result.workspace,
                  .good = (scheme == LT_REDUCTION_IN_PLACE) == (row == IN_PLACE)};
}

static void *make(int row, const iso__problem *problem, int device) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  product *made_one = calloc(1, sizeof *made_one);
  if (!made_one) return NULL;
  const int32_t turn_a = p->trans_a, turn_b = p->trans_b;
  made_one->a = layout(p->trans_b ? p->k : p->n, p->trans_b ? p->n : p->k, p->ldb, p->batch, p->batch_stride_b);
  made_one->b = layout(p->trans_a ? p->m : p->k, p->trans_a ? p->k : p->m, p->lda, p->batch, p->batch_stride_a);
  made_one->c = layout(p->n, p->m, p->ldc, p->batch, p->batch_stride_c);
  if (lt.MatmulDescCreate(&made_one->desc, LT_COMPUTE_32F_PEDANTIC, LT_R_32F) != 0) made_one->desc = NULL;
  if (!made_one->a || !made_one->b || !made_one->c || !made_one->desc) return made_one; /* no good choice in it */
  lt.MatmulDescSetAttribute(made_one->desc, LT_DESC_TRANSA, &turn_b, sizeof turn_b);
  lt.MatmulDescSetAttribute(made_one->desc, LT_DESC_TRANSB, &turn_a, sizeof turn_a);
  made_one->aligned = choose(handles[device], made_one, row, 16);
  made_one->unaligned = choose(handles[device], made_one, row, sizeof(float));
  return made_one;
}

/* The mutex is held. NULL: there is no device or library, or no memory. */
static const product *product_of(int row, const iso__problem *problem) {
  const int device = iso__cuda_current_device();
  return handle_of(device) ? iso__vendor_made_get(&made, row, problem, device, make) : NULL;
}

/* ---- the rows ---- */

static const char *applicable(int row, const iso__problem *problem) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  if (p->has_bias || p->has_residual || p->has_scale || p->activation) return "computes no epilogue";
  if (p->m < 1 || p->n < 1 || p->k < 1 || p->batch < 1) return "the product is empty";
  if (p->batch > INT32_MAX || p->m > INT32_MAX || p->n > INT32_MAX || p->k > INT32_MAX)
    return "more rows, columns or products than 2^31";
  if (iso__cuda_current_device() < 0) return "no CUDA device is open";
  pthread_mutex_lock(&made.mutex);
  const product *it = product_of(row, problem);
  const bool good = it && it->aligned.good && it->unaligned.good;
  pthread_mutex_unlock(&made.mutex);
  return good              ? NULL
         : row == IN_PLACE ? "the library chooses no sum in place here"
                           : "the library has no algorithm for it";
}

static size_t workspace(int row, const iso__problem *problem) {
  pthread_mutex_lock(&made.mutex);
  const product *it = product_of(row, problem);
  const size_t n = !it                                               ? 0
                   : it->aligned.workspace > it->unaligned.workspace ? it->aligned.workspace
                                                                     : it->unaligned.workspace;
  pthread_mutex_unlock(&made.mutex);
  return n;
}

static void run(int row, const iso__call *call) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)call->problem;
  const iso_gemm_args *args = call->args;
  const float alpha = p->has_alpha ? (float)args->alpha : 1, beta = p->has_beta ? (float)args->beta : 0;
  const void *const pointers[] = {args->a, args->b, args->c};
  void *const stream = iso__cuda_context_stream(call->ctx); /* which makes its device this thread's */
  const int device = iso__cuda_current_device();
  pthread_mutex_lock(&made.mutex);
  const product *it = product_of(row, call->problem);
  const choice *c = !it ? NULL : iso__vendor_aligned(16, 3, pointers) ? &it->aligned : &it->unaligned;
  const int status = c ? lt.Matmul(handles[device], it->desc, &alpha, args->b, it->a, args->a, it->b, &beta, args->c,
                                   it->c, args->c, it->c, &c->algo, call->workspace, call->workspace_bytes, stream)
                       : -1;
  pthread_mutex_unlock(&made.mutex);
  if (status != 0) ISO__FAIL(call->ctx, ISO_DEVICE_ERROR, call->engine->name, "cublasLtMatmul gives status %d", status);
}

/* Measured of float32 on one chip of this kind: 50 TFLOP/s where its tiles fill the multiprocessors, whole or split. */
static double cost(const iso__problem *problem, int n_multiprocessors) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  const double tiles = (double)((p->m + 127) / 128) * (double)((p->n + 127) / 128) * (double)p->batch;
  const double parts = tiles * (1 + (double)(p->k / 256)),
               filled = parts < n_multiprocessors ? parts / n_multiprocessors : 1;
  return 4000 + tiles * 2.0 * 128 * 128 * (double)p->k / (50e3 * n_multiprocessors / 132 * filled);
}

const char *iso__gemm_cublaslt_applicable(const iso__problem *problem) { return applicable(SEPARATE, problem); }
size_t iso__gemm_cublaslt_workspace(const iso__problem *problem, int n) {
  return (void)n, workspace(SEPARATE, problem);
}
void iso__gemm_cublaslt_run(const iso__call *call) { run(SEPARATE, call); }
const char *iso__gemm_cublaslt_in_place_applicable(const iso__problem *problem) {
  return applicable(IN_PLACE, problem);
}
size_t iso__gemm_cublaslt_in_place_workspace(const iso__problem *problem, int n) {
  return (void)n, workspace(IN_PLACE, problem);
}
void iso__gemm_cublaslt_in_place_run(const iso__call *call) { run(IN_PLACE, call); }
double iso__gemm_cublaslt_cost(const iso__problem *problem, int n_multiprocessors) {
  return cost(problem, n_multiprocessors);
}
#else
typedef int iso__no_cublaslt; /* a build without CUDA */
#endif
