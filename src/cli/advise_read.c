/* advise_read.c: reads what `isobit trace --out` wrote. The file is input like any other: what is not there counts as
 * nothing, what has another form is told. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "advise.h"

double advised_number(const advised_run *r, const char *key) {
  const double v = json_number_value(json_object_get(r->summary, key));
  return isfinite(v) ? v : 0;
}

static bool no_trace(const advised_run *r, const char *why) {
  fprintf(stderr, "isobit: %s: %s\n", r->path, why);
  return false;
}

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

static void read_policy(advised_run *r) {
  char copy[1024];
  snprintf(copy, sizeof copy, "%s", text_of(r->manifest, "policy"));
  iso_policy_preset("default", &r->policy);
  for (char *save, *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
    char *equals = strchr(word, '=');
    if (equals) *equals = 0, iso_policy_set(&r->policy, word, equals + 1, NULL, 0);
  }
}

static advised_problem *problem_of(advised_run *r, const char *problem, const char *phase) {
  for (size_t i = 0; i < r->n_problems; i++)
    if (!strcmp(r->problems[i].problem, problem) && !strcmp(r->problems[i].phase, phase)) return &r->problems[i];
  advised_problem *more = realloc(r->problems, (r->n_problems + 1) * sizeof *more);
  if (!more) return NULL;
  r->problems = more;
  more[r->n_problems] = (advised_problem){.problem = problem, .phase = phase, .first_step = NAN};
  return &more[r->n_problems++];
}

static bool read_run(advised_run *r, const json_t *event, const json_t *arguments) {
  advised_problem *p = problem_of(r, text_of(arguments, "problem"), text_of(arguments, "phase"));
  if (!p) return no_trace(r, "no memory");
  p->engine = text_of(arguments, "engine"), p->class_name = text_of(arguments, "class");
  const double step = json_number_value(json_object_get(arguments, "step"));
  if (isnan(p->first_step)) p->first_step = step;
  const double ms = json_number_value(json_object_get(event, "dur")) / 1e3;
  if (isfinite(ms)) p->ms += ms, r->runs_ms += ms;
  p->n++;
  return true;
}

/* Events of a device stand twice, as the host launched them and as it worked: its own are taken where there are any. */
static int track_of(const json_t *events) {
  size_t i;
  json_t *event;
  json_array_foreach(events, i, event) if (json_integer_value(json_object_get(event, "pid")) == 2 &&
                                           !strcmp(text_of(event, "cat"), "run")) return 2;
  return 1;
}

static bool read_events(advised_run *r) {
  const json_t *events = json_object_get(r->root, "traceEvents");
  const int track = track_of(events);
  size_t i;
  json_t *event;
  r->on_cpu = track == 1;
  json_array_foreach(events, i, event) {
    const json_t *arguments = json_object_get(event, "args");
    const double step = json_number_value(json_object_get(arguments, "step"));
    const double ms = json_number_value(json_object_get(event, "dur")) / 1e3;
    if (!strcmp(text_of(event, "cat"), "span") && !strcmp(text_of(event, "name"), "step")) {
      if (r->n_steps == 0) r->first_step = step;
      r->n_steps++, r->step_ms += ms;
    }
    if (!strcmp(text_of(event, "cat"), "span") && !strcmp(text_of(event, "name"), "data")) r->data_ms += ms;
    if (!strcmp(text_of(event, "cat"), "run") && json_integer_value(json_object_get(event, "pid")) == track &&
        !read_run(r, event, arguments))
      return false;
  }
  if (!r->n_problems) return no_trace(r, "there are no runs of operators in it");
  if (r->n_steps < 1)
    r->n_steps = fmax(1, advised_number(r, "steps")), r->step_ms = r->n_steps * advised_number(r, "traced_step_ms");
  r->step_ms /= r->n_steps, r->runs_ms /= r->n_steps, r->data_ms /= r->n_steps;
  return true;
}

static int by_time(const void *a, const void *b) {
  const advised_problem *x = a, *y = b;
  return x->ms != y->ms ? (x->ms < y->ms ? 1 : -1) : strcmp(x->problem, y->problem);
}

static void count_new(advised_run *r) {
  for (size_t i = 0; i < r->n_problems; i++) r->new_problems += r->problems[i].first_step > r->first_step;
  r->all_problems = (double)r->n_problems;
  if (r->n_steps > 1) r->new_problems /= r->n_steps - 1;
}

bool advised_open(advised_run *r, const char *path) {
  json_error_t error;
  *r = (advised_run){.path = path};
  if (!(r->root = json_load_file(path, 0, &error))) return no_trace(r, error.text);
  if (!json_is_array(json_object_get(r->root, "traceEvents")))
    return no_trace(r, "it is not what 'isobit trace JOB --out FILE' writes: there is no list traceEvents");
  r->manifest = json_object_get(r->root, "otherData");
  r->summary = json_object_get(r->manifest, "summary");
  read_policy(r);
  if (!read_events(r)) return false;
  qsort(r->problems, r->n_problems, sizeof r->problems[0], by_time);
  count_new(r);
  return true;
}

void advised_close(advised_run *r) {
  free(r->problems);
  json_decref(r->root);
  *r = (advised_run){0};
}
