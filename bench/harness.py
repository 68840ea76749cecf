"""What every suite of bench/peers shares: worker processes, alternating time slices, paired ratios, rows and the table.

Two sides are compared the only way that survives a noisy machine: both processes stay alive, they take turns of a few
hundred milliseconds (ours first, then theirs, then the other way round), and each pair of neighbouring slices gives one
ratio. The row's ratio is the median of those; its interval is a percentile bootstrap over the pairs.
"""

import json
import os
import random
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUR_WORKER = [str(ROOT / "build/release/isobit-bench-worker")]
PEERS_PYTHON = str(ROOT / ".venv/peers/bin/python")
TORCH_WORKER = [PEERS_PYTHON, str(ROOT / "bench/torch_worker.py")]
BLAS_WORKER = [PEERS_PYTHON, str(ROOT / "bench/blas_worker.py")]
ISOBIT = str(ROOT / "build/release/isobit")
MIB = float(1 << 20)


# What keeps every side to one instruction set: a comparison on an older machine, made on this one.
ISA_MASKS = {"avx2": {"ISOBIT_ISA": "avx2", "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2",
                      "OPENBLAS_CORETYPE": "Haswell", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}}


def mask(isa):
    """From now on every program that is started is held to the instruction set."""
    os.environ.update(ISA_MASKS[isa])


def check_programs():
    for program in (OUR_WORKER[0], ISOBIT):
        if not Path(program).exists():
            raise WorkerError(f"{program} is missing: cmake --preset release && cmake --build build/release")


class WorkerError(RuntimeError):
    """A worker could not be started, died, or answered a command with an error."""


class Worker:
    """One worker process that speaks the protocol of bench/README.md.

    `passive`: threads without work sleep instead of spinning on cores that others could use.
    """

    def __init__(self, command, passive=True):
        self.name = os.path.basename(command[-1])
        environment = {k: v for k, v in os.environ.items() if k != "OMP_WAIT_POLICY"}
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        if passive:
            environment["OMP_WAIT_POLICY"] = "passive"
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                            bufsize=1, env=environment)
        except OSError as error:
            raise WorkerError(f"{command[0]}: {error.strerror}") from error

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            reply = self.process.stdout.readline()
        except BrokenPipeError:
            reply = ""
        if not reply:
            raise WorkerError(f"{self.name} ended (status {self.process.wait()}) at: {line}")
        try:
            reply = json.loads(reply)
        except json.JSONDecodeError as error:
            raise WorkerError(f"{self.name} answered {line!r} with {reply.strip()!r}, not JSON") from error
        if "error" in reply:
            raise WorkerError(f"{self.name}: {reply['error']}")
        return reply

    def is_alive(self):
        return self.process.poll() is None

    def close(self):
        """Asks the process to quit; one that doesn't within ten seconds is killed."""
        try:
            self.process.stdin.write("quit\n")
            self.process.stdin.close()
        except (OSError, ValueError):  # it has ended, or was closed before
            pass
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Trainer(Worker):
    """A worker with a model: its slices are blocks of training steps."""

    def __init__(self, command, model, passive=True, **keys):
        super().__init__(command, passive)
        self.keys = keys
        self.description = " ".join([model] + [f"{key} {value}" for key, value in keys.items()])
        try:
            self.ready = self.ask("model " + self.description)
        except WorkerError:
            self.close()
            raise
        self.peak_bytes = 0

    def slice(self, n):
        """The times in ms of n steps after one that only brings caches and clock back from the other side's slice."""
        reply = self.ask(f"steps {n + 1}")
        if reply["loss"] != reply["loss"] or abs(reply["loss"]) == float("inf"):
            raise WorkerError(f"{self.name}: {self.description}: loss is {reply['loss']}")
        self.peak_bytes = reply["peak_rss_bytes"]
        return reply["times_ms"][1:]

    def growth_mib(self):
        return (self.peak_bytes - self.ready["rss_bytes"]) / MIB


@dataclass
class Effort:
    """How long a suite measures: rounds of paired slices, and the aimed length of one slice; or the time for one of many
    cells, and which of them. `machine` is what the suite found out about it."""
    rounds: int = 15
    slice_ms: float = 400.0
    seconds_per_cell: float = 1.0
    only: str = ""
    quick: bool = False
    machine: dict = field(default_factory=dict)

    def steps(self, step_ms):
        return max(1 if step_ms > self.slice_ms else 2, min(200, round(self.slice_ms / step_ms)))


@dataclass
class Pairs:
    """The outcome of one interleaved comparison of a and b."""
    a_ms: float
    b_ms: float
    ratios: list = field(default_factory=list)  # b's time / a's, one of each round

    def ratio(self):
        return statistics.median(self.ratios)


def warm_up(trainer, effort):
    """Runs until the one-off work is over (two steps do where one takes long); returns how many steps fill a slice."""
    step_ms = statistics.median(trainer.slice(2))
    if step_ms < effort.slice_ms:
        step_ms = statistics.median(trainer.slice(4))
    return effort.steps(step_ms)


def interleave(a, b, effort):
    """Alternates slices of a and b, swapping who goes first, so that drift and turbo favour neither."""
    steps = {a: warm_up(a, effort), b: warm_up(b, effort)}
    times = {a: [], b: []}
    ratios = []
    for turn in range(effort.rounds):
        medians = {}
        for side in (a, b) if turn % 2 == 0 else (b, a):
            block = side.slice(steps[side])
            times[side] += block
            medians[side] = statistics.median(block)
        ratios.append(medians[b] / medians[a])
    return Pairs(statistics.median(times[a]), statistics.median(times[b]), ratios)


def alone(trainer, effort):
    """Median step time of one side by itself."""
    n = warm_up(trainer, effort)
    return statistics.median([t for _ in range(effort.rounds) for t in trainer.slice(n)])


def fastest(candidates, effort):
    """Keeps the fastest of several trainers, measured in turns, and closes the others."""
    steps = [warm_up(c, effort) for c in candidates]
    blocks = [[] for _ in candidates]
    for _ in range(3):
        for block, candidate, n in zip(blocks, candidates, steps):
            block += candidate.slice(n)
    medians = [statistics.median(block) for block in blocks]
    best = candidates[medians.index(min(medians))]
    for candidate in candidates:
        if candidate is not best:
            candidate.close()
    return best


def interval(samples, statistic=statistics.median, confidence=0.95, resamples=4000):
    """Percentile bootstrap; the generator's seed is fixed, so one set of samples always gives one interval."""
    generator = random.Random(1)
    values = sorted(statistic(generator.choices(samples, k=len(samples))) for _ in range(resamples))
    tail = int(resamples * (1.0 - confidence) / 2.0)
    return [values[tail], values[-1 - tail]]


# How a row's figure is held against its bar.
SENSES = {">=": lambda x, bar: x >= bar, "<=": lambda x, bar: x <= bar, "<": lambda x, bar: x < bar}


def row(name, unit, ours, peer, ratio, sense, bar, bar_on="ratio", ratio_interval=None, note=""):
    """One line of the result. `bar_on` names the figure that the bar judges, ratio or ours.

    None stands for what wasn't measured; a row whose bar is None is there to be seen, not judged.
    """
    judged = ratio if bar_on == "ratio" else ours
    passed = None if judged is None or bar is None else SENSES[sense](judged, bar)
    return {"name": name, "unit": unit, "ours": ours, "peer": peer, "ratio": ratio, "interval": ratio_interval,
            "sense": sense, "bar": bar, "bar_on": bar_on, "pass": passed, "note": note}


def error_row(name, error):
    """In the place of rows that could not be measured; with one of these the suite has failed."""
    return dict(row(name, "", None, None, None, ">=", None, note=f"not measured: {error}"), error=str(error))


def figure(value):
    return "–" if value is None else f"{value:.2f}" if abs(value) >= 10 else f"{value:.3f}"


def table(rows):
    head = ["row", "unit", "ours", "peer", "ratio", "95 % interval", "bar", "pass", "note"]
    lines = [head]
    for r in rows:
        bounds = "–" if r["interval"] is None else " … ".join(figure(x) for x in r["interval"])
        bar = "–" if r["bar"] is None else f"{r['bar_on']} {r['sense']} {r['bar']:g}"
        verdict = {True: "yes", False: "NO", None: "–"}[r["pass"]]
        lines.append([r["name"], r["unit"], figure(r["ours"]), figure(r["peer"]), figure(r["ratio"]), bounds,
                      bar, verdict, r["note"]])
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip() for line in lines)


def progress(message):
    print(message, file=sys.stderr, flush=True)
