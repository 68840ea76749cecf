/* gemm.c: the operator's description: "gemm f32 m512 n512 k512 tb1 bias1 relu1". Words that have their usual value are
 * left out: no transposes, tight ld, one batch item, tight batch strides, no epilogue (res1 residual; scale1; relu1, or
 * act2 gelu, act3 gelu by tanh, act4 silu). */
#include "kernels/gemm/gemm.h"
#include <stdio.h>
#include <stdlib.h>

/* One row a word of the text. Strides come after what their usual values depend on. */
enum word { M, N, K, BATCH, TA, TB, ALPHA, BETA, BIAS, RES, SCALE, RELU, ACT, LDA, LDB, LDC, SA, SB, SC, N_WORDS };
static const char *const word_names[N_WORDS] = {"m",    "n",    "k",   "batch", "ta",   "tb",  "alpha",
                                                "beta", "bias", "res", "scale", "relu", "act", "lda",
                                                "ldb",  "ldc",  "sa",  "sb",    "sc"};

static int64_t a_rows(const iso_gemm_problem *p) { return p->trans_a ? p->k : p->m; }
static int64_t a_columns(const iso_gemm_problem *p) { return p->trans_a ? p->m : p->k; }
static int64_t b_rows(const iso_gemm_problem *p) { return p->trans_b ? p->n : p->k; }
static int64_t b_columns(const iso_gemm_problem *p) { return p->trans_b ? p->k : p->n; }

/* Elements from the first to the last of a matrix. */
static int64_t extent(int64_t rows, int64_t columns, int64_t ld) {
  return rows && columns ? (rows - 1) * ld + columns : 0;
}
static int64_t at_least_one(int64_t n) { return n ? n : 1; }

static int64_t word_get(const iso_gemm_problem *p, int word) {
  switch (word) {
  case M: return p->m;
  case N: return p->n;
  case K: return p->k;
  case BATCH: return p->batch;
  case TA: return p->trans_a;
  case TB: return p->trans_b;
  case ALPHA: return p->has_alpha;
  case BETA: return p->has_beta;
  case BIAS: return p->has_bias;
  case RES: return p->has_residual;
  case SCALE: return p->has_scale;
  case RELU: return p->activation == ISO__ACTIVATION_RELU;
  case ACT: return p->activation > ISO__ACTIVATION_RELU ? p->activation : 0;
  case LDA: return p->lda;
  case LDB: return p->ldb;
  case LDC: return p->ldc;
  case SA: return p->batch_stride_a;
  case SB: return p->batch_stride_b;
  default: return p->batch_stride_c;
  }
}

static void word_set(iso_gemm_problem *p, int word, int64_t value) {
  switch (word) {
  case M: p->m = value; break;
  case N: p->n = value; break;
  case K: p->k = value; break;
  case BATCH: p->batch = value; break;
  case TA: p->trans_a = (uint8_t)value; break;
  case TB: p->trans_b = (uint8_t)value; break;
  case ALPHA: p->has_alpha = (uint8_t)value; break;
  case BETA: p->has_beta = (uint8_t)value; break;
  case BIAS: p->has_bias = (uint8_t)value; break;
  case RES: p->has_residual = (uint8_t)value; break;
  case SCALE: p->has_scale = (uint8_t)value; break;
  case RELU:
    if (value) p->activation = ISO__ACTIVATION_RELU;
    break;
  case ACT:
    if (value) p->activation = (uint8_t)value;
    break;
  case LDA: p->lda = value; break;
  case LDB: p->ldb = value; break;
  case LDC: p->ldc = value; break;
  case SA: p->batch_stride_a = value; break;
  case SB: p->batch_stride_b = value; break;
  default: p->batch_stride_c = value;
  }
}

/* The value of a word that is not written. */
static int64_t word_usual(const iso_gemm_problem *p, int word) {
  switch (word) {
  case BATCH: return 1;
  case LDA: return at_least_one(a_columns(p));
  case LDB: return at_least_one(b_columns(p));
  case LDC: return at_least_one(p->n);
  case SA: return extent(a_rows(p), a_columns(p), p->lda);
  case SB: return extent(b_rows(p), b_columns(p), p->ldb);
  case SC: return extent(p->m, p->n, p->ldc);
  default: return 0;
  }
}

static int gemm_format(const iso__problem *problem, char *text, size_t n_bytes) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  int n = 0;
  for (int word = 0; word < N_WORDS; word++) {
    const int64_t value = word_get(p, word);
    if (word > K && value == word_usual(p, word)) continue;
    const size_t used = (size_t)n < n_bytes ? (size_t)n : n_bytes;
    n += snprintf(text + used, n_bytes - used, "%s%s%lld", n ? " " : "", word_names[word], (long long)value);
  }
  return n;
}

/* Whether a matrix and its batch fit into 2^59 bytes, so that no later arithmetic on sizes can overflow. */
static bool fits(int64_t rows, int64_t ld, int64_t batch, int64_t stride) {
  int64_t one, all;
  return !__builtin_mul_overflow(rows + 1, ld, &one) && !__builtin_mul_overflow(batch, stride, &all) &&
         one < (INT64_C(1) << 56) && all < (INT64_C(1) << 56);
}

static const char *check(const iso_gemm_problem *p) {
  if (p->lda < at_least_one(a_columns(p))) return "lda is less than a row of A";
  if (p->ldb < at_least_one(b_columns(p))) return "ldb is less than a row of B";
  if (p->ldc < at_least_one(p->n)) return "ldc is less than a row of C";
  if (p->batch > 1 && p->batch_stride_c < extent(p->m, p->n, p->ldc)) return "batch items of C overlap (sc)";
  if (!fits(a_rows(p), p->lda, p->batch, p->batch_stride_a) || !fits(b_rows(p), p->ldb, p->batch, p->batch_stride_b) ||
      !fits(p->m, p->ldc, p->batch, p->batch_stride_c))
    return "the operands are larger than any memory";
  return NULL;
}

/* While words are read, a bit of `reserved` says which have been written. */
static const char *gemm_parse(iso__problem *problem, const char *key, const char *value) {
  iso_gemm_problem *p = (iso_gemm_problem *)problem;
  if (!key) {
    if ((p->reserved & 7u) != 7u) return "m, n and k must be given";
    for (int word = K + 1; word < N_WORDS; word++) {
      if (word == SA && (p->lda > INT64_C(1) << 40 || p->ldb > INT64_C(1) << 40 || p->ldc > INT64_C(1) << 40))
        return "a stride is larger than any memory";
      if (!(p->reserved >> word & 1u)) word_set(p, word, word_usual(p, word));
    }
    p->reserved = 0;
    return check(p);
  }
  int word = 0;
  while (word < N_WORDS && strcmp(word_names[word], key) != 0) word++;
  if (word == N_WORDS)
    return "unknown; gemm knows m, n, k, batch, ta, tb, alpha, beta, bias, res, scale, relu, act, lda, ldb, ldc, sa, "
           "sb, sc";
  char *end;
  const long long v = strtoll(value, &end, 10);
  if (end == value || *end) return "not an integer";
  if (v < 0) return "must not be negative";
  if (v > (word <= BATCH ? INT64_C(1) << 31 : INT64_C(1) << 56)) return "too large";
  if (word >= TA && word <= RELU && v > 1) return "must be 0 or 1";
  if (word == ACT && v != 0 && (v < ISO__ACTIVATION_GELU || v > ISO__ACTIVATION_SILU))
    return "must be 2 (gelu), 3 (gelu_tanh) or 4 (silu)";
  if ((word == ACT || word == RELU) && v != 0 && p->activation) return "there is an activation already";
  word_set(p, word, v);
  p->reserved |= UINT64_C(1) << word;
  return NULL;
}

static int64_t batched(int64_t one, int64_t batch, int64_t stride) {
  return one && batch ? one + (batch - 1) * stride : 0;
}

static int gemm_operands(const iso__problem *problem, iso__operand *o) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  int n = 0;
  o[n++] = (iso__operand){.name = "a",
                          .offset = offsetof(iso_gemm_args, a),
                          .dtype = dtype,
                          .n = batched(extent(a_rows(p), a_columns(p), p->lda), p->batch, p->batch_stride_a),
                          .input = true};
  o[n++] = (iso__operand){.name = "b",
                          .offset = offsetof(iso_gemm_args, b),
                          .dtype = dtype,
                          .n = batched(extent(b_rows(p), b_columns(p), p->ldb), p->batch, p->batch_stride_b),
                          .input = true};
  o[n++] = (iso__operand){.name = "c",
                          .offset = offsetof(iso_gemm_args, c),
                          .dtype = dtype,
                          .n = batched(extent(p->m, p->n, p->ldc), p->batch, p->batch_stride_c),
                          .input = p->has_beta,
                          .output = true};
  if (p->has_bias)
    o[n++] = (iso__operand){
        .name = "bias", .offset = offsetof(iso_gemm_args, bias), .dtype = dtype, .n = p->n, .input = true};
  if (p->has_residual)
    o[n++] = (iso__operand){.name = "residual",
                            .offset = offsetof(iso_gemm_args, residual),
                            .dtype = dtype,
                            .n = batched(extent(p->m, p->n, p->ldc), p->batch, p->batch_stride_c),
                            .input = true};
  return n;
}

static void gemm_scalars(const iso__problem *problem, void *args) {
  (void)problem;
  iso_gemm_args *a = args;
  a->alpha = 0.7, a->beta = 0.3, a->scale = 0.6; /* positive: with absolute inputs the result is the sum of |terms| */
}

static const char *gemm_class_rule(const iso__problem *problem, const iso_policy *policy) {
  (void)problem, (void)policy;
  return "ordered";
}

static double gemm_flops(const iso__problem *problem) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  return 2.0 * (double)p->batch * (double)p->m * (double)p->n * (double)p->k;
}

static double gemm_bytes(const iso__problem *problem) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  const double m = (double)p->m, n = (double)p->n, k = (double)p->k;
  return (double)iso_dtype_size((iso_dtype)problem->dtype) *
         ((double)p->batch * (m * k + n * k + m * n * (1 + (p->has_beta != 0) + (p->has_residual != 0))) +
          (p->has_bias ? n : 0));
}

/* A form of the weights (B) depends on their shape and layout. */
static void gemm_weights_only(iso__problem *problem) {
  iso_gemm_problem *p = (iso_gemm_problem *)problem;
  const iso_gemm_problem whole = *p;
  memset(p, 0, sizeof *p);
  p->head = whole.head;
  p->n = whole.n, p->k = whole.k, p->ldb = whole.ldb, p->trans_b = whole.trans_b;
  p->batch = whole.batch_stride_b ? whole.batch : 1, p->batch_stride_b = whole.batch_stride_b;
}

/* A term passes through at most 256 + 4 + K/1024 roundings and the epilogue's five; K up to 30,000 here. */
const iso__operator iso__operator_GEMM = {.op = ISO__OP_GEMM,
                                          .family = "gemm",
                                          .problem_bytes = sizeof(iso_gemm_problem),
                                          .args_bytes = sizeof(iso_gemm_args),
                                          .format = gemm_format,
                                          .parse = gemm_parse,
                                          .operands = gemm_operands,
                                          .scalars = gemm_scalars,
                                          .class_rule = gemm_class_rule,
                                          .flops = gemm_flops,
                                          .bytes = gemm_bytes,
                                          .error_bound = 300 * 0x1p-24,
                                          .weights_only = gemm_weights_only};
