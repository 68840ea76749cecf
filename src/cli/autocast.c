/* autocast.c: `isobit autocast`: the list of operators that jobs in bf16 and f16 follow, and what --autocast makes of
 * it.
 */
#include <string.h>
#include "cli.h"

static const char *overrides, *kind_wanted;
static const option autocast_options[] = {
    {"--autocast", OPTION_TEXT, &overrides, "OP=KIND,...", "the list with these changes, as jobs take them", 0},
    {"--kind", OPTION_TEXT, &kind_wanted, "NAME", "only operators of this kind: low, f32, widest or as_is [all]", 0},
    {0}};
static const command autocast_command = {
    .usage = "isobit autocast [options]",
    .about =
        "What operators do with their operands in a job with --precision bf16 or f16: low casts them to that, f32 to "
        "f32, widest\nto f32 where they differ, as_is takes them as they come. Operators that are not listed take "
        "them as they come or are\nwritten in listed ones. Weights stay f32; docs/mixed-precision.md says more.",
    .options = (const option *const[]){autocast_options, NULL},
    .notes = "example: isobit autocast --autocast layer_norm=as_is --kind as_is"};

int command_autocast(int argc, char **argv) {
  int code = options_read(&autocast_command, argc, argv), n, n_shown = 0;
  if (code >= 0) return code;
  iso_context *ctx = job_context(NULL, 1);
  if (!ctx) return EXIT_FAILED;
  iso_set_warning_handler(ctx, NULL, NULL);
  const iso_autocast_row *rows = iso_autocast_list(&n);
  code = EXIT_OK;
  if (iso_autocast_push(ctx, &(iso_autocast_options){.dtype = ISO_BF16, .overrides = overrides}))
    code = job_failed(ctx);
  for (int i = 0; i < n && !code; i++) {
    const iso_autocast_kind kind = iso_autocast_kind_of(ctx, rows[i].op);
    if (kind_wanted && strcmp(kind_wanted, iso_autocast_kind_name(kind)) != 0) continue;
    printf("%-34s %s%s\n", rows[i].op, iso_autocast_kind_name(kind), kind != rows[i].kind ? "  (changed)" : "");
    n_shown++;
  }
  if (!code && kind_wanted && !n_shown)
    code = (fprintf(stderr, "isobit: --kind is '%s'; there are low, f32, widest and as_is\n", kind_wanted), EXIT_USAGE);
  iso_context_free(ctx);
  return code;
}
