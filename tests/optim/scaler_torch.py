#!/usr/bin/env python3
"""Writes scaler_torch.txt: scales, growth trackers and steps of torch.amp.GradScaler for given overflows.

Run with a Python that has torch 2.13; test_scaler.c replays the file. A line "case INIT GROWTH BACKOFF INTERVAL" opens a
sequence, "OVERFLOWS SCALE TRACKER STEPPED WEIGHT" is one step: whether a gradient was made infinite, and the state after it.
"""
import pathlib
import torch

CASES = [
    (65536.0, 2.0, 0.5, 3, "00010000010100000000000"),
    (1024.0, 1.5, 0.75, 2, "0000100000000110000"),
    (2.0**126, 4.0, 0.5, 1, "000010000"),  # growth stops at f32's largest
    (3.0, 2.0, 0.3, 4, "0010000000000"),
]


def run(init, growth, backoff, interval, overflows):
    yield f"case {init!r} {growth!r} {backoff!r} {interval}"
    weight = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
    sgd = torch.optim.SGD([weight], lr=0.125)
    scaler = torch.amp.GradScaler("cpu", init_scale=init, growth_factor=growth, backoff_factor=backoff, growth_interval=interval)
    for over in overflows:
        scaler.scale((weight * torch.tensor([0.5, 0.25])).sum()).backward()
        if over == "1":
            weight.grad[1] = float("inf")
        before = weight.detach().clone()
        scaler.step(sgd)
        scaler.update()
        sgd.zero_grad()
        stepped = int(not torch.equal(before, weight.detach()))
        yield f"{over} {float(scaler.get_scale()).hex()} {scaler._get_growth_tracker()} {stepped} {weight[0].item().hex()}"


def main():
    lines = [line for case in CASES for line in run(*case)]
    path = pathlib.Path(__file__).with_suffix(".txt")
    path.write_text(f"# torch {torch.__version__}: scaler_torch.py\n" + "\n".join(lines) + "\n")


main()
