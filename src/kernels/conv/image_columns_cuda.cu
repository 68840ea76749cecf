/* image_columns_cuda.cu: bwd_weights of convolution, class `ordered`, as an implicit product on CUDA:
 * dw (k, (tap, c)) = Σ over positions of dy (position, k)·x (position, (tap, c)), a column gathered from the image.
 *
 * The sum is long and the result small, so K is cut at panels into slots (cuda.conv_columns_parts); cuda.conv_columns
 * keeps it whole and needs no workspace. */
#include "kernels/conv/image_params.cuh"
#include "kernels/gemm/gemm_tiles.cuh"

using namespace iso__tiles;

namespace {
struct product {
  iso__conv_product g;
  int64_t m, n, k;
};
product product_of(const iso_conv_problem *p) {
  product r = {};
  r.g = iso__conv_product_at(p, 0);
  r.m = r.g.width, r.n = iso__conv_k(&r.g), r.k = r.g.n * r.g.plane.n_grid * r.g.row.n_grid * r.g.col.n_grid;
  return r;
}
cut cut_of(const product &r, int n_multiprocessors, bool may_split) {
  return choose_cut(r.m, r.n, r.k, r.g.groups, n_multiprocessors, may_split);
}

void run(const iso__call *call, bool may_split) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const iso_conv_args *args = (const iso_conv_args *)call->args;
  const product r = product_of(p);
  const iso__conv_product &g = r.g;
  cudaStream_t stream = iso__cuda_stream(call);
  params t = {};
  t.m = (int)r.m, t.n = (int)r.n, t.k = (int)r.k, t.n_z = (int)g.groups;
  if (t.m == 0 || t.n == 0 || t.n_z == 0) return;
  t.c = (float *)args->dw, t.ldc = t.n, t.stride_c = r.m * r.n;
  t.vector_c = aligned16(t.c) && t.n % 4 == 0;
  const cut c = cut_of(r, iso__cuda_multiprocessors(call->ctx), may_split);
  apply_cut(t, c, call->workspace);
  if (t.k == 0) {
    t.n_slots = 0;
    fold(t, stream);
    iso__cuda_launched(call);
    return;
  }
  const bool first = p->x_first, vectors_b = image_has_vectors(g, args->x, first);
  const tile_shape shape = shape_that_fits(c.shape);
  const bool vectors_a = aligned16(args->dy) && g.output_pitch % 4 == 0 && g.width % 4 == 0;
  t.a = {(const float *)args->dy, g.width, (int)g.output_pitch, t.m};
  t.b = {(const float *)args->x, first ? g.depth * g.plane.n_source * g.row.n_source * g.col.n_source : g.depth,
         (int)g.source_pitch, t.n};
  t.g = gather_of(g, first);
  if (vectors_a && vectors_b && is_plain_matrix(g)) launch_tn(t, shape, stream);
  else launch_image_columns(t, vectors_a, vectors_b, shape, stream);
  if (t.split) fold(t, stream);
  iso__cuda_launched(call);
}

double cost(const iso__problem *problem, int n_multiprocessors, bool may_split) {
  const product r = product_of((const iso_conv_problem *)problem);
  const bool vectors = image_has_vectors(r.g, NULL, ((const iso_conv_problem *)problem)->x_first) && r.g.width % 4 == 0;
  return 3000 + cut_of(r, n_multiprocessors, may_split).ns * (vectors ? 1.08 : 1.4);
}
} // namespace

extern "C" {
const char *iso__conv_columns_cuda_applicable(const iso__problem *problem) {
  return iso__image_tiles_applicable((const iso_conv_problem *)problem);
}
const char *iso__conv_columns_parts_cuda_applicable(const iso__problem *problem) {
  const product r = product_of((const iso_conv_problem *)problem);
  return r.k > 256 ? iso__conv_columns_cuda_applicable(problem) : "one chunk of positions";
}
size_t iso__conv_columns_parts_cuda_workspace(const iso__problem *problem, int n) {
  const product r = product_of((const iso_conv_problem *)problem);
  return slot_bytes(cut_of(r, n, true), r.m, r.n, r.g.groups);
}
double iso__conv_columns_cuda_cost(const iso__problem *problem, int n) { return cost(problem, n, false); }
double iso__conv_columns_parts_cuda_cost(const iso__problem *problem, int n) { return cost(problem, n, true) + 1; }
void iso__conv_columns_cuda_run(const iso__call *call) { run(call, false); }
void iso__conv_columns_parts_cuda_run(const iso__call *call) { run(call, true); }
}
