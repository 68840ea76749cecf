/* context.c: public contexts: the bare context of base with policy, plans, tape and autocast attached. */
#include <stdio.h>
#include <stdlib.h>
#include "base/cpu.h"
#include "ops/ops.h"
#include "policy/policy.h"

static void add_into(iso_context *ctx, const iso_tensor *out, const iso_tensor *a, const iso_tensor *b) {
  iso__map(ctx, "add", ISO__MAP_ADD, 2, ISO__TENSORS(a, b), NULL, (iso_tensor *)out);
}
static const iso__tape_operators tape_operators = {.add = iso_add, .add_into = add_into};

static iso_status attach(iso_context *ctx, const iso_policy *policy) {
  iso_status status = iso__policy_attach(ctx, policy);
  if (status == ISO_OK) status = iso__plan_attach(ctx);
  if (status == ISO_OK) status = iso__tape_attach(ctx, &tape_operators);
  if (status == ISO_OK) status = iso__autocast_attach(ctx);
  return status;
}

/* The most that the caller or ISOBIT_ISA allow, and the machine has. */
static iso_status choose_isa(const char *wanted, iso_isa *isa, char *message, size_t n_bytes) {
  const char *name = wanted ? wanted : getenv("ISOBIT_ISA");
  *isa = iso__cpu()->isa;
  if (!name || !*name) return ISO_OK;
  iso_isa most;
  if (iso__isa_parse(name, &most) != ISO_OK) {
    if (message)
      snprintf(message, n_bytes, "%s=%.40s: scalar, avx2 or avx512 is accepted", wanted ? "isa" : "ISOBIT_ISA", name);
    return ISO_INVALID_ARGUMENT;
  }
  if (most < *isa) *isa = most;
  return ISO_OK;
}

/* `message`: why not, or, though all is well, a note of the environment's. */
static iso_status choose_policy(const iso_policy *wanted, iso_policy *policy, char *message, size_t n_bytes) {
  if (wanted) {
    *policy = *wanted;
    return ISO_OK;
  }
  const iso_status status = iso_policy_preset("default", policy);
  return status == ISO_OK ? iso_policy_from_environment(policy, message, n_bytes) : status;
}

static iso_status finish(iso_context *ctx, iso_status status, iso_context **out, char *message, size_t n_bytes) {
  if (status == ISO_OK) {
    *out = ctx;
    return ISO_OK;
  }
  if (message) snprintf(message, n_bytes, "%s", iso_error_message(ctx));
  iso__context_free(ctx);
  return status;
}

iso_status iso_context_new_message(const iso_context_options *options, iso_context **out, char *message,
                                   size_t n_bytes) {
  static const iso_context_options none;
  const iso_context_options *o = options ? options : &none;
  if (!out) return ISO_INVALID_ARGUMENT;
  *out = NULL;
  if (message && n_bytes) message[0] = '\0';
  iso_isa isa;
  iso_policy policy;
  char note[256] = "";
  iso_status status = choose_isa(o->isa, &isa, message, n_bytes);
  if (status == ISO_OK) status = choose_policy(o->policy, &policy, note, sizeof note);
  if (status != ISO_OK) {
    if (message && note[0]) snprintf(message, n_bytes, "%s", note);
    return status;
  }
  iso_context *ctx;
  status = iso__context_new(o->allocator, NULL, o->n_threads, isa, &ctx);
  if (status != ISO_OK) {
    if (message) snprintf(message, n_bytes, "n_threads=%d: %s", o->n_threads, iso_status_sentence(status));
    return status;
  }
  if (note[0]) iso__warn(ctx, "%s", note);
  status = attach(ctx, &policy);
  const char *device = o->device ? o->device : getenv("ISOBIT_DEVICE");
  if (status == ISO_OK && device && *device) status = iso_context_set_device(ctx, device);
  if (status == ISO_OK) status = iso__stress_from_environment(ctx);
  return finish(ctx, status, out, message, n_bytes);
}

iso_status iso_context_new(const iso_context_options *options, iso_context **out) {
  return iso_context_new_message(options, out, NULL, 0);
}

iso_status iso_context_new_child(iso_context *parent, int n_threads, iso_context **out) {
  if (!parent || !out) return ISO_INVALID_ARGUMENT;
  *out = NULL;
  iso_context *ctx;
  iso_status status =
      iso__context_new(NULL, parent->heap, n_threads ? n_threads : parent->n_threads, parent->isa, &ctx);
  if (status != ISO_OK) return status;
  iso_set_warning_handler(ctx, parent->warn, parent->warn_user);
  status = attach(ctx, iso_policy_current(parent));
  if (status == ISO_OK) iso__plan_inherit(ctx, parent);
  ctx->device = parent->device;
  return finish(ctx, status, out, NULL, 0);
}

void iso_context_free(iso_context *ctx) { iso__context_free(ctx); }
