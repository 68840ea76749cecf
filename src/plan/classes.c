/* classes.c: rows by operator and classes by row, found once: judging a new shape costs microseconds however many
 * engines there are. */
#include <pthread.h>
#include "device/vendor/library.h"
#include "plan/state.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint16_t first_row[ISO__N_OPS], next_row[ISO__MAX_ROWS], reference_row[ISO__MAX_ROWS]; /* 1 + row; 0: none */

static void link_rows(void) {
  const iso__engine *rows = iso__the_registry.engines;
  int n = 0;
  while (rows[n].name) n++;
  for (int i = n - 1; i >= 0; i--) next_row[i] = first_row[rows[i].op], first_row[rows[i].op] = (uint16_t)(i + 1);
  for (int i = 0; i < n; i++)
    for (int j = first_row[rows[i].op]; j && !reference_row[i]; j = next_row[j - 1])
      if (rows[j - 1].reference && !strcmp(rows[j - 1].class_name, rows[i].class_name)) reference_row[i] = (uint16_t)j;
}

static const iso__engine *row(int index) { return index ? &iso__the_registry.engines[index - 1] : NULL; }

const iso__engine *iso__engine_first(uint16_t op) {
  pthread_once(&once, link_rows);
  return row(first_row[op]);
}
const iso__engine *iso__engine_next(const iso__engine *engine) {
  return row(next_row[engine - iso__the_registry.engines]);
}

const iso__engine *iso__engine_named(uint16_t op, const char *name) {
  for (const iso__engine *e = iso__engine_first(op); e; e = iso__engine_next(e))
    if (!strcmp(e->name, name)) return e;
  return NULL;
}

const iso__engine *iso__wide_reference(uint16_t op) {
  for (const iso__engine *e = iso__engine_first(op); e; e = iso__engine_next(e))
    if (e->element && (e->dtypes & ISO__DTYPE_BIT(ISO_F64))) return e;
  return NULL;
}

const iso__engine *iso__class_reference(const iso__engine *engine) {
  pthread_once(&once, link_rows);
  return row(reference_row[engine - iso__the_registry.engines]);
}

const char *iso__engine_library_missing(const iso__engine *engine) {
  if (!engine->library) return NULL;
  const iso__vendor_library *library = iso__vendor_library_of((iso__vendor)(engine->library - 1));
  return !library->handle                          ? library->reason
         : library->major != engine->library_major ? "is for another version of the library than the one loaded"
                                                   : NULL;
}

const char *iso__engine_refuses(const iso__engine *engine, const iso__problem *problem) {
  const char *why = iso__engine_library_missing(engine);
  return why ? why : engine->applicable(problem);
}

double iso__class_error_bound(const iso__engine *engine) {
  const iso__engine *reference = engine->library ? engine : iso__class_reference(engine);
  return reference && reference->error_bound > 0 ? reference->error_bound
                                                 : iso__the_registry.operators[engine->op]->error_bound;
}
