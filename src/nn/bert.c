/* bert.c: BERT (Devlin et al., "BERT: pre-training of deep bidirectional transformers", 2019) with the tensor names of
 * Hugging Face's BertModel: embeddings, encoder.layer.N, pooler; and a classifier on the pooled vector. */
#include <isobit/sequence.h>
#include <stdio.h>
#include <string.h>
#include "nn/attend.h"
#include "nn/init.h"
#include "ops/product/linear.h"

static iso_tensor *drop(iso_module *m, iso_tensor *x, double p) {
  if (!x || !m->training || p == 0) return x;
  iso_tensor *y = iso_dropout(m->ctx, x, p, true);
  iso_release(x);
  return y;
}

/* ---- embeddings: norm(word + token type 0 + position) ---- */

typedef struct embeddings {
  iso_module *word, *position, *token_type, *norm;
  iso_tensor *positions, *token_types; /* the tables */
  double dropout;
} embeddings;

static iso_tensor *embed(iso_module *m, iso_tensor *ids) {
  const embeddings *e = m->state;
  iso_context *ctx = m->ctx;
  const int64_t length = iso_tensor_n_dims(ids) == 2 ? iso_tensor_shape(ids)[1] : -1;
  const int64_t most = iso_tensor_shape(e->positions)[0];
  if (length < 1 || length > most) {
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, m->type->name,
              length < 1 ? "ids have %lld as length: (batch,length) of 1 to %lld is expected"
                         : "the texts are %lld tokens long: this model has %lld positions",
              (long long)length, (long long)most);
    return NULL;
  }
  iso_tensor *words = iso_module_forward(e->word, ids);
  iso_tensor *type = iso_slice(ctx, e->token_types, 0, 0, 1, 1);
  iso_tensor *typed = iso_add(ctx, words, type);
  iso_release(words), iso_release(type);
  iso_tensor *places = iso_slice(ctx, e->positions, 0, 0, length, 1);
  iso_tensor *sum = iso_add(ctx, typed, places);
  iso_release(typed), iso_release(places);
  iso_tensor *y = iso_module_forward(e->norm, sum);
  iso_release(sum);
  return drop(m, y, e->dropout);
}
static const iso_module_type embeddings_type = {
    .name = "BertEmbeddings", .state_bytes = sizeof(embeddings), .forward = embed};

static iso_module *embeddings_new(iso_context *ctx, const iso_bert_config *c) {
  static const char *const names[] = {"word_embeddings", "position_embeddings", "token_type_embeddings", "LayerNorm"};
  iso_module *const children[] = {
      iso_embedding_module(ctx, &(iso_embedding_config){.rows = c->vocabulary, .width = c->width}),
      iso_embedding_module(ctx, &(iso_embedding_config){.rows = c->positions, .width = c->width}),
      iso_embedding_module(ctx, &(iso_embedding_config){.rows = c->token_types, .width = c->width}),
      iso_layer_norm_module(ctx, c->width, c->eps)};
  iso_module *m = iso__module_with_children(ctx, &embeddings_type, 4, names, children);
  if (!m) return NULL;
  *(embeddings *)m->state = (embeddings){.word = children[0],
                                         .position = children[1],
                                         .token_type = children[2],
                                         .norm = children[3],
                                         .positions = iso_module_find_tensor(children[1], "weight"),
                                         .token_types = iso_module_find_tensor(children[2], "weight"),
                                         .dropout = c->dropout};
  return m;
}

/* ---- parts of a layer ---- */

static iso_tensor *not_alone(iso_module *m, iso_tensor *x) {
  (void)x;
  ISO__FAIL(m->ctx, ISO_STATE, m->type->name, "it is run by the layer it belongs to");
  return NULL;
}
/* Of children that only give their tensors names. */
static const iso_module_type part_type = {.name = "BertPart", .forward = not_alone};

/* norm(x + dropout(dense(h))): "attention.output" and "output". Ends h. */
typedef struct output {
  iso_module *module, *dense, *norm;
} output;

static iso_tensor *output_forward(iso_module *layer, const output *o, iso_tensor *h, iso_tensor *x, double dropout) {
  const bool drops = layer->training && dropout > 0;
  iso_tensor *y = NULL, *sum = drops ? NULL : iso__module_forward_fused(o->dense, h, x, ISO__ACTIVATION_NONE);
  if (!sum) {
    y = drop(layer, iso_module_forward(o->dense, h), dropout);
    sum = y ? iso_add(layer->ctx, y, x) : NULL;
    iso_release(y);
  }
  iso_release(h);
  y = iso_module_forward(o->norm, sum);
  iso_release(sum);
  return y;
}

static output output_new(iso_context *ctx, int64_t in, const iso_bert_config *c) {
  output o = {.dense = iso_linear_module(ctx, in, c->width, true),
              .norm = iso_layer_norm_module(ctx, c->width, c->eps)};
  o.module = iso__module_with_children(ctx, &part_type, 2, (const char *const[]){"dense", "LayerNorm"},
                                       (iso_module *[]){o.dense, o.norm});
  return o;
}

/* ---- a layer ---- */

typedef struct layer {
  iso__attend attend;
  output attention_output, output;
  iso_module *intermediate;
  iso_feedforward activation;
  double dropout;
} layer;

static iso_tensor *layer_forward(iso_module *m, iso_tensor *x, const iso_tensor *lengths) {
  const layer *l = m->state;
  iso_tensor *h = output_forward(m, &l->attention_output, iso__attend_to(m, &l->attend, x, lengths), x, l->dropout);
  iso_tensor *active = h ? iso__feedforward_wide(l->intermediate, h, (int)l->activation) : NULL;
  iso_tensor *y = active ? output_forward(m, &l->output, active, h, l->dropout) : NULL;
  iso_release(h);
  return y;
}
static const iso_module_type layer_type = {
    .name = "BertLayer", .state_bytes = sizeof(layer), .forward_sequence = layer_forward};

/* "attention": {"self": {query, key, value}, "output"}. */
static iso_module *attention_new(iso_context *ctx, const iso_bert_config *c, layer *l) {
  iso_module *qkv[3];
  for (int i = 0; i < 3; i++) qkv[i] = iso_linear_module(ctx, c->width, c->width, true);
  l->attend = (iso__attend){
      .query = qkv[0], .key = qkv[1], .value = qkv[2], .heads = c->heads, .dropout = c->attention_dropout};
  iso_module *self = iso__module_with_children(ctx, &part_type, 3, (const char *const[]){"query", "key", "value"}, qkv);
  l->attention_output = output_new(ctx, c->width, c);
  return iso__module_with_children(ctx, &part_type, 2, (const char *const[]){"self", "output"},
                                   (iso_module *[]){self, l->attention_output.module});
}

static iso_module *layer_new(iso_context *ctx, const iso_bert_config *c) {
  layer l = {.activation = c->activation, .dropout = c->dropout};
  iso_module *attention = attention_new(ctx, c, &l);
  l.intermediate = iso_linear_module(ctx, c->width, c->feedforward, true);
  iso_module *intermediate =
      iso__module_with_children(ctx, &part_type, 1, (const char *const[]){"dense"}, &l.intermediate);
  l.output = output_new(ctx, c->feedforward, c);
  iso_module *m =
      iso__module_with_children(ctx, &layer_type, 3, (const char *const[]){"attention", "intermediate", "output"},
                                (iso_module *[]){attention, intermediate, l.output.module});
  if (m) *(layer *)m->state = l;
  return iso__module_mark_block(m);
}

/* ---- the encoder ---- */

static iso_tensor *layers_forward(iso_module *m, iso_tensor *x, const iso_tensor *lengths) {
  iso_module *list = m->children[0].module;
  iso_tensor *y = x;
  for (size_t i = 0; i < list->n_children && y; i++) {
    iso_tensor *next = iso_module_forward_sequence(list->children[i].module, y, lengths);
    if (y != x) iso_release(y);
    y = next;
  }
  return y;
}
static const iso_module_type encoder_type = {.name = "BertEncoder", .forward_sequence = layers_forward};

static iso_module *encoder_new(iso_context *ctx, const iso_bert_config *c) {
  iso_module *list = iso_module_new(ctx, &part_type, NULL);
  for (int64_t i = 0; i < c->layers && list && !iso__failed(ctx); i++) {
    char name[24];
    snprintf(name, sizeof name, "%lld", (long long)i);
    iso_module_add_child(list, name, layer_new(ctx, c));
  }
  return iso__module_with_children(ctx, &encoder_type, 1, (const char *const[]){"layer"}, &list);
}

/* ---- the model ---- */

typedef struct bert {
  iso_bert_config c;
  iso_module *embeddings, *encoder, *pooler, *classifier; /* children; the last two may be NULL */
} bert;

/* Ends hidden. */
static iso_tensor *pool(iso_module *m, iso_tensor *hidden, const iso_tensor *lengths) {
  const bert *b = m->state;
  iso_context *ctx = m->ctx;
  iso_tensor *y = iso_pool_sequence(ctx, hidden, lengths, b->c.pooler ? ISO_POOLING_CLS : b->c.pooling);
  iso_release(hidden);
  if (b->pooler && y) {
    iso_tensor *z = iso_module_forward(b->pooler, y);
    iso_release(y);
    y = z ? iso_tanh(ctx, z) : NULL;
    iso_release(z);
  }
  if (y && b->c.normalize) {
    iso_tensor *unit = iso_normalize(ctx, y, 2, -1, 1e-12);
    iso_release(y);
    y = unit;
  }
  return y;
}

static iso_tensor *bert_forward(iso_module *m, iso_tensor *ids, const iso_tensor *lengths) {
  const bert *b = m->state;
  iso_tensor *x = iso_module_forward(b->embeddings, ids);
  iso_tensor *hidden = x ? iso_module_forward_sequence(b->encoder, x, lengths) : NULL;
  iso_release(x);
  if (!hidden || b->c.hidden) return hidden;
  iso_tensor *y = pool(m, hidden, lengths);
  if (!y || !b->classifier) return y;
  y = drop(m, y, b->c.dropout);
  iso_tensor *scores = iso_module_forward(b->classifier, y);
  iso_release(y);
  return scores;
}
static int describe(const iso_module *m, char *text, size_t n_bytes) {
  const iso_bert_config *c = &((const bert *)m->state)->c;
  return snprintf(text, n_bytes, "(%lld layers of %lld, %lld heads, vocabulary %lld)", (long long)c->layers,
                  (long long)c->width, (long long)c->heads, (long long)c->vocabulary);
}
static const iso_module_type bert_type = {
    .name = "Bert", .state_bytes = sizeof(bert), .forward_sequence = bert_forward, .describe = describe};

const iso_bert_config *iso_bert_get_config(const iso_module *m) {
  return m && m->type == &bert_type ? &((const bert *)m->state)->c : NULL;
}

static int64_t usual(int64_t value, int64_t otherwise) { return value ? value : otherwise; }
static double usual_p(double p) { return p < 0 ? 0 : p == 0 ? 0.1 : p; }

static iso_bert_config with_defaults(const iso_bert_config *config) {
  iso_bert_config c = config ? *config : (iso_bert_config){0};
  c.vocabulary = usual(c.vocabulary, 30522), c.width = usual(c.width, 384), c.layers = usual(c.layers, 6);
  c.heads = usual(c.heads, 12), c.feedforward = usual(c.feedforward, 4 * c.width);
  c.positions = usual(c.positions, 512), c.token_types = usual(c.token_types, 2);
  c.dropout = usual_p(c.dropout), c.attention_dropout = usual_p(c.attention_dropout);
  if (c.eps == 0) c.eps = 1e-12;
  return c;
}

static bool check(iso_context *ctx, const iso_bert_config *c) {
  if (!iso__attend_check(ctx, "Bert", c->width, c->heads, c->dropout, c->attention_dropout)) return false;
  if (c->vocabulary < 1 || c->layers < 1 || c->layers > 1024 || c->feedforward < 1 || c->positions < 1 ||
      c->token_types < 1 || c->classes < 0 || !(c->eps > 0))
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "Bert",
              "vocabulary %lld, layers %lld, feedforward %lld, positions %lld, token_types %lld, classes %lld, eps %g: "
              "positive, layers at most 1024",
              (long long)c->vocabulary, (long long)c->layers, (long long)c->feedforward, (long long)c->positions,
              (long long)c->token_types, (long long)c->classes, c->eps);
  return !iso__failed(ctx);
}

/* N(0, 0.02²); biases 0, norms as they are. */
static void initialise(iso_module *m) {
  size_t n;
  const iso_named_tensor *list = iso_module_tensors(m, &n);
  for (size_t i = 0; i < n && !iso__failed(m->ctx); i++) {
    const char *last = strrchr(list[i].name, '.');
    if (iso_tensor_n_dims(list[i].tensor) == 2) iso_init_normal(list[i].tensor, 0, 0.02, iso_init_next_site(m->ctx));
    else if (last && !strcmp(last, ".bias")) iso_init_zeros(list[i].tensor);
  }
}

iso_module *iso_bert_new(iso_context *ctx, const iso_bert_config *config) {
  const iso_bert_config c = with_defaults(config);
  if (iso__failed(ctx) || !check(ctx, &c)) return NULL;
  bert b = {.c = c, .embeddings = embeddings_new(ctx, &c), .encoder = encoder_new(ctx, &c)};
  iso_module *m = iso_module_new(ctx, &bert_type, NULL);
  iso_module_add_child(m, "embeddings", b.embeddings), iso_module_add_child(m, "encoder", b.encoder);
  if (c.pooler && !c.hidden) {
    iso_module *dense = b.pooler = iso_linear_module(ctx, c.width, c.width, true);
    iso_module_add_child(m, "pooler",
                         iso__module_with_children(ctx, &part_type, 1, (const char *const[]){"dense"}, &dense));
  }
  if (c.classes > 0 && !c.hidden)
    iso_module_add_child(m, "classifier", b.classifier = iso_linear_module(ctx, c.width, c.classes, true));
  if (m) *(bert *)m->state = b;
  if (m && !iso__failed(ctx)) initialise(m);
  if (!iso__failed(ctx)) return m;
  iso_module_free(m);
  return NULL;
}
