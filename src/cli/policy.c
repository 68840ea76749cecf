/* policy.c: `isobit policy`: the presets, what each dial means, and which one to take. */
#include <string.h>
#include <unistd.h>
#include "cli.h"

/* The questions of `choose`: a flag each; on a terminal without flags they are asked. */
static bool reproducible, across_devices, varying_shapes, serving, little_memory, mixed_precision, debugging;
static const option choose_options[] = {
    {"--reproducible", OPTION_FLAG, &reproducible, NULL, "two runs must give the same bits", 0},
    {"--across-devices", OPTION_FLAG, &across_devices, NULL, "CPU and GPU must give the same bits", 0},
    {"--varying-shapes", OPTION_FLAG, &varying_shapes, NULL, "shapes change from step to step", 0},
    {"--serving", OPTION_FLAG, &serving, NULL, "requests are waiting: no stall on a new shape", 0},
    {"--memory", OPTION_FLAG, &little_memory, NULL, "memory is short", 0},
    {"--mixed-precision", OPTION_FLAG, &mixed_precision, NULL, "products in bf16 or f16", 0},
    {"--debugging", OPTION_FLAG, &debugging, NULL, "is it an engine's fault?", 0},
    {0}};
static const command choose_command = {.usage = "isobit policy choose [options]",
                                       .about = "Which policy fits, and why. On a terminal without options it asks.",
                                       .options = (const option *const[]){choose_options, NULL},
                                       .notes = "example: isobit policy choose --reproducible --varying-shapes"};

static bool ask(const option *o) {
  char line[64];
  printf("%s? [y/N] ", o->help), fflush(stdout);
  return fgets(line, sizeof line, stdin) && (line[0] == 'y' || line[0] == 'Y');
}

static const char *preset_for(void) {
  if (debugging) return "plain";
  const bool no_timing = varying_shapes || serving;
  if (across_devices) return "portable";
  if (reproducible) return no_timing ? "reproducible" : "default";
  return no_timing ? "balanced" : "fast";
}

static int choose(int argc, char **argv) {
  const int code = options_read(&choose_command, argc, argv);
  if (code >= 0) return code;
  if (!argc && isatty(STDIN_FILENO))
    for (const option *o = choose_options; o->name; o++) *(bool *)o->value = ask(o);
  const char *preset = preset_for();
  printf("policy: %s\n%s\n", preset, iso_policy_explain(preset));
  if (across_devices && (varying_shapes || serving))
    printf("with --set tuning=rule: portable measures new shapes by default, and yours vary.\n");
  else if (varying_shapes || serving) printf("tuning=rule: a new shape costs no timing.\n");
  else if (!debugging) printf("tuning=measure: fixed shapes are timed once, then remembered.\n");
  if (little_memory)
    printf("with --set workspace_limit=64MiB: engines that need more are left out, the class stays; memory_limit caps "
           "the whole context.\n");
  if (mixed_precision)
    printf(
        "with --precision bf16 (or f16, whose loss is scaled): half the memory of what backward needs; on CPUs and in "
        "classes of f32\nsums no time. Policies hold as in f32: same bits whatever threads, instruction set and "
        "neighbours.\n");
  return EXIT_OK;
}

static int explain(const char *name) {
  const char *text = iso_policy_explain(name);
  if (text) return printf("%s\n", text) < 0;
  fprintf(stderr, "isobit: there is no policy, dial or job '%s'; isobit policy lists the policies\n", name);
  return EXIT_USAGE;
}

int command_policy(int argc, char **argv) {
  if (argc == 2 && !strcmp(argv[0], "explain")) return explain(argv[1]);
  if (argc && !strcmp(argv[0], "choose")) return choose(argc - 1, argv + 1);
  const bool help = argc && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"));
  if (argc && !help)
    return fprintf(stderr, "isobit: unknown argument '%s'\nusage: isobit policy [explain NAME | choose]\n", argv[0]),
           EXIT_USAGE;
  printf("usage: isobit policy explain NAME    a policy, a dial (repro, tuning, accuracy, workspace_limit, ...), or a\n"
         "                                     job (fixed-shapes, varying-shapes, paper, mixed-precision, "
         "several-devices,\n"
         "                                     serving, ci)\n"
         "       isobit policy choose [options]  which one fits\n\n");
  for (const char *const *name = iso_policy_names(); *name; name++) {
    iso_policy policy;
    char text[512];
    iso_policy_preset(*name, &policy);
    iso_policy_format(&policy, text, sizeof text);
    printf("%-13s %s\n", *name, text);
  }
  return EXIT_OK;
}
