/* test_trace.c: traces and events: a training step on the CPU, whose runs are the plans used; a device of the test's
 * own, whose clock and waits are known; every allocation failed in turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/isobit.h>
#include "device/trace.h"

typedef struct job {
  iso_context *ctx;
  iso_module *net;
  iso_optimizer *sgd;
  iso_tensor *x, *y;
} job;

static iso_module *net_of(iso_context *ctx) {
  iso_module *inner[2], *outer[2];
  inner[0] = iso_linear_module(ctx, 6, 5, true), inner[1] = iso_relu_module(ctx);
  outer[0] = iso_sequential(ctx, 2, inner), outer[1] = iso_linear_module(ctx, 5, 3, true);
  return iso_sequential(ctx, 2, outer);
}

static job job_new(iso_context *ctx) {
  job j = {.ctx = ctx, .net = net_of(ctx)};
  size_t n = 0;
  const iso_named_tensor *weights = iso_module_tensors(j.net, &n);
  j.sgd = iso_sgd_new(ctx, n, weights, &(iso_sgd_options){.lr = 0.1});
  j.x = iso_keep(iso_random_normal(ctx, ISO_F32, 2, ISO_DIMS(8, 6), 0, 1));
  j.y = iso_keep(iso_argmax(ctx, iso_slice(ctx, j.x, 1, 0, 3, 1), 1, false));
  return j;
}
static void job_free(job *j) {
  iso_release(j->x), iso_release(j->y);
  iso_optimizer_free(j->sgd);
  iso_module_free(j->net);
}

static iso_status step(job *j) {
  double value = 0;
  iso_scope_push(j->ctx);
  iso_tensor *loss = iso_cross_entropy(j->ctx, iso_module_forward(j->net, j->x), j->y, NULL);
  iso_status status = loss ? iso_backward(loss) : iso_error_code(j->ctx);
  if (status == ISO_OK) status = iso_tensor_item(loss, &value);
  if (status == ISO_OK) status = iso_optimizer_step(j->sgd);
  iso_optimizer_zero_grad(j->sgd);
  iso_scope_pop(j->ctx);
  return status;
}

static iso_context *context(void) {
  iso_context *ctx;
  iso_policy policy;
  assert_int_equal(iso_policy_preset("reproducible", &policy), ISO_OK);
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = 1, .policy = &policy}, &ctx), ISO_OK);
  return ctx;
}

static uint64_t plans_run(const iso_context *ctx) {
  uint64_t n = 0;
  iso_plan_use use;
  for (size_t i = 0; iso_plan_used(ctx, i, &use); i++) n += use.n_uses;
  return n;
}

/* ---- the CPU ---- */

static void test_a_step_on_the_cpu(void **state) {
  (void)state;
  iso_context *ctx = context();
  job j = job_new(ctx);
  assert_int_equal(step(&j), ISO_OK);
  iso_plan_forget_used(ctx);
  assert_int_equal(iso_trace_start(ctx, &(iso_trace_options){.count_launches = true}), ISO_OK);
  assert_int_equal(iso_trace_n(ctx), 0);
  assert_int_equal(step(&j), ISO_OK);
  assert_int_equal(iso_trace_stop(ctx), ISO_OK);
  static iso_trace_entry e, span;
  uint64_t n_runs = 0, n_launches = 0;
  bool forward = false, backward = false, update = false;
  double last = 0;
  for (size_t i = 0; iso_trace_get(ctx, i, &e); i++) {
    assert_true(e.begin_ms >= last && e.host_ms >= 0 && e.device_ms == e.host_ms && e.device_begin_ms == e.begin_ms);
    last = e.begin_ms;
    if (e.kind == ISO_TRACE_SPAN) span = e;
    if (e.kind != ISO_TRACE_RUN) continue;
    n_runs++, n_launches += (uint64_t)e.n_launches;
    assert_true(!strncmp(e.problem, e.name, strlen(e.name)) && *e.engine && *e.class_name && e.bytes > 0);
    if (e.phase != ISO_TRACE_FORWARD) /* inside its span */
      assert_true(e.begin_ms >= span.begin_ms && e.begin_ms + e.host_ms <= span.begin_ms + span.host_ms + 1e-6);
    const bool first_layer = !strcmp(e.name, "gemm") && !strcmp(e.module, "0.0");
    forward |= first_layer && e.phase == ISO_TRACE_FORWARD && e.flops == 2.0 * 8 * 5 * 6;
    backward |= first_layer && e.phase == ISO_TRACE_BACKWARD;
    update |= !strcmp(e.name, "sgd.step") && e.phase == ISO_TRACE_UPDATE && !*e.module;
  }
  assert_true(forward && backward && update);
  assert_int_equal(n_runs, plans_run(ctx));
  assert_int_equal(n_launches, n_runs);
  const size_t n = iso_trace_n(ctx);
  assert_int_equal(step(&j), ISO_OK); /* nothing more is noted */
  assert_int_equal(iso_trace_n(ctx), n);
  assert_int_equal(iso_trace_stop(ctx), ISO_STATE);
  iso_clear_error(ctx);
  assert_int_equal(iso_trace_start(ctx, NULL), ISO_OK); /* and one that runs ends with its context */
  assert_int_equal(step(&j), ISO_OK);
  job_free(&j);
  iso_context_free(ctx);
}

/* The same numbers come out. */
static void test_a_trace_changes_no_bit(void **state) {
  (void)state;
  char hash[2][33];
  for (int traced = 0; traced < 2; traced++) {
    iso_context *ctx = context();
    job j = job_new(ctx);
    if (traced) assert_int_equal(iso_trace_start(ctx, NULL), ISO_OK);
    for (int i = 0; i < 3; i++) assert_int_equal(step(&j), ISO_OK);
    assert_int_equal(iso_tensor_hash(iso_module_find_tensor(j.net, "0.0.weight"), hash[traced]), ISO_OK);
    job_free(&j);
    iso_context_free(ctx);
  }
  assert_string_equal(hash[0], hash[1]);
}

static bool trace_a_step(job *j) {
  return iso_trace_start(j->ctx, NULL) == ISO_OK && step(j) == ISO_OK && iso_trace_stop(j->ctx) == ISO_OK;
}

static void test_every_allocation_may_fail(void **state) {
  (void)state;
  iso_context *ctx = context();
  job j = job_new(ctx);
  assert_int_equal(step(&j), ISO_OK);
  bool ok = false;
  uint64_t at = 1;
  for (; !ok && at < 500; at++) {
    iso_memory_fail_at(ctx, at);
    ok = trace_a_step(&j);
    iso_memory_fail_at(ctx, 0);
    if (ok) break;
    assert_int_equal(iso_error_code(ctx), ISO_OUT_OF_MEMORY);
    iso_clear_error(ctx);
    (void)iso_trace_stop(ctx); /* if it had begun: what was noted is whole */
    iso_clear_error(ctx);
    iso_trace_entry e;
    for (size_t i = 0; iso_trace_get(ctx, i, &e); i++) assert_true(e.kind != ISO_TRACE_RUN || *e.problem);
    iso_optimizer_zero_grad(j.sgd);
  }
  assert_true(ok && at > 5);
  assert_true(iso_trace_n(ctx) > 10);
  job_free(&j);
  iso_context_free(ctx);
}

/* ---- a device that works by itself: its clock runs 1 µs an event, 100 µs a delay ---- */

static struct {
  double now_ns;
  uint64_t n_waits;
  int n_delays, n_events, n_captured;
  bool broken;
} fake;

static iso_status event_init(const iso__device *device, iso__event *event) {
  (void)device;
  *event = (iso__event){0};
  return fake.n_events++, ISO_OK;
}
static void event_release(const iso__device *device, iso__event *event) { (void)device, (void)event, fake.n_events--; }
static iso_status event_record(const iso__device *device, iso__event *event) {
  (void)device;
  event->ns = (uint64_t)(fake.now_ns += 1000);
  return ISO_OK;
}
static iso_status event_elapsed(const iso__device *device, const iso__event *begin, const iso__event *end, double *ns) {
  (void)device;
  return *ns = (double)end->ns - (double)begin->ns, fake.broken ? ISO_DEVICE_ERROR : ISO_OK;
}
static uint64_t n_waits(const iso__device *device) { return (void)device, fake.n_waits; }
static void delay(const iso__device *device, double ns) {
  (void)device;
  assert_true(ns > 0);
  fake.n_delays++, fake.now_ns += 1e5;
}
static int count_launches(const iso__device *device, void (*run)(const void *arg), const void *arg) {
  (void)device, (void)run, (void)arg;
  return fake.n_captured++, 2;
}
static iso_status copy(const iso__device *device, void *dst, const void *src, size_t n_bytes) {
  fake.n_waits++;
  return iso__device_cpu.copy(device, dst, src, n_bytes);
}

static double event_overhead_ns(const iso__device *device) { return (void)device, 250; }

static iso__device fake_device(void) {
  iso__device d = iso__device_cpu;
  d.name = "fake:0", d.isa = ISO_ISA_SCALAR, d.width = 1;
  d.copy = copy, d.event_init = event_init, d.event_release = event_release, d.event_record = event_record;
  d.event_elapsed = event_elapsed, d.n_waits = n_waits, d.delay = delay, d.count_launches = count_launches;
  d.event_overhead_ns = event_overhead_ns;
  return d;
}

static void add_twice(iso_context *ctx) {
  iso_scope_push(ctx);
  iso_tensor *t = iso_tensor_zeros(ctx, ISO_F32, 1, ISO_DIMS(4));
  double value;
  t = iso_exp(ctx, iso_exp(ctx, t));
  assert_int_equal(iso_tensor_item(iso_sum(ctx, t, 0, NULL, false), &value), ISO_OK); /* waits */
  iso_exp(ctx, t);
  iso_scope_pop(ctx);
}

static void test_a_device_is_held_back_between_waits(void **state) {
  (void)state;
  const iso__device device = fake_device();
  iso_context *ctx = context();
  ctx->device = &device;
  memset(&fake, 0, sizeof fake);
  add_twice(ctx);
  assert_int_equal(iso_trace_start(ctx, &(iso_trace_options){.count_launches = true}), ISO_OK);
  add_twice(ctx);
  assert_int_equal(iso_trace_stop(ctx), ISO_OK);
  assert_int_equal(fake.n_delays, 0); /* while counting nothing is learnt of launching */
  assert_int_equal(fake.n_captured, 4);
  assert_int_equal(iso_trace_start(ctx, NULL), ISO_OK);
  add_twice(ctx); /* how long a stretch takes is learnt at its end */
  assert_int_equal(iso_trace_stop(ctx), ISO_OK);
  assert_int_equal(fake.n_delays, 1);
  assert_int_equal(iso_trace_start(ctx, NULL), ISO_OK);
  add_twice(ctx);
  add_twice(ctx);
  assert_int_equal(iso_trace_stop(ctx), ISO_OK);
  assert_int_equal(fake.n_delays, 4); /* at the start, and behind each wait but the last work's */
  iso_trace_entry e;
  double last = 0;
  int n_runs = 0, n_wait = 0, n_fill = 0;
  for (size_t i = 0; iso_trace_get(ctx, i, &e); i++) {
    n_wait += e.kind == ISO_TRACE_WAIT, n_fill += !strcmp(e.name, "fill");
    if (e.kind != ISO_TRACE_RUN) continue;
    n_runs++;
    assert_int_equal(e.n_launches, 0);
    assert_true(e.device_ms > 0.0007 && e.device_ms < 0.0008); /* no delay falls into a run; less the overhead */
    assert_true(e.device_begin_ms > last);
    last = e.device_begin_ms;
  }
  assert_int_equal(n_runs, 8);
  assert_int_equal(n_wait, 2);
  assert_int_equal(n_fill, 2);
  assert_int_equal(iso_trace_start(ctx, NULL), ISO_OK);
  add_twice(ctx);
  fake.broken = true;
  assert_int_equal(iso_trace_stop(ctx), ISO_DEVICE_ERROR);
  iso_clear_error(ctx);
  ctx->device = NULL;
  assert_int_equal(iso_trace_start(ctx, NULL), ISO_OK); /* the other device's goes, with its events */
  assert_int_equal(fake.n_events, 0);
  iso_context_free(ctx);
}

/* ---- events ---- */

static void test_events(void **state) {
  (void)state;
  iso_context *ctx = context();
  iso_event *begin = iso_event_new(ctx), *end = iso_event_new(ctx);
  double ms = 1;
  assert_true(begin && end);
  assert_int_equal(iso_event_record(begin), ISO_OK);
  assert_int_equal(iso_event_elapsed_ms(begin, end, &ms), ISO_STATE);
  assert_non_null(strstr(iso_error_message(ctx), "second event has not been recorded"));
  iso_clear_error(ctx);
  iso_tensor *x = iso_random_normal(ctx, ISO_F32, 2, ISO_DIMS(64, 64), 0, 1);
  for (int i = 0; i < 8; i++) assert_non_null(iso_matmul(ctx, x, x));
  assert_int_equal(iso_event_record(end), ISO_OK);
  assert_int_equal(iso_event_elapsed_ms(begin, end, &ms), ISO_OK);
  assert_true(ms > 0 && ms < 60e3);
  double again = 0;
  assert_int_equal(iso_event_record(end), ISO_OK); /* the last time counts */
  assert_int_equal(iso_event_elapsed_ms(begin, end, &again), ISO_OK);
  assert_true(again > ms);
  const iso__device device = fake_device();
  ctx->device = &device;
  iso_event *other = iso_event_new(ctx);
  assert_int_equal(iso_event_record(other), ISO_OK);
  assert_int_equal(iso_event_elapsed_ms(begin, other, &ms), ISO_STATE);
  assert_non_null(strstr(iso_error_message(ctx), "cpu and fake:0"));
  assert_int_equal(iso_event_record(begin), ISO_STATE); /* the context has failed */
  iso_event_free(other);
  ctx->device = NULL;
  iso_event_free(begin), iso_event_free(end), iso_event_free(NULL);
  assert_int_equal(iso_event_record(NULL), ISO_INVALID_ARGUMENT);
  iso_context_free(ctx);
}

/* ---- a profiler's ranges: by problem, balanced, with a trace and without ---- */

static int n_open, n_ranges;
static char last_range[1024];
static void range_push(const char *name) {
  n_open++, n_ranges++;
  snprintf(last_range, sizeof last_range, "%s", name);
}
static void range_pop(void) { n_open--; }

static void test_ranges(void **state) {
  (void)state;
  iso__device device = fake_device();
  device.range_push = range_push, device.range_pop = range_pop;
  iso_context *ctx = context();
  ctx->device = &device;
  for (int traced = 0; traced < 2; traced++) {
    n_ranges = 0;
    if (traced) assert_int_equal(iso_trace_start(ctx, NULL), ISO_OK);
    add_twice(ctx);
    assert_int_equal(n_ranges, 4);
    assert_int_equal(n_open, 0);
    assert_non_null(strstr(last_range, "map f32 "));
  }
  ctx->device = NULL;
  iso_context_free(ctx);
}

static void test_events_of_a_device(void **state) {
  (void)state;
  iso_context *ctx = context();
  if (iso_context_set_device(ctx, "cuda:0") != ISO_OK) {
    iso_context_free(ctx);
    skip();
  }
  iso_event *begin = iso_event_new(ctx), *end = iso_event_new(ctx);
  iso_tensor *x = iso_to(ctx, iso_random_normal(ctx, ISO_F32, 2, ISO_DIMS(2048, 2048), 0, 1), "cuda:0");
  double one = 0, eight = 0;
  for (int i = 0; i < 20; i++) assert_non_null(iso_matmul(ctx, x, x)); /* the clock comes up */
  for (int n = 1; n <= 8; n += 7) {
    assert_int_equal(iso_event_record(begin), ISO_OK);
    for (int i = 0; i < n; i++) assert_non_null(iso_matmul(ctx, x, x));
    assert_int_equal(iso_event_record(end), ISO_OK);
    assert_int_equal(iso_event_elapsed_ms(begin, end, n == 1 ? &one : &eight), ISO_OK);
  }
  assert_true(one > 0.1 && eight > 4 * one && eight < 16 * one); /* 17 GFLOP each */
  assert_true(iso_machine_peak_gflops(ctx, 20) > 1000 && iso_machine_copy_gbs(ctx, 20) > 100);
  iso_event_free(begin), iso_event_free(end);
  iso_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_step_on_the_cpu),
                                     cmocka_unit_test(test_a_trace_changes_no_bit),
                                     cmocka_unit_test(test_every_allocation_may_fail),
                                     cmocka_unit_test(test_a_device_is_held_back_between_waits),
                                     cmocka_unit_test(test_events),
                                     cmocka_unit_test(test_ranges),
                                     cmocka_unit_test(test_events_of_a_device)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
