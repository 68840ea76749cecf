/* module.c: a tree of modules that own named tensors. */
#include "nn/module.h"
#include <stdio.h>
#include <string.h>
#include "device/trace.h"
#include "tensor/tensor.h"

/* ---- life ---- */

static char *copy_text(iso_context *ctx, const char *text) {
  const size_t n = strlen(text) + 1;
  char *copy = iso__alloc(ctx, n);
  return copy ? memcpy(copy, text, n) : NULL;
}
static void free_text(iso_context *ctx, char *text) {
  if (text) iso__free(ctx, text, strlen(text) + 1);
}

iso_module *iso_module_new(iso_context *ctx, const iso_module_type *type, const void *state) {
  if (iso__failed(ctx) || !type) return NULL;
  iso_module *m = iso__zalloc(ctx, sizeof *m);
  void *own = m && type->state_bytes ? iso__zalloc(ctx, type->state_bytes) : NULL;
  if (!m || (type->state_bytes && !own)) {
    if (m) iso__free(ctx, m, sizeof *m);
    return NULL;
  }
  if (own && state) memcpy(own, state, type->state_bytes);
  m->ctx = ctx;
  m->type = type;
  m->state = own;
  m->training = true;
  return m;
}

static void list_free(iso_module *m) {
  if (m->list) iso__free(m->ctx, m->list, m->n_list * sizeof *m->list);
  if (m->text) iso__free(m->ctx, m->text, m->n_text_bytes);
  m->list = NULL, m->text = NULL;
  m->n_list = m->n_text_bytes = 0;
}

void iso_module_free(iso_module *m) {
  if (!m) return;
  iso_context *ctx = m->ctx;
  for (size_t i = 0; i < m->n_children; i++) {
    iso_module_free(m->children[i].module);
    free_text(ctx, m->children[i].name);
  }
  if (m->type->free) m->type->free(m);
  for (size_t i = 0; i < m->n_tensors; i++) {
    iso_release(m->tensors[i].tensor);
    free_text(ctx, m->tensors[i].name);
  }
  list_free(m);
  iso__free(ctx, m->children, m->children_capacity * sizeof *m->children);
  iso__free(ctx, m->tensors, m->tensors_capacity * sizeof *m->tensors);
  if (m->state) iso__free(ctx, m->state, m->type->state_bytes);
  iso__free(ctx, m, sizeof *m);
}

void *iso_module_state(const iso_module *m) { return m ? m->state : NULL; }
const iso_module_type *iso_module_get_type(const iso_module *m) { return m ? m->type : NULL; }
iso_context *iso_module_context(const iso_module *m) { return m ? m->ctx : NULL; }

/* ---- registering ---- */

/* Lists of this module and of those around it name things that have changed. */
static void forget_lists(iso_module *m) {
  for (; m; m = m->parent) list_free(m);
}

static bool check_name(iso_module *m, const char *op, const char *name) {
  bool free_name = name && *name && !strchr(name, '.');
  for (size_t i = 0; i < m->n_tensors && free_name; i++) free_name = strcmp(m->tensors[i].name, name) != 0;
  for (size_t i = 0; i < m->n_children && free_name; i++) free_name = strcmp(m->children[i].name, name) != 0;
  if (!free_name)
    ISO__FAIL(m->ctx, ISO_INVALID_ARGUMENT, op, "the name '%s' is empty, has a dot or is taken in %s", name ? name : "",
              m->type->name);
  return free_name;
}

iso_module *iso_module_add_child(iso_module *parent, const char *name, iso_module *child) {
  if (!child) return NULL;
  char *own = NULL;
  if (!parent || iso__failed(parent->ctx) || !check_name(parent, "iso_module_add_child", name) ||
      !iso__grow(parent->ctx, (void **)&parent->children, &parent->children_capacity, parent->n_children + 1,
                 sizeof *parent->children) ||
      !(own = copy_text(parent->ctx, name))) {
    iso_module_free(child);
    return NULL;
  }
  parent->children[parent->n_children++] = (iso__module_child){.name = own, .module = child};
  child->parent = parent;
  forget_lists(parent);
  return child;
}

iso_module *iso__module_with_children(iso_context *ctx, const iso_module_type *type, int n, const char *const *names,
                                      iso_module *const *children) {
  iso_module *m = iso_module_new(ctx, type, NULL);
  bool complete = m != NULL;
  for (int i = 0; i < n; i++) {
    if (!complete) iso_module_free(children[i]);
    else complete = iso_module_add_child(m, names[i], children[i]) != NULL;
  }
  if (complete) return m;
  iso_module_free(m);
  return NULL;
}

static iso_tensor *add_tensor(iso_module *m, const char *op, const char *name, iso_tensor *tensor, bool trainable) {
  if (!m || !tensor || iso__failed(m->ctx) || !check_name(m, op, name)) return NULL;
  if (trainable && !iso_requires_grad(tensor, true)) return NULL;
  if (!iso__grow(m->ctx, (void **)&m->tensors, &m->tensors_capacity, m->n_tensors + 1, sizeof *m->tensors)) return NULL;
  char *own = copy_text(m->ctx, name);
  if (!own) return NULL;
  iso__storage_set_owner(tensor->view.storage, ISO__OWNER_WEIGHTS);
  m->tensors[m->n_tensors++] = (iso__module_tensor){.name = own, .tensor = iso_keep(tensor), .trainable = trainable};
  forget_lists(m);
  return tensor;
}
iso_tensor *iso_module_add_parameter(iso_module *m, const char *name, iso_tensor *tensor) {
  return add_tensor(m, "iso_module_add_parameter", name, tensor, true);
}
iso_tensor *iso_module_add_buffer(iso_module *m, const char *name, iso_tensor *tensor) {
  return add_tensor(m, "iso_module_add_buffer", name, tensor, false);
}

iso_module *iso__module_with(iso_module *m, const char *name, iso_tensor *tensor, bool trainable) {
  if (!m || add_tensor(m, m->type->name, name, tensor, trainable)) return m;
  iso_release(tensor);
  iso_module_free(m);
  return NULL;
}

/* ---- finding ---- */

int iso_module_n_children(const iso_module *m) { return m ? (int)m->n_children : 0; }
iso_module *iso_module_child(const iso_module *m, int i) {
  return m && i >= 0 && (size_t)i < m->n_children ? m->children[i].module : NULL;
}
const char *iso_module_child_name(const iso_module *m, int i) {
  return m && i >= 0 && (size_t)i < m->n_children ? m->children[i].name : NULL;
}

static iso_module *child_named(const iso_module *m, const char *name, size_t n) {
  for (size_t i = 0; i < m->n_children; i++)
    if (strncmp(m->children[i].name, name, n) == 0 && m->children[i].name[n] == '\0') return m->children[i].module;
  return NULL;
}

iso_module *iso_module_find(const iso_module *m, const char *name) {
  while (m && name) {
    const char *dot = strchr(name, '.');
    iso_module *child = child_named(m, name, dot ? (size_t)(dot - name) : strlen(name));
    if (!dot) return child;
    m = child;
    name = dot + 1;
  }
  return NULL;
}

iso_tensor *iso_module_find_tensor(const iso_module *m, const char *name) {
  for (const char *dot; m && name && (dot = strchr(name, '.')); name = dot + 1)
    m = child_named(m, name, (size_t)(dot - name));
  for (size_t i = 0; m && name && i < m->n_tensors; i++)
    if (strcmp(m->tensors[i].name, name) == 0) return m->tensors[i].tensor;
  return NULL;
}

/* ---- the list of all tensors ---- */

/* Counts names' bytes and tensors, or writes them if list is not NULL. Each module: parameters, buffers, children. */
typedef struct lister {
  iso_named_tensor *list;
  char *text;
  size_t n, n_bytes;
} lister;

static void list_tensor(lister *l, const char *prefix, const iso__module_tensor *t) {
  const size_t n_prefix = strlen(prefix), n_name = strlen(t->name) + 1;
  if (l->list) {
    char *name = l->text + l->n_bytes;
    memcpy(name, prefix, n_prefix);
    memcpy(name + n_prefix, t->name, n_name);
    l->list[l->n] = (iso_named_tensor){.name = name, .tensor = t->tensor, .trainable = t->trainable};
  }
  l->n++;
  l->n_bytes += n_prefix + n_name;
}

enum { MAX_NAME = 512 };
static bool list_module(lister *l, const iso_module *m, const char *prefix) {
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < m->n_tensors; i++)
      if (m->tensors[i].trainable == (pass == 0)) list_tensor(l, prefix, &m->tensors[i]);
  for (size_t i = 0; i < m->n_children; i++) {
    char deeper[MAX_NAME];
    const int n = snprintf(deeper, sizeof deeper, "%s%s.", prefix, m->children[i].name);
    if (n < 0 || n >= MAX_NAME) {
      ISO__FAIL(m->ctx, ISO_INVALID_ARGUMENT, "iso_module_tensors", "a name has more than %d bytes", MAX_NAME - 1);
      return false;
    }
    if (!list_module(l, m->children[i].module, deeper)) return false;
  }
  return true;
}

const iso_named_tensor *iso_module_tensors(iso_module *m, size_t *n) {
  *n = 0;
  if (!m) return NULL;
  if (!m->list) {
    lister count = {0};
    if (iso__failed(m->ctx) || !list_module(&count, m, "")) return NULL;
    lister l = {.list = iso__alloc(m->ctx, count.n * sizeof *l.list)};
    if (!l.list) return NULL;
    m->list = l.list, m->n_list = count.n;
    if (!(l.text = iso__alloc(m->ctx, count.n_bytes))) {
      list_free(m);
      return NULL;
    }
    m->text = l.text, m->n_text_bytes = count.n_bytes;
    list_module(&l, m, "");
  }
  *n = m->n_list;
  return m->list;
}

int64_t iso_module_n_parameters(iso_module *m) {
  size_t n;
  const iso_named_tensor *list = iso_module_tensors(m, &n);
  int64_t total = 0;
  for (size_t i = 0; i < n; i++)
    if (list[i].trainable) total += iso_tensor_numel(list[i].tensor);
  return total;
}

/* ---- running ---- */

/* "layer1.0.conv1", ending at `end`; returns where it begins. What does not fit is left out in front. */
static char *write_path(const iso_module *m, char *begin, char *end) {
  for (*--end = '\0'; m->parent; m = m->parent) {
    const iso_module *p = m->parent;
    size_t i = 0;
    while (p->children[i].module != m) i++;
    const size_t n = strlen(p->children[i].name), dot = *end != '\0';
    if ((size_t)(end - begin) < n + dot) break;
    if (dot) *--end = '.';
    memcpy(end -= n, p->children[i].name, n);
  }
  return end;
}

size_t iso__module_enter(const iso_module *m) {
  iso__trace *trace = iso__trace_of(m->ctx);
  if (!trace) return 0;
  char name[MAX_NAME];
  const size_t outer = trace->module;
  trace->module = iso__trace_keep_text(trace, write_path(m, name, name + sizeof name));
  return outer;
}

void iso__module_leave(const iso_module *m, size_t outer) {
  iso__trace *trace = iso__trace_of(m->ctx);
  if (trace) trace->module = outer;
}

iso_tensor *iso__module_call(iso_module *m, iso__way way, iso_tensor *x, const iso_tensor *lengths) {
  if (way == ISO__FORWARD_RELU) return m->type->forward_relu(m, x);
  if (m->type->forward_sequence && (way == ISO__FORWARD_SEQUENCE || !m->type->forward))
    return m->type->forward_sequence(m, x, way == ISO__FORWARD_SEQUENCE ? lengths : NULL);
  return m->type->forward(m, x);
}

static iso_tensor *run(iso_module *m, iso__way way, iso_tensor *x, const iso_tensor *lengths) {
  const size_t outer = iso__module_enter(m);
  iso_tensor *y = m->checkpointing ? iso__module_checkpoint(m, way, x, lengths) : iso__module_call(m, way, x, lengths);
  iso__module_leave(m, outer);
  return y;
}

iso_tensor *iso_module_forward(iso_module *m, iso_tensor *x) {
  return m && x && !iso__failed(m->ctx) ? run(m, ISO__FORWARD, x, NULL) : NULL;
}

iso_tensor *iso__module_forward_relu(iso_module *m, iso_tensor *x) { return run(m, ISO__FORWARD_RELU, x, NULL); }

static bool lengths_fit(iso_module *m, const iso_tensor *x, const iso_tensor *lengths) {
  const int n = iso_tensor_n_dims(x);
  if (!lengths || (n >= 2 && iso_tensor_dtype(lengths) == ISO_I64 && iso_tensor_n_dims(lengths) == 1 &&
                   iso_tensor_shape(lengths)[0] == iso_tensor_shape(x)[0]))
    return true;
  ISO__FAIL(
      m->ctx, ISO_SHAPE_MISMATCH, m->type->name,
      "lengths are %s of %d dimensions and %lld elements: i64 (batch) is expected, x has %d dimensions and a batch "
      "of %lld",
      iso_dtype_name(iso_tensor_dtype(lengths)), iso_tensor_n_dims(lengths), (long long)iso_tensor_numel(lengths), n,
      n ? (long long)iso_tensor_shape(x)[0] : 0LL);
  return false;
}

iso_tensor *iso_module_forward_sequence(iso_module *m, iso_tensor *x, const iso_tensor *lengths) {
  if (!m || !x || iso__failed(m->ctx) || !lengths_fit(m, x, lengths)) return NULL;
  return run(m, ISO__FORWARD_SEQUENCE, x, lengths);
}

void iso_module_train(iso_module *m, bool training) {
  if (!m) return;
  m->training = training;
  for (size_t i = 0; i < m->n_children; i++) iso_module_train(m->children[i].module, training);
}
bool iso_module_is_training(const iso_module *m) { return m && m->training; }

iso_status iso_module_pack(iso_module *m, bool pack) {
  if (!m) return ISO_INVALID_ARGUMENT;
  for (size_t i = 0; i < m->n_tensors; i++) {
    if (!m->tensors[i].trainable || iso_tensor_n_dims(m->tensors[i].tensor) < 2) continue;
    if (!pack) iso_tensor_unpack(m->tensors[i].tensor);
    else if (iso_tensor_pack(m->tensors[i].tensor)) return iso_error_code(m->ctx);
  }
  for (size_t i = 0; i < m->n_children; i++)
    if (iso_module_pack(m->children[i].module, pack)) return iso_error_code(m->ctx);
  return ISO_OK;
}

void iso_module_zero_grad(iso_module *m) {
  if (!m) return;
  for (size_t i = 0; i < m->n_tensors; i++)
    if (m->tensors[i].trainable) iso_grad_zero(m->tensors[i].tensor);
  for (size_t i = 0; i < m->n_children; i++) iso_module_zero_grad(m->children[i].module);
}

/* ---- describing ---- */

typedef struct printer {
  char *text;
  size_t n_bytes;
  int n;
} printer;
/* Where the next byte goes, and the room from there. */
static char *at(const printer *p) { return p->text && (size_t)p->n < p->n_bytes ? p->text + p->n : NULL; }
static size_t room(const printer *p) { return at(p) ? p->n_bytes - (size_t)p->n : 0; }

static void describe(printer *p, const iso_module *m, const char *name, int depth) {
  p->n += snprintf(at(p), room(p), "%*s%s%s%s%s", 2 * depth, "", name ? "(" : "", name ? name : "", name ? "): " : "",
                   m->type->name);
  if (m->type->describe) p->n += m->type->describe(m, at(p), room(p));
  p->n += snprintf(at(p), room(p), "\n");
  for (size_t i = 0; i < m->n_children; i++) describe(p, m->children[i].module, m->children[i].name, depth + 1);
}

int iso_module_describe(const iso_module *m, char *text, size_t n_bytes) {
  printer p = {.text = text, .n_bytes = n_bytes};
  if (text && n_bytes) text[0] = '\0';
  if (m) describe(&p, m, NULL, 0);
  return p.n;
}
