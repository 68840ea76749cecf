/* rng_impl.h: dropout and random fills over vectors of Philox blocks; included once per instruction set, which names
 * its exports by ISA(name).
 *
 * A block of four words is a function of the element's number, so threads take any ranges that begin at whole groups of
 * PHILOX_WORDS elements. Words are used where they are made: dropout reads x and writes y, nothing else. */
#include "base/pool.h"
#include "kernels/rng/rng.h"
#include "numeric/math_f32.h"
#include "numeric/philox.h"

enum {
  RNG_GRAIN_ELEMENTS = 8192,
  AHEAD = 512 /* elements: what is read and written is fetched early, since rounds leave memory idle */
};

typedef struct job {
  iso_philox at;
  iso__distribution distribution;
  const float *x;
  float *y;
  float scale, offset; /* kept elements' factor; fma(scale, z, offset) */
  int32_t threshold;   /* of the upper 24 bits */
  uint8_t *bits;
} job;

enum { BITS_BYTES = VF_LANES / 8 };

/* n of VF_LANES elements. */
VEC_FN void drop(const float *x, float *y, vm kept, vf scale, size_t n) {
  vf_store_n(y, vf_select(kept, vf_mul(vf_load_n(x, n), scale), vf_zero()), n);
}
VEC_FN void write_bits(uint8_t *bits, vm kept, size_t n) {
  const uint32_t all = vm_bits(kept) & (n < VF_LANES ? (1u << n) - 1 : UINT32_MAX);
  memcpy(bits, &all, n < VF_LANES ? (n + 7) / 8 : BITS_BYTES);
}
VEC_FN vm read_bits(const uint8_t *bits, size_t n) {
  uint32_t all = 0;
  memcpy(&all, bits, n < VF_LANES ? (n + 7) / 8 : BITS_BYTES);
  return vm_from_bits(all);
}

VEC_FN void drop_range(const job *j, int64_t begin, int64_t end, bool writes) {
  const struct philox_stream s = philox_begin(&j->at);
  const vf scale = vf_set1(j->scale);
  const int32_t threshold = j->threshold;
  const float *x = j->x;
  float *y = j->y;
  uint8_t *bits = j->bits;
  int64_t e = begin;
  vi w[PHILOX_VECTORS];
  for (; end - e >= PHILOX_WORDS; e += PHILOX_WORDS) {
    philox_elements(&s, (uint32_t)(e >> 2), w);
    UNROLL_16
    for (int q = 0; q < PHILOX_VECTORS; q++) {
      const int64_t i = e + q * VF_LANES;
      const vm kept = philox_keep(w[q], threshold);
      __builtin_prefetch(x + i + AHEAD, 0, 3);
      __builtin_prefetch(y + i + AHEAD, 1, 3);
      drop(x + i, y + i, kept, scale, VF_LANES);
      if (writes) write_bits(bits + i / 8, kept, VF_LANES);
    }
  }
  if (e == end) return;
  philox_elements(&s, (uint32_t)(e >> 2), w);
  for (int q = 0; q < PHILOX_VECTORS && e < end; q++, e += VF_LANES) {
    const vm kept = philox_keep(w[q], threshold);
    drop(x + e, y + e, kept, scale, (size_t)(end - e));
    if (writes) write_bits(bits + e / 8, kept, (size_t)(end - e));
  }
}
static void run_dropout(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  (void)thread;
  if (j->bits) drop_range(j, begin, end, true);
  else drop_range(j, begin, end, false);
}
/* The elements whose bits are set. */
static void run_kept(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const vf scale = vf_set1(j->scale);
  const float *x = j->x + begin;
  float *y = j->y + begin;
  const uint8_t *bits = j->bits + begin / 8;
  (void)thread;
#define STEP(i, left) drop(x + i, y + i, read_bits(bits + i / 8, left), scale, left)
  VEC_EACH(end - begin, STEP);
#undef STEP
}

/* Box and Muller: words (a, b) of VF_LANES blocks give two elements each. */
VEC_FN void normal_pair(vi a, vi b, vf *first, vf *second) {
  const vf v = vf_mul(vf_from_vi(vi_add(vi_srl(a, 8), vi_set1(1))), vf_set1(0x1p-24f));
  const vf r = vf_sqrt(vf_mul(vf_set1(-2.0f), v_log(v))), u = philox_unit(b), turn = vf_add(u, u);
  *first = vf_mul(r, v_cospi(turn)), *second = vf_mul(r, v_sinpi(turn));
}

/* PHILOX_WORDS elements from e on, in element order. */
VEC_FN void values_at(const job *j, const struct philox_stream *s, int64_t e, vf values[PHILOX_VECTORS]) {
  vi w[PHILOX_VECTORS];
  if (j->distribution == ISO__NORMAL) {
    philox_words(s, (uint32_t)(e >> 2), w);
    for (int q = 0; q < PHILOX_VECTORS; q += 2) {
      vf z[2];
      normal_pair(w[q], w[q + 1], &z[0], &z[1]);
      w[q] = vf_bits(z[0]), w[q + 1] = vf_bits(z[1]);
    }
    philox_order(w);
  } else {
    philox_elements(s, (uint32_t)(e >> 2), w);
  }
  for (int q = 0; q < PHILOX_VECTORS; q++) {
    const vf z = j->distribution == ISO__NORMAL ? vf_from_bits(w[q]) : philox_unit(w[q]);
    values[q] = j->distribution == ISO__BERNOULLI ? vf_select(philox_keep(w[q], j->threshold), vf_zero(), vf_set1(1))
                                                  : vf_fma(vf_set1(j->scale), z, vf_set1(j->offset));
  }
}

static void run_fill(void *arg, int64_t begin, int64_t end, int thread) {
  const job *j = arg;
  const struct philox_stream s = philox_begin(&j->at);
  (void)thread;
  for (int64_t e = begin; e < end; e += PHILOX_WORDS) {
    vf values[PHILOX_VECTORS];
    values_at(j, &s, e, values);
    for (int q = 0; q < PHILOX_VECTORS && e + q * VF_LANES < end; q++)
      vf_store_n(j->y + e + q * VF_LANES, values[q], (size_t)(end - e - q * VF_LANES));
  }
}

static job job_of(const iso__call *call) {
  const iso_rng_problem *p = (const iso_rng_problem *)call->problem;
  const iso_rng_args *a = call->args;
  return (job){.at = iso__rng_place(a),
               .distribution = (iso__distribution)p->distribution,
               .x = a->x,
               .y = a->y,
               .threshold = philox_drop_threshold(a->a)};
}

void ISA(iso__dropout_run)(const iso__call *call) {
  const iso_rng_args *a = call->args;
  const iso_rng_problem *p = (const iso_rng_problem *)call->problem;
  job j = job_of(call);
  j.scale = (float)(1 / (1 - a->a));
  j.bits = p->bits == ISO__BITS_NONE ? NULL : a->bits;
  iso__parallel_range(call->ctx, p->n, RNG_GRAIN_ELEMENTS, PHILOX_WORDS,
                      p->bits == ISO__BITS_READ ? run_kept : run_dropout, &j);
}

void ISA(iso__random_fill_run)(const iso__call *call) {
  const iso_rng_args *a = call->args;
  job j = job_of(call);
  j.offset = (float)a->a;
  j.scale = j.distribution == ISO__UNIFORM ? (float)a->b - (float)a->a : (float)a->b;
  iso__parallel_range(call->ctx, ((const iso_rng_problem *)call->problem)->n, RNG_GRAIN_ELEMENTS, PHILOX_WORDS,
                      run_fill, &j);
}
