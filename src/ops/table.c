/* table.c: the rows of ops.def as two tables: gradient rules, and what is said of every operator. */
#include "ops/ops.h"

#define TWICE false
#define ONCE true
#define TOPIC(...)
#define DOC(...)
#define OP(id_, name_, gradient_, once_, ...)                                                                          \
  [ISO__RULE_##id_] = {.name = name_, .gradient = gradient_, .once = once_, .saved = {__VA_ARGS__}},
const iso__rule iso__rules[ISO__N_RULES] = {
#include "ops/ops.def"
};
#undef TOPIC
#undef DOC
#undef OP

/* A topic is a row without a name, so that the list needs no second table. */
#define OP(...)
#define TOPIC(folder_, title_) {.topic = folder_, .formula = title_},
#define DOC(name_, formula_, shapes_, dtypes_, class_, gradient_, difference_)                                         \
  {.name = name_,                                                                                                      \
   .formula = formula_,                                                                                                \
   .shapes = shapes_,                                                                                                  \
   .dtypes = dtypes_,                                                                                                  \
   .numeric_class = class_,                                                                                            \
   .gradient = gradient_,                                                                                              \
   .difference = difference_},
static const iso_operator_info rows[] = {
#include "ops/ops.def"
};

const iso_operator_info *iso_operator_list(int *n) {
  *n = (int)(sizeof rows / sizeof *rows);
  return rows;
}
