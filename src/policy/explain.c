/* explain.c: what each preset, dial and kind of job is about, in words. What does not exist yet is said. */
#include <string.h>
#include "policy/policy.h"

typedef struct row {
  const char *name, *text;
} row;

static const row rows[] = {
    /* presets */
    {"fast",
     "repro=off tuning=measure. Every engine may be used and each new problem is timed once; the fastest wins, "
     "whatever order it adds in. Two runs usually differ in their bits. For throughput when nobody will compare "
     "results; the yardstick that the other presets are measured against."},
    {"balanced", "repro=off tuning=rule. Every engine may be used and a cost rule picks one without timing, so a new "
                 "shape costs nothing. Runs often give the same bits; that is reported, not promised."},
    {"reproducible", "repro=invariant tuning=rule. The same bits whatever the threads, instruction set, alignment and "
                     "load, and no time spent on measuring: the first step is as fast as the others. A cost rule picks "
                     "inside each numeric class, and may miss the fastest engine."},
    {"default",
     "repro=invariant tuning=measure. The same bits as `reproducible`; each new problem is timed once and the "
     "fastest engine of its numeric class is kept, on disk too. Timing noise changes speed, "
     "never results. Shapes that change all the time pay for measuring again and again: use `reproducible` "
     "there."},
    {"portable",
     "repro=portable tuning=measure. As `default`, and only classes that give the same bits on a CPU and on "
     "a GPU. CUDA is not supported yet; on a CPU it is as fast as `default`."},
    {"plain",
     "repro=invariant tuning=rule references_only=on. Only the scalar references that define each numeric "
     "class. The same bits as `reproducible`, many times slower: shows what acceleration is worth, and whether "
     "an engine is to blame for a wrong result."},
    /* dials */
    {"repro",
     "What stays the same; each level includes the ones before. off: nothing is promised. run: the same machine "
     "and the same plans give the same bits. invariant: and whatever the threads, instruction set, alignment, "
     "tuning, load and floating-point mode of the host. portable: and on every device. Costs the engines whose "
     "order of additions depends on those things."},
    {"tuning",
     "How an engine is chosen among those allowed. rule: by what was measured earlier, if anything, else by an "
     "estimate, without timing. measure: by timing a new problem once; kept in memory and in the store on disk "
     "(ISOBIT_STORE), so that the next process times nothing. replay: only what the loaded lockfile says; anything "
     "else is an error that names the problem."},
    {"accuracy",
     "Which numeric classes the class rule may choose, by their error. strict: ordered sums only. standard: "
     "and classes whose error on normal data stays within 1e-6 of the largest sum of |terms| nearby. "
     "relaxed: and coarser ones. `isobit plans` prints each class's bound."},
    {"math_matmul",
     "In what form matrix products read their inputs: f32. tf32, bf16 and f16 are for devices that are not "
     "supported yet."},
    {"math_conv", "In what form convolutions read their inputs: f32. tf32, bf16 and f16 are for devices that are not "
                  "supported yet."},
    {"vendor", "Whether engines of vendors' libraries (cuBLASLt, cuDNN) may be used on a CUDA device where they are "
               "found, under repro=off and run only, since their order of additions is not known."},
    {"references_only", "Whether only the scalar references of the numeric classes may run. Very slow; for tests and "
                        "last-resort debugging."},
    {"rule", "The version of the rule that chooses a problem's numeric class. 1: ordered convolution only. 2: Winograd "
             "and FFT convolution too, by kernel, channels and image size. A part of what makes results repeatable."},
    {"leaves",
     "How many micro-batches a training step is cut into, a power of two. Their gradients are added as a tree, "
     "so one pass of 4 and four passes of 1 give the same bits, and memory falls with the size of a pass. "
     "Another number of leaves is another order of additions: other bits."},
    {"seed", "Where all random numbers start: dropout, initialisers, shuffling, augmentation. The same seed gives the "
             "same numbers, whatever the threads and loader workers."},
    {"workspace_limit",
     "Bytes of scratch memory that one operator may use, a hard cap. Engines that need more are left "
     "out, with that reason; never replaced by another numeric class."},
    {"tuning_budget",
     "Milliseconds (or 60s, 5min) that a job, a context with its children, may spend on measuring under "
     "tuning=measure. When it is spent new problems are decided by the estimate, as under tuning=rule; what was "
     "measured stays."},
    {"problem_budget",
     "Milliseconds that measuring one problem may take, unless its engines need longer than that for three runs. "
     "Problems whose engines are clearly apart take less; those of a few microseconds are never measured."},
    {"memory_limit",
     "Bytes that the context and its children may hold: tensors, scratch, kept weights. Beyond it a call "
     "fails with MEMORY_LIMIT and the context stays usable."},
    /* jobs */
    {"fixed-shapes", "Training or inference whose shapes repeat: `default`. Each shape is timed once, in the first "
                     "steps, and every later step uses the fastest engine of its class."},
    {"varying-shapes",
     "Shapes that are new at almost every step: `reproducible`. Nothing is timed, so a new shape costs "
     "nothing; `balanced` if bits do not matter."},
    {"paper", "Results that others shall repeat: `reproducible` or `default` (the same bits), a fixed seed, and the "
              "leaves and rule written down beside the code's version. A lockfile of plans is not needed for the bits "
              "at these levels; it makes the speed repeatable too."},
    {"mixed-precision",
     "--precision bf16, or f16 with its scaled loss: any policy, `reproducible` or `default` for the same bits on any "
     "number of threads and instruction set. Weights and sums stay f32, so it halves what backward keeps and costs no "
     "order; it saves no time, for no engine uses half-precision instructions."},
    {"several-devices", "Neither GPUs nor several machines are supported yet. Set `leaves` to the largest number of "
                        "devices that you plan for: training with it gives the same bits however the leaves will be "
                        "spread."},
    {"serving",
     "Inference under load: `reproducible`. A row's result does not depend on the batch that it came in, and "
     "no request waits for timing. Give each thread a child context, and the whole a memory_limit."},
    {"ci", "Tests that compare results exactly: `reproducible`, a fixed seed, any number of threads. `plain` on a few "
           "steps shows whether a difference comes from an engine."},
};

const char *iso_policy_explain(const char *preset_or_dial) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (preset_or_dial && strcmp(rows[i].name, preset_or_dial) == 0) return rows[i].text;
  return NULL;
}
