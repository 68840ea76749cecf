#!/usr/bin/env python3
"""bench/gpu_step.py [MODEL:BATCH:SIDE ...] (textclassifier:BATCH:LENGTH): training steps on cuda:0 beside PyTorch's, float32: free (cuDNN's benchmark) and deterministic."""
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
from torch import nn

sys.dont_write_bytecode = True
import torch_models  # noqa: E402  (beside this file)

HERE = Path(__file__).resolve().parent
STEP = os.environ.get("ISOBIT_BENCH_STEP", str(HERE.parent / "build/release/isobit-bench-step"))


def ours(model, batch, channels, side, steps, policy):
    environment = dict(os.environ, ISOBIT_DEVICE="cuda:0", ISOBIT_STORE="none", ISOBIT_REPRO=policy)
    result = subprocess.run([STEP, model, str(batch), str(channels), str(side), str(steps)], capture_output=True, text=True, env=environment)
    return json.loads(result.stdout) if result.returncode == 0 else {"error": result.stderr.strip()[-300:]}


def batch_of(model, batch, channels, side, layout):
    """Images, or of a text classifier token ids of which at most half are padding."""
    if model != "textclassifier":
        return torch.randn(batch, channels, side, side, device="cuda").to(memory_format=layout)
    ids = torch.randint(1, channels, (batch, side), device="cuda")
    return ids.masked_fill(torch.arange(side, device="cuda") >= torch.randint(side // 2, side + 1, (batch, 1), device="cuda"), 0)


def theirs(model, batch, channels, side, steps, deterministic):
    torch.backends.cudnn.benchmark = not deterministic
    torch.use_deterministic_algorithms(deterministic)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    best = None
    for layout in (torch.contiguous_format, torch.channels_last):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        net = torch_models.build(model).cuda().to(memory_format=layout)
        x = batch_of(model, batch, channels, side, layout)
        y = torch.randint(0, torch_models.N_CLASSES, (batch,), device="cuda")
        sgd, loss_of, times = torch_models.sgd(net, True), nn.CrossEntropyLoss(), []
        for i in range(steps + 5):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            sgd.zero_grad(set_to_none=True)
            loss = loss_of(net(x), y)
            loss.backward()
            sgd.step()
            loss.item()
            times.append(1e3 * (time.perf_counter() - begin))
        found = (statistics.median(times[5:]), torch.cuda.max_memory_allocated() / 2**20)
        best = min(best, found) if best else found
        del net, x, y, sgd, loss
    return best


def main():
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    for cell in sys.argv[1:] or ["cnn:64:28", "resnet18:64:32", "resnet18_imagenet:64:224", "resnet50:64:224", "mobilenet:64:224", "textclassifier:64:128"]:
        model, batch, side = cell.split(":")[0], *map(int, cell.split(":")[1:])
        channels = torch_models.VOCABULARY if model == "textclassifier" else torch_models.INPUTS[model][0]
        mine = ours(model, batch, channels, side, 20, "portable")
        free, det = (theirs(model, batch, channels, side, 20, d) for d in (False, True))
        if "error" in mine:
            print(f"{cell}: {mine['error']}")
            continue
        ms = mine["median_ms"]
        how = "captured" if mine["captured"] else f"not captured: {mine['reason']}"
        print(f"{cell:26s} ours {ms:8.3f} ms {mine['peak_mib']:7.0f} MiB  free {free[0]:8.3f} ms {free[1]:7.0f} MiB  det {det[0]:8.3f} ms"
              f"   ours/free {ms / free[0]:.3f}  ours/det {ms / det[0]:.3f}  {how}", flush=True)


if __name__ == "__main__":
    main()
