/* session.c: an inference session (session.h): a lock around one context, a region of memory that its runs live in, and
 * a policy that never measures. */
#include <isobit/session.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/region.h"
#include "plan/state.h"
#include "tensor/tensor.h"

enum { N_TIMES = 4096 };

struct iso_session {
  iso_context *ctx;
  iso_module *module;
  int64_t padding;
  iso_policy policy;
  pthread_mutex_t mutex;
  iso__region *region; /* NULL: nothing was warmed */
  uint64_t n_runs, n_failed;
  float times_ms[N_TIMES]; /* a ring */
};

/* ---- the input ---- */

/* (batch,length,…) with lengths: what is behind a sample's end becomes `padding`, or 0. */
static void blank_padding(const iso_session *s, const iso_session_input *in, char *data) {
  const size_t item = iso_dtype_size(in->dtype);
  size_t n_slot = 1;
  for (int i = 2; i < in->n_dims; i++) n_slot *= (size_t)in->shape[i];
  for (int64_t b = 0; b < in->shape[0]; b++) {
    char *begin = data + (size_t)(b * in->shape[1] + in->lengths[b]) * n_slot * item;
    const size_t n = (size_t)(in->shape[1] - in->lengths[b]) * n_slot;
    if (in->dtype == ISO_I64)
      for (size_t i = 0; i < n; i++) ((int64_t *)(void *)begin)[i] = s->padding;
    else if (in->dtype == ISO_I32)
      for (size_t i = 0; i < n; i++) ((int32_t *)(void *)begin)[i] = (int32_t)s->padding;
    else memset(begin, 0, n * item);
  }
}

static bool check_lengths(iso_context *ctx, const iso_session_input *in) {
  if (!in->lengths) return true;
  if (in->n_dims < 2)
    return ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "session", "lengths are of (batch,length,…); the input has %d dimensions",
                     in->n_dims),
           false;
  for (int64_t b = 0; b < in->shape[0]; b++)
    if (in->lengths[b] < 0 || in->lengths[b] > in->shape[1])
      return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "session", "sample %lld has length %lld: 0 to %lld is expected",
                       (long long)b, (long long)in->lengths[b], (long long)in->shape[1]),
             false;
  return true;
}

static bool check(iso_context *ctx, const iso_session_input *in) {
  int64_t n;
  if (!in || !in->shape || in->n_dims < 1)
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "session", "an input of one dimension or more is expected"), false;
  if (!iso__shape_check(ctx, "session", in->dtype, in->n_dims, in->shape, &n)) return false;
  if (in->shape[0] < 1 || (n > 0 && !in->data))
    return ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "session", "the input has %s",
                     in->shape[0] < 1 ? "no samples" : "no data"),
           false;
  return check_lengths(ctx, in);
}

static iso_tensor *read_input(iso_session *s, const iso_session_input *in, iso_tensor **lengths) {
  iso_context *ctx = s->ctx;
  *lengths = NULL;
  if (!check(ctx, in)) return NULL;
  iso_tensor *x = iso__tensor_new_on_host(ctx, in->dtype, in->n_dims, in->shape);
  if (!x) return NULL;
  memcpy(iso_tensor_data(x), in->data, (size_t)iso_tensor_numel(x) * iso_dtype_size(in->dtype));
  if (in->lengths) {
    blank_padding(s, in, iso_tensor_data(x));
    iso_tensor *l = iso__tensor_new_on_host(ctx, ISO_I64, 1, in->shape);
    if (l) memcpy(iso_tensor_data(l), in->lengths, (size_t)in->shape[0] * sizeof *in->lengths);
    *lengths = iso_to(ctx, l, iso_context_device(ctx));
  }
  return iso_to(ctx, x, iso_context_device(ctx));
}

/* ---- a run ---- */

static bool copy_out(iso_session *s, const iso_tensor *y, iso_session_result *out) {
  const size_t n_bytes = (size_t)iso_tensor_numel(y) * iso_dtype_size(iso_tensor_dtype(y));
  if (n_bytes > out->n_capacity) {
    void *data = iso__alloc(s->ctx, n_bytes);
    if (!data) return false;
    iso__free(s->ctx, out->data, out->n_capacity);
    out->data = data, out->n_capacity = n_bytes;
  }
  out->dtype = iso_tensor_dtype(y), out->n_dims = iso_tensor_n_dims(y);
  memcpy(out->shape, iso_tensor_shape(y), (size_t)out->n_dims * sizeof *out->shape);
  return n_bytes == 0 || iso_tensor_copy_to(y, out->data, n_bytes) == ISO_OK;
}

/* The module's result, a tensor on the CPU; NULL with the context's error set. */
static iso_tensor *forward(iso_session *s, const iso_session_input *in) {
  iso_tensor *lengths, *x = read_input(s, in, &lengths);
  iso_tensor *y = !x        ? NULL
                  : lengths ? iso_module_forward_sequence(s->module, x, lengths)
                            : iso_module_forward(s->module, x);
  return y ? iso_to(s->ctx, y, "cpu") : NULL;
}

/* With the lock held. result NULL: nothing is copied out. The context's error is left standing. */
static iso_status compute(iso_session *s, const iso_session_input *in, iso_session_result *result) {
  iso_context *ctx = s->ctx;
  const iso__owner owner = iso__owner_enter(ISO__OWNER_ACTIVATIONS);
  iso__region *before = iso__region_enter(s->region);
  iso_scope_push(ctx);
  iso_no_grad_push(ctx);
  if (iso_policy_push(ctx, &s->policy) == ISO_OK) {
    /* A record on disk may ask for weights packed in yet another form, at a first call. */
    const bool ignores = iso__plan_ignore_store(ctx, true);
    const iso_tensor *y = forward(s, in);
    iso__plan_ignore_store(ctx, ignores);
    iso__region_enter(NULL); /* what is copied out is the caller's */
    if (y && result) copy_out(s, y, result);
    iso_policy_pop(ctx);
  }
  iso_no_grad_pop(ctx);
  iso_scope_pop(ctx);
  iso__region_enter(before);
  iso__owner_leave(owner);
  return iso_error_code(ctx);
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

iso_status iso_session_run(iso_session *s, const iso_session_input *input, iso_session_result *result) {
  if (!s || !result) return ISO_INVALID_ARGUMENT;
  pthread_mutex_lock(&s->mutex);
  const double begin = now_ms();
  const iso_status status = compute(s, input, result);
  result->time_ms = now_ms() - begin;
  snprintf(result->message, sizeof result->message, "%s", iso_error_message(s->ctx));
  iso_clear_error(s->ctx);
  if (status) s->n_failed++;
  else s->times_ms[(s->n_runs - s->n_failed) % N_TIMES] = (float)result->time_ms;
  s->n_runs++;
  pthread_mutex_unlock(&s->mutex);
  return status;
}

void iso_session_result_release(iso_session *s, iso_session_result *result) {
  if (!s || !result) return;
  iso__free(s->ctx, result->data, result->n_capacity);
  result->data = NULL, result->n_capacity = 0;
}

/* ---- warming ---- */

/* Of padding, or zeros: NULL with the error kept. The caller frees it. */
static void *warm_data(const iso_session *s, const iso_session_shape *shape, size_t *n_bytes) {
  int64_t n;
  if (!iso__shape_check(s->ctx, "session", shape->dtype, shape->n_dims, shape->shape, &n)) return NULL;
  *n_bytes = (size_t)n * iso_dtype_size(shape->dtype);
  void *data = iso__zalloc(s->ctx, *n_bytes);
  for (int64_t i = 0; data && i < n && s->padding; i++) {
    if (shape->dtype == ISO_I64) ((int64_t *)data)[i] = s->padding;
    if (shape->dtype == ISO_I32) ((int32_t *)data)[i] = (int32_t)s->padding;
  }
  return data;
}

static bool is_ids(const iso_session_shape *shape) {
  return shape->n_dims >= 2 && (shape->dtype == ISO_I64 || shape->dtype == ISO_I32);
}

/* The first run packs weights and makes plans; the second shows what results of operators take: *n_bytes grows to it.
 */
static iso_status warm_one(iso_session *s, const iso_session_shape *shape, size_t *n_bytes) {
  size_t n_data, n_lengths = (size_t)(shape->n_dims > 0 && shape->shape[0] > 0 ? shape->shape[0] : 0) * sizeof(int64_t);
  void *data = warm_data(s, shape, &n_data);
  int64_t *lengths = data && is_ids(shape) ? iso__alloc(s->ctx, n_lengths) : NULL;
  for (int64_t b = 0; lengths && b < shape->shape[0]; b++) lengths[b] = shape->shape[1];
  const iso_session_input in = {shape->dtype, shape->n_dims, shape->shape, data, lengths};
  for (int i = 0; i < 2 && !iso__failed(s->ctx); i++) {
    iso_memory_reset_peak(s->ctx);
    const size_t before = iso_memory_get_info(s->ctx).live_bytes;
    compute(s, &in, NULL);
    const iso_memory_info after = iso_memory_get_info(s->ctx);
    if (i > 0 && after.peak_bytes - before > *n_bytes) *n_bytes = after.peak_bytes - before;
  }
  iso__free(s->ctx, lengths, n_lengths);
  if (data) iso__free(s->ctx, data, n_data);
  return iso_error_code(s->ctx);
}

/* A quarter more than the most that was in use at once: first fit leaves gaps. Grows only. */
static iso_status plan_memory(iso_session *s, size_t n_bytes) {
  const size_t wanted = n_bytes + n_bytes / 4 + (64 << 10);
  iso_status status = ISO_OK;
  if (n_bytes == 0 || wanted <= iso__region_bytes(s->region)) return ISO_OK;
  iso__region *region = iso__region_new(s->ctx->heap, wanted, &status);
  if (!region) return iso__fail_memory(s->ctx, status, wanted);
  iso__region_free(s->region);
  s->region = region;
  return ISO_OK;
}

static iso_status warm(iso_session *s, int n, const iso_session_shape *shapes) {
  iso__region *region = s->region;
  size_t n_bytes = 0;
  s->region = NULL; /* so that the heap sees all there is */
  for (int i = 0; i < n && !iso__failed(s->ctx); i++) warm_one(s, &shapes[i], &n_bytes);
  s->region = region;
  if (!iso__failed(s->ctx)) plan_memory(s, n_bytes);
  return iso_error_code(s->ctx);
}

iso_status iso_session_warm(iso_session *s, int n, const iso_session_shape *shapes) {
  if (!s || n < 0 || (n > 0 && !shapes)) return ISO_INVALID_ARGUMENT;
  pthread_mutex_lock(&s->mutex);
  const iso_status status = warm(s, n, shapes);
  pthread_mutex_unlock(&s->mutex);
  return status;
}

iso_status iso_session_warm_lengths(iso_session *s, int64_t max_batch, int64_t max_length) {
  enum { MOST = 2 * 64 };
  iso_session_shape shapes[MOST];
  int n = 0;
  if (!s) return ISO_INVALID_ARGUMENT;
  if (max_batch < 1 || max_length < 1) {
    return ISO__FAIL(s->ctx, ISO_INVALID_ARGUMENT, "session", "max_batch %lld, max_length %lld: 1 or more each",
                     (long long)max_batch, (long long)max_length);
  }
  for (int64_t length = 1, last = 0; last < max_length; last = length, length *= 2) {
    if (length > max_length) length = max_length;
    for (int64_t batch = 1;; batch = max_batch) {
      shapes[n++] = (iso_session_shape){ISO_I64, 2, {batch, length}};
      if (batch == max_batch) break;
    }
  }
  return iso_session_warm(s, n, shapes);
}

/* ---- life ---- */

iso_session *iso_session_new(iso_context *ctx, iso_module *module, const iso_session_options *options) {
  const iso_session_options o = options ? *options : (iso_session_options){0};
  if (iso__failed(ctx)) return NULL;
  if (!module || iso_module_context(module) != ctx || o.padding < 0 || o.padding > INT32_MAX || o.max_batch < 0 ||
      o.max_length < 0 || !o.max_batch != !o.max_length) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "session",
              "a module of this context; max_batch %lld and max_length %lld: both or none; padding %lld: an id",
              (long long)o.max_batch, (long long)o.max_length, (long long)o.padding);
    return NULL;
  }
  iso_session *s = iso__zalloc(ctx, sizeof *s);
  if (!s) return NULL;
  s->ctx = ctx, s->module = module, s->padding = o.padding, s->policy = *iso_policy_current(ctx);
  s->policy.tuning = ISO_TUNING_RULE;
  if (s->policy.repro < ISO_REPRO_INVARIANT) s->policy.repro = ISO_REPRO_INVARIANT;
  pthread_mutex_init(&s->mutex, NULL);
  iso_module_train(module, false);
  if (iso_module_pack(module, true) == ISO_OK &&
      (o.max_batch == 0 || iso_session_warm_lengths(s, o.max_batch, o.max_length) == ISO_OK))
    return s;
  iso_session_free(s);
  return NULL;
}

void iso_session_free(iso_session *s) {
  if (!s) return;
  iso_context *ctx = s->ctx;
  iso__region_free(s->region);
  pthread_mutex_destroy(&s->mutex);
  iso__free(ctx, s, sizeof *s);
}

/* ---- stats ---- */

static int by_size(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static size_t packed_bytes(iso_module *module) {
  size_t n, total = 0;
  const iso_named_tensor *list = iso_module_tensors(module, &n);
  for (size_t i = 0; i < n; i++) total += iso_tensor_packed_bytes(list[i].tensor);
  iso_clear_error(iso_module_context(module)); /* no memory for a list: nobody's request failed */
  return total;
}

iso_session_stats iso_session_get_stats(iso_session *s) {
  iso_session_stats out = {0};
  if (!s) return out;
  float sorted[N_TIMES];
  pthread_mutex_lock(&s->mutex);
  const uint64_t n_good = s->n_runs - s->n_failed;
  const size_t n = n_good < N_TIMES ? (size_t)n_good : N_TIMES;
  out = (iso_session_stats){.n_runs = s->n_runs,
                            .n_failed = s->n_failed,
                            .planned_bytes = iso__region_bytes(s->region),
                            .packed_bytes = packed_bytes(s->module)};
  iso__region_counts(s->region, &out.n_blocks, &out.n_missed);
  memcpy(sorted, s->times_ms, n * sizeof *sorted);
  pthread_mutex_unlock(&s->mutex);
  if (n == 0) return out;
  qsort(sorted, n, sizeof *sorted, by_size);
  out.p50_ms = (double)sorted[n / 2];
  out.p99_ms = (double)sorted[(n - 1) * 99 / 100];
  return out;
}
