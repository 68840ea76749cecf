/* text.c: Isobit's side of suite `text` where a model runs: one process, commands on stdin, one JSON line each on
 * stdout (README.md). Public API only. A cell opens a model and one fixed batch; a slice runs it over and over. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "clock.h"
#include "median.h"
#include "words.h"

enum { CLASSES = 77, MAX_CELLS = 16, MAX_SAMPLES = 4096 };

typedef struct cell {
  char id[24];
  iso_context *ctx;
  iso_module *net;
  iso_optimizer *optimizer;           /* NULL: forward alone */
  iso_tensor *ids, *lengths, *labels; /* ids of a recurrence: f32 (batch,length,in), with a gradient */
} cell;

static cell cells[MAX_CELLS];

/* ---- a batch: whole sentences of random tokens, as many of each length as the other side has ---- */

/* in > 0: vectors of so many normal numbers instead of ids. */
static bool make_batch(cell *c, int64_t batch, int64_t length, int64_t vocabulary, int64_t in) {
  const iso_philox at = {.seed = 1, .stream = ISO_PHILOX_USER},
                   y_at = {.seed = 1, .stream = ISO_PHILOX_USER, .site = 1};
  const size_t n = (size_t)(batch * length);
  int64_t *ids = malloc(n * sizeof *ids), *lengths = malloc((size_t)batch * sizeof *lengths),
          *y = malloc((size_t)batch * sizeof *y);
  for (size_t i = 0; ids && i < n; i++) ids[i] = 1 + iso_philox_word(&at, i) % (uint32_t)(vocabulary - 1);
  for (int64_t b = 0; lengths && y && b < batch; b++)
    lengths[b] = length, y[b] = iso_philox_word(&y_at, (uint64_t)b) % CLASSES;
  if (ids && lengths && y) {
    c->ids = iso_keep(iso_tensor_copy_from(c->ctx, ISO_I64, 2, ISO_DIMS(batch, length), ids));
    c->lengths = iso_keep(iso_tensor_copy_from(c->ctx, ISO_I64, 1, ISO_DIMS(batch), lengths));
    c->labels = iso_keep(iso_tensor_copy_from(c->ctx, ISO_I64, 1, ISO_DIMS(batch), y));
  }
  free(ids), free(lengths), free(y);
  if (in > 0 && c->ids) {
    iso_release(c->ids);
    c->ids = iso_keep(iso_random_normal(c->ctx, ISO_F32, 3, ISO_DIMS(batch, length, in), 0, 1));
    iso_requires_grad(c->ids, true);
  }
  return c->ids && c->lengths && c->labels;
}

static bool add_optimizer(cell *c) {
  size_t n;
  const iso_named_tensor *list = iso_module_tensors(c->net, &n);
  c->optimizer =
      iso_adam_new(c->ctx, n, list, &(iso_adam_options){.lr = 1e-5, .weight_decay = 0.01, .decoupled = true});
  return c->optimizer != NULL;
}

static bool for_inference(cell *c) {
  iso_module_train(c->net, false);
  iso_no_grad_push(c->ctx);
  return iso_module_pack(c->net, true) == ISO_OK;
}

/* ---- what a slice runs ---- */

static bool step(cell *c) {
  iso_scope_push(c->ctx);
  iso_tensor *loss =
      iso_cross_entropy(c->ctx, iso_module_forward_sequence(c->net, c->ids, c->lengths), c->labels, NULL);
  const bool ok = !iso_backward(loss) && !iso_optimizer_step(c->optimizer);
  iso_optimizer_zero_grad(c->optimizer);
  iso_grad_zero(c->ids);
  iso_scope_pop(c->ctx);
  return ok;
}

static bool forward(cell *c) {
  iso_scope_push(c->ctx);
  const bool ok = iso_module_forward_sequence(c->net, c->ids, c->lengths) != NULL;
  iso_scope_pop(c->ctx);
  return ok;
}

/* ---- cells ---- */

static iso_module *minilm(cell *c, const words *w, bool trains) {
  const double dropout = atof(value_of(w, "dropout", "0"));
  return iso_pretrained_open(
      c->ctx, value_of(w, "weights", ""),
      &(iso_pretrained_options){.classes = trains ? CLASSES : 0, .dropout = dropout > 0 ? dropout : -1});
}
static iso_module *classifier(cell *c, const words *w, bool trains) {
  (void)trains;
  return iso_text_classifier_new(
      c->ctx,
      &(iso_text_classifier_config){.vocabulary = atoll(value_of(w, "vocabulary", "10000")), .classes = CLASSES});
}

/* A recurrence, the mean of its results, a linear layer. */
static iso_module *recurrence(cell *c, const words *w,
                              iso_module *(*make)(iso_context *, const iso_recurrent_config *)) {
  const int64_t in = atoll(value_of(w, "in", "128")), hidden = atoll(value_of(w, "hidden", "128"));
  iso_module *parts[3];
  parts[0] = make(c->ctx, &(iso_recurrent_config){.in = in, .hidden = hidden});
  parts[1] = iso_sequence_pooling_module(c->ctx, ISO_POOLING_MEAN, false);
  parts[2] = iso_linear_module(c->ctx, hidden, CLASSES, true);
  return iso_sequential(c->ctx, 3, parts);
}
static iso_module *lstm(cell *c, const words *w, bool trains) {
  (void)trains;
  return recurrence(c, w, iso_lstm_module);
}
static iso_module *gru(cell *c, const words *w, bool trains) {
  (void)trains;
  return recurrence(c, w, iso_gru_module);
}

static const struct {
  const char *name;
  iso_module *(*make)(cell *c, const words *w, bool trains);
  bool trains;
} kinds[] = {{"minilm_step", minilm, true},
             {"minilm_forward", minilm, false},
             {"textclassifier_step", classifier, true},
             {"lstm_step", lstm, true},
             {"gru_step", gru, true}};

static cell *find(const char *id) {
  for (int i = 0; i < MAX_CELLS; i++)
    if (!strcmp(cells[i].id, id)) return &cells[i];
  return NULL;
}

static void release(cell *c) {
  iso_optimizer_free(c->optimizer);
  iso_module_free(c->net);
  iso_context_free(c->ctx); /* and the batch */
  *c = (cell){0};
}

static json_t *fill(cell *c, size_t kind, const words *w, int64_t threads) {
  json_t *reply = NULL;
  int64_t batch, length;
  char message[512] = "";
  iso_policy policy;
  if (!read_count("batch", value_of(w, "batch", "1"), &batch, &reply) ||
      !read_count("length", value_of(w, "length", "1"), &length, &reply))
    return reply;
  if (iso_policy_preset(value_of(w, "policy", "default"), &policy)) return failure("policy: no such preset");
  if (iso_context_new_message(&(iso_context_options){.n_threads = (int)threads, .policy = &policy}, &c->ctx, message,
                              sizeof message))
    return failure("%s", message);
  c->net = kinds[kind].make(c, w, kinds[kind].trains);
  const int64_t vocabulary = atoll(value_of(w, "vocabulary", "10000"));
  if (!c->net || !make_batch(c, batch, length, vocabulary, atoll(value_of(w, "in", "0"))) ||
      !(kinds[kind].trains ? add_optimizer(c) : for_inference(c)))
    return context_failure(c->ctx);
  for (int i = 0; i < 2; i++)
    if (!(c->optimizer ? step(c) : forward(c))) return context_failure(c->ctx);
  return json_pack("{s:I, s:s+}", "n_params", (json_int_t)iso_module_n_parameters(c->net), "version", "isobit ",
                   iso_version());
}

/* open ID KIND threads N batch N length N weights DIR */
static json_t *do_open(const words *w) {
  json_t *reply = NULL;
  int64_t threads;
  cell *c = find("");
  size_t kind = 0;
  while (kind < sizeof kinds / sizeof kinds[0] && strcmp(kinds[kind].name, w->word[1]) != 0) kind++;
  if (kind == sizeof kinds / sizeof kinds[0]) return failure("there is no cell %s", w->word[1]);
  if (!c || strlen(w->word[0]) >= sizeof c->id) return failure("%s: too many cells, or a long name", w->word[0]);
  if (!read_count("threads", value_of(w, "threads", "1"), &threads, &reply)) return reply;
  strcpy(c->id, w->word[0]);
  reply = fill(c, kind, w, threads);
  if (json_object_get(reply, "error")) release(c);
  return reply;
}

/* slice ID ms M: the first run is left out where there are others. */
static json_t *do_slice(const words *w) {
  static double ms[MAX_SAMPLES];
  cell *c = find(w->word[0]);
  if (!c) return failure("%s is not open", w->word[0]);
  const double end = clock_ns() + 1e6 * atof(value_of(w, "ms", "20"));
  size_t n = 0;
  do {
    const double begin = clock_ns();
    if (!(c->optimizer ? step(c) : forward(c))) return context_failure(c->ctx);
    ms[n++] = (clock_ns() - begin) / 1e6;
  } while (clock_ns() < end && n < MAX_SAMPLES);
  const size_t first = n > 1;
  double *sorted = ms + first;
  const double middle = median(sorted, n - first);
  return json_pack("{s:f, s:f, s:I}", "ms", middle, "best_ms", sorted[0], "n", (json_int_t)(n - first));
}

/* peak ID: of the machine, on the cell's threads */
static json_t *do_peak(const words *w) {
  cell *c = find(w->word[0]);
  if (!c) return failure("%s is not open", w->word[0]);
  return json_pack("{s:f}", "gflops", iso_machine_peak_gflops(c->ctx, 60));
}

static json_t *do_close(const words *w) {
  cell *c = find(w->word[0]);
  if (c) release(c);
  return json_object();
}

static json_t *answer(char *line) {
  static const struct {
    const char *name;
    int n_positional;
    json_t *(*run)(const words *w);
  } commands[] = {{"open", 2, do_open}, {"slice", 1, do_slice}, {"peak", 1, do_peak}, {"close", 1, do_close}};
  words w = {0};
  char *rest, *name = strtok_r(line, " \t\r\n", &rest);
  for (char *word = name; word && w.n < MAX_WORDS && (word = strtok_r(NULL, " \t\r\n", &rest));) w.word[w.n++] = word;
  for (size_t i = 0; name && i < sizeof commands / sizeof *commands; i++) {
    if (strcmp(commands[i].name, name) != 0) continue;
    w.n_positional = commands[i].n_positional;
    if (w.n < w.n_positional) return failure("%s wants %d words after it", name, w.n_positional);
    return commands[i].run(&w);
  }
  return failure("unknown command %s", name ? name : "");
}

int main(void) {
  char *line = NULL;
  size_t capacity = 0;
  while (getline(&line, &capacity, stdin) > 0 && strncmp(line, "quit", 4) != 0) {
    json_t *reply = answer(line);
    json_dumpf(reply, stdout, JSON_COMPACT);
    putchar('\n');
    fflush(stdout);
    json_decref(reply);
  }
  free(line);
  for (int i = 0; i < MAX_CELLS; i++)
    if (*cells[i].id) release(&cells[i]);
  return 0;
}
