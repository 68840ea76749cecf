"""Suite `text`: what language models need, beside Hugging Face's libraries and PyTorch.

A cell is a name, its bar and a function that measures it; effort.only picks cells by name. All sides of a cell take turns in
short slices, as in suite primitives.
"""

import os
import re
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from harness import PEERS_PYTHON, ROOT, WorkerError, check_programs, error_row, interval, row
from sides import Workers
from suites.primitives import report, take_turns

MINILM = Path(os.environ.get("ISOBIT_MINILM", ROOT / ".models/minilm"))


class TextWorkers(Workers):
    """A process for each side and number of threads: tokenizers reads that once."""

    COMMANDS = {"models": [str(ROOT / "build/release/isobit-bench-text")]} | {(side, threads): [PEERS_PYTHON, str(ROOT / "bench/text_worker.py"), side] for side in ("isobit", "peer") for threads in (1, 2)}


class Side:
    def __init__(self, workers, side, cell, threads, **keys):
        self.worker = workers["models"] if side == "models" else workers[side, threads]
        self.id = f"p{next(workers.ids)}"
        words = " ".join(f"{key} {value}" for key, value in keys.items())
        self.ready = self.worker.ask(f"open {self.id} {cell} threads {threads} {words}")

    def slice(self, ms):
        return self.worker.ask(f"slice {self.id} ms {ms:.3f}")["ms"]

    def close(self):
        if self.worker.is_alive():
            self.worker.ask(f"close {self.id}")


@dataclass(frozen=True)
class Cell:
    name: str
    bar: float  # of the peer's time by ours; None: to be seen
    measure: Callable  # (workers, cell, seconds, peer_only) -> rows
    threads: int = 1
    data: str = ""
    keys: dict = field(default_factory=dict)


def compare(sides, cell, seconds, note):
    """The row of two opened sides, ours first."""
    try:
        ours, theirs = take_turns(sides, seconds)
    finally:
        for side in sides:
            side.close()
    ratios = [t / o for o, t in zip(ours, theirs)]
    return row(cell.name, "ms", statistics.median(ours), statistics.median(theirs), statistics.median(ratios), ">=", cell.bar,
               ratio_interval=interval(ratios, resamples=1000), note=note)


def tokenize(workers, cell, seconds, peer_only):
    """All texts of a data set to ids and offsets."""
    if not (MINILM / "tokenizer.json").exists():
        raise WorkerError(f"{MINILM} has no tokenizer.json (scripts/fetch-minilm, ISOBIT_MINILM)")
    keys = dict(path=MINILM / "tokenizer.json", data=cell.data)
    peer = Side(workers, "peer", "tokenizer", cell.threads, **keys)
    if peer_only:
        yield row(cell.name, "ms", None, statistics.median(take_turns([peer], seconds)[0]), None, ">=", None, note=peer.ready["version"])
        return
    ours = Side(workers, "isobit", "tokenizer", cell.threads, **keys)
    if ours.ready["digest"] != peer.ready["digest"]:
        raise WorkerError("ids or offsets differ")
    yield compare([ours, peer], cell, seconds, f"{peer.ready['version']}, {ours.ready['tokens']} tokens and offsets, the same")


def peer_model(workers, kind, cell, keys):
    """PyTorch's side; where it trains, with the faster of its optimiser's two variants."""
    if not kind.endswith("_step"):
        return Side(workers, "peer", kind, cell.threads, **keys)
    both = [Side(workers, "peer", kind, cell.threads, optimizer=variant, **keys) for variant in ("plain", "fused")]
    times = [statistics.median(side.slice(300) for _ in range(3)) for side in both]
    both[times.index(max(times))].close()
    return both[times.index(min(times))]


def bert_products(batch, length, width=384, layers=6, feedforward=1536):
    """Floating-point operations of a forward pass's products."""
    rows = batch * length
    return layers * (2 * rows * width * (4 * width + 2 * feedforward) + 4 * batch * length * length * width)


def model(workers, cell, seconds, peer_only):
    kind, keys = cell.data, dict(cell.keys)
    if kind.startswith("minilm"):
        if not (MINILM / "model.safetensors").exists():
            raise WorkerError(f"{MINILM} has no model.safetensors (scripts/fetch-minilm, ISOBIT_MINILM)")
        keys["weights"] = MINILM
    peer = peer_model(workers, kind, cell, keys)
    if peer_only:
        yield row(cell.name, "ms", None, statistics.median(take_turns([peer], seconds)[0]), None, ">=", None, note=peer.ready["version"])
        return
    ours = Side(workers, "models", kind, cell.threads, **keys)
    if kind.endswith("_step") and ours.ready["n_params"] != peer.ready["n_params"]:
        raise WorkerError(f"{ours.ready['n_params']} parameters on our side, {peer.ready['n_params']} on PyTorch's: not the same model")
    peak = statistics.median(ours.worker.ask(f"peak {ours.id}")["gflops"] for _ in range(5))
    yield (result := compare([ours, peer], cell, seconds, peer.ready["version"]))
    if kind == "minilm_step":
        flops = 3 * bert_products(keys["batch"], keys["length"])
        yield row(f"{cell.name}, of FMA peak", "GFLOP/s", flops / result["ours"] / 1e6, peak, flops / result["ours"] / 1e6 / peak, ">=",
                  0.75 if cell.bar else None, note="peer: the peak, measured before; products counted once, three times forward's")


CELLS = [
    Cell("MiniLM training step, 16×128", 1.4, model, 2, "minilm_step", dict(batch=16, length=128, dropout=0.1)),
    Cell("MiniLM training step, 16×128, no dropout", None, model, 2, "minilm_step", dict(batch=16, length=128)),
    Cell("MiniLM embeddings, 1×32", 2.0, model, 2, "minilm_forward", dict(batch=1, length=32)),
    Cell("MiniLM embeddings, 32×128", 1.3, model, 2, "minilm_forward", dict(batch=32, length=128)),
    Cell("textclassifier training step, 16×16", 5.0, model, 2, "textclassifier_step", dict(batch=16, length=16, vocabulary=10000)),
    Cell("LSTM training step, 32×64, 128 to 256", 1.5, model, 2, "lstm_step", {"batch": 32, "length": 64, "in": 128, "hidden": 256}),
    Cell("LSTM training step, 16×32, 128 to 128", 1.5, model, 2, "lstm_step", {"batch": 16, "length": 32, "in": 128, "hidden": 128}),
    Cell("GRU training step, 32×64, 128 to 256", 1.5, model, 2, "gru_step", {"batch": 32, "length": 64, "in": 128, "hidden": 256}),
    Cell("GRU training step, 16×32, 128 to 128", 1.5, model, 2, "gru_step", {"batch": 16, "length": 32, "in": 128, "hidden": 128}),
    Cell("tokenizer, banking77, one thread", 2.0, tokenize, 1, "banking77"),
    Cell("tokenizer, snips, one thread", 2.0, tokenize, 1, "snips"),
    Cell("tokenizer, banking77, two threads", None, tokenize, 2, "banking77"),
]


def run(effort, peer_only):
    """The suite's rows."""
    if not peer_only:
        check_programs()
    rows = []
    with TextWorkers() as workers:
        for cell in CELLS:
            if effort.only and not re.search(effort.only, cell.name):
                continue
            try:
                rows += report(list(cell.measure(workers, cell, effort.seconds_per_cell, peer_only)))
            except WorkerError as error:
                rows.append(error_row(cell.name, error))
    if not rows:
        raise WorkerError(f"no cell's name contains '{effort.only}'")
    return rows
