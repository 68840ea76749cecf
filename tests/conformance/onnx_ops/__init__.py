"""ONNX operators in Isobit's calls, one module a kind, found by itself: `@op("Relu")` over a function (iso, inputs, attributes …) → Tensor or tuple.

A mapped function takes the context, the inputs (None where one is left out), then the attributes by name with ONNX's
defaults; `opset` too if it asks for it. Nothing here computes elements: arguments are translated, and inputs that ONNX has
as tensors but C as numbers (shapes, axes) are read.
"""
import importlib
import inspect
import pkgutil

import torch

import isobit

operators = {}


class NotOffered(Exception):
    """What Isobit has no operator for."""


def op(*names):
    def register(function):
        for name in names:
            operators[name] = function
        return function
    return register


def run(iso, name, opset, inputs, attributes, n_outputs):
    function = operators.get(name)
    if function is None:
        raise NotOffered(f"{name}")
    takes = inspect.signature(function).parameters
    named = dict(attributes)
    if "opset" in takes:
        named["opset"] = opset
    if "n_outputs" in takes:
        named["n_outputs"] = n_outputs
    unknown = [k for k in named if k not in takes and not any(p.kind == p.VAR_KEYWORD for p in takes.values())]
    if unknown:
        raise NotOffered(f"{name} with {' '.join(unknown)}")
    try:
        result = function(iso, *inputs, **named)
    except AttributeError as e:
        if "Isobit has no" in str(e):
            raise NotOffered(str(e)) from None
        raise
    return list(result) if isinstance(result, (tuple, list)) else [result]


def check(model, ours, theirs, rtol, atol):
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        raise AssertionError(f"{ours.dtype} {tuple(ours.shape)}, expected {theirs.dtype} {tuple(theirs.shape)}")
    exact = not theirs.dtype.is_floating_point
    torch.testing.assert_close(ours, theirs, rtol=0 if exact else rtol, atol=0 if exact else atol, equal_nan=True)


def listed(value):
    """Numbers of a Tensor, as a list."""
    return value.torch().reshape(-1).tolist() if isinstance(value, isobit.Tensor) else value


def load():
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        importlib.import_module(f"{__name__}.{module}")
