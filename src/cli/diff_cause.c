/* diff_cause.c: what is known of why two runs differ: facts of the two manifests, lines of the two lockfiles, and the
 * likely cause. Causes are asked in order; the first that fits what was found is told. */
#include <stdlib.h>
#include <string.h>
#include "diff.h"

/* ---- facts ---- */

static void add_fact(diff_report *r, const char *what, const char *a, const char *b) {
  if (r->n_facts == DIFF_MAX_FACTS || !strcmp(a, b)) return;
  diff_fact *f = &r->facts[r->n_facts++];
  snprintf(f->what, sizeof f->what, "%s", what);
  snprintf(f->value[0], sizeof f->value[0], "%s", *a ? a : "–");
  snprintf(f->value[1], sizeof f->value[1], "%s", *b ? b : "–");
}

const diff_fact *diff_find_fact(const diff_report *r, const char *what) {
  for (int i = 0; i < r->n_facts; i++)
    if (!strcmp(r->facts[i].what, what)) return &r->facts[i];
  return NULL;
}

/* A manifest's value as text. */
static void value_text(const json_t *manifest, const char *key, char *text, size_t n_bytes) {
  const json_t *value = json_object_get(manifest, key);
  *text = 0;
  if (json_is_string(value)) snprintf(text, n_bytes, "%s", json_string_value(value));
  else if (value) {
    char *dump = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
    if (dump) snprintf(text, n_bytes, "%s", dump);
    free(dump);
  }
}

static void compare_values(diff_report *r, const json_t *a, const json_t *b, const char *prefix) {
  const char *key;
  json_t *value;
  char what[64], text[2][320];
  json_object_foreach((json_t *)(uintptr_t)a, key, value) {
    if (!strcmp(key, "command") || !strcmp(key, "argv") || !strcmp(key, "folder") || !strcmp(key, "policy") ||
        !strcmp(key, "libraries") || !strcmp(key, "hash_log") || !strcmp(key, "lock"))
      continue;
    snprintf(what, sizeof what, "%s%s", prefix, key);
    value_text(a, key, text[0], sizeof text[0]), value_text(b, key, text[1], sizeof text[1]);
    add_fact(r, what, text[0], text[1]);
  }
}

/* Value of "dial=" in "repro=invariant tuning=measure …". */
static void dial_of(const char *policy, const char *dial, char *text, size_t n_bytes) {
  const size_t n = strlen(dial);
  *text = 0;
  for (const char *at = policy; at && *at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL)
    if (!strncmp(at, dial, n) && at[n] == '=') {
      snprintf(text, n_bytes, "%.*s", (int)strcspn(at + n + 1, " "), at + n + 1);
      return;
    }
}

static void compare_policies(diff_report *r, const char *a, const char *b) {
  char dial[48], text[2][64];
  for (const char *at = a; at && *at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL) {
    snprintf(dial, sizeof dial, "%.*s", (int)strcspn(at, "= "), at);
    dial_of(a, dial, text[0], sizeof text[0]), dial_of(b, dial, text[1], sizeof text[1]);
    char what[64];
    snprintf(what, sizeof what, "policy: %s", dial);
    add_fact(r, what, text[0], text[1]);
  }
}

/* The word behind the last option `name` in argv, which is the one that counts; "given" for a flag, "" without it. */
static const char *argument_of(const json_t *argv, const char *name) {
  const size_t n = strcspn(name, "=");
  for (size_t i = json_array_size(argv); i-- > 0;) {
    const char *word = json_string_value(json_array_get(argv, i));
    if (!word || strncmp(word, name, n)) continue;
    if (word[n] == '=') return word + n + 1;
    const char *next = json_string_value(json_array_get(argv, i + 1));
    if (!word[n]) return next && strncmp(next, "--", 2) ? next : "given";
  }
  return "";
}

/* Options that say where things are written, or how fast, decide no bits. */
static bool decides_nothing(const char *word) {
  static const char *const names[] = {"--record",      "--json", "--quiet", "--checkpoint", "--hash-log",
                                      "--hash-detail", "--lock", "--every", "--no-eval",    "--eval-limit",
                                      "--policy",      "--set",  "--seed",  "--resume",     "--threads",
                                      "--workers",     "--isa",  "--device"};
  const size_t n = strcspn(word, "=");
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strlen(names[i]) == n && !strncmp(names[i], word, n)) return true;
  return false;
}

static void compare_options(diff_report *r, const json_t *a, const json_t *b) {
  for (int side = 0; side < 2; side++) {
    const json_t *argv = side ? b : a;
    for (size_t i = 0; i < json_array_size(argv); i++) {
      const char *word = json_string_value(json_array_get(argv, i));
      if (!word || strncmp(word, "--", 2) || decides_nothing(word)) continue;
      char what[64];
      snprintf(what, sizeof what, "option %.*s", (int)strcspn(word, "="), word);
      if (!diff_find_fact(r, what)) add_fact(r, what, argument_of(a, word), argument_of(b, word));
    }
  }
}

/* ---- plans ---- */

static void add_plan(void *user, const iso_lock_change *change) {
  json_array_append_new(user, json_pack("{s:s, s:s?, s:s?, s:b}", "problem", change->problem, "a", change->before, "b",
                                        change->after, "other_class", change->other_class));
}

static void compare_plans(diff_report *r) {
  iso_context *ctx;
  size_t n;
  r->plans = json_array();
  for (int i = 0; i < 2; i++)
    if (!r->run[i]->has_record || !*r->run[i]->record.lock) return;
  if (iso_context_new(&(iso_context_options){.n_threads = 1}, &ctx)) return;
  if (iso_lock_diff(ctx, r->run[0]->record.lock, r->run[1]->record.lock, add_plan, r->plans, &n))
    fprintf(stderr, "isobit: note: the lockfiles cannot be compared: %s\n", iso_error_message(ctx));
  iso_context_free(ctx);
}

/* ---- causes: each says whether it fits, and writes its sentence ---- */

typedef bool cause_fn(const diff_report *r, char *text, size_t n_bytes);
static bool has(const diff_report *r, const char *what) { return diff_find_fact(r, what) != NULL; }
static bool say_fact(const diff_report *r, const char *what, const char *sentence, char *text, size_t n_bytes) {
  const diff_fact *f = diff_find_fact(r, what);
  if (f) snprintf(text, n_bytes, "%s (%s against %s)", sentence, f->value[0], f->value[1]);
  return f != NULL;
}

static bool nothing(const diff_report *r, char *text, size_t n_bytes) {
  if (r->found.kind != DIFF_NONE) return false;
  return snprintf(text, n_bytes, "nothing differs") > 0;
}
static bool cut(const diff_report *r, char *text, size_t n_bytes) {
  if (r->found.kind != DIFF_LENGTH) return false;
  return snprintf(text, n_bytes, "one run has more steps than the other; what both have is the same") > 0;
}
static bool damaged(const diff_report *r, char *text, size_t n_bytes) {
  if (r->found.kind == DIFF_NO_MODULE) return snprintf(text, n_bytes, "%s", r->found.damaged) > 0;
  if (r->found.kind != DIFF_DAMAGED) return false;
  return snprintf(text, n_bytes, "a log is damaged or was cut while it was written") > 0;
}
static bool release(const diff_report *r, char *text, size_t n_bytes) {
  return say_fact(r, "isobit_version", "another release of Isobit: engines and rules may have changed", text, n_bytes);
}
static bool data(const diff_report *r, char *text, size_t n_bytes) {
  return say_fact(r, "train_data_hash", "other training data", text, n_bytes);
}
static bool precision(const diff_report *r, char *text, size_t n_bytes) {
  static const char *const names[] = {"option --precision", "precision", "policy: math_matmul", "policy: math_conv"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (say_fact(r, names[i], "another precision of products (f32, TF32, bf16 or f16)", text, n_bytes)) return true;
  return false;
}
static bool seed(const diff_report *r, char *text, size_t n_bytes) {
  if (r->found.kind != DIFF_START && r->found.kind != DIFF_BATCH && r->found.kind != DIFF_RUN &&
      r->found.kind != DIFF_LOSS)
    return false;
  return say_fact(r, "seed", "another seed: initial weights, order of samples and dropout follow from it", text,
                  n_bytes) ||
         say_fact(r, "policy: seed", "another seed", text, n_bytes);
}
/* Learning rates and the like are no part of a problem: they show in the first update. */
static bool options(const diff_report *r, char *text, size_t n_bytes) {
  size_t used = 0;
  for (int i = 0; i < r->n_facts; i++) {
    const diff_fact *f = &r->facts[i];
    if (strncmp(f->what, "option ", 7) && strcmp(f->what, "policy: leaves")) continue;
    if (used < n_bytes)
      used += (size_t)snprintf(text + used, n_bytes - used, "%s%s (%s against %s)",
                               used ? ", " : "other options: ", f->what, f->value[0], f->value[1]);
  }
  return used > 0;
}
static bool order_of_data(const diff_report *r, char *text, size_t n_bytes) {
  if (r->found.kind != DIFF_BATCH) return false;
  return snprintf(text, n_bytes,
                  "the order or the content of the data: this batch has other inputs or targets, with the "
                  "same seed and data hash: was one run resumed at another place, or the data changed on "
                  "disk?") > 0;
}
static bool other_weights(const diff_report *r, char *text, size_t n_bytes) {
  if (r->found.kind != DIFF_START) return false;
  return snprintf(text, n_bytes,
                  "the runs began with other weights: another initialisation or another pretrained file") > 0;
}
static const char *class_of(const char *engine) {
  const char *at = strstr(engine, " class ");
  return at ? at + 7 : "";
}
static bool other_class(const diff_report *r, char *text, size_t n_bytes) {
  const char *a = r->found.line[0].engine, *b = r->found.line[1].engine;
  if (r->found.kind != DIFF_RUN || !strcmp(class_of(a), class_of(b))) return false;
  const bool dials = has(r, "policy: repro") || has(r, "policy: accuracy") || has(r, "policy: rule");
  snprintf(text, n_bytes, "another numeric class: %s against %s, so another order of operations%s%s", class_of(a),
           class_of(b),
           strstr(a, "tf32") || strstr(b, "tf32") || strstr(a, "TF32") || strstr(b, "TF32")
               ? " (and TF32 rounds the inputs to 10 bits)"
               : "",
           dials                 ? "; the policies differ"
           : has(r, "lock_hash") ? "; the lockfiles differ"
                                 : "");
  return true;
}
static bool same_engine(const diff_report *r) { return !strcmp(r->found.line[0].engine, r->found.line[1].engine); }
/* Promises: what the weaker policy says. */
static bool no_promise(const diff_report *r, char *text, size_t n_bytes) {
  const diff_found *f = &r->found;
  char repro[2][32] = {"", ""};
  for (int i = 0; i < 2; i++)
    if (r->run[i]->has_record) dial_of(recorded_text(&r->run[i]->record, "policy"), "repro", repro[i], sizeof repro[i]);
  const bool off = !strcmp(repro[0], "off") || !strcmp(repro[1], "off");
  const bool run = !strcmp(repro[0], "run") || !strcmp(repro[1], "run");
  const char *class_name = f->kind == DIFF_RUN ? class_of(f->line[0].engine) : "";
  if (!strcmp(class_name, "free") || !strncmp(class_name, "vendor", 6))
    return snprintf(text, n_bytes, "class %s promises nothing: its order follows threads, shapes and library; %s",
                    class_name, "take repro=invariant") > 0;
  if (off)
    return snprintf(text, n_bytes, "repro=off promises nothing; under repro=invariant these runs would agree") > 0;
  if (run && (has(r, "threads") || has(r, "isa") || has(r, "cpu")))
    return snprintf(text, n_bytes, "repro=run promises the same bits on the same machine with the same threads alone") >
           0;
  return false;
}
static bool revision(const diff_report *r, char *text, size_t n_bytes) {
  if (r->found.kind != DIFF_RUN || same_engine(r)) return false;
  return snprintf(text, n_bytes,
                  "other engines of one class, %.160s and %.160s, gave other bits: by contract a defect; "
                  "please report it with the problem's line",
                  r->found.line[0].engine, r->found.line[1].engine) > 0;
}
static bool sequence(const diff_report *r, char *text, size_t n_bytes) {
  if (r->found.kind != DIFF_SEQUENCE) return false;
  return snprintf(text, n_bytes,
                  "the runs compute something else from here on: another model, batch size, or operator") > 0;
}
static bool defect(const diff_report *r, char *text, size_t n_bytes) {
  if (r->found.kind != DIFF_RUN) return false;
  return snprintf(
             text, n_bytes,
             "none of the usual ones: the same engine gave other bits from inputs that every earlier line says are "
             "the same. An operand that no line covers (a host scalar, a tensor made outside), a defect, or failing "
             "memory: repeat with 'isobit verify'") > 0;
}
static bool unknown(const diff_report *r, char *text, size_t n_bytes) {
  (void)r;
  return snprintf(text, n_bytes, "not visible at this detail: repeat both runs with --hash-detail operators") > 0;
}

void diff_explain(diff_report *r) {
  static cause_fn *const causes[] = {nothing,  cut,         damaged,    release, data,          precision,
                                     seed,     other_class, no_promise, options, other_weights, order_of_data,
                                     revision, sequence,    defect,     unknown};
  const recorded *a = &r->run[0]->record, *b = &r->run[1]->record;
  if (r->run[0]->has_record && r->run[1]->has_record) {
    compare_values(r, a->manifest, b->manifest, "");
    compare_policies(r, recorded_text(a, "policy"), recorded_text(b, "policy"));
    compare_options(r, json_object_get(a->manifest, "argv"), json_object_get(b->manifest, "argv"));
  }
  compare_plans(r);
  for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++)
    if (causes[i](r, r->cause, sizeof r->cause)) return;
}
