"""ONNX operators in Isobit's calls: `@op("Relu")` over a function (iso, inputs, attributes …) → Tensor or tuple.

A mapped function takes the context, the inputs (None where one is left out), then the attributes by name with ONNX's
defaults; `opset` too if it asks for it. Nothing here computes elements: arguments are translated, and inputs that ONNX has
as tensors but C as numbers (shapes, axes) are read.
"""
import inspect

import torch

import isobit
from opinfo.product import SIDES, members, padding_members

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


# ---- pointwise ----
SAME = {"Abs": "abs", "Neg": "neg", "Sign": "sign", "Sqrt": "sqrt", "Reciprocal": "reciprocal", "Exp": "exp", "Log": "log", "Erf": "erf",
        "Tanh": "tanh", "Sigmoid": "sigmoid", "Relu": "relu", "Softplus": "softplus", "Identity": "clone", "Sin": "sin", "Cos": "cos", "Tan": "tan",
        "Asin": "asin", "Acos": "acos", "Atan": "atan", "Sinh": "sinh", "Cosh": "cosh", "Asinh": "asinh", "Acosh": "acosh", "Atanh": "atanh",
        "Ceil": "ceil", "Floor": "floor", "Round": "round", "Softsign": "softsign", "Mish": "mish", "HardSwish": "hardswish",
        "IsNaN": "isnan", "Not": "logical_not", "BitwiseNot": "bitwise_not"}
BINARY = {"Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "Equal": "eq", "Less": "lt", "Greater": "gt", "LessOrEqual": "le",
          "GreaterOrEqual": "ge", "And": "logical_and", "Or": "logical_or", "Xor": "logical_xor", "BitwiseAnd": "bitwise_and",
          "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor"}


def unary(name):
    return lambda iso, x: getattr(iso, name)(x)


def binary(name):
    return lambda iso, a, b: getattr(iso, name)(a, b)


for onnx_name, ours in SAME.items():
    op(onnx_name)(unary(ours))
for onnx_name, ours in BINARY.items():
    op(onnx_name)(binary(ours))


@op("Pow")
def power(iso, x, y):
    return iso.pow(x, iso.cast(y, x.dtype))


def folded(name):
    def fold(iso, first, *more):
        for t in more:
            first = getattr(iso, name)(first, t)
        return first
    return fold


for onnx_name, ours in {"Max": "maximum", "Min": "minimum", "Sum": "add"}.items():
    op(onnx_name)(folded(ours))


@op("Mean")
def mean_of(iso, *parts):
    return iso.div_scalar(folded("add")(iso, *parts), len(parts))


@op("Where")
def where(iso, condition, a, b):
    return iso.where(condition, a, b)


@op("Clip")
def clip(iso, x, low=None, high=None):
    if x.dtype not in ("f32", "f64"):
        raise NotOffered(f"Clip of {x.dtype}")
    inf = float("inf")
    return iso.clamp(x, low.item() if low else -inf, high.item() if high else inf)


@op("Gelu")
def gelu(iso, x, approximate="none"):
    return iso.gelu_tanh(x) if approximate == "tanh" else iso.gelu(x)


@op("Cast")
def cast(iso, x, to=1, saturate=1, round_mode="up"):
    from onnx_model import TENSOR_TYPES
    if to not in TENSOR_TYPES or TENSOR_TYPES[to] not in isobit.DTYPES:
        raise NotOffered(f"Cast to ONNX data type {to}")
    return iso.cast(x, TENSOR_TYPES[to])


@op("CastLike")
def cast_like(iso, x, like, saturate=1, round_mode="up"):
    return iso.cast(x, like.dtype)


# ---- products ----
@op("MatMul")
def matmul(iso, a, b):
    return iso.matmul(a, b)


@op("Gemm")
def gemm(iso, a, b, c=None, alpha=1.0, beta=1.0, transA=0, transB=0):
    a = iso.transpose(a, 0, 1) if transA else a
    b = iso.transpose(b, 0, 1) if transB else b
    return iso.addmm(c, a, b, beta, alpha) if c else iso.mul_scalar(iso.matmul(a, b), alpha)


def sides(n, pads, auto_pad, kernel, strides, dilations, extents):
    """ONNX's padding of each axis as members of our option structs."""
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        out = {}
        for (before, after), k, s, d, extent in zip(SIDES[n], kernel, strides, dilations, extents):
            total = max((-(-extent // s) - 1) * s + d * (k - 1) + 1 - extent, 0)
            out[before], out[after] = (total // 2, total - total // 2) if auto_pad == "SAME_UPPER" else (total - total // 2, total // 2)
        return out
    if auto_pad == "VALID" or not pads:
        return {}
    return {name: v for (before, after), b, a in zip(SIDES[n], pads[:n], pads[n:]) for name, v in ((before, b), (after, a))}


@op("Conv")
def conv(iso, x, w, bias=None, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, pads=None, strides=None):
    n = x.ndim - 2
    dilations, strides = dilations or [1] * n, strides or [1] * n
    options = dict(members(n, stride=strides, dilation=dilations), groups=group,
                   **sides(n, pads, auto_pad, w.shape[2:], strides, dilations, x.shape[2:]))
    return getattr(iso, f"conv{n}d")(x, w, bias, options)


@op("ConvTranspose")
def conv_transpose(iso, x, w, bias=None, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, output_padding=None, output_shape=None,
                   pads=None, strides=None):
    n = x.ndim - 2
    dilations, strides, output_padding = dilations or [1] * n, strides or [1] * n, output_padding or [0] * n
    if output_shape or auto_pad.startswith("SAME"):
        shape = output_shape or [i * s for i, s in zip(x.shape[2:], strides)]
        whole = [(i - 1) * s + d * (k - 1) + 1 + o for i, s, d, k, o in zip(x.shape[2:], strides, dilations, w.shape[2:], output_padding)]
        total = [max(a - b, 0) for a, b in zip(whole, shape)]
        # Where the shape asked for is beyond the taps, the rest is output padding.
        output_padding = [o + max(b - a, 0) for o, a, b in zip(output_padding, whole, shape)]
        half = [t // 2 for t in total]
        rest = [t - h for t, h in zip(total, half)]
        pads = half + rest if auto_pad == "SAME_UPPER" else rest + half
        auto_pad = "NOTSET"
    options = dict(members(n, stride=strides, dilation=dilations, output_pad=output_padding), groups=group,
                   **sides(n, pads, auto_pad, None, None, None, None))
    return getattr(iso, f"conv_transpose{n}d")(x, w, bias, options)


# ---- reductions ----
def reduced(call):
    def reduce(iso, x, axes=None, keepdims=1, noop_with_empty_axes=0):
        axes = listed(axes)
        if not axes and noop_with_empty_axes:
            return call(iso, x, None, True)
        return call(iso, x, axes or [], bool(keepdims))
    return reduce


def plain(name):
    return lambda iso, x, axes, keep: iso.clone(x) if axes is None else getattr(iso, name)(x, axes, keep)


for onnx_name, ours in {"ReduceSum": "sum", "ReduceMean": "mean", "ReduceMax": "amax", "ReduceMin": "amin", "ReduceProd": "prod"}.items():
    op(onnx_name)(reduced(plain(ours)))


@op("ReduceSumSquare")
@reduced
def reduce_sum_square(iso, x, axes, keep):
    return plain("sum")(iso, iso.square(x), axes, keep)


@op("ReduceL1")
@reduced
def reduce_l1(iso, x, axes, keep):
    return plain("sum")(iso, iso.abs(x), axes, keep)


@op("ReduceL2")
@reduced
def reduce_l2(iso, x, axes, keep):
    return iso.sqrt(plain("sum")(iso, iso.square(x), axes, keep))


@op("ReduceLogSum")
@reduced
def reduce_log_sum(iso, x, axes, keep):
    return iso.log(plain("sum")(iso, x, axes, keep))


@op("ReduceLogSumExp")
@reduced
def reduce_log_sum_exp(iso, x, axes, keep):
    return iso.log(iso.exp(x)) if axes is None else iso.logsumexp(x, axes, keep)


def arg(name):
    def run_arg(iso, x, axis=0, keepdims=1, select_last_index=0):
        if select_last_index:
            raise NotOffered("the last of equal extrema")
        return getattr(iso, name)(x, axis, bool(keepdims))
    return run_arg


op("ArgMax")(arg("argmax"))
op("ArgMin")(arg("argmin"))


# ---- normalisation, losses ----
def along(name):
    def run_along(iso, x, axis=None, opset=13):
        if opset < 13:
            raise NotOffered("softmax of opset 12, of flattened rows")
        return getattr(iso, name)(x, -1 if axis is None else axis)
    return run_along


op("Softmax")(along("softmax"))
op("LogSoftmax")(along("log_softmax"))


@op("InstanceNormalization")
def instance_norm(iso, x, scale, bias, epsilon=1e-5):
    return iso.instance_norm(x, scale, bias, epsilon)


@op("RMSNormalization")
def rms_norm(iso, x, scale, axis=-1, epsilon=1e-5, stash_type=1):
    n = x.ndim - axis if axis >= 0 else -axis
    return iso.rms_norm(x, n, iso.expand(scale, list(x.shape[x.ndim - n:])), epsilon)


@op("GroupNormalization")
def group_norm(iso, x, scale, bias, epsilon=1e-5, num_groups=1, stash_type=1):
    return iso.group_norm(x, num_groups, scale, bias, epsilon)


@op("LayerNormalization")
def layer_norm(iso, x, scale, bias=None, axis=-1, epsilon=1e-5, stash_type=1, n_outputs=1):
    n = x.ndim - axis if axis >= 0 else -axis
    y = iso.layer_norm(x, n, scale, bias, epsilon)
    if n_outputs == 1:
        return y
    axes = list(range(x.ndim - n, x.ndim))
    variance = iso.var(x, axes, True, 0.0)
    return y, iso.mean(x, axes, True), iso.rsqrt(iso.add_scalar(variance, epsilon))


@op("BatchNormalization")
def batch_norm(iso, x, scale, bias, mean, variance, epsilon=1e-5, momentum=0.9, training_mode=0, n_outputs=1):
    if training_mode:
        raise NotOffered("running variance of BatchNormalization's training, biased in ONNX")
    return iso.batch_norm(x, scale, bias, mean, variance, training=False, eps=epsilon)


@op("Dropout")
def dropout(iso, x, ratio=None, training_mode=None, seed=0, n_outputs=1):
    p = ratio if isinstance(ratio, float) else ratio.item() if ratio else 0.5
    training = bool(training_mode.item()) if training_mode else False
    if training and p:
        raise NotOffered("the mask of a random operator")
    y = iso.dropout(x, p, training)
    return (y, iso.cast(iso.tensor_full("u8", list(x.shape), 1.0), "bool"))[:n_outputs]


# ---- pooling ----
def square_kernel(n, kernel, strides, pads, auto_pad, dilations, x):
    return dict(members(n, kernel=kernel, stride=strides), **sides(n, pads, auto_pad, kernel, strides, dilations, x.shape[2:]))


@op("GlobalAveragePool")
def global_average(iso, x):
    return iso.mean(x, list(range(2, x.ndim)), True)


@op("GlobalMaxPool")
def global_max(iso, x):
    return iso.amax(x, list(range(2, x.ndim)), True)


# ---- shape ----
@op("Reshape")
def reshape(iso, x, shape, allowzero=0):
    shape = listed(shape)
    return iso.reshape(x, [x.shape[i] if s == 0 and not allowzero else s for i, s in enumerate(shape)])


@op("Flatten")
def flatten(iso, x, axis=1):
    axis = axis + x.ndim if axis < 0 else axis
    rows = 1
    for extent in x.shape[:axis]:
        rows *= extent
    return iso.reshape(x, [rows, x.numel // max(rows, 1)])


@op("Squeeze")
def squeeze(iso, x, axes=None):
    axes = listed(axes) or [i for i, s in enumerate(x.shape) if s == 1]
    for axis in sorted((a % x.ndim for a in axes), reverse=True):
        x = iso.squeeze(x, axis)
    return x


@op("Unsqueeze")
def unsqueeze(iso, x, axes):
    axes = listed(axes)
    n = x.ndim + len(axes)
    for axis in sorted(a % n for a in axes):
        x = iso.unsqueeze(x, axis)
    return x


@op("Transpose")
def transpose(iso, x, perm=None):
    return iso.permute(x, perm or list(range(x.ndim))[::-1])


@op("Expand")
def expand(iso, x, shape):
    shape = listed(shape)
    shape = [1] * (x.ndim - len(shape)) + shape
    have = [1] * (len(shape) - x.ndim) + list(x.shape)
    return iso.expand(x, [max(a, b) if a and b else 0 for a, b in zip(have, shape)])


@op("Concat")
def concat(iso, *parts, axis):
    return iso.cat(list(parts), axis)


@op("Slice")
def slice_(iso, x, starts, ends, axes=None, steps=None):
    starts, ends = listed(starts), listed(ends)
    axes = listed(axes) or list(range(len(starts)))
    for axis, begin, end, step in zip(axes, starts, ends, listed(steps) or [1] * len(starts)):
        if step > 0:
            x = iso.slice(x, axis, begin, end, step)
            continue
        # Backwards is a forward slice of the same elements, flipped.
        n = x.shape[axis]
        taken = list(range(n))[begin if begin >= -n else 0:end if end >= -n else None:step]
        x = iso.slice(x, axis, 0, 0, 1) if not taken else iso.flip(iso.slice(x, axis, taken[-1], taken[0] + 1, -step), [axis])
    return x


@op("Shape")
def shape_of(iso, x, start=0, end=None):
    return iso.tensor(torch.tensor(x.shape[start:end], dtype=torch.int64))


@op("Size")
def size_of(iso, x):
    return iso.tensor(torch.tensor(x.numel, dtype=torch.int64))


@op("Constant")
def constant(iso, value=None, value_float=None, value_int=None, value_floats=None, value_ints=None):
    if value is not None:
        return iso.tensor(value)
    if value_float is not None or value_floats is not None:
        return iso.tensor(torch.tensor(value_float if value_floats is None else value_floats, dtype=torch.float32))
    return iso.tensor(torch.tensor(value_int if value_ints is None else value_ints, dtype=torch.int64))


@op("ConstantOfShape")
def constant_of_shape(iso, shape, value=None):
    fill = value if value is not None else torch.zeros(1)
    return iso.tensor_full(fill.dtype, listed(shape), float(fill.item()))
