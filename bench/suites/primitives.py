"""Suite `primitives`: convolution and GEMM, problem by problem, beside OpenBLAS, PyTorch and the machine's own limits.

The cells and bars are data (primitive_cells.py). All sides of a cell take turns in short slices; each turn gives one
ratio a side, the row shows the median and its 95 % bootstrap interval.
"""

import itertools
import math
import random
import re
import statistics
import time

from harness import Effort, WorkerError, check_programs, error_row, figure, interval, progress, row
from primitive_cells import GROUP_BARS, MODELS, all_cells
from sides import Workers, open_ours, open_side
from training import TORCH_VARIANTS, training_rows

SIDE_NAMES = {"openblas": "OpenBLAS", "torch": "PyTorch", "peak": "FMA peak", "read": "memory read", "copy": "copy",
              "off": "off"}
MOST_TURNS, LEAST_TURNS, LEAST_TURNS_OF_SLOW = 15, 5, 3
SLOW_MS = 250.0


def take_turns(sides, seconds):
    """Slices of all sides in rotating order for about `seconds`; a list of times for each."""
    times = [[] for _ in sides]
    firsts = [side.slice(1) for side in sides]  # brings code, data and threads in
    least = LEAST_TURNS_OF_SLOW if sum(firsts) > SLOW_MS else LEAST_TURNS
    slice_ms = 1e3 * seconds / (10 * len(sides))
    end = time.monotonic() + seconds
    for turn in range(MOST_TURNS):
        if turn >= least and time.monotonic() > end:
            break
        order = range(len(sides))
        for i in order if turn % 2 == 0 else reversed(order):
            times[i].append(sides[i].slice(slice_ms))
    return times


def speed(work, ms):
    return work / ms / 1e6


def rows_of(cell, kinds, sides, times, work):
    """Ours is sides[0]. Speeds in GFLOP/s (GB/s beside memory); `off`: times in ms, and the ratio is default / off."""
    ours, rows, samples = statistics.median(times[0]), [], {}
    label = sides[0].ready["engine"].replace("cpu.", "") + ", " + sides[0].ready["class"]
    for kind, side, theirs in zip(kinds, sides[1:], times[1:]):
        ratios = [t / o for o, t in zip(times[0], theirs)]
        note = label + (f"; {side.note}" if hasattr(side, "note") else "")
        amount, unit = (work["bytes"], "GB/s") if kind in ("read", "copy") else (work["flops"], "GFLOP/s")
        figures = (speed(amount, ours), speed(amount, statistics.median(theirs)))
        sense = ">="
        if kind == "off":
            same = side.ready["engine"] == sides[0].ready["engine"]
            ratios = [1.0] if same else [1 / r for r in ratios]
            figures, unit, sense = (ours, ours if same else statistics.median(theirs)), "ms", "<="
            note = label + ("; the same engine" if same else "; off: " + side.ready["engine"].replace("cpu.", ""))
        samples[kind] = ratios
        rows.append(row(f"{cell.name} / {SIDE_NAMES[kind]}", unit, *figures, statistics.median(ratios), sense,
                        cell.bars.get(kind), ratio_interval=interval(ratios, resamples=1000), note=note))
    return rows, samples


def measure(workers, cell, seconds):
    """The cell's rows, and for each side its ratios."""
    opened = []
    try:
        opened.append(open_ours(workers, cell, cell.dials))
        work = workers["isobit"].ask(f"slice {opened[0].id} ms 0.001")
        for kind in cell.against:
            opened.append(open_side(workers, cell, kind, work["flops"], work["bytes"]))
        return rows_of(cell, cell.against, opened, take_turns(opened, seconds), work)
    finally:
        for side in opened:
            side.close()


def peer_row(workers, cell, seconds):
    """The peers alone: nothing is judged."""
    for kind in (k for k in cell.against if k in ("openblas", "torch")):
        side = open_side(workers, cell, kind, 0, 0)
        ms = statistics.median(take_turns([side], seconds)[0])
        side.close()
        yield row(f"{cell.name} / {SIDE_NAMES[kind]}", "ms", None, ms, None, ">=", None, note=getattr(side, "note", ""))


def measure_or_say_why(workers, cell, seconds, peer_only):
    """One cell that fails leaves the others to be measured."""
    try:
        if peer_only:
            return list(peer_row(workers, cell, seconds)), {}
        return measure(workers, cell, seconds)
    except WorkerError as error:
        return [error_row(cell.name, error)], {}


def report(fresh):
    for r in fresh:
        verdict = {True: "ok", False: "BELOW", None: ""}[r["pass"]]
        progress(f"{r['name']}: {figure(r['ratio'] or r['peer'])} {verdict} {r['note']}")
    return fresh


def model_rows(effort, peer_only):
    """Whole models, in few rounds: a step of theirs takes about a second, of which the optimiser is nothing."""
    few = Effort(rounds=5, slice_ms=500.0)
    formats = [v for v in TORCH_VARIANTS if v["optimizer"] == "fused"]
    for model, batch, bar in MODELS:
        if effort.only and not re.search(effort.only, f"model {model}"):
            continue
        try:
            yield from training_rows(model, batch, few, peer_only, bar, formats)[0]
        except WorkerError as error:
            yield error_row(f"model {model}", error)


def geometric_mean(ratios):
    return math.exp(statistics.fmean(math.log(r) for r in ratios))


def group_row(group, kind, samples, bar):
    """The geometric mean over a group's cells; its interval resamples every cell's turns."""
    generator = random.Random(1)
    means = sorted(geometric_mean(statistics.median(generator.choices(s, k=len(s))) for s in samples) for _ in range(400))
    return row(f"{group}: geometric mean of {len(samples)} / {SIDE_NAMES.get(kind, kind)}", "ratio", None, None,
               geometric_mean(statistics.median(s) for s in samples), "<=" if kind == "off" else ">=", bar,
               ratio_interval=[means[10], means[-11]])


def run(effort, peer_only):
    """The suite's rows; effort.only is a regular expression that a cell's name must contain."""
    if not peer_only:
        check_programs()
    cells = [cell for cell in all_cells() if not effort.only or re.search(effort.only, cell.name)]
    rows, samples = [], {}
    with Workers() as workers:
        for group, members in itertools.groupby(cells, key=lambda cell: cell.group):
            for cell in members:
                fresh, ratios = measure_or_say_why(workers, cell, effort.seconds_per_cell, peer_only)
                for kind, list_of in ratios.items():
                    samples.setdefault((group, kind), []).append(list_of)
                rows += report(fresh)
    rows += report(list(model_rows(effort, peer_only)))
    rows += [group_row(*key, list_of, GROUP_BARS.get(key)) for key, list_of in samples.items() if len(list_of) > 1]
    if not rows:
        raise WorkerError(f"no cell's name contains '{effort.only}'")
    return rows
