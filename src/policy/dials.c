/* dials.c: one table of dials; parsing, printing, the environment and the check all walk it. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "policy/policy.h"

typedef enum kind { WORD, SWITCH, WHOLE, SEED, SIZE, DURATION } kind;

typedef struct dial {
  const char *name, *variable; /* variable NULL: not in the environment */
  kind kind;
  size_t offset;
  const char *const *words; /* WORD: names of 0, 1, …; NULL-terminated */
  size_t none;              /* SIZE: what "none" is */
  const char *accepted;
} dial;

static const char *const repro_words[] = {"off", "run", "invariant", "portable", NULL};
static const char *const tuning_words[] = {"rule", "measure", "replay", NULL};
static const char *const accuracy_words[] = {"strict", "standard", "relaxed", NULL};
static const char *const math_words[] = {"f32", "tf32", "bf16", "f16", NULL};

const char *iso_accuracy_name(iso_accuracy accuracy) {
  return accuracy <= ISO_ACCURACY_RELAXED ? accuracy_words[accuracy] : "?";
}
const char *iso_repro_name(iso_repro level) { return level <= ISO_REPRO_PORTABLE ? repro_words[level] : "?"; }

#define AT(member) offsetof(iso_policy, member)
#define DURATIONS "a whole number with ms, s or min, or none"
#define SIZES "bytes, a whole number with KB, MB, GB, TB, KiB, MiB, GiB or TiB, or none"
static const dial dials[] = {
    {"repro", "ISOBIT_REPRO", WORD, AT(repro), repro_words, 0, "off, run, invariant, portable"},
    {"tuning", "ISOBIT_TUNING", WORD, AT(tuning), tuning_words, 0, "rule, measure, replay"},
    {"accuracy", "ISOBIT_ACCURACY", WORD, AT(accuracy), accuracy_words, 0, "strict, standard, relaxed"},
    {"math_matmul", NULL, WORD, AT(math_matmul), math_words, 0, "f32 (no other form of product exists yet)"},
    {"math_conv", NULL, WORD, AT(math_conv), math_words, 0, "f32 (no other form of product exists yet)"},
    {"vendor", "ISOBIT_VENDOR", SWITCH, AT(vendor), NULL, 0, "on, off"},
    {"references_only", NULL, SWITCH, AT(references_only), NULL, 0, "on, off"},
    {"rule", "ISOBIT_RULE", WHOLE, AT(rule), NULL, 0, "1, 2"},
    {"leaves", "ISOBIT_LEAVES", WHOLE, AT(leaves), NULL, 0, "a power of two from 1 to 65536"},
    {"seed", "ISOBIT_SEED", SEED, AT(seed), NULL, 0,
     "a whole number from 0 to 18446744073709551615, or 0x and hex digits"},
    {"workspace_limit", "ISOBIT_WORKSPACE_LIMIT", SIZE, AT(workspace_limit), NULL, SIZE_MAX, SIZES},
    {"memory_limit", "ISOBIT_MEMORY_LIMIT", SIZE, AT(memory_limit), NULL, 0, SIZES},
    {"tuning_budget", "ISOBIT_TUNING_BUDGET", DURATION, AT(tuning_budget_ms), NULL, 0, DURATIONS},
    {"problem_budget", "ISOBIT_PROBLEM_BUDGET", DURATION, AT(problem_budget_ms), NULL, 0, DURATIONS},
};
enum { N_DIALS = sizeof dials / sizeof dials[0] };

static void *place(const dial *d, iso_policy *policy) { return (char *)policy + d->offset; }
static const void *place_of(const dial *d, const iso_policy *policy) { return (const char *)policy + d->offset; }

/* ---- text to value ---- */

static bool parse_unsigned(const char *text, int base, uint64_t *out, const char **end) {
  if (!(base == 16 ? isxdigit((unsigned char)*text) : isdigit((unsigned char)*text))) return false;
  char *stop;
  errno = 0;
  *out = strtoull(text, &stop, base);
  *end = stop;
  return errno == 0;
}

static bool parse_word(const char *const *words, const char *value, int *out) {
  for (int i = 0; words[i]; i++)
    if (strcmp(words[i], value) == 0) return *out = i, true;
  return false;
}

static bool parse_switch(const char *value, bool *out) {
  static const char *const words[] = {"off", "on", "0", "1", "false", "true", "no", "yes", NULL};
  int i;
  if (!parse_word(words, value, &i)) return false;
  *out = i % 2 == 1;
  return true;
}

static bool parse_whole(const char *value, int *out) {
  uint64_t n;
  const char *end;
  if (!parse_unsigned(value, 10, &n, &end) || *end || n > INT32_MAX) return false;
  *out = (int)n;
  return true;
}

static bool parse_seed(const char *value, uint64_t *out) {
  bool hex = value[0] == '0' && (value[1] == 'x' || value[1] == 'X');
  const char *end;
  return parse_unsigned(hex ? value + 2 : value, hex ? 16 : 10, out, &end) && *end == '\0';
}

typedef struct unit {
  const char *name;
  uint64_t factor;
} unit;
static const unit units[] = {{"", 1},
                             {"B", 1},
                             {"KB", 1000},
                             {"MB", 1000000},
                             {"GB", 1000000000},
                             {"TB", 1000000000000},
                             {"KiB", 1 << 10},
                             {"MiB", 1 << 20},
                             {"GiB", 1 << 30},
                             {"TiB", (uint64_t)1 << 40}};
enum { N_UNITS = sizeof units / sizeof units[0] };

/* "100MiB" in the smallest unit of the list. */
static bool parse_units(const char *value, const unit *list, int n_units, uint64_t *out) {
  uint64_t n;
  const char *end;
  if (!parse_unsigned(value, 10, &n, &end)) return false;
  end += strspn(end, " ");
  for (int i = 0; i < n_units; i++)
    if (strcasecmp(end, list[i].name) == 0) return !__builtin_mul_overflow(n, list[i].factor, out);
  return false;
}

static bool parse_size(const char *value, size_t none, size_t *out) {
  if (strcmp(value, "none") == 0) return *out = none, true;
  uint64_t n_bytes;
  if (!parse_units(value, units, N_UNITS, &n_bytes) || n_bytes > SIZE_MAX) return false;
  *out = (size_t)n_bytes;
  return true;
}

static const unit durations[] = {{"ms", 1}, {"s", 1000}, {"min", 60000}};
enum { N_DURATIONS = sizeof durations / sizeof durations[0] };

static bool parse_duration(const char *value, uint64_t *out) {
  if (strcmp(value, "none") == 0) return *out = UINT64_MAX, true;
  return parse_units(value, durations, N_DURATIONS, out);
}

static bool parse(const dial *d, const char *value, iso_policy *policy) {
  void *to = place(d, policy);
  switch (d->kind) {
  case WORD: return parse_word(d->words, value, to); /* enums are ints here: checked below */
  case SWITCH: return parse_switch(value, to);
  case WHOLE: return parse_whole(value, to);
  case SEED: return parse_seed(value, to);
  case SIZE: return parse_size(value, d->none, to);
  case DURATION: return parse_duration(value, to);
  }
  return false;
}
_Static_assert(sizeof(iso_repro) == sizeof(int) && sizeof(iso_tuning) == sizeof(int) &&
                   sizeof(iso_accuracy) == sizeof(int) && sizeof(iso_math) == sizeof(int),
               "the dials' table writes enums as ints");

/* ---- value to text ---- */

static void print_size(size_t n, size_t none, char *text, size_t n_bytes) {
  if (n == none) {
    snprintf(text, n_bytes, "none");
    return;
  }
  const unit *best = &units[0];
  for (int i = 6; i < N_UNITS; i++) /* the binary ones, where they say it exactly */
    if (n >= units[i].factor && n % units[i].factor == 0) best = &units[i];
  snprintf(text, n_bytes, "%zu%s", n / (size_t)best->factor, best->name);
}

static void print_duration(uint64_t ms, char *text, size_t n_bytes) {
  if (ms == UINT64_MAX) {
    snprintf(text, n_bytes, "none");
    return;
  }
  const bool in_seconds = ms && ms % 1000 == 0;
  snprintf(text, n_bytes, "%llu%s", (unsigned long long)(in_seconds ? ms / 1000 : ms), in_seconds ? "s" : "ms");
}

static void print(const dial *d, const iso_policy *policy, char *text, size_t n_bytes) {
  const void *from = place_of(d, policy);
  int word = 0, n_words = 0;
  switch (d->kind) {
  case WORD:
    memcpy(&word, from, sizeof word);
    while (d->words[n_words]) n_words++;
    snprintf(text, n_bytes, "%s", word >= 0 && word < n_words ? d->words[word] : "?");
    break;
  case SWITCH: snprintf(text, n_bytes, "%s", *(const bool *)from ? "on" : "off"); break;
  case WHOLE: snprintf(text, n_bytes, "%d", *(const int *)from); break;
  case SEED: snprintf(text, n_bytes, "%llu", (unsigned long long)*(const uint64_t *)from); break;
  case SIZE: print_size(*(const size_t *)from, d->none, text, n_bytes); break;
  case DURATION: print_duration(*(const uint64_t *)from, text, n_bytes); break;
  }
}

int iso_policy_format(const iso_policy *policy, char *text, size_t n_bytes) {
  int n = 0;
  for (int i = 0; i < N_DIALS; i++) {
    char value[64];
    print(&dials[i], policy, value, sizeof value);
    size_t at = (size_t)n < n_bytes ? (size_t)n : n_bytes;
    n += snprintf(n_bytes ? text + at : NULL, n_bytes - at, "%s%s=%s", i ? " " : "", dials[i].name, value);
  }
  return n;
}

/* ---- what works today ---- */

/* By printing and parsing, so that one pair of functions says what a value is; then the ranges. */
static bool is_valid(const dial *d, const iso_policy *policy) {
  if (d->offset == AT(math_matmul)) return policy->math_matmul == ISO_MATH_F32;
  if (d->offset == AT(math_conv)) return policy->math_conv == ISO_MATH_F32;
  if (d->offset == AT(rule)) return policy->rule == 1 || policy->rule == 2;
  if (d->offset == AT(leaves))
    return policy->leaves >= 1 && policy->leaves <= 65536 && (policy->leaves & (policy->leaves - 1)) == 0;
  iso_policy copy = *policy;
  char value[64];
  print(d, policy, value, sizeof value);
  return parse(d, value, &copy);
}

static iso_status refuse(iso_status status, const dial *d, const char *label, const char *value, char *message,
                         size_t n_bytes) {
  if (message) snprintf(message, n_bytes, "%s=%.80s: accepted are %s", label, value, d->accepted);
  return status;
}

iso_status iso__policy_check(const iso_policy *policy, char *message, size_t n_bytes) {
  for (int i = 0; i < N_DIALS; i++) {
    if (is_valid(&dials[i], policy)) continue;
    char value[64];
    print(&dials[i], policy, value, sizeof value);
    return refuse(ISO_INVALID_ARGUMENT, &dials[i], dials[i].name, value, message, n_bytes);
  }
  return ISO_OK;
}

/* ---- setting ---- */

static iso_status set(iso_policy *policy, const dial *d, const char *label, const char *value, char *message,
                      size_t n_bytes) {
  iso_policy changed = *policy;
  if (!value || !parse(d, value, &changed))
    return refuse(ISO_INVALID_ARGUMENT, d, label, value ? value : "", message, n_bytes);
  if (!is_valid(d, &changed)) /* a word of the language, or a number, that nothing implements */
    return refuse(d->kind == WORD ? ISO_UNSUPPORTED : ISO_INVALID_ARGUMENT, d, label, value, message, n_bytes);
  *policy = changed;
  return ISO_OK;
}

iso_status iso_policy_set(iso_policy *policy, const char *name, const char *value, char *message, size_t n_bytes) {
  for (int i = 0; i < N_DIALS; i++)
    if (name && strcmp(dials[i].name, name) == 0) return set(policy, &dials[i], name, value, message, n_bytes);
  if (message) {
    int n = snprintf(message, n_bytes, "%.80s is no dial; the dials are", name ? name : "NULL");
    for (int i = 0; i < N_DIALS && n >= 0 && (size_t)n < n_bytes; i++)
      n += snprintf(message + n, n_bytes - (size_t)n, "%s %s", i ? "," : "", dials[i].name);
  }
  return ISO_NOT_FOUND;
}

iso_status iso_policy_from_environment(iso_policy *policy, char *message, size_t n_bytes) {
  static const char older_name[] = "CUDNN_WORKSPACE_LIMIT"; /* of workspace_limit, in other stacks */
  iso_policy changed = *policy;
  if (message && n_bytes) message[0] = '\0';
  for (int i = 0; i < N_DIALS; i++) {
    const char *label = dials[i].variable, *value = label ? getenv(label) : NULL;
    const bool is_unset = !value || !*value;
    if (is_unset && dials[i].offset == AT(workspace_limit)) value = getenv(label = older_name);
    if (!value || !*value) continue;
    iso_status status = set(&changed, &dials[i], label, value, message, n_bytes);
    if (status != ISO_OK) return status;
    if (label == older_name && message)
      snprintf(message, n_bytes, "%s=%.80s is read as workspace_limit; its name here is %s", label, value,
               dials[i].variable);
  }
  *policy = changed;
  return ISO_OK;
}
