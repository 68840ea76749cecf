"""The sides of a cell of suite `primitives`: Isobit, its peers, the machine. Each opens a problem and gives slices."""

import itertools

from harness import BLAS_WORKER, OUR_WORKER, TORCH_WORKER, Worker, WorkerError

CHOOSING_MS = 30  # a slice while PyTorch's format or Isobit's engine is chosen


class Workers:
    """One process a program, started when first asked for: all of them stay alive, so they can take turns."""

    COMMANDS = {"isobit": OUR_WORKER, "torch": TORCH_WORKER, "openblas": BLAS_WORKER}

    def __init__(self):
        self.running = {}
        self.ids = itertools.count()

    def __getitem__(self, name):
        if name in self.running and not self.running[name].is_alive():
            self.running.pop(name).close()
        if name not in self.running:
            self.running[name] = Worker(self.COMMANDS[name])
        return self.running[name]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in self.running.values():
            worker.close()


class Opened:
    """One problem in a worker: `slice` gives the median time in ms."""

    def __init__(self, worker, workers, problem, threads, **keys):
        self.worker, self.id = worker, f"p{next(workers.ids)}"
        words = " ".join(f"{key} {value}" for key, value in keys.items() if value)
        self.ready = worker.ask(f"open {self.id} threads {threads} {words} problem {problem.replace(' ', ',')}")

    def slice(self, ms):
        return self.worker.ask(f"slice {self.id} ms {ms:.3f}")["ms"]

    def close(self):
        if self.worker.is_alive():
            self.worker.ask(f"close {self.id}")


def open_ours(workers, cell, dials):
    return Opened(workers["isobit"], workers, cell.problem, cell.threads, set=dials, ms=CHOOSING_MS)


def open_torch(workers, cell):
    """PyTorch in whichever memory format is faster here; gemm has no formats."""
    formats = ("nchw", "channels_last") if cell.problem.startswith("conv") else ("nchw",)
    sides = [Opened(workers["torch"], workers, cell.problem, cell.threads, format=f) for f in formats]
    if len(sides) > 1:
        times = [min(side.slice(CHOOSING_MS) for _ in range(2)) for side in sides]
        for side in sides:
            if side is not sides[times.index(min(times))]:
                side.close()
        sides = [sides[times.index(min(times))]]
        sides[0].note = formats[times.index(min(times))]
    return sides[0]


class Machine:
    """The machine's own speed on as many threads, GFLOP/s or GB/s, as the time that the cell's work would take at it."""

    SLICE_MS = 10

    def __init__(self, workers, cell, kind, flops, n_bytes):
        self.worker = workers["isobit"]
        self.work = flops if kind == "peak" else n_bytes
        self.command = f"peak threads {cell.threads} ms {self.SLICE_MS}"
        if kind != "peak":
            self.command = f"traffic {kind} bytes {int(n_bytes)} threads {cell.threads} ms {self.SLICE_MS}"

    def slice(self, _):
        reply = self.worker.ask(self.command)
        speed = reply.get("gflops") or reply.get("gb_s")
        if not speed:
            raise WorkerError(f"isobit: no memory or threads for {self.command}")
        return self.work / speed / 1e6

    def close(self):
        pass


def open_side(workers, cell, kind, flops, n_bytes):
    if kind == "torch":
        return open_torch(workers, cell)
    if kind == "openblas":
        return Opened(workers["openblas"], workers, cell.problem, cell.threads)
    if kind == "off":
        return open_ours(workers, cell, "repro=off,accuracy=relaxed")
    return Machine(workers, cell, kind, flops, n_bytes)
