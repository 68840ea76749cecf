/* table.c: the rows of ops.def as one table of gradient rules. */
#include "ops/ops.h"

#define TWICE false
#define ONCE true
#define OP(id_, name_, gradient_, once_, ...)                                                                          \
  [ISO__RULE_##id_] = {.name = name_, .gradient = gradient_, .once = once_, .saved = {__VA_ARGS__}},
const iso__rule iso__rules[ISO__N_RULES] = {
#include "ops/ops.def"
};
