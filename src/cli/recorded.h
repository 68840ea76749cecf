/* recorded.h: a finished training job as its JSON tells of it. */
#ifndef ISO_CLI_RECORDED_H
#define ISO_CLI_RECORDED_H
#include "cli.h"

typedef struct recorded {
  json_t *root;
  const json_t *manifest;
  char path[4096], folder[4096]; /* of the JSON, absolute */
  uint64_t n_steps;
  const char *weights_hash;
  double loss;                     /* NAN: not recorded */
  char hash_log[8192], lock[8192]; /* "": none */
  char lock_hash[33];
} recorded;

/* Reads `run`, a train job's JSON or a folder with run.json. false after printing why not. */
bool recorded_open(recorded *r, const char *run);
void recorded_close(recorded *r);
/* A text of the manifest, "" without it. */
const char *recorded_text(const recorded *r, const char *key);
/* Sets options as the recorded command had them, with the recorded policy, threads and lockfile. false after printing
 * why not. */
bool recorded_apply(const recorded *r, iso_policy *policy);
#endif
