/* trace_job.c: the jobs that `isobit trace` knows: training steps, and forward calls as a server makes them: without
 * gradients, in evaluation mode, captured on a device, the first element of the result read. */
#include <stdlib.h>
#include <string.h>
#include "trace.h"

/* ---- train ---- */

static bool open_training(traced_job *j, const char *kind) {
  return job_select(kind) && (j->trainer = job_trainer(j->ctx)) != NULL;
}
static bool open_vision(traced_job *j) { return open_training(j, "vision"); }
static bool open_text(traced_job *j) { return open_training(j, "text"); }
static iso_status step_training(traced_job *j) {
  iso_step_info info;
  const iso_status status = iso_trainer_step(j->trainer, &info);
  if (status) return status;
  j->n_steps++, j->samples += (double)info.n_samples;
  j->tokens += (double)info.n_tokens, j->padding += (double)info.n_padding;
  return ISO_OK;
}

/* ---- forward ---- */

static struct {
  const char *model, *capture;
  int64_t batch, channels, side, length;
} call = {.model = "cnn", .capture = "auto", .batch = 1, .channels = 3, .side = 32, .length = 64};
static const option call_option_list[] = {
    {"--model", OPTION_TEXT, &call.model, "NAME", "an image model as of 'train vision', or textclassifier [cnn]", 0},
    {"--batch-size", OPTION_COUNT, &call.batch, "N", "samples a call [1]", 1},
    {"--channels", OPTION_COUNT, &call.channels, "N", "of images [3]", 1},
    {"--side", OPTION_COUNT, &call.side, "N", "of images [32]", 1},
    {"--length", OPTION_COUNT, &call.length, "N", "tokens of a text [64]", 1},
    {"--capture", OPTION_TEXT, &call.capture, "auto|off", "on a device: record a call once and replay it [auto]", 0},
    {0}};

enum { VOCABULARY = 10000, CLASSES = 10 };
static bool is_text(void) { return !strcmp(call.model, "textclassifier"); }

static iso_module *make_model(iso_context *ctx) {
  if (is_text()) return iso_text_classifier_new(ctx, &(iso_text_classifier_config){.vocabulary = VOCABULARY});
  return iso_model_new(ctx, call.model, &(iso_model_config){call.channels, call.side, call.side, CLASSES});
}

static iso_tensor *random_tokens(iso_context *ctx) {
  const size_t n = (size_t)call.batch * (size_t)call.length;
  int64_t *ids = call.batch <= INT64_MAX / 16 / call.length ? malloc(n * sizeof *ids) : NULL;
  const iso_philox at = {.seed = 1, .stream = ISO_PHILOX_USER};
  for (size_t i = 0; ids && i < n; i++) ids[i] = 1 + iso_philox_word(&at, i) % (VOCABULARY - 1); /* 0 is padding */
  iso_tensor *x = ids ? iso_tensor_copy_from(ctx, ISO_I64, 2, ISO_DIMS(call.batch, call.length), ids) : NULL;
  free(ids);
  return x;
}

static iso_tensor *random_images(iso_context *ctx) {
  iso_tensor *x =
      iso_tensor_new_channels_last(ctx, ISO_F32, 4, ISO_DIMS(call.batch, call.channels, call.side, call.side));
  if (x) iso_fill_normal(x, &(iso_philox){.seed = 1, .stream = ISO_PHILOX_USER}, 0, 1);
  return x;
}

static bool open_calls(traced_job *j) {
  if (strcmp(call.capture, "auto") != 0 && strcmp(call.capture, "off") != 0)
    return fprintf(stderr, "isobit: --capture is '%s'; it must be auto or off\n", call.capture), false;
  j->model = make_model(j->ctx);
  j->x = j->model ? iso_keep(is_text() ? random_tokens(j->ctx) : random_images(j->ctx)) : NULL;
  if (!j->x) return false;
  iso_module_train(j->model, false);
  iso_no_grad_push(j->ctx);
  return true;
}

/* The first call made the plans; the second is recorded. What cannot be is said once. */
static void record(traced_job *j) {
  if (!(j->capture = iso_capture_new(j->ctx))) return;
  iso_tensor *y = NULL;
  if (iso_capture_begin(j->capture)) y = iso_keep(iso_module_forward(j->model, j->x));
  j->is_captured = iso_capture_end(j->capture);
  if (j->is_captured) j->y = y;
  else {
    iso_release(y);
    fprintf(stderr, "isobit: note: calls are not captured: %s\n", iso_capture_reason(j->capture));
  }
}

static iso_status step_calls(traced_job *j) {
  const int64_t first[2] = {0, 0};
  double value;
  if (j->is_captured && !j->anew) {
    const iso_status status = iso_capture_replay(j->capture);
    return status ? status : iso_tensor_at(j->y, first, &value);
  }
  iso_scope_push(j->ctx);
  iso_tensor *y = iso_module_forward(j->model, j->x);
  const iso_status status = y ? iso_tensor_at(y, first, &value) : iso_error_code(j->ctx);
  iso_scope_pop(j->ctx);
  const bool on_device = strcmp(iso_context_device(j->ctx), "cpu") != 0, wanted = !strcmp(call.capture, "auto");
  if (!status && on_device && wanted && !j->capture && !j->anew) record(j);
  return status ? status : iso_error_code(j->ctx);
}

/* ---- both ---- */

const traced_job_kind traced_jobs[] = {{.words = {"train", "vision"},
                                        .unit = "step",
                                        .n_skipped = 10,
                                        .options = vision_option_list,
                                        .open = open_vision,
                                        .step = step_training},
                                       {.words = {"train", "text"},
                                        .unit = "step",
                                        .n_skipped = 10,
                                        .options = text_option_list,
                                        .open = open_text,
                                        .step = step_training},
                                       {.words = {"forward"},
                                        .unit = "call",
                                        .n_skipped = 300,
                                        .options = call_option_list,
                                        .open = open_calls,
                                        .step = step_calls},
                                       {.words = {NULL, NULL}}};

bool traced_job_is_captured(const traced_job *j) { return j->is_captured || iso_trainer_is_captured(j->trainer); }

void traced_job_close(traced_job *j) {
  iso_trainer_free(j->trainer);
  iso_release(j->x), iso_release(j->y);
  iso_capture_free(j->capture);
  iso_module_free(j->model);
  iso_context_free(j->ctx);
}
