"""Suite `operators`: what moves memory, beside PyTorch and beside a copy of the same footprint.

The cells and bars are data (operator_cells.py). Ours, PyTorch and the machine take turns in short slices, as in suite
primitives. A cell whose operator Isobit lacks is an error of its own; the others are measured.
"""

import math
import re
import statistics

import floor  # beside peers, as harness
from harness import MIB, PEERS_PYTHON, ROOT, WorkerError, check_programs, error_row, interval, row
from operator_cells import ADAMW_BARS, ADAMW_PASSES, ADAMW_SHAPES, OPERATORS, SMALL_BARS_US, TABLE_BAR, all_cells
from sides import CHOOSING_MS, Workers
from suites.primitives import group_row, report, take_turns

SINGLE_THREADED = 1.15  # PyTorch gains less from a second core
SLICE_MS = 10


class OperatorWorkers(Workers):
    COMMANDS = dict(Workers.COMMANDS, **{f"{side} operators": [PEERS_PYTHON, str(ROOT / "bench/operator_worker.py"), side]
                                         for side in ("torch", "isobit")})


class Side:
    """One cell in a worker."""

    def __init__(self, workers, side, cell, threads, format="nchw"):
        self.worker, self.id = workers[f"{side} operators"], f"p{next(workers.ids)}"
        self.worker.ask(f"open {self.id} cell {cell} threads {threads} format {format}")

    def slice(self, ms):
        """The best run of a slice, as Copy and Floor give theirs."""
        return self.worker.ask(f"slice {self.id} ms {ms:.3f}")["best_ms"]

    def close(self):
        if self.worker.is_alive():
            self.worker.ask(f"close {self.id}")


class Copy:
    """The time that copying as many bytes as the operator reads and writes takes."""

    def __init__(self, workers, threads, n_bytes):
        self.worker, self.n_bytes = workers["isobit"], n_bytes
        self.command = f"traffic copy bytes {int(n_bytes)} threads {threads} ms {SLICE_MS}"

    def slice(self, _):
        return self.n_bytes / self.worker.ask(self.command)["gb_s"] / 1e6

    def close(self):
        pass


class Floor:
    """The time that so many vector instructions take at the speed of this machine's FMAs."""

    def __init__(self, workers, threads, n_elements, n_instructions):
        self.worker, self.flops = workers["isobit"], 2.0 * n_elements * n_instructions
        self.command = f"peak threads {threads} ms {SLICE_MS}"

    def slice(self, _):
        return self.flops / self.worker.ask(self.command)["gflops"] / 1e6

    def close(self):
        pass


def torch_side(workers, number, cell):
    """In the faster memory format for images."""
    formats = ("nchw", "channels_last") if OPERATORS[cell.operator].image else ("nchw",)
    sides = [Side(workers, "torch", number, cell.threads, f) for f in formats]
    if len(sides) == 1:
        return sides[0]
    times = [min(side.slice(CHOOSING_MS) for _ in range(2)) for side in sides]
    for side in sides:
        if side is not sides[times.index(min(times))]:
            side.close()
    return sides[times.index(min(times))]


def elements(cell):
    return math.prod(OPERATORS[cell.operator].inputs[0].shape) if OPERATORS[cell.operator].inputs else 0


def sides_of(workers, number, cell):
    """{side: opened}, ours first; whatever was opened is closed if one fails."""
    operator, opened = OPERATORS[cell.operator], {}
    try:
        opened["ours"] = Side(workers, "isobit", number, cell.threads)
        opened["torch"] = torch_side(workers, number, cell)
        if cell.scatters and cell.threads > 1:
            opened["torch on one core"] = Side(workers, "torch", number, 1)
        if cell.direction in operator.passes:
            opened["copy"] = Copy(workers, cell.threads, 4.0 * elements(cell) * operator.passes[cell.direction])
        if cell.direction in operator.floor:
            n = floor.instructions(operator.floor[cell.direction], floor.isa())
            opened["floor"] = Floor(workers, cell.threads, elements(cell), n)
    except WorkerError:
        close_all(opened)
        raise
    return opened


def close_all(opened):
    for side in opened.values():
        side.close()


def speed_row(name, ours, theirs, bar, note=""):
    ratios = [t / o for o, t in zip(ours, theirs)]
    return row(name, "ms", statistics.median(ours), statistics.median(theirs), statistics.median(ratios), ">=", bar,
               ratio_interval=interval(ratios, resamples=1000), note=note)


def rows_of(cell, times):
    ours, theirs = times["ours"], times["torch"]
    bar, note = cell.bars.get("torch"), ""
    if "torch on one core" in times and statistics.median(times["torch on one core"]) < SINGLE_THREADED * statistics.median(theirs):
        bar, note = 2.0, "PyTorch is single-threaded here"
    rows = [speed_row(f"{cell.name} / PyTorch", ours, theirs, bar, note)]
    # The slower ceiling is judged; the other is there to be seen.
    slower = max((c for c in ("copy", "floor") if c in times), key=lambda c: statistics.median(times[c]), default=None)
    for ceiling, label in (("copy", "copy"), ("floor", "instruction floor")):
        if ceiling in times:
            rows.append(speed_row(f"{cell.name} / {label}", ours, times[ceiling], cell.bars.get(ceiling) if ceiling == slower else None))
    return rows


def measure(workers, number, cell, seconds):
    opened = sides_of(workers, number, cell)
    try:
        times = dict(zip(opened, take_turns(list(opened.values()), seconds)))
    finally:
        close_all(opened)
    return rows_of(cell, times), [t / o for o, t in zip(times["ours"], times["torch"])]


def adamw_rows(workers, name, threads, seconds):
    n_bytes = 4.0 * ADAMW_PASSES * sum(math.prod(shape) for shape in ADAMW_SHAPES)
    opened = {"ours": Side(workers, "isobit", "adamw", threads), "torch": Side(workers, "torch", "adamw", threads),
              "fused": Side(workers, "torch", "adamw-fused", threads), "copy": Copy(workers, threads, n_bytes)}
    try:
        times = dict(zip(opened, take_turns(list(opened.values()), 4 * seconds)))
    finally:
        close_all(opened)
    names = {"torch": "PyTorch", "fused": "PyTorch fused", "copy": "copy"}
    note = f"{len(ADAMW_SHAPES)} tensors, {n_bytes / MIB / 4 / ADAMW_PASSES:.1f} Mi parameters"
    return [speed_row(f"{name} / {names[side]}", times["ours"], times[side], bar, note) for side, bar in ADAMW_BARS.items()]


SMALL = "one operator of 64 floats"


def small_rows(workers):
    """One operator on 64 floats, in C: what a call costs beside its work."""
    replies = [workers["isobit"].ask("small n 64 ms 20") for _ in range(9)]
    for key, bar in SMALL_BARS_US.items():
        samples = [reply[key.replace(" ", "_") + "_us"] for reply in replies]
        yield row(f"{SMALL}, {key}", "µs", statistics.median(samples), None, None, "<=", bar, bar_on="ours")


def attempt(name, run):
    try:
        return run()
    except WorkerError as error:
        return [error_row(name, error)]


def run(effort, peer_only):
    """The suite's rows; effort.only is a regular expression that a cell's name must contain."""
    if peer_only:
        raise WorkerError("suite operators has no --peer-only")
    check_programs()
    wanted = [(i, cell) for i, cell in enumerate(all_cells()) if not effort.only or re.search(effort.only, cell.name)]
    rows, samples = [], []
    with OperatorWorkers() as workers:
        for number, cell in wanted:
            def one(number=number, cell=cell):
                fresh, ratios = measure(workers, number, cell, effort.seconds_per_cell)
                samples.append(ratios)
                return fresh
            rows += report(attempt(cell.name, one))
        for threads in (1, 2):
            name = "AdamW step " + ("1 core" if threads == 1 else f"{threads} cores")
            if re.search(effort.only or "", name):
                rows += report(attempt(name, lambda name=name, threads=threads: adamw_rows(workers, name, threads, effort.seconds_per_cell)))
        if re.search(effort.only or "", SMALL):
            rows += report(attempt(SMALL, lambda: list(small_rows(workers))))
    if len(samples) > 1:
        rows.append(group_row("operators", "torch", samples, None if effort.only else TABLE_BAR))
    if not rows:
        raise WorkerError(f"no cell's name contains '{effort.only}'")
    return rows
