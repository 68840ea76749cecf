/* test_engines.c: every engine against its class reference, bit for bit, over all families' cases.c.
 *
 * For each case: data normal, tiny (subnormal products, signed zeros) and with NaN and infinities; operands aligned and
 * one element off; 1 to 4 threads; every instruction set the CPU has. Small outputs are compared whole with the
 * reference, large ones at corners, tile edges and seeded samples; all engines, threads and instruction sets of a class
 * must agree in every element. Guard zones round every operand must stay untouched, inputs unchanged. References of f32
 * are held against the same function in binary64 within the operator's stated bound.
 *
 * With a device (`--device cuda:0` first, or ISOBIT_TEST_DEVICE) rows for CUDA run there, on copies in its memory;
 * without one they are skipped by name.
 *
 * A soak does the same with random problems for a bounded time: three seconds of seed 1, or with --long three minutes
 * of a seed of that day. By hand: `test_engines --soak SECONDS SEED`, and `test_engines 'PROBLEM'` for one of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <math.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/cpu.h"
#include "base/fenv.h"
#include "cli/random_problem.h"
#include "numeric/dtype.h"
#include "plan/kept.h"
#include "plan/operands.h"
#include "plan/state.h"

#define FAMILY(family) extern const char *const iso__##family##_cases[];
#include "kernels/families.def"
#undef FAMILY
static const struct family {
  const char *name;
  const char *const *cases;
} families[] = {
#define FAMILY(family) {#family, iso__##family##_cases},
#include "kernels/families.def"
#undef FAMILY
};

enum { GUARD = 256, MAX_THREADS = 4, MAX_SAMPLES = 4096, N_ROWS = ISO__MAX_ROWS };
static const double whole_flops = 4e6, big_flops = 4e7; /* reference work a case; above it fewer variants are run */
static const double class_flops =
    1.5e5;           /* of a class that transforms tiles: each element is hundreds of times dearer */
static bool soaking; /* a few elements of the references, and all of the engines' against each other */
static iso_context *contexts[MAX_THREADS + 1];
static iso_context *on_device; /* NULL: rows for CUDA are skipped */
static bool exercised[N_ROWS];
static bool only_threads; /* under ThreadSanitizer: what the data are does not matter */
static bool sanitized;    /* instrumented code is slow: big problems are left to the plain build */

typedef enum mode { NORMAL, TINY, SPECIAL, N_MODES } mode;
static const char *const mode_names[] = {"normal", "tiny", "special"};

/* One operand in memory: guard, data (maybe one element off its alignment), guard. */
typedef struct zone {
  unsigned char *block, *data;
  size_t n_bytes, block_bytes;
} zone;

/* Operands are aligned to their items only, workspace to 64 bytes. In instrumented builds operands have no guards: a
 * read beyond the end is the sanitizer's to see, to the byte. */
static void zone_init(zone *z, size_t n_bytes, size_t alignment, bool off) {
  const bool exact = sanitized && alignment < 64;
  const size_t guard = exact ? 0 : GUARD;
  z->n_bytes = n_bytes;
  z->block_bytes = n_bytes + 2 * guard + (off ? alignment : 0);
  z->block = exact ? malloc(z->block_bytes + !z->block_bytes) : aligned_alloc(64, (z->block_bytes + 63) / 64 * 64);
  assert_non_null(z->block);
  memset(z->block, 0xA5, z->block_bytes);
  z->data = z->block + guard + (off ? alignment : 0);
}
static bool zone_guards_whole(const zone *z) {
  for (const unsigned char *p = z->block; p < z->data; p++)
    if (*p != 0xA5) return false;
  for (const unsigned char *p = z->data + z->n_bytes; p < z->block + z->block_bytes; p++)
    if (*p != 0xA5) return false;
  return true;
}

/* ---- data ---- */
static void distort(const iso__operand *operand, mode m, void *data, uint64_t seed) {
  const size_t item = iso_dtype_size(operand->dtype);
  static const double specials[] = {INFINITY, -INFINITY, NAN, -0.0, 1e-40, 3e38};
  if (m == NORMAL || operand->fill == ISO__FILL_INDEX || operand->dtype > ISO_BF16) return;
  for (int64_t i = 0; i < operand->n; i++) {
    void *at = (char *)data + (size_t)i * item;
    const uint64_t h = ((uint64_t)i + seed * 7919) * 0x9e3779b97f4a7c15u >> 33;
    double v;
    iso__cast_element(at, operand->dtype, &v, ISO_F64);
    if (m == TINY)
      v = h % 5 == 0 ? copysign(0, operand->fill == ISO__FILL_POSITIVE ? 1 : v) : v * (h % 3 ? 0x1p-70 : 0x1p-130);
    else if (h % 211 == 0) v = specials[(h >> 8) % 6];
    if (operand->fill == ISO__FILL_POSITIVE) v = fabs(v);
    iso__cast_element(&v, ISO_F64, at, operand->dtype);
  }
}

typedef struct run_data {
  const iso__problem *problem;
  int n;
  iso__operand operand[ISO__MAX_OPERANDS];
  void *initial[ISO__MAX_OPERANDS]; /* what each operand holds before a run */
} run_data;

static void data_init(run_data *d, const iso__problem *problem, mode m) {
  memset(d, 0, sizeof *d);
  d->problem = problem;
  d->n = iso__problem_operator(problem)->operands(problem, d->operand);
  assert_in_range(d->n, 1, ISO__MAX_OPERANDS);
  for (int i = 0; i < d->n; i++) {
    const size_t n_bytes = (size_t)d->operand[i].n * iso_dtype_size(d->operand[i].dtype);
    d->initial[i] = malloc(n_bytes + 1);
    memset(d->initial[i], 0xCD, n_bytes);
    if (!d->operand[i].input) continue;
    iso__operand_fill(&d->operand[i], 100 + (uint64_t)i, d->initial[i]);
    distort(&d->operand[i], m, d->initial[i], (uint64_t)i);
  }
}
static void data_release(run_data *d) {
  for (int i = 0; i < d->n; i++) free(d->initial[i]);
}

static void bind_all(const run_data *d, void *const *buffers, void *args) {
  const iso__operator *o = iso__problem_operator(d->problem);
  memset(args, 0, o->args_bytes);
  if (o->scalars) o->scalars(d->problem, args);
  for (int i = 0; i < d->n; i++) iso__operand_bind(&d->operand[i], args, buffers[i]);
}

static bool can_run(const iso__engine *row) {
  return row->isa == ISO_ISA_CUDA ? on_device != NULL : row->isa <= iso__cpu()->isa;
}

/* ---- on the device: the zones' bytes are copied there, guards and all, and back ---- */

static void *mirror(const zone *z) {
  const iso__device *device = iso__device_of(on_device);
  iso_status status;
  char *block = device->alloc(device, on_device->heap, z->block_bytes, &status);
  assert_non_null(block);
  assert_int_equal(device->copy(device, block, z->block, z->block_bytes), ISO_OK);
  return block;
}
static void mirror_end(zone *z, void *block) {
  const iso__device *device = iso__device_of(on_device);
  assert_int_equal(device->copy(device, z->block, block, z->block_bytes), ISO_OK);
  device->free(device, on_device->heap, block, z->block_bytes);
}
static void *in_mirror(const zone *z, void *block) { return (char *)block + (z->data - z->block); }

static void run_on_device(const run_data *d, iso__call *call, zone *zones, zone *ws, zone *kept, const char *what) {
  void *block[ISO__MAX_OPERANDS], *buffers[ISO__MAX_OPERANDS], *ws_block = mirror(ws), *kept_block = mirror(kept);
  _Alignas(16) unsigned char args[512];
  for (int i = 0; i < d->n; i++) block[i] = mirror(&zones[i]), buffers[i] = in_mirror(&zones[i], block[i]);
  bind_all(d, buffers, args);
  call->args = args;
  call->workspace = call->workspace_bytes ? in_mirror(ws, ws_block) : NULL;
  if (kept->n_bytes) call->engine->prepare(call, in_mirror(kept, kept_block)), call->kept = in_mirror(kept, kept_block);
  call->engine->run(call);
  if (iso__device_of(on_device)->synchronize(iso__device_of(on_device)) != ISO_OK || iso_error_code(on_device)) {
    fprintf(stderr, "%s: the device failed: %s\n", what, iso_error_message(on_device));
    exit(2); /* nothing runs on it any more */
  }
  for (int i = 0; i < d->n; i++) mirror_end(&zones[i], block[i]);
  mirror_end(ws, ws_block), mirror_end(kept, kept_block);
}

/* Runs one row once; the outputs are left in `out` (one malloc'd block an output operand). */
static void run_row(const run_data *d, const iso__engine *row, iso_context *ctx, bool off, void **out,
                    const char *what) {
  zone zones[ISO__MAX_OPERANDS], ws;
  void *buffers[ISO__MAX_OPERANDS];
  _Alignas(16) unsigned char args[512];
  for (int i = 0; i < d->n; i++) {
    const size_t item = iso_dtype_size(d->operand[i].dtype);
    zone_init(&zones[i], (size_t)d->operand[i].n * item, item, off);
    buffers[i] = memcpy(zones[i].data, d->initial[i], zones[i].n_bytes);
  }
  bind_all(d, buffers, args);
  const bool device = row->isa == ISO_ISA_CUDA;
  if (device) ctx = on_device;
  const size_t ws_bytes = row->workspace(d->problem, iso__plan_width(ctx));
  zone_init(&ws, ws_bytes, 64, false);
  memset(ws.data, 0xFF, ws_bytes); /* NaNs: whoever reads before writing is seen */
  iso__call call = {.ctx = ctx,
                    .engine = row,
                    .problem = d->problem,
                    .args = args,
                    .workspace = ws_bytes ? ws.data : NULL,
                    .workspace_bytes = ws_bytes};
  zone kept;
  const size_t kept_bytes = d->problem->kept && row->kept_bytes ? row->kept_bytes(d->problem) : 0;
  zone_init(&kept, kept_bytes, 64, false);
  const iso__fenv saved = iso__fenv_enter();
  if (device) run_on_device(d, &call, zones, &ws, &kept, what);
  if (kept_bytes && !device) row->prepare(&call, kept.data), call.kept = kept.data, memset(ws.data, 0xFF, ws_bytes);
  if (!device) row->run(&call);
  iso__fenv_leave(saved);
  if (!zone_guards_whole(&kept)) fail_msg("%s wrote outside its kept weights", what);
  free(kept.block);
  if (!zone_guards_whole(&ws)) fail_msg("%s wrote outside its workspace", what);
  for (int i = 0; i < d->n; i++) {
    if (!zone_guards_whole(&zones[i])) fail_msg("%s wrote outside operand %s", what, d->operand[i].name);
    if (!d->operand[i].output && memcmp(zones[i].data, d->initial[i], zones[i].n_bytes))
      fail_msg("%s changed its input %s", what, d->operand[i].name);
    out[i] = NULL;
    if (d->operand[i].output) out[i] = memcpy(malloc(zones[i].n_bytes + 1), zones[i].data, zones[i].n_bytes);
    free(zones[i].block);
  }
  free(ws.block);
}

/* ---- comparing ---- */
static int64_t first_difference(const void *a, const void *b, int64_t n, iso_dtype dtype) {
  if (iso_same_bits(a, b, (size_t)n, dtype)) return -1;
  const size_t item = iso_dtype_size(dtype);
  for (int64_t i = 0; i < n; i++)
    if (!iso_same_bits((const char *)a + (size_t)i * item, (const char *)b + (size_t)i * item, 1, dtype)) return i;
  return -1;
}
static void element_text(const void *data, int64_t i, iso_dtype dtype, char text[48]) {
  double v;
  iso__cast_element((const char *)data + (size_t)i * iso_dtype_size(dtype), dtype, &v, ISO_F64);
  snprintf(text, 48, "%a", v);
}

/* The reference's elements: whole when cheap, else samples. */
typedef struct expectation {
  int n;
  int64_t index[MAX_SAMPLES];
  unsigned char value[MAX_SAMPLES][8];
  bool written[MAX_SAMPLES];
} expectation;

static double work_per_element(const run_data *d) {
  int64_t n_out = 0;
  for (int i = 0; i < d->n; i++) n_out += d->operand[i].output ? d->operand[i].n : 0;
  const iso__operator *o = iso__problem_operator(d->problem);
  if (o->element_flops) return o->element_flops(d->problem) + 1;
  return (o->flops(d->problem) + o->bytes(d->problem)) / (double)(n_out ? n_out : 1) + 1;
}
/* Of the reference, for all elements. */
static double whole_work(const iso__problem *problem) {
  const iso__operator *o = iso__problem_operator(problem);
  iso__operand operands[ISO__MAX_OPERANDS];
  double elements = 0;
  if (!o->element_flops) return o->flops(problem) + o->bytes(problem);
  for (int n = o->operands(problem, operands), i = 0; i < n; i++)
    if (operands[i].output) elements += (double)operands[i].n;
  return elements * o->element_flops(problem);
}

static bool transforms(const iso__engine *reference) { return reference->accuracy != ISO_ACCURACY_STRICT; }

static void expect(const run_data *d, const iso__engine *reference, int operand, expectation *e) {
  void *buffers[ISO__MAX_OPERANDS];
  _Alignas(16) unsigned char args[512];
  for (int i = 0; i < d->n; i++) buffers[i] = d->initial[i];
  bind_all(d, buffers, args);
  const int64_t n = d->operand[operand].n;
  const bool thin = soaking || (sanitized && transforms(reference)); /* the plain build has looked at more */
  double budget = (transforms(reference) ? class_flops : whole_flops) / (thin ? 100 : 1) / work_per_element(d);
  if (budget > (double)MAX_SAMPLES) budget = MAX_SAMPLES;
  if (budget < (thin ? 4 : 24)) budget = thin ? 4 : 24;
  e->n = (int)((double)n < budget ? (double)n : budget);
  for (int i = 0; i < e->n; i++) {
    const uint64_t h = ((uint64_t)i + 1) * 0x9e3779b97f4a7c15u >> 17;
    e->index[i] = e->n == n ? i : i < 8 ? i : i < 16 ? n - 1 - (i - 8) : (int64_t)(h % (uint64_t)n);
    e->written[i] = reference->element(d->problem, args, operand, e->index[i], e->value[i]);
  }
}

static void compare(const run_data *d, int operand, const expectation *e, const void *out, const char *what) {
  const iso_dtype dtype = d->operand[operand].dtype;
  const size_t item = iso_dtype_size(dtype);
  for (int i = 0; i < e->n; i++) {
    const int64_t at = e->index[i];
    const void *want =
        e->written[i] ? (const void *)e->value[i] : (const char *)d->initial[operand] + (size_t)at * item;
    if (iso_same_bits(want, (const char *)out + (size_t)at * item, 1, dtype)) continue;
    char a[48], b[48];
    element_text(want, 0, dtype, a), element_text(out, at, dtype, b);
    fail_msg("%s: %s[%lld] is %s, the reference says %s%s", what, d->operand[operand].name, (long long)at, b, a,
             e->written[i] ? "" : " (a hole)");
  }
}

/* ---- one case ---- */
static void check_class(const run_data *d, const iso__engine *reference, const char *text, mode m, bool big) {
  static expectation expected[ISO__MAX_OPERANDS];
  void *first[ISO__MAX_OPERANDS] = {0}, *out[ISO__MAX_OPERANDS];
  bool have_first = false, reference_too = !big;
  if (transforms(reference)) {
    const iso__operator *o = iso__problem_operator(d->problem);
    reference_too = o->flops(d->problem) + o->bytes(d->problem) <= class_flops;
  }
  for (int i = 0; i < d->n; i++) expected[i].n = 0;
  for (int i = 0; i < d->n && reference->element; i++)
    if (d->operand[i].output) expect(d, reference, i, &expected[i]);
  if (!reference->element) run_row(d, reference, contexts[1], false, first, text), have_first = true;
  for (const iso__engine *row = iso__the_registry.engines; row->name; row++) {
    if (row->op != reference->op || strcmp(row->class_name, reference->class_name)) continue;
    if (!(row->dtypes & ISO__DTYPE_BIT(d->problem->dtype)) || row->applicable(d->problem) ||
        (row->reference && (soaking || !reference_too || (sanitized && transforms(reference)))))
      continue;
    exercised[row - iso__the_registry.engines] = true; /* here, or where it can run */
    if (!can_run(row)) continue;
    for (int threads = 1; threads <= (row->reference || row->isa == ISO_ISA_CUDA ? 1
                                      : big                                      ? 3
                                                                                 : MAX_THREADS);
         threads += sanitized ? 2 : 1)
      for (int off = sanitized; off < (big && !sanitized ? 1 : 2); off++) {
        char what[512];
        snprintf(what, sizeof what, "%s on '%s', %s data, %d threads, %s", row->name, text, mode_names[m], threads,
                 off ? "one element off" : "aligned");
        run_row(d, row, contexts[threads], off, out, what);
        for (int i = 0; i < d->n; i++) {
          if (!out[i]) continue;
          compare(d, i, &expected[i], out[i], what);
          if (!have_first) {
            first[i] = out[i];
            continue;
          }
          const int64_t at = first_difference(first[i], out[i], d->operand[i].n, d->operand[i].dtype);
          if (at >= 0)
            fail_msg("%s: %s[%lld] differs from another engine of class %s", what, d->operand[i].name, (long long)at,
                     row->class_name);
          free(out[i]);
        }
        have_first = true;
      }
  }
  for (int i = 0; i < d->n; i++) free(first[i]);
}

/* One problem in f32, and in binary64 on the same inputs: as they are, and made absolute (the sum of |terms|). */
typedef struct widened {
  run_data narrow, exact, magnitude;
  const iso__engine *plain; /* the operator's main class: what is computed, whatever the class */
} widened;

static void widen_operand(const run_data *narrow, run_data *wide, int i, bool absolute) {
  iso__cast(narrow->initial[i], narrow->operand[i].dtype, wide->initial[i], wide->operand[i].dtype,
            (size_t)narrow->operand[i].n);
  double *v = wide->initial[i];
  for (int64_t j = 0; absolute && wide->operand[i].dtype == ISO_F64 && j < wide->operand[i].n; j++) v[j] = fabs(v[j]);
}

static void widened_init(widened *w, const iso__problem *problem, iso__problem *wide) {
  data_init(&w->narrow, problem, NORMAL), data_init(&w->exact, wide, NORMAL), data_init(&w->magnitude, wide, NORMAL);
  for (int i = 0; i < w->narrow.n; i++)
    if (w->narrow.operand[i].input)
      widen_operand(&w->narrow, &w->exact, i, false), widen_operand(&w->narrow, &w->magnitude, i, true);
}

/* Classes that transform whole tiles state their bound relative to the largest sum of |terms| nearby; data are alike
 * everywhere here. */
static double largest(const expectation *magnitude) {
  double most = 0;
  for (int j = 0; j < magnitude->n; j++) {
    double v;
    memcpy(&v, magnitude->value[j], 8);
    if (magnitude->written[j] && isfinite(v)) most = fmax(most, v);
  }
  return most;
}

/* Elements of operand i, from `out` or, without it, the reference's own, within the bound of binary64 (0: the class's).
 */
static void check_elements(const widened *w, const iso__engine *reference, int i, const float *out, double bound,
                           const char *what) {
  static expectation a, b, c;
  if (bound <= 0) bound = iso__class_error_bound(reference);
  expect(&w->narrow, reference, i, &a), expect(&w->exact, w->plain, i, &b), expect(&w->magnitude, w->plain, i, &c);
  const double nearby = reference == w->plain && !out ? 0 : largest(&c); /* free rows may transform tiles, too */
  for (int j = 0; j < a.n && j < b.n; j++) {
    float x;
    double y, scale;
    memcpy(&x, out ? (const void *)(out + a.index[j]) : a.value[j], 4), memcpy(&y, b.value[j], 8),
        memcpy(&scale, c.value[j], 8);
    if (a.index[j] != b.index[j] || !a.written[j] || !isfinite(y)) continue; /* sampled differently: wider costs more */
    scale = fmax(fmax(fabs(y), isfinite(scale) ? fabs(scale) : 0), nearby) + 1e-30;
    if (!(fabs((double)x - y) <= bound * scale))
      fail_msg("%s: %s[%lld] = %a, in binary64 %a: %.3g where the bound is %.3g", what, w->narrow.operand[i].name,
               (long long)a.index[j], (double)x, y, fabs((double)x - y) / scale, bound);
  }
}

/* The outputs of two runs on the same operands. */
static void check_repeats(const widened *w, const iso__engine *row, void *const *first, const char *what) {
  void *again[ISO__MAX_OPERANDS];
  run_row(&w->narrow, row, contexts[1], false, again, what);
  for (int i = 0; i < w->narrow.n; i++) {
    if (!again[i]) continue;
    const int64_t at = first_difference(first[i], again[i], w->narrow.operand[i].n, w->narrow.operand[i].dtype);
    if (at >= 0) fail_msg("%s: %s[%lld] differs when it runs again", what, w->narrow.operand[i].name, (long long)at);
    free(again[i]);
  }
}

/* Rows whose bits nobody specifies still compute the problem: rows that promise nothing within the operator's bound, in
 * any order, opaque classes of vendors within their own; those give the same bits when they run again. */
static void check_free_rows(const widened *w, const iso__engine *reference, const char *text) {
  for (const iso__engine *row = iso__the_registry.engines; row->name; row++) {
    if (row->op != reference->op || (row->level != ISO_REPRO_OFF && !row->library) ||
        !(row->dtypes & ISO__DTYPE_BIT(w->narrow.problem->dtype)) || iso__engine_refuses(row, w->narrow.problem))
      continue;
    exercised[row - iso__the_registry.engines] = true;
    if (!can_run(row)) continue;
    for (int threads = 1; threads <= (row->isa == ISO_ISA_CUDA ? 2 : MAX_THREADS); threads++) {
      void *out[ISO__MAX_OPERANDS];
      char what[512];
      snprintf(what, sizeof what, "%s on '%s', %d threads", row->name, text, threads);
      run_row(&w->narrow, row, contexts[threads], threads == 2, out, what);
      for (int i = 0; i < w->narrow.n; i++)
        if (out[i] && w->narrow.operand[i].dtype == ISO_F32)
          check_elements(w, reference, i, out[i], row->library ? row->error_bound : 0, what);
      if (row->library && row->level == ISO_REPRO_RUN && threads == 1) check_repeats(w, row, out, what);
      for (int i = 0; i < w->narrow.n; i++) free(out[i]);
    }
  }
}

static void check_bound(const iso__problem *problem, const iso__engine *reference, const char *text) {
  _Alignas(16) unsigned char wide_bytes[ISO__MAX_PROBLEM_BYTES];
  iso__problem *wide = memcpy(wide_bytes, problem, problem->n_bytes);
  widened w;
  wide->dtype = ISO_F64;
  if (!(reference->dtypes & ISO__DTYPE_BIT(ISO_F64)) || iso__problem_operator(problem)->error_bound <= 0) return;
  widened_init(&w, problem, wide);
  w.plain = iso__wide_reference(problem->op);
  for (int i = 0; i < w.narrow.n; i++)
    if (w.narrow.operand[i].output && w.narrow.operand[i].dtype == ISO_F32)
      check_elements(&w, reference, i, NULL, 0, text);
  if (reference == w.plain) check_free_rows(&w, reference, text);
  data_release(&w.narrow), data_release(&w.exact), data_release(&w.magnitude);
}

static void test_case(void **state) {
  const char *text = *state;
  char again[512];
  _Alignas(16) unsigned char bytes[ISO__MAX_PROBLEM_BYTES], bytes_again[ISO__MAX_PROBLEM_BYTES];
  iso__problem *problem = (iso__problem *)bytes;
  if (iso__problem_parse(contexts[1], text, bytes) != ISO_OK) fail_msg("%s", iso_error_message(contexts[1]));
  iso__problem_format(problem, again, sizeof again);
  assert_int_equal(iso__problem_parse(contexts[1], again, bytes_again), ISO_OK);
  assert_memory_equal(bytes, bytes_again, problem->n_bytes);

  const double flops = whole_work(problem);
  const bool big = flops > (sanitized ? big_flops / 100 : big_flops);
  if (sanitized && flops > big_flops / 20) {
    if (soaking) return;
    skip();
  }
  int n_classes = 0;
  for (const iso__engine *r = iso__the_registry.engines; r->name; r++) {
    if (r->op != problem->op || !r->reference || !(r->dtypes & ISO__DTYPE_BIT(problem->dtype)) ||
        r->applicable(problem))
      continue;
    n_classes++;
    for (int m = 0; m < (big || only_threads ? 1 : N_MODES); m++) {
      run_data d;
      data_init(&d, problem, (mode)m);
      check_class(&d, r, text, (mode)m, big);
      data_release(&d);
    }
    /* A tile's transforms also see the weights that only padding meets, which no sum of |terms| has where an image is
     * hardly more than its padding: of those classes a soak holds the bits alone. */
    const bool has_bound = !soaking || r == iso__wide_reference(problem->op);
    if (problem->dtype == ISO_F32 && !only_threads && has_bound) check_bound(problem, r, text);
  }
  assert_true(n_classes > 0);
}

/* A row that no case reaches is a row that nobody tests. */
static void test_every_row_is_exercised(void **state) {
  (void)state;
  int n_missing = 0;
  for (const iso__engine *row = iso__the_registry.engines; row->name; row++) {
    const char *missing = can_run(row) ? iso__engine_library_missing(row) : NULL;
    if (!can_run(row)) printf("[  SKIPPED ] %s: this machine has no %s\n", row->name, iso_isa_name(row->isa));
    if (missing) printf("[  SKIPPED ] %s: %s\n", row->name, missing);
    if (sanitized || (row->library && (missing || !can_run(row)))) continue; /* some rows are for big problems only */
    if (row->library && !exercised[row - iso__the_registry.engines]) {
      printf("[  SKIPPED ] %s: its library takes none of the cases\n", row->name);
      continue;
    }
    if (!exercised[row - iso__the_registry.engines]) printf("no case reaches %s\n", row->name), n_missing++;
  }
  assert_int_equal(n_missing, 0);
}

/* Every open class has a reference. */
static void test_every_class_has_a_reference(void **state) {
  (void)state;
  for (const iso__engine *row = iso__the_registry.engines; row->name; row++) {
    const iso__engine *reference = iso__class_reference(row);
    if (row->level >= ISO_REPRO_INVARIANT && !(reference && !(row->dtypes & ~reference->dtypes)))
      fail_msg("%s: class %s has no reference", row->name, row->class_name);
  }
}

/* ---- the soak ---- */

static struct soak {
  double seconds;
  uint64_t seed, n;
  char problem[512]; /* where it is */
} soak = {.seconds = 3, .seed = 1};

static void test_soak(void **state) {
  (void)state;
  const uint64_t end = iso__clock_ns() + (uint64_t)(soak.seconds * 1e9);
  soaking = true;
  for (soak.n = 0; soak.n == 0 || iso__clock_ns() < end; soak.n++) {
    random_problem(RANDOM_ODD, soak.seed, soak.n, soak.problem, sizeof soak.problem);
    if (sanitized) fprintf(stderr, "soak: %s\n", soak.problem); /* a sanitizer ends the process */
    test_case(&(void *){soak.problem});
  }
  soaking = false;
  printf("soak: %llu problems of seed %llu\n", (unsigned long long)soak.n, (unsigned long long)soak.seed);
}

static void choose_soak(int argc, char **argv) {
  if (argc > 2) soak.seconds = strtod(argv[2], NULL);
  if (argc > 3) soak.seed = strtoull(argv[3], NULL, 10);
  if (argc > 2 || !getenv("ISOBIT_TEST_LONG")) return;
  soak.seconds = 180;
  soak.seed = (uint64_t)time(NULL) / 86400;
}

static int run_and_close(const struct CMUnitTest *tests, size_t n) {
  const int n_failed = _cmocka_run_group_tests("engines", tests, n, NULL, NULL);
  if (n_failed && *soak.problem)
    printf("the soak's last problem, %llu of seed %llu: '%s'\n", (unsigned long long)soak.n,
           (unsigned long long)soak.seed, soak.problem);
  for (int t = 1; t <= MAX_THREADS; t++) iso__context_free(contexts[t]);
  iso__context_free(on_device);
  return n_failed;
}

static bool open_device(const char *name) {
  char why[256];
  const iso__device *device;
  if (iso__device_find(name, &device, why, sizeof why) != ISO_OK) return fprintf(stderr, "%s\n", why), false;
  if (device == &iso__device_cpu) return true;
  if (iso__context_new(NULL, NULL, 1, iso__cpu()->isa, &on_device) != ISO_OK || iso__plan_attach(on_device) != ISO_OK)
    return false;
  on_device->device = device;
  return true;
}

int main(int argc, char **argv) {
  const char *instrumented = getenv("ISOBIT_TEST_SANITIZED");
  sanitized = instrumented != NULL;
  only_threads = instrumented && !strcmp(instrumented, "thread");
  static struct CMUnitTest tests[8192];
  size_t n = 0;
  for (int t = 1; t <= MAX_THREADS; t++) {
    if (iso__context_new(NULL, NULL, t, iso__cpu()->isa, &contexts[t]) != ISO_OK) return 1;
    if (iso__plan_attach(contexts[t]) != ISO_OK) return 1;
  }
  const char *device = getenv("ISOBIT_TEST_DEVICE");
  if (argc > 2 && !strcmp(argv[1], "--device")) device = argv[2], argv += 2, argc -= 2;
  if (device && *device && !open_device(device)) return 1;
  const struct CMUnitTest soak_test = {.name = "a soak of random problems", .test_func = test_soak};
  choose_soak(argc, argv);
  if (argc > 1 && !strcmp(argv[1], "--soak")) return run_and_close(&soak_test, 1);
  /* With arguments: only the families or problems that begin with one of them, or else the problem it says. */
  for (int a = 1; a < argc || a == 1; a++) {
    const size_t n_before = n;
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
      for (const char *const *c = families[f].cases; c && *c; c++) {
        const bool wanted = argc < 2 || !strcmp(families[f].name, argv[a]) || !strncmp(*c, argv[a], strlen(argv[a]));
        if (!wanted) continue;
        if (n + 16 > sizeof tests / sizeof *tests)
          return fprintf(stderr, "more cases than this program has room for\n");
        tests[n++] = (struct CMUnitTest){.name = *c, .test_func = test_case, .initial_state = (void *)(uintptr_t)*c};
      }
    if (n == n_before)
      tests[n++] = (struct CMUnitTest){.name = argv[a], .test_func = test_case, .initial_state = argv[a]};
  }
  if (argc < 2) {
    tests[n++] =
        (struct CMUnitTest){.name = "every class has a reference", .test_func = test_every_class_has_a_reference};
    tests[n++] = (struct CMUnitTest){.name = "every row is exercised", .test_func = test_every_row_is_exercised};
    tests[n++] = soak_test;
  }
  return run_and_close(tests, n);
}
