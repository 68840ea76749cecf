"""PyTorch's side of bench/peers: one process, commands on stdin, one JSON line each on stdout (bench/README.md).

Eager mode, CPU, float32, PyTorch's own defaults. Two keys exist on this side only, so that the harness can take
whatever is best for PyTorch: `format nchw|channels_last` and `optimizer plain|fused`.
"""

import time

import torch

import torch_models as models
import torch_problems
from protocol import Problem, serve, timed_slice
from torch_models import N_CLASSES


def status_bytes(field):
    """A field of /proc/self/status that is given in kB: VmRSS (resident now) or VmHWM (its peak)."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


def reset_peak():
    """Sets VmHWM back to the present; False where the kernel doesn't let us."""
    try:
        with open("/proc/self/clear_refs", "w") as clear_refs:
            clear_refs.write("5")
        return True
    except OSError:
        return False


class Trainer:
    """A model, its optimiser and one fixed batch: normal inputs and random labels, the same at every step."""

    def __init__(self, model, shape, batch, channels_last=False, fused=False):
        self.model, self.x = model, torch.randn(batch, *shape)
        if channels_last:
            self.model = model.to(memory_format=torch.channels_last)
            self.x = self.x.contiguous(memory_format=torch.channels_last)
        self.labels = torch.randint(0, N_CLASSES, (batch,))
        self.optimizer = models.sgd(self.model, fused)
        self.model.train()

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(self.model(self.x), self.labels)
        loss.backward()
        self.optimizer.step()
        return loss

    def timed_steps(self, n, unit_ns):
        times, loss = [], None
        for _ in range(n):
            start = time.perf_counter_ns()
            loss = self.step()
            times.append((time.perf_counter_ns() - start) / unit_ns)
        return times, loss.item()


def touch_libraries():
    """One step of a one-sample toy, so that code read from disk on first use doesn't count as the model's memory."""
    toy = torch.nn.Sequential(models.conv_bn(1, 4, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                              models.BasicBlock(4, 8, 2), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                              torch.nn.Linear(8, N_CLASSES))
    Trainer(toy, (1, 8, 8), 1).step()


class Worker:
    def __init__(self):
        self.trainer = None
        self.runs = {}

    def model(self, name, batch="1", threads="1", seed="1", format="nchw", optimizer="plain", policy="default"):
        torch.set_num_threads(int(threads))
        torch.manual_seed(int(seed))
        touch_libraries()
        net = models.build(name)
        self.trainer = Trainer(net, models.INPUTS[name], int(batch), format == "channels_last", optimizer == "fused")
        was_reset = reset_peak()
        return {"rss_bytes": status_bytes("VmRSS"), "peak_reset": was_reset,
                "n_params": sum(p.numel() for p in net.parameters()), "version": "torch " + torch.__version__}

    def steps(self, n):
        if self.trainer is None:
            raise ValueError("steps before model")
        times, loss = self.trainer.timed_steps(int(n), 1e6)
        return {"times_ms": times, "loss": loss, "peak_rss_bytes": status_bytes("VmHWM")}

    def gemm(self, m, n, k, threads="1", seconds="1"):
        torch.set_num_threads(int(threads))
        a, b, c = torch.randn(int(m), int(k)), torch.randn(int(k), int(n)), torch.empty(int(m), int(n))
        torch.mm(a, b, out=c)
        times, end = [], time.perf_counter() + float(seconds)
        while time.perf_counter() < end or not times:
            start = time.perf_counter_ns()
            torch.mm(a, b, out=c)
            times.append(time.perf_counter_ns() - start)
        median_ns = sorted(times)[len(times) // 2]
        return {"gflops": 2.0 * int(m) * int(n) * int(k) / median_ns, "peak_gflops": None}

    def mlp(self, batch="1", steps="1000", threads="1", optimizer="plain", policy="default"):
        torch.set_num_threads(int(threads))
        trainer = Trainer(models.mlp(784, 32, N_CLASSES), (1, 28, 28), int(batch), fused=optimizer == "fused")
        times, loss = trainer.timed_steps(int(steps), 1e3)
        return {"times_us": times, "loss": loss}

    def open(self, name, problem, threads="1", format="nchw"):
        self.runs[name] = (torch_problems.make(Problem(problem), format == "channels_last"), int(threads))
        return {"version": "torch " + torch.__version__}

    def slice(self, name, ms="20"):
        run, threads = self.runs[name]
        torch.set_num_threads(threads)
        with torch.no_grad():
            return timed_slice(run, float(ms))

    def close(self, name):
        del self.runs[name]
        return {}


if __name__ == "__main__":
    serve(Worker(), {"model": 1, "steps": 1, "gemm": 3, "mlp": 0, "open": 1, "slice": 1, "close": 1})
