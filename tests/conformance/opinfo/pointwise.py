"""Pointwise functions."""
from opinfo import offer
from opinfo.common import operand

UNARY = ["abs", "exp", "exp2", "expm1", "log", "log2", "log1p", "neg", "reciprocal", "rsqrt", "sqrt", "square", "tanh", "erf"]


def unary(name):
    return lambda iso, input: getattr(iso, name)(input)


for name in UNARY:
    offer(name)(unary(name))


@offer("mul")
def mul(iso, input, other):
    return iso.mul(*operand(iso, input, other))


@offer("nn.functional.relu")
def relu(iso, input, inplace=False):
    return iso.relu(input)
