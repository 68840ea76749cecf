/* run_engine.h: one row on one problem, with workspace of its own, for tests that choose rows themselves. */
#ifndef ISO_TESTS_RUN_ENGINE_H
#define ISO_TESTS_RUN_ENGINE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "plan/state.h"

static inline void run_engine(iso_context *ctx, const iso__engine *row, const iso__problem *problem, const void *args) {
  const size_t n_bytes = row->workspace(problem, ctx->n_threads);
  void *workspace = aligned_alloc(64, n_bytes / 64 * 64 + 64);
  assert_non_null(workspace);
  iso__call_run(&(iso__call){.ctx = ctx,
                             .engine = row,
                             .problem = problem,
                             .args = args,
                             .workspace = n_bytes ? workspace : NULL,
                             .workspace_bytes = n_bytes});
  free(workspace);
}
#endif
