/* gemm_cuda.cu: the rows of class `ordered` on CUDA:
 *
 *   cuda.gemm_tiles   operands as they are, K whole, no workspace
 *   cuda.gemm_parts   K may be cut (slots in the workspace); B turned first if its neighbours are terms
 *   cuda.gemm_turned  the same, and A turned too
 *   cuda.gemm_large   both turned, K whole, in the largest tiles
 *   cuda.gemm_skinny  at most 32 rows, K whole (skinny.cu)
 *   cuda.gemm_flat    at most 32 rows, every chunk of K in a slot (tiles_flat.cu)
 *   cuda.gemm_small   few elements, at most 256 terms (small.cu)
 *
 * Turning costs a copy and buys the quickest kernel, for any alignment. */
#include "kernels/gemm/gemm_tiles.cuh"

using namespace iso__tiles;

namespace {
typedef struct way {
  bool turn_a, turn_b, may_split, large;
} way;

struct layout {
  cut c;
  int64_t a_ld, b_ld, a_items, b_items;
  size_t a_at, b_at, slots_at, n_bytes;
};

size_t take(size_t &n_bytes, size_t more) {
  const size_t at = n_bytes;
  n_bytes += (more + 63) & ~(size_t)63;
  return at;
}

/* K whole, in tiles of 128×128, two a multiprocessor at once: 0.76 of the peak, in whole rounds. */
cut large_cut(int64_t m, int64_t n, int64_t k, int64_t n_z, int n_multiprocessors) {
  const int n_slots = (int)((k + 1023) / 1024);
  const double tiles = (double)((m + 127) / 128) * (double)((n + 127) / 128) * (double)n_z;
  const double rounds = tiles / (2.0 * n_multiprocessors), whole = (double)(int64_t)rounds;
  const double block_ns = 2.0 * 128 * 128 * (double)k / (0.76 * 250) + 2000;
  return {SHAPE_LARGE, false, 4, n_slots, n_slots, (rounds > whole ? whole + 1 : rounds) * block_ns};
}

layout lay_out(const iso_gemm_problem *p, way w, int n_multiprocessors) {
  layout l = {};
  l.c = w.large ? large_cut(p->m, p->n, p->k, p->batch, n_multiprocessors)
                : choose_cut(p->m, p->n, p->k, p->batch, n_multiprocessors, w.may_split);
  l.a_ld = round_up(p->m, 4), l.b_ld = round_up(p->n, 4);
  l.a_items = p->batch_stride_a && p->batch ? p->batch : 1, l.b_items = p->batch_stride_b && p->batch ? p->batch : 1;
  l.a_at = take(l.n_bytes, w.turn_a ? (size_t)(l.a_items * l.a_ld * p->k) * 4 : 0);
  l.b_at = take(l.n_bytes, w.turn_b ? (size_t)(l.b_items * l.b_ld * p->k) * 4 : 0);
  l.slots_at = take(l.n_bytes, slot_bytes(l.c, p->m, p->n, p->batch));
  return l;
}

operand turned(const float *from, float *to, int64_t rows, int64_t columns, int64_t ld_from, int64_t ld_to,
               int64_t stride, int64_t items, cudaStream_t stream) {
  turn({.from = from,
        .to = to,
        .rows = rows,
        .columns = columns,
        .ld_from = ld_from,
        .ld_to = ld_to,
        .stride_from = stride,
        .stride_to = columns * ld_to,
        .n_z = items},
       stream);
  return {to, stride ? columns * ld_to : 0, (int)ld_to, (int)ld_to}; /* what is behind the rows is never stored */
}

/* Rows of `row` elements in whole, aligned vectors. */
bool has_vectors(const operand &o, int64_t row, int64_t n_z) {
  return aligned16(o.data) && o.ld % 4 == 0 && row % 4 == 0 && (n_z == 1 || o.stride_z % 4 == 0);
}

params params_of(const iso_gemm_problem *p, const iso_gemm_args *args) {
  params t = {};
  t.c = (float *)args->c;
  t.m = (int)p->m, t.n = (int)p->n, t.k = (int)p->k, t.ldc = (int)p->ldc, t.n_z = (int)p->batch;
  t.stride_c = p->batch_stride_c;
  t.e.bias = p->has_bias ? (const float *)args->bias : NULL;
  t.e.residual = p->has_residual ? (const float *)args->residual : NULL;
  t.e.alpha = (float)args->alpha, t.e.beta = (float)args->beta, t.e.scale = (float)args->scale;
  t.e.has_alpha = p->has_alpha, t.e.has_beta = p->has_beta, t.e.has_scale = p->has_scale;
  t.e.activation = p->activation > ISO__ACTIVATION_RELU ? (uint8_t)ISO__ACTIVATION_NONE : p->activation;
  t.vector_c = aligned16(t.c) && t.ldc % 4 == 0 && (p->batch == 1 || t.stride_c % 4 == 0) &&
               (!t.e.residual || aligned16(t.e.residual));
  return t;
}

operand a_of(const iso_gemm_problem *p, const iso_gemm_args *args) {
  return {(const float *)args->a, p->batch_stride_a, (int)p->lda, (int)p->m};
}
operand b_of(const iso_gemm_problem *p, const iso_gemm_args *args) {
  return {(const float *)args->b, p->batch_stride_b, (int)p->ldb, (int)p->n};
}

/* B as (k,n), rows 16-byte aligned. */
operand turned_b(const iso_gemm_problem *p, const float *at) {
  const int64_t ld = round_up(p->n, 4);
  return {at, p->batch_stride_b ? p->k * ld : 0, (int)ld, (int)ld};
}
operand turn_b(const iso_gemm_problem *p, const iso_gemm_args *args, float *to, cudaStream_t stream) {
  const int64_t items = p->batch_stride_b && p->batch ? p->batch : 1;
  return turned((const float *)args->b, to, p->n, p->k, p->ldb, round_up(p->n, 4), p->batch_stride_b, items, stream);
}

/* What follows the product's kernels. */
void end_run(const iso__call *call, const params &t) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)call->problem;
  if (p->activation > ISO__ACTIVATION_RELU) activate_all(t, p->activation, iso__cuda_stream(call));
  iso__cuda_launched(call);
}

void run(const iso__call *call, way w) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)call->problem;
  const iso_gemm_args *args = (const iso_gemm_args *)call->args;
  if (p->m == 0 || p->n == 0 || p->batch == 0) return;
  cudaStream_t stream = iso__cuda_stream(call);
  w.turn_a &= !p->trans_a, w.turn_b &= p->trans_b;
  const layout l = lay_out(p, w, iso__cuda_multiprocessors(call->ctx));
  char *workspace = (char *)call->workspace;
  params t = params_of(p, args);
  apply_cut(t, l.c, workspace + l.slots_at);
  if (p->k == 0) {
    t.n_slots = 0;
    fold(t, stream);
    end_run(call, t);
    return;
  }
  t.total_in_shared = !t.split && t.n_slots > 1 && (t.e.has_beta || args->residual == args->c);
  t.a = a_of(p, args), t.b = b_of(p, args);
  if (w.turn_a)
    t.a = turned(t.a.data, (float *)(workspace + l.a_at), p->m, p->k, p->lda, l.a_ld, p->batch_stride_a, l.a_items,
                 stream);
  if (w.turn_b && call->kept) t.b = turned_b(p, (const float *)call->kept);
  else if (w.turn_b) t.b = turn_b(p, args, (float *)(workspace + l.b_at), stream);
  const bool a_by_m = p->trans_a || w.turn_a, b_by_n = !p->trans_b || w.turn_b;
  const tile_shape shape = shape_that_fits(l.c.shape);
  const bool vectors =
      b_by_n && has_vectors(t.a, a_by_m ? t.a.extent : t.k, p->batch) && has_vectors(t.b, t.b.extent, p->batch);
  if (!vectors) launch_any(t, a_by_m, !b_by_n, stream);
  else if (a_by_m) launch_tn(t, shape, stream);
  else launch_nn(t, shape, stream);
  if (t.split) fold(t, stream);
  end_run(call, t);
}

/* Estimated: the cut's time; kernels that turn on the way or copy single floats are slower; and the copies. */
double cost(const iso__problem *problem, way w, int n_multiprocessors) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  w.turn_a &= !p->trans_a, w.turn_b &= p->trans_b;
  const layout l = lay_out(p, w, n_multiprocessors);
  const bool a_by_m = p->trans_a || w.turn_a, b_by_n = !p->trans_b || w.turn_b;
  const bool vectors = b_by_n && (w.turn_a || (p->lda % 4 == 0 && (a_by_m ? p->m : p->k) % 4 == 0)) &&
                       (w.turn_b || (p->ldb % 4 == 0 && p->n % 4 == 0));
  double ns = l.c.ns * (!vectors ? 1.6 : a_by_m ? 1 : 1.05) + 3000;
  const double a = w.turn_a ? (double)l.a_items * (double)p->m * (double)p->k * 8 : 0,
               b = w.turn_b ? (double)l.b_items * (double)p->n * (double)p->k * 8 : 0;
  return ns + (a + b) / 3000 + 3000 * (w.turn_a + w.turn_b);
}

size_t workspace(const iso__problem *problem, way w, int n_multiprocessors) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  w.turn_a &= !p->trans_a, w.turn_b &= p->trans_b;
  return p->m == 0 || p->n == 0 || p->k == 0 || p->batch == 0 ? 0 : lay_out(p, w, n_multiprocessors).n_bytes;
}

/* Every chunk in a slot of its own. */
cut chunk_cut(int64_t k) {
  const int n = (int)((k + 255) / 256);
  return {SHAPE_SMALL, n > 1, 1, n < 1 ? 1 : n, 1, 0};
}

const way as_it_is = {false, false, false, false}, in_parts = {false, true, true, false},
          both_turned = {true, true, true, false}, in_large_tiles = {true, true, false, true};
} // namespace

extern "C" {
const char *iso__gemm_tiles_cuda_applicable(const iso__problem *problem) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  const int64_t most = INT32_MAX - 4096;
  if (p->m > most || p->n > most || p->k > most || p->lda > most || p->ldb > most || p->ldc > most || p->batch > most)
    return "an extent or row stride is beyond 32 bits";
  if (p->activation > ISO__ACTIVATION_RELU && p->batch * p->m > most) return "rows beyond 32 bits before an activation";
  return NULL;
}
const char *iso__gemm_parts_cuda_applicable(const iso__problem *problem) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  if (!p->trans_b && p->k <= 256) return "nothing to turn and one chunk of k";
  return iso__gemm_tiles_cuda_applicable(problem);
}
const char *iso__gemm_turned_cuda_applicable(const iso__problem *problem) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  return p->trans_a ? "A is turned already" : iso__gemm_tiles_cuda_applicable(problem);
}
const char *iso__gemm_large_cuda_applicable(const iso__problem *problem) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  if ((double)p->m * (double)p->n * (double)p->batch < 1 << 21) return "few tiles of 128×128";
  return iso__gemm_tiles_cuda_applicable(problem);
}
const char *iso__gemm_skinny_cuda_applicable(const iso__problem *problem) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  if (p->m > 32) return "more than 32 rows";
  if (p->trans_a && p->m > 1) return "A is stored transposed";
  if (p->trans_a && p->lda != 1) return "terms of A are not neighbours";
  if (p->ldb % 4) return "rows of B are not aligned";
  return iso__gemm_tiles_cuda_applicable(problem);
}
/* Sixteen chunks of 256 terms at once, and what those take, by rows, measured; the larger of that and B at the speed of
 * memory. */
double iso__gemm_skinny_cuda_cost(const iso__problem *problem, int n_multiprocessors) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  const double b = (double)p->batch * (double)p->n * (double)p->k * 4, rows = p->m < 8 ? (double)p->m : 8;
  const double blocks = (double)p->batch * (double)((p->n + 31) / 32) * (double)((p->m + 7) / 8);
  const double waves = blocks > 1.5 * n_multiprocessors ? blocks / (1.5 * n_multiprocessors) : 1;
  const double pass = p->trans_b ? 12000 + 7000 * rows : 16000 + 2500 * rows;
  const double ns = (double)((p->k + 4095) / 4096) * waves * pass;
  return 3000 + (ns > b / 3500 ? ns : b / 3500);
}
void iso__gemm_skinny_cuda_run(const iso__call *call) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)call->problem;
  const iso_gemm_args *args = (const iso_gemm_args *)call->args;
  params t = params_of(p, args);
  t.a = a_of(p, args), t.b = b_of(p, args);
  if (p->k == 0 || !has_vectors(t.b, 0, p->batch)) {
    run(call, as_it_is);
    return;
  }
  if (p->m == 0 || p->n == 0 || p->batch == 0) return;
  launch_skinny(t, !p->trans_b, has_vectors(t.a, 0, p->batch), iso__cuda_stream(call));
  end_run(call, t);
}
const char *iso__gemm_small_cuda_applicable(const iso__problem *problem) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  if (p->k > 256) return "more than 256 terms";
  if ((double)p->m * (double)p->n * (double)p->batch > 1 << 16) return "more than 65536 elements";
  return iso__gemm_tiles_cuda_applicable(problem);
}
/* A chain of K steps, in whole rounds of five blocks a multiprocessor. */
double iso__gemm_small_cuda_cost(const iso__problem *problem, int n_multiprocessors) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  const double blocks = (double)p->batch * (double)((p->n + 31) / 32) * (double)((p->m + 3) / 4);
  const double rounds = blocks / (5.0 * n_multiprocessors);
  return 2500 + (rounds > 1 ? rounds : 1) * (1000 + 8 * (double)p->k);
}
void iso__gemm_small_cuda_run(const iso__call *call) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)call->problem;
  const iso_gemm_args *args = (const iso_gemm_args *)call->args;
  params t = params_of(p, args);
  t.a = a_of(p, args), t.b = b_of(p, args);
  if (p->m == 0 || p->n == 0 || p->batch == 0) return;
  launch_small(t, p->trans_a, p->trans_b, iso__cuda_stream(call));
  end_run(call, t);
}
const char *iso__gemm_flat_cuda_applicable(const iso__problem *problem) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  if (p->m > 32) return "more than 32 rows";
  if (p->trans_a) return "A is stored transposed";
  if (p->lda % 4 || p->k % 4) return "rows of A are not whole vectors";
  if (p->ldb % 4 || (!p->trans_b && p->n % 4)) return "rows of B are not whole vectors";
  return iso__gemm_tiles_cuda_applicable(problem);
}
size_t iso__gemm_flat_cuda_workspace(const iso__problem *problem, int n_multiprocessors) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  (void)n_multiprocessors;
  return slot_bytes(chunk_cut(p->k), p->m, p->n, p->batch);
}
/* The larger of B at the speed of memory and whole tiles at three fifths of the peak; and the slots. */
double iso__gemm_flat_cuda_cost(const iso__problem *problem, int n_multiprocessors) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  const double b = (double)p->batch * (double)p->n * (double)p->k,
               slots = (double)iso__gemm_flat_cuda_workspace(problem, 1);
  const double memory = b * 4 / 3000, work = b * 64 / (300.0 * n_multiprocessors);
  return 10000 + (memory > work ? memory : work) + slots * 2 / 3500;
}
void iso__gemm_flat_cuda_run(const iso__call *call) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)call->problem;
  const iso_gemm_args *args = (const iso_gemm_args *)call->args;
  params t = params_of(p, args);
  t.a = a_of(p, args), t.b = b_of(p, args);
  if (p->k == 0 || !has_vectors(t.a, p->k, p->batch) || !has_vectors(t.b, p->trans_b ? p->k : p->n, p->batch)) {
    run(call, as_it_is);
    return;
  }
  if (p->m == 0 || p->n == 0 || p->batch == 0) return;
  apply_cut(t, chunk_cut(p->k), call->workspace);
  launch_flat(t, !p->trans_b, iso__cuda_stream(call));
  if (t.split) fold(t, iso__cuda_stream(call));
  end_run(call, t);
}
size_t iso__gemm_parts_cuda_workspace(const iso__problem *problem, int n) { return workspace(problem, in_parts, n); }
size_t iso__gemm_turned_cuda_workspace(const iso__problem *problem, int n) {
  return workspace(problem, both_turned, n);
}
size_t iso__gemm_large_cuda_workspace(const iso__problem *problem, int n) {
  return workspace(problem, in_large_tiles, n);
}
double iso__gemm_large_cuda_cost(const iso__problem *problem, int n) { return cost(problem, in_large_tiles, n); }
void iso__gemm_large_cuda_run(const iso__call *call) { run(call, in_large_tiles); }
double iso__gemm_tiles_cuda_cost(const iso__problem *problem, int n) { return cost(problem, as_it_is, n); }
double iso__gemm_parts_cuda_cost(const iso__problem *problem, int n) { return cost(problem, in_parts, n); }
double iso__gemm_turned_cuda_cost(const iso__problem *problem, int n) { return cost(problem, both_turned, n); }
size_t iso__gemm_turned_cuda_kept_bytes(const iso__problem *problem) {
  const iso_gemm_problem *p = (const iso_gemm_problem *)problem;
  const int64_t items = p->batch_stride_b && p->batch ? p->batch : 1;
  return p->trans_b ? (size_t)(items * p->k * round_up(p->n, 4)) * 4 : 0;
}
void iso__gemm_turned_cuda_prepare(const iso__call *call, void *kept) {
  turn_b((const iso_gemm_problem *)call->problem, (const iso_gemm_args *)call->args, (float *)kept,
         iso__cuda_stream(call));
  iso__cuda_launched(call);
}
void iso__gemm_tiles_cuda_run(const iso__call *call) { run(call, as_it_is); }
void iso__gemm_parts_cuda_run(const iso__call *call) { run(call, in_parts); }
void iso__gemm_turned_cuda_run(const iso__call *call) { run(call, both_turned); }
}
