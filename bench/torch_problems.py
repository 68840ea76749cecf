"""Single problems in PyTorch: what torch_worker.py times slice by slice. Eager, float32, PyTorch's own defaults."""

import torch


def gemm(problem, _):
    m, n, k = problem["m"], problem["n"], problem["k"]
    a = torch.randn(k, m).t() if problem["ta"] else torch.randn(m, k)
    b = torch.randn(n, k).t() if problem["tb"] else torch.randn(k, n)
    c = torch.empty(m, n)
    return lambda: torch.mm(a, b, out=c)


def conv(problem, channels_last):
    """Forward, or one of the two gradients alone; tensors in the wanted memory format, weights too."""
    n, c, h, w, k, r, s = (problem[key] for key in "nchwkrs")
    stride, pad, dilation, groups = problem["st"], problem["p"], problem["d"], problem["g"]
    memory = torch.channels_last if channels_last else torch.contiguous_format
    x = torch.randn(n, c, h, w).contiguous(memory_format=memory)
    weights = torch.randn(k, c // groups, r, s).contiguous(memory_format=memory)
    if problem.operator == "conv2d.fwd":
        return lambda: torch.nn.functional.conv2d(x, weights, None, stride, pad, dilation, groups)
    dy = torch.randn_like(torch.nn.functional.conv2d(x, weights, None, stride, pad, dilation, groups))
    mask = [problem.operator == "conv2d.bwd_data", problem.operator == "conv2d.bwd_weights", False]
    two = lambda value: [value, value]  # noqa: E731
    return lambda: torch.ops.aten.convolution_backward(dy, x, weights, None, two(stride), two(pad), two(dilation),
                                                       False, two(0), groups, mask)


KINDS = {"gemm": gemm, "conv2d.fwd": conv, "conv2d.bwd_data": conv, "conv2d.bwd_weights": conv}


def make(problem, channels_last):
    if problem.operator not in KINDS:
        raise ValueError(f"PyTorch's side has no {problem.operator}")
    return KINDS[problem.operator](problem, channels_last)
