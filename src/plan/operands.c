/* operands.c: arguments made from an operator's description. Data are cheap and seeded, not the contract's random
 * numbers. */
#include "base/dry.h"
#include "plan/operands.h"
#include "numeric/dtype.h"
#include "plan/state.h"

static uint64_t mix(uint64_t x) { /* splitmix64 */
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static double value_of(const iso__operand *operand, uint64_t word) {
  switch (operand->fill) {
  case ISO__FILL_INDEX: return (double)(word % (uint64_t)(operand->limit > 0 ? operand->limit : 1));
  case ISO__FILL_POSITIVE: return 0.0625 + (double)(word >> 40) * 0x1p-24;
  case ISO__FILL_NORMAL: { /* the sum of four uniforms: near enough to normal for timing and for tests of order; the
                            * last term fills the significand, or short sums would be exact in any order */
    int64_t sum = 0;
    for (int i = 0; i < 4; i++) sum += (int64_t)((word >> (16 * i)) & 0xffff) - 32768;
    return (double)sum * 0x1p-15 + (double)(mix(word) >> 11) * 0x1p-68;
  }
  default: return 0;
  }
}

void iso__operand_fill(const iso__operand *operand, uint64_t seed, void *data) {
  const size_t item = iso_dtype_size(operand->dtype);
  const uint64_t key = mix(seed);
  for (int64_t i = 0; i < operand->n; i++) {
    const double value = value_of(operand, mix(key + (uint64_t)i));
    iso__cast_element(&value, ISO_F64, (char *)data + (size_t)i * item, operand->dtype);
  }
}

static size_t bytes_of(const iso__operand *operand) { return (size_t)operand->n * iso_dtype_size(operand->dtype); }

double iso__operands_bytes(const iso__problem *problem) {
  iso__operand operands[ISO__MAX_OPERANDS];
  const int n = iso__problem_operator(problem)->operands(problem, operands);
  double bytes = 0;
  for (int i = 0; i < n; i++) bytes += (double)operands[i].n * (double)iso_dtype_size(operands[i].dtype);
  return bytes;
}

/* Whether running the problem over and over leaves operand i of args as the call that follows needs it. */
static bool is_repeatable(const iso__operand_set *set, int i, const void *args) {
  const iso__operand *o = &set->operand[i];
  if (!o->output) return true;
  if (o->input) return false;
  const char *out = iso__operand_pointer(o, args);
  for (int j = 0; j < set->n; j++) {
    if (!set->operand[j].input) continue;
    const char *in = iso__operand_pointer(&set->operand[j], args);
    if (in < out + bytes_of(o) && out < in + bytes_of(&set->operand[j])) return false;
  }
  return true;
}

static void describe(const iso__problem *problem, const void *args, iso__operand_set *set) {
  const iso__operator *o = iso__problem_operator(problem);
  memset(set, 0, sizeof *set);
  set->n = o->operands(problem, set->operand);
  if (args) memcpy(set->args, args, o->args_bytes);
  else if (o->scalars) o->scalars(problem, set->args);
}

size_t iso__operand_set_need(const iso__problem *problem, const void *args) {
  iso__operand_set set;
  size_t n_bytes = 0;
  describe(problem, args, &set);
  for (int i = 0; i < set.n; i++)
    if (!args || !is_repeatable(&set, i, args)) n_bytes += bytes_of(&set.operand[i]);
  return n_bytes;
}

/* In the memory of the context's device. */
static bool fill(iso_context *ctx, const iso__operand *operand, uint64_t seed, void *block) {
  const iso__device *device = iso__device_of(ctx);
  if (device == &iso__device_cpu) return iso__operand_fill(operand, seed, block), true;
  void *data = iso__heap_alloc(ctx->heap, bytes_of(operand), NULL);
  if (!data) return false;
  iso__operand_fill(operand, seed, data);
  const bool copied = device->copy(device, block, data, bytes_of(operand)) == ISO_OK;
  iso__heap_free(ctx->heap, data, bytes_of(operand));
  return copied;
}

bool iso__operand_set_init(iso_context *ctx, const iso__problem *problem, const void *args, uint64_t seed,
                           iso__operand_set *set) {
  const bool fills = !iso__heap_is_dry(ctx->heap);
  describe(problem, args, set);
  for (int i = 0; i < set->n; i++) {
    const iso__operand *operand = &set->operand[i];
    if (args && is_repeatable(set, i, args)) continue;
    set->block[i] = iso__plan_memory(ctx, bytes_of(operand));
    if (!set->block[i] || (operand->input && fills && !fill(ctx, operand, seed + (uint64_t)i, set->block[i])))
      return iso__operand_set_release(ctx, set), false;
    iso__operand_bind(operand, set->args, set->block[i]);
  }
  return true;
}

void iso__operand_set_release(iso_context *ctx, iso__operand_set *set) {
  for (int i = 0; i < set->n; i++) iso__plan_memory_free(ctx, set->block[i], bytes_of(&set->operand[i]));
}
