/* recurrent.c: the operators `recurrent.fwd` and `recurrent.bwd`: text, operands, class, workspace, cost. */
#include "kernels/recurrent/recurrent.h"
#include "kernels/fields.h"
#include "kernels/gemm/tile.h"
#include "kernels/recurrent/engine.h"

static const char *const cells[] = {"lstm", "gru", "tanh", "relu", NULL};

#define EXTENT(key_, member, ...)                                                                                      \
  { .key = key_, ISO__FIELD(iso_recurrent_problem, member, __VA_ARGS__) }
static const iso__field fields[] = {EXTENT("cell", cell, .implied = -1, .names = cells),
                                    EXTENT("t", time, .implied = -1),
                                    EXTENT("b", batch, .implied = -1),
                                    EXTENT("h", hidden, .implied = -1, .least = 1),
                                    EXTENT("dyt", dy_time),
                                    EXTENT("dyb", dy_batch),
                                    EXTENT("reverse", reverse, .most = 1),
                                    EXTENT("lengths", has_lengths, .most = 1),
                                    EXTENT("bias", has_bias, .most = 1),
                                    EXTENT("saves", saves, .most = 1),
                                    EXTENT("dy", has_dy, .most = 1),
                                    EXTENT("dhn", has_dhn, .most = 1),
                                    EXTENT("dcn", has_dcn, .most = 1),
                                    {.key = NULL}};

static const iso_recurrent_problem *recurrent_of(const iso__problem *problem) {
  return (const iso_recurrent_problem *)problem;
}

static int recurrent_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(fields, problem, text, n_bytes);
}
static const char *recurrent_parse(iso__problem *problem, const char *key, const char *value) {
  const iso_recurrent_problem *p = recurrent_of(problem);
  const char *wrong = iso__fields_parse(fields, problem, key, value);
  if (key || wrong) return wrong;
  const bool is_fwd = problem->op == ISO__OP_RECURRENT_FWD;
  if (is_fwd ? p->has_dy || p->has_dhn || p->has_dcn : p->saves) return "fwd has no dy, dhn and dcn, bwd no saves";
  if (p->has_dcn && p->cell != ISO__CELL_LSTM) return "only lstm has dcn";
  if (!p->has_dy && (p->dy_time || p->dy_batch)) return "dyt and dyb belong to dy1";
  if (!iso__extents_fit(p->time, p->batch, 4 * p->hidden) || !iso__extents_fit(4, p->hidden, p->hidden) ||
      !iso__extents_fit(p->time, p->dy_time, 1) || !iso__extents_fit(p->batch, p->dy_batch, 1))
    return "the extents hold too many elements";
  return NULL;
}

/* ---- operands ---- */

typedef struct operand_list {
  const iso_recurrent_problem *p;
  iso__operand *operands;
  int n;
} operand_list;
static void add(operand_list *l, const char *name, size_t offset, int64_t n, bool output) {
  l->operands[l->n++] = (iso__operand){
      .name = name, .offset = offset, .dtype = (iso_dtype)l->p->head.dtype, .n = n, .input = !output, .output = output};
}
#define ADD(member, n, output) add(&l, #member, offsetof(iso_recurrent_args, member), n, output)
#define ADD_LENGTHS()                                                                                                  \
  if (p->has_lengths) {                                                                                                \
    ADD(lengths, p->batch, false);                                                                                     \
    operands[l.n - 1].dtype = ISO_I64, operands[l.n - 1].fill = ISO__FILL_INDEX,                                       \
                   operands[l.n - 1].limit = p->time + 1;                                                              \
  }

static int forward_operands(const iso_recurrent_problem *p, iso__operand *operands) {
  operand_list l = {.p = p, .operands = operands};
  const int64_t states = p->batch * p->hidden, all = p->time * states, gates = iso__cell_gates(p->cell);
  const bool is_lstm = p->cell == ISO__CELL_LSTM;
  ADD(x, all * gates, false);
  ADD(u, gates * p->hidden * p->hidden, false);
  if (p->has_bias) ADD(bias, gates * p->hidden, false);
  ADD(h0, states, false);
  if (is_lstm) ADD(c0, states, false);
  ADD_LENGTHS()
  ADD(y, all, true);
  if (p->saves && iso__cell_saved(p->cell)) ADD(gates, all * iso__cell_saved(p->cell), true);
  if (p->saves && is_lstm) ADD(cells, all, true);
  ADD(hn, states, true);
  if (is_lstm) ADD(cn, states, true);
  return l.n;
}

static int backward_operands(const iso_recurrent_problem *p, iso__operand *operands) {
  operand_list l = {.p = p, .operands = operands};
  const int64_t states = p->batch * p->hidden, all = p->time * states, gates = iso__cell_gates(p->cell);
  const bool is_lstm = p->cell == ISO__CELL_LSTM, is_gru = p->cell == ISO__CELL_GRU;
  ADD(u, gates * p->hidden * p->hidden, false);
  if (iso__cell_saved(p->cell)) ADD(gates_saved, all * iso__cell_saved(p->cell), false);
  if (is_lstm) ADD(cells_saved, all, false);
  else ADD(y_saved, all, false);
  if (is_gru) ADD(h0, states, false);
  if (is_lstm) ADD(c0, states, false);
  ADD_LENGTHS()
  const bool none = !p->time || !p->batch;
  if (p->has_dy) ADD(dy, none ? 0 : (p->time - 1) * p->dy_time + (p->batch - 1) * p->dy_batch + p->hidden, false);
  if (p->has_dhn) ADD(dhn, states, false);
  if (p->has_dcn) ADD(dcn, states, false);
  ADD(dx, all * gates, true);
  if (is_gru) ADD(dz, all * gates, true);
  ADD(dh0, states, true);
  if (is_lstm) ADD(dc0, states, true);
  return l.n;
}

static int recurrent_operands(const iso__problem *problem, iso__operand *operands) {
  return problem->op == ISO__OP_RECURRENT_FWD ? forward_operands(recurrent_of(problem), operands)
                                              : backward_operands(recurrent_of(problem), operands);
}

static const char *recurrent_class(const iso__problem *problem, const iso_policy *policy) {
  (void)problem, (void)policy;
  return "ordered";
}
static double recurrent_flops(const iso__problem *problem) {
  const iso_recurrent_problem *p = recurrent_of(problem);
  const double gates = (double)iso__cell_gates(p->cell), h = (double)p->hidden;
  return (double)p->time * (double)p->batch * gates * h * (2 * h + 20);
}

/* ---- the engines' workspace and cost ---- */

/* U in strips, and each thread's states of a block of samples. */
size_t iso__recurrent_workspace(const iso__problem *problem, int n_threads, int strip) {
  const iso_recurrent_problem *p = recurrent_of(problem);
  return iso__recurrent_pieces_of(p, strip, n_threads).n_bytes;
}
static double cost(const iso__problem *problem, int n_threads, double gflops, double rows) {
  const iso_recurrent_problem *p = recurrent_of(problem);
  const double tiles = (double)p->batch / rows, threads = tiles > n_threads ? n_threads : tiles > 1 ? tiles : 1;
  return 1000 + recurrent_flops(problem) / gflops / threads + iso__operands_bytes(problem) / 8;
}
double iso__recurrent_cost_avx2(const iso__problem *problem, int n_threads) { return cost(problem, n_threads, 40, 4); }
double iso__recurrent_cost_avx512(const iso__problem *problem, int n_threads) {
  return cost(problem, n_threads, 80, 4);
}

static void recurrent_weights_only(iso__problem *problem) {
  iso_recurrent_problem *p = (iso_recurrent_problem *)problem;
  p->time = p->batch = p->dy_time = p->dy_batch = 0;
  p->reverse = p->has_lengths = p->has_bias = p->saves = p->has_dy = p->has_dhn = p->has_dcn = 0;
}

/* No bound by terms: rounding goes round with the states. */
#define RECURRENT_OPERATOR(id)                                                                                         \
  const iso__operator iso__operator_##id = {.op = ISO__OP_##id,                                                        \
                                            .family = "recurrent",                                                     \
                                            .problem_bytes = sizeof(iso_recurrent_problem),                            \
                                            .args_bytes = sizeof(iso_recurrent_args),                                  \
                                            .format = recurrent_format,                                                \
                                            .parse = recurrent_parse,                                                  \
                                            .operands = recurrent_operands,                                            \
                                            .class_rule = recurrent_class,                                             \
                                            .flops = recurrent_flops,                                                  \
                                            .bytes = iso__operands_bytes,                                              \
                                            .error_bound = 0,                                                          \
                                            .weights_only = recurrent_weights_only}
RECURRENT_OPERATOR(RECURRENT_FWD);
RECURRENT_OPERATOR(RECURRENT_BWD);
