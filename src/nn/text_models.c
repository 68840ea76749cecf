/* text_models.c: classifiers of texts by name, and the one of convolutions (Kim, "Convolutional neural networks for
 * sentence classification", 2014). */
#include <isobit/sequence.h>
#include <stdio.h>
#include <string.h>
#include "nn/module.h"
#include "nn/recurrent.h"

/* ---- textcnn ---- */

enum { N_WIDTHS = 3 };
static const int64_t widths[N_WIDTHS] = {3, 4, 5};

typedef struct text_cnn {
  iso_module *embedding, *conv[N_WIDTHS], *linear;
  double dropout;
} text_cnn;

/* Features (batch,width) of windows that begin at a token; behind the end there are zeros. ReLU's results are never
 * below 0, so padded positions, filled with 0, never win. */
static iso_tensor *windows(iso_module *m, iso_module *conv, iso_tensor *signal, const iso_tensor *padding) {
  iso_context *ctx = m->ctx;
  iso_tensor *y = iso_module_forward(conv, signal);
  iso_tensor *active = y ? iso_relu(ctx, y) : NULL;
  iso_release(y);
  iso_tensor *there = active && padding ? iso_masked_fill(ctx, active, padding, 0) : NULL;
  iso_tensor *best = iso_amax(ctx, there ? there : active, 1, (const int[]){2}, false);
  iso_release(active), iso_release(there);
  return best;
}

static iso_tensor *cnn_forward(iso_module *m, iso_tensor *ids, const iso_tensor *lengths) {
  const text_cnn *t = m->state;
  iso_context *ctx = m->ctx;
  iso_tensor *x = iso_module_forward(t->embedding, ids), *mask = NULL, *rows = NULL, *columns = NULL;
  if (x && lengths) {
    mask = iso_padding_mask(ctx, lengths, iso_tensor_shape(ids)[1]);
    rows = mask ? iso_unsqueeze(ctx, mask, 2) : NULL, columns = mask ? iso_unsqueeze(ctx, mask, 1) : NULL;
    iso_tensor *there = iso_masked_fill(ctx, x, rows, 0);
    iso_release(x);
    x = there;
  }
  iso_tensor *signal = x ? iso_transpose(ctx, x, 1, 2) : NULL, *parts[N_WIDTHS];
  iso_release(x);
  for (int i = 0; i < N_WIDTHS; i++) parts[i] = signal ? windows(m, t->conv[i], signal, columns) : NULL;
  iso_tensor *all = iso__failed(ctx) ? NULL : iso_cat(ctx, N_WIDTHS, (const iso_tensor *const *)parts, 1);
  for (int i = 0; i < N_WIDTHS; i++) iso_release(parts[i]);
  iso_release(signal), iso_release(mask), iso_release(rows), iso_release(columns);
  iso_tensor *kept = all && m->training && t->dropout > 0 ? iso_dropout(ctx, all, t->dropout, true) : NULL;
  iso_tensor *y = all ? iso_module_forward(t->linear, kept ? kept : all) : NULL;
  iso_release(all), iso_release(kept);
  return y;
}
static const iso_module_type cnn_type = {
    .name = "TextCNN", .state_bytes = sizeof(text_cnn), .forward_sequence = cnn_forward};

static iso_module *text_cnn_new(iso_context *ctx, const iso_text_model_config *c) {
  static const char *const names[] = {"embedding", "conv3", "conv4", "conv5", "linear"};
  iso_module *children[N_WIDTHS + 2];
  children[0] = iso_embedding_module(
      ctx,
      &(iso_embedding_config){.rows = c->vocabulary, .width = c->width, .has_padding = true, .padding = c->padding});
  for (int i = 0; i < N_WIDTHS; i++)
    children[1 + i] = iso_conv1d_module(
        ctx, &(iso_conv1d_config){.in = c->width, .out = c->width, .kernel = widths[i], .pad_right = widths[i] - 1});
  children[N_WIDTHS + 1] = iso_linear_module(ctx, N_WIDTHS * c->width, c->classes, true);
  iso_module *m = iso__module_with_children(ctx, &cnn_type, N_WIDTHS + 2, names, children);
  if (!m) return NULL;
  text_cnn *t = m->state;
  *t = (text_cnn){.embedding = children[0], .linear = children[N_WIDTHS + 1], .dropout = c->dropout};
  for (int i = 0; i < N_WIDTHS; i++) t->conv[i] = children[1 + i];
  return m;
}

/* ---- the others ---- */

static iso_module *text_classifier(iso_context *ctx, const iso_text_model_config *c) {
  return iso_text_classifier_new(
      ctx, &(iso_text_classifier_config){
               .vocabulary = c->vocabulary, .width = c->width, .classes = c->classes, .padding = c->padding});
}

static iso_module *bert(iso_context *ctx, const iso_text_model_config *c) {
  iso_bert_config b = c->bert ? *c->bert : (iso_bert_config){0};
  b.vocabulary = c->vocabulary, b.classes = c->classes;
  if (c->dropout != 0) b.dropout = c->dropout;
  return iso_bert_new(ctx, &b);
}

static const struct {
  const char *name;
  iso_module *(*make)(iso_context *ctx, const iso_text_model_config *config);
} models[] = {
    {"textclassifier", text_classifier}, {"textcnn", text_cnn_new}, {"lstm", iso__text_lstm_new}, {"bert", bert}};
static const char *const model_names[] = {"textclassifier", "textcnn", "lstm", "bert", NULL};

const char *const *iso_text_model_names(void) { return model_names; }

iso_module *iso_text_model_new(iso_context *ctx, const char *name, const iso_text_model_config *config) {
  if (iso__failed(ctx)) return NULL;
  iso_text_model_config c = config ? *config : (iso_text_model_config){0};
  if (c.width == 0) c.width = 128;
  if (c.vocabulary < 1 || c.classes < 1 || c.width < 1 || !(c.dropout < 1) || c.padding < 0 ||
      c.padding >= c.vocabulary) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "iso_text_model_new",
              "vocabulary %lld, classes %lld, width %lld: at least 1 each; dropout %g: below 1; padding %lld: a token",
              (long long)c.vocabulary, (long long)c.classes, (long long)c.width, c.dropout, (long long)c.padding);
    return NULL;
  }
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    if (name && !strcmp(models[i].name, name)) return models[i].make(ctx, &c);
  char known[160] = "";
  for (size_t i = 0, at = 0; model_names[i] && at < sizeof known; i++)
    at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", model_names[i]);
  ISO__FAIL(ctx, ISO_NOT_FOUND, "iso_text_model_new", "there is no text model '%s': %s are known", name ? name : "",
            known);
  return NULL;
}
