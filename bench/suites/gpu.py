"""Suite `gpu`: every cell of the bars for one GPU, beside the PyTorch of this machine (gpu_cells.py, gpu_worker.py).

Both sides are processes that hold the device at once and take turns in slices; an idle one leaves it to the other. Ratios
are PyTorch's time over ours, so more is better, but for memory.
"""

import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

from gpu_cells import GROUP_BARS, all_cells
from harness import MIB, OUR_WORKER, ROOT, Worker, WorkerError, error_row, interval, progress, row
from suites.primitives import group_row

LEAST_TURNS, MOST_TURNS = 3, 15
SLICE_MS, CHOOSING_MS = 15.0, 6.0
MODEL_ROUNDS, MODEL_STEPS = 4, 5
TORCH_GPU = [sys.executable, str(ROOT / "bench/gpu_worker.py")]


class Sides:
    """Our process and PyTorch's; one that died is started again."""

    COMMANDS = {"isobit": OUR_WORKER, "torch": TORCH_GPU}

    def __init__(self):
        os.environ.update(ISOBIT_DEVICE="cuda:0", ISOBIT_STORE="none")
        self.running = {}

    def ask(self, side, line):
        if side not in self.running or not self.running[side].is_alive():
            self.running[side] = Worker(self.COMMANDS[side])
        try:
            return self.running[side].ask(line)
        except WorkerError as error:
            if "CUDA error" in str(error):  # the process can't use its device any more
                self.drop(side)
            raise

    def drop(self, side):
        if side in self.running:
            self.running.pop(side).close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in self.running.values():
            worker.close()


def take_turns(slices, seconds):
    """{side: times in ms}: all sides in turns, the order turned round each time, for about `seconds`."""
    times, end = {side: [] for side in slices}, time.monotonic() + seconds
    for turn in range(MOST_TURNS):
        if turn >= LEAST_TURNS and time.monotonic() > end:
            break
        for side in slices if turn % 2 == 0 else reversed(slices):
            times[side].append(slices[side]())
    return times


def rows_of(cell, times, note, missing=()):
    """One row a side; each has every side's median for the table of results."""
    ours = statistics.median(times["ours"])
    medians = {side: statistics.median(list_of) for side, list_of in times.items()}
    seen = {"free": medians.get("free"), "det": medians.get("det")}
    rows, samples = [], {}
    for side in cell.against:
        if side not in times:
            continue
        samples[side] = [theirs / mine for theirs, mine in zip(times[side], times["ours"])]
        r = row(f"{cell.name} / {side}", "ms", ours, medians[side], statistics.median(samples[side]), ">=",
                cell.bars.get(side), ratio_interval=interval(samples[side], resamples=500), note=note)
        rows.append(dict(r, **seen))
    if "ours" in cell.bars:
        rows.append(dict(row(f"{cell.name} / time", "ms", ours, medians.get("free"), None, "<=", cell.bars["ours"], bar_on="ours", note=note),
                         **seen))
    return rows + list(missing), samples


# ---- the kinds of cells ----
def open_peers(sides, cell, how):
    """{side: slice} of what PyTorch has of it, and a row for each side that it hasn't."""
    opened, missing = {}, []
    for side in cell.against:
        try:
            sides.ask("torch", f"copy copy bytes {int(cell.n_bytes)}" if side == "copy" else f"{how} mode {side}".format(id=side))
            opened[side] = lambda side=side: sides.ask("torch", f"slice {side} ms {SLICE_MS}")["ms"]
        except WorkerError as error:
            name = f"{cell.name} / {side}"
            refused = side == "det" and "deterministic" in str(error)
            missing.append(row(name, "ms", None, None, None, ">=", None, note="PyTorch has no deterministic one") if refused
                           else error_row(name, error))
    return opened, missing


def close_peers(sides, opened):
    for side in opened:
        sides.ask("torch", f"close {side}")


def turns(sides, cell, effort, ours, how):
    """The times of all sides and the rows of those that are missing."""
    peers, missing = open_peers(sides, cell, how)
    times = take_turns({"ours": ours, **peers}, effort.seconds_per_cell)
    close_peers(sides, peers)
    return times, missing


def problem_cell(sides, cell, effort):
    text = cell.what.replace(" ", ",")
    ready = sides.ask("isobit", f"open p ms {CHOOSING_MS} problem {text}")
    try:
        times, missing = turns(sides, cell, effort, lambda: sides.ask("isobit", f"slice p ms {SLICE_MS}")["ms"],
                               f"open {{id}} problem {text}")
    finally:
        sides.ask("isobit", "close p")
    return rows_of(cell, times, f"{ready['engine']}, {ready['class']}", missing)


def task_cell(sides, cell, effort):
    captured = sides.ask("isobit", f"task {cell.what}")["captured"]
    try:
        times, missing = turns(sides, cell, effort, lambda: sides.ask("isobit", f"run ms {SLICE_MS}")["ms"],
                               f"task {{id}} task {cell.what}")
    finally:
        sides.ask("isobit", "end")
    return rows_of(cell, times, {"yes": "captured", "no": ""}.get(captured, f"not captured: {captured}"), missing)


def p95(times):
    return sorted(times)[min(len(times) - 1, int(0.95 * len(times)))]


def lengths_cell(sides, cell, _):
    """The 95th percentile of single calls, once a process: a length is unseen but once."""
    ours = sides.ask("isobit", f"lengths {cell.what}")["times_ms"]
    sides.drop("torch")
    theirs = sides.ask("torch", f"lengths {cell.what} mode free")["times_ms"]
    note = f"medians {statistics.median(ours):.3f} and {statistics.median(theirs):.3f} ms"
    return rows_of(cell, {"ours": [p95(ours)], "free": [p95(theirs)]}, note)


def model_turns(sides, model, batch, mode, formats):
    """({side: medians of slices}, {side: peak MiB}, PyTorch's format): processes of their own, whose memory is the model's alone."""
    sides.drop("isobit"), sides.drop("torch")
    mine = sides.ask("isobit", f"model {model} batch {batch} policy default threads 1")
    theirs = sides.ask("torch", f"model {model} batch {batch} mode {mode} formats {formats}")
    if mine["n_params"] != theirs["n_params"]:
        raise WorkerError(f"{mine['n_params']} parameters on our side, {theirs['n_params']} on PyTorch's: not the same model")
    sides.ask("isobit", "steps 3")
    captured = sides.ask("isobit", "capture")
    last = sides.ask("isobit", "steps 3")

    def steps(side):
        return statistics.median(sides.ask(side, f"steps {MODEL_STEPS + 1}")["times_ms"][1:])
    times = {"ours": [], mode: []}
    for turn in range(MODEL_ROUNDS):
        for name in ("ours", mode)[::1 if turn % 2 == 0 else -1]:
            times[name].append(steps("isobit" if name == "ours" else "torch"))
    peaks = {"ours": last["peak_device_bytes"] / MIB, mode: theirs["peak_device_bytes"] / MIB}
    return times, peaks, theirs["format"] + ("; ours captured" if captured["captured"] else f"; ours not captured: {captured['reason']}")


def model_cell(sides, cell, effort):
    model, batch = cell.what.split()
    formats = "channels_last" if effort.quick else "nchw,channels_last"
    done = {mode: model_turns(sides, model, batch, mode, formats) for mode in cell.against}
    sides.drop("isobit"), sides.drop("torch")
    rows, samples = [], {}
    for mode, (times, _, kind) in done.items():
        others = {m: done[m][0][m] for m in done}
        fresh, ratios = rows_of(cell, {**others, "ours": times["ours"]}, kind)
        rows += [r for r in fresh if r["name"].endswith("/ " + mode)]
        samples[mode] = ratios[mode]
    peaks = done["free"][1]
    rows.append(row(f"{cell.name} / memory", "MiB", peaks["ours"], peaks["free"], peaks["ours"] / peaks["free"], "<=",
                    cell.bars.get("memory"), note="peaks of what was held in use"))
    return rows, samples


KINDS = {"problem": problem_cell, "task": task_cell, "lengths": lengths_cell, "model": model_cell}


def say(rows):
    for r in rows:
        verdict = {True: "ok", False: "BELOW", None: ""}[r["pass"]]
        figures = " ".join(f"{key} {r[key]:.4g}" for key in ("ours", "peer", "ratio") if r[key] is not None)
        progress(f"{r['name']}: {figures} {verdict} {r['note']}")
    return rows


def machine(sides):
    about = sides.ask("torch", "about")
    version = Path("/proc/driver/nvidia/version")
    found = re.search(r"Kernel Module\b.*?(\d+\.\d[\d.]*)", version.read_text()) if version.exists() else None
    return {"device": about["device"], "driver": found[1] if found else "unknown", "torch": about["torch"]}


def results(rows, effort):
    """The rows as lines of a CSV."""
    date = time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime())
    here = [date, effort.machine["device"], effort.machine["driver"], commit()]
    yield ["date", "device", "driver", "commit", "cell", "ours", "free", "det", "ratio", "bar", "pass"]
    for r in rows:
        def text(key):
            return "" if r.get(key) is None else f"{r[key]:.6g}"
        bar = "" if r["bar"] is None else f"{r['sense']} {r['bar']:.4g}"
        yield [*here, r["name"], text("ours"), text("free"), text("det"), text("ratio"), bar,
               "not measured" if "error" in r else {True: "yes", False: "no", None: ""}[r["pass"]]]


def commit():
    """Of the sources: a bundle (scripts/gpu) has it in a file."""
    kept = ROOT / "commit"
    if kept.exists():
        return kept.read_text().strip()
    done = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def run(effort, peer_only):
    """The suite's rows; effort.only is a regular expression that a cell's name must contain."""
    if peer_only:
        raise WorkerError("suite gpu has no --peer-only")
    if not Path(OUR_WORKER[0]).exists():
        raise WorkerError(f"{OUR_WORKER[0]} is missing: cmake --preset release && cmake --build build/release")
    wanted = [c for c in all_cells() if (re.search(effort.only, c.name) if effort.only else c.quick or not effort.quick)]
    if not wanted:
        raise WorkerError(f"no cell's name contains '{effort.only}'")
    rows, samples = [], {}
    with Sides() as sides:
        effort.machine = machine(sides)
        progress("{device}, driver {driver}, PyTorch {torch}".format(**effort.machine))
        for cell in wanted:
            try:
                fresh, ratios = KINDS[cell.kind](sides, cell, effort)
            except WorkerError as error:
                fresh, ratios = [error_row(cell.name, error)], {}
            rows += say(fresh)
            for side, list_of in ratios.items():
                samples.setdefault((cell.group, side), []).append(list_of)
    rows += [group_row(*key, samples[key], bar) for key, bar in GROUP_BARS.items() if len(samples.get(key, ())) > 1 and not effort.only]
    return rows
