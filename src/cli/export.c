/* export.c: `isobit export`: a checkpoint's model as a folder that Hugging Face's libraries load. */
#include "texts.h"

static const char *out;
static const option export_options[] = {
    {"--checkpoint", OPTION_TEXT, &texts.checkpoint, "DIR", "folder of a text job's checkpoint, of a bert (needed)", 0},
    {"--out", OPTION_TEXT, &out, "DIR", "folder to write (needed)", 0},
    {0}};
static const command export_command = {
    .usage = "isobit export --checkpoint DIR --out DIR",
    .about = "Writes model.safetensors, config.json (with the classes' names), the tokenizer and how the model pools, "
             "as Hugging Face's\n"
             "transformers, sentence-transformers and 'isobit predict --weights' read them.",
    .options = (const option *const[]){export_options, NULL},
    .notes = "exit codes: 0 done, 1 failed, 2 wrong usage\n"
             "example: isobit export --checkpoint ck --out mine"};

int command_export(int argc, char **argv) {
  const int code = options_read(&export_command, argc, argv);
  if (code >= 0) return code;
  if (!texts.checkpoint || !out)
    return fprintf(stderr, "isobit: export needs --checkpoint DIR and --out DIR\n"), EXIT_USAGE;
  iso_context *ctx = job_context(NULL, 1);
  if (!ctx) return EXIT_FAILED;
  iso_text_predictor *p = texts_predictor(ctx, false);
  const bool ok = p && !iso_text_predictor_export(p, out);
  if (!ok) job_failed(ctx);
  iso_text_predictor_free(p);
  iso_context_free(ctx);
  return ok ? EXIT_OK : EXIT_FAILED;
}
