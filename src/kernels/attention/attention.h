/* attention.h: softmax(q·kᵀ·scale + mask)·v, forward and backward, without the (l,s) matrix of weights: memory is
 * linear in length (Dao et al., "FlashAttention", 2022). Class `attention.k64` (NUMERICS §5, docs/numerics.md).
 *
 * q (batch,heads,l,e), k (batch,heads/group,s,e), v (batch,heads/group,s,f), o (batch,heads,l,f), each with strides of
 * its own for batch, head and row, columns adjacent: heads are read in place from a projection (batch,length,heads·e).
 * lse (batch,heads,l), dense: L = m + log(l) of each row, −inf where it attends to nothing. Its dtype is f32, of f64
 * problems f64.
 *
 * Which keys a query sees: those below its batch item's key length; j ≤ i if causal; those the bool mask says; of these
 * the ones whose score is not −inf. All others are absent: whatever q, k and v hold there changes no bit. Queries from
 * the item's query length on see nothing. */
#ifndef ISO_KERNELS_ATTENTION_H
#define ISO_KERNELS_ATTENTION_H
#include "numeric/hd.h"
#include "plan/plan.h"

enum { ISO__KEY_BLOCK = 64 };
typedef enum iso__attention_mask {
  ISO__MASK_NONE,
  ISO__MASK_BOOL, /* not 0: attend */
  ISO__MASK_ADDED /* of the problem's dtype, added to the scores */
} iso__attention_mask;
enum { ISO__KEY_LENGTHS = 1, ISO__QUERY_LENGTHS = 2 };

typedef struct iso__attention_strides {
  int64_t batch, head, row; /* in elements, not negative */
} iso__attention_strides;

typedef struct iso_attention_problem {
  iso__problem head;
  int64_t batch, heads, l, s, e, f;
  int64_t group;  /* query heads that share a head of k and v */
  int64_t repeat; /* batch items that share a length */
  iso__attention_strides q, k, v, o;
  iso__attention_strides dy, dq, dk, dv; /* of ATTENTION_BWD */
  struct {
    int64_t batch, head, row, column; /* 0: broadcast */
  } m;
  uint64_t given;  /* while the problem is read from text: the words that were there */
  uint8_t causal;  /* query i sees keys j ≤ i */
  uint8_t mask;    /* iso__attention_mask */
  uint8_t lengths; /* ISO__KEY_LENGTHS | ISO__QUERY_LENGTHS */
  uint8_t dropout; /* of the weights; element ((b·heads + h)·l + i)·s + j draws */
  uint8_t ds;      /* ATTENTION_BWD: the gradient of the scores is wanted, for the added mask's */
  uint8_t reserved[3];
} iso_attention_problem;

/* fwd: q, k, v, mask, lengths -> o, lse. bwd: these, o_saved, lse_saved and dy -> dq, dk, dv, and if asked ds
 * (batch,heads,l,s), dense. */
typedef struct iso_attention_args {
  const void *q, *k, *v, *mask;
  const int64_t *key_lengths, *query_lengths; /* (batch/repeat); what lies outside [0, s] or [0, l] counts as the end */
  void *o, *lse;
  const void *o_saved, *lse_saved, *dy;
  void *dq, *dk, *dv, *ds;
  double scale;
  double p; /* of dropout, 0 ≤ p < 1 */
  uint64_t seed;
  uint32_t stream, site, leaf, step;
  const uint32_t *step_at; /* NULL, or where the step's number lies when the kernel runs */
} iso_attention_args;

/* The place of the call's random numbers, where the engine runs. */
static inline ISO__HD iso_philox iso__attention_noise(const iso_attention_args *a) {
  const iso_philox at = {.seed = a->seed,
                         .stream = a->stream,
                         .site = a->site,
                         .leaf = a->leaf,
                         .step = a->step_at ? *a->step_at : a->step};
  return at;
}

static inline ISO__HD int64_t iso__attention_at(const iso__attention_strides *t, int64_t b, int64_t h, int64_t row) {
  return b * t->batch + h * t->head + row * t->row;
}

/* How many keys query i of batch item b can see, masks aside: the first so many. */
static inline ISO__HD int64_t iso__attention_keys(const iso_attention_problem *p, const iso_attention_args *a,
                                                  int64_t b, int64_t i) {
  int64_t n = p->s;
  if (p->lengths & ISO__QUERY_LENGTHS && i >= a->query_lengths[b / p->repeat]) return 0;
  if (p->lengths & ISO__KEY_LENGTHS && a->key_lengths[b / p->repeat] < n) n = a->key_lengths[b / p->repeat];
  if (p->causal && i + 1 < n) n = i + 1;
  return n > 0 ? n : 0;
}
static inline ISO__HD int64_t iso__attention_mask_at(const iso_attention_problem *p, int64_t b, int64_t h, int64_t i,
                                                     int64_t j) {
  return b * p->m.batch + h * p->m.head + i * p->m.row + j * p->m.column;
}
#endif
