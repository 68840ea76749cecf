/* policy.h: every dial in one struct, presets by name, and what each costs and promises in words.
 *
 *   iso_policy p;
 *   iso_policy_preset("reproducible", &p);
 *   p.seed = 7;
 *   iso_context_options o = {.policy = &p};
 */
#ifndef ISOBIT_POLICY_H
#define ISOBIT_POLICY_H
#include <isobit/base.h>
#ifdef __cplusplus
extern "C" {
#endif

/* What stays the same; each level includes the ones before it. */
typedef enum iso_repro { ISO_REPRO_OFF = 0, ISO_REPRO_RUN, ISO_REPRO_INVARIANT, ISO_REPRO_PORTABLE } iso_repro;
ISO_API const char *iso_repro_name(iso_repro level); /* "off", "run", "invariant", "portable" */
/* How an engine is chosen inside what the level allows. */
typedef enum iso_tuning { ISO_TUNING_RULE = 0, ISO_TUNING_MEASURE, ISO_TUNING_REPLAY } iso_tuning;
/* Which classes the class rule may choose, by error. */
typedef enum iso_accuracy { ISO_ACCURACY_STRICT = 0, ISO_ACCURACY_STANDARD, ISO_ACCURACY_RELAXED } iso_accuracy;
ISO_API const char *iso_accuracy_name(iso_accuracy accuracy); /* "strict", "standard", "relaxed" */
/* In what form products read their f32 inputs. On a CPU only f32 exists today. */
typedef enum iso_math { ISO_MATH_F32 = 0, ISO_MATH_TF32, ISO_MATH_BF16, ISO_MATH_F16 } iso_math;

typedef struct iso_policy {
  iso_repro repro;
  iso_tuning tuning;
  iso_accuracy accuracy;
  iso_math math_matmul, math_conv;
  bool vendor;          /* whether cuBLAS and cuDNN engines may be used            */
  bool references_only; /* `plain`: the class references and nothing else         */
  int rule;             /* class rule: 1 = ordered convolution only, 2 = all classes */
  int leaves;           /* micro-batches a step is cut into, a power of two       */
  uint64_t seed;
  size_t workspace_limit;     /* bytes one operator may use, a hard cap; SIZE_MAX: none  */
  size_t memory_limit;        /* bytes of the whole context; 0: none                    */
  uint64_t tuning_budget_ms;  /* that a context and its children may spend measuring; UINT64_MAX: no bound */
  uint64_t problem_budget_ms; /* that one problem may cost                                                  */
} iso_policy;

/* The dials of a preset: fast, balanced, reproducible, default, portable, plain. ISO_NOT_FOUND for another name. */
ISO_API iso_status iso_policy_preset(const char *name, iso_policy *out);
/* The presets' names, NULL-terminated. */
ISO_API const char *const *iso_policy_names(void);
/* Sets one dial from text: "repro"="invariant", "tuning"="rule", "workspace_limit"="100MiB", "seed"="7", "leaves"="4" …
 * On an error writes a sentence naming dial, value and what is accepted into `message` (may be NULL). */
ISO_API iso_status iso_policy_set(iso_policy *policy, const char *dial, const char *value, char *message,
                                  size_t n_bytes);
/* Applies ISOBIT_REPRO, ISOBIT_TUNING, ISOBIT_TUNING_BUDGET, ISOBIT_PROBLEM_BUDGET, ISOBIT_ACCURACY,
 * ISOBIT_WORKSPACE_LIMIT, ISOBIT_MEMORY_LIMIT, ISOBIT_SEED, ISOBIT_LEAVES, ISOBIT_VENDOR, ISOBIT_RULE where set; and
 * the older CUDNN_WORKSPACE_LIMIT unless ours is set. On success `message` is empty or a note worth showing: that an
 * older name was used. */
ISO_API iso_status iso_policy_from_environment(iso_policy *policy, char *message, size_t n_bytes);
/* One line: "repro=invariant tuning=measure accuracy=standard … seed=0". Returns the length like snprintf. */
ISO_API int iso_policy_format(const iso_policy *policy, char *text, size_t n_bytes);
/* What the preset or dial promises, costs and is for, in a few sentences; NULL if the name is unknown. */
ISO_API const char *iso_policy_explain(const char *preset_or_dial);

/* The context's policy now, and a scoped change of it: part of a model under another level. */
ISO_API const iso_policy *iso_policy_current(const iso_context *ctx);
ISO_API iso_status iso_policy_push(iso_context *ctx, const iso_policy *policy);
ISO_API iso_status iso_policy_pop(iso_context *ctx);

#ifdef __cplusplus
}
#endif
#endif
