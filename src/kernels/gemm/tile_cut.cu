/* tile_cut.cu: how a product is cut into tiles and parts of K, by a model of the chip: a multiprocessor with few warps
 * does not reach its speed, blocks beyond whole waves wait, and slots must be written and read once more.
 *
 * Measured on an H200: a multiprocessor's speed with so many blocks at once, what a block costs beside its terms, and
 * how long the last ones run alone. Every cut gives the same bits. */
#include "kernels/gemm/tile_params.cuh"

namespace iso__tiles {
namespace {
const double flops_per_ns = 500, bytes_per_ns = 3500, cached_bytes_per_ns = 5000,
             launch_ns = 3000; /* flops: a multiprocessor's */

struct shape_figures {
  int rows, columns, at_once;
  double block_ns, speed[6]; /* beside the terms; of the peak, by blocks at once */
};
const shape_figures figures[] = {{64, 64, 5, 1000, {0, 0.33, 0.52, 0.58, 0.61, 0.63}},
                                 {128, 64, 3, 2000, {0, 0.50, 0.68, 0.77}}};

/* Time of n_blocks blocks, of which the longest has `most` operations and an average one `usual`. */
double blocks_ns(const shape_figures &f, double n_blocks, double most, double usual, int n_multiprocessors) {
  const double each = n_blocks / n_multiprocessors, full = flops_per_ns * f.speed[f.at_once];
  const double block_ns = most > 512.0 * f.rows * f.columns ? f.block_ns : f.block_ns / 2; /* one chunk: no panels */
  if (each > f.at_once) return each * (usual / full + block_ns) + 0.2 * f.at_once * most / full;
  const int whole = (int)each + (each > (int)each);
  return 1.08 * whole * (most / (flops_per_ns * f.speed[whole < 1 ? 1 : whole]) + block_ns);
}

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
} // namespace

cut choose_cut(int64_t m, int64_t n, int64_t k, int64_t n_z, int n_multiprocessors, bool may_split) {
  cut best = {};
  best.ns = 1e30;
  for (int shape = SHAPE_SMALL; shape <= SHAPE_WIDE; shape++)
    for (int chunks = 4; chunks >= 1; chunks -= 3) {
      const shape_figures &f = figures[shape];
      const double tiles = (double)divide_up(m, f.rows) * (double)divide_up(n, f.columns) * (double)n_z;
      const int64_t n_slots = divide_up(k, chunks * 256) + (k == 0);
      const double term_flops = 2.0 * f.rows * f.columns;
      for (int64_t each = n_slots; each >= 1; each = each == 1 ? 0 : divide_up(each, 2)) {
        const bool split = each < n_slots;
        if ((split && !may_split) || (!split && chunks == 1)) continue;
        const double parts = (double)divide_up(n_slots, each);
        const double slots = split ? (double)n_slots * (double)n_z * (double)m * (double)round_up(n, 4) * 4 : 0;
        if (parts > 65535 || slots > 1.5e9) continue;
        const double most = term_flops * (double)round_up(each * chunks * 256 < k ? each * chunks * 256 : k, 16);
        double ns = blocks_ns(f, tiles * parts, most, term_flops * (double)k / parts, n_multiprocessors);
        ns += split ? slots * 2 / (slots < 4e7 ? cached_bytes_per_ns : bytes_per_ns) + launch_ns : 0;
        if (ns < best.ns) best = {(tile_shape)shape, split, chunks, (int)n_slots, (int)each, ns};
      }
    }
  return best;
}

size_t slot_bytes(const cut &c, int64_t m, int64_t n, int64_t n_z) {
  return c.split ? (size_t)c.n_slots * (size_t)n_z * (size_t)m * (size_t)round_up(n, 4) * 4 : 0;
}

void apply_cut(params &p, const cut &c, void *slots) {
  p.chunks_per_slot = c.chunks_per_slot, p.n_slots = c.n_slots, p.slots_per_block = c.slots_per_block;
  p.split = c.split, p.slots = (float *)slots;
  p.slot_ld = (int)round_up(p.n, 4), p.slot_stride = (int64_t)p.m * p.slot_ld;
}

int largest_shared_bytes(void) {
  int device = 0, n_bytes = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&n_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess)
    return 48 * 1024;
  return n_bytes;
}
int multiprocessors(void) {
  int device = 0, n = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    return 1;
  return n;
}
tile_shape shape_that_fits(tile_shape shape) { return largest_shared_bytes() >= 110 * 1024 ? shape : SHAPE_SMALL; }
} // namespace iso__tiles
