/* attention.c: the operators `attention.fwd` and `attention.bwd`: text, operands, usual scalars, class, cost. */
#include "kernels/attention/attention.h"
#include <stdio.h>
#include <stdlib.h>

typedef iso_attention_problem problem_t;

/* The words of a problem, in the order in which they print. */
enum { REQUIRED = 1, BACKWARD = 2, MASKED = 4 };
static const struct word {
  const char *key;
  size_t offset, n_bytes;
  int64_t most;
  int kind;
} words[] = {
#define WORD(key, member, most, kind)                                                                                  \
  { key, offsetof(problem_t, member), sizeof(((problem_t *)0)->member), most, kind }
#define MOST_ROWS (INT64_C(1) << 31)
#define MOST_STRIDE (INT64_C(1) << 46)
#define STRIDES(key, member, kind)                                                                                     \
  WORD(key "b", member.batch, MOST_STRIDE, kind), WORD(key "h", member.head, MOST_STRIDE, kind),                       \
      WORD(key "r", member.row, MOST_STRIDE, kind)
    WORD("b", batch, MOST_ROWS, REQUIRED),
    WORD("h", heads, MOST_ROWS, REQUIRED),
    WORD("l", l, MOST_ROWS, REQUIRED),
    WORD("s", s, MOST_ROWS, REQUIRED),
    WORD("e", e, MOST_ROWS, REQUIRED),
    WORD("f", f, MOST_ROWS, REQUIRED),
    WORD("g", group, MOST_ROWS, 0),
    WORD("causal", causal, 1, 0),
    WORD("mask", mask, ISO__MASK_ADDED, 0),
    WORD("len", lengths, ISO__KEY_LENGTHS | ISO__QUERY_LENGTHS, 0),
    WORD("repeat", repeat, MOST_ROWS, 0),
    WORD("drop", dropout, 1, 0),
    WORD("ds", ds, 1, BACKWARD),
    STRIDES("q", q, 0),
    STRIDES("k", k, 0),
    STRIDES("v", v, 0),
    STRIDES("o", o, 0),
    STRIDES("dy", dy, BACKWARD),
    STRIDES("dq", dq, BACKWARD),
    STRIDES("dk", dk, BACKWARD),
    STRIDES("dv", dv, BACKWARD),
    STRIDES("m", m, MASKED),
    WORD("mc", m.column, MOST_STRIDE, MASKED),
#undef STRIDES
#undef WORD
};
enum { N_WORDS = (int)(sizeof words / sizeof words[0]), N_REQUIRED = 6 };

static int64_t get(const problem_t *p, const struct word *w) {
  int64_t v = 0;
  if (w->n_bytes == 1) return *((const uint8_t *)p + w->offset);
  memcpy(&v, (const char *)p + w->offset, sizeof v);
  return v;
}
static void set(problem_t *p, const struct word *w, int64_t v) {
  if (w->n_bytes == 1) *((uint8_t *)p + w->offset) = (uint8_t)v;
  else memcpy((char *)p + w->offset, &v, sizeof v);
}

/* The shape of an operand: heads, rows, columns. */
typedef struct shape {
  int64_t heads, rows, columns;
} shape;
static shape shape_of(const problem_t *p, size_t offset) {
  const int64_t shared = p->group > 0 ? p->heads / p->group : p->heads;
  switch (offset) {
  case offsetof(problem_t, q):
  case offsetof(problem_t, dq): return (shape){p->heads, p->l, p->e};
  case offsetof(problem_t, k):
  case offsetof(problem_t, dk): return (shape){shared, p->s, p->e};
  case offsetof(problem_t, v):
  case offsetof(problem_t, dv): return (shape){shared, p->s, p->f};
  case offsetof(problem_t, m): return (shape){p->heads, p->l, p->s};
  default: return (shape){p->heads, p->l, p->f};
  }
}
static const size_t strided[] = {offsetof(problem_t, q),  offsetof(problem_t, k),  offsetof(problem_t, v),
                                 offsetof(problem_t, o),  offsetof(problem_t, dy), offsetof(problem_t, dq),
                                 offsetof(problem_t, dk), offsetof(problem_t, dv), offsetof(problem_t, m)};
enum { N_STRIDED = (int)(sizeof strided / sizeof strided[0]), N_FORWARD = 4 };

static bool belongs(const problem_t *p, const struct word *w) {
  return (!(w->kind & BACKWARD) || p->head.op == ISO__OP_ATTENTION_BWD) && (!(w->kind & MASKED) || p->mask);
}

/* The value of a word that is not written: dense operands. */
static int64_t usual(const problem_t *p, const struct word *w) {
  if (w->offset == offsetof(problem_t, group) || w->offset == offsetof(problem_t, repeat)) return 1;
  if (w->offset == offsetof(problem_t, m.column)) return 1;
  for (int i = 0; i < N_STRIDED; i++) {
    const shape s = shape_of(p, strided[i]);
    if (w->offset < strided[i] || w->offset >= strided[i] + sizeof(iso__attention_strides)) continue;
    switch (w->offset - strided[i]) {
    case offsetof(iso__attention_strides, batch): return s.heads * s.rows * s.columns;
    case offsetof(iso__attention_strides, head): return s.rows * s.columns;
    default: return s.columns;
    }
  }
  return 0;
}

static int attention_format(const iso__problem *problem, char *text, size_t n_bytes) {
  const problem_t *p = (const problem_t *)problem;
  int n = 0;
  for (int i = 0; i < N_WORDS; i++) {
    const int64_t value = get(p, &words[i]);
    if (!belongs(p, &words[i]) || (i >= N_REQUIRED && value == usual(p, &words[i]))) continue;
    const size_t used = (size_t)n < n_bytes ? (size_t)n : n_bytes;
    n += snprintf(text + used, n_bytes - used, "%s%s%lld", n ? " " : "", words[i].key, (long long)value);
  }
  return n;
}

/* How far an operand reaches, in elements; −1: further than any memory. With `apart`, −1 too where elements overlap. */
static int64_t reach(const iso__attention_strides *t, int64_t batch, shape s, bool apart) {
  int64_t extent[3] = {batch, s.heads, s.rows}, stride[3] = {t->batch, t->head, t->row}, span = s.columns;
  if (!batch || !s.heads || !s.rows || !s.columns) return 0;
  for (int turn = 0; turn < 3; turn++) { /* ascending by stride */
    int least = -1;
    for (int i = 0; i < 3; i++)
      if (extent[i] > 1 && (least < 0 || stride[i] < stride[least])) least = i;
    if (least < 0) break;
    int64_t more;
    if (apart && stride[least] < span) return -1;
    if (__builtin_mul_overflow(stride[least], extent[least] - 1, &more) || more > INT64_C(1) << 50) return -1;
    span += more, extent[least] = 1;
  }
  return span < INT64_C(1) << 50 ? span : -1;
}
static int64_t reach_of(const problem_t *p, size_t offset, bool apart) {
  return reach((const iso__attention_strides *)(const void *)((const char *)p + offset), p->batch, shape_of(p, offset),
               apart);
}
static int64_t mask_reach(const problem_t *p) {
  shape s = shape_of(p, offsetof(problem_t, m));
  if (!p->batch || !s.heads || !s.rows || !s.columns) return 0;
  int64_t columns;
  if (__builtin_mul_overflow(s.columns - 1, p->m.column, &columns) || columns > INT64_C(1) << 50) return -1;
  s.columns = 1;
  const int64_t all = reach(&(iso__attention_strides){p->m.batch, p->m.head, p->m.row}, p->batch, s, false);
  return all < 0 ? -1 : all + columns;
}

static const char *check(const problem_t *p) {
  int64_t rows, scores;
  if (p->group < 1 || p->heads % p->group) return "the group g must divide the heads";
  if (p->repeat < 1 || p->batch % p->repeat) return "repeat must divide the batch";
  if (p->ds && p->mask != ISO__MASK_ADDED) return "ds is the gradient of an added mask";
  if (__builtin_mul_overflow(p->batch, p->heads, &rows) || __builtin_mul_overflow(rows, p->l, &rows) ||
      rows > INT64_C(1) << 46 || __builtin_mul_overflow(rows, p->s, &scores))
    return "the extents hold too many elements";
  if (p->ds && scores > INT64_C(1) << 46) return "the gradient of the scores is larger than any memory";
  if (p->dropout && scores > INT64_C(1) << 34) return "dropout has random numbers for 2^34 weights";
  const bool backward = p->head.op == ISO__OP_ATTENTION_BWD;
  for (int i = 0; i < (backward ? N_STRIDED - 1 : N_FORWARD); i++) {
    const bool output = i > N_FORWARD || (i == N_FORWARD - 1 && !backward);
    if (reach_of(p, strided[i], output) < 0)
      return output ? "elements of an output overlap, or are too far apart" : "an operand is larger than any memory";
  }
  return p->mask && mask_reach(p) < 0 ? "the mask is larger than any memory" : NULL;
}

static const char *attention_parse(iso__problem *problem, const char *key, const char *value) {
  problem_t *p = (problem_t *)problem;
  if (!key) {
    for (int i = 0; i < N_REQUIRED; i++)
      if (!(p->given >> i & 1)) return "b, h, l, s, e and f must be given";
    for (int i = 0; i < N_WORDS; i++) {
      if (!(p->given >> i & 1) && belongs(p, &words[i])) set(p, &words[i], usual(p, &words[i]));
      if ((p->given >> i & 1) && !belongs(p, &words[i])) return "a stride of an operand that is not there is given";
    }
    p->given = 0;
    return check(p);
  }
  int i = 0;
  while (i < N_WORDS && strcmp(words[i].key, key) != 0) i++;
  if (i == N_WORDS)
    return "unknown; attention knows b, h, l, s, e, f, g, causal, mask, len, repeat, drop, ds, and strides as qb, qh, "
           "qr of q, k, v, o, dy, dq, dk, dv and m, mc";
  char *end;
  const long long v = strtoll(value, &end, 10);
  if (end == value || *end) return "not an integer";
  if (v < 0) return "must not be negative";
  if (v > words[i].most) return "too large";
  set(p, &words[i], v);
  p->given |= UINT64_C(1) << i;
  return NULL;
}

static int attention_operands(const iso__problem *problem, iso__operand *operands) {
  const problem_t *p = (const problem_t *)problem;
  const iso_dtype dtype = (iso_dtype)problem->dtype, wide = dtype == ISO_F64 ? ISO_F64 : ISO_F32;
  const bool backward = problem->op == ISO__OP_ATTENTION_BWD;
  const int64_t n_rows = p->batch * p->heads * p->l;
  int n = 0;
#define OPERAND(name_, member, dtype_, n_, ...)                                                                        \
  operands[n++] = (iso__operand){                                                                                      \
      .name = name_, .offset = offsetof(iso_attention_args, member), .dtype = dtype_, .n = n_, __VA_ARGS__}
#define STRIDED(name_, member, strides, ...)                                                                           \
  OPERAND(name_, member, dtype, reach_of(p, offsetof(problem_t, strides), false), __VA_ARGS__)
  STRIDED("q", q, q, .input = true);
  STRIDED("k", k, k, .input = true);
  STRIDED("v", v, v, .input = true);
  if (p->mask)
    OPERAND("mask", mask, p->mask == ISO__MASK_BOOL ? ISO_BOOL : dtype, mask_reach(p), .input = true,
            .fill = p->mask == ISO__MASK_BOOL ? ISO__FILL_INDEX : ISO__FILL_NORMAL, .limit = 2);
  if (p->lengths & ISO__KEY_LENGTHS)
    OPERAND("key_lengths", key_lengths, ISO_I64, p->batch / p->repeat, .input = true, .fill = ISO__FILL_INDEX,
            .limit = p->s + 1);
  if (p->lengths & ISO__QUERY_LENGTHS)
    OPERAND("query_lengths", query_lengths, ISO_I64, p->batch / p->repeat, .input = true, .fill = ISO__FILL_INDEX,
            .limit = p->l + 1);
  if (!backward) {
    STRIDED("o", o, o, .output = true);
    OPERAND("lse", lse, wide, n_rows, .output = true);
    return n;
  }
  STRIDED("o", o_saved, o, .input = true);
  OPERAND("lse", lse_saved, wide, n_rows, .input = true, .fill = ISO__FILL_POSITIVE);
  STRIDED("dy", dy, dy, .input = true);
  STRIDED("dq", dq, dq, .output = true);
  STRIDED("dk", dk, dk, .output = true);
  STRIDED("dv", dv, dv, .output = true);
  if (p->ds) OPERAND("ds", ds, dtype, n_rows * p->s, .output = true);
#undef STRIDED
#undef OPERAND
  return n;
}

static void attention_scalars(const iso__problem *problem, void *args) {
  iso_attention_args *a = args;
  (void)problem;
  a->scale = 0.25, a->p = 0.3, a->seed = 7, a->site = 3, a->leaf = 1, a->step = 5;
}

static const char *attention_class(const iso__problem *problem, const iso_policy *policy) {
  (void)problem, (void)policy;
  return "attention.k64";
}

static double scores_of(const problem_t *p) {
  return (double)p->batch * (double)p->heads * (double)p->l * (double)p->s * (p->causal ? 0.5 : 1);
}
/* Two products forward, five backward. */
static double attention_flops(const iso__problem *problem) {
  const problem_t *p = (const problem_t *)problem;
  const double e = (double)p->e, f = (double)p->f;
  return 2 * scores_of(p) * (problem->op == ISO__OP_ATTENTION_FWD ? e + f : 3 * e + 2 * f);
}
/* The reference computes a row's, or a column's, scores for each element. */
static double attention_element_flops(const iso__problem *problem) {
  const problem_t *p = (const problem_t *)problem;
  const double e = (double)p->e, f = (double)p->f, rows = (double)(p->l * p->group);
  if (problem->op == ISO__OP_ATTENTION_FWD) return (double)p->s * (2 * e + 30);
  return (rows > (double)p->s ? rows : (double)p->s) * (2 * e + 4 * f + 30);
}

/* An exponential costs as much as so many multiplications and additions. */
enum { EXP_FLOPS = 24 };
static double cost(const iso__problem *problem, int n_threads, double flops_per_ns) {
  const problem_t *p = (const problem_t *)problem;
  const double work = (attention_flops(problem) + EXP_FLOPS * scores_of(p)) / flops_per_ns;
  const bool shared = n_threads > 1 && work > 20000;
  return 300 + (shared ? 3000 : 0) + work / (shared ? n_threads : 1);
}
double iso__attention_rows_cost(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 0.7); }

/* `error_bound`: exp of a score that is off by some ulps of a sum of e products is off by that times the score, and
 * ds = p·(dp − D) may cancel. */
#define ATTENTION_OPERATOR(id)                                                                                         \
  const iso__operator iso__operator_##id = {.op = ISO__OP_##id,                                                        \
                                            .family = "attention",                                                     \
                                            .problem_bytes = sizeof(problem_t),                                        \
                                            .args_bytes = sizeof(iso_attention_args),                                  \
                                            .format = attention_format,                                                \
                                            .parse = attention_parse,                                                  \
                                            .operands = attention_operands,                                            \
                                            .scalars = attention_scalars,                                              \
                                            .class_rule = attention_class,                                             \
                                            .flops = attention_flops,                                                  \
                                            .bytes = iso__operands_bytes,                                              \
                                            .element_flops = attention_element_flops,                                  \
                                            .error_bound = 1e-4}
ATTENTION_OPERATOR(ATTENTION_FWD);
ATTENTION_OPERATOR(ATTENTION_BWD);
