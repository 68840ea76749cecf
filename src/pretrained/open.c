/* open.c: a module from a folder: configuration, then weights by name into it. All that does not fit is told at once.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <isobit/io.h>
#include "pretrained/config.h"
#include "tensor/tensor.h"

/* ---- what does not fit ---- */

enum { LIST_BYTES = 360 };
typedef struct complaints {
  int n, n_more;
  char text[LIST_BYTES];
  size_t used;
} complaints;

static void complain(complaints *c, const char *format, ...) ISO_PRINTF(2, 3);
static void complain(complaints *c, const char *format, ...) {
  char one[200];
  va_list arguments;
  va_start(arguments, format);
  const int n = vsnprintf(one, sizeof one, format, arguments);
  va_end(arguments);
  c->n++;
  if (n < 0 || c->used + (size_t)n + 3 > sizeof c->text) {
    c->n_more++;
    return;
  }
  c->used += (size_t)snprintf(c->text + c->used, sizeof c->text - c->used, "%s%s", c->used ? "; " : "", one);
}

static void shape_text(const iso_tensor *t, char *text, size_t n_bytes) {
  size_t at = (size_t)snprintf(text, n_bytes, "(");
  for (int i = 0; i < iso_tensor_n_dims(t) && at < n_bytes; i++)
    at += (size_t)snprintf(text + at, n_bytes - at, "%s%lld", i ? "," : "", (long long)iso_tensor_shape(t)[i]);
  if (at < n_bytes) snprintf(text + at, n_bytes - at, ")");
}

static bool same_shape(const iso_tensor *a, const iso_tensor *b) {
  const int n = iso_tensor_n_dims(a);
  return n == iso_tensor_n_dims(b) && !memcmp(iso_tensor_shape(a), iso_tensor_shape(b), (size_t)n * sizeof(int64_t));
}

/* ---- weights ---- */

/* Files name a model "embeddings.…" or, as part of a larger one, "bert.embeddings.…". */
static iso_tensor *find(const iso_tensor_dict *file, const char *name) {
  char prefixed[300];
  iso_tensor *t = iso_tensor_dict_find(file, name);
  if (t) return t;
  snprintf(prefixed, sizeof prefixed, "bert.%s", name);
  return iso_tensor_dict_find(file, prefixed);
}

static bool is_finite(iso_context *ctx, const iso_tensor *t) {
  double all = 1;
  iso_scope_push(ctx);
  iso_tensor *finite = iso_isfinite(ctx, t);
  iso_tensor *worst = finite ? iso_amin(ctx, iso_cast(ctx, finite, ISO_F32), 0, NULL, false) : NULL;
  if (worst) iso_tensor_item(worst, &all);
  iso_scope_pop(ctx);
  return all != 0;
}

static void take(const iso_tensor_dict *file, const iso_named_tensor *to, bool is_new, bool allow_nonfinite,
                 complaints *c) {
  const iso_tensor *from = find(file, to->name);
  char is[80], wanted[80];
  if (!from) {
    if (!is_new) complain(c, "%s is missing", to->name);
    return;
  }
  shape_text(from, is, sizeof is), shape_text(to->tensor, wanted, sizeof wanted);
  if (!iso_dtype_is_float(iso_tensor_dtype(from)))
    complain(c, "%s is %s", to->name, iso_dtype_name(iso_tensor_dtype(from)));
  else if (!same_shape(from, to->tensor)) complain(c, "%s is %s, the configuration says %s", to->name, is, wanted);
  else if (iso_tensor_assign(to->tensor, from) == ISO_OK && !allow_nonfinite && !is_finite(to->tensor->ctx, to->tensor))
    complain(c, "%s has NaN or infinite weights", to->name);
}

/* Every tensor of the file belongs to the model, or to a head that is not used. */
static void look_for_strangers(iso_module *m, const iso_tensor_dict *file, complaints *c) {
  static const char *const passed_over[] = {"cls.", "pooler.", "classifier.", "qa_outputs.", "embeddings.position_ids"};
  for (size_t i = 0; i < file->n_tensors; i++) {
    const char *name = file->tensors[i].name;
    if (!strncmp(name, "bert.", 5)) name += 5;
    bool known = iso_module_find_tensor(m, name) != NULL;
    for (size_t k = 0; k < sizeof passed_over / sizeof passed_over[0]; k++)
      known |= !strncmp(name, passed_over[k], strlen(passed_over[k]));
    if (!known) complain(c, "%.120s is in the file, not in the configuration", name);
  }
}

static bool load_weights(iso_module *m, const iso_tensor_dict *file, const char *path,
                         const iso_pretrained_options *o) {
  size_t n;
  complaints c = {0};
  iso_context *ctx = iso_module_context(m);
  const iso_named_tensor *list = iso_module_tensors(m, &n);
  const bool has_classifier = find(file, "classifier.weight") != NULL;
  for (size_t i = 0; i < n && !iso__failed(ctx); i++)
    take(file, &list[i], !strncmp(list[i].name, "classifier.", 11) && !has_classifier, o->allow_nonfinite, &c);
  if (iso__failed(ctx)) return false;
  look_for_strangers(m, file, &c);
  if (!c.n) return true;
  ISO__FAIL(ctx, ISO_CORRUPT, "iso_pretrained_open", "%s: %d tensors do not fit: %s%s", path, c.n, c.text,
            c.n_more ? " …" : "");
  return false;
}

/* ---- the module ---- */

static iso_bert_config choose(const iso__pretrained_config *folder, const iso_tensor_dict *file,
                              const iso_pretrained_options *o) {
  iso_bert_config c = folder->bert;
  c.classes = o->classes, c.hidden = o->hidden;
  c.pooler =
      !folder->has_pooling && find(file, "pooler.dense.weight") && (o->classes > 0 || find(file, "classifier.weight"));
  c.normalize = folder->normalize && o->classes == 0;
  if (o->dropout != 0) c.dropout = c.attention_dropout = o->dropout;
  return c;
}

iso_module *iso_pretrained_open(iso_context *ctx, const char *folder, const iso_pretrained_options *options) {
  const iso_pretrained_options o = options ? *options : (iso_pretrained_options){0};
  iso__pretrained_config config;
  char path[4096];
  if (iso__failed(ctx)) return NULL;
  if (!folder || !*folder || strlen(folder) > sizeof path - 64) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, __func__, "the folder's path is %s", folder && *folder ? "too long" : "empty");
    return NULL;
  }
  if (!iso__pretrained_config_read(ctx, folder, &config)) return NULL;
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  iso_tensor_dict *file = iso_safetensors_read(ctx, path);
  if (!file) return NULL;
  const iso_bert_config c = choose(&config, file, &o);
  iso_module *m = iso_bert_new(ctx, &c);
  if (m && !load_weights(m, file, path, &o)) iso_module_free(m), m = NULL;
  iso_tensor_dict_free(file);
  return m;
}
