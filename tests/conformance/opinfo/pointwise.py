"""Pointwise functions."""
from opinfo import Differs, offer
from opinfo.common import operand, same_kind_in_training

ALL = "f32 f64 i64 i32 u8 bool"
NUMBERS = "f32 f64 i64 i32 u8"


# ---- one operand, PyTorch's name ----
def unary(name):
    return lambda iso, input: getattr(iso, name)(input)


for name in """exp exp2 expm1 log log2 log1p reciprocal rsqrt sqrt tanh erf sigmoid sinc deg2rad rad2deg frac
       sin cos tan asin acos atan sinh cosh asinh acosh atanh log10 erfc lgamma digamma erfinv i0""".split():
    offer(name)(unary(name))
for name in "abs neg square sign".split():
    offer(name, dtypes=NUMBERS)(unary(name))
for name in "floor ceil trunc".split():
    offer(name, dtypes="f32 f64 i64")(unary(name))
for name in "isnan isinf isfinite isposinf isneginf signbit logical_not".split():
    offer(name, dtypes=ALL)(unary(name))
offer("sgn", dtypes=NUMBERS)(unary("sign"))
offer("special.entr")(unary("entr"))
for name in "ndtri i0e i1 i1e".split():
    offer(f"special.{name}")(unary(name))
for order in "01":
    offer(f"special.modified_bessel_i{order}")(unary(f"i{order}"))


@offer("polygamma", variants=["polygamma_n_1"])
@offer("special.polygamma")
def polygamma(iso, input, n):
    if n > 1:
        raise Differs("Polygamma functions above the first are not computed.")
    return iso.trigamma(input) if n else iso.digamma(input)


offer("bitwise_not", dtypes="i64 i32 u8 bool")(unary("bitwise_not"))


@offer("round", dtypes="f32 f64 i64")
def round_(iso, input, decimals=0):
    return iso.round_decimals(input, decimals)


@offer("frexp")
def frexp(iso, input):
    return iso.frexp(input)


@offer("logit")
def logit(iso, input, eps=None):
    return iso.logit(input) if eps is None else iso.logit_clamped(input, eps)


@offer("nan_to_num")
def nan_to_num(iso, input, nan=None, posinf=None, neginf=None):
    largest = {"f32": 3.4028234663852886e38, "f64": 1.7976931348623157e308}[input.dtype]
    return iso.nan_to_num(input, nan or 0.0, largest if posinf is None else posinf, -largest if neginf is None else neginf)


# ---- several operands ----
def binary(name):
    return lambda iso, input, other: getattr(iso, name)(*operand(iso, input, other))


for name in "mul maximum minimum remainder fmod".split():
    offer(name, dtypes=NUMBERS)(binary(name))
for name in "atan2 copysign hypot logaddexp logaddexp2 fmax fmin".split():
    offer(name)(binary(name))
for name in "eq ne lt le gt ge".split():
    offer(name, dtypes=ALL)(binary(name))
for name in "logical_and logical_or logical_xor".split():
    offer(name, dtypes=ALL)(binary(name))
offer("heaviside", dtypes=NUMBERS)(binary("heaviside"))
offer("nextafter")(binary("nextafter"))
offer("max", variants=["binary"], dtypes=NUMBERS)(binary("maximum"))
offer("min", variants=["binary"], dtypes=NUMBERS)(binary("minimum"))
offer("xlogy")(binary("xlogy"))
offer("special.xlog1py")(binary("xlog1py"))
offer("floor_divide", dtypes=NUMBERS)(binary("floor_divide"))
offer("float_power")(binary("float_power"))
offer("pow", dtypes="f32 f64 i64")(binary("pow"))
for name in "bitwise_and bitwise_or bitwise_xor".split():
    offer(name, dtypes="i64 i32 u8 bool")(binary(name))
for name in "bitwise_left_shift bitwise_right_shift gcd lcm".split():
    offer(name, dtypes="i64 i32 u8")(binary(name))


def reflected(name):
    return lambda iso, input, other: getattr(iso, name)(*reversed(operand(iso, input, other)))


offer("__radd__", dtypes=NUMBERS)(reflected("add"))
offer("__rmul__", dtypes=NUMBERS)(reflected("mul"))
offer("__rsub__", dtypes=NUMBERS)(reflected("sub"))
offer("__rdiv__")(reflected("div"))
offer("__rmod__", dtypes=NUMBERS)(reflected("remainder"))
offer("__rpow__")(reflected("pow"))
for name in "and or xor".split():
    offer(f"__r{name}__", dtypes="i64 i32 u8 bool")(reflected(f"bitwise_{name}"))


@offer("add", dtypes=NUMBERS)
def add(iso, input, other, alpha=1):
    a, b = operand(iso, input, other)
    return iso.add(a, b) if alpha == 1 else iso.add_scaled(a, b, alpha)


@offer("sub", dtypes=NUMBERS)
def sub(iso, input, other, alpha=1):
    a, b = operand(iso, input, other)
    return iso.sub(a, b) if alpha == 1 else iso.add_scaled(a, b, -alpha)


@offer("rsub", dtypes=NUMBERS)
def rsub(iso, input, other, alpha=1):
    return sub(iso, *reversed(operand(iso, input, other)), alpha=alpha)


@offer("div", "true_divide")
def div(iso, input, other, rounding_mode=None):
    name = {None: "div", "floor": "floor_divide", "trunc": "trunc_divide"}[rounding_mode]
    return getattr(iso, name)(*operand(iso, input, other))


@offer("ldexp")
def ldexp(iso, input, other):
    return iso.ldexp(input, other)


@offer("lerp")
def lerp(iso, input, end, weight):
    return iso.lerp_scalar(input, end, weight) if isinstance(weight, (int, float)) else iso.lerp(input, end, weight)


@offer("addcmul")
def addcmul(iso, input, tensor1, tensor2, value=1):
    return iso.addcmul(input, tensor1, tensor2, value)


@offer("addcdiv")
def addcdiv(iso, input, tensor1, tensor2, value=1):
    return iso.addcdiv(input, tensor1, tensor2, value)


# ---- choosing and bounding ----
@offer("where", dtypes=ALL)
def where(iso, input, condition, other):
    return iso.where(condition, *operand(iso, input, other))


@offer("masked_fill", dtypes=ALL)
def masked_fill(iso, input, mask, value):
    if isinstance(value, (int, float)):
        return iso.masked_fill(input, mask, value)
    return iso.where(mask, value, input)


@offer("clamp", dtypes="f32 f64 i64")
def clamp(iso, input, min=None, max=None):
    low, high = (None if bound is None else iso.cast(operand(iso, input, bound)[1], input.dtype) for bound in (min, max))
    return iso.clamp_tensor(input, low, high)


@offer("clamp_min", dtypes=NUMBERS)
def clamp_min(iso, input, min):
    return iso.clamp_min(*operand(iso, input, min))


@offer("clamp_max", dtypes=NUMBERS)
def clamp_max(iso, input, max):
    return iso.clamp_max(*operand(iso, input, max))


@offer("isclose", dtypes=ALL)
def isclose(iso, input, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    return iso.isclose(input, other, rtol, atol, equal_nan)


@offer("allclose")
def allclose(iso, input, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    return iso.allclose(input, other, rtol, atol, equal_nan)


@offer("equal", dtypes=ALL)
def equal(iso, input, other):
    return iso.equal(input, other)


@offer("positive", dtypes="f32 f64 i64")
def same(iso, input):
    return iso.tensor_alias(input)


# ---- activations ----
for name in "relu relu6 selu mish silu hardswish hardsigmoid".split():
    offer(f"nn.functional.{name}")(lambda iso, input, inplace=False, f=name: getattr(iso, f)(input))
for name in "logsigmoid softsign tanhshrink".split():
    offer(f"nn.functional.{name}")(unary(name))


@offer("nn.functional.gelu")
def gelu(iso, input, approximate="none"):
    return iso.gelu_tanh(input) if approximate == "tanh" else iso.gelu(input)


@offer("nn.functional.softplus")
def softplus(iso, input, beta=1, threshold=20):
    return iso.softplus_beta(input, beta, threshold)


@offer("nn.functional.leaky_relu")
def leaky_relu(iso, input, negative_slope=0.01, inplace=False):
    return iso.leaky_relu(input, negative_slope)


@offer("nn.functional.prelu")
def prelu(iso, input, weight):
    return iso.prelu(input, weight)


@offer("nn.functional.rrelu", compare=same_kind_in_training(False, 2), differs=[("Random slopes are Isobit's own draws, the same on every machine.", lambda input, *a, training=False, **k: training)])
def rrelu(iso, input, lower=1 / 8, upper=1 / 3, training=False, inplace=False):
    return iso.rrelu(input, lower, upper, training)


@offer("nn.functional.elu")
def elu(iso, input, alpha=1.0, inplace=False):
    return iso.elu(input, alpha)


@offer("nn.functional.celu")
def celu(iso, input, alpha=1.0, inplace=False):
    return iso.celu(input, alpha)


@offer("nn.functional.hardtanh")
def hardtanh(iso, input, min_val=-1.0, max_val=1.0, inplace=False):
    return iso.hardtanh(input, min_val, max_val)


@offer("nn.functional.hardshrink")
def hardshrink(iso, input, lambd=0.5):
    return iso.hardshrink(input, lambd)


@offer("nn.functional.softshrink")
def softshrink(iso, input, lambd=0.5):
    return iso.softshrink(input, lambd)


@offer("nn.functional.threshold")
def threshold(iso, input, threshold, value, inplace=False):
    return iso.threshold(input, threshold, value)


@offer("nn.functional.glu")
def glu(iso, input, dim=-1):
    return iso.glu(input, dim)
