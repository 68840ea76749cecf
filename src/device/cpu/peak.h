/* peak.h: the most fused multiply-adds a second that this machine does, measured, not looked up.
 *
 * One kernel an instruction set: a loop of independent FMAs that live in registers, twelve chains of them, enough to
 * cover the latency (4 cycles) of both FMA units. What a product reaches of this is its efficiency. */
#ifndef ISO_DEVICE_CPU_PEAK_H
#define ISO_DEVICE_CPU_PEAK_H
#include <isobit/base.h>

enum { ISO__PEAK_CHAINS = 12 };

/* Runs n_rounds rounds of one FMA a chain, x = x·factor + term; returns a value that depends on all of them. */
typedef float iso__peak_run(int64_t n_rounds, float factor, float term);
typedef struct iso__peak_kernel {
  int n_lanes; /* elements of one vector */
  iso__peak_run *run;
} iso__peak_kernel;
extern const iso__peak_kernel iso__peak_scalar, iso__peak_avx2, iso__peak_avx512;

/* GFLOP/s of n_threads threads together (an FMA counts as two), over one slice of about slice_ms; the caller is one of
 * the threads, so that a single one measures the core that its other work runs on. 0 when threads are missing. */
double iso__peak_measure(iso_isa isa, int n_threads, double slice_ms);

#endif
