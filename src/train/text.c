/* text.c: the task of classifying texts: a file of rows with labels, a tokenizer, one of the text models. */
#include <math.h>
#include <string.h>
#include "train/text_model.h"
#include "train/trainer.h"

struct iso__text {
  iso_text_options options; /* its texts belong to the trainer */
  iso_text_dataset *data[2];
  iso__text_model model;
};

/* What is usual for a model: small ones learn fast, a pretrained one must not forget. */
static const struct usual {
  const char *model;
  int64_t batch_size;
  double lr, dropout, warmup_share, clip_norm;
  uint64_t n_epochs;
} usuals[] = {{"bert", 16, 1e-4, 0, 0.1, 1, 4},
              {"textclassifier", 32, 1e-2, 0, 0, 0, 20},
              {"textcnn", 32, 1e-3, 0.1, 0, 0, 10},
              {"lstm", 32, 2e-3, 0.1, 0, 1, 10}};
enum { N_USUALS = sizeof usuals / sizeof *usuals };

static const struct usual *usual_of(const char *model) {
  for (int i = 0; i < N_USUALS; i++)
    if (!strcmp(model, usuals[i].model)) return &usuals[i];
  return &usuals[1]; /* an unknown name fails where the model is made */
}

/* 0: the usual value; negative: none. */
static double dial(double given, double usual) { return given < 0 ? 0 : given == 0 ? usual : given; }

static void fill(iso_trainer *t, const void *options) {
  if (!(t->text = iso__zalloc(t->ctx, sizeof *t->text))) return;
  iso_text_options *o = &t->text->options;
  iso__recipe *r = &t->recipe;
  if (options) *o = *(const iso_text_options *)options;
  r->model = iso__trainer_text(t, o->model, o->weights && *o->weights ? "bert" : "textclassifier");
  const struct usual *usual = usual_of(r->model);
  const char **const kept[] = {&o->weights, &o->vocabulary,  &o->data,        &o->test,
                               &o->format,  &o->text_column, &o->label_column};
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    *kept[i] = *kept[i] && **kept[i] ? iso__trainer_text(t, *kept[i], "") : NULL;
  r->optimizer = iso__trainer_text(t, o->optimizer, "adamw");
  r->schedule = iso__trainer_text(t, o->schedule, "linear");
  r->capture = iso__trainer_text(t, o->capture, "auto");
  r->precision = iso__trainer_text(t, o->precision, "f32");
  r->autocast = iso__trainer_text(t, o->autocast, "");
  r->batch_size = o->batch_size ? o->batch_size : usual->batch_size;
  r->lr = o->lr != 0 ? o->lr : usual->lr;
  r->momentum = strcmp(r->optimizer, "sgd") != 0 ? 0 : dial(o->momentum, 0.9);
  r->weight_decay = dial(o->weight_decay, 0.01);
  r->clip_norm = dial(o->clip_norm, usual->clip_norm);
  r->warmup_share = dial(o->warmup_share, usual->warmup_share);
  r->label_smoothing = o->label_smoothing;
  r->checkpointing = o->checkpointing, r->pass_leaves = o->pass_leaves;
  r->nesterov = o->nesterov, r->matrices_only = !o->decay_all;
  r->n_steps = o->n_steps, r->n_epochs = o->n_epochs ? o->n_epochs : usual->n_epochs;
  if (o->dropout == 0) o->dropout = usual->dropout;
  if (o->held_out == 0) o->held_out = 0.1;
  if (o->min_count == 0) o->min_count = 2;
  if (o->width == 0) o->width = 128;
}

static iso_status check(iso_trainer *t) {
  const iso_text_options *o = &t->text->options;
  const iso_status status = iso__recipe_check(t, o->n_workers);
  if (status) return status;
  const struct {
    bool wrong;
    const char *name;
    double value;
    const char *expected;
  } checks[] = {{!(o->label_smoothing >= 0 && o->label_smoothing < 1), "label_smoothing", o->label_smoothing,
                 "at least 0 and below 1"},
                {!(o->dropout < 1), "dropout", o->dropout, "below 1"},
                {!(o->held_out > 0 && o->held_out < 1), "held_out", o->held_out, "above 0 and below 1"},
                {o->width < 1 || o->width > 65536, "width", (double)o->width, "1 to 65536"},
                {o->max_length < 0, "max_length", (double)o->max_length, "at least 1"},
                {o->min_count < 0, "min_count", (double)o->min_count, "at least 1"}};
  if (!o->data) return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "train", "text needs data: a csv, tsv or jsonl file");
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
    if (checks[i].wrong)
      return ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "train", "%s is %g, must be %s", checks[i].name, checks[i].value,
                       checks[i].expected);
  return ISO_OK;
}

/* ---- data ---- */

static bool open_data(iso_trainer *t) {
  iso__text *x = t->text;
  const iso_text_options *o = &x->options;
  iso_text_file_options file = {.format = o->format, .text_column = o->text_column, .label_column = o->label_column};
  iso_text_dataset *set = iso_text_dataset_open(t->ctx, o->data, &file);
  if (!set) return false;
  if (iso_text_dataset_get_info(set).n_classes == 0) {
    ISO__FAIL(t->ctx, ISO_INVALID_ARGUMENT, "train", "'%.200s' has no labels", o->data);
  } else if (o->test) {
    x->data[0] = set;
    if (!iso__text_model_take_classes(&x->model, set)) return false;
    file.n_classes = x->model.n_classes, file.classes = (const char *const *)x->model.classes;
    x->data[1] = iso_text_dataset_open(t->ctx, o->test, &file);
    return x->data[1] != NULL;
  } else {
    for (int s = 0; s < 2; s++)
      x->data[s] = iso_text_dataset_part(t->ctx, set, o->held_out, iso_policy_current(t->ctx)->seed, (iso_split)s);
    if (x->data[1]) iso__text_model_take_classes(&x->model, set);
  }
  iso_text_dataset_free(set);
  return !iso__failed(t->ctx);
}

/* What is too long, or has no labels, is told before training, not after it. */
static bool check_test(iso_trainer *t) {
  void *loader = t->task->loader_new(t, ISO_SPLIT_TEST, false);
  t->task->loader_free(loader);
  return loader != NULL;
}

/* ---- model ---- */

static bool open_tokenizer(iso_trainer *t) {
  iso__text *x = t->text;
  const char *from = x->options.vocabulary ? x->options.vocabulary : x->options.weights;
  return from ? iso__text_model_read_tokenizer(&x->model, from)
              : iso__text_model_make_tokenizer(&x->model, x->data[0], x->options.min_count);
}

static bool open_model(iso_trainer *t) {
  iso__text *x = t->text;
  iso__text_model *m = &x->model;
  m->ctx = t->ctx;
  m->width = x->options.width, m->dropout = x->options.dropout;
  m->max_length = x->options.max_length, m->truncate = x->options.truncate;
  if ((size_t)snprintf(m->name, sizeof m->name, "%s", t->recipe.model) >= sizeof m->name)
    return ISO__FAIL(t->ctx, ISO_NOT_FOUND, "train", "there is no model '%.40s…'", t->recipe.model), false;
  if (!open_data(t) || !open_tokenizer(t)) return false;
  iso_init_restart(t->ctx);
  if (!iso__text_model_open_module(m, x->options.weights)) return false;
  t->model = m->module;
  return iso__text_model_describe(m) && check_test(t);
}

static iso_status open_task(iso_trainer *t) {
  const iso_status status = check(t);
  if (!status) open_model(t);
  return t->ctx->error.code;
}

static void close_task(iso_trainer *t) {
  iso__text *x = t->text;
  if (!x) return;
  for (int s = 0; s < 2; s++) iso_text_dataset_free(x->data[s]);
  iso__text_model_release(&x->model, false); /* the trainer's, as all models */
  iso__free(t->ctx, x, sizeof *x);
}

static iso_dataset_info info_of(const iso_trainer *t, iso_split split) {
  const iso_text_dataset_info text = iso_text_dataset_get_info(t->text->data[split]);
  iso_dataset_info info = {.n_samples = text.n_samples, .n_classes = text.n_classes};
  memcpy(info.hash, text.hash, sizeof info.hash);
  return info;
}

/* ---- loaders ---- */

static void *loader_new(iso_trainer *t, iso_split split, bool in_order) {
  const iso__text *x = t->text;
  const iso_text_options *o = &x->options;
  const bool train = split == ISO_SPLIT_TRAIN;
  return iso_text_loader_new(
      t->ctx, x->data[split], x->model.tokenizer,
      &(iso_text_loader_options){.batch_size = train ? t->recipe.batch_size : ISO__TEXT_EVALUATION_BATCH,
                                 .n_workers = train ? o->n_workers : 0,
                                 .shuffle = train,
                                 .n_epochs = train ? 0 : 1,
                                 .seed = iso_policy_current(t->ctx)->seed,
                                 .max_length = x->model.max_length,
                                 .truncate = x->model.truncate,
                                 .bucket_batches = in_order ? 1
                                                   : train  ? o->bucket_batches
                                                            : 0,
                                 .pad_multiple = train ? o->pad_multiple : 0,
                                 .on_device = train});
}

static void loader_free(void *loader) { iso_text_loader_free(loader); }

static bool next(void *loader, iso__samples *out) {
  iso_text_batch batch;
  if (!iso_text_loader_next(loader, &batch)) return false;
  *out = (iso__samples){.x = batch.ids,
                        .lengths = batch.lengths,
                        .y = batch.y,
                        .n_total = batch.n_total,
                        .n_tokens = batch.n_tokens,
                        .n_padding = batch.n_padding,
                        .epoch = batch.epoch};
  return true;
}

static int64_t n_batches(const void *loader) { return iso_text_loader_n_batches(loader); }
static void position(const void *loader, uint32_t *epoch, int64_t *batch) {
  iso_text_loader_position(loader, epoch, batch);
}
static iso_status seek(void *loader, uint32_t epoch, int64_t batch) {
  return iso_text_loader_seek(loader, epoch, batch);
}

static iso_module *replica(const iso_trainer *t, iso_context *child) {
  const iso_bert_config *bert = iso_bert_get_config(t->model);
  if (bert) {
    iso_bert_config c = *bert; /* whose 0 means none, which is asked for by less */
    if (c.dropout == 0) c.dropout = -1;
    if (c.attention_dropout == 0) c.attention_dropout = -1;
    return iso_bert_new(child, &c);
  }
  iso__text_model m = t->text->model; /* sizes and classes; its module will be the child's */
  m.ctx = child, m.module = NULL;
  return iso__text_model_open_module(&m, NULL) ? m.module : NULL;
}

/* A batch's slots, padding included. */
typedef struct place {
  int64_t slots, batch;
  uint32_t epoch;
} place;

static void take_larger(place *most, int64_t slots, uint32_t epoch, int64_t batch) {
  if (slots > most->slots) *most = (place){.slots = slots, .epoch = epoch, .batch = batch};
}

/* The first n batches of an epoch that is not run to its end. */
static iso_status look_at(iso_trainer *t, uint32_t epoch, int64_t n, place *most) {
  iso_status status = iso_text_loader_seek(t->loader, epoch, 0);
  for (int64_t b = 0; b < n && !status; b++) {
    iso_text_batch batch;
    iso_scope_push(t->ctx);
    if (iso_text_loader_next(t->loader, &batch)) take_larger(most, iso_tensor_numel(batch.ids), epoch, b);
    status = t->ctx->error.code;
    iso_scope_pop(t->ctx);
  }
  return status;
}

/* Of at most 64 epochs: that of more is hardly longer. */
static iso_status largest(iso_trainer *t, uint32_t *epoch, int64_t *batch) {
  const uint64_t n_batches = (uint64_t)iso_text_loader_n_batches(t->loader), most_epochs = 64;
  const uint64_t n_whole = t->recipe.n_steps / n_batches, n_rest = t->recipe.n_steps % n_batches;
  place most = {.slots = -1};
  for (uint32_t e = 0; e < n_whole && e < most_epochs; e++) {
    iso_text_loader_stats s;
    const iso_status status = iso_text_loader_get_stats(t->loader, e, &s);
    if (status) return status;
    take_larger(&most, s.largest_n * s.largest_length, e, s.largest_batch);
  }
  const iso_status status =
      n_rest && n_whole < most_epochs ? look_at(t, (uint32_t)n_whole, (int64_t)n_rest, &most) : ISO_OK;
  *epoch = most.epoch, *batch = most.batch;
  return status;
}

/* ---- checkpoints ---- */

static void facts(const iso_trainer *t, iso__facts *f) {
  const iso__text *x = t->text;
  iso__facts_text(f, "task", true, t->task->name);
  iso__facts_text(f, "tokenizer_hash", true, iso_tokenizer_hash(x->model.tokenizer));
  iso__facts_number(f, "width", true, (uint64_t)x->model.width);
  iso__facts_double(f, "dropout", x->model.dropout);
  iso__facts_double(f, "label_smoothing", t->recipe.label_smoothing);
  iso__facts_number(f, "max_length", true, (uint64_t)x->model.max_length);
  iso__facts_number(f, "truncate", true, x->model.truncate);
  iso__facts_number(f, "bucket_batches", true, (uint64_t)x->options.bucket_batches);
  iso__facts_number(f, "pad_multiple", true, (uint64_t)x->options.pad_multiple);
  iso__facts_number(f, "decay_all", true, x->options.decay_all);
  /* For evaluation, which need not be told again. */
  const iso_text_options *o = &x->options;
  iso__facts_text(f, "data", false, o->data);
  iso__facts_text(f, "test", false, o->test ? o->test : "");
  iso__facts_text(f, "data_format", false, o->format ? o->format : "");
  iso__facts_text(f, "text_column", false, o->text_column ? o->text_column : "");
  iso__facts_text(f, "label_column", false, o->label_column ? o->label_column : "");
  iso__facts_double(f, "held_out", o->held_out);
}

static const iso_named_tensor *files(const iso_trainer *t, size_t *n) {
  return iso__text_model_files(&t->text->model, n);
}

const iso__task iso__text_task = {.name = "text",
                                  .open = open_task,
                                  .close = close_task,
                                  .info = info_of,
                                  .loader_new = loader_new,
                                  .loader_free = loader_free,
                                  .next = next,
                                  .n_batches = n_batches,
                                  .position = position,
                                  .seek = seek,
                                  .replica = replica,
                                  .largest = largest,
                                  .facts = facts,
                                  .files = files};

iso_trainer *iso_trainer_new_text(iso_context *ctx, const iso_text_options *options) {
  return iso__trainer_new(ctx, &iso__text_task, options, fill);
}
