/* image_rows_cuda.cu: convolution forward and bwd_data, class `ordered`, as implicit products on CUDA.
 *
 * Forward is one product, bwd_data one for each stride phase (geometry.h). Rows of A are grid positions, gathered from
 * the image (gather.cuh); B, the weights, is laid out (k, column) first: once and for all where they are constant, else
 * in the workspace, which does not grow with the batch. cuda.conv_image keeps K whole, cuda.conv_image_parts may cut
 * it. */
#include "kernels/conv/image_params.cuh"
#include "kernels/gemm/gemm_tiles.cuh"

using namespace iso__tiles;

namespace {
/* Where things lie in the workspace: the phases' weights one after another, then slots, used by one phase at a time. */
struct layout {
  size_t weights_bytes, slots_bytes;
};
int64_t rows_of(const iso__conv_product &g) { return g.n * g.plane.n_grid * g.row.n_grid * g.col.n_grid; }
size_t weights_bytes(const iso__conv_product &g) {
  return (size_t)(g.groups * iso__conv_k(&g) * round_up(g.width, 4)) * 4;
}
cut cut_of(const iso__conv_product &g, int n_multiprocessors, bool may_split) {
  return choose_cut(rows_of(g), g.width, iso__conv_k(&g), g.groups, n_multiprocessors, may_split);
}

layout lay_out(const iso_conv_problem *p, int n_multiprocessors, bool may_split) {
  layout l = {};
  for (int64_t i = 0; i < iso__conv_n_products(p); i++) {
    const iso__conv_product g = iso__conv_product_at(p, i);
    take_bytes(l.weights_bytes, weights_bytes(g));
    const size_t slots = slot_bytes(cut_of(g, n_multiprocessors, may_split), rows_of(g), g.width, g.groups);
    if (slots > l.slots_bytes) l.slots_bytes = slots;
  }
  return l;
}

/* B of one product. */
void lay_weights(const iso_conv_problem *p, const iso__conv_product &g, const float *w, float *to,
                 cudaStream_t stream) {
  const int64_t pitch = round_up(g.width, 4), k = iso__conv_k(&g);
  if (!g.transposed) {
    turn({.from = w,
          .to = to,
          .rows = g.width,
          .columns = k,
          .ld_from = k,
          .ld_to = pitch,
          .stride_from = g.width * k,
          .stride_to = k * pitch,
          .n_z = g.groups},
         stream);
    return;
  }
  packing b = {.from = w, .to = to, .n_groups = g.groups, .depth = g.depth, .width = g.width, .width_pitch = pitch};
  const iso__conv_axis *axes[3] = {&g.plane, &g.row, &g.col};
  const int64_t kernel[3] = {p->t, p->r, p->s};
  b.stride_channel = p->t * p->r * p->s * g.width, b.stride_group = g.depth * b.stride_channel;
  for (int i = 0; i < 3; i++) {
    b.n_taps[i] = (int)axes[i]->n_taps, b.first[i] = (int)axes[i]->first_tap, b.step[i] = (int)axes[i]->tap_stride;
    b.all[i] = (int)kernel[i];
  }
  pack(b, stream);
}

/* B of every product, one after another. */
void lay_all_weights(const iso__call *call, void *to) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  size_t used = 0;
  for (int64_t i = 0; i < iso__conv_n_products(p); i++) {
    const iso__conv_product g = iso__conv_product_at(p, i);
    float *b = (float *)((char *)to + take_bytes(used, weights_bytes(g)));
    if (g.width && iso__conv_k(&g))
      lay_weights(p, g, (const float *)((const iso_conv_args *)call->args)->w, b, iso__cuda_stream(call));
  }
}

struct images {
  const float *source;
  float *output;
};

void run_product(const iso__call *call, const iso__conv_product &g, const images &at, const float *b, void *slots,
                 bool may_split) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const iso_conv_args *args = (const iso_conv_args *)call->args;
  const bool forward = p->head.op == ISO__OP_CONV_FWD;
  cudaStream_t stream = iso__cuda_stream(call);
  params t = {};
  t.m = (int)rows_of(g), t.n = (int)g.width, t.k = (int)iso__conv_k(&g), t.n_z = (int)g.groups;
  if (t.m == 0 || t.n == 0 || t.n_z == 0) return;
  t.c = at.output, t.ldc = (int)g.output_pitch, t.stride_c = g.width;
  t.rows = row_map_of(g);
  t.e.bias = forward && p->has_bias ? (const float *)args->bias : NULL, t.e.bias_stride = g.width;
  t.e.residual = forward && p->has_residual ? (const float *)args->residual : NULL;
  t.e.activation = forward ? p->activation : (uint8_t)ISO__ACTIVATION_NONE;
  t.vector_c = aligned16(t.c) && t.ldc % 4 == 0 && (t.n_z == 1 || g.width % 4 == 0) &&
               (!t.e.residual || aligned16(t.e.residual));
  const cut c = cut_of(g, iso__cuda_multiprocessors(call->ctx), may_split);
  apply_cut(t, c, slots);
  if (t.k == 0) {
    t.n_slots = 0;
    fold(t, stream);
    return;
  }
  t.total_in_shared = !t.split && t.n_slots > 1 && t.e.residual == t.c;
  const bool first = forward && p->x_first, vectors = image_has_vectors(g, at.source, first);
  const tile_shape shape = shape_that_fits(c.shape);
  t.a = {at.source, first ? g.depth * g.plane.n_source * g.row.n_source * g.col.n_source : g.depth, (int)g.source_pitch,
         t.m};
  t.b = {b, t.k * round_up(g.width, 4), (int)round_up(g.width, 4), (int)round_up(g.width, 4)};
  t.g = gather_of(g, first);
  if (vectors && is_plain_matrix(g)) launch_nn(t, shape, stream);
  else launch_image_rows(t, vectors && t.g.n_taps <= max_fast_taps, shape, stream);
  if (t.split) fold(t, stream);
}

void run(const iso__call *call, bool may_split) {
  const iso_conv_problem *p = (const iso_conv_problem *)call->problem;
  const iso_conv_args *args = (const iso_conv_args *)call->args;
  const bool forward = p->head.op == ISO__OP_CONV_FWD;
  const images at = {(const float *)(forward ? args->x : args->dy), (float *)(forward ? args->y : args->dx)};
  const layout l = lay_out(p, iso__cuda_multiprocessors(call->ctx), may_split);
  if (!call->kept) lay_all_weights(call, call->workspace);
  const char *weights = (const char *)(call->kept ? call->kept : call->workspace);
  size_t used = 0;
  for (int64_t i = 0; i < iso__conv_n_products(p); i++) {
    const iso__conv_product g = iso__conv_product_at(p, i);
    const float *b = (const float *)(weights + take_bytes(used, weights_bytes(g)));
    run_product(call, g, at, b, (char *)call->workspace + l.weights_bytes, may_split);
  }
  iso__cuda_launched(call);
}

size_t workspace(const iso__problem *problem, int n_multiprocessors, bool may_split) {
  const layout l = lay_out((const iso_conv_problem *)problem, n_multiprocessors, may_split);
  return l.weights_bytes + l.slots_bytes;
}

double cost(const iso__problem *problem, int n_multiprocessors, bool may_split) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  double ns = 0;
  for (int64_t i = 0; i < iso__conv_n_products(p); i++) {
    const iso__conv_product g = iso__conv_product_at(p, i);
    const bool vectors = image_has_vectors(g, NULL, p->x_first) && iso__conv_taps(&g) <= max_fast_taps;
    const double traffic = (double)rows_of(g) * (double)(g.output_pitch + g.source_pitch) * 4 / 4000;
    const double ns_tiles = cut_of(g, n_multiprocessors, may_split).ns * (vectors ? 1.08 : 1.4);
    ns += 6000 + (double)weights_bytes(g) * 2 / 3000 + (ns_tiles > traffic ? ns_tiles : traffic);
  }
  return ns;
}

/* Whether any of the products would be cut. */
bool would_split(const iso_conv_problem *p) {
  for (int64_t i = 0; i < iso__conv_n_products(p); i++) {
    const iso__conv_product g = iso__conv_product_at(p, i);
    if (iso__conv_k(&g) > 256) return true;
  }
  return false;
}
} // namespace

const char *iso__image_tiles_applicable(const iso_conv_problem *p) {
  const double most = 2147000000.0, n = (double)p->n, w = (double)p->t * (double)p->r * (double)p->s;
  const double out = (double)iso__conv_out_d(p) * (double)iso__conv_out_h(p) * (double)iso__conv_out_w(p);
  const double in = ((double)p->d + (double)(p->pad_front + p->pad_back)) *
                    ((double)p->h + (double)(p->pad_top + p->pad_bottom)) *
                    ((double)p->w + (double)(p->pad_left + p->pad_right));
  const double reach = ((double)p->dilation_d * (double)p->t) + ((double)p->dilation_h * (double)p->r) +
                       ((double)p->dilation_w * (double)p->s) + (double)p->stride_d + (double)p->stride_h +
                       (double)p->stride_w;
  if (p->activation > ISO__ACTIVATION_RELU) return "the activation is not fused on CUDA";
  if ((n + 1) * in * (double)(p->c + 4) > most || (n + 1) * out * (double)(p->k + 4) > most ||
      w * (double)(p->c + 4) * (double)(p->k + 4) > most || n * out > most || reach > 1e8)
    return "an operand or sum is beyond 32 bits";
  return NULL;
}

extern "C" {
const char *iso__conv_image_cuda_applicable(const iso__problem *problem) {
  return iso__image_tiles_applicable((const iso_conv_problem *)problem);
}
const char *iso__conv_image_parts_cuda_applicable(const iso__problem *problem) {
  return would_split((const iso_conv_problem *)problem) ? iso__conv_image_cuda_applicable(problem) : "one chunk of k";
}
size_t iso__conv_image_cuda_workspace(const iso__problem *problem, int n) { return workspace(problem, n, false); }
size_t iso__conv_image_parts_cuda_workspace(const iso__problem *problem, int n) { return workspace(problem, n, true); }
double iso__conv_image_cuda_cost(const iso__problem *problem, int n) { return cost(problem, n, false); }
double iso__conv_image_parts_cuda_cost(const iso__problem *problem, int n) { return cost(problem, n, true) + 1; }
size_t iso__conv_image_cuda_kept_bytes(const iso__problem *problem) {
  return lay_out((const iso_conv_problem *)problem, 1, false).weights_bytes;
}
void iso__conv_image_cuda_prepare(const iso__call *call, void *kept) {
  lay_all_weights(call, kept);
  iso__cuda_launched(call);
}
void iso__conv_image_cuda_run(const iso__call *call) { run(call, false); }
void iso__conv_image_parts_cuda_run(const iso__call *call) { run(call, true); }
}
