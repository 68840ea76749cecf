/* conv.c: the three convolution operators as the plan room sees them: text form, operands, class rule, operation
 * counts.
 *
 * Text: "conv2d.fwd f32 n64 c64 h56 w56 k64 r3 s3 p1". Sizes n c h w k r s are always there; the rest only where it
 * differs from the usual: st (or sth stw) stride, p (or pt pb pl pr) padding, d (or dh dw) dilation, g groups, z depth,
 * t kernel depth, stz, dz, pf and pk (front, back) its stride, dilation and padding, b1 bias, res1 residual, act1 relu,
 * xf1 x channels-first. */
#include "kernels/conv/conv.h"
#include "kernels/conv/class_rule.h"
#include "kernels/gemm/gemm.h"
#include <stdio.h>
#include <stdlib.h>

static const iso_conv_problem *conv_of(const iso__problem *problem) { return (const iso_conv_problem *)problem; }

/* ---- text ---- */

enum { MAX_SIZE = INT32_MAX };

/* Which struct fields a key sets, from which value up, and whether a problem may leave it out. */
typedef struct key_row {
  const char *key;
  size_t offset[4];
  int n_fields;
  int64_t least;
  bool required;
} key_row;
#define FIELD(name) offsetof(iso_conv_problem, name)
static const key_row keys[] = {
    {"n", {FIELD(n)}, 1, 0, true},
    {"c", {FIELD(c)}, 1, 0, true},
    {"h", {FIELD(h)}, 1, 0, true},
    {"w", {FIELD(w)}, 1, 0, true},
    {"k", {FIELD(k)}, 1, 0, true},
    {"r", {FIELD(r)}, 1, 1, true},
    {"s", {FIELD(s)}, 1, 1, true},
    {"st", {FIELD(stride_h), FIELD(stride_w)}, 2, 1, false},
    {"sth", {FIELD(stride_h)}, 1, 1, false},
    {"stw", {FIELD(stride_w)}, 1, 1, false},
    {"p", {FIELD(pad_top), FIELD(pad_bottom), FIELD(pad_left), FIELD(pad_right)}, 4, 0, false},
    {"pt", {FIELD(pad_top)}, 1, 0, false},
    {"pb", {FIELD(pad_bottom)}, 1, 0, false},
    {"pl", {FIELD(pad_left)}, 1, 0, false},
    {"pr", {FIELD(pad_right)}, 1, 0, false},
    {"d", {FIELD(dilation_h), FIELD(dilation_w)}, 2, 1, false},
    {"dh", {FIELD(dilation_h)}, 1, 1, false},
    {"dw", {FIELD(dilation_w)}, 1, 1, false},
    {"g", {FIELD(groups)}, 1, 1, false},
    {"z", {FIELD(d)}, 1, 0, false},
    {"t", {FIELD(t)}, 1, 1, false},
    {"stz", {FIELD(stride_d)}, 1, 1, false},
    {"dz", {FIELD(dilation_d)}, 1, 1, false},
    {"pf", {FIELD(pad_front)}, 1, 0, false},
    {"pk", {FIELD(pad_back)}, 1, 0, false},
};
enum { N_KEYS = sizeof keys / sizeof keys[0], N_REQUIRED = 7 };

static int64_t *field_at(iso_conv_problem *p, size_t offset) { return (int64_t *)(void *)((char *)p + offset); }

/* Appends " key value" at text + at; like snprintf beyond the end. */
static int append(char *text, size_t n_bytes, int at, const char *key, int64_t value) {
  const size_t used = (size_t)at < n_bytes ? (size_t)at : n_bytes;
  char *to = used ? text + used : text;
  return at + snprintf(to, n_bytes - used, "%s%s%lld", at ? " " : "", key, (long long)value);
}

static int format_pair(char *text, size_t n_bytes, int at, const char *const key[3], int64_t first, int64_t second) {
  if (first == second) return first == 1 ? at : append(text, n_bytes, at, key[0], first);
  if (first != 1) at = append(text, n_bytes, at, key[1], first);
  return second == 1 ? at : append(text, n_bytes, at, key[2], second);
}

static int format_depth(const iso_conv_problem *p, char *text, size_t n_bytes, int at) {
  if (p->d != 1) at = append(text, n_bytes, at, "z", p->d);
  if (p->t != 1) at = append(text, n_bytes, at, "t", p->t);
  if (p->stride_d != 1) at = append(text, n_bytes, at, "stz", p->stride_d);
  if (p->dilation_d != 1) at = append(text, n_bytes, at, "dz", p->dilation_d);
  if (p->pad_front) at = append(text, n_bytes, at, "pf", p->pad_front);
  if (p->pad_back) at = append(text, n_bytes, at, "pk", p->pad_back);
  return at;
}

static int conv_format(const iso__problem *problem, char *text, size_t n_bytes) {
  const iso_conv_problem *p = conv_of(problem);
  const struct {
    const char *key;
    int64_t value;
  } sizes[] = {{"n", p->n}, {"c", p->c}, {"h", p->h}, {"w", p->w}, {"k", p->k}, {"r", p->r}, {"s", p->s}};
  int at = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    at = append(text, n_bytes, at, sizes[i].key, sizes[i].value);
  at = format_pair(text, n_bytes, at, (const char *const[3]){"st", "sth", "stw"}, p->stride_h, p->stride_w);
  if (p->pad_top == p->pad_bottom && p->pad_top == p->pad_left && p->pad_top == p->pad_right) {
    if (p->pad_top) at = append(text, n_bytes, at, "p", p->pad_top);
  } else {
    if (p->pad_top) at = append(text, n_bytes, at, "pt", p->pad_top);
    if (p->pad_bottom) at = append(text, n_bytes, at, "pb", p->pad_bottom);
    if (p->pad_left) at = append(text, n_bytes, at, "pl", p->pad_left);
    if (p->pad_right) at = append(text, n_bytes, at, "pr", p->pad_right);
  }
  at = format_pair(text, n_bytes, at, (const char *const[3]){"d", "dh", "dw"}, p->dilation_h, p->dilation_w);
  if (p->groups != 1) at = append(text, n_bytes, at, "g", p->groups);
  at = format_depth(p, text, n_bytes, at);
  if (p->has_bias) at = append(text, n_bytes, at, "b", 1);
  if (p->has_residual) at = append(text, n_bytes, at, "res", 1);
  if (p->activation) at = append(text, n_bytes, at, "act", p->activation);
  if (p->x_first) at = append(text, n_bytes, at, "xf", 1);
  return at;
}

/* The product of sizes ≤ 2^46 elements, so that no later one overflows; an empty axis excuses no other. */
static bool fits(const int64_t size[5]) {
  int64_t product = 1;
  for (int i = 0; i < 5; i++)
    if (__builtin_mul_overflow(product, size[i] ? size[i] : 1, &product) || product > INT64_C(1) << 46) return false;
  return true;
}

/* While words are being read, reserved[0] holds a bit for each required key seen. */
static const char *conv_parse_end(iso_conv_problem *p) {
  if (p->reserved[0] != (1 << N_REQUIRED) - 1) return "a convolution needs all of n c h w k r s";
  const bool has_depth = p->reserved[1];
  p->reserved[0] = p->reserved[1] = 0;
  int64_t *const unit[] = {&p->stride_h, &p->stride_w, &p->dilation_h, &p->dilation_w,
                           &p->groups,   &p->t,        &p->stride_d,   &p->dilation_d};
  for (size_t i = 0; i < sizeof unit / sizeof unit[0]; i++)
    if (*unit[i] == 0) *unit[i] = 1;
  if (!has_depth) p->d = 1;
  if (p->c % p->groups || p->k % p->groups) return "groups must divide both channel counts c and k";
  if (!fits((int64_t[]){p->n, p->d, p->h, p->w, p->c}) || !fits((int64_t[]){p->k, p->t, p->r, p->s, p->c}))
    return "the tensors would be too large";
  if (!fits((int64_t[]){p->n, iso__conv_out_d(p), iso__conv_out_h(p), iso__conv_out_w(p), p->k}))
    return "the output would be too large";
  if (p->head.op != ISO__OP_CONV_FWD && (p->has_bias || p->has_residual || p->activation))
    return "b, res and act belong to the forward direction only";
  if (p->head.op == ISO__OP_CONV_BWD_DATA && p->x_first) return "xf1: bwd_data has no x";
  return NULL;
}

static const char *conv_parse(iso__problem *problem, const char *key, const char *value) {
  iso_conv_problem *p = (iso_conv_problem *)problem;
  if (!key) return conv_parse_end(p);
  char *end;
  const long long number = strtoll(value, &end, 10);
  if (end == value || *end || number < 0 || number > MAX_SIZE)
    return "a convolution's value must be a number from 0 to 2147483647";
  if (!strcmp(key, "b") || !strcmp(key, "res") || !strcmp(key, "act") || !strcmp(key, "xf")) {
    if (number > 1) return "b, res, act and xf are 0 or 1";
    *(key[0] == 'b'   ? &p->has_bias
      : key[0] == 'r' ? &p->has_residual
      : key[0] == 'x' ? &p->x_first
                      : &p->activation) = (uint8_t)number;
    return NULL;
  }
  for (int i = 0; i < N_KEYS; i++) {
    if (strcmp(key, keys[i].key)) continue;
    if (number < keys[i].least) return "kernel size, stride, dilation and groups must be at least 1";
    for (int f = 0; f < keys[i].n_fields; f++) *field_at(p, keys[i].offset[f]) = number;
    if (keys[i].offset[0] == FIELD(d)) p->reserved[1] = 1;
    if (keys[i].required) p->reserved[0] = (uint8_t)(p->reserved[0] | 1 << i);
    return NULL;
  }
  return "unknown key: a convolution has n c h w k r s st sth stw p pt pb pl pr d dh dw g z t stz dz "
         "pf pk b res act xf";
}

/* ---- operands ---- */

static int64_t x_elements(const iso_conv_problem *p) { return p->n * p->d * p->h * p->w * p->c; }
static int64_t y_elements(const iso_conv_problem *p) {
  return p->n * iso__conv_out_d(p) * iso__conv_out_h(p) * iso__conv_out_w(p) * p->k;
}
static int64_t w_elements(const iso_conv_problem *p) { return p->k * p->t * p->r * p->s * (p->c / p->groups); }

static iso__operand input(const iso_conv_problem *p, const char *name, size_t offset, int64_t n) {
  return (iso__operand){.name = name,
                        .offset = offset,
                        .dtype = (iso_dtype)p->head.dtype,
                        .n = n,
                        .input = true,
                        .fill = ISO__FILL_NORMAL};
}
static iso__operand output(const iso_conv_problem *p, const char *name, size_t offset, int64_t n) {
  return (iso__operand){.name = name,
                        .offset = offset,
                        .dtype = (iso_dtype)p->head.dtype,
                        .n = n,
                        .output = true,
                        .fill = ISO__FILL_NORMAL};
}
#define ARG(name) #name, offsetof(iso_conv_args, name)

static int fwd_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_conv_problem *p = conv_of(problem);
  int n = 0;
  operands[n++] = input(p, ARG(x), x_elements(p));
  operands[n++] = input(p, ARG(w), w_elements(p));
  if (p->has_bias) operands[n++] = input(p, ARG(bias), p->k);
  if (p->has_residual) operands[n++] = input(p, ARG(residual), y_elements(p));
  operands[n++] = output(p, ARG(y), y_elements(p));
  return n;
}

static int bwd_data_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_conv_problem *p = conv_of(problem);
  operands[0] = input(p, ARG(dy), y_elements(p));
  operands[1] = input(p, ARG(w), w_elements(p));
  operands[2] = output(p, ARG(dx), x_elements(p));
  return 3;
}

static int bwd_weights_operands(const iso__problem *problem, iso__operand *operands) {
  const iso_conv_problem *p = conv_of(problem);
  operands[0] = input(p, ARG(x), x_elements(p));
  operands[1] = input(p, ARG(dy), y_elements(p));
  operands[2] = output(p, ARG(dw), w_elements(p));
  return 3;
}

/* ---- counts ---- */

const char *iso__conv_plain_applicable(const iso__problem *problem) {
  const iso_conv_problem *p = conv_of(problem);
  if (!iso__conv_is_flat(p)) return "computes one and two dimensions only";
  return p->x_first ? "reads x channels-last only" : NULL;
}

/* Class `ordered` reads channels-first where it copies anyway: a box of the padded image, or the columns of a strip.
 * Measured: as fast as channels-last with few channels and in 1×1 kernels; elsewhere forward gains less than the
 * weights' gradient, which would read the copy too, loses. Where any class may be chosen, others may be better with a
 * copy, except with an image's few channels. */
bool iso__conv_prefers_first(const iso__problem *problem, const iso_policy *policy) {
  enum { IMAGE_CHANNELS = 4, FEW_CHANNELS = 24 };
  const iso_conv_problem *p = conv_of(problem);
  if (p->head.op == ISO__OP_CONV_BWD_DATA || p->groups != 1) return false;
  if (policy->repro < ISO_REPRO_INVARIANT) return p->c <= IMAGE_CHANNELS;
  return (p->c <= FEW_CHANNELS || p->t * p->r * p->s == 1) && !strcmp(iso__conv_class_rule(problem, policy), "ordered");
}

/* A form of the weights depends on their shape, direction and groups. */
static void conv_weights_only(iso__problem *problem) {
  const iso_conv_problem p = *conv_of(problem);
  iso_conv_problem *out = (iso_conv_problem *)problem;
  memset(out, 0, sizeof *out);
  out->head = p.head;
  out->c = p.c, out->k = p.k, out->t = p.t, out->r = p.r, out->s = p.s, out->groups = p.groups;
}

static double conv_flops(const iso__problem *problem) {
  const iso_conv_problem *p = conv_of(problem);
  return 2.0 * (double)y_elements(p) * (double)(p->t * p->r * p->s * (p->c / p->groups));
}

static double conv_bytes(const iso__problem *problem) {
  const iso_conv_problem *p = conv_of(problem);
  const int64_t n =
      x_elements(p) + w_elements(p) + y_elements(p) * (p->has_residual ? 2 : 1) + (p->has_bias ? p->k : 0);
  return (double)n * (p->head.dtype == ISO_F64 ? 8.0 : 4.0);
}

/* Chains of 256 terms, sums of 4 and of K/1024 (10,000 terms at most here): proven for any data. On normal data 2e-7 is
 * the most seen, 1.3e-6 where all roundings go one way (tests/kernels/test_bounds.c). */
#define CONV_OPERATOR(id, name, weights)                                                                               \
  const iso__operator iso__operator_##id = {.op = ISO__OP_##id,                                                        \
                                            .family = "conv",                                                          \
                                            .problem_bytes = sizeof(iso_conv_problem),                                 \
                                            .args_bytes = sizeof(iso_conv_args),                                       \
                                            .format = conv_format,                                                     \
                                            .parse = conv_parse,                                                       \
                                            .operands = name##_operands,                                               \
                                            .class_rule = iso__conv_class_rule,                                        \
                                            .flops = conv_flops,                                                       \
                                            .bytes = conv_bytes,                                                       \
                                            .error_bound = 270 * 0x1p-24,                                              \
                                            .weights_only = weights}
CONV_OPERATOR(CONV_FWD, fwd, conv_weights_only);
CONV_OPERATOR(CONV_BWD_DATA, bwd_data, conv_weights_only);
CONV_OPERATOR(CONV_BWD_WEIGHTS, bwd_weights, NULL);
