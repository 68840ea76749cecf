/* compare_run.c: one run of a comparison in a process of its own, and the talk between it and its parent: packets over
 * a socket pair, of one program's image on both sides, so structs as they are. The parent sends a number of steps, or 0
 * for the end; the run answers a packet a step, and at the end its peak memory and text. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <isobit/device.h>
#include "base/clock.h"
#include "train/compare_run.h"
#include "train/trainer.h"

/* What a run answers; `text_bytes` more follow. status ≠ ISO_OK: the text says why, and the run has ended. */
typedef struct answer {
  iso_status status;
  iso_compare_step step;
  double peak_memory_mib, peak_device_mib;
  char device[32];
  size_t text_bytes;
} answer;

static bool send_all(int socket, const void *data, size_t n_bytes) {
  for (const char *p = data; n_bytes;) {
    const ssize_t n = send(socket, p, n_bytes, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n, n_bytes -= (size_t)n;
  }
  return true;
}

static bool receive_all(int socket, void *data, size_t n_bytes) {
  for (char *p = data; n_bytes;) {
    const ssize_t n = recv(socket, p, n_bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n, n_bytes -= (size_t)n;
  }
  return true;
}

/* ---- the run's side ---- */

typedef struct running {
  const iso_compare_model *model;
  iso_context *ctx;
  void *state;
  int socket, run;
} running;

static bool answer_error(const running *r, iso_status status, const char *why) {
  const answer a = {.status = status ? status : ISO_STATE, .text_bytes = strlen(why)};
  send_all(r->socket, &a, sizeof a), send_all(r->socket, why, a.text_bytes);
  return false;
}

static bool answer_context_error(const running *r) {
  const iso_status status = iso_error_code(r->ctx);
  return answer_error(r, status, status ? iso_error_message(r->ctx) : "the model's callback failed without an error");
}

static bool hash_tensors(const running *r, char hex[33]) {
  size_t n;
  const iso_named_tensor *tensors = r->model->tensors(r->state, &n);
  return tensors && !iso__tensors_hash(r->ctx, n, tensors, hex);
}

static bool make_step(const running *r) {
  answer a = {.status = ISO_OK};
  const uint64_t begin = iso__clock_ns();
  if (r->model->step(r->state, &a.step.loss)) return answer_context_error(r);
  a.step.time_ms = (double)(iso__clock_ns() - begin) / 1e6;
  return hash_tensors(r, a.step.hash) ? send_all(r->socket, &a, sizeof a) : answer_context_error(r);
}

static double peak_memory_mib(void) {
  char line[256];
  long kib = 0;
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "VmHWM: %ld", &kib) == 1) break;
  if (f) fclose(f);
  return (double)kib / 1024.0;
}

static void finish(const running *r) {
  answer a = {.peak_memory_mib = peak_memory_mib(), /* before the closing evaluation */
              .peak_device_mib = (double)iso_device_get_memory(r->ctx).peak / 1048576};
  snprintf(a.device, sizeof a.device, "%s", iso_context_device(r->ctx));
  char *text = r->model->finish ? r->model->finish(r->state, r->run) : NULL;
  a.text_bytes = text ? strlen(text) : 0;
  if (r->model->finish && !text) answer_context_error(r);
  else if (send_all(r->socket, &a, sizeof a)) send_all(r->socket, text, a.text_bytes);
  free(text);
}

static void serve(const running *r) {
  uint64_t n = 1;
  const answer ready = {.status = ISO_OK};
  bool ok = send_all(r->socket, &ready, sizeof ready);
  while (ok && n && receive_all(r->socket, &n, sizeof n)) {
    if (!n) finish(r);
    for (uint64_t i = 0; ok && i < n; i++) ok = make_step(r);
  }
}

static void run(const iso__run_request *request, int socket) {
  char message[256];
  const iso_compare_options *o = request->options;
  running r = {.model = o->model, .socket = socket, .run = request->run};
  const iso_context_options options = {
      .n_threads = request->n_threads, .isa = o->isa, .policy = request->policy, .device = o->device};
  const iso_status status = iso_context_new_message(&options, &r.ctx, message, sizeof message);
  if (status) {
    answer_error(&r, status, message);
    return;
  }
  r.state = o->model->make(o->user, r.ctx);
  if (r.state) serve(&r);
  else answer_context_error(&r);
  if (r.state && o->model->free) o->model->free(r.state);
  iso_context_free(r.ctx);
}

/* ---- the parent's side ---- */

static iso_status receive(iso__run_process *p, answer *a, char **text, char *message, size_t n_bytes) {
  *text = NULL;
  bool ok = receive_all(p->socket, a, sizeof *a) && (*text = calloc(1, a->text_bytes + 1)) &&
            receive_all(p->socket, *text, a->text_bytes);
  if (ok && !a->status) return ISO_OK;
  snprintf(message, n_bytes, "%s", ok ? *text : "the process of this run ended early");
  free(*text);
  *text = NULL;
  return ok ? a->status : ISO_STATE;
}

static iso_status receive_step(iso__run_process *p, iso_compare_step *step, char *message, size_t n_bytes) {
  answer a;
  char *text;
  const iso_status status = receive(p, &a, &text, message, n_bytes);
  free(text);
  if (!status && step) *step = a.step;
  return status;
}

iso_status iso__run_start(iso__run_process *p, const iso__run_request *request, const iso__run_process *others,
                          int n_others, char *message, size_t n_bytes) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) {
    snprintf(message, n_bytes, "cannot make a socket: %s", strerror(errno));
    return ISO_IO;
  }
  fflush(NULL); /* what is in the buffers is the parent's to write */
  p->pid = fork();
  if (p->pid == 0) {
    close(ends[0]);
    for (int i = 0; i < n_others; i++) close(others[i].socket);
    signal(SIGINT, SIG_IGN); /* Ctrl-C reaches the whole group: the parent decides */
    signal(SIGTERM, SIG_DFL);
    run(request, ends[1]);
    fflush(NULL);
    _exit(0);
  }
  close(ends[1]);
  p->socket = ends[0];
  if (p->pid > 0) return ISO_OK;
  snprintf(message, n_bytes, "cannot fork: %s", strerror(errno));
  close(p->socket);
  p->pid = 0;
  return ISO_IO;
}

iso_status iso__run_wait_ready(iso__run_process *p, char *message, size_t n_bytes) {
  return receive_step(p, NULL, message, n_bytes);
}

iso_status iso__run_steps(iso__run_process *p, uint64_t n, iso_compare_step *steps, char *message, size_t n_bytes) {
  send_all(p->socket, &n, sizeof n); /* a run that is gone shows when its answer is read */
  for (uint64_t i = 0; i < n; i++) {
    const iso_status status = receive_step(p, &steps[i], message, n_bytes);
    if (status) return status;
  }
  return ISO_OK;
}

iso_status iso__run_finish(iso__run_process *p, iso_compare_run *run, char *message, size_t n_bytes) {
  const uint64_t end = 0;
  answer a;
  send_all(p->socket, &end, sizeof end);
  const iso_status status = receive(p, &a, &run->text, message, n_bytes);
  if (status) return status;
  run->peak_memory_mib = a.peak_memory_mib, run->peak_device_mib = a.peak_device_mib;
  memcpy(run->device, a.device, sizeof run->device);
  p->finished = true;
  return ISO_OK;
}

void iso__run_stop(iso__run_process *p) {
  if (p->pid <= 0) return;
  close(p->socket);
  if (!p->finished) kill(p->pid, SIGTERM);
  while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR) {}
  p->pid = 0;
}
