/* tile_cut.cu: how a product is cut into tiles and parts of K, by a model of the chip: a multiprocessor with few warps
 * does not reach its speed, blocks beyond whole waves wait, and slots must be written and read once more.
 *
 * Measured on an H200: three blocks of four warps a multiprocessor reach four fifths of its FFMA peak, one block about
 * half of that. Every cut gives the same bits. */
#include "kernels/gemm/tile_params.cuh"

namespace iso__tiles {
namespace {
const double flops_per_ns = 500, bytes_per_ns = 3500, launch_ns = 3000, block_ns = 700; /* a multiprocessor; the chip */

/* What a multiprocessor reaches with this many blocks at once. */
double speed(bool wide, int blocks) {
  static const double of_wide[] = {0, 0.42, 0.70, 0.79}, of_small[] = {0, 0.22, 0.42, 0.58, 0.70, 0.74};
  return wide ? of_wide[blocks < 3 ? blocks : 3] : of_small[blocks < 5 ? blocks : 5];
}

/* Time of n_blocks equal blocks of `flops` each. */
double waves_ns(bool wide, double n_blocks, double flops, int n_multiprocessors) {
  const int at_once = wide ? 3 : 5;
  const double each = n_blocks / n_multiprocessors, whole = (double)(int64_t)(each / at_once);
  const double rest = each - whole * at_once;
  const int left = (int)rest + (rest > (int)rest);
  double ns = whole * at_once * flops / (flops_per_ns * speed(wide, at_once)) + (whole + (left > 0)) * block_ns;
  if (left) ns += left * flops / (flops_per_ns * speed(wide, left));
  return ns;
}

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
} // namespace

cut choose_cut(int64_t m, int64_t n, int64_t k, int64_t n_z, int n_multiprocessors, bool may_split) {
  cut best = {};
  best.ns = 1e30;
  for (int wide = 0; wide < 2; wide++)
    for (int chunks = 4; chunks >= 1; chunks -= 3) {
      const int64_t rows = wide ? 128 : 64, tiles = divide_up(m, rows) * divide_up(n, 64) * n_z;
      const int64_t n_slots = divide_up(k, chunks * 256) + (k == 0);
      const double term_flops = 2.0 * (double)rows * 64;
      for (int64_t each = n_slots; each >= 1; each = each == 1 ? 0 : divide_up(each, 2)) {
        const bool split = each < n_slots;
        if ((split && !may_split) || (!split && chunks == 1)) continue;
        const int64_t parts = divide_up(n_slots, each);
        const double slots = split ? (double)n_slots * (double)n_z * (double)m * (double)round_up(n, 4) * 4 : 0;
        if (parts > 65535 || slots > 1.5e9) continue;
        const double terms = (double)(each * chunks * 256 < k ? each * chunks * 256 : k);
        double ns = waves_ns(wide, (double)(tiles * parts), term_flops * (double)round_up((int64_t)terms, 16),
                             n_multiprocessors);
        ns += split ? slots * 2 / bytes_per_ns + launch_ns : 0;
        if (ns < best.ns) best = {wide != 0, split, chunks, (int)n_slots, (int)each, ns};
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

bool wide_fits(void) {
  int device = 0, n_bytes = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&n_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess)
    return false;
  return n_bytes >= 110 * 1024;
}
} // namespace iso__tiles
