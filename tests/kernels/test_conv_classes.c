/* test_conv_classes.c: what every engine of every class of convolution keeps, whatever its algorithm.
 *
 * An epilogue has the bits of iso_add and iso_relu after the bare product. Padding is real zeros: the same bits as for
 * an image with those zeros in it, infinite and NaN factors included. In bwd_data's ordered class, output positions
 * outside are real zeros in the same way. Rows are taken from the registry, so new ones are tested as they come. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/isobit.h>
#include "base/cpu.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"
#include "numeric/dtype.h"
#include "plan/operands.h"
#include "plan/state.h"
#include "run_engine.h"

static iso_context *ctx;
static bool reached[ISO__MAX_ROWS];

/* A problem with its operands in memory, as the tests change both. */
typedef struct instance {
  iso_conv_problem p;
  iso__operand operand[ISO__MAX_OPERANDS];
  int n;
  void *data[ISO__MAX_OPERANDS];
} instance;

static size_t bytes_of(const instance *v, int i) {
  return (size_t)v->operand[i].n * iso_dtype_size(v->operand[i].dtype);
}
static void instance_init(instance *v, const iso_conv_problem *p) {
  v->p = *p;
  v->n = iso__problem_operator(&p->head)->operands(&p->head, v->operand);
  for (int i = 0; i < v->n; i++) {
    v->data[i] = calloc(1, bytes_of(v, i) + 64);
    if (v->operand[i].input) iso__operand_fill(&v->operand[i], 40 + (uint64_t)v->operand[i].offset, v->data[i]);
  }
}
static void instance_release(instance *v) {
  for (int i = 0; i < v->n; i++) free(v->data[i]);
}
static int named(const instance *v, const char *name) {
  for (int i = 0; i < v->n; i++)
    if (!strcmp(v->operand[i].name, name)) return i;
  fail_msg("no operand %s", name);
  return -1;
}
static void set(const instance *v, int operand, int64_t at, double value) {
  const iso_dtype dtype = v->operand[operand].dtype;
  iso__cast_element(&value, ISO_F64, (char *)v->data[operand] + (size_t)at * iso_dtype_size(dtype), dtype);
}
/* Infinities, NaNs and −0 among the elements. */
static void sprinkle(const instance *v, const char *name) {
  static const double specials[] = {INFINITY, NAN, -INFINITY, -0.0};
  const int i = named(v, name);
  for (int64_t at = 3; at < v->operand[i].n; at += 23 + at % 5) set(v, i, at, specials[at % 4]);
}

static void run(const iso__engine *row, const instance *v) {
  iso_conv_args args = {0};
  for (int i = 0; i < v->n; i++) iso__operand_bind(&v->operand[i], &args, v->data[i]);
  run_engine(ctx, row, &v->p.head, &args);
  reached[row - iso__the_registry.engines] = true;
}

/* Rows that promise bits, for this problem, on this CPU. References of classes that transform tiles take minutes, and
 * test_engines.c holds engines against them: left out. */
static bool is_usable(const iso__engine *row, const iso_conv_problem *p) {
  const bool is_slow = row->reference && strcmp(row->class_name, "ordered") != 0;
  return !is_slow && row->op == p->head.op && row->level >= ISO_REPRO_INVARIANT && row->isa <= iso__cpu()->isa &&
         row->dtypes & ISO__DTYPE_BIT(p->head.dtype) && !row->applicable(&p->head);
}
static void parse(const char *text, iso_conv_problem *p) {
  _Alignas(16) unsigned char buffer[ISO__MAX_PROBLEM_BYTES];
  if (iso__problem_parse(ctx, text, buffer) != ISO_OK) fail_msg("%s", iso_error_message(ctx));
  memcpy(p, buffer, sizeof *p);
}

/* ---- epilogues ---- */

static const char *const epilogue_problems[] = {"conv2d.fwd f32 n2 c5 h9 w7 k6 r3 s3 p1",
                                                "conv2d.fwd f32 n1 c17 h8 w9 k33 r3 s3 p1",
                                                "conv2d.fwd f32 n2 c8 h11 w9 k12 r5 s5 p2",
                                                "conv2d.fwd f32 n1 c2 h14 w13 k3 r11 s11 p5",
                                                "conv2d.fwd f32 n1 c2 h5 w70 k3 r2 s5 p1",
                                                "conv2d.fwd f32 n2 c24 h5 w6 k16 r1 s1",
                                                "conv2d.fwd f32 n2 c16 h9 w9 k16 r3 s3 st2 p1 g16",
                                                "conv2d.fwd f32 n1 c16 h9 w9 k16 r5 s5 p2 g16",
                                                "conv2d.fwd f32 n1 c8 h7 w9 k12 r3 s2 sth2 pt1 pr2 dw2 g4",
                                                "conv2d.fwd f32 n1 c3 h9 w9 k8 r7 s7 st2 p3",
                                                "conv2d.fwd f32 n2 c3 h1 w19 k5 r1 s4 pl3",
                                                "conv2d.fwd f32 n1 c4 h5 w6 k5 r3 s3 p1 z4 t2 pf1",
                                                "conv2d.fwd f32 n2 c6 h8 w7 k9 r3 s3 p1 xf1",
                                                "conv2d.fwd f64 n2 c5 h9 w7 k6 r3 s3 p1",
                                                NULL};

/* The bare product and the stand-alone operators. */
static iso_tensor *step_by_step(const iso__engine *row, const instance *whole, const instance *bare) {
  const iso_dtype dtype = (iso_dtype)whole->p.head.dtype;
  const int y = named(bare, "y");
  const int64_t shape[2] = {bare->operand[y].n / whole->p.k, whole->p.k};
  run(row, bare);
  iso_tensor *t = iso_tensor_copy_from(ctx, dtype, 2, shape, bare->data[y]);
  if (whole->p.has_bias)
    t = iso_add(ctx, t, iso_tensor_copy_from(ctx, dtype, 1, shape + 1, whole->data[named(whole, "bias")]));
  if (whole->p.has_residual)
    t = iso_add(ctx, t, iso_tensor_copy_from(ctx, dtype, 2, shape, whole->data[named(whole, "residual")]));
  return whole->p.activation ? iso_relu(ctx, t) : t;
}

static void test_epilogue(void **state) {
  const char *text = *state;
  iso_conv_problem p;
  parse(text, &p);
  for (int parts = 1; parts < 8; parts++) {
    instance whole, bare;
    instance_init(&bare, &p);
    p.has_bias = parts & 1, p.has_residual = (parts & 2) != 0;
    p.activation = parts & 4 ? ISO__ACTIVATION_RELU : ISO__ACTIVATION_NONE;
    instance_init(&whole, &p);
    if (p.has_bias) set(&whole, named(&whole, "bias"), p.k / 2, NAN), set(&whole, named(&whole, "bias"), 0, -0.0);
    if (p.has_residual) sprinkle(&whole, "residual");
    for (const iso__engine *row = iso__the_registry.engines; row->name; row++) {
      if (!is_usable(row, &whole.p) || !is_usable(row, &bare.p)) continue;
      iso_scope_push(ctx);
      const iso_tensor *expected = step_by_step(row, &whole, &bare);
      run(row, &whole);
      const int y = named(&whole, "y");
      if (!iso_same_bits(iso_tensor_data(expected), whole.data[y], (size_t)whole.operand[y].n, whole.operand[y].dtype))
        fail_msg("%s on '%s': bias %d, residual %d, activation %d are not the operators of their own", row->name, text,
                 p.has_bias, p.has_residual, p.activation);
      iso_scope_pop(ctx);
    }
    instance_release(&whole), instance_release(&bare);
    p.has_bias = p.has_residual = p.activation = 0;
  }
}

static void test_epilogues_reached_every_class(void **state) {
  (void)state;
  for (const iso__engine *row = iso__the_registry.engines; row->name; row++) {
    bool found =
        row->op != ISO__OP_CONV_FWD || row->reference || row->level < ISO_REPRO_INVARIANT || row->isa > iso__cpu()->isa;
    for (const iso__engine *other = iso__the_registry.engines; other->name && !found; other++)
      found = reached[other - iso__the_registry.engines] && other->op == row->op &&
              !strcmp(other->class_name, row->class_name);
    if (!found) fail_msg("no problem here reaches class %s", row->class_name);
  }
}

/* ---- padding ---- */

static const char *const padded_problems[] = {"conv2d.fwd f32 n2 c5 h9 w7 k6 r3 s3 p1",
                                              "conv2d.fwd f32 n1 c17 h8 w9 k33 r3 s3 p1",
                                              "conv2d.fwd f32 n2 c8 h11 w9 k12 r5 s5 p2",
                                              "conv2d.fwd f32 n1 c2 h14 w13 k3 r11 s11 p5",
                                              "conv2d.fwd f32 n1 c2 h5 w70 k3 r2 s5 p1",
                                              "conv2d.fwd f32 n2 c24 h5 w6 k16 r1 s1 p1",
                                              "conv2d.fwd f32 n2 c16 h9 w9 k16 r3 s3 st2 p1 g16",
                                              "conv2d.fwd f32 n1 c16 h9 w9 k16 r5 s5 p2 g16",
                                              "conv2d.fwd f32 n1 c8 h7 w9 k12 r3 s2 sth2 pt1 pr2 dw2 g4",
                                              "conv2d.fwd f32 n1 c3 h9 w9 k8 r7 s7 st2 p3",
                                              "conv2d.fwd f32 n2 c3 h1 w19 k5 r1 s4 pl3",
                                              "conv2d.fwd f32 n1 c4 h5 w6 k5 r3 s3 p1 z4 t2 pf1",
                                              "conv2d.fwd f64 n2 c5 h9 w7 k6 r3 s3 pt2 pb1",
                                              "conv2d.bwd_weights f32 n2 c5 h9 w7 k6 r3 s3 p1",
                                              "conv2d.bwd_weights f32 n1 c17 h8 w9 k33 r3 s3 p1",
                                              "conv2d.bwd_weights f32 n2 c8 h11 w9 k12 r5 s5 p2",
                                              "conv2d.bwd_weights f32 n1 c2 h14 w13 k3 r11 s11 p5",
                                              "conv2d.bwd_weights f32 n1 c2 h5 w70 k3 r2 s5 p1",
                                              "conv2d.bwd_weights f32 n2 c16 h9 w9 k16 r3 s3 st2 p1 g16",
                                              "conv2d.bwd_weights f32 n1 c8 h7 w9 k12 r3 s2 sth2 pt1 pr2 dw2 g4",
                                              "conv2d.bwd_weights f32 n1 c1 h9 w9 k8 r7 s7 st2 p3",
                                              "conv2d.bwd_weights f32 n1 c4 h5 w6 k5 r3 s3 p1 z4 t2 pf1",
                                              NULL};

/* The volume (n,d,h,w,c) of `inner` at a place in `outer`'s, whose other elements stay as they are; or back again. */
typedef struct place {
  int64_t d, h, w;
} place;
typedef struct extents {
  int64_t n, d, h, w, c;
} extents;
static void copy_volume(void *outer, const extents *o, void *inner, const extents *in, place at, size_t item,
                        bool back) {
  const size_t row = (size_t)(in->w * in->c) * item;
  for (int64_t n = 0; n < in->n; n++)
    for (int64_t d = 0; d < in->d; d++)
      for (int64_t h = 0; h < in->h; h++) {
        char *a = (char *)outer + (size_t)((((n * o->d + d + at.d) * o->h + h + at.h) * o->w + at.w) * o->c) * item;
        char *b = (char *)inner + (size_t)(((n * in->d + d) * in->h + h) * in->w * in->c) * item;
        memcpy(back ? b : a, back ? a : b, row);
      }
}
static extents x_extents(const iso_conv_problem *p) { return (extents){p->n, p->d, p->h, p->w, p->c}; }
static extents y_extents(const iso_conv_problem *p) {
  return (extents){p->n, iso__conv_out_d(p), iso__conv_out_h(p), iso__conv_out_w(p), p->k};
}

/* The same row if it takes the problem too, else another of its class; NULL: none does. */
static const iso__engine *counterpart(const iso__engine *row, const iso_conv_problem *p) {
  if (is_usable(row, p)) return row;
  for (const iso__engine *other = iso__the_registry.engines; other->name; other++)
    if (!strcmp(other->class_name, row->class_name) && is_usable(other, p)) return other;
  return NULL;
}

static void expect_same(const iso__engine *row, const char *text, const instance *a, const instance *b,
                        const char *name) {
  const int i = named(a, name), j = named(b, name);
  assert_int_equal(a->operand[i].n, b->operand[j].n);
  if (!iso_same_bits(a->data[i], b->data[j], (size_t)a->operand[i].n, a->operand[i].dtype))
    fail_msg("%s on '%s': padding differs from zeros in the image", row->name, text);
}

static void test_padding(void **state) {
  const char *text = *state;
  iso_conv_problem p;
  instance padded, explicit;
  parse(text, &p);
  instance_init(&padded, &p);
  iso_conv_problem bare = p;
  bare.d += p.pad_front + p.pad_back, bare.h += p.pad_top + p.pad_bottom, bare.w += p.pad_left + p.pad_right;
  bare.pad_front = bare.pad_back = bare.pad_top = bare.pad_bottom = bare.pad_left = bare.pad_right = 0;
  instance_init(&explicit, &bare);
  const bool forward = p.head.op == ISO__OP_CONV_FWD;
  sprinkle(&padded, forward ? "w" : "dy");
  for (int i = 0; i < padded.n; i++) {
    if (!padded.operand[i].input) continue;
    if (i != named(&padded, "x")) {
      memcpy(explicit.data[i], padded.data[i], bytes_of(&padded, i));
      continue;
    }
    memset(explicit.data[i], 0, bytes_of(&explicit, i));
    const extents outer = x_extents(&bare), inner = x_extents(&p);
    copy_volume(explicit.data[i], &outer, padded.data[i], &inner, (place){p.pad_front, p.pad_top, p.pad_left},
                iso_dtype_size(padded.operand[i].dtype), false);
  }
  int n_rows = 0;
  for (const iso__engine *row = iso__the_registry.engines; row->name; row++) {
    const iso__engine *other = is_usable(row, &p) ? counterpart(row, &bare) : NULL;
    if (!other) continue;
    run(row, &padded), run(other, &explicit);
    expect_same(row, text, &padded, &explicit, forward ? "y" : "dw");
    n_rows++;
  }
  assert_true(n_rows >= 1);
  instance_release(&padded), instance_release(&explicit);
}

/* ---- bwd_data: dy framed in zeros of its own gives the same dx, where the input grows by as many strides ---- */

static const char *const framed_problems[] = {"conv2d.bwd_data f32 n2 c5 h9 w7 k6 r3 s3 p1",
                                              "conv2d.bwd_data f32 n1 c17 h8 w9 k33 r3 s3 st2 p1",
                                              "conv2d.bwd_data f32 n2 c8 h11 w9 k12 r5 s5 p2",
                                              "conv2d.bwd_data f32 n2 c16 h9 w9 k16 r3 s3 st2 p1 g16",
                                              "conv2d.bwd_data f32 n2 c16 h9 w9 k16 r3 s3 p1 g16",
                                              "conv2d.bwd_data f32 n1 c8 h9 w9 k12 r3 s2 sth2 pt1 pr2 dw2 g4",
                                              "conv2d.bwd_data f32 n2 c24 h6 w6 k16 r1 s1 st2",
                                              "conv2d.bwd_data f32 n1 c4 h5 w6 k5 r3 s3 p1 z4 t2 pf1 stz2",
                                              "conv2d.bwd_data f64 n2 c5 h9 w7 k6 r3 s3 pt2 pb1",
                                              NULL};

static void test_outside_positions(void **state) {
  const char *text = *state;
  iso_conv_problem p;
  instance plain, framed;
  parse(text, &p);
  instance_init(&plain, &p);
  const place e = {p.dilation_d * (p.t - 1), p.dilation_h * (p.r - 1), p.dilation_w * (p.s - 1)};
  iso_conv_problem larger = p;
  larger.d += 2 * e.d * p.stride_d, larger.h += 2 * e.h * p.stride_h, larger.w += 2 * e.w * p.stride_w;
  instance_init(&framed, &larger);
  sprinkle(&plain, "w");
  const int dy = named(&plain, "dy"), w = named(&plain, "w"), dx = named(&plain, "dx");
  const size_t item = iso_dtype_size(plain.operand[dy].dtype);
  memcpy(framed.data[w], plain.data[w], bytes_of(&plain, w));
  memset(framed.data[dy], 0, bytes_of(&framed, dy));
  extents outer = y_extents(&larger), inner = y_extents(&p);
  copy_volume(framed.data[dy], &outer, plain.data[dy], &inner, e, item, false);
  instance cut;
  instance_init(&cut, &p);
  int n_rows = 0, n_nans = 0;
  for (const iso__engine *row = iso__the_registry.engines; row->name; row++) {
    if (!is_usable(row, &p) || strcmp(row->class_name, "ordered") != 0) continue;
    const iso__engine *other = counterpart(row, &larger);
    run(row, &plain), run(other, &framed);
    outer = x_extents(&larger), inner = x_extents(&p);
    copy_volume(framed.data[dx], &outer, cut.data[dx], &inner,
                (place){e.d * p.stride_d, e.h * p.stride_h, e.w * p.stride_w}, item, true);
    expect_same(row, text, &plain, &cut, "dx");
    n_rows++;
  }
  for (int64_t i = 0; i < plain.operand[dx].n && p.head.dtype == ISO_F32; i++)
    n_nans += isnan(((const float *)plain.data[dx])[i]) != 0;
  assert_true(n_rows >= 1 && (n_nans > 0 || p.head.dtype != ISO_F32));
  instance_release(&plain), instance_release(&framed), instance_release(&cut);
}

int main(void) {
  static struct CMUnitTest tests[128];
  size_t n = 0;
  if (iso_context_new(&(iso_context_options){.n_threads = 2}, &ctx) != ISO_OK) return 1;
#define ADD(list, test)                                                                                                \
  for (int i = 0; list[i]; i++)                                                                                        \
    tests[n++] = (struct CMUnitTest){.name = list[i], .test_func = test, .initial_state = (void *)(uintptr_t)list[i]};
  ADD(epilogue_problems, test_epilogue)
  tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_epilogues_reached_every_class);
  ADD(padded_problems, test_padding)
  ADD(framed_problems, test_outside_positions)
  const int failed = _cmocka_run_group_tests("conv_classes", tests, n, NULL, NULL);
  iso_context_free(ctx);
  return failed;
}
