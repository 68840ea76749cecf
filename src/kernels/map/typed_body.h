/* typed_body.h: the functions FUNCTIONS over elements of type TYPE, computed as WORK; TYPED(f) is a name of this dtype,
 * STORE(v) cuts a value to it. Loops over contiguous elements are written apart, so that compilers vectorise them. */

#define VALUE(id, expression)                                                                                          \
  static inline WORK TYPED(value_##id)(WORK a, WORK b, WORK c, WORK s0, WORK s1, WORK s2) {                            \
    (void)a, (void)b, (void)c, (void)s0, (void)s1, (void)s2;                                                           \
    return (WORK)(expression);                                                                                         \
  }
FUNCTIONS(VALUE)
#undef VALUE

#define LOOP(id, a_type, out_type, store, step_out, step_a, step_b, step_c)                                            \
  for (int64_t i = 0; i < n; i++) {                                                                                    \
    const WORK value =                                                                                                 \
        TYPED(value_##id)((WORK)((const a_type *)in[0])[i * (step_a)],                                                 \
                          n_inputs_##id > 1 ? (WORK)((const TYPE *)in[1])[i * (step_b)] : 0,                           \
                          n_inputs_##id > 2 ? (WORK)((const TYPE *)in[2])[i * (step_c)] : 0, s0, s1, s2);              \
    ((out_type *)out)[i * (step_out)] = store(value);                                                                  \
  }
#define ROW(id, expression)                                                                                            \
  static void TYPED(row_##id)(void *out, const void *const in[3], const int64_t step[4], int64_t n,                    \
                              const scalars *s) {                                                                      \
    const WORK s0 = s->SCALARS[0], s1 = s->SCALARS[1], s2 = s->SCALARS[2];                                             \
    const bool dense =                                                                                                 \
        step[0] == 1 && step[1] == 1 && (n_inputs_##id < 2 || step[2] == 1) && (n_inputs_##id < 3 || step[3] == 1);    \
    if (is_truth_##id) {                                                                                               \
      if (dense) LOOP(id, TYPE, uint8_t, STORE_TRUTH, 1, 1, 1, 1)                                                      \
      else LOOP(id, TYPE, uint8_t, STORE_TRUTH, step[0], step[1], step[2], step[3])                                    \
    } else if (is_choice_##id) {                                                                                       \
      if (dense) LOOP(id, uint8_t, TYPE, STORE, 1, 1, 1, 1)                                                            \
      else LOOP(id, uint8_t, TYPE, STORE, step[0], step[1], step[2], step[3])                                          \
    } else {                                                                                                           \
      if (dense) LOOP(id, TYPE, TYPE, STORE, 1, 1, 1, 1)                                                               \
      else LOOP(id, TYPE, TYPE, STORE, step[0], step[1], step[2], step[3])                                             \
    }                                                                                                                  \
  }
FUNCTIONS(ROW)
#undef ROW
#undef LOOP

static row_fn *const TYPED(rows)[ISO__N_MAPS] = {
#define ENTRY(id, expression) [ISO__MAP_##id] = TYPED(row_##id),
    FUNCTIONS(ENTRY)
#undef ENTRY
};
#undef TYPE
#undef WORK
#undef TYPED
#undef STORE
#undef SCALARS
#undef FUNCTIONS
