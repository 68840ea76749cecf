/* plan.h (internal): problem -> candidates -> plan -> run.
 *
 * Five nouns. A *problem* is plain bytes that say what is to be computed (operator, dtypes, shapes, attributes; never
 * pointers). An *engine* is one row: a way to compute problems of one operator in one numeric class. A *plan* is the
 * engine chosen for a problem under a policy, with its workspace. The *tuner* times candidates. The *registry* is the
 * table of all operators and engines, put together in kernels/registry.c.
 *
 *   iso_gemm_problem p;
 *   ISO__PROBLEM_INIT(p, ISO__OP_GEMM, ISO_F32);
 *   p.m = p.n = p.k = 512; ...
 *   iso__execute(ctx, &p.head, &(iso_gemm_args){.a = a, .b = b, .c = c});   // looks the plan up, lends workspace, runs
 *
 * Only planning can fail; `run` never fails for a reason that `applicable` could have known. */
#ifndef ISO_PLAN_PLAN_H
#define ISO_PLAN_PLAN_H
#include <isobit/numeric.h>
#include <isobit/plan.h>
#include <isobit/policy.h>
#include <string.h>
#include "base/context.h"

/* Every operator that kernels compute; operators.def lists them. */
typedef enum iso__op {
#define OPERATOR(id, name) ISO__OP_##id,
#include "plan/operators.def"
#undef OPERATOR
  ISO__N_OPS
} iso__op;

/* The head of every family's problem struct. Structs are zeroed before use, so that equal problems are equal bytes. */
typedef struct iso__problem {
  uint16_t op;      /* iso__op */
  uint8_t dtype;    /* iso_dtype of the main operands */
  uint8_t kept;     /* 1: the weights are constant, an engine may use a form of them made earlier (kept.h) */
  uint32_t n_bytes; /* of the whole struct */
} iso__problem;
#define ISO__PROBLEM_INIT(p, operator_, dtype_)                                                                        \
  (memset(&(p), 0, sizeof(p)), (p).head.op = (uint16_t)(operator_), (p).head.dtype = (uint8_t)(dtype_),                \
   (p).head.n_bytes = (uint32_t)sizeof(p))
enum { ISO__MAX_PROBLEM_BYTES = 512, ISO__MAX_OPERANDS = 16, ISO__MAX_CANDIDATES = 96, ISO__MAX_ROWS = 1024 };

/* One operand of a problem: what a test, a benchmark or the tuner needs to make real arguments for it. */
typedef enum iso__fill {
  ISO__FILL_NORMAL,
  ISO__FILL_POSITIVE,
  ISO__FILL_ZERO,
  ISO__FILL_INDEX /* integers in [0, limit) */
} iso__fill;
typedef struct iso__operand {
  const char *name;
  size_t offset; /* of its pointer in the args struct: offsetof(iso_gemm_args, a) */
  iso_dtype dtype;
  int64_t n;      /* elements, holes of strides included */
  int64_t origin; /* elements from the buffer's start to where args point: not 0 where a stride is negative */
  bool input, output;
  iso__fill fill;
  int64_t limit;
} iso__operand;

/* What an engine's run gets. `ctx` is for its threads only: kernels never allocate and never fail. */
struct iso__engine;
typedef struct iso__call {
  iso_context *ctx;
  const struct iso__engine *engine; /* the row that runs */
  const iso__problem *problem;
  const void *args; /* the family's args struct */
  void *workspace;  /* 64-byte aligned, as many bytes as the row asked for; NULL if 0 */
  size_t workspace_bytes;
  const void *kept; /* what the row's `prepare` made of these weights; NULL: nothing, transform them here */
} iso__call;

/* One operator: how its problems print, which operands they have, which class the rule chooses. */
typedef struct iso__operator {
  iso__op op;
  const char *family;
  size_t problem_bytes, args_bytes;
  /* "n64 c64 h56 w56 k64 r3 s3 p1": the problem's words after operator and dtype. Returns the length like snprintf. */
  int (*format)(const iso__problem *problem, char *text, size_t n_bytes);
  /* The reverse: one "key value" word at a time; NULL or a sentence saying what is wrong. After the last word key is
   * NULL. */
  const char *(*parse)(iso__problem *problem, const char *key, const char *value);
  /* Fills `operands` and returns how many. */
  int (*operands)(const iso__problem *problem, iso__operand *operands);
  /* Sets the scalars of zeroed args (alpha, eps, learning rate …) to usual values, for tests and timing; NULL: there
   * are none. */
  void (*scalars)(const iso__problem *problem, void *args);
  /* The class under `invariant` and above: sees attributes, never batch, threads or workspace. */
  const char *(*class_rule)(const iso__problem *problem, const iso_policy *policy);
  double (*flops)(const iso__problem *problem); /* of the direct algorithm */
  double (*bytes)(const iso__problem *problem); /* each operand once    */
  /* Of one element of the reference, where that is more than its share of flops and bytes (NULL): scans. */
  double (*element_flops)(const iso__problem *problem);
  double error_bound; /* of the class references against float64, relative to the sum of |terms|; tests hold it */
  /* Sets every field that does not describe the weights to 0, so that problems of one weights tensor become equal;
   * NULL: nothing is ever kept for this operator. */
  void (*weights_only)(iso__problem *problem);
} iso__operator;

/* One row of engines.def. */
typedef struct iso__engine {
  const char *name; /* "cpu.avx2.gemm_6x16" */
  int revision;     /* raised when its speed or applicability changes; a changed order is a new class */
  iso__op op;
  iso_isa isa;
  uint32_t dtypes;                                        /* bit mask: ISO__DTYPE_BIT(ISO_F32) | … */
  const char *class_name;                                 /* "ordered", "lanes", …; "free" promises nothing */
  iso_repro level;                                        /* the highest level whose promise the engine keeps */
  const char *(*applicable)(const iso__problem *problem); /* NULL: yes; else the reason why not */
  size_t (*workspace)(const iso__problem *problem, int n_threads); /* NULL: none */
  double (*cost)(const iso__problem *problem, int n_threads);      /* estimated ns */
  void (*run)(const iso__call *call);
  bool reference; /* this row *is* the specification of its class */
  /* References computed element by element (NULL: the others, whose `run` computes whole results, as sorts and
   * factorisations are): output element `index` (in elements of that operand's buffer) of operand number `operand`,
   * written to *value (the operand's dtype). Returns false for an index
   * that the problem does not write (a hole between strides). `run` is then iso__reference_run. */
  bool (*element)(const iso__problem *problem, const void *args, int operand, int64_t index, void *value);
  /* References and vendors' rows: what the class needs of `policy.accuracy`, and its error bound where it is not the
   * operator's (0): relative to the largest sum of |terms| nearby. */
  iso_accuracy accuracy;
  double error_bound;
  /* Engines that can use weights transformed beforehand (else NULL): the bytes that takes, and the transform of the
   * weights in call->args into `kept` (64-byte aligned). Both depend on the weights' own shape only, never on batch. */
  size_t (*kept_bytes)(const iso__problem *problem);
  void (*prepare)(const iso__call *call, void *kept);
  /* Rows of a vendor's library: 1 + iso__vendor and the major version; else 0. Their classes are opaque: no reference,
   * `accuracy` and `error_bound` are the row's own, levels `off` and `run` at most. */
  int library, library_major;
} iso__engine;
#define ISO__DTYPE_BIT(dtype) (1u << (dtype))
#define ISO__FLOAT_DTYPES (ISO__DTYPE_BIT(ISO_F32) | ISO__DTYPE_BIT(ISO_F64))
#define ISO__HALF_DTYPES (ISO__DTYPE_BIT(ISO_F16) | ISO__DTYPE_BIT(ISO_BF16))
#define ISO__WHOLE_DTYPES                                                                                              \
  (ISO__DTYPE_BIT(ISO_I64) | ISO__DTYPE_BIT(ISO_I32) | ISO__DTYPE_BIT(ISO_U8) | ISO__DTYPE_BIT(ISO_BOOL))

/* The registry, defined in kernels/registry.c. */
typedef struct iso__registry {
  const iso__operator *const *operators; /* by iso__op */
  const iso__engine *engines;            /* in row order; the last has no name */
} iso__registry;
extern const iso__registry iso__the_registry;

/* The start of the operand's buffer, from its pointer in args, and the reverse. */
static inline void *iso__operand_pointer(const iso__operand *operand, const void *args) {
  char *p;
  memcpy(&p, (const char *)args + operand->offset, sizeof p);
  return operand->origin ? p - operand->origin * (int64_t)iso_dtype_size(operand->dtype) : p;
}
static inline void iso__operand_bind(const iso__operand *operand, void *args, void *buffer) {
  char *p = (char *)buffer + operand->origin * (int64_t)iso_dtype_size(operand->dtype);
  memcpy((char *)args + operand->offset, &p, sizeof p);
}

/* Runs a reference row: every element of every output, shared among threads. Inputs that are also outputs are handled
 * by computing all elements before any is stored (the row's workspace holds them: use iso__reference_workspace). */
void iso__reference_run(const iso__call *call);
size_t iso__reference_workspace(const iso__problem *problem, int n_threads);
double iso__reference_cost(const iso__problem *problem, int n_threads);
/* Of all operands, each once: an operator's `bytes` where no operand has holes. */
double iso__operands_bytes(const iso__problem *problem);
const char *iso__always_applicable(const iso__problem *problem);
size_t iso__no_workspace(const iso__problem *problem, int n_threads);

/* Problems used by tests and benchmarks alike: a family's cases.c (linked into those programs only) holds texts of the
 * form iso__problem_format prints, NULL-terminated: `const char *const iso__<family>_cases[]`. */

/* A chosen engine; plain data, copied out of the process-wide cache. */
typedef struct iso__plan {
  const iso__engine *engine;
  size_t workspace_bytes;
  double cost_ns, time_ns; /* estimated; measured or 0 */
  uint8_t source;          /* iso_plan_source */
  bool loaded;             /* measured while the machine did something else */
} iso__plan;

/* The plan for a problem under the context's policy, threads and ISA; false with the context's error set (NO_ENGINE,
 * WORKSPACE_LIMIT with what each engine needs, NO_PLAN under replay). */
bool iso__plan_get(iso_context *ctx, const iso__problem *problem, iso__plan *plan);
/* Lends workspace and runs, in the default floating-point environment. */
iso_status iso__plan_run(iso_context *ctx, const iso__plan *plan, const iso__problem *problem, const void *args);
/* Both. What operators call. */
iso_status iso__execute(iso_context *ctx, const iso__problem *problem, const void *args);
/* The operator's rows, in row order; NULL at the end. */
const iso__engine *iso__engine_first(uint16_t op);
const iso__engine *iso__engine_next(const iso__engine *engine);
/* The operator's row of this name; the reference that computes it in binary64, whatever the class. NULL: none. */
const iso__engine *iso__engine_named(uint16_t op, const char *name);
const iso__engine *iso__wide_reference(uint16_t op);
/* The reference row of an engine's class; NULL for classes without one. */
const iso__engine *iso__class_reference(const iso__engine *engine);
/* NULL, or why the row's library is not there, of a vendor's row; NULL of any other. Looks for the library. */
const char *iso__engine_library_missing(const iso__engine *engine);
/* NULL, or why the row can't compute the problem here: its library is missing, or it is not applicable. */
const char *iso__engine_refuses(const iso__engine *engine, const iso__problem *problem);
/* The class's error bound against float64: its own, else the operator's. */
double iso__class_error_bound(const iso__engine *engine);

/* What the tuner found; all 0: not timed. */
typedef struct iso__timing {
  double ns, spread_ns; /* median, distance between the quartiles */
  int n_samples;
} iso__timing;

enum { ISO__REASON_BYTES = 320 };
/* One candidate of a problem, with the verdict: what `isobit plans` prints. */
typedef struct iso__candidate {
  const iso__engine *engine;
  iso_verdict verdict; /* of a rejected one; those that could be chosen get theirs at the end */
  const char *reason;  /* NULL: could be chosen */
  char reason_text[ISO__REASON_BYTES];
  size_t workspace_bytes;
  double cost_ns;
  iso__timing timing;
  bool chosen;
} iso__candidate;
/* Every engine of the operator, in row order, judged under the context's policy. Returns how many. */
int iso__plan_candidates(iso_context *ctx, const iso__problem *problem, iso__candidate candidates[ISO__MAX_CANDIDATES]);
/* "conv2d.fwd f32 n64 c64 …" and, for plans, " -> cpu.avx2.igemm@1 class ordered ws 1.2MiB". */
const char *iso__operator_name(uint16_t op); /* "conv2d.fwd" */
int iso__problem_format(const iso__problem *problem, char *text, size_t n_bytes);
/* The reverse of iso__problem_format; the struct is written into `buffer` (ISO__MAX_PROBLEM_BYTES). */
iso_status iso__problem_parse(iso_context *ctx, const char *text, void *buffer);
/* The same without a context: what is wrong goes into `why`. */
iso_status iso__problem_read(const char *text, void *buffer, char *why, size_t n_bytes);

/* The room's state in a context: workspace arena, tuner, plans used. Attached once, when the context opens. */
iso_status iso__plan_attach(iso_context *ctx);
/* A child takes part in its parent's job: store, budget, counts, lockfile. */
void iso__plan_inherit(iso_context *child, const iso_context *parent);
/* Testing: the tuner multiplies every time it takes by a random factor drawn from `seed`; 0 switches it off. */
void iso__tuner_set_adversary(iso_context *ctx, uint64_t seed);
/* Testing: what the tuner takes the machine's load for. */
typedef enum iso__load { ISO__LOAD_REAL, ISO__LOAD_NONE, ISO__LOAD_HEAVY } iso__load;
void iso__tuner_set_load(iso_context *ctx, iso__load load);
#endif
