#!/usr/bin/env python3
"""Computes with PyTorch, in float64, what Isobit's operators, optimisers and schedules are held against.

    scripts/peers-venv && .venv/peers/bin/python tests/conformance/make_gradients.py

Run once; the results in tests/data/torch/ are committed, so the tests need no PyTorch. tests/conformance/README.md
describes the files. Inputs and incoming gradients are rounded to float32, so that a float32 run starts from the same
numbers; points where an operator has a kink or a tie are avoided, because there a gradient is a convention.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

OUT = Path(__file__).resolve().parent.parent / "data" / "torch"
LIMIT_BYTES = 400 * 1024


def as_f32(values):
    """float64 that float32 holds exactly; integers as they are."""
    values = np.asarray(values)
    return values if values.dtype.kind == "i" else values.astype(np.float32).astype(np.float64)


def normal(*shape, seed=0):
    """Normal values; a function of the shape and the seed alone, so one case's change doesn't disturb the others."""
    generator = np.random.Generator(np.random.PCG64([seed, len(shape), *shape]))
    return as_f32(generator.standard_normal(shape))


def distinct(*shape, seed=0):
    """A shuffled ladder of values 1/8 apart, none of them 0: every maximum in it is unique."""
    n = int(np.prod(shape))
    order = np.random.Generator(np.random.PCG64([seed, n])).permutation(n)
    return ((order - n // 2) * 0.125 + 0.0625).reshape(shape)


def points(*values):
    return as_f32(values)


def positive(*shape, seed=0):
    return as_f32(np.abs(normal(*shape, seed=seed)) + 0.25)


class Writer:
    """Writes cases, one folder each, and the index that names them all."""

    def __init__(self):
        shutil.rmtree(OUT, ignore_errors=True)
        OUT.mkdir(parents=True)
        self.names = []

    def case(self, name, kind, op, attributes, inputs, outputs):
        """inputs and outputs: name -> (value, gradient or None). Every array goes to a file of its own."""
        assert name not in self.names, name
        self.names.append(name)
        folder = OUT / name
        folder.mkdir()
        record = {"kind": kind, "op": op, "attributes": attributes}
        for group, tensors in (("inputs", inputs), ("outputs", outputs)):
            record[group] = [self.tensor(folder, key, *pair) for key, pair in tensors.items()]
        (folder / "case.json").write_text(json.dumps(record, indent=1) + "\n")

    @staticmethod
    def tensor(folder, name, value, gradient):
        entry = {"name": name, "file": name + ".npy"}
        assert not (folder / entry["file"]).exists(), f"{folder.name}: two tensors called {name}"
        # asarray with order C, not ascontiguousarray: the latter turns a scalar into one dimension.
        np.save(folder / entry["file"], np.asarray(value, order="C"))
        if gradient is not None:
            entry["grad"] = name + ".grad.npy"
            np.save(folder / entry["grad"], np.asarray(gradient, order="C"))
        return entry

    def finish(self):
        (OUT / "index.txt").write_text("".join(name + "\n" for name in sorted(self.names)))
        size = sum(path.stat().st_size for path in OUT.rglob("*") if path.is_file())
        print(f"{len(self.names)} cases, {size / 1024:.0f} KiB in {OUT}")
        if size > LIMIT_BYTES:
            sys.exit(f"more than {LIMIT_BYTES // 1024} KiB: make the tensors smaller")


def operator(writer, name, op, function, inputs, attributes=None, constants=None, effects=None):
    """One operator case: y = function(inputs, constants), then y's gradient (seeded) sent back to every input.

    constants take no gradient; effects names those of them that the operator changes, given back as outputs NAME_after.
    """
    tensors = {k: torch.from_numpy(as_f32(v)).requires_grad_() for k, v in inputs.items()}
    fixed = {k: torch.from_numpy(as_f32(v)) for k, v in (constants or {}).items()}
    before = {k: v.clone() for k, v in fixed.items()}
    y = function(**tensors, **fixed)
    dy = normal(*y.shape, seed=99)
    y.backward(torch.from_numpy(np.array(dy)))
    written = {k: (v.detach().numpy(), v.grad.numpy()) for k, v in tensors.items()}
    written |= {k: (v.numpy(), None) for k, v in before.items()}
    outputs = {"y": (y.detach().numpy(), dy)} | {k + "_after": (fixed[k].numpy(), None) for k in effects or ()}
    writer.case(name, "operator", op, attributes or {}, written, outputs)


def products(w):
    for name, a, b in (("2d", (3, 4), (4, 5)), ("k1", (3, 1), (1, 2)), ("batched", (2, 3, 4), (2, 4, 2)),
                       ("broadcast_left", (3, 4), (2, 4, 3)), ("broadcast_both", (2, 1, 2, 3), (3, 3, 2))):
        operator(w, f"matmul_{name}", "matmul", lambda a, b: a @ b, {"a": normal(*a), "b": normal(*b, seed=1)})
    operator(w, "linear_bias", "linear", lambda x, w, b: F.linear(x, w, b),
             {"x": normal(4, 5), "w": normal(3, 5, seed=1), "b": normal(3)})
    operator(w, "linear_no_bias", "linear", lambda x, w: F.linear(x, w), {"x": normal(4, 5), "w": normal(3, 5, seed=1)})
    operator(w, "linear_3d", "linear", lambda x, w, b: F.linear(x, w, b),
             {"x": normal(2, 3, 4), "w": normal(2, 4, seed=1), "b": normal(2)})


def convolutions(w):
    # name, x (N,C,H,W), w (K,C/groups,R,S), bias, stride, padding, dilation, groups
    table = (("plain", (1, 2, 5, 5), (3, 2, 3, 3), False, (1, 1), (0, 0), (1, 1), 1),
             ("bias", (2, 1, 4, 4), (2, 1, 3, 3), True, (1, 1), (1, 1), (1, 1), 1),
             ("1x1", (2, 3, 3, 3), (2, 3, 1, 1), True, (1, 1), (0, 0), (1, 1), 1),
             ("1x1_stride2", (1, 3, 4, 5), (2, 3, 1, 1), False, (2, 2), (0, 0), (1, 1), 1),
             ("stride2", (1, 2, 6, 6), (2, 2, 3, 3), False, (2, 2), (1, 1), (1, 1), 1),
             ("stride2_remainder", (1, 2, 6, 5), (2, 2, 3, 3), False, (2, 2), (0, 0), (1, 1), 1),
             ("stride_over_kernel", (1, 2, 7, 7), (2, 2, 2, 2), False, (3, 3), (0, 0), (1, 1), 1),
             ("uneven", (1, 2, 6, 5), (2, 2, 3, 2), True, (2, 1), (0, 1), (1, 1), 1),
             ("dilation", (1, 2, 6, 6), (2, 2, 3, 3), False, (1, 1), (2, 2), (2, 2), 1),
             ("dilation_stride", (1, 1, 7, 8), (2, 1, 3, 3), False, (2, 2), (1, 2), (2, 1), 1),
             ("groups", (1, 4, 4, 4), (4, 2, 3, 3), True, (1, 1), (1, 1), (1, 1), 2),
             ("depthwise", (2, 3, 3, 3), (3, 1, 3, 3), False, (1, 1), (1, 1), (1, 1), 3),
             ("depthwise_stride2", (1, 4, 4, 4), (8, 1, 3, 3), True, (2, 2), (1, 1), (1, 1), 4))
    for name, x, k, bias, stride, padding, dilation, groups in table:
        attributes = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        inputs = {"x": normal(*x), "w": normal(*k, seed=1)} | ({"b": normal(k[0], seed=2)} if bias else {})
        operator(w, f"conv2d_{name}", "conv2d",
                 lambda x, w, b=None, keys=attributes: F.conv2d(x, w, b, **keys), inputs, attributes)


def other_convolutions(w):
    """One and three dimensions, transposed ones, and padding that differs from side to side."""

    def pad_first(x, pad):
        """PyTorch's convolutions pad both sides alike; pad = (before, after) of every axis, outermost first."""
        return F.pad(x, [n for axis in reversed(pad) for n in axis]) if pad else x

    def crop_last(y, pad):
        """Padding of a transposed convolution takes results away."""
        return y[(...,) + tuple(slice(a, y.shape[i - len(pad)] - b) for i, (a, b) in enumerate(pad))] if pad else y

    # name, x, w, bias, stride, padding, dilation, groups, more padding (before, after) of every axis
    table = (("plain", (2, 2, 7), (3, 2, 3), True, 1, 0, 1, 1, None),
             ("stride_dilation", (2, 2, 9), (2, 2, 3), False, 2, 2, 2, 1, None),
             ("groups", (1, 4, 6), (6, 2, 2), True, 1, 1, 1, 2, None),
             ("depthwise", (2, 3, 6), (3, 1, 3), True, 1, 1, 1, 3, None),
             ("asymmetric", (1, 2, 6), (2, 2, 4), False, 2, 1, 1, 1, ((0, 2),)),
             ("asymmetric", (1, 2, 4, 5), (2, 2, 3, 2), True, (1, 2), (0, 1), (1, 1), 1, ((2, 1), (0, 2))),
             ("plain", (1, 2, 3, 4, 3), (2, 2, 2, 3, 2), True, 1, 0, 1, 1, None),
             ("all", (1, 4, 4, 5, 4), (4, 2, 2, 2, 3), True, (1, 2, 1), (1, 0, 1), (2, 1, 1), 2, None),
             ("depthwise", (1, 2, 3, 3, 3), (2, 1, 3, 3, 3), False, 1, 1, 1, 2, None),
             ("asymmetric", (1, 1, 3, 3, 4), (2, 1, 3, 2, 3), False, (2, 1, 1), 0, 1, 1, ((1, 2), (0, 1), (2, 0))))
    for name, x, k, bias, stride, padding, dilation, groups, more in table:
        n = len(x) - 2
        keys = {"stride": stride, "padding": padding, "dilation": dilation}
        keys = {key: (value,) * n if isinstance(value, int) else value for key, value in keys.items()}
        keys |= {"groups": groups}
        function = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[n]
        inputs = {"x": normal(*x), "w": normal(*k, seed=1)} | ({"b": normal(k[0], seed=2)} if bias else {})
        operator(w, f"conv{n}d_{name}", f"conv{n}d",
                 lambda x, w, b=None, f=function, keys=keys, more=more: f(pad_first(x, more), w, b, **keys), inputs,
                 keys | ({"more_padding": more} if more else {}))

    # name, x, w (C,K/groups,…), bias, stride, padding, output padding, dilation, groups, more padding
    table = (("plain", (2, 2, 4), (2, 3, 3), True, 1, 0, 0, 1, 1, None),
             ("stride", (1, 3, 4), (3, 2, 4), False, 2, 1, 1, 1, 1, None),
             ("groups_dilation", (1, 4, 5), (4, 1, 3), True, 3, 2, 2, 2, 2, None),
             ("asymmetric", (2, 2, 4), (2, 2, 5), True, 2, 1, 0, 1, 1, ((0, 2),)),
             ("plain", (2, 2, 3, 3), (2, 2, 3, 3), True, 1, 1, 0, 1, 1, None),
             ("stride2_output_padding", (1, 2, 3, 2), (2, 3, 3, 3), True, 2, 1, 1, 1, 1, None),
             ("stride_over_kernel", (1, 2, 2, 3), (2, 2, 2, 1), False, (3, 2), 0, (2, 0), 1, 1, None),
             ("all", (1, 4, 3, 2), (4, 1, 2, 3), True, (2, 1), (1, 0), (1, 0), (2, 1), 2, None),
             ("depthwise", (1, 3, 3, 3), (3, 1, 4, 4), False, 2, 1, 0, 1, 3, None),
             ("asymmetric", (1, 2, 3, 3), (2, 2, 3, 3), False, 2, 0, 0, 1, 1, ((1, 0), (0, 2))),
             ("plain", (1, 2, 2, 2, 3), (2, 2, 2, 3, 2), True, 1, 0, 0, 1, 1, None),
             ("all", (1, 4, 2, 3, 2), (4, 1, 3, 2, 2), True, (2, 1, 2), (1, 0, 1), (1, 0, 1), (1, 2, 1), 2, None),
             ("depthwise", (1, 2, 2, 2, 2), (2, 1, 2, 2, 2), False, 2, 0, 0, 1, 2, None))
    for name, x, k, bias, stride, padding, output_padding, dilation, groups, more in table:
        n = len(x) - 2
        keys = {"stride": stride, "padding": padding, "output_padding": output_padding, "dilation": dilation}
        keys = {key: (value,) * n if isinstance(value, int) else value for key, value in keys.items()}
        keys |= {"groups": groups}
        function = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}[n]
        inputs = {"x": normal(*x), "w": normal(*k, seed=1)} | ({"b": normal(k[1] * groups, seed=2)} if bias else {})
        operator(w, f"conv_transpose{n}d_{name}", f"conv_transpose{n}d",
                 lambda x, w, b=None, f=function, keys=keys, more=more: crop_last(f(x, w, b, **keys), more), inputs,
                 keys | ({"more_padding": more} if more else {}))


def infinite_weights(w):
    """Padding is zeros, and zero times infinity is NaN: forward with weights, their gradient with dy not finite."""
    for name, function, x, k, dy in (("conv1d", F.conv1d, (1, 2, 5), (2, 2, 3), (1, 2, 5)),
                                     ("conv2d", F.conv2d, (1, 2, 4, 4), (2, 2, 3, 3), (1, 2, 4, 4)),
                                     ("conv3d", F.conv3d, (1, 1, 3, 3, 3), (2, 1, 3, 3, 3), (1, 2, 3, 3, 3))):
        x, k, dy = normal(*x), normal(*k, seed=1), normal(*dy, seed=99)
        k.reshape(-1)[[0, 4]] = np.inf, np.nan
        dy.reshape(2, -1)[0, 0], dy.reshape(2, -1)[1, -1] = -np.inf, np.nan
        n = x.ndim - 2
        weights = torch.from_numpy(k.copy()).requires_grad_()
        y = function(torch.from_numpy(x), weights, padding=1)
        explicit = function(F.pad(torch.from_numpy(x), [1, 1] * n), weights.detach())
        assert torch.equal(y.isnan(), explicit.isnan()) and y.isnan().any() and not y.isnan().all()
        y.backward(torch.from_numpy(dy))
        w.case(f"{name}_infinite_weights", "operator", name,
               {"stride": (1,) * n, "padding": (1,) * n, "dilation": (1,) * n, "groups": 1},
               {"x": (x, None), "w": (k, weights.grad.numpy())}, {"y": (y.detach().numpy(), dy)})


def pooling(w):
    for name, x, kernel, stride, padding in (("2", (1, 2, 4, 4), 2, 2, 0), ("3_stride2_pad1", (1, 2, 5, 5), 3, 2, 1),
                                             ("overlap", (2, 1, 4, 5), 3, 1, 0), ("remainder", (1, 2, 5, 5), 2, 2, 0)):
        attributes = {"kernel": [kernel] * 2, "stride": [stride] * 2, "padding": [padding] * 2}
        operator(w, f"max_pool2d_{name}", "max_pool2d", lambda x, s=(kernel, stride, padding): F.max_pool2d(x, *s),
                 {"x": distinct(*x)}, attributes)
        for counts in (True, False) if padding else (True,):
            tail = "" if counts else "_exclude_pad"
            operator(w, f"avg_pool2d_{name}{tail}", "avg_pool2d",
                     lambda x, s=(kernel, stride, padding), c=counts: F.avg_pool2d(x, *s, count_include_pad=c),
                     {"x": normal(*x)}, attributes | {"count_include_pad": counts})
    for name, x in (("4x4", (2, 2, 4, 4)), ("1x1", (2, 3, 1, 1)), ("3x5", (1, 2, 3, 5))):
        operator(w, f"adaptive_avg_pool2d_{name}", "adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, 1),
                 {"x": normal(*x)}, {"output_size": [1, 1]})


def normalisation(w):
    def batch_norm(x, running_mean, running_var, weight=None, bias=None, training=True, momentum=0.1, eps=1e-5):
        return F.batch_norm(x, running_mean, running_var, weight, bias, training, momentum, eps)

    for name, shape, affine, training, momentum, eps in (
            ("train", (4, 3, 2, 2), True, True, 0.1, 1e-5), ("train_2d", (6, 4), True, True, 0.1, 1e-5),
            ("train_signal", (3, 2, 4), True, True, 0.1, 1e-5), ("eval_volume", (2, 2, 2, 1, 3), True, False, 0.1, 1e-5),
            ("train_no_affine", (3, 2, 3, 3), False, True, 0.1, 1e-5),
            ("train_momentum", (3, 2, 2, 3), True, True, 0.3, 1e-3), ("eval", (4, 3, 2, 2), True, False, 0.1, 1e-5),
            ("eval_no_affine", (2, 3, 2, 2), False, False, 0.1, 1e-5)):
        c = shape[1]
        inputs = {"x": normal(*shape) * 2.0 + 1.0}
        if affine:
            inputs |= {"weight": positive(c), "bias": normal(c, seed=3)}
        keys = {"training": training, "momentum": momentum, "eps": eps}
        operator(w, f"batch_norm_{name}", "batch_norm", lambda keys=keys, **t: batch_norm(**t, **keys), inputs, keys,
                 {"running_mean": normal(c, seed=4), "running_var": positive(c, seed=5)},
                 ["running_mean", "running_var"])


def pointwise(w):
    wide = points(-12, -6, -3.5, -1.25, -0.75, -0.1, -1e-3, 1e-3, 0.1, 0.5, 1.0, 2.25, 4.5, 6, 12)
    tiny = points(-0.9, -0.5, -0.01, -1e-4, -1e-6, 1e-7, 1e-5, 1e-3, 0.2, 1, 3, 20)
    above_zero = points(1e-20, 1e-6, 0.01, 0.3, 0.7071, 0.9999, 1.0001, 1.5, 2, 10, 1000, 1e18)
    table = (("relu", F.relu, wide, {}), ("gelu_erf", F.gelu, wide, {"approximate": "none"}),
             ("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), wide, {"approximate": "tanh"}),
             ("silu", F.silu, wide, {}), ("sigmoid", torch.sigmoid, wide, {}), ("tanh", torch.tanh, wide, {}),
             ("softplus", F.softplus, wide, {}), ("exp", torch.exp, wide, {}), ("erf", torch.erf, wide / 4.0, {}),
             ("expm1", torch.expm1, tiny, {}), ("log1p", torch.log1p, tiny, {}), ("log", torch.log, above_zero, {}),
             ("rsqrt", torch.rsqrt, above_zero, {}), ("sqrt", torch.sqrt, above_zero, {}), ("neg", torch.neg, wide, {}),
             ("abs", torch.abs, wide, {}))
    for name, function, values, attributes in table:
        operator(w, name, name.partition("_")[0], lambda x, f=function: f(x), {"x": values}, attributes)
    for exponent in (2.0, 3.0, -1.0, 0.5, 1.7):
        x = wide / 4.0 if exponent in (2.0, 3.0, -1.0) else positive(12)
        operator(w, f"pow_scalar_{exponent:g}", "pow_scalar", lambda x, e=exponent: x ** e, {"x": x},
                 {"exponent": exponent})
    operator(w, "pow", "pow", lambda a, b: a ** b, {"a": positive(3, 4), "b": normal(3, 4, seed=1)})
    operator(w, "pow_broadcast", "pow", lambda a, b: a ** b, {"a": positive(3, 1), "b": normal(4, seed=1)})
    operator(w, "dropout_eval", "dropout", lambda x: F.dropout(x, 0.5, training=False), {"x": normal(3, 4)},
             {"p": 0.5, "training": False})


def broadcasting(w):
    functions = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div}
    shapes = (("same", (3, 4), (3, 4)), ("row", (3, 4), (4,)), ("column", (3, 4), (3, 1)), ("scalar", (2, 3), ()),
              ("outer", (3, 1), (1, 4)), ("channel", (2, 3, 2, 2), (1, 3, 1, 1)), ("left", (4,), (2, 3, 4)))
    for op, function in functions.items():
        for name, a, b in shapes:
            divisor = positive(*b, seed=1) if op == "div" else normal(*b, seed=1)
            operator(w, f"{op}_{name}", op, lambda a, b, f=function: f(a, b), {"a": normal(*a), "b": divisor})


def reductions(w):
    for name, axes, keep in (("inner", [2], False), ("outer", [0], False), ("middle", [1], True),
                             ("two", [0, 2], False), ("negative", [-1], True), ("all", [0, 1, 2], False)):
        attributes = {"axes": axes, "keepdims": keep}
        keys = {"dim": axes, "keepdim": keep}
        x = {"x": normal(2, 3, 4)}
        operator(w, f"sum_{name}", "sum", lambda x, k=keys: torch.sum(x, **k), x, attributes)
        operator(w, f"mean_{name}", "mean", lambda x, k=keys: torch.mean(x, **k), x, attributes)
        operator(w, f"amax_{name}", "amax", lambda x, k=keys: torch.amax(x, **k), {"x": distinct(2, 3, 4)}, attributes)
        for correction in (0, 1):
            operator(w, f"var_{name}_correction{correction}", "var",
                     lambda x, k=keys, c=correction: torch.var(x, correction=c, **k), x,
                     attributes | {"correction": correction})


def rows(w):
    for axis in (1, 0, -1):
        x = {"x": normal(2, 3, 4) * 3.0} if axis == 1 else {"x": normal(4, 5) * 3.0}
        tail = {1: "middle", 0: "outer", -1: "inner"}[axis]
        operator(w, f"softmax_{tail}", "softmax", lambda x, a=axis: F.softmax(x, a), x, {"axis": axis})
        operator(w, f"log_softmax_{tail}", "log_softmax", lambda x, a=axis: F.log_softmax(x, a), x, {"axis": axis})
    operator(w, "softmax_large", "softmax", lambda x: F.softmax(x, -1), {"x": normal(2, 4) * 100.0 + 500.0},
             {"axis": -1})
    labels = {"labels": np.array([2, 0, 4, 1, 2], dtype=np.int64)}
    operator(w, "cross_entropy", "cross_entropy", lambda x, labels: F.cross_entropy(x, labels), {"x": normal(5, 5)},
             {"reduction": "mean"}, labels)
    operator(w, "cross_entropy_large", "cross_entropy", lambda x, labels: F.cross_entropy(x, labels),
             {"x": normal(5, 5) * 100.0}, {"reduction": "mean"}, labels)
    operator(w, "cross_entropy_weights", "cross_entropy",
             lambda x, labels, class_weights: F.cross_entropy(x, labels, class_weights), {"x": normal(5, 5)},
             {"reduction": "mean"}, labels | {"class_weights": positive(5, seed=7)})
    operator(w, "mse", "mse_loss", lambda x, target: F.mse_loss(x, target),
             {"x": normal(3, 4), "target": normal(3, 4, seed=1)}, {"reduction": "mean"})


def views(w):
    operator(w, "reshape", "reshape", lambda x: x.reshape(4, 6), {"x": normal(2, 3, 4)}, {"shape": [4, 6]})
    operator(w, "reshape_of_permuted", "permute_reshape", lambda x: x.permute(2, 0, 1).reshape(2, 12),
             {"x": normal(2, 3, 4)}, {"dims": [2, 0, 1], "shape": [2, 12]})
    for dims in ([1, 0, 2], [2, 0, 1], [0, 2, 1]):
        operator(w, "permute_" + "".join(map(str, dims)), "permute", lambda x, d=dims: x.permute(*d),
                 {"x": normal(2, 3, 4)}, {"dims": dims})
    operator(w, "permute_nchw_nhwc", "permute", lambda x: x.permute(0, 2, 3, 1), {"x": normal(2, 3, 2, 2)},
             {"dims": [0, 2, 3, 1]})
    for name, axis, start, stop, step in (("outer", 0, 1, 3, 1), ("inner", 1, 0, 4, 1), ("step", 1, 1, 6, 2)):
        index = (slice(None),) * axis + (slice(start, stop, step),)
        operator(w, f"slice_{name}", "slice", lambda x, i=index: x[i], {"x": normal(4, 6)},
                 {"axis": axis, "start": start, "stop": stop, "step": step})
    for axis, shapes in ((0, ((2, 3), (1, 3))), (1, ((2, 3), (2, 1), (2, 2))), (-1, ((2, 2, 2), (2, 2, 3)))):
        inputs = {f"x{i}": normal(*shape, seed=i) for i, shape in enumerate(shapes)}
        operator(w, f"cat_axis{axis}", "cat", lambda axis=axis, **t: torch.cat(list(t.values()), axis), inputs,
                 {"axis": axis})


def optimisers(w):
    """Five steps (RAdam: nine, to be rectified) from p with the rows of `grads` as gradients; `params` holds p after each."""
    p0 = normal(3, 4)
    torch.set_default_dtype(torch.float64)  # of NAdam's product of momenta, which is rounded to it at every step
    table = (("sgd", "sgd", torch.optim.SGD, {"lr": 0.1}),
             ("sgd_momentum", "sgd", torch.optim.SGD, {"lr": 0.05, "momentum": 0.9}),
             ("sgd_weight_decay", "sgd", torch.optim.SGD, {"lr": 0.05, "weight_decay": 0.01}),
             ("sgd_nesterov", "sgd", torch.optim.SGD,
              {"lr": 0.05, "momentum": 0.9, "weight_decay": 5e-4, "nesterov": True}),
             ("sgd_dampening", "sgd", torch.optim.SGD,
              {"lr": 0.05, "momentum": 0.8, "dampening": 0.3, "weight_decay": 5e-4}),
             ("adam", "adam", torch.optim.Adam, {"lr": 0.01, "betas": [0.9, 0.999], "eps": 1e-8}),
             ("adam_weight_decay", "adam", torch.optim.Adam,
              {"lr": 0.02, "betas": [0.8, 0.95], "eps": 1e-6, "weight_decay": 0.1}),
             ("adamw", "adamw", torch.optim.AdamW,
              {"lr": 0.01, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.01}),
             ("adamw_strong", "adamw", torch.optim.AdamW,
              {"lr": 0.05, "betas": [0.7, 0.9], "eps": 1e-4, "weight_decay": 0.3}),
             ("rmsprop", "rmsprop", torch.optim.RMSprop, {}),
             ("rmsprop_centered", "rmsprop", torch.optim.RMSprop,
              {"lr": 0.02, "alpha": 0.9, "eps": 1e-3, "weight_decay": 0.1, "centered": True}),
             ("rmsprop_momentum", "rmsprop", torch.optim.RMSprop,
              {"lr": 0.02, "alpha": 0.8, "momentum": 0.9, "centered": True}),
             ("adagrad", "adagrad", torch.optim.Adagrad, {}),
             ("adagrad_decay", "adagrad", torch.optim.Adagrad,
              {"lr": 0.1, "lr_decay": 0.2, "weight_decay": 0.1, "initial_accumulator_value": 0.3, "eps": 1e-4}),
             ("adadelta", "adadelta", torch.optim.Adadelta, {}),
             ("adadelta_strong", "adadelta", torch.optim.Adadelta,
              {"lr": 0.7, "rho": 0.8, "eps": 1e-2, "weight_decay": 0.1}),
             ("adamax", "adamax", torch.optim.Adamax, {}),
             ("adamax_strong", "adamax", torch.optim.Adamax,
              {"lr": 0.05, "betas": [0.7, 0.6], "eps": 1e-3, "weight_decay": 0.1}),
             ("nadam", "nadam", torch.optim.NAdam, {}),
             ("nadam_strong", "nadam", torch.optim.NAdam,
              {"lr": 0.05, "betas": [0.7, 0.9], "eps": 1e-4, "weight_decay": 0.1, "momentum_decay": 0.1}),
             ("nadam_decoupled", "nadam", torch.optim.NAdam,
              {"lr": 0.05, "weight_decay": 0.3, "decoupled_weight_decay": True}),
             ("radam", "radam", torch.optim.RAdam, {}),
             ("radam_strong", "radam", torch.optim.RAdam,
              {"lr": 0.05, "betas": [0.7, 0.95], "eps": 1e-4, "weight_decay": 0.1}),
             ("radam_decoupled", "radam", torch.optim.RAdam,
              {"lr": 0.05, "weight_decay": 0.3, "decoupled_weight_decay": True}))
    for name, op, kind, keys in table:
        n = 9 if op == "radam" else 5
        grads = normal(n, 3, 4, seed=1)
        p = torch.from_numpy(p0.copy()).requires_grad_()
        optimizer, params = kind([p], **keys), []
        for i in range(n):
            p.grad = torch.from_numpy(grads[i].copy())
            optimizer.step()
            params.append(p.detach().numpy().copy())
        w.case(f"optim_{name}", "optimizer", op, keys, {"p": (p0, None), "grads": (grads, None)},
               {"params": (np.stack(params), None)})
    torch.set_default_dtype(torch.float32)


def clipping(w):
    """clip_grad_norm over two parameters, once where it bites and once where it doesn't."""
    for name, max_norm in (("bites", 1.0), ("idle", 100.0)):
        grads = [normal(3, 4), normal(5, seed=1)]
        params = [torch.zeros(g.shape, dtype=torch.float64, requires_grad=True) for g in grads]
        for p, g in zip(params, grads):
            p.grad = torch.from_numpy(g.copy())
        norm = torch.nn.utils.clip_grad_norm_(params, max_norm)
        w.case(f"clip_grad_norm_{name}", "clip", "clip_grad_norm", {"max_norm": max_norm},
               {f"grad{i}": (g, None) for i, g in enumerate(grads)},
               {f"clipped{i}": (p.grad.numpy(), None) for i, p in enumerate(params)} | {"norm": (norm.numpy(), None)})


def schedules(w):
    """The learning rate of steps 0 … 19."""
    lr_scheduler, base = torch.optim.lr_scheduler, 0.2
    table = (("step", "step_lr", lr_scheduler.StepLR, {"step_size": 4, "gamma": 0.5}),
             ("cosine", "cosine_annealing_lr", lr_scheduler.CosineAnnealingLR, {"T_max": 19, "eta_min": 0.01}),
             ("cosine_zero", "cosine_annealing_lr", lr_scheduler.CosineAnnealingLR, {"T_max": 25, "eta_min": 0.0}),
             ("warmup", "linear_lr", lr_scheduler.LinearLR, {"start_factor": 0.1, "end_factor": 1.0, "total_iters": 8}))
    for name, op, kind, keys in table:
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=base)
        scheduler, lr = kind(optimizer, **keys), []
        for _ in range(20):
            lr.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
        w.case(f"schedule_{name}", "schedule", op, {"base_lr": base} | keys, {}, {"lr": (np.array(lr), None)})


def training(w):
    """Three SGD steps of a small network: losses, the last gradients, parameters and running statistics."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3, padding=1, bias=False), torch.nn.BatchNorm2d(2), torch.nn.ReLU(),
                              torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(8, 3)).double()
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(torch.from_numpy(normal(*p.shape, seed=20 + i) * 0.5))
    names = {"0.weight": "conv_w", "1.weight": "bn_weight", "1.bias": "bn_bias", "5.weight": "linear_w",
             "5.bias": "linear_b"}
    before = {names[k]: (p.detach().numpy().copy(), None) for k, p in net.named_parameters()}
    keys = {"lr": 0.05, "momentum": 0.9, "weight_decay": 5e-4}
    optimizer, losses = torch.optim.SGD(net.parameters(), **keys), []
    x, labels = normal(4, 1, 4, 4), np.array([0, 2, 1, 2], dtype=np.int64)
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(torch.from_numpy(x)), torch.from_numpy(labels))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    outputs = {"losses": (np.array(losses), None)}
    outputs |= {names[k] + "_after": (p.detach().numpy(), p.grad.numpy()) for k, p in net.named_parameters()}
    outputs |= {"running_mean_after": (net[1].running_mean.numpy(), None),
                "running_var_after": (net[1].running_var.numpy(), None)}
    w.case("training_conv_net", "training", "conv3x3p1-bn-relu-maxpool2-flatten-linear", keys | {"steps": 3},
           {"x": (x, None), "labels": (labels, None)} | before, outputs)


def main():
    torch.set_num_threads(1)
    writer = Writer()
    for group in (products, convolutions, other_convolutions, infinite_weights, pooling, normalisation,
                  pointwise, broadcasting, reductions, rows, views, optimisers, clipping, schedules, training):
        group(writer)
    writer.finish()


if __name__ == "__main__":
    main()
