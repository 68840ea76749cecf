/* plan.h: which algorithms exist for a problem, which one is chosen and why; measuring, keeping and replaying choices.
 *
 *   iso_plan_candidate c[ISO_MAX_PLAN_CANDIDATES];
 *   int n = iso_plan_query(ctx, "conv2d.fwd f32 n64 c64 h56 w56 k64 r3 s3 p1", c);
 *   for (int i = 0; i < n; i++) printf("%s: %s\n", c[i].engine, iso_verdict_sentence(c[i].verdict));
 *
 * A choice is looked for in this order: the lockfile that was loaded, this process' memory, the store on disk; then the
 * policy's `tuning` decides: an estimate (rule), a measurement (measure) or an error (replay). */
#ifndef ISOBIT_PLAN_H
#define ISOBIT_PLAN_H
#include <isobit/base.h>
#include <isobit/policy.h>
#ifdef __cplusplus
extern "C" {
#endif

enum { ISO_MAX_PLAN_CANDIDATES = 96, ISO_PLAN_TEXT_BYTES = 1024, ISO_PLAN_LINE_BYTES = 1280 };

/* ---- plans as data ---- */

/* What became of a candidate: code, value, word for tables and JSON, sentence. Appended, never renumbered. */
#define ISO_VERDICT_LIST(X)                                                                                            \
  X(CHOSEN, 0, "chosen", "runs")                                                                                       \
  X(SLOWER, 1, "slower", "was timed and is slower, or not faster by more than the spread")                             \
  X(ESTIMATED_SLOWER, 2, "estimated-slower", "could run; not timed, since its estimate is worse")                      \
  X(REFERENCES_ONLY, 3, "references-only", "the policy uses class references only")                                    \
  X(ISA, 4, "isa", "needs an instruction set that the context does not have")                                          \
  X(DTYPE, 5, "dtype", "does not compute this element type")                                                           \
  X(NOT_APPLICABLE, 6, "not-applicable", "does not compute problems of this form")                                     \
  X(LEVEL, 7, "level", "keeps no promise as high as the policy asks for")                                              \
  X(CLASS, 8, "class", "is of another numeric class than the one chosen")                                              \
  X(WORKSPACE, 9, "workspace", "needs more workspace than the limit")                                                  \
  X(NOT_PINNED, 10, "not-pinned", "could run; the lockfile names another engine")                                      \
  X(ACCURACY, 11, "accuracy", "its class is less accurate than the policy accepts")                                    \
  X(VENDOR, 12, "vendor", "its vendor's library is not wanted, not there or of another version")

typedef enum iso_verdict {
#define ISO_VERDICT_ENUM(name, value, word, sentence) ISO_VERDICT_##name = value,
  ISO_VERDICT_LIST(ISO_VERDICT_ENUM)
#undef ISO_VERDICT_ENUM
} iso_verdict;
/* "estimated-slower", and what it means. Never NULL. */
ISO_API const char *iso_verdict_word(iso_verdict verdict);
ISO_API const char *iso_verdict_sentence(iso_verdict verdict);

typedef struct iso_plan_candidate {
  const char *engine; /* "cpu.avx2.gemm_6x16"                                                     */
  int revision;
  const char *class_name; /* numeric class: engines of one class give the same bits                   */
  iso_repro level;        /* the highest level whose promise it keeps                                 */
  iso_isa isa;
  double error_bound;     /* of its class against float64, relative to the sum of |terms| nearby      */
  iso_accuracy accuracy;  /* what its class needs of the policy's accuracy                             */
  size_t workspace_bytes; /* 0 as well where it was rejected before that was asked                    */
  double estimated_ms;    /* 0: rejected before that was asked                                        */
  double measured_ms;     /* median; 0: not measured                                                  */
  double spread_ms;       /* distance between the quartiles of the samples                            */
  int n_samples;          /* 0 too where only the winner's time is known                              */
  iso_verdict verdict;
  bool chosen;
  char reason[320]; /* the verdict with its figures; "" where it could be chosen                */
} iso_plan_candidate;

/* Judges every engine of the problem's operator under the context's policy. Returns how many there are; 0 with the
 * context's error set for a text that is no problem. Under tuning=measure a problem that nobody has measured is
 * measured now, on data made for it. */
ISO_API int iso_plan_query(iso_context *ctx, const char *problem,
                           iso_plan_candidate candidates[ISO_MAX_PLAN_CANDIDATES]);

typedef enum iso_plan_source {
  ISO_PLAN_FROM_RULE = 0, /* an estimate                                    */
  ISO_PLAN_FROM_TUNER,    /* measured by this process                       */
  ISO_PLAN_FROM_STORE,    /* measured earlier and kept on disk              */
  ISO_PLAN_FROM_LOCK      /* pinned by the lockfile                         */
} iso_plan_source;
ISO_API const char *iso_plan_source_name(iso_plan_source source); /* "rule", "tuner", "store", "lock" */

/* One plan that a context has used. */
typedef struct iso_plan_use {
  char problem[ISO_PLAN_TEXT_BYTES];
  const char *engine;
  int revision;
  const char *class_name;
  size_t workspace_bytes;
  double estimated_ms, measured_ms; /* measured_ms 0: not measured */
  iso_plan_source source;
  bool loaded;     /* measured on a loaded machine: used by this process, not kept on disk */
  uint64_t n_uses; /* since the context opened or forgot                                    */
} iso_plan_use;

/* The plans that the context has used (or asked about, or tuned), each once, in the order of their first use: after one
 * training step, the problems of that step. At most 16384 are remembered. */
ISO_API size_t iso_plan_n_used(const iso_context *ctx);
/* The i-th; false beyond the end. */
ISO_API bool iso_plan_used(const iso_context *ctx, size_t i, iso_plan_use *out);
/* Starts anew: what follows is the only thing that iso_plan_used and iso_lock_write know. */
ISO_API void iso_plan_forget_used(iso_context *ctx);
/* "conv2d.fwd f32 n64 … -> cpu.avx2.igemm@1 class ordered ws 1.2MiB". Returns the length like snprintf. */
ISO_API int iso_plan_use_format(const iso_plan_use *use, char *text, size_t n_bytes);

/* ---- measuring ---- */

/* The plan for a problem, measured now unless it is pinned or was measured before, whatever the policy's tuning mode;
 * the policy's level, caps and budgets hold. `out` may be NULL. ISO_OK with source ISO_PLAN_FROM_RULE where there is
 * nothing to compare, the problem is too small to be worth it, or the job's budget is spent. */
ISO_API iso_status iso_plan_tune(iso_context *ctx, const char *problem, iso_plan_use *out);

/* Counted over a context and its children since it opened. */
typedef struct iso_tuner_stats {
  uint64_t n_timed;            /* problems that were measured                                         */
  uint64_t n_from_store;       /* problems whose choice came from disk                                */
  uint64_t n_from_lock;        /* … from the lockfile                                                 */
  uint64_t n_by_rule;          /* … from an estimate                                                  */
  uint64_t n_loaded;           /* measured, but the machine was too loaded to keep the result         */
  uint64_t n_out_of_budget;    /* decided by estimate since the job's tuning_budget was spent         */
  uint64_t n_samples;          /* taken                                                               */
  uint64_t n_samples_rejected; /* … and marked: the machine was doing something else                  */
  double spent_ms;             /* time spent measuring                                                */
} iso_tuner_stats;
ISO_API iso_tuner_stats iso_tuner_get_stats(const iso_context *ctx);

/* ---- benchmarks: what `isobit bench` prints, and the tuner does not need ---- */

/* GFLOP/s of register-only f32 FMAs (two each), over about slice_ms: of the context's device, or in the CPU's widest
 * vectors on the context's threads. */
ISO_API double iso_machine_peak_gflops(iso_context *ctx, double slice_ms);
/* GB/s read and written by copying a buffer larger than the caches, in the device's memory or on the context's threads;
 * 0 without memory. */
ISO_API double iso_machine_copy_gbs(iso_context *ctx, double slice_ms);
/* The same for the CPU's memory of any size: GB/s of reading n_bytes, or of copying half as many (read and written ones
 * count), on the context's threads: the best pass of about slice_ms. 0 without memory. */
typedef enum iso_traffic { ISO_TRAFFIC_READ = 0, ISO_TRAFFIC_COPY } iso_traffic;
ISO_API double iso_machine_traffic_gbs(iso_context *ctx, iso_traffic kind, size_t n_bytes, double slice_ms);

typedef struct iso_bench_result {
  double median_ms, spread_ms; /* distance between the quartiles */
  int n_samples;
  double flops, bytes; /* of the direct algorithm; each operand once */
  /* The largest error against float64 among sampled elements, relative to the sum of |terms|; NAN where the outputs are
   * no f32 or the engine's operator has no float64 reference. */
  double residual;
} iso_bench_result;
/* Runs one engine ("cpu.avx2.gemm_blocked"; any that the context's instruction set and dtype allow, whatever the
 * policy's level) on data made for the problem, for about budget_ms. ISO_NOT_FOUND for an unknown engine,
 * ISO_UNSUPPORTED where it does not compute the problem. */
ISO_API iso_status iso_bench_engine(iso_context *ctx, const char *problem, const char *engine, double budget_ms,
                                    iso_bench_result *out);

/* A problem's operands in memory, to time several engines on them in turn: what a fair comparison needs. NULL with the
 * context's error set. Freed before its context. */
typedef struct iso_bench iso_bench;
ISO_API iso_bench *iso_bench_new(iso_context *ctx, const char *problem);
ISO_API void iso_bench_free(iso_bench *bench);
/* One slice: runs the engine for about budget_ms, once at least; the first run, which brings caches and clock back, is
 * left out where there are others. No residual (NAN). Errors as above. */
ISO_API iso_status iso_bench_slice(iso_bench *bench, const char *engine, double budget_ms, iso_bench_result *out);

/* ---- the store: measured choices on disk, one small file each ---- */

/* Says where records are read and written. folder NULL: $ISOBIT_STORE, else $XDG_CACHE_HOME/isobit/plans, else
 * $HOME/.cache/isobit/plans; "none": nothing is kept. A shared folder (NULL: $ISOBIT_STORE_SHARED, "none" or unset: no
 * such folder) is read where the first has no record, and never written. A context that never calls this uses the
 * defaults. Nothing is touched before the first record is looked for, and a folder that cannot be made or written is
 * no error: work goes on, with one warning. Children share it. */
ISO_API iso_status iso_store_open(iso_context *ctx, const char *folder, const char *shared_folder);

typedef struct iso_store_folder {
  char path[512]; /* "": none                                                          */
  bool exists, writable;
  size_t n_records; /* whole ones                                                        */
  size_t n_bad;     /* files of a record's name whose content is not a record            */
  uint64_t n_bytes; /* of both                                                           */
} iso_store_folder;
typedef struct iso_store_info {
  iso_store_folder own, shared;
} iso_store_info;
/* Reads every record to say what is there: for `isobit doctor`, not for hot paths. */
ISO_API iso_status iso_store_get_info(iso_context *ctx, iso_store_info *info);

/* ---- lockfiles: sorted text, one plan a line ---- */

/* Writes the plans used (iso_plan_used) whole or not at all. ISO_STATE if more were used than are remembered. */
ISO_API iso_status iso_lock_write(iso_context *ctx, const char *path);
/* From now on the file's plans come first, and under tuning=replay nothing else is accepted: ISO_NO_PLAN names the
 * problem that is not there, or the engine or revision that this build does not have. A plan may be of another class
 * than the rule's, never below the policy's level. path NULL: forgets the lockfile. ISO_CORRUPT names line and content.
 * Children made afterwards share it. */
ISO_API iso_status iso_lock_load(iso_context *ctx, const char *path);
/* The hash of the loaded lockfile's plans, for manifests; false and "" if there is none. */
ISO_API bool iso_lock_hash(const iso_context *ctx, char hex[33]);

typedef struct iso_lock_finding {
  int line;           /* in the file; 1 is the header */
  const char *text;   /* the line                     */
  const char *reason; /* why it does not hold here    */
} iso_lock_finding;
/* Calls `report` (may be NULL) for each line whose problem, engine or revision this build does not have, or whose
 * engine does not compute its problem. *n_lines and *n_stale (may be NULL) count. The status is about reading the file
 * only. */
ISO_API iso_status iso_lock_check(iso_context *ctx, const char *path,
                                  void (*report)(void *user, const iso_lock_finding *finding), void *user,
                                  size_t *n_lines, size_t *n_stale);

typedef struct iso_lock_change {
  const char *problem;
  const char *before, *after; /* "cpu.avx2.igemm@1 class ordered ws 1.2MiB"; NULL: not in that file */
  bool other_class;           /* the bits may differ                                                */
} iso_lock_change;
/* Calls `report` for each problem that the two files do not plan alike, in the files' order; *n_changes counts.
 * Workspace sizes alone are no difference: they follow from the number of threads. */
ISO_API iso_status iso_lock_diff(iso_context *ctx, const char *path_before, const char *path_after,
                                 void (*report)(void *user, const iso_lock_change *change), void *user,
                                 size_t *n_changes);

#ifdef __cplusplus
}
#endif
#endif
