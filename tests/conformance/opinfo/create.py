"""Tensors from numbers."""
from opinfo import offer
from opinfo.common import dtype_name, same_kind

ALL = "f32 f64 i64 bool"


def number(x):
    return x if isinstance(x, (int, float, bool)) else x.item()


@offer("arange", dtypes="f32 f64 i64", differs=[
    ("Integer dtypes take start, end and step as they are", lambda *numbers, end=0, dtype=None, **k:
     (dtype is None or not dtype.is_floating_point) and any(x != int(x) for x in (*numbers, end)))])
def arange(iso, start, end=None, step=1, dtype=None, device=None):
    return iso.arange(dtype_name(dtype, "i64"), *((start, end) if end is not None else (0, start)), step)


@offer("linspace")
def linspace(iso, start, end, steps, dtype=None, device=None, **_):
    return iso.linspace(dtype_name(dtype, "f32"), number(start), number(end), steps)


@offer("logspace")
def logspace(iso, start, end, steps, base=10, dtype=None, device=None, **_):
    return iso.logspace(dtype_name(dtype, "f32"), number(start), number(end), steps, base)


@offer("eye", dtypes=ALL)
def eye(iso, n, m=None, dtype=None, **_):
    return iso.eye(dtype_name(dtype, "f32"), n, n if m is None else m)


@offer("full", dtypes=ALL)
def full(iso, size, fill_value, dtype=None, **_):
    return iso.tensor_full(dtype_name(dtype, "f32"), list(size), fill_value)


@offer("ones", dtypes=ALL)
def ones(iso, size, dtype=None, **_):
    return iso.tensor_full(dtype_name(dtype, "f32"), list(size), 1)


@offer("zeros", dtypes=ALL)
def zeros(iso, size, dtype=None, **_):
    return iso.tensor_zeros(dtype_name(dtype, "f32"), list(size))


@offer("empty", dtypes=ALL, compare=same_kind)
def empty(iso, size, dtype=None, **_):
    return iso.tensor_new(dtype_name(dtype, "f32"), list(size))


@offer("scalar_tensor", dtypes=ALL)
def scalar_tensor(iso, value, dtype=None, **_):
    return iso.tensor_full(dtype_name(dtype, "f32"), [], value)


@offer("full_like", dtypes=ALL)
def full_like(iso, input, fill_value, dtype=None, **_):
    return iso.full_like(cast(iso, input, dtype), fill_value)


@offer("ones_like", dtypes=ALL)
def ones_like(iso, input, dtype=None, **_):
    return cast(iso, iso.full_like(input, 1), dtype)


@offer("zeros_like", dtypes=ALL)
def zeros_like(iso, input, dtype=None, **_):
    return cast(iso, iso.full_like(input, 0), dtype)


def cast(iso, x, dtype):
    return x if dtype is None else iso.cast(x, dtype)


@offer("empty_like", dtypes=ALL, compare=same_kind)
def empty_like(iso, input, dtype=None, **_):
    return cast(iso, iso.empty_like(input), dtype)


@offer("new_full", dtypes=ALL)
def new_full(iso, input, size, fill_value, dtype=None, **_):
    return iso.tensor_full(dtype_name(dtype, input.dtype), list(size), fill_value)


@offer("new_ones", dtypes=ALL)
def new_ones(iso, input, size, dtype=None, **_):
    return iso.tensor_full(dtype_name(dtype, input.dtype), list(size), 1)


@offer("new_zeros", dtypes=ALL)
def new_zeros(iso, input, size, dtype=None, **_):
    return iso.tensor_zeros(dtype_name(dtype, input.dtype), list(size))


@offer("new_empty", dtypes=ALL, compare=same_kind)
def new_empty(iso, input, size, dtype=None, **_):
    return iso.tensor_new(dtype_name(dtype, input.dtype), list(size))


@offer("tril_indices", dtypes="i64")
def tril_indices(iso, row, col, offset=0, dtype=None, **_):
    return iso.tril_indices(row, col, offset)


@offer("triu_indices", dtypes="i64")
def triu_indices(iso, row, col, offset=0, dtype=None, **_):
    return iso.triu_indices(row, col, offset)
