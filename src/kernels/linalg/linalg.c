/* linalg.c: the operators of linear algebra: text, operands, classes, workspace, cost. */
#include "kernels/linalg/linalg.h"
#include "kernels/fields.h"

static const iso_linalg_problem *linalg_of(const iso__problem *problem) { return (const iso_linalg_problem *)problem; }

#define SIZE(key_, member, ...)                                                                                        \
  { .key = key_, ISO__FIELD(iso_linalg_problem, member, __VA_ARGS__) }
static const iso__field square_fields[] = {
    SIZE("batch", batch, .implied = 1), SIZE("n", n, .implied = -1, .most = 1 << 20), {.key = NULL}};
static const iso__field solve_fields[] = {SIZE("batch", batch, .implied = 1),
                                          SIZE("n", n, .implied = -1, .most = 1 << 20),
                                          SIZE("k", k, .implied = -1),
                                          SIZE("upper", upper, .most = 1),
                                          SIZE("transposed", transposed, .most = 1),
                                          SIZE("unit", unit, .most = 1),
                                          {.key = NULL}};
static const iso__field general_fields[] = {SIZE("batch", batch, .implied = 1),
                                            SIZE("m", m, .implied = -1, .most = 1 << 20),
                                            SIZE("n", n, .implied = -1, .most = 1 << 20),
                                            {.key = NULL}};
static const iso__field qr_fields[] = {SIZE("batch", batch, .implied = 1),
                                       SIZE("m", m, .implied = -1, .most = 1 << 20),
                                       SIZE("n", n, .implied = -1, .most = 1 << 20),
                                       SIZE("k", k, .implied = -1, .most = 1 << 20),
                                       {.key = NULL}};
static const iso__field *fields_of(const iso__problem *problem) {
  switch (problem->op) {
  case ISO__OP_TRIANGULAR_SOLVE: return solve_fields;
  case ISO__OP_QR: return qr_fields;
  case ISO__OP_LU:
  case ISO__OP_SVD: return general_fields;
  default: return square_fields;
  }
}

static int linalg_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields_of(problem), problem, text, n_bytes);
}
static const char *linalg_parse(iso__problem *problem, const char *key, const char *value) {
  const iso_linalg_problem *p = linalg_of(problem);
  const char *wrong = iso__fields_parse(fields_of(problem), problem, key, value);
  if (key || wrong) return wrong;
  if (fields_of(problem) == square_fields || fields_of(problem) == solve_fields)
    ((iso_linalg_problem *)problem)->m = p->n;
  if (problem->op == ISO__OP_QR && p->k != iso__linalg_least(p) && p->k != p->m) return "k is neither min(m,n) nor m";
  const int64_t rows = p->m > p->n ? p->m : p->n, columns = p->n > p->k ? p->n : p->k;
  return iso__extents_fit(p->batch, rows, columns) ? NULL : "the extents hold too many elements";
}

/* ---- operands ---- */

typedef struct operand_list {
  const iso_linalg_problem *p;
  iso__operand *operands;
  int n;
} operand_list;
static void add(operand_list *l, const char *name, size_t offset, iso_dtype dtype, int64_t n, bool output) {
  l->operands[l->n++] = (iso__operand){
      .name = name, .offset = offset, .dtype = dtype, .n = l->p->batch * n, .input = !output, .output = output};
}
#define ADD(member, n, output) add(&l, #member, offsetof(iso_linalg_args, member), (iso_dtype)problem->dtype, n, output)

static int linalg_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_linalg_problem *p = linalg_of(problem);
  const int64_t m = p->m, n = p->n, k = p->k, least = iso__linalg_least(p);
  operand_list l = {.p = p, .operands = operands};
  switch (problem->op) {
  case ISO__OP_CHOLESKY: ADD(a, n * n, false), ADD(x, n * n, true); break;
  case ISO__OP_TRIANGULAR_SOLVE: ADD(a, n * n, false), ADD(b, n * k, false), ADD(x, n * k, true); break;
  case ISO__OP_LU:
    ADD(a, m * n, false), ADD(x, m * n, true);
    add(&l, "pivots", offsetof(iso_linalg_args, pivots), ISO_I32, least, true);
    break;
  case ISO__OP_QR: ADD(a, m * n, false), ADD(x, m * k, true), ADD(y, k * n, true); break;
  case ISO__OP_EIGH: ADD(a, n * n, false), ADD(x, n, true), ADD(y, n * n, true); break;
  default: ADD(a, m * n, false), ADD(x, m * least, true), ADD(y, least, true), ADD(z, least * n, true); break;
  }
  return l.n;
}

static double linalg_flops(const iso__problem *problem) {
  const iso_linalg_problem *p = linalg_of(problem);
  const double m = (double)p->m, n = (double)p->n, k = (double)p->k, batch = (double)p->batch;
  const double least = (double)iso__linalg_least(p), most = m > n ? m : n;
  switch (problem->op) {
  case ISO__OP_CHOLESKY: return batch * n * n * n / 3;
  case ISO__OP_TRIANGULAR_SOLVE: return batch * n * n * k;
  case ISO__OP_LU: return batch * 2 * least * least * (most - least / 3);
  case ISO__OP_QR: return batch * 4 * m * n * (least + k);
  case ISO__OP_EIGH: return batch * 60 * n * n * n;
  default: return batch * 60 * least * least * most;
  }
}

/* ---- workspace and cost ---- */

size_t iso__linalg_item_bytes(const iso__problem *problem) {
  const iso_linalg_problem *p = linalg_of(problem);
  const size_t m = (size_t)p->m, n = (size_t)p->n, k = (size_t)p->k, least = (size_t)iso__linalg_least(p),
               most = m > n ? m : n;
  size_t reals = 0, places = 0;
  switch (problem->op) {
  case ISO__OP_CHOLESKY: reals = n * n; break;
  case ISO__OP_QR: reals = m * n + least + (n > k ? n : k); break;
  case ISO__OP_EIGH: reals = 2 * n * n + n, places = n; break;
  case ISO__OP_SVD: reals = 2 * least * most + least * least + least, places = least; break;
  default: break;
  }
  return (reals * iso_dtype_size((iso_dtype)problem->dtype) + 8 + places * sizeof(int64_t) + 63) & ~(size_t)63;
}
size_t iso__linalg_workspace(const iso__problem *problem, int n_threads) {
  const iso_linalg_problem *p = linalg_of(problem);
  const int64_t most = p->batch < n_threads ? p->batch : n_threads;
  return (size_t)most * iso__linalg_item_bytes(problem);
}

static double cost(const iso__problem *problem, int n_threads, double flops_per_ns) {
  const iso_linalg_problem *p = linalg_of(problem);
  const double flops = linalg_flops(problem);
  const bool shared = n_threads > 1 && p->batch > 1 && flops > 200000;
  return 200 + (shared ? 3000 : 0) + flops / flops_per_ns / (shared ? n_threads : 1);
}
double iso__linalg_cost_avx2(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 4); }
double iso__linalg_cost_avx512(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 5); }

#define LINALG_OPERATOR(id, class_)                                                                                    \
  static const char *class_of_##id(const iso__problem *problem, const iso_policy *policy) {                            \
    (void)problem, (void)policy;                                                                                       \
    return class_;                                                                                                     \
  }                                                                                                                    \
  const iso__operator iso__operator_##id = {.op = ISO__OP_##id,                                                        \
                                            .family = "linalg",                                                        \
                                            .problem_bytes = sizeof(iso_linalg_problem),                               \
                                            .args_bytes = sizeof(iso_linalg_args),                                     \
                                            .format = linalg_format,                                                   \
                                            .parse = linalg_parse,                                                     \
                                            .operands = linalg_operands,                                               \
                                            .class_rule = class_of_##id,                                               \
                                            .flops = linalg_flops,                                                     \
                                            .bytes = iso__operands_bytes};
LINALG_OPERATOR(CHOLESKY, "cholesky")
LINALG_OPERATOR(TRIANGULAR_SOLVE, "substitution")
LINALG_OPERATOR(LU, "lu")
LINALG_OPERATOR(QR, "householder")
LINALG_OPERATOR(EIGH, "jacobi.cyclic")
LINALG_OPERATOR(SVD, "jacobi.one_sided")
