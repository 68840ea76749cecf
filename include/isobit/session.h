/* session.h: a trained module at work: any batch, any length, from any thread, without a stopwatch on the path.
 *
 *   iso_module *net = iso_pretrained_open(ctx, "minilm", NULL);
 *   iso_session *s = iso_session_new(ctx, net, &(iso_session_options){.max_batch = 32, .max_length = 128});
 *   const int64_t ids[] = {101, 7592, 102, 0, 101, 7592, 2088, 102}, lengths[] = {3, 4}, shape[] = {2, 4};
 *   iso_session_result y = {0};
 *   if (iso_session_run(s, &(iso_session_input){ISO_I64, 2, shape, ids, lengths}, &y)) puts(y.message);
 *   else printf("%g\n", ((const float *)y.data)[0]);  // (2,384)
 *   iso_session_result_release(s, &y);
 *   iso_session_free(s);
 *
 * A session evaluates: no gradients, weights packed, engines by estimate (tuning=rule, whatever the context's policy;
 * what the store knows is not asked for)
 * and of level `invariant` at least. So a sample's bits are the same alone, in any batch, filled up to any length, and
 * with anything at all in its padded slots.
 *
 * Memory is planned once: results of operators come from a stretch made and written to beforehand, for the largest
 * shape that was warmed; a length that never came before meets no fresh page. Larger shapes work too, from the heap.
 *
 * Between iso_session_new and iso_session_free nobody else uses module or context. Any thread may call the session:
 * calls wait for each other, each on all of the context's threads. For calls side by side: a context, module and
 * session each. */
#ifndef ISOBIT_SESSION_H
#define ISOBIT_SESSION_H
#include <isobit/nn.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct iso_session iso_session;

typedef struct iso_session_options {
  int64_t max_batch, max_length; /* > 0 both, of modules that take ids (batch,length): iso_session_warm_lengths */
  int64_t padding;               /* the id put into padded slots; a row of the vocabulary */
} iso_session_options;

/* module: on the context's device; goes into evaluation mode and is packed. options NULL: the defaults. NULL with the
 * context's error set. */
ISO_API iso_session *iso_session_new(iso_context *ctx, iso_module *module, const iso_session_options *options);
/* Module and context are the caller's again; the weights stay packed. NULL is fine. */
ISO_API void iso_session_free(iso_session *session);

typedef struct iso_session_shape {
  iso_dtype dtype;
  int n_dims;
  int64_t shape[ISO_MAX_DIMS]; /* outermost first: the batch */
} iso_session_shape;
/* Runs the module once on each shape (ids: `padding`; floating point: 0), so that plans are made, weights are packed
 * for the engines that these shapes need, and memory is there. */
ISO_API iso_status iso_session_warm(iso_session *session, int n, const iso_session_shape *shapes);
/* The same for ids of 1, 2, 4, … max_length tokens, alone and max_batch at a time: all sizes at which another engine
 * may be the better one. */
ISO_API iso_status iso_session_warm_lengths(iso_session *session, int64_t max_batch, int64_t max_length);

typedef struct iso_session_input {
  iso_dtype dtype; /* of ids ISO_I64 or ISO_I32 */
  int n_dims;
  const int64_t *shape;   /* outermost first: the batch */
  const void *data;       /* contiguous */
  const int64_t *lengths; /* (batch), 0 to shape[1]: what is behind is padding, whatever it holds; NULL: nothing is */
} iso_session_input;

/* Zero it before its first use; runs fill it anew, and take memory only where what it has is too small. */
typedef struct iso_session_result {
  iso_dtype dtype;
  int n_dims;
  int64_t shape[ISO_MAX_DIMS];
  void *data;        /* contiguous, on the CPU */
  size_t n_capacity; /* bytes at data */
  double time_ms;    /* of the run, waiting for other calls not included */
  char message[512]; /* of an error; else "" */
} iso_session_result;

/* The module's result, copied out. An error is this request's alone: it is told by status and message, and the next
 * request meets a session as good as new. */
ISO_API iso_status iso_session_run(iso_session *session, const iso_session_input *input, iso_session_result *result);
ISO_API void iso_session_result_release(iso_session *session, iso_session_result *result);

typedef struct iso_session_stats {
  uint64_t n_runs, n_failed;
  double p50_ms, p99_ms; /* of the last 4096 good runs; 0 without */
  size_t planned_bytes;  /* the stretch for operators' results                                     */
  size_t packed_bytes;   /* beside the weights                                                     */
  uint64_t n_blocks;     /* asked of that stretch                                                    */
  uint64_t n_missed;     /* … for which it had no room: the heap gave them; more than was warmed   */
} iso_session_stats;
ISO_API iso_session_stats iso_session_get_stats(iso_session *session);

#ifdef __cplusplus
}
#endif
#endif
