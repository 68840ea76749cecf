/* winograd.c: what the rows of engines.def name: for each class where it applies, and for each class, instruction set
 * and loop order (nest.h) the engine's functions. They differ in one constant struct, so a macro writes them:
 * iso__winograd_<order>_<function>_<class>_<isa>. */
#include "kernels/conv/winograd/nest.h"

static const char *applicable(const iso__problem *problem, int64_t r) {
  const iso_conv_problem *p = (const iso_conv_problem *)problem;
  if (p->r != r || p->s != r) return r == 3 ? "computes 3×3 kernels only" : "computes 5×5 kernels only";
  if (p->stride_h != 1 || p->stride_w != 1) return "computes stride 1 only";
  if (p->dilation_h != 1 || p->dilation_w != 1) return "computes dilation 1 only";
  if (p->groups > 1 && (p->c / p->groups < 8 || p->k / p->groups < 8)) return "groups have fewer than 8 channels";
  return iso__conv_plain_applicable(problem);
}
const char *iso__winograd_applicable_k3(const iso__problem *problem);
const char *iso__winograd_applicable_k5(const iso__problem *problem);
const char *iso__winograd_applicable_k3(const iso__problem *problem) { return applicable(problem, 3); }
const char *iso__winograd_applicable_k5(const iso__problem *problem) { return applicable(problem, 5); }

#define FUNCTIONS(order, suffix, m_, isa, filters_)                                                                    \
  static const iso__winograd_engine engine_##order##_##suffix##_##isa = {                                              \
      .kernels = &iso__winograd_##isa, .id = ISO__WINOGRAD_##suffix, .m = m_, .filters = filters_};                    \
  size_t iso__winograd_##order##_workspace_##suffix##_##isa(const iso__problem *problem, int n_threads);               \
  double iso__winograd_##order##_cost_##suffix##_##isa(const iso__problem *problem, int n_threads);                    \
  void iso__winograd_##order##_run_##suffix##_##isa(const iso__call *call);                                            \
  size_t iso__winograd_##order##_kept_bytes_##suffix##_##isa(const iso__problem *problem);                             \
  void iso__winograd_##order##_prepare_##suffix##_##isa(const iso__call *call, void *kept);                            \
  size_t iso__winograd_##order##_workspace_##suffix##_##isa(const iso__problem *problem, int n_threads) {              \
    return iso__winograd_workspace(&engine_##order##_##suffix##_##isa, (const iso_conv_problem *)problem, n_threads);  \
  }                                                                                                                    \
  double iso__winograd_##order##_cost_##suffix##_##isa(const iso__problem *problem, int n_threads) {                   \
    return iso__winograd_cost(&engine_##order##_##suffix##_##isa, (const iso_conv_problem *)problem, n_threads);       \
  }                                                                                                                    \
  void iso__winograd_##order##_run_##suffix##_##isa(const iso__call *call) {                                           \
    iso__winograd_run(&engine_##order##_##suffix##_##isa, call);                                                       \
  }                                                                                                                    \
  size_t iso__winograd_##order##_kept_bytes_##suffix##_##isa(const iso__problem *problem) {                            \
    return iso__winograd_kept_bytes(&engine_##order##_##suffix##_##isa, (const iso_conv_problem *)problem);            \
  }                                                                                                                    \
  void iso__winograd_##order##_prepare_##suffix##_##isa(const iso__call *call, void *kept) {                           \
    iso__winograd_prepare(&engine_##order##_##suffix##_##isa, call, kept);                                             \
  }
#if defined(__x86_64__)
#  define ENGINES(suffix, m, r)                                                                                        \
    FUNCTIONS(tiles, suffix, m, avx2, false)                                                                           \
    FUNCTIONS(tiles, suffix, m, avx512, false)                                                                         \
    FUNCTIONS(filters, suffix, m, avx2, true) FUNCTIONS(filters, suffix, m, avx512, true)
ISO__WINOGRAD_CLASSES(ENGINES)
#endif
