/* registry.c: all operators and engines in one table.
 *
 * An operator FOO of plan.h's list is described by `const iso__operator iso__operator_FOO` in its family's folder;
 * engines are the rows of the families' engines.def, in six forms:
 *
 *   ENGINE(name, revision, OP, ISA, dtypes, class, LEVEL, applicable, workspace, cost, run)
 *   KEPT_ENGINE(… the same …, kept_bytes, prepare)       can use weights transformed beforehand
 *   REFERENCE(name, revision, OP, dtypes, class, element)
 *   WHOLE(name, revision, OP, dtypes, class, workspace, run)
 *                                                        a reference that computes whole results
 *   CLASS(name, revision, OP, dtypes, class, ACCURACY, error bound, applicable, element)
 *                                                        the reference of a class that is not for every problem
 *   VENDOR(name, revision, OP, dtypes, class, LEVEL, LIBRARY, major, ACCURACY, error bound, applicable, …, run)
 *                                                        on a device, by a vendor's library of that major version
 *
 * A row declares its functions, so adding an engine is one file and one row. Rows for an instruction set that this
 * build does not have are left out. */
#include "plan/plan.h"
#include "device/vendor/library.h"

#if defined(__x86_64__)
#  define ISO__ROW_AVX2(...) __VA_ARGS__
#  define ISO__ROW_AVX512(...) __VA_ARGS__
#else
#  define ISO__ROW_AVX2(...)
#  define ISO__ROW_AVX512(...)
#endif
#ifdef ISO_HAS_CUDA
#  define ISO__ROW_CUDA(...) __VA_ARGS__
#else
#  define ISO__ROW_CUDA(...)
#endif
#define ISO__ROW_SCALAR(...) __VA_ARGS__

#define ISO__DECLARE(applicable_, workspace_, cost_, run_)                                                             \
  const char *applicable_(const iso__problem *);                                                                       \
  size_t workspace_(const iso__problem *, int);                                                                        \
  double cost_(const iso__problem *, int);                                                                             \
  void run_(const iso__call *);
#define ENGINE(name_, revision_, op_, isa_, dtypes_, class_, level_, applicable_, workspace_, cost_, run_)             \
  ISO__ROW_##isa_(ISO__DECLARE(applicable_, workspace_, cost_, run_))
#define KEPT_ENGINE(name_, revision_, op_, isa_, dtypes_, class_, level_, applicable_, workspace_, cost_, run_,        \
                    kept_bytes_, prepare_)                                                                             \
  ISO__ROW_##isa_(ISO__DECLARE(applicable_, workspace_, cost_, run_) size_t kept_bytes_(const iso__problem *);         \
                  void prepare_(const iso__call *, void *);)
#define REFERENCE(name_, revision_, op_, dtypes_, class_, element_)                                                    \
  bool element_(const iso__problem *, const void *, int, int64_t, void *);
#define CLASS(name_, revision_, op_, dtypes_, class_, accuracy_, bound_, applicable_, element_)                        \
  const char *applicable_(const iso__problem *);                                                                       \
  bool element_(const iso__problem *, const void *, int, int64_t, void *);
#define WHOLE(name_, revision_, op_, dtypes_, class_, workspace_, run_)                                                \
  size_t workspace_(const iso__problem *, int);                                                                        \
  void run_(const iso__call *);
#define VENDOR(name_, revision_, op_, dtypes_, class_, level_, library_, major_, accuracy_, bound_, applicable_,       \
               workspace_, cost_, run_)                                                                                \
  ISO__ROW_CUDA(ISO__DECLARE(applicable_, workspace_, cost_, run_))
#include "kernels/all_engines.def"
#undef ENGINE
#undef KEPT_ENGINE
#undef REFERENCE
#undef CLASS
#undef WHOLE
#undef VENDOR

#define ISO__HEAD(name_, revision_, op_, isa_, dtypes_, class_, level_)                                                \
  .name = name_, .revision = revision_, .op = ISO__OP_##op_, .isa = ISO_ISA_##isa_, .dtypes = dtypes_,                 \
  .class_name = class_, .level = ISO_REPRO_##level_
#define ISO__FUNCTIONS(applicable_, workspace_, cost_, run_)                                                           \
  .applicable = applicable_, .workspace = workspace_, .cost = cost_, .run = run_
#define ENGINE(name_, revision_, op_, isa_, dtypes_, class_, level_, applicable_, workspace_, cost_, run_)             \
  ISO__ROW_##isa_({ISO__HEAD(name_, revision_, op_, isa_, dtypes_, class_, level_),                                    \
                   ISO__FUNCTIONS(applicable_, workspace_, cost_, run_)}, )
#define KEPT_ENGINE(name_, revision_, op_, isa_, dtypes_, class_, level_, applicable_, workspace_, cost_, run_,        \
                    kept_bytes_, prepare_)                                                                             \
  ISO__ROW_##isa_({ISO__HEAD(name_, revision_, op_, isa_, dtypes_, class_, level_),                                    \
                   ISO__FUNCTIONS(applicable_, workspace_, cost_, run_), .kept_bytes = kept_bytes_,                    \
                   .prepare = prepare_}, )
#define CLASS(name_, revision_, op_, dtypes_, class_, accuracy_, bound_, applicable_, element_)                        \
  {ISO__HEAD(name_, revision_, op_, SCALAR, dtypes_, class_, PORTABLE),                                                \
   ISO__FUNCTIONS(applicable_, iso__reference_workspace, iso__reference_cost, iso__reference_run),                     \
   .reference = true,                                                                                                  \
   .element = element_,                                                                                                \
   .accuracy = ISO_ACCURACY_##accuracy_,                                                                               \
   .error_bound = bound_},
#define REFERENCE(name_, revision_, op_, dtypes_, class_, element_)                                                    \
  CLASS(name_, revision_, op_, dtypes_, class_, STRICT, 0, iso__always_applicable, element_)
#define WHOLE(name_, revision_, op_, dtypes_, class_, workspace_, run_)                                                \
  {ISO__HEAD(name_, revision_, op_, SCALAR, dtypes_, class_, PORTABLE),                                                \
   ISO__FUNCTIONS(iso__always_applicable, workspace_, iso__reference_cost, run_), .reference = true},
#define VENDOR(name_, revision_, op_, dtypes_, class_, level_, library_, major_, accuracy_, bound_, applicable_,       \
               workspace_, cost_, run_)                                                                                \
  ISO__ROW_CUDA({ISO__HEAD(name_, revision_, op_, CUDA, dtypes_, class_, level_),                                      \
                 ISO__FUNCTIONS(applicable_, workspace_, cost_, run_), .accuracy = ISO_ACCURACY_##accuracy_,           \
                 .error_bound = bound_, .library = 1 + ISO__##library_, .library_major = major_}, )
static const iso__engine engines[] = {
#include "kernels/all_engines.def"
    {.name = NULL}};
_Static_assert(sizeof engines / sizeof engines[0] <= ISO__MAX_ROWS, "plan/classes.c links rows by a table");

#define OPERATOR(id, name) extern const iso__operator iso__operator_##id;
#include "plan/operators.def"
#undef OPERATOR
static const iso__operator *const operators[ISO__N_OPS] = {
#define OPERATOR(id, name) [ISO__OP_##id] = &iso__operator_##id,
#include "plan/operators.def"
#undef OPERATOR
};

const iso__registry iso__the_registry = {.operators = operators, .engines = engines};
