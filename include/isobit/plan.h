/* plan.h: which algorithms exist for a problem, which one is chosen, and why.
 *
 *   iso_plan_candidate c[ISO_MAX_PLAN_CANDIDATES];
 *   int n = iso_plan_query(ctx, "conv2d.fwd f32 n64 c64 h56 w56 k64 r3 s3 p1", c);
 *   for (int i = 0; i < n; i++) printf("%s: %s\n", c[i].engine, c[i].chosen ? "chosen" : c[i].reason);
 */
#ifndef ISOBIT_PLAN_H
#define ISOBIT_PLAN_H
#include <isobit/base.h>
#include <isobit/policy.h>
#ifdef __cplusplus
extern "C" {
#endif

enum { ISO_MAX_PLAN_CANDIDATES = 32 };

typedef struct iso_plan_candidate {
  const char *engine;      /* "cpu.avx2.gemm_6x16"                                             */
  int revision;
  const char *class_name;  /* numeric class: engines of one class give the same bits            */
  iso_repro level;         /* the highest level whose promise it keeps                          */
  iso_isa isa;
  double error_bound;      /* of its class against float64, relative to the sum of |terms|      */
  size_t workspace_bytes;
  double estimated_ms;
  double measured_ms;      /* 0: not measured                                                   */
  bool chosen;
  char reason[160];        /* why it was rejected; "" where it could be chosen                  */
} iso_plan_candidate;

/* Judges every engine of the problem's operator under the context's policy. Returns how many there are; 0 with the
 * context's error set for a text that is no problem. */
ISO_API int iso_plan_query(iso_context *ctx, const char *problem, iso_plan_candidate candidates[ISO_MAX_PLAN_CANDIDATES]);

#ifdef __cplusplus
}
#endif
#endif
