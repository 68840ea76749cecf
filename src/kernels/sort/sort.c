/* sort.c: the operators `sort`, `search_sorted` and `count`: text, operands, class. */
#include "kernels/sort/sort.h"
#include <math.h>
#include "kernels/fields.h"

static const char *stable(const iso__problem *problem, const iso_policy *policy) {
  (void)problem, (void)policy;
  return "stable";
}

/* Integers come from their whole range of places, so that equals are frequent enough. */
static void fill_integers(iso__operand *o, int64_t limit) {
  if (iso_dtype_is_float(o->dtype)) return;
  o->fill = ISO__FILL_INDEX;
  o->limit = o->dtype == ISO_BOOL ? 2 : o->dtype == ISO_U8 ? 256 : limit;
}

/* ---- sort ---- */

static const iso__field sort_fields[] = {{.key = "rows", ISO__FIELD(iso_sort_problem, rows, .implied = -1)},
                                         {.key = "n", ISO__FIELD(iso_sort_problem, n, .implied = -1)},
                                         {.key = "begin", ISO__FIELD(iso_sort_problem, begin)},
                                         {.key = "count", ISO__FIELD(iso_sort_problem, count, .implied = -1)},
                                         {.key = "descending", ISO__FIELD(iso_sort_problem, descending, .most = 1)},
                                         {.key = NULL}};

static int sort_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(sort_fields, problem, text, n_bytes);
}
static const char *sort_parse(iso__problem *problem, const char *key, const char *value) {
  const iso_sort_problem *p = (const iso_sort_problem *)problem;
  const char *wrong = iso__fields_parse(sort_fields, problem, key, value);
  if (key || wrong) return wrong;
  if (!iso__extents_fit(p->rows, p->n, 1)) return "the extents hold too many elements";
  return p->begin <= p->n && p->count <= p->n - p->begin ? NULL : "the window is not within the row";
}

static int sort_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_sort_problem *p = (const iso_sort_problem *)problem;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  operands[0] = (iso__operand){
      .name = "x", .offset = offsetof(iso_sort_args, x), .dtype = dtype, .n = p->rows * p->n, .input = true};
  operands[1] = (iso__operand){
      .name = "y", .offset = offsetof(iso_sort_args, y), .dtype = dtype, .n = p->rows * p->count, .output = true};
  operands[2] = (iso__operand){.name = "index",
                               .offset = offsetof(iso_sort_args, index),
                               .dtype = ISO_I64,
                               .n = p->rows * p->count,
                               .output = true};
  fill_integers(&operands[0], p->n + 100);
  return 3;
}

static double sort_flops(const iso__problem *problem) {
  const iso_sort_problem *p = (const iso_sort_problem *)problem;
  return (double)p->rows * (double)p->n * iso_f64_log2((double)p->n + 2);
}

const iso__operator iso__operator_SORT = {.op = ISO__OP_SORT,
                                          .family = "sort",
                                          .problem_bytes = sizeof(iso_sort_problem),
                                          .args_bytes = sizeof(iso_sort_args),
                                          .format = sort_format,
                                          .parse = sort_parse,
                                          .operands = sort_operands,
                                          .class_rule = stable,
                                          .flops = sort_flops,
                                          .bytes = iso__operands_bytes};

/* ---- search ---- */

static const iso__field search_fields[] = {{.key = "rows", ISO__FIELD(iso_search_problem, rows, .implied = -1)},
                                           {.key = "n", ISO__FIELD(iso_search_problem, n, .implied = -1)},
                                           {.key = "m", ISO__FIELD(iso_search_problem, m, .implied = -1)},
                                           {.key = "shared", ISO__FIELD(iso_search_problem, shared, .most = 1)},
                                           {.key = "right", ISO__FIELD(iso_search_problem, right, .most = 1)},
                                           {.key = "sorter", ISO__FIELD(iso_search_problem, has_sorter, .most = 1)},
                                           {.key = NULL}};

static int search_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(search_fields, problem, text, n_bytes);
}
static const char *search_parse(iso__problem *problem, const char *key, const char *value) {
  const iso_search_problem *p = (const iso_search_problem *)problem;
  const char *wrong = iso__fields_parse(search_fields, problem, key, value);
  if (key || wrong) return wrong;
  return iso__extents_fit(p->rows, p->n, 1) && iso__extents_fit(p->rows, p->m, 1)
             ? NULL
             : "the extents hold too many elements";
}

static int search_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_search_problem *p = (const iso_search_problem *)problem;
  const iso_dtype dtype = (iso_dtype)problem->dtype;
  const int64_t n_sorted = (p->shared ? 1 : p->rows) * p->n, n_values = p->rows * p->m;
  int n = 0;
  operands[n++] = (iso__operand){
      .name = "sorted", .offset = offsetof(iso_search_args, sorted), .dtype = dtype, .n = n_sorted, .input = true};
  operands[n++] = (iso__operand){
      .name = "values", .offset = offsetof(iso_search_args, values), .dtype = dtype, .n = n_values, .input = true};
  fill_integers(&operands[0], p->n + 1), fill_integers(&operands[1], p->n + 1);
  if (p->has_sorter)
    operands[n++] = (iso__operand){.name = "sorter",
                                   .offset = offsetof(iso_search_args, sorter),
                                   .dtype = ISO_I64,
                                   .n = n_sorted,
                                   .input = true,
                                   .fill = ISO__FILL_INDEX,
                                   .limit = p->n};
  operands[n++] = (iso__operand){
      .name = "index", .offset = offsetof(iso_search_args, index), .dtype = ISO_I64, .n = n_values, .output = true};
  return n;
}

static double search_flops(const iso__problem *problem) {
  const iso_search_problem *p = (const iso_search_problem *)problem;
  return (double)p->rows * (double)p->m * iso_f64_log2((double)p->n + 2);
}

const iso__operator iso__operator_SEARCH_SORTED = {.op = ISO__OP_SEARCH_SORTED,
                                                   .family = "sort",
                                                   .problem_bytes = sizeof(iso_search_problem),
                                                   .args_bytes = sizeof(iso_search_args),
                                                   .format = search_format,
                                                   .parse = search_parse,
                                                   .operands = search_operands,
                                                   .class_rule = stable,
                                                   .flops = search_flops,
                                                   .bytes = iso__operands_bytes};

/* ---- count ---- */

static const iso__field count_fields[] = {{.key = "n", ISO__FIELD(iso_count_problem, n, .implied = -1)},
                                          {.key = "bins", ISO__FIELD(iso_count_problem, bins, .implied = -1)},
                                          {.key = NULL}};

static int count_format(const iso__problem *problem, char *text, size_t n_bytes) {
  return iso__fields_format(count_fields, problem, text, n_bytes);
}
static const char *count_parse(iso__problem *problem, const char *key, const char *value) {
  return iso__fields_parse(count_fields, problem, key, value);
}

static int count_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_count_problem *p = (const iso_count_problem *)problem;
  operands[0] = (iso__operand){.name = "index",
                               .offset = offsetof(iso_count_args, index),
                               .dtype = ISO_I64,
                               .n = p->n,
                               .input = true,
                               .fill = ISO__FILL_INDEX,
                               .limit = p->bins + p->bins / 8}; /* some beyond */
  operands[1] = (iso__operand){
      .name = "count", .offset = offsetof(iso_count_args, count), .dtype = ISO_I64, .n = p->bins, .output = true};
  return 2;
}

static double count_flops(const iso__problem *problem) {
  const iso_count_problem *p = (const iso_count_problem *)problem;
  return (double)p->n + (double)p->bins;
}

const iso__operator iso__operator_COUNT = {.op = ISO__OP_COUNT,
                                           .family = "sort",
                                           .problem_bytes = sizeof(iso_count_problem),
                                           .args_bytes = sizeof(iso_count_args),
                                           .format = count_format,
                                           .parse = count_parse,
                                           .operands = count_operands,
                                           .class_rule = stable,
                                           .flops = count_flops,
                                           .bytes = iso__operands_bytes};
