"""Pointwise operators."""
import isobit
from onnx_ops import NotOffered, listed, op


SAME = {"Abs": "abs", "Neg": "neg", "Sign": "sign", "Sqrt": "sqrt", "Reciprocal": "reciprocal", "Exp": "exp", "Log": "log", "Erf": "erf",
        "Tanh": "tanh", "Sigmoid": "sigmoid", "Relu": "relu", "Softplus": "softplus", "Identity": "clone", "Sin": "sin", "Cos": "cos", "Tan": "tan",
        "Asin": "asin", "Acos": "acos", "Atan": "atan", "Sinh": "sinh", "Cosh": "cosh", "Asinh": "asinh", "Acosh": "acosh", "Atanh": "atanh",
        "Ceil": "ceil", "Floor": "floor", "Round": "round", "Softsign": "softsign", "Mish": "mish", "HardSwish": "hardswish",
        "IsNaN": "isnan", "Not": "logical_not", "BitwiseNot": "bitwise_not"}
BINARY = {"Add": "add", "Sub": "sub", "Mul": "mul", "Equal": "eq", "Less": "lt", "Greater": "gt", "LessOrEqual": "le",
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


@op("Div")
def divide(iso, a, b):
    """Of integers: rounded towards zero."""
    return iso.div(a, b) if a.dtype in ("f32", "f64", "f16", "bf16") else iso.trunc_divide(a, b)


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
    if low is not None:
        x = iso.clamp_min(x, low)
    return iso.clamp_max(x, high) if high is not None else iso.clone(x)


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


# ---- activations ----
@op("Elu")
def elu(iso, x, alpha=1.0):
    return iso.elu(x, alpha)


@op("Celu")
def celu(iso, x, alpha=1.0):
    return iso.celu(x, alpha)


@op("Selu")
def selu(iso, x, alpha=1.67326319217681884765625, gamma=1.05070102214813232421875):
    return iso.mul_scalar(iso.elu(x, alpha), gamma)


@op("LeakyRelu")
def leaky_relu(iso, x, alpha=0.01):
    return iso.leaky_relu(x, alpha)


@op("PRelu")
def prelu(iso, x, slope):
    return iso.where(iso.lt(x, iso.scalar(0, x)), iso.mul(x, slope), x)


@op("ThresholdedRelu")
def thresholded_relu(iso, x, alpha=1.0):
    return iso.threshold(x, alpha, 0.0)


@op("HardSigmoid")
def hard_sigmoid(iso, x, alpha=0.2, beta=0.5):
    return iso.clamp(iso.add_scalar(iso.mul_scalar(x, alpha), beta), 0.0, 1.0)


@op("Shrink")
def shrink(iso, x, bias=0.0, lambd=0.5):
    low, high = iso.lt(x, iso.scalar(-lambd, x)), iso.gt(x, iso.scalar(lambd, x))
    return iso.where(low, iso.add_scalar(x, bias), iso.where(high, iso.add_scalar(x, -bias), iso.scalar(0, x)))


@op("Swish")
def swish(iso, x, alpha=1.0):
    return iso.silu(x) if alpha == 1 else iso.mul(x, iso.sigmoid(iso.mul_scalar(x, alpha)))


# ---- numbers ----
@op("Mod")
def mod(iso, a, b, fmod=0):
    return iso.fmod(a, b) if fmod else iso.remainder(a, b)


@op("IsInf")
def is_inf(iso, x, detect_negative=1, detect_positive=1):
    if detect_negative and detect_positive:
        return iso.isinf(x)
    if not detect_negative and not detect_positive:
        return iso.lt(x, x)
    return iso.isneginf(x) if detect_negative else iso.isposinf(x)


@op("BitShift")
def bit_shift(iso, a, b, direction):
    return iso.bitwise_left_shift(a, b) if direction == "LEFT" else iso.bitwise_right_shift(a, b)
