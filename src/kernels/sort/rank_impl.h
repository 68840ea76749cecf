/* rank_impl.h: short rows of 32-bit keys, sorted by counting how many elements come before each: the engines
 * `cpu.*.sort_rank`; included once per instruction set, which names its exports by ISA(name).
 *
 * All elements are compared with all others, a vector of them at a time and without a branch on the data: n²/lanes
 * comparisons, which up to a hundred or so elements is less than what a sort by exchanges waits for its branches. Of
 * equal keys the earlier element comes first. A window of the order is those ranks. */
#include "base/pool.h"
#include "kernels/sizes.h"
#include "kernels/sort/rank.h"
#include "kernels/sort/sort.h"

#include "numeric/vec.h"

enum { RANK_ROOM = RANK_MOST + VF_LANES, RANK_GRAIN = 8192 };

typedef struct rank_job {
  const iso_sort_problem *p;
  const iso_sort_args *a;
} rank_job;

/* Keys of a row whose order is that of signed numbers (keys.h has it of unsigned ones); behind the row, anything. */
VEC_FN void rank_keys(const float *x, const iso_sort_problem *p, int32_t *key) {
  const vi all = vi_set1(INT32_MAX), turn = vi_set1(p->descending ? -1 : 0);
  for (int64_t i = 0; i < p->n; i += VF_LANES) {
    const vi bits = vf_bits(i + VF_LANES <= p->n ? vf_load(x + i) : vf_load_n(x + i, (size_t)(p->n - i)));
    const vi magnitude = vi_and(bits, all);
    vi k = bits;
    if (p->head.dtype == ISO_F32) {
      k = vi_xor(bits, vi_and(vi_sra(bits, 31), all));
      k = vi_select(vi_eq(magnitude, vi_set1(0)), vi_set1(0), k); /* −0 is +0 */
      k = vi_select(vi_gt(magnitude, vi_set1(0x7f800000)), all, k);
    }
    vi_store(key + i, vi_xor(k, turn));
  }
}

/* The ranks of the elements from number `first` on, a vector of them. */
VEC_FN vi rank_vector(const int32_t *key, int64_t first, int64_t n) {
  const vi own = vi_load(key + first), one = vi_set1(1), lane = vi_iota();
  vi rank = vi_set1(0), behind = vi_set1(0);
  const int64_t here = iso__min(first + VF_LANES, n);
  for (int64_t j = 0; j < first; j++) behind = vi_add(behind, vi_select(vi_gt(vi_set1(key[j]), own), one, vi_set1(0)));
  rank = vi_sub(vi_set1((int32_t)first), behind);
  for (int64_t j = first; j < here; j++) {
    const vi other = vi_set1(key[j]);
    const vm before = vm_and(vi_eq(other, own), vi_gt(lane, vi_set1((int32_t)(j - first))));
    rank = vi_add(rank, vi_select(vm_or(vi_gt(own, other), before), one, vi_set1(0)));
  }
  for (int64_t j = here; j < n; j++) rank = vi_add(rank, vi_select(vi_gt(own, vi_set1(key[j])), one, vi_set1(0)));
  return rank;
}

static void rank_rows(void *arg, int64_t begin, int64_t end, int thread) {
  const rank_job *j = arg;
  const iso_sort_problem *p = j->p;
  int32_t key[RANK_ROOM], rank[RANK_ROOM], order[RANK_MOST];
  (void)thread;
  for (int64_t row = begin; row < end; row++) {
    const char *x = (const char *)j->a->x + row * p->n * 4;
    char *y = (char *)j->a->y + row * p->count * 4;
    int64_t *index = j->a->index + row * p->count;
    rank_keys((const float *)(const void *)x, p, key);
    for (int64_t i = 0; i < p->n; i += VF_LANES) vi_store(rank + i, rank_vector(key, i, p->n));
    for (int64_t i = 0; i < p->n; i++) order[rank[i]] = (int32_t)i;
    for (int64_t i = 0; i < p->count; i++) {
      const int32_t from = order[p->begin + i];
      index[i] = from;
      memcpy(y + i * 4, x + from * 4, 4);
    }
  }
}

void ISA(iso__sort_rank_run)(const iso__call *call) {
  rank_job j = {.p = (const iso_sort_problem *)call->problem, .a = call->args};
  const int64_t per_row = j.p->n * (1 + j.p->n / VF_LANES);
  iso__parallel_range(call->ctx, j.p->rows, iso__ceil_div(RANK_GRAIN, per_row), 1, rank_rows, &j);
}
