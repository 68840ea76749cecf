"""Suite `vision`: training steps of the vision models against PyTorch on the CPU, and the bars of the engine alone."""

import json
import statistics
import subprocess
import tempfile
from pathlib import Path

from harness import (ISOBIT, OUR_WORKER, TORCH_WORKER, Worker, WorkerError, check_programs, interleave, interval, progress,
                     row)
from training import open_ours, spinning_row, training_rows

MODELS = {"cnn": 64, "resnet18": 32}  # name -> batch
GEMM = "gemm 1024 1024 1024 threads 1 seconds 0.5"
MLP_LIMIT_US = 40
ACCURACY_STEPS = 3000


def price_row(model, effort):
    """What reproducibility costs: the step under `default` over the step under `fast`, both ours."""
    batch = MODELS[model]
    with open_ours(model, batch, "fast") as fast, open_ours(model, batch, "default") as default:
        progress(f"{model}: {effort.rounds} rounds of default against fast")
        pairs = interleave(fast, default, effort)
    return row(f"{model}_default_over_fast", "ms", pairs.b_ms, pairs.a_ms, pairs.ratio(), "<=", 1.03,
               ratio_interval=interval(pairs.ratios), note="peer: policy fast")


def gemm_row(effort, peer_only):
    """Each of our replies measures product and FMA peak back to back, so their quotient survives clock changes."""
    progress("gemm 1024³")
    with Worker(TORCH_WORKER) as peer:
        peer_gflops = statistics.median(peer.ask(GEMM)["gflops"] for _ in range(3))
    note = f"peer: FMA peak; PyTorch {peer_gflops:.0f}"
    if peer_only:
        return row("gemm_1024_one_core", "GFLOP/s", None, None, None, ">=", 0.8, note=note)
    with Worker(OUR_WORKER) as ours:
        ours.ask(GEMM)
        replies = [ours.ask(GEMM) for _ in range(max(5, effort.rounds // 2))]
    ratios = [r["gflops"] / r["peak_gflops"] for r in replies]
    return row("gemm_1024_one_core", "GFLOP/s", statistics.median(r["gflops"] for r in replies),
               statistics.median(r["peak_gflops"] for r in replies), statistics.median(ratios), ">=", 0.8,
               ratio_interval=interval(ratios), note=note)


def mlp_row(effort, peer_only):
    """Overhead per step, which a 784-32-10 mlp at batch 1 is nothing but."""
    progress("mlp 784-32-10, batch 1")
    times = []
    for command in [TORCH_WORKER] if peer_only else [TORCH_WORKER, OUR_WORKER]:
        line = "mlp batch 1 steps {} threads 1" + (" optimizer fused" if command is TORCH_WORKER else " policy default")
        with Worker(command) as worker:
            worker.ask(line.format(200))
            blocks = [worker.ask(line.format(2000))["times_us"] for _ in range(max(3, effort.rounds // 3))]
        times.append(statistics.median(statistics.median(block) for block in blocks))
    peer, ours = times[0], None if peer_only else times[1]
    return row("mlp_784_32_10_b1_step", "µs", ours, peer, None if peer_only else peer / ours, "<", MLP_LIMIT_US,
               bar_on="ours")


def accuracy_row():
    progress(f"cnn: {ACCURACY_STEPS} steps on Fashion-MNIST")
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "train.json"
        command = [ISOBIT, "train", "vision", "--model", "cnn",
                   "--steps", str(ACCURACY_STEPS), "--json", str(result)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise WorkerError(f"{command[0]}: {error.strerror}") from error
        if done.returncode != 0:
            raise WorkerError(f"isobit train vision ended with {done.returncode}: {done.stderr.strip()[-400:]}")
        accuracy = json.loads(result.read_text())["accuracy"]
    return row("cnn_fashion_mnist_accuracy", "of 1", accuracy, None, None, ">=", 0.90, bar_on="ours",
               note=f"{ACCURACY_STEPS} steps, test set")


def run(effort, peer_only):
    """The suite's rows; with peer_only, PyTorch's figures alone."""
    if not peer_only:
        check_programs()
    rows = []
    for model, batch in MODELS.items():
        trained, variant = training_rows(model, batch, effort, peer_only)
        rows += [trained[0], spinning_row(model, batch, variant, effort, peer_only), *trained[1:]]
    if not peer_only:
        rows += [price_row(model, effort) for model in MODELS]
    rows += [gemm_row(effort, peer_only), mlp_row(effort, peer_only)]
    if not peer_only:
        rows.append(accuracy_row())
    return rows
