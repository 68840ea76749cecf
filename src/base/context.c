/* context.c: the context's life, its first error, its memory, and the scopes that own handles.
 *
 * At the end handles go first (innermost scope first, newest handle first, kept ones last), then the rooms' slots in
 * descending order: so a handle's destructor may still use any slot, and a slot's destructor must not touch handles. */
#include "base/context.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/cpu.h"
#include "base/owner.h"

enum { ISO__MAX_THREADS = 4096 };

/* ---- life ---- */

static void list_init(iso__handle *head) { head->prev = head->next = head; }

iso_status iso__context_new(const iso_allocator *source, iso__heap *heap, int n_threads, iso_isa isa,
                            iso_context **out) {
  *out = NULL;
  if (n_threads < 0 || n_threads > ISO__MAX_THREADS) return ISO_INVALID_ARGUMENT;
  if (heap) iso__heap_retain(heap);
  else if (!(heap = iso__heap_new(source))) return ISO_OUT_OF_MEMORY;
  iso_status status;
  iso_context *ctx = iso__heap_alloc(heap, sizeof *ctx, &status);
  if (!ctx) {
    iso__heap_release(heap);
    return status;
  }
  memset(ctx, 0, sizeof *ctx);
  const iso__cpu_info *cpu = iso__cpu();
  ctx->heap = heap;
  ctx->n_threads = n_threads ? n_threads : cpu->n_cores;
  ctx->isa = isa < cpu->isa ? isa : cpu->isa;
  list_init(&ctx->root.head);
  list_init(&ctx->kept);
  ctx->scope = &ctx->root;
  if (ctx->n_threads > 1 && !(ctx->pool = iso__pool_new(ctx->n_threads))) {
    iso__context_free(ctx);
    return ISO_OUT_OF_MEMORY;
  }
  *out = ctx;
  return ISO_OK;
}

static void destroy_all(iso__handle *head) {
  while (head->prev != head) {
    iso__handle *newest = head->prev;
    iso__handle_leave(newest);
    newest->destroy(newest);
  }
}

void iso__context_free(iso_context *ctx) {
  if (!ctx) return;
  ctx->n_missing_scopes = 0;
  while (ctx->scope != &ctx->root) iso_scope_pop(ctx);
  destroy_all(&ctx->root.head);
  destroy_all(&ctx->kept);
  for (int i = ISO__N_SLOTS - 1; i >= 0; i--)
    if (ctx->slot_free[i]) ctx->slot_free[i](ctx, ctx->slot[i]);
  iso__pool_free(ctx->pool);
  iso__heap *heap = ctx->heap;
  iso__heap_free(heap, ctx, sizeof *ctx);
  iso__heap_release(heap);
}

int iso_n_threads(const iso_context *ctx) { return ctx ? ctx->n_threads : 0; }
iso_isa iso_context_isa(const iso_context *ctx) { return ctx ? ctx->isa : ISO_ISA_SCALAR; }

/* ---- the first error: kept in the context itself, so that it needs no memory ---- */

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

iso_status iso__fail(iso_context *ctx, iso_status code, const char *file, int line, const char *op, const char *format,
                     ...) {
  if (!ctx) return code;
  iso__error *error = &ctx->error;
  if (error->code != ISO_OK) return error->code;
  error->code = code;
  char where[96];
  snprintf(where, sizeof where, " (%s, %.40s:%d)", iso_status_name(code), base_name(file), line);
  size_t room = sizeof error->message - strlen(where); /* a long sentence is cut, never the code and place */
  int n = snprintf(error->message, room, "%s: ", op);
  if (n >= 0 && (size_t)n < room) {
    va_list args;
    va_start(args, format);
    vsnprintf(error->message + n, room - (size_t)n, format, args);
    va_end(args);
  }
  strcat(error->message, where);
  return code;
}

iso_status iso_error_code(const iso_context *ctx) { return ctx ? ctx->error.code : ISO_INVALID_ARGUMENT; }
const char *iso_error_message(const iso_context *ctx) { return ctx ? ctx->error.message : "there is no context"; }

void iso_clear_error(iso_context *ctx) {
  if (!ctx) return;
  ctx->error.code = ISO_OK;
  ctx->error.message[0] = '\0';
}

/* ---- warnings ---- */

void iso__warn(iso_context *ctx, const char *format, ...) {
  char sentence[sizeof ctx->waiting_warning];
  va_list args;
  va_start(args, format);
  vsnprintf(sentence, sizeof sentence, format, args);
  va_end(args);
  if (ctx->warn) ctx->warn(ctx->warn_user, sentence);
  else if (!ctx->waiting_warning[0]) memcpy(ctx->waiting_warning, sentence, sizeof sentence);
}

void iso_set_warning_handler(iso_context *ctx, iso_warning_fn *handler, void *user) {
  if (!ctx) return;
  ctx->warn = handler;
  ctx->warn_user = user;
  if (!handler || !ctx->waiting_warning[0]) return;
  handler(user, ctx->waiting_warning);
  ctx->waiting_warning[0] = '\0';
}

/* ---- memory ---- */

iso_status iso__fail_memory(iso_context *ctx, iso_status status, size_t n_bytes) {
  const iso_memory_info info = iso__heap_info(ctx->heap);
  char owners[240];
  iso_memory_owners_format(&info.now, owners, sizeof owners);
  if (status == ISO_MEMORY_LIMIT)
    return ISO__FAIL(ctx, status, "memory",
                     "%zu bytes more than the %zu in use would exceed memory_limit, %zu bytes: %s", n_bytes,
                     info.live_bytes, info.limit_bytes, owners);
  return ISO__FAIL(ctx, status, "memory", "no %zu bytes beyond the %zu in use: %s", n_bytes, info.live_bytes, owners);
}

void *iso__alloc(iso_context *ctx, size_t n_bytes) {
  iso_status status;
  const iso__owner owner = iso__owner_now();
  if (owner == ISO__OWNER_ACTIVATIONS) iso__owner_enter(ISO__OWNER_OTHER); /* tensors don't come this way */
  void *block = iso__heap_alloc(ctx->heap, n_bytes, &status);
  iso__owner_leave(owner);
  if (!block) iso__fail_memory(ctx, status, n_bytes);
  return block;
}

void *iso__zalloc(iso_context *ctx, size_t n_bytes) {
  void *block = iso__alloc(ctx, n_bytes);
  return block ? memset(block, 0, n_bytes) : NULL;
}

void iso__free(iso_context *ctx, void *block, size_t n_bytes) { iso__heap_free(ctx->heap, block, n_bytes); }

bool iso__grow(iso_context *ctx, void **block, size_t *capacity, size_t n_wanted, size_t item_bytes) {
  if (n_wanted <= *capacity) return true;
  size_t n = *capacity < 8 ? 8 : *capacity;
  while (n < n_wanted && n <= SIZE_MAX / 2) n *= 2;
  if (n < n_wanted || n > SIZE_MAX / item_bytes) {
    ISO__FAIL(ctx, ISO_OUT_OF_MEMORY, "memory", "%zu items of %zu bytes are more than can be addressed", n_wanted,
              item_bytes);
    return false;
  }
  void *larger = iso__alloc(ctx, n * item_bytes);
  if (!larger) return false;
  if (*block) memcpy(larger, *block, *capacity * item_bytes);
  iso__free(ctx, *block, *capacity * item_bytes);
  *block = larger;
  *capacity = n;
  return true;
}

iso_memory_info iso_memory_get_info(const iso_context *ctx) {
  return ctx ? iso__heap_info(ctx->heap) : (iso_memory_info){0};
}
void iso_memory_reset_peak(iso_context *ctx) {
  if (ctx) iso__heap_reset_peak(ctx->heap);
}
int iso_memory_set_fill(iso_context *ctx, int byte) { return ctx ? iso__heap_set_fill(ctx->heap, byte) : -1; }

void iso_memory_fail_at(iso_context *ctx, uint64_t n) {
  if (ctx) iso__heap_fail_at(ctx->heap, n);
}

/* ---- scopes ---- */

/* Pushing and popping work in a failed context too, or they would no longer pair. When there is no memory for a scope,
 * it and all that are pushed inside it are only counted: handles then live in the scope around them. */
static void push(iso_context *ctx, bool of_operator) {
  iso__scope *scope = ctx->n_missing_scopes ? NULL : iso__alloc(ctx, sizeof *scope);
  if (!scope) {
    ctx->n_missing_scopes++;
    return;
  }
  *scope = (iso__scope){.outer = ctx->scope, .of_operator = of_operator};
  list_init(&scope->head);
  ctx->scope = scope;
}
void iso_scope_push(iso_context *ctx) {
  if (ctx) push(ctx, false);
}
void iso__operator_scope_push(iso_context *ctx) {
  if (ctx) push(ctx, true);
}

void iso_scope_pop(iso_context *ctx) {
  if (!ctx) return;
  if (ctx->n_missing_scopes) {
    ctx->n_missing_scopes--;
    return;
  }
  iso__scope *scope = ctx->scope;
  if (scope == &ctx->root) {
    ISO__FAIL(ctx, ISO_STATE, "iso_scope_pop", "there is no scope to end: more pops than pushes");
    return;
  }
  destroy_all(&scope->head);
  ctx->scope = scope->outer;
  iso__free(ctx, scope, sizeof *scope);
}

static void list_append(iso__handle *head, iso__handle *handle) {
  handle->prev = head->prev;
  handle->next = head;
  head->prev->next = handle;
  head->prev = handle;
}

void iso__handle_enter(iso_context *ctx, iso__handle *handle) {
  list_append(&ctx->scope->head, handle);
  handle->scope = ctx->scope;
}

void iso__handle_leave(iso__handle *handle) {
  handle->prev->next = handle->next;
  handle->next->prev = handle->prev;
  handle->prev = handle->next = handle;
  handle->scope = NULL;
}

void iso__handle_keep(iso_context *ctx, iso__handle *handle) {
  iso__handle_leave(handle);
  list_append(&ctx->kept, handle);
}

/* Only a handle of the innermost scope moves: one from further out lives long enough already. */
void iso__handle_escape(iso_context *ctx, iso__handle *handle) {
  iso__scope *outer = ctx->scope->outer;
  if (handle->scope != ctx->scope || !outer) return;
  iso__handle_leave(handle);
  list_append(&outer->head, handle);
  handle->scope = outer;
}
