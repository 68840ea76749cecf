/* reference.c: class `stable`: a merge sort of each row's places, bisection, and a loop that counts. */
#include "kernels/sort/keys.h"
#include "kernels/sizes.h"

size_t iso__sort_reference_workspace(const iso__problem *problem, int n_threads) {
  (void)n_threads;
  return 2 * sizeof(int64_t) * (size_t)((const iso_sort_problem *)problem)->n;
}

/* Whether place b comes before place a, which precedes it in the row. */
static bool comes_before(const iso_sort_problem *p, const void *row, int64_t b, int64_t a) {
  const iso_dtype dtype = (iso_dtype)p->head.dtype;
  const uint64_t key_b = iso__key_at(row, dtype, b), key_a = iso__key_at(row, dtype, a);
  return p->descending ? key_b > key_a : key_b < key_a;
}

static void merge_sort(const iso_sort_problem *p, const void *row, int64_t *place, int64_t *spare, int64_t n) {
  const int64_t half = n / 2;
  if (n < 2) return;
  merge_sort(p, row, place, spare, half);
  merge_sort(p, row, place + half, spare + half, n - half);
  memcpy(spare, place, sizeof *place * (size_t)n);
  for (int64_t i = 0, a = 0, b = half; i < n; i++)
    place[i] = a == half || (b < n && comes_before(p, row, spare[b], spare[a])) ? spare[b++] : spare[a++];
}

void iso__sort_reference_run(const iso__call *call) {
  const iso_sort_problem *p = (const iso_sort_problem *)call->problem;
  const iso_sort_args *a = call->args;
  const size_t item = iso_dtype_size((iso_dtype)p->head.dtype);
  int64_t *place = call->workspace;
  for (int64_t r = 0; r < p->rows; r++) {
    const char *row = (const char *)a->x + (size_t)(r * p->n) * item;
    char *y = (char *)a->y + (size_t)(r * p->count) * item;
    for (int64_t i = 0; i < p->n; i++) place[i] = i;
    merge_sort(p, row, place, place + p->n, p->n);
    for (int64_t i = 0; i < p->count; i++) {
      const int64_t from = place[p->begin + i];
      a->index[r * p->count + i] = from;
      memcpy(y + (size_t)i * item, row + (size_t)from * item, item);
    }
  }
}

bool iso__search_element(const iso__problem *problem, const void *args, int operand, int64_t index, void *value) {
  const iso_search_problem *p = (const iso_search_problem *)problem;
  const iso_search_args *a = args;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  (void)operand; /* one output */
  const int64_t row = p->shared ? 0 : index / p->m * p->n;
  const uint64_t key = iso__key_at(a->values, dtype, index);
  int64_t low = 0, high = p->n;
  while (low < high) {
    const int64_t mid = low + (high - low) / 2;
    const uint64_t at = iso__key_at(a->sorted, dtype, row + (p->has_sorter ? a->sorter[row + mid] : mid));
    if (p->right ? at <= key : at < key) low = mid + 1;
    else high = mid;
  }
  memcpy(value, &low, sizeof low);
  return true;
}

void iso__count_reference_run(const iso__call *call) {
  const iso_count_problem *p = (const iso_count_problem *)call->problem;
  const iso_count_args *a = call->args;
  for (int64_t b = 0; b < p->bins; b++) a->count[b] = 0;
  for (int64_t i = 0; i < p->n; i++)
    if (a->index[i] >= 0 && a->index[i] < p->bins) a->count[a->index[i]]++;
}
