/* plan_memory.c: `isobit plan-memory`: a training job's peak before it starts, and what would lower it. */
#include "cli.h"

static const option steps_options[] = {
    {"--steps", OPTION_COUNT, &job.steps, "N", "optimiser steps in all [one epoch of images; of texts several]", 1},
    {"--epochs", OPTION_COUNT, &job.epochs, "N", "instead of --steps", 1},
    {0}};

/* What a job might do instead. */
typedef struct proposal {
  char words[40];
  iso_memory_plan_options options;
} proposal;

static double mib(size_t n_bytes) { return (double)n_bytes / 0x1p20; }

static void print_batch(const iso_memory_plan *p) {
  char size[64] = "";
  if (p->length) snprintf(size, sizeof size, " of %lld tokens", (long long)p->length);
  else if (p->height) snprintf(size, sizeof size, " of %lld×%lld", (long long)p->height, (long long)p->width);
  printf("batch            %lld %s%s: the largest of %llu steps, epoch %u, batch %lld\n", (long long)p->n_samples,
         job_kind->samples, size, (unsigned long long)p->n_steps, p->epoch, (long long)p->batch);
}

static json_t *plan_json(const iso_memory_plan *p) {
  json_t *json = owners_json(&p->at_peak);
  json_object_set_new(json, "peak", json_integer((json_int_t)p->peak_bytes));
  return json;
}

/* Whether it fits is the first thing asked. */
static void print_limit(const iso_memory_plan *p) {
  if (!p->limit_bytes) return;
  const bool fits = p->peak_bytes <= p->limit_bytes;
  printf("memory_limit     %.0f MiB: %s by %.0f MiB\n", mib(p->limit_bytes), fits ? "it fits, with room" : "too little",
         fits ? mib(p->limit_bytes - p->peak_bytes) : mib(p->peak_bytes - p->limit_bytes));
}

/* One line: how much less; nothing where it is no less. */
static iso_status propose(iso_trainer *trainer, const proposal *what, const iso_memory_plan *now, json_t *list) {
  iso_memory_plan p;
  const iso_status status = iso_trainer_plan_memory(trainer, &what->options, &p);
  if (status || (double)p.peak_bytes > 0.98 * (double)now->peak_bytes) return status;
  json_t *json = plan_json(&p);
  json_object_set_new(json, "with", json_string(what->words));
  json_array_append_new(list, json);
  printf("%-16s %.0f MiB, %.0f %% less%s\n", what->words, mib(p.peak_bytes),
         100 * (1 - (double)p.peak_bytes / (double)now->peak_bytes),
         !p.limit_bytes                  ? ""
         : p.peak_bytes <= p.limit_bytes ? ": fits"
                                         : ": still too much");
  return ISO_OK;
}

static iso_status propose_all(iso_context *ctx, iso_trainer *trainer, const iso_memory_plan *now, json_t *list) {
  const int leaves = iso_policy_current(ctx)->leaves;
  const bool can_halve = now->n_samples >= 2 * leaves;
  proposal all[4] = {{"--checkpointing", {.checkpointing = 1}}, {.words = ""}, {.words = ""}, {.words = ""}};
  if (can_halve) {
    snprintf(all[1].words, sizeof all[1].words, "--leaves %d", 2 * leaves);
    all[1].options.leaves = 2 * leaves;
    snprintf(all[2].words, sizeof all[2].words, "both");
    all[2].options = (iso_memory_plan_options){.checkpointing = 1, .leaves = 2 * leaves};
    snprintf(all[3].words, sizeof all[3].words, "--batch-size %lld", (long long)now->n_samples / 2);
    all[3].options.batch_size = now->n_samples / 2;
  }
  iso_status status = ISO_OK;
  for (int i = 0; i < 4 && !status; i++)
    if (all[i].words[0] && !(all[i].options.checkpointing && job.checkpointing))
      status = propose(trainer, &all[i], now, list);
  return status;
}

static int plan_with(iso_context *ctx, iso_trainer *trainer) {
  iso_memory_plan plan;
  if (iso_trainer_plan_memory(trainer, NULL, &plan)) return job_failed(ctx);
  json_t *result = plan_json(&plan), *list = json_array();
  json_object_set_new(result, "limit", json_integer((json_int_t)plan.limit_bytes));
  json_object_set_new(result, "n_samples", json_integer((json_int_t)plan.n_samples));
  json_object_set_new(result, "length", json_integer((json_int_t)plan.length));
  json_object_set_new(result, "instead", list);
  print_batch(&plan);
  print_memory("memory", plan.peak_bytes, &plan.at_peak);
  print_limit(&plan);
  int code = propose_all(ctx, trainer, &plan, list) ? job_failed(ctx) : EXIT_OK;
  if (!code && job.json) return job_write_json(job.json, result);
  json_decref(result);
  return code;
}

int command_plan_memory(int argc, char **argv) {
  char usage[64];
  snprintf(usage, sizeof usage, "isobit plan-memory %s [options of the training job]", job_kind->name);
  const command options = {
      .usage = usage,
      .about = "What the job will hold when it holds most, by owner, for the largest batch of the whole training, and "
               "what would\n"
               "lower it. One pass is gone through without computing anything: it takes a moment, and not the memory "
               "itself.",
      .options = (const option *const[]){steps_options, job_kind->options, job_option_list, NULL},
      .notes = "exit codes: 0 done (also where it does not fit), 1 failed, 2 wrong usage\n"
               "example: isobit plan-memory vision --model resnet18 --batch-size 256 --set memory_limit=2GiB"};
  const int code = options_read(&options, argc, argv);
  if (code >= 0) return code;
  if (job.steps && job.epochs) return fprintf(stderr, "isobit: --steps and --epochs exclude each other\n"), EXIT_USAGE;
  return job_with_trainer(plan_with);
}
