/* traffic_impl.h: the reading loop at the including file's width: eight chains of maxima, so that the loads are what it
 * waits for. */
#include "plan/traffic.h"
#include "numeric/vec.h"

enum { TRAFFIC_CHAINS = 8 };

static inline float traffic_read(const void *from, size_t n_bytes) {
  const float *p = from, *const end = p + n_bytes / 512 * 128;
  vf chain[TRAFFIC_CHAINS];
  for (int c = 0; c < TRAFFIC_CHAINS; c++) chain[c] = vf_zero();
  for (; p < end; p += TRAFFIC_CHAINS * VF_LANES)
    for (int c = 0; c < TRAFFIC_CHAINS; c++) chain[c] = vf_max(chain[c], vf_load(p + c * VF_LANES));
  for (int c = 1; c < TRAFFIC_CHAINS; c++) chain[0] = vf_max(chain[0], chain[c]);
  float lanes[VF_LANES];
  vf_store(lanes, chain[0]);
  float largest = lanes[0];
  for (int i = 1; i < VF_LANES; i++) largest = lanes[i] > largest ? lanes[i] : largest;
  return largest;
}
