"""Reductions, distances and scans."""
from opinfo import offer
from opinfo.common import axes, dtype_name

ALL = "f32 f64 i64 i32 u8 bool"


def cast(iso, input, dtype):
    """PyTorch's `dtype` of a reduction: x is cast first."""
    name = dtype_name(dtype, input.dtype)
    return input if name == input.dtype else iso.cast(input, name)


def kept(iso, function, input, dtype, *arguments):
    """The result is of that dtype, too: sums of integers wrap alike in 64 bits and in fewer."""
    result = function(cast(iso, input, dtype), *arguments)
    return cast(iso, result, dtype) if dtype is not None else result


# ---- sums ----
def reduction(name):
    return lambda iso, input, dim=None, keepdim=False, dtype=None: kept(iso, getattr(iso, name), input, dtype, axes(dim, input), keepdim)


for name in "sum nansum prod".split():
    offer(name, dtypes=ALL)(reduction(name))
for name in "mean nanmean logsumexp".split():
    offer(name)(reduction(name))


@offer("sum_to_size")
def sum_to_size(iso, input, *size):
    return iso.sum_to_size(input, size[0] if len(size) == 1 and not isinstance(size[0], int) else size)


@offer("trace", dtypes=ALL)
def trace(iso, input):
    return iso.trace(input)


def spread(name):
    def function(iso, input, *positional, dim=None, unbiased=None, correction=None, keepdim=False):
        if positional and isinstance(positional[0], bool):
            unbiased, positional = positional[0], positional[1:]
        if positional:
            dim, unbiased, keepdim = (*positional, *(dim, unbiased, keepdim)[len(positional):])
        if correction is None:
            correction = 1 if unbiased is None else int(unbiased)
        return getattr(iso, name)(input, axes(dim, input), keepdim, correction)
    return function


for name in "var std var_mean std_mean".split():
    offer(name)(spread(name))


# ---- norms and distances ----
@offer("linalg.vector_norm")
def vector_norm(iso, input, ord=2, dim=None, keepdim=False, dtype=None):
    return iso.vector_norm(cast(iso, input, dtype), ord, axes(dim, input), keepdim)


@offer("norm", variants=["", "fro", "inf"])
def norm(iso, input, p="fro", dim=None, keepdim=False, dtype=None):
    return iso.vector_norm(cast(iso, input, dtype), 2 if p in ("fro", None) else p, axes(dim, input), keepdim)


@offer("dist")
def dist(iso, input, other, p=2):
    return iso.dist(input, other, p)


@offer("renorm")
def renorm(iso, input, p, dim, maxnorm):
    return iso.renorm(input, p, dim, maxnorm)


@offer("nn.functional.normalize")
def normalize(iso, input, p=2.0, dim=1, eps=1e-12, out=None):
    return iso.normalize(input, p, dim, eps)


# ---- extrema ----
for name in "amax amin".split():
    offer(name, dtypes=ALL)(reduction(name))
offer("max", variants=["reduction_no_dim"], dtypes=ALL)(lambda iso, input: iso.amax(input, [], False))
offer("min", variants=["reduction_no_dim"], dtypes=ALL)(lambda iso, input: iso.amin(input, [], False))


def choice(name):
    return lambda iso, input, dim, keepdim=False: getattr(iso, name)(input, dim, keepdim)


for name in "max min".split():
    offer(name, variants=["reduction_with_dim"], dtypes=ALL)(choice(name))


@offer("aminmax", dtypes=ALL)
def aminmax(iso, input, dim=None, keepdim=False):
    return iso.aminmax(input, axes(dim, input), keepdim)


def position(name):
    def function(iso, input, dim=None, keepdim=False):
        if dim is not None:
            return getattr(iso, name)(input, dim, keepdim)
        at = getattr(iso, name + "_all")(input)
        return iso.reshape(at, [1] * input.ndim) if keepdim else at
    return function


for name in "argmax argmin".split():
    offer(name, dtypes="f32 f64 i64 i32 u8")(position(name))


# ---- truths ----
for name in "any all".split():
    offer(name, dtypes="f32 f64 i64 i32 bool")(reduction(name))


@offer("count_nonzero", dtypes=ALL)
def count_nonzero(iso, input, dim=None):
    return iso.count_nonzero(input, axes(dim, input))


# ---- along an axis ----
def scan(name):
    return lambda iso, input, dim, dtype=None: kept(iso, getattr(iso, name), input, dtype, dim)


for name in "cumsum cumprod".split():
    offer(name, dtypes="f32 f64 i64 i32 u8")(scan(name))
for name in "cummax cummin".split():
    offer(name, dtypes=ALL)(scan(name))
offer("logcumsumexp")(scan("logcumsumexp"))


@offer("diff", dtypes="f32 f64 i64 bool")
def diff(iso, input, n=1, dim=-1, prepend=None, append=None):
    return iso.diff(input, n, dim, prepend, append)


@offer("trapezoid", "trapz")
def trapezoid(iso, y, x=None, *, dx=1, dim=-1):
    return iso.trapezoid(y, x, dx, dim)


@offer("cumulative_trapezoid")
def cumulative_trapezoid(iso, y, x=None, *, dx=1, dim=-1):
    return iso.cumulative_trapezoid(y, x, dx, dim)
