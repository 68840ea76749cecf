/* autocast.c: scopes of autocast, their list of operators, and the casts that they keep.
 *
 * Kept casts are handles that the context keeps, so that one freed with a scope open frees them with its handles and
 * this room's destructor touches none. */
#include "autograd/autocast.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "autograd/state.h"

static const iso_autocast_row rows[] = {
#define LOW(op_) {.op = #op_, .kind = ISO_AUTOCAST_LOW},
#define F32(op_) {.op = #op_, .kind = ISO_AUTOCAST_F32},
#define WIDEST(op_) {.op = #op_, .kind = ISO_AUTOCAST_WIDEST},
#define AS_IS(op_) {.op = #op_, .kind = ISO_AUTOCAST_AS_IS},
#include "autograd/autocast.def"
#undef LOW
#undef F32
#undef WIDEST
#undef AS_IS
};
enum { N_ROWS = ISO__N_AUTOCAST_ROWS };
static const char *const kind_names[ISO_AUTOCAST_N_KINDS] = {"as_is", "low", "f32", "widest"};

const iso_autocast_row *iso_autocast_list(int *n) {
  *n = N_ROWS;
  return rows;
}
const char *iso_autocast_kind_name(iso_autocast_kind kind) {
  return (unsigned)kind < ISO_AUTOCAST_N_KINDS ? kind_names[kind] : NULL;
}

/* Of the name's first n bytes; −1: no such row. */
static int row_of(const char *op, size_t n) {
  int low = 0, high = N_ROWS;
  while (low < high) {
    const int middle = (low + high) / 2;
    int order = strncmp(rows[middle].op, op, n);
    if (order == 0 && rows[middle].op[n]) order = 1;
    if (order == 0) return middle;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return -1;
}

iso_autocast_kind iso__autocast_kind(const iso__autocast *a, const char *op) {
  const int row = row_of(op, strlen(op));
  return row < 0 ? ISO_AUTOCAST_AS_IS : (iso_autocast_kind)a->scope->kinds[row];
}

/* ---- kept casts ---- */

static void entry_drop(iso__cast_entry *e) {
  iso__var_release(e->var);
  iso_release(e->low);
  *e = (iso__cast_entry){.var = NULL};
}

static void scope_forget(iso__autocast_scope *s) {
  for (size_t i = 0; i < s->n_weights; i++) entry_drop(&s->weights[i]);
  s->n_weights = 0;
  entry_drop(&s->recent);
}

void iso__autocast_forget(iso_context *ctx) {
  const iso__autocast *a = iso__autocast_of(ctx);
  for (iso__autocast_scope *s = a ? a->scope : NULL; s; s = s->outer) scope_forget(s);
}

static unsigned version_of(const iso_tensor *t) {
  return atomic_load_explicit(&t->view.storage->version, memory_order_relaxed);
}

/* The same elements in the same places. */
static bool is_of(const iso__cast_entry *e, const iso_tensor *t) {
  const iso__view *a = &e->source, *b = &t->view;
  const size_t n_bytes = sizeof a->shape[0] * (size_t)b->n_dims;
  return e->var == t->var && a->storage == b->storage && e->version == version_of(t) && a->offset == b->offset &&
         a->n_dims == b->n_dims && !memcmp(a->shape, b->shape, n_bytes) && !memcmp(a->strides, b->strides, n_bytes);
}

const iso_tensor *iso__autocast_find(iso_context *ctx, const iso_tensor *t) {
  const iso__autocast_scope *s = iso__autocast_of(ctx)->scope;
  if (!t->var) return NULL;
  if (is_of(&s->recent, t)) return s->recent.low;
  for (size_t i = 0; i < s->n_weights; i++)
    if (is_of(&s->weights[i], t)) return s->weights[i].low;
  return NULL;
}

/* The entry of a weight whose values have changed is taken again. */
static iso__cast_entry *entry_of_weight(iso_context *ctx, iso__autocast_scope *s, const iso_tensor *t) {
  for (size_t i = 0; i < s->n_weights; i++) {
    const iso__cast_entry *e = &s->weights[i];
    if (e->var == t->var && e->source.storage == t->view.storage && e->version != version_of(t)) return &s->weights[i];
  }
  if (!iso__grow(ctx, (void **)&s->weights, &s->capacity, s->n_weights + 1, sizeof *s->weights)) return NULL;
  s->weights[s->n_weights] = (iso__cast_entry){.var = NULL};
  return &s->weights[s->n_weights++];
}

bool iso__autocast_keep(iso_context *ctx, const iso_tensor *t, const iso_tensor *low) {
  iso__autocast_scope *s = iso__autocast_of(ctx)->scope;
  if (!t->var) return true;
  iso_tensor *kept = iso__tensor_from_view(ctx, &low->view);
  iso__cast_entry *e = !kept ? NULL : iso__leaf_of(t) ? entry_of_weight(ctx, s, t) : &s->recent;
  if (!e) {
    iso_release(kept);
    return false;
  }
  entry_drop(e);
  *e = (iso__cast_entry){
      .var = iso__var_retain(t->var), .source = t->view, .version = version_of(t), .low = iso_keep(kept)};
  return true;
}

/* ---- scopes ---- */

static iso_status bad_override(iso_context *ctx, const char *text, const char *why) {
  return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "iso_autocast_push", "overrides '%.120s': %s", text, why);
}

/* "softmax=low,linear=f32" into the scope's kinds. */
static iso_status override(iso_context *ctx, iso__autocast_scope *s, const char *text) {
  char why[160];
  for (const char *at = text; *at;) {
    const size_t n = strcspn(at, ","), n_op = strcspn(at, "=,");
    const int row = row_of(at, n_op);
    int kind = -1;
    for (int k = 0; k < ISO_AUTOCAST_N_KINDS && n_op < n; k++)
      if (strlen(kind_names[k]) == n - n_op - 1 && !strncmp(kind_names[k], at + n_op + 1, n - n_op - 1)) kind = k;
    if (row < 0) {
      snprintf(why, sizeof why, "'%.*s' is no operator of the list", (int)(n_op < 60 ? n_op : 60), at);
      return bad_override(ctx, text, why);
    }
    if (kind < 0) {
      snprintf(why, sizeof why, "'%.*s' does not say low, f32, widest or as_is", (int)(n < 60 ? n : 60), at);
      return bad_override(ctx, text, why);
    }
    s->kinds[row] = (uint8_t)kind;
    at += n + (at[n] == ',');
  }
  return ISO_OK;
}

static void scope_free(iso_context *ctx, iso__autocast_scope *s) {
  iso__free(ctx, s->weights, s->capacity * sizeof *s->weights);
  iso__free(ctx, s, sizeof *s + N_ROWS);
}

/* Becomes the innermost; kinds are to be filled in. */
static iso__autocast_scope *scope_new(iso_context *ctx, iso_dtype dtype) {
  iso__autocast *a = iso__autocast_of(ctx);
  iso__autocast_scope *s = iso__zalloc(ctx, sizeof *s + N_ROWS);
  if (!s) return NULL;
  s->dtype = dtype;
  s->outer = a->scope;
  return a->scope = s;
}
static void scope_end(iso_context *ctx) {
  iso__autocast *a = iso__autocast_of(ctx);
  iso__autocast_scope *s = a->scope;
  scope_forget(s);
  a->scope = s->outer;
  scope_free(ctx, s);
}

iso_status iso_autocast_push(iso_context *ctx, const iso_autocast_options *options) {
  if (iso__failed(ctx)) return ctx ? ctx->error.code : ISO_INVALID_ARGUMENT;
  iso__autocast *a = iso__autocast_of(ctx);
  const iso_dtype dtype = options ? options->dtype : ISO_F32;
  if (dtype != ISO_BF16 && dtype != ISO_F16 && dtype != ISO_F32)
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "iso_autocast_push",
                     "dtype %d is %s: bf16, f16 and f32 can be asked for", (int)dtype,
                     (unsigned)dtype < ISO_DTYPE_COUNT ? iso_dtype_name(dtype) : "none");
  iso__autocast_scope *s = scope_new(ctx, dtype);
  if (!s) return ctx->error.code;
  for (int i = 0; i < N_ROWS; i++) s->kinds[i] = (uint8_t)rows[i].kind;
  if (options && options->overrides && override(ctx, s, options->overrides)) {
    scope_end(ctx);
    return ctx->error.code;
  }
  if (dtype == ISO_F32 || a->told) return ISO_OK;
  a->told = true;
  iso__warn(ctx,
            "autocast to %s: products read %s and add in f32 here, without instructions for it: this saves memory, "
            "not time",
            iso_dtype_name(dtype), iso_dtype_name(dtype));
  return ISO_OK;
}

iso_status iso_autocast_pop(iso_context *ctx) {
  if (!ctx) return ISO_INVALID_ARGUMENT;
  if (!iso__autocast_of(ctx)->scope) return ISO__FAIL(ctx, ISO_STATE, "iso_autocast_pop", "more pops than pushes");
  scope_end(ctx);
  return ISO_OK;
}

iso_dtype iso_autocast_dtype(const iso_context *ctx) {
  return iso__autocast_is_on(ctx) ? iso__autocast_of(ctx)->scope->dtype : ISO_F32;
}
iso_autocast_kind iso_autocast_kind_of(const iso_context *ctx, const char *op) {
  return op && iso__autocast_is_on(ctx) ? iso__autocast_kind(iso__autocast_of(ctx), op) : ISO_AUTOCAST_AS_IS;
}

/* ---- the same once more ---- */

void iso__autocast_save(const iso_context *ctx, iso__autocast_state *state) {
  *state = (iso__autocast_state){.dtype = iso_autocast_dtype(ctx)};
  if (state->dtype != ISO_F32) memcpy(state->kinds, iso__autocast_of(ctx)->scope->kinds, N_ROWS);
}
bool iso__autocast_restore(iso_context *ctx, const iso__autocast_state *state, int *n_off) {
  iso__autocast *a = iso__autocast_of(ctx);
  iso__autocast_scope *s = iso__failed(ctx) ? NULL : scope_new(ctx, state->dtype);
  if (!s) return false;
  memcpy(s->kinds, state->kinds, N_ROWS);
  *n_off = a->n_off;
  a->n_off = 0;
  return true;
}
void iso__autocast_restored(iso_context *ctx, int n_off) {
  scope_end(ctx);
  iso__autocast_of(ctx)->n_off = n_off;
}

/* ---- the context's slot ---- */

/* Handles are gone by now; histories are not. */
static void autocast_free(iso_context *ctx, void *state) {
  iso__autocast *a = state;
  for (iso__autocast_scope *s = a->scope, *outer; s; s = outer) {
    outer = s->outer;
    for (size_t i = 0; i < s->n_weights; i++) iso__var_release(s->weights[i].var);
    iso__var_release(s->recent.var);
    scope_free(ctx, s);
  }
  iso__free(ctx, a, sizeof *a);
}

iso_status iso__autocast_attach(iso_context *ctx) {
  iso__autocast *a = iso__zalloc(ctx, sizeof *a);
  if (!a) return ctx->error.code;
  ctx->slot[ISO__SLOT_AUTOCAST] = a;
  ctx->slot_free[ISO__SLOT_AUTOCAST] = autocast_free;
  return ISO_OK;
}
