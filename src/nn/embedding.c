/* embedding.c: rows of a table by number, one each or the mean of many; and the text classifier made of it. */
#include <isobit/sequence.h>
#include <stdio.h>
#include "nn/module.h"
#include "tensor/tensor.h"

typedef struct embedding {
  iso_embedding_config c;
  iso_tensor *weight; /* the module's; (rows,width) */
} embedding;

static iso_tensor *forward(iso_module *m, iso_tensor *index) {
  const embedding *e = m->state;
  return iso_embedding(m->ctx, index, e->weight,
                       &(iso_embedding_options){.has_padding = e->c.has_padding, .padding = e->c.padding});
}
static iso_tensor *forward_mean(iso_module *m, iso_tensor *index) {
  const embedding *e = m->state;
  return iso_embedding_bag(
      m->ctx, index, e->weight,
      &(iso_embedding_bag_options){.mode = ISO_BAG_MEAN, .has_padding = e->c.has_padding, .padding = e->c.padding});
}
static int describe(const iso_module *m, char *text, size_t n_bytes) {
  const embedding *e = m->state;
  char padding[40] = "";
  if (e->c.has_padding) snprintf(padding, sizeof padding, ", padding %lld", (long long)e->c.padding);
  return snprintf(text, n_bytes, "(%lld × %lld%s%s)", (long long)e->c.rows, (long long)e->c.width, padding,
                  e->c.mean ? ", mean" : "");
}
static const iso_module_type embedding_type = {
    .name = "Embedding", .state_bytes = sizeof(embedding), .forward = forward, .describe = describe};
static const iso_module_type mean_type = {
    .name = "EmbeddingBag", .state_bytes = sizeof(embedding), .forward = forward_mean, .describe = describe};

static bool check(iso_context *ctx, const iso_embedding_config *c) {
  if (iso__failed(ctx)) return false;
  if (!c || c->rows < 1 || c->width < 1)
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "Embedding", "rows %lld, width %lld: at least 1 each",
              c ? (long long)c->rows : 0, c ? (long long)c->width : 0);
  else if (c->has_padding && (c->padding < -c->rows || c->padding >= c->rows))
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "Embedding", "padding is %lld: a table with %lld rows", (long long)c->padding,
              (long long)c->rows);
  return !iso__failed(ctx);
}

/* N(0,1), the padding's row 0. */
static iso_tensor *table_new(iso_context *ctx, const iso_embedding_config *c) {
  iso_tensor *t = iso_tensor_new(ctx, ISO_F32, 2, (const int64_t[]){c->rows, c->width});
  if (!t || iso_init_normal(t, 0, 1, iso_init_next_site(ctx)) != ISO_OK) return iso_release(t), NULL;
  const iso__device *device = t->view.storage->device;
  const int64_t row = c->padding < 0 ? c->padding + c->rows : c->padding;
  float *padding = (float *)iso__view_data(&t->view) + row * c->width;
  if (c->has_padding &&
      iso__device_asked(ctx, device, "Embedding", device->zero(device, padding, (size_t)c->width * sizeof(float))))
    return iso_release(t), NULL;
  return t;
}

iso_module *iso_embedding_module(iso_context *ctx, const iso_embedding_config *config) {
  if (!check(ctx, config)) return NULL;
  embedding e = {.c = *config, .weight = table_new(ctx, config)};
  iso_module *m = iso_module_new(ctx, config->mean ? &mean_type : &embedding_type, &e);
  if (!m) return iso_release(e.weight), NULL;
  return iso__module_with(m, "weight", e.weight, true);
}

/* ---- the classifier ---- */

/* Ids beyond a text's end, whatever they are, count as padding. */
static iso_tensor *classify(iso_module *m, iso_tensor *index, const iso_tensor *lengths) {
  const embedding *e = m->children[0].module->state;
  iso_tensor *own = NULL;
  if (lengths && e->c.has_padding) {
    iso_tensor *mask = iso_padding_mask(m->ctx, lengths, iso_tensor_shape(index)[1]);
    own = iso_masked_fill(m->ctx, index, mask, (double)e->c.padding);
    iso_release(mask);
  }
  iso_tensor *mean = iso_module_forward(m->children[0].module, own ? own : index);
  iso_tensor *y = mean ? iso_module_forward(m->children[1].module, mean) : NULL;
  iso_release(own), iso_release(mean);
  return y;
}
static const iso_module_type classifier_type = {.name = "TextClassifier", .forward_sequence = classify};

iso_module *iso_text_classifier_new(iso_context *ctx, const iso_text_classifier_config *config) {
  if (iso__failed(ctx)) return NULL;
  iso_text_classifier_config c = config ? *config : (iso_text_classifier_config){0};
  if (c.vocabulary == 0) c.vocabulary = 10000;
  if (c.width == 0) c.width = 128;
  if (c.classes == 0) c.classes = 10;
  const iso_embedding_config table = {
      .rows = c.vocabulary, .width = c.width, .mean = true, .has_padding = !c.no_padding, .padding = c.padding};
  iso_module *children[2];
  children[0] = iso_embedding_module(ctx, &table);
  children[1] = iso_linear_module(ctx, c.width, c.classes, true);
  return iso__module_with_children(ctx, &classifier_type, 2, (const char *const[]){"embedding", "linear"}, children);
}
