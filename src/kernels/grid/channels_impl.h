/* channels_impl.h: sampling at a grid over vectors of channels, f32 and f64; included once per instruction set, which
 * names its exports by ISA(name).
 *
 * y and the grid's gradient: a task takes a range of points (of few channels: in vectors, bilinear.h). The input's
 * gradient: a task takes 64 channels of an image and visits its points in order; sums stand in dx as the current chunk.
 * A byte a place counts the contributions, which all channels share; where it wraps, the chunk goes to a panel in the
 * workspace (rarely: few places are seen from 64 points). */
#include "base/pool.h"
#include "kernels/gather_vec.h"
#include "kernels/grid/channels.h"
#include "numeric/order.h"
#include "numeric/vec.h"
#include <math.h>

enum { GRAIN_TERMS = 32768, BLOCK = ISO__GRID_BLOCK, MOST_TAPS = 16 };

typedef struct job {
  const iso__call *call;
  const iso_grid_problem *p;
  const iso_grid_args *a;
  iso__grid_slots slots;
  int64_t n_blocks;
} job;

#include "kernels/grid/bilinear.h"
#include "numeric/real_f32.h"
#include "kernels/grid/site.h"
#include "kernels/grid/taps_body.h"
#include "kernels/grid/channels_f32.h"
#include "kernels/grid/channels_body.h"
#include "numeric/real_f64.h"
#include "kernels/grid/site.h"
#include "kernels/grid/taps_body.h"
#include "kernels/grid/channels_f64.h"
#include "kernels/grid/channels_body.h"

static void run_points(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const bool forward = j->p->head.op == ISO__OP_GRID_SAMPLE_FWD, wide = j->p->head.dtype == ISO_F64;
  (void)thread;
  if (!wide && is_bilinear(j->p) && j->p->c <= FEW_CHANNELS) {
    run_few(j, begin, end);
    return;
  }
  for (int64_t point = begin; point < end; point++)
    if (forward && wide) sample_f64(j, point);
    else if (forward) sample_f32(j, point);
    else if (wide) slope_f64(j, point);
    else slope_f32(j, point);
}
static void run_blocks(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  for (int64_t i = begin; i < end; i++)
    if (j->p->head.dtype == ISO_F64) scatter_f64(j, i / j->n_blocks, i % j->n_blocks * BLOCK, thread);
    else scatter_f32(j, i / j->n_blocks, i % j->n_blocks * BLOCK, thread);
}

void ISA(iso__grid_points_run)(const iso__call *call) {
  job j = {.call = call, .p = (const iso_grid_problem *)call->problem, .a = call->args};
  iso__parallel_range(call->ctx, j.p->n * j.p->points, iso__max(GRAIN_TERMS / (8 * (j.p->c + 8)), 1), 1, run_points,
                      &j);
}
void ISA(iso__grid_bwd_input_run)(const iso__call *call) {
  job j = {.call = call, .p = (const iso_grid_problem *)call->problem, .a = call->args};
  j.slots = iso__grid_slots_of(j.p);
  j.n_blocks = iso__ceil_div(j.p->c, BLOCK);
  const int64_t per_block = iso__max(iso__min(j.p->c, BLOCK) * j.p->points, 1);
  iso__parallel_range(call->ctx, j.p->n * j.n_blocks, iso__max(GRAIN_TERMS / per_block, 1), 1, run_blocks, &j);
}
