/* lines_impl.h: scans that need no panels: sums and products of integers (class `integer`), extrema with their
 * positions (class `extremum`); included once per instruction set, which names its exports by ISA(name).
 *
 * A line is one loop; threads share lines, numbered through all outer indices. A new extremum is rare on most data, so
 * finding one is a branch and not a chain of selections. */
#include "base/pool.h"
#include "kernels/scan/scan.h"
#include "numeric/vec.h"

enum { GRAIN_ELEMENTS = 32768, LINE_BLOCK = 64 };

#define TYPE int64_t
#define NAME(f) f##_i64
#define SUMS
#include "kernels/scan/lines_body.h"
#define TYPE int32_t
#define NAME(f) f##_i32
#define SUMS
#include "kernels/scan/lines_body.h"
#define TYPE uint8_t
#define NAME(f) f##_u8
#define SUMS
#include "kernels/scan/lines_body.h"
#define TYPE float
#define NAME(f) f##_f32
#include "kernels/scan/lines_body.h"
#define TYPE double
#define NAME(f) f##_f64
#include "kernels/scan/lines_body.h"

static void run_lines(void *arg, int64_t begin, int64_t end, int thread) {
  const iso__call *call = arg;
  const iso_scan_problem *p = (const iso_scan_problem *)call->problem;
  const iso_scan_args *a = call->args;
  (void)thread;
  for (int64_t c = begin; c < end;) {
    const int64_t inner = c % p->inner, left = p->inner - inner;
    int64_t m = end - c < left ? end - c : left;
    if (m > LINE_BLOCK) m = LINE_BLOCK;
    const int64_t first = (c / p->inner * p->n + (p->reverse ? p->n - 1 : 0)) * p->inner + inner;
    switch ((iso_dtype)p->head.dtype) {
    case ISO_F32: lines_f32(p, a, first, m); break;
    case ISO_F64: lines_f64(p, a, first, m); break;
    case ISO_I64: lines_i64(p, a, first, m); break;
    case ISO_I32: lines_i32(p, a, first, m); break;
    default: lines_u8(p, a, first, m); break;
    }
    c += m;
  }
}

void ISA(iso__scan_lines_run)(const iso__call *call) {
  const iso_scan_problem *p = (const iso_scan_problem *)call->problem;
  if (p->outer == 0 || p->n == 0 || p->inner == 0) return;
  iso__parallel_range(call->ctx, p->outer * p->inner, GRAIN_ELEMENTS / p->n + 1, p->inner > 16 ? 16 : 1, run_lines,
                      (void *)(uintptr_t)call);
}
