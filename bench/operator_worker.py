"""Both sides of suite `operators`, a process each: `operator_worker.py torch` or `operator_worker.py isobit`.

Commands on stdin, one JSON line each on stdout (bench/README.md). Isobit is called through tests/conformance/isobit.py,
whose few microseconds a call are nothing beside these operators; small operators are the C worker's.
"""

import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/conformance"))

import operator_cells as cells  # noqa: E402
from protocol import serve, timed_slice  # noqa: E402


def values(spec, generator):
    if spec.kind == "normal":
        return torch.randn(spec.shape, generator=generator)
    if spec.kind == "positive":
        return torch.rand(spec.shape, generator=generator) + 0.5
    if spec.kind == "unit":
        return torch.rand(spec.shape, generator=generator)
    if spec.kind == "index":
        return torch.randint(0, spec.below, spec.shape, generator=generator)
    if spec.kind == "value":
        return torch.full(spec.shape, spec.below, dtype=torch.int64)
    return torch.rand(spec.shape, generator=generator) < 0.5


def inputs_of(operator, channels_last):
    generator = torch.Generator().manual_seed(1)
    made = [values(spec, generator) for spec in operator.inputs]
    return [t.contiguous(memory_format=torch.channels_last) if spec.image and channels_last else t for t, spec in zip(made, operator.inputs)]


def wants_grad(spec):
    return spec.grad and spec.kind in ("normal", "positive", "unit")


def first(result):
    return result[0] if isinstance(result, (tuple, list)) else result


# ---- PyTorch ----
class Torch:
    def __init__(self, threads):
        torch.set_num_threads(threads)
        self.threads = threads

    def enter(self):
        torch.set_num_threads(self.threads)

    def close(self):
        pass

    def open(self, operator, direction, channels_last):
        tensors = inputs_of(operator, channels_last)
        leaves = [t.requires_grad_(True) for t, spec in zip(tensors, operator.inputs) if wants_grad(spec)] if direction != "fwd" else []

        def forward():
            return operator.torch(torch, *tensors)

        def quiet():
            with torch.no_grad():
                forward()
        if direction == "fwd":
            return quiet
        y = first(forward())
        dy = torch.ones_like(y)
        if direction == "bwd":
            return lambda: torch.autograd.grad(y, leaves, dy, retain_graph=True)
        return lambda: torch.autograd.grad(first(forward()), leaves, dy)

    def adamw(self, fused):
        parameters = [torch.randn(shape).requires_grad_(True) for shape in cells.ADAMW_SHAPES]
        for p in parameters:
            p.grad = torch.randn(p.shape)
        optimizer = torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.01, fused=True) if fused else torch.optim.AdamW(
            parameters, lr=1e-3, weight_decay=0.01)
        return optimizer.step


# ---- Isobit ----
class Isobit:
    def __init__(self, threads):
        import isobit
        self.iso = isobit.Context(threads=threads)
        self.outer = self.iso.scope()
        self.outer.__enter__()

    def enter(self):
        pass

    def close(self):
        self.outer.__exit__(None, None, None)
        self.iso.__exit__()

    def open(self, operator, direction, _):
        iso = self.iso
        made = [iso.clone(iso.tensor(t)) for t in inputs_of(operator, False)]
        tensors = [iso.channels_last(t) if spec.image else t for t, spec in zip(made, operator.inputs)]
        leaves = []
        if direction != "fwd":
            leaves = [iso.requires_grad(t, True) for t, spec in zip(tensors, operator.inputs) if wants_grad(spec)]

        def forward():
            return operator.ours(iso, *tensors)

        def in_scope(run):
            def scoped():
                with iso.scope():
                    run()
            return scoped
        if direction == "fwd":
            return in_scope(forward)
        y = first(forward())
        dy = iso.full_like(y, 1.0)
        if direction == "bwd":
            return in_scope(lambda: iso.gradients([y], [dy], leaves))
        iso.tape_clear()
        # Not retained: a step frees its tape.
        return in_scope(lambda: iso.grad_of([first(forward())], [dy], leaves, None, grads=len(leaves)))

    def adamw(self, _):
        iso = self.iso
        generator = torch.Generator().manual_seed(1)
        named = (iso.library.structs["iso_named_tensor"] * len(cells.ADAMW_SHAPES))()
        for i, shape in enumerate(cells.ADAMW_SHAPES):
            p = iso.requires_grad(iso.clone(iso.tensor(torch.randn(shape, generator=generator))), True)
            iso.grad_set(p, iso.clone(iso.tensor(torch.randn(shape, generator=generator))))
            named[i].name, named[i].tensor, named[i].trainable = f"p{i}".encode(), p.handle, True
        f = iso.library.functions
        options = iso.library.structs["iso_adam_options"](weight_decay=0.01, decoupled=True)
        optimizer = f["iso_adam_new"].pointer(iso.handle, len(named), named, options)
        step = f["iso_optimizer_step"].pointer

        def run():
            iso.check(step(optimizer))
        return run


class Worker:
    def __init__(self, side):
        self.side, self.opened, self.cells = side, {}, list(cells.all_cells())

    def open(self, name, cell, threads="1", format="nchw"):
        """cell: a number of all_cells(), `adamw` or `adamw-fused`."""
        machine = self.side(int(threads))
        try:
            if cell.startswith("adamw"):
                run = machine.adamw(cell.endswith("fused"))
            else:
                c = self.cells[int(cell)]
                run = machine.open(cells.OPERATORS[c.operator], c.direction, format == "channels_last")
            run()
        except Exception as error:
            machine.close()
            raise ValueError(" ".join(f"{type(error).__name__}: {error}".split())) from error
        self.opened[name] = (machine, run)
        return {"version": "torch " + torch.__version__}

    def slice(self, name, ms="20"):
        machine, run = self.opened[name]
        machine.enter()
        return timed_slice(run, float(ms))

    def close(self, name):
        machine, _ = self.opened.pop(name)
        machine.close()
        return {}


if __name__ == "__main__":
    serve(Worker({"torch": Torch, "isobit": Isobit}[sys.argv[1]]), {"open": 1, "slice": 1, "close": 1})
