/* bench_session.c: `isobit bench session`: an inference session fed lengths it has never seen: what the first call of
 * each costs beside its own later ones, and whether a text's bits are the same alone and among others. */
#include <stdlib.h>
#include <string.h>
#include "cli.h"

static const char *model_name, *weights, *checkpoint;
static int64_t batch_size = 1, max_length, n_lengths = 200, n_calls = 10, image_size = 28;
static double bar;
static bool fold;
static const option session_options[] = {
    {"--weights", OPTION_TEXT, &weights, "DIR", "folder of a pretrained model, as Hugging Face has it", 0},
    {"--checkpoint", OPTION_TEXT, &checkpoint, "DIR", "instead: folder of a text job's checkpoint", 0},
    {"--model", OPTION_TEXT, &model_name, "NAME",
     "instead: new weights of bert (MiniLM's sizes), textclassifier, textcnn, or of an image model", 0},
    {"--batch-size", OPTION_COUNT, &batch_size, "N", "samples of a call [1]", 1},
    {"--max-length", OPTION_COUNT, &max_length, "N", "tokens of the longest call [the model's positions, else 512]", 1},
    {"--lengths", OPTION_COUNT, &n_lengths, "N", "how many lengths; of images: batches of 1 to N [200]", 1},
    {"--calls", OPTION_COUNT, &n_calls, "N", "of each after the first [10]", 3},
    {"--image-size", OPTION_COUNT, &image_size, "N", "side of the images [28]", 4},
    {"--fold-batch-norm", OPTION_FLAG, &fold, NULL, "into the convolutions before them: another model, other bits", 0},
    {"--bar", OPTION_NUMBER, &bar, "X", "exit code 1 where first calls take more than X times the later median (p99)",
     0},
    {0}};
static const command session_command = {
    .usage = "isobit bench session (--weights DIR | --checkpoint DIR | --model NAME) [options]",
    .about =
        "Opens an inference session, warmed for --batch-size and --max-length, and feeds it lengths that it was not "
        "warmed for, after a second of work, in\n"
        "shuffled order: the first call of each beside the median of its later ones, p50 and p99 by length, what "
        "was timed (nothing),\n"
        "and whether each text has the same bits alone and in a batch whose padded slots hold ids that there are "
        "not.",
    .options = (const option *const[]){session_options, job_option_list, NULL},
    .notes = "exit codes: 0 done, 1 failed, something was timed, bits differ or --bar is not met; 2 wrong usage, 130 "
             "interrupted\n"
             "example: isobit bench session --weights minilm --max-length 128 --threads 2"};

/* ---- the model ---- */

typedef struct subject {
  iso_module *module;
  iso_text_predictor *predictor; /* of --checkpoint: the module is its */
  bool is_text;
  int64_t vocabulary;
} subject;

static bool is_among(const char *name, const char *const *names) {
  for (; *names; names++)
    if (!strcmp(name, *names)) return true;
  return false;
}

static iso_module *new_model(iso_context *ctx, subject *s) {
  s->is_text = is_among(model_name, iso_text_model_names());
  if (!s->is_text)
    return iso_model_new(ctx, model_name, &(iso_model_config){.height = image_size, .width = image_size});
  return iso_text_model_new(ctx, model_name, &(iso_text_model_config){.vocabulary = 30522, .classes = 10});
}

static bool open_subject(iso_context *ctx, subject *s) {
  *s = (subject){.is_text = true};
  if (checkpoint) {
    s->predictor = iso_text_predictor_open(ctx, checkpoint, NULL);
    s->module = iso_text_predictor_module(s->predictor);
  } else {
    s->module = weights ? iso_pretrained_open(ctx, weights, NULL) : new_model(ctx, s);
    if (s->module && iso_module_to(s->module, iso_context_device(ctx))) return false;
  }
  if (!s->module) return false;
  iso_freeze_report frozen;
  if (iso_module_freeze(s->module, &(iso_freeze_options){.fold_batch_norm = fold}, &frozen)) return false;
  printf("frozen: %d weights packed, %d batch norms folded: %s\n", frozen.n_packed, frozen.n_folded,
         frozen.n_folded ? "another model than before" : "the bits are the model's own");
  const iso_bert_config *bert = iso_bert_get_config(s->module);
  const iso_tensor *table = iso_module_find_tensor(s->module, "embedding.weight");
  s->vocabulary = bert ? bert->vocabulary : table ? iso_tensor_shape(table)[0] : 0;
  if (max_length == 0 || (bert && max_length > bert->positions)) max_length = bert ? bert->positions : 512;
  return true;
}

static void close_subject(subject *s) {
  if (s->predictor) iso_text_predictor_free(s->predictor);
  else iso_module_free(s->module);
}

/* ---- requests ---- */

static uint64_t random_state;
static uint64_t random_next(void) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return random_state >> 33;
}

/* What a call reads: (batch,length) ids, or (batch,channels,side,side). */
typedef struct request {
  iso_session_input in;
  int64_t shape[4];
} request;

static size_t most_elements(const subject *s) {
  return (size_t)(s->is_text ? batch_size * max_length : n_lengths * image_size * image_size);
}
static size_t item_bytes(const subject *s) { return s->is_text ? sizeof(int64_t) : sizeof(float); }

static void *make_data(const subject *s) {
  const size_t n = most_elements(s);
  void *data = calloc(n, item_bytes(s));
  for (size_t i = 0; data && i < n; i++)
    if (s->is_text) ((int64_t *)data)[i] = 1 + (int64_t)(random_next() % (uint64_t)(s->vocabulary - 1));
    else ((float *)data)[i] = (float)(random_next() % 1000) / 1000;
  return data;
}

static void make_request(const subject *s, const void *data, int64_t size, request *r) {
  *r = (request){.shape = {batch_size, size}};
  r->in = (iso_session_input){ISO_I64, 2, r->shape, data, NULL};
  if (s->is_text) return;
  r->shape[0] = size, r->shape[1] = 1, r->shape[2] = r->shape[3] = image_size;
  r->in.dtype = ISO_F32, r->in.n_dims = 4;
}

static bool call(iso_session *session, const request *r, iso_session_result *out) {
  if (!iso_session_run(session, &r->in, out)) return true;
  fprintf(stderr, "isobit: %s\n", out->message);
  return false;
}

/* ---- the bits: every sample of a batch alone ---- */

enum { N_CHECKED = 12 };

static bool same_bits(iso_session *session, const subject *s, const void *data) {
  iso_session_result alone = {0}, batch = {0};
  const int64_t longest = max_length < 48 ? max_length : 48, n_slots = s->is_text ? longest : image_size * image_size;
  const int64_t n = s->is_text || n_lengths > N_CHECKED ? N_CHECKED : n_lengths;
  int64_t lengths[N_CHECKED], shape[4] = {n, s->is_text ? longest : 1, image_size, image_size};
  int64_t *ids = calloc((size_t)(n * longest), sizeof *ids);
  for (int64_t i = 0; ids && i < n; i++) {
    lengths[i] = 1 + (longest - 1) * i / (n > 1 ? n - 1 : 1);
    for (int64_t k = 0; k < longest && s->is_text; k++)
      ids[i * longest + k] = k < lengths[i] ? 1 + (i * 7919 + k * 31) % (s->vocabulary - 1)
                             : k % 2        ? INT64_MIN
                                            : INT64_MAX;
  }
  const char *from = s->is_text ? (const char *)ids : data;
  request r = {.in = {s->is_text ? ISO_I64 : ISO_F32, s->is_text ? 2 : 4, shape, from, s->is_text ? lengths : NULL}};
  bool same = ids && call(session, &r, &batch);
  for (int64_t i = 0; same && i < n; i++) {
    shape[0] = 1;
    if (s->is_text) shape[1] = lengths[i];
    r.in.data = from + (size_t)(i * n_slots) * item_bytes(s), r.in.lengths = NULL;
    same = call(session, &r, &alone);
    const size_t row = (size_t)batch.shape[1] * sizeof(float);
    same = same && !memcmp(alone.data, (const char *)batch.data + (size_t)i * row, row);
  }
  free(ids);
  iso_session_result_release(session, &alone), iso_session_result_release(session, &batch);
  return same;
}

/* ---- the times ---- */

typedef struct sized {
  int64_t size;
  double first_ms, second_ms, median_ms, p99_ms;
} sized;

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
static int by_length(const void *a, const void *b) {
  const int64_t x = ((const sized *)a)->size, y = ((const sized *)b)->size;
  return (x > y) - (x < y);
}
/* Sorts; the least value that a share of all does not exceed. */
static double quantile(double *values, int64_t n, double share) {
  qsort(values, (size_t)n, sizeof *values, by_value);
  const int64_t at = (int64_t)((double)n * share);
  return values[at < n ? at : n - 1];
}

/* Sizes that warming did not see, as far as there are so many, shuffled. */
static sized *choose_sizes(const subject *s, int64_t *n) {
  const int64_t most = s->is_text ? max_length : n_lengths;
  sized *all = calloc((size_t)most, sizeof *all);
  int64_t n_all = 0;
  for (int64_t size = 1; all && size <= most; size++)
    if ((size & (size - 1)) != 0 && size != most) all[n_all++].size = size;
  if (all && n_all == 0) all[n_all++].size = most;
  for (int64_t i = n_all - 1; i > 0; i--) {
    const int64_t j = (int64_t)(random_next() % (uint64_t)(i + 1)), size = all[i].size;
    all[i].size = all[j].size, all[j].size = size;
  }
  *n = n_all < n_lengths ? n_all : n_lengths;
  return all;
}

/* The largest size, which was warmed, for about a second: the clock and the cores of a machine that rests are as slow
 * as half of what a busy server's are. */
static bool wake_machine(iso_session *session, const subject *s, const void *data, int64_t largest) {
  request r;
  iso_session_result y = {0};
  bool ok = true;
  make_request(s, data, largest, &r);
  for (const uint64_t begin = now_ns(); ok && now_ns() - begin < 1000000000u;) ok = call(session, &r, &y);
  iso_session_result_release(session, &y);
  return ok;
}

static bool time_sizes(iso_session *session, const subject *s, const void *data, sized *sizes, int64_t n) {
  double *later = calloc((size_t)n_calls, sizeof *later);
  iso_session_result y = {0};
  progress progress_bar;
  bool ok = later != NULL;
  progress_begin(&progress_bar, "lengths", (uint64_t)n, job.quiet);
  for (int64_t i = 0; ok && i < n && !job_interrupted(); i++) {
    request r;
    make_request(s, data, sizes[i].size, &r);
    ok = call(session, &r, &y);
    sizes[i].first_ms = y.time_ms;
    for (int64_t k = 0; ok && k < n_calls; k++) ok = call(session, &r, &y), later[k] = y.time_ms;
    sizes[i].second_ms = later[0];
    sizes[i].median_ms = quantile(later, n_calls, 0.5), sizes[i].p99_ms = quantile(later, n_calls, 0.99);
    progress_add(&progress_bar, 1, "");
  }
  progress_end(&progress_bar);
  iso_session_result_release(session, &y);
  free(later);
  return ok && !job_interrupted();
}

/* ---- the report ---- */

static json_t *print_sizes(const subject *s, sized *sizes, int64_t n) {
  enum { N_LINES = 8 };
  json_t *rows = json_array();
  qsort(sizes, (size_t)n, sizeof *sizes, by_length);
  printf("  %-13s %6s %12s %12s %18s\n", s->is_text ? "length" : "images", "sizes", "p50 ms", "p99 ms",
         "first / later p50");
  for (int64_t begin = 0, line = 1; begin < n; line++) {
    const int64_t end = n * line / (n < N_LINES ? n : N_LINES);
    double p50 = 0, p99 = 0, ratio = 0;
    for (int64_t i = begin; i < end; i++) {
      p50 += sizes[i].median_ms / (double)(end - begin),
          ratio += sizes[i].first_ms / sizes[i].median_ms / (double)(end - begin);
      if (sizes[i].p99_ms > p99) p99 = sizes[i].p99_ms;
    }
    printf("  %5lld … %-5lld %6lld %12.3f %12.3f %18.3f\n", (long long)sizes[begin].size,
           (long long)sizes[end - 1].size, (long long)(end - begin), p50, p99, ratio);
    begin = end;
  }
  for (int64_t i = 0; i < n; i++)
    json_array_append_new(rows, json_pack("{s:I, s:f, s:f, s:f}", "size", (json_int_t)sizes[i].size, "first_ms",
                                          sizes[i].first_ms, "p50_ms", sizes[i].median_ms, "p99_ms", sizes[i].p99_ms));
  return rows;
}

static int report(iso_context *ctx, const subject *s, sized *sizes, int64_t n, bool same, uint64_t n_timed,
                  iso_session_stats stats) {
  double *first = calloc((size_t)n, sizeof *first), *second = calloc((size_t)n, sizeof *second);
  for (int64_t i = 0; first && second && i < n; i++)
    first[i] = sizes[i].first_ms / sizes[i].median_ms, second[i] = sizes[i].second_ms / sizes[i].median_ms;
  const bool have = first && second;
  const double p50 = have ? quantile(first, n, 0.5) : 0, p99 = have ? quantile(first, n, 0.99) : 0,
               later_p99 = have ? quantile(second, n, 0.99) : 0;
  free(first), free(second);
  json_t *rows = print_sizes(s, sizes, n);
  printf("first call of a new size over its later median: p50 %.3f, p99 %.3f (its second call, where nothing is new: "
         "p99 %.3f)\n"
         "timed candidates: %llu\n"
         "same bits alone and in a batch%s: %s\n"
         "planned memory %.1f MiB, packed weights %.1f MiB; %llu of %llu blocks found no room there\n",
         p50, p99, later_p99, (unsigned long long)n_timed, s->is_text ? ", padded slots poisoned" : "",
         same ? "yes" : "NO", (double)stats.planned_bytes / 1048576, (double)stats.packed_bytes / 1048576,
         (unsigned long long)stats.n_missed, (unsigned long long)stats.n_blocks);
  const bool met = bar <= 0 || p99 <= bar;
  if (!met) printf("above the bar: p99 %.3f is more than %.3f\n", p99, bar);
  json_t *result = json_pack(
      "{s:f, s:f, s:f, s:I, s:b, s:I, s:I, s:I, s:I, s:i, s:o}", "first_over_later_p50", p50, "first_over_later_p99",
      p99, "second_over_later_p99", later_p99, "timed", (json_int_t)n_timed, "same_bits", (int)same, "planned_bytes",
      (json_int_t)stats.planned_bytes, "packed_bytes", (json_int_t)stats.packed_bytes, "blocks",
      (json_int_t)stats.n_blocks, "missed", (json_int_t)stats.n_missed, "threads", iso_n_threads(ctx), "sizes", rows);
  const int code = job.json ? job_write_json(job.json, json_incref(result)) : EXIT_OK;
  json_decref(result);
  return code ? code : same && met && n_timed == 0 ? EXIT_OK : EXIT_FAILED;
}

/* ---- all of it ---- */

static iso_session *open_session(iso_context *ctx, const subject *s) {
  iso_session *session = iso_session_new(
      ctx, s->module,
      &(iso_session_options){.max_batch = s->is_text ? batch_size : 0, .max_length = s->is_text ? max_length : 0});
  for (int64_t n = s->is_text ? 0 : 1, last = 0; session && last < n_lengths && n; last = n, n *= 2) {
    if (n > n_lengths) n = n_lengths;
    const iso_session_shape shape = {ISO_F32, 4, {n, 1, image_size, image_size}};
    if (iso_session_warm(session, 1, &shape)) return iso_session_free(session), NULL;
  }
  return session;
}

static int bench(iso_context *ctx) {
  subject s;
  int64_t n = 0;
  int code = EXIT_FAILED;
  if (!open_subject(ctx, &s)) return close_subject(&s), job_failed(ctx);
  const uint64_t begin = now_ns(), n_timed = iso_tuner_get_stats(ctx).n_timed;
  iso_session *session = open_session(ctx, &s);
  random_state = (uint64_t)(job.seed < 0 ? 1 : job.seed);
  void *data = session ? make_data(&s) : NULL;
  sized *sizes = data ? choose_sizes(&s, &n) : NULL;
  if (!session) job_failed(ctx);
  else if (sizes) {
    printf("threads: %d, batch %lld, warmed in %.0f ms for %lld %s\n", iso_n_threads(ctx),
           (long long)(s.is_text ? batch_size : n_lengths), (double)(now_ns() - begin) / 1e6,
           (long long)(s.is_text ? max_length : n_lengths), s.is_text ? "tokens" : "images");
    if (wake_machine(session, &s, data, s.is_text ? max_length : n_lengths) &&
        time_sizes(session, &s, data, sizes, n)) {
      const iso_session_stats stats = iso_session_get_stats(session);
      const bool same = same_bits(session, &s, data);
      code = report(ctx, &s, sizes, n, same, iso_tuner_get_stats(ctx).n_timed - n_timed, stats);
    } else if (job_interrupted()) code = EXIT_INTERRUPTED;
  }
  free(sizes), free(data);
  iso_session_free(session);
  close_subject(&s);
  return code;
}

int command_bench_session(int argc, char **argv) {
  iso_policy policy;
  int code = options_read(&session_command, argc, argv);
  if (code >= 0 || (code = job_check_json()) >= 0 || (code = job_policy(job.policy, &policy)) >= 0) return code;
  if (!weights + !checkpoint + !model_name != 2)
    return fprintf(stderr, "isobit: give one of --weights DIR, --checkpoint DIR and --model NAME\n"), EXIT_USAGE;
  job_catch_interrupts();
  iso_context *ctx = job_context(&policy, job.threads);
  if (!ctx) return EXIT_FAILED;
  code = bench(ctx);
  iso_context_free(ctx);
  return code;
}
