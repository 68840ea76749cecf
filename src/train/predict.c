/* predict.c: a text model at work. Texts go through the loader that training uses, so that those of similar length
 * share a batch, and rows come back in the order of the texts. */
#include <isobit/predict.h>
#include <isobit/pretrained.h>
#include <math.h>
#include <string.h>
#include "base/fenv.h"
#include "tensor/tensor.h"
#include "train/evaluate.h"
#include "train/predictor.h"

enum { USUAL_BATCH = 32 };

void iso_text_predictor_free(iso_text_predictor *p) {
  if (!p) return;
  iso_context *ctx = p->ctx;
  iso__text_model_release(&p->model, true);
  iso__free(ctx, p, sizeof *p);
}

/* Something is wrong with the weights if one is no number: every text's result would be none, either. */
static bool check_weights(const iso_text_predictor *p) {
  size_t n;
  const iso_named_tensor *tensors = iso_module_tensors(p->model.module, &n);
  for (size_t i = 0; i < n; i++) {
    const iso_tensor *t = tensors[i].tensor;
    if (iso_tensor_dtype(t) != ISO_F32 || !iso_tensor_is_contiguous(t)) continue;
    const float *data = iso_tensor_data(t);
    for (int64_t k = 0; k < iso_tensor_numel(t); k++)
      if (!isfinite(data[k]))
        return ISO__FAIL(p->ctx, ISO_INVALID_ARGUMENT, "weights", "'%s' holds %g at element %lld", tensors[i].name,
                         (double)data[k], (long long)k),
               false;
  }
  return true;
}

/* What gives embeddings, and how wide they are. */
static bool find_output(iso_text_predictor *p) {
  const iso_bert_config *bert = iso_bert_get_config(p->model.module);
  p->batch_size = p->options.batch_size > 0 ? p->options.batch_size : USUAL_BATCH;
  p->width = p->model.n_classes;
  if (!p->options.embeds) {
    if (p->width > 0) return true;
    return ISO__FAIL(p->ctx, ISO_INVALID_ARGUMENT, "predict", "the model has no classes: it gives embeddings only"),
           false;
  }
  p->embedding = strcmp(p->model.name, "textclassifier") ? NULL : iso_module_find(p->model.module, "embedding");
  if (!bert && !p->embedding)
    return ISO__FAIL(p->ctx, ISO_UNSUPPORTED, "predict", "embeddings are bert's and textclassifier's; this is a %s",
                     p->model.name),
           false;
  p->width = (int)(bert ? bert->width : p->model.width);
  p->is_unit = bert && bert->normalize;
  return true;
}

static iso_status ready(const iso_text_predictor *p) {
  iso_module_train(p->model.module, false);
  return iso_module_pack(p->model.module, true);
}

iso_text_predictor *iso_text_predictor_open(iso_context *ctx, const char *path,
                                            const iso_text_predictor_options *options) {
  iso_text_predictor *p = iso__failed(ctx) ? NULL : iso__zalloc(ctx, sizeof *p);
  if (!p) return NULL;
  p->ctx = p->model.ctx = ctx;
  if (options) p->options = *options;
  const iso__device *device = iso__host_enter(ctx);
  bool ok = iso__predictor_open_parts(p, path) && check_weights(p) && find_output(p);
  iso__host_leave(ctx, device);
  if (ok && p->options.max_length > 0) p->model.max_length = p->options.max_length;
  if (p->options.truncate) p->model.truncate = true;
  if (ok && p->model.truncate && p->model.max_length == 0)
    ok = !ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "predict", "truncate needs a max_length to cut at");
  ok = ok && !iso_module_to(p->model.module, iso_context_device(ctx)) && !ready(p);
  if (!ok) return iso_text_predictor_free(p), NULL;
  return p;
}

int iso_text_predictor_width(const iso_text_predictor *p) { return p ? p->width : 0; }
int iso_text_predictor_n_classes(const iso_text_predictor *p) { return p ? p->model.n_classes : 0; }
const char *iso_text_predictor_class_name(const iso_text_predictor *p, int label) {
  return p && label >= 0 && label < p->model.n_classes ? p->model.classes[label] : NULL;
}
const char *iso_text_predictor_model(const iso_text_predictor *p) { return p ? p->model.name : ""; }
iso_module *iso_text_predictor_module(const iso_text_predictor *p) { return p ? p->model.module : NULL; }
const char *iso_text_predictor_tokenizer_hash(const iso_text_predictor *p) {
  return iso_tokenizer_hash(p ? p->model.tokenizer : NULL);
}

/* ---- running ---- */

static iso_text_loader *open_loader(const iso_text_predictor *p, iso_text_dataset *set, int64_t batch_size,
                                    bool in_order) {
  return iso_text_loader_new(p->ctx, set, p->model.tokenizer,
                             &(iso_text_loader_options){.batch_size = batch_size,
                                                        .n_epochs = 1,
                                                        .max_length = p->model.max_length,
                                                        .truncate = p->model.truncate,
                                                        .bucket_batches = in_order ? 1 : 0});
}

static bool next(void *loader, iso__samples *out) {
  iso_text_batch batch;
  if (!iso_text_loader_next(loader, &batch)) return false;
  *out = (iso__samples){.x = batch.ids, .lengths = batch.lengths, .y = batch.y, .n_total = batch.n_total};
  return true;
}

/* (n,width) on the CPU. */
static iso_tensor *outputs(const iso_text_predictor *p, iso__samples *batch) {
  iso_context *ctx = p->ctx;
  iso__samples_to_device(ctx, batch);
  iso_tensor *y = p->embedding ? iso_module_forward(p->embedding, batch->x)
                               : iso__samples_forward(p->model.module, batch, 0, batch->n_total);
  if (p->options.embeds && !p->is_unit) y = iso_normalize(ctx, y, 2, -1, 1e-12);
  if (!p->options.embeds) y = iso_softmax(ctx, y, -1);
  return iso_to(ctx, iso_contiguous(ctx, y), "cpu");
}

static iso_status run(const iso_text_predictor *p, iso_text_loader *loader, float *out) {
  const size_t row = (size_t)p->width;
  iso_text_batch batch;
  iso_status status = ISO_OK;
  for (bool more = true; more && !status;) {
    iso_scope_push(p->ctx);
    if ((more = iso_text_loader_next(loader, &batch))) {
      iso__samples samples = {.x = batch.ids, .lengths = batch.lengths, .n_total = batch.n_total};
      const iso_tensor *y = outputs(p, &samples);
      const float *from = y ? iso_tensor_data(y) : NULL;
      for (int64_t i = 0; from && i < batch.n_total; i++)
        memcpy(out + batch.samples[i] * row, from + (size_t)i * row, row * sizeof *out);
    }
    status = p->ctx->error.code;
    iso_scope_pop(p->ctx);
  }
  return status;
}

iso_status iso_text_predictor_run(iso_text_predictor *p, int64_t n, const iso_text *texts, float *out) {
  if (!p || n < 0 || (n > 0 && (!texts || !out))) return ISO_INVALID_ARGUMENT;
  if (iso__failed(p->ctx) || n == 0) return p->ctx->error.code;
  iso_text_dataset *set =
      iso_text_dataset_from_memory(p->ctx, n, texts, NULL, &(iso_text_file_options){.no_labels = true});
  iso_text_loader *loader = set ? open_loader(p, set, p->batch_size, false) : NULL;
  iso_no_grad_push(p->ctx);
  const iso_status status = loader ? run(p, loader, out) : p->ctx->error.code;
  iso_no_grad_pop(p->ctx);
  iso_text_loader_free(loader);
  iso_text_dataset_free(set);
  return status;
}

iso_status iso_text_predictor_evaluate(iso_text_predictor *p, iso_text_dataset *set, int64_t limit,
                                       iso_evaluation *out) {
  if (!p || !set || !out) return ISO_INVALID_ARGUMENT;
  *out = (iso_evaluation){0};
  const iso_text_dataset_info info = iso_text_dataset_get_info(set);
  if (p->options.embeds || info.n_classes != p->model.n_classes)
    return ISO__FAIL(p->ctx, ISO_INVALID_ARGUMENT, "evaluate", "the set has %d classes, the model %d", info.n_classes,
                     p->options.embeds ? 0 : p->model.n_classes);
  const bool part = limit > 0 && limit < info.n_samples;
  iso_text_loader *loader = open_loader(p, set, ISO__TEXT_EVALUATION_BATCH, part);
  if (!loader) return p->ctx->error.code;
  const iso_status status = iso__evaluate(&(iso__evaluating){.ctx = p->ctx,
                                                             .model = p->model.module,
                                                             .loader = loader,
                                                             .next = next,
                                                             .limit = part ? limit : info.n_samples},
                                          out);
  iso_text_loader_free(loader);
  return status ? status : ready(p);
}
