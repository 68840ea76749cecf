/* align_impl.h: roi_align and its gradient, a vector of channels at a time; included once per instruction set, which
 * names its exports by ISA(name).
 *
 * Forward: threads over bins; a block of channels keeps its chunk, panel and total in registers along all samples.
 * Backward: threads over blocks of channels, which go through all contributions of an image in their order, so that
 * each pixel's terms arrive in ascending k without atomics or sorting; the pixel's count says when a chunk is full. */
#include "base/context.h"
#include "base/pool.h"
#include "kernels/roi/roi.h"
#include "kernels/sizes.h"
#include "numeric/order.h"
#include "numeric/real_f32.h"
#include "numeric/vec.h"
#include "kernels/roi/geometry.h"

enum { ROI_VECTORS = 4, ROI_BLOCK = 64 };

typedef struct roi_job {
  const iso_roi_problem *p;
  const iso_roi_args *a;
  float *chunk, *panel; /* (h,w,c) of one image */
  uint32_t *counts;     /* (h,w) a thread */
  int64_t block;
} roi_job;

/* ---- forward ---- */

/* Up to ROI_VECTORS vectors of channels of one bin; `left` channels from x and y on. */
VEC_FN void align_block(const iso_roi_problem *p, const struct region_f32 *r, int64_t bin_y, int64_t bin_x,
                        const float *x, float *y, int64_t left, const int n_vectors) {
  vf acc[ROI_VECTORS], panel[ROI_VECTORS], total[ROI_VECTORS];
  for (int v = 0; v < n_vectors; v++) acc[v] = panel[v] = total[v] = vf_zero();
  int64_t k = 0;
  for (int64_t i = 0; i < r->rows; i++)
    for (int64_t j = 0; j < r->columns; j++, k += 4) {
      if (k && k % ISO__CHUNK == 0)
        for (int v = 0; v < n_vectors; v++) panel[v] = vf_add(panel[v], acc[v]), acc[v] = vf_zero();
      if (k && k % ISO__PANEL == 0)
        for (int v = 0; v < n_vectors; v++) total[v] = vf_add(total[v], panel[v]), panel[v] = vf_zero();
      const struct taps_f32 t = taps_at_f32(p, r, bin_y, bin_x, i, j);
      for (int tap = 0; t.inside && tap < 4; tap++) {
        const float *at = x + t.pixel[tap] * p->c;
        const vf w = vf_set1(t.weight[tap]);
        for (int v = 0; v < n_vectors; v++)
          acc[v] = vf_fma(w, vf_load_n(at + v * VF_LANES, (size_t)(left - v * VF_LANES)), acc[v]);
      }
    }
  const vf count = vf_set1(r->count);
  for (int v = 0; v < n_vectors; v++)
    vf_store_n(y + v * VF_LANES, vf_div(vf_add(total[v], vf_add(panel[v], acc[v])), count),
               (size_t)(left - v * VF_LANES));
}

static void align_bins(void *arg, int64_t begin, int64_t end, int thread) {
  const roi_job *j = arg;
  const iso_roi_problem *p = j->p;
  (void)thread;
  for (int64_t bin = begin; bin < end; bin++) {
    const struct region_f32 r = region_at_f32(p, j->a->rois, (float)j->a->scale, bin / p->out_w / p->out_h);
    const int64_t bin_y = bin / p->out_w % p->out_h, bin_x = bin % p->out_w;
    const float *x = (const float *)j->a->x + r.image * p->h * p->w * p->c;
    float *y = (float *)j->a->y + bin * p->c;
    int64_t c = 0;
    for (; c + ROI_VECTORS * VF_LANES <= p->c; c += ROI_VECTORS * VF_LANES)
      align_block(p, &r, bin_y, bin_x, x + c, y + c, ROI_VECTORS * VF_LANES, ROI_VECTORS);
    for (; c < p->c; c += VF_LANES) align_block(p, &r, bin_y, bin_x, x + c, y + c, iso__min(VF_LANES, p->c - c), 1);
  }
}

void ISA(iso__roi_align_fwd_run)(const iso__call *call) {
  const iso_roi_problem *p = (const iso_roi_problem *)call->problem;
  roi_job j = {.p = p, .a = call->args};
  if (p->c > 0) iso__parallel_range(call->ctx, p->k * p->out_h * p->out_w, 1 + 1024 / p->c, 1, align_bins, &j);
}

/* ---- backward ---- */

/* One term of m channels at a pixel that has had `k` before. */
VEC_FN void align_add(const roi_job *j, float *total, int64_t at, uint32_t k, float weight, const float *g, int64_t m) {
  float *chunk = j->chunk + at, *panel = j->panel + at;
  if (k && k % ISO__CHUNK == 0) vec_join(panel, chunk, m);
  if (k && k % ISO__PANEL == 0) vec_join(total + at, panel, m);
  const vf w = vf_set1(weight);
#define STEP(i, left) vf_store_n(chunk + i, vf_fma(w, vf_load_n(g + i, left), vf_load_n(chunk + i, left)), left)
  VEC_EACH(m, STEP);
#undef STEP
}

/* Channels c … c+m−1 of what region k sends to its image's dx. */
static void align_region_bwd(const roi_job *j, int64_t k, const struct region_f32 *r, float *dx, int64_t c, int64_t m,
                             uint32_t *counts) {
  const iso_roi_problem *p = j->p;
  float g[ROI_BLOCK];
  for (int64_t bin = 0; bin < p->out_h * p->out_w; bin++) {
    const float *dy = (const float *)j->a->dy + (k * p->out_h * p->out_w + bin) * p->c + c;
    for (int64_t i = 0; i < m; i++) g[i] = dy[i] / r->count;
    for (int64_t sample = 0; sample < r->rows * r->columns; sample++) {
      const struct taps_f32 t =
          taps_at_f32(p, r, bin / p->out_w, bin % p->out_w, sample / r->columns, sample % r->columns);
      for (int tap = 0; t.inside && tap < 4; tap++)
        align_add(j, dx, t.pixel[tap] * p->c + c, counts[t.pixel[tap]]++, t.weight[tap], g, m);
    }
  }
}

/* All images, a block of channels. */
static void align_channels_bwd(void *arg, int task, int thread) {
  const roi_job *j = arg;
  const iso_roi_problem *p = j->p;
  const int64_t c = task * j->block, m = iso__min(j->block, p->c - c), n_pixels = p->h * p->w;
  uint32_t *counts = j->counts + thread * n_pixels;
  for (int64_t image = 0; image < p->n; image++) {
    float *dx = (float *)j->a->dx + image * n_pixels * p->c;
    memset(counts, 0, sizeof *counts * (size_t)n_pixels);
    for (int64_t i = 0; i < n_pixels; i++) {
      memset(dx + i * p->c + c, 0, sizeof *dx * (size_t)m);
      memset(j->chunk + i * p->c + c, 0, sizeof *dx * (size_t)m);
      memset(j->panel + i * p->c + c, 0, sizeof *dx * (size_t)m);
    }
    for (int64_t k = 0; k < p->k; k++) {
      const struct region_f32 r = region_at_f32(p, j->a->rois, (float)j->a->scale, k);
      if (r.image == image) align_region_bwd(j, k, &r, dx, c, m, counts);
    }
    for (int64_t i = 0; i < n_pixels; i++) {
      const int64_t at = i * p->c + c;
      for (int64_t l = at; counts[i] && l < at + m; l++) dx[l] = dx[l] + (j->panel[l] + j->chunk[l]);
    }
  }
}

void ISA(iso__roi_align_bwd_run)(const iso__call *call) {
  const iso_roi_problem *p = (const iso_roi_problem *)call->problem;
  const int64_t image = p->h * p->w * p->c;
  float *workspace = call->workspace;
  roi_job j = {.p = p, .a = call->args, .chunk = workspace, .panel = workspace + image};
  if (image == 0) return;
  j.counts = (uint32_t *)(void *)(workspace + 2 * image);
  j.block = iso__min(ROI_BLOCK, iso__round_up(iso__ceil_div(p->c, call->ctx->n_threads), VF_LANES));
  iso__parallel(call->ctx, (int)iso__ceil_div(p->c, j.block), align_channels_bwd, &j);
}
