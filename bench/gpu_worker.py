"""PyTorch's side of suite `gpu`: one process on cuda:0, commands on stdin, one JSON line each on stdout (bench/README.md).

float32 with TF32 off. Mode `free` has cuDNN's benchmark on; `det` is use_deterministic_algorithms, benchmark off. A mode
holds from `open`, `task` or `model` on. Problems are captured in a CUDA graph, so that no launch is waited for, and
convolutions run in the faster of the two memory formats; tasks run back to back with one wait, as ours do.
"""

import os
import statistics
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch  # noqa: E402  (after the environment that it reads)

import torch_models as models  # noqa: E402
import torch_problems  # noqa: E402
from protocol import Problem, serve  # noqa: E402

F = torch.nn.functional
ROWS, WIDTH, M1, M4, N_TOKENS = 65536, 768, 1 << 20, 1 << 22, 16384


def set_mode(mode):
    torch.backends.cudnn.benchmark = mode == "free"
    torch.use_deterministic_algorithms(mode == "det")


def elapsed(run, n=1):
    """ms of one of n runs, waited for at the end."""
    start = time.perf_counter()
    for _ in range(n):
        run()
    torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - start) / n


# ---- problems, in graphs ----
class Graph:
    """As many runs as take a millisecond, at most 50, captured."""

    def __init__(self, run):
        self.run = run  # whose tensors the graph reads
        self.start, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                run()
            torch.cuda.synchronize()
            self.start.record()
            run()
            self.end.record()
        torch.cuda.synchronize()
        self.n = max(1, min(50, int(1 / max(self.start.elapsed_time(self.end), 0.02))))
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for _ in range(self.n):
                run()

    def replay(self):
        self.start.record()
        self.graph.replay()
        self.end.record()
        torch.cuda.synchronize()
        return self.start.elapsed_time(self.end) / self.n

    def slice(self, ms):
        self.replay()  # brings the clock back
        times, end = [], time.perf_counter() + ms / 1e3
        while not times or time.perf_counter() < end:
            times.append(self.replay())
        return statistics.median(times)


# ---- tasks: the inputs and calls of tasks.c ----
def places(n, below, one_bin=False):
    index = torch.randint(0, below, (n,), device="cuda")
    if one_bin:
        index[1::2] = below // 2
    return index


def gradient_of(y, inputs):
    dy = torch.ones_like(y)
    return lambda: torch.autograd.grad(y, inputs, dy, retain_graph=True)


def scatter_add(one_bin):
    x, index, source = torch.randn(M1), places(M4, M1, one_bin), torch.randn(M4)
    return lambda: torch.scatter_add(x, 0, index, source)


def index_add():
    x, index, source = torch.randn(4096, WIDTH), places(N_TOKENS, 4096), torch.randn(N_TOKENS, WIDTH)
    return lambda: torch.index_add(x, 0, index, source)


def embedding_gradient():
    weights = torch.randn(30522, WIDTH, requires_grad=True)
    return gradient_of(F.embedding(places(N_TOKENS, 30522), weights), [weights])


def bilinear_gradient():
    sides = []
    for memory in (torch.contiguous_format, torch.channels_last):
        x = torch.randn(16, 64, 64, 64).contiguous(memory_format=memory).requires_grad_(True)
        sides.append(gradient_of(F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False), [x]))
    return sides


def on_rows(function):
    x = torch.randn(ROWS, WIDTH)
    return lambda: function(x)


def add():
    a, b = torch.randn(ROWS, WIDTH), torch.randn(ROWS, WIDTH)
    return lambda: a + b


def softmax_gradient():
    x = torch.randn(ROWS, WIDTH, requires_grad=True)
    return gradient_of(torch.softmax(x, 1), [x])


def layer_norm():
    x, gamma, beta = torch.randn(ROWS, WIDTH), torch.randn(WIDTH), torch.randn(WIDTH)
    return lambda: F.layer_norm(x, (WIDTH,), gamma, beta)


def batch_norms(gradient):
    sides = []
    for memory in (torch.contiguous_format, torch.channels_last):
        x = torch.randn(64, 256, 56, 56).contiguous(memory_format=memory).requires_grad_(gradient)
        gamma, beta = (torch.randn(256, requires_grad=gradient) for _ in range(2))
        mean, variance = torch.randn(256), torch.ones(256)

        def forward(x=x, gamma=gamma, beta=beta, mean=mean, variance=variance):
            return F.batch_norm(x, mean, variance, gamma, beta, True)
        sides.append(gradient_of(forward(), [x, gamma, beta]) if gradient else forward)
    return sides


def optimizer_step(make):
    shapes = [(1692, WIDTH)] + [(WIDTH, WIDTH)] * 40 + [(WIDTH,)] * 80 + [(2 * WIDTH,)] * 39
    parameters = [torch.randn(shape, requires_grad=True) for shape in shapes]
    for p in parameters:
        p.grad = torch.randn(p.shape)
    return make(parameters).step


def classifier():
    ids, table = torch.randint(0, 10000, (4, 64)), torch.randn(10000, 128)
    w, bias = torch.randn(10, 128), torch.randn(10)
    return lambda: F.linear(F.embedding(ids, table).mean(1), w, bias)


TASKS = {"scatter_add": lambda: scatter_add(False), "scatter_add_one_bin": lambda: scatter_add(True), "index_add": index_add,
         "embedding_gradient": embedding_gradient, "bilinear_gradient": bilinear_gradient, "add": add,
         "relu": lambda: on_rows(torch.relu), "gelu": lambda: on_rows(F.gelu), "exp": lambda: on_rows(torch.exp),
         "sum_rows": lambda: on_rows(lambda x: x.sum(1)), "sum_columns": lambda: on_rows(lambda x: x.sum(0)),
         "softmax": lambda: on_rows(lambda x: torch.softmax(x, 1)), "softmax_gradient": softmax_gradient, "layer_norm": layer_norm,
         "batch_norm": lambda: batch_norms(False), "batch_norm_gradient": lambda: batch_norms(True),
         "sgd": lambda: optimizer_step(lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9, weight_decay=5e-4, fused=True)),
         "adamw": lambda: optimizer_step(lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=0.01, fused=True)),
         "classifier": classifier}


class Task:
    """The faster of its sides, where there are several memory formats."""

    BLOCKS, MOST = 5, 2000

    def __init__(self, name):
        made = TASKS[name]()
        sides = made if isinstance(made, list) else [made]
        with torch.set_grad_enabled(name.endswith("gradient")):
            for side in sides:
                elapsed(side, 3)
            self.run = min(sides, key=lambda side: elapsed(side, 5))

    def slice(self, ms):
        with torch.no_grad():
            once = min(elapsed(self.run), elapsed(self.run, 2))
            n = max(1, min(self.MOST, int(ms / self.BLOCKS / once)))
            return statistics.median(elapsed(self.run, n) for _ in range(self.BLOCKS))


class Copy:
    def __init__(self, n_bytes):
        self.source = torch.randn(int(n_bytes) // 8)
        self.target = torch.empty_like(self.source)

    def slice(self, ms):
        return Task.slice(self, ms)

    def run(self):
        self.target.copy_(self.source)

    BLOCKS, MOST = Task.BLOCKS, Task.MOST


# ---- models ----
class Model:
    def __init__(self, name, batch, memory):
        shape = models.INPUTS[name]
        self.net = models.build(name).to(memory_format=memory)
        self.x = torch.randn(batch, *shape).to(memory_format=memory)
        self.labels = torch.randint(0, models.N_CLASSES, (batch,))
        self.sgd = models.sgd(self.net, True)

    def step(self):
        self.sgd.zero_grad(set_to_none=True)
        loss = F.cross_entropy(self.net(self.x), self.labels)
        loss.backward()
        self.sgd.step()
        return loss

    def times(self, n):
        def one():
            self.loss = self.step()
        return [elapsed(one) for _ in range(n)]


def up_and_down(i, n):
    """0, 2, 4 … 5, 3, 1; beyond all of them for a negative i."""
    return n - 1 - i if i < 0 else 2 * i if 2 * i < n else 2 * (n - 1 - i) + 1


class Worker:
    def __init__(self):
        torch.set_default_device("cuda")
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        self.opened, self.mode_of, self.trained = {}, {}, None

    def about(self):
        return {"torch": torch.__version__, "device": torch.cuda.get_device_name(0)}

    def keep(self, name, mode, make):
        set_mode(mode)
        self.opened[name], self.mode_of[name] = make(), mode
        return {"version": "torch " + torch.__version__}

    def open(self, name, problem, mode="free"):
        formats = (False, True) if problem.startswith("conv") else (False,)

        def make():
            with torch.no_grad():
                graphs = [Graph(torch_problems.make(Problem(problem), f)) for f in formats]
            return graphs[0] if len(graphs) == 1 else min(graphs, key=lambda graph: graph.slice(5))
        return self.keep(name, mode, make)

    def task(self, name, task, mode="free"):
        return self.keep(name, mode, lambda: Task(task))

    def copy(self, name, bytes):
        return self.keep(name, "free", lambda: Copy(float(bytes)))

    def slice(self, name, ms="20"):
        set_mode(self.mode_of[name])
        return {"ms": self.opened[name].slice(float(ms))}

    def close(self, name):
        del self.opened[name], self.mode_of[name]
        torch.cuda.empty_cache()
        return {}

    def model(self, name, batch="64", mode="free", formats="nchw,channels_last"):
        """The faster of the memory formats; the peak is that one's."""
        set_mode(mode)
        self.trained, best_ms = None, None
        for memory in formats.split(","):
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            held = torch.cuda.memory_allocated()
            model = Model(name, int(batch), torch.channels_last if memory == "channels_last" else torch.contiguous_format)
            model.times(3)  # benchmark's search is in the first
            ms, peak = statistics.median(model.times(4)), torch.cuda.max_memory_allocated() - held
            if best_ms is None or ms < best_ms:
                self.trained, best_ms, best_peak, best = model, ms, peak, memory
            del model
        torch.cuda.empty_cache()
        self.mode_of["model"] = mode
        return {"n_params": sum(p.numel() for p in self.trained.net.parameters()), "peak_device_bytes": best_peak, "format": best}

    def steps(self, n):
        set_mode(self.mode_of["model"])
        times = self.trained.times(int(n))
        return {"times_ms": times, "loss": self.trained.loss.item()}

    def lengths(self, n, mode="free"):
        """ms of a one-dimensional convolution at each of n lengths that were never seen."""
        set_mode(mode)
        times = []
        with torch.no_grad():
            w = torch.randn(64, 64, 5)
            for i in range(-2, int(n)):
                x = torch.randn(16, 64, 400 + 37 * up_and_down(i, int(n)))
                torch.cuda.synchronize()
                ms = elapsed(lambda x=x: F.conv1d(x, w, padding=2))
                if i >= 0:
                    times.append(ms)
        return {"times_ms": times}


if __name__ == "__main__":
    serve(Worker(), {"about": 0, "open": 1, "task": 1, "copy": 1, "slice": 1, "close": 1, "model": 1, "steps": 1, "lengths": 1})
