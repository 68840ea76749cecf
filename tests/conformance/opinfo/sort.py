"""Sorts, order statistics, unique elements, searches and histograms."""
import torch

import isobit
from opinfo import offer
from opinfo.common import operand

ALL = "f32 f64 f16 bf16 i64 i32 u8 bool"
RULES = {"linear": "ISO_QUANTILE_LINEAR", "lower": "ISO_QUANTILE_LOWER", "higher": "ISO_QUANTILE_HIGHER",
         "midpoint": "ISO_QUANTILE_MIDPOINT", "nearest": "ISO_QUANTILE_NEAREST"}


def has_equals(input, *args, **kwargs):
    return input.numel() != input.unique().numel()


def differentiates_q(input, q, *args, **kwargs):
    return isinstance(q, torch.Tensor) and q.requires_grad


STABLE = "Always stable, and the order of NaN and of zeros is defined"
TOP = [("of equals the lower index is taken, where PyTorch leaves it open", has_equals, "forward 1")]
PLACE = [("Of equals the index is the one that the stable sort has there, where PyTorch leaves it open.", has_equals, "forward 1")]
MODE = [("The index is the last one in x, where PyTorch leaves it open.", has_equals, "forward 1")]
NUMBERS = [("q are numbers, which have no gradient.", differentiates_q, "gradient")]


def flat(iso, x):
    return iso.reshape(x, [-1])


@offer("sort", dtypes=ALL, differs=[(STABLE, has_equals, "forward 1")])
def sort(iso, input, dim=-1, descending=False, stable=False):
    return iso.sort(input, dim, descending)


@offer("argsort", dtypes=ALL, differs=[(STABLE, has_equals)])
def argsort(iso, input, dim=-1, descending=False, stable=False):
    return iso.argsort(input, dim, descending)


@offer("msort", dtypes=ALL, differs=[(STABLE, has_equals, "gradient")])
def msort(iso, input):
    return iso.msort(input)


@offer("topk", dtypes="f32 f64 f16 bf16 i64 i32 u8", differs=TOP)
def topk(iso, input, k, dim=-1, largest=True, sorted=True):
    return iso.topk(input, k, dim, largest)


@offer("kthvalue", dtypes="f32 f64 f16 bf16 i64 i32 u8", differs=PLACE)
def kthvalue(iso, input, k, dim=-1, keepdim=False):
    return iso.kthvalue(input, k, dim, keepdim)


@offer("median", dtypes="f32 f64 f16 bf16 i64 i32 u8")
def median(iso, input, dim=None, keepdim=False):
    return iso.median(flat(iso, input), 0, False)[0] if dim is None else iso.median(input, dim, keepdim)


@offer("nanmedian", dtypes="f32 f64 f16 bf16 i64 i32 u8")
def nanmedian(iso, input, dim=None, keepdim=False):
    return iso.nanmedian(flat(iso, input), 0, False)[0] if dim is None else iso.nanmedian(input, dim, keepdim)


@offer("mode", dtypes=ALL, differs=MODE)
def mode(iso, input, dim=-1, keepdim=False):
    return iso.mode(input, dim, keepdim)


def quantiles(iso, function, input, q, dim, keepdim, interpolation):
    """One q gives no axis of its own; without dim every axis is reduced."""
    many = isobit.Tensor if isinstance(q, isobit.Tensor) else None
    numbers = q.torch().double().reshape(-1).tolist() if many else [q]
    x = input if dim is not None else flat(iso, input)
    y = function(x, numbers, 0 if dim is None else dim, keepdim and dim is not None, RULES[interpolation])
    if dim is None and keepdim:
        y = iso.reshape(y, [len(numbers)] + [1] * input.ndim)
    return y if many and q.ndim else iso.select(y, 0, 0)


@offer("quantile", differs=NUMBERS)
def quantile(iso, input, q, dim=None, keepdim=False, interpolation="linear"):
    return quantiles(iso, iso.quantile, input, q, dim, keepdim, interpolation)


@offer("nanquantile", differs=NUMBERS)
def nanquantile(iso, input, q, dim=None, keepdim=False, interpolation="linear"):
    return quantiles(iso, iso.nanquantile, input, q, dim, keepdim, interpolation)


def chosen(results, return_inverse, return_counts):
    y, inverse, counts = results
    wanted = [y] + [inverse] * return_inverse + [counts] * return_counts
    return tuple(wanted) if len(wanted) > 1 else y


@offer("unique", dtypes=ALL)
def unique(iso, input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    results = iso.unique(input) if dim is None else iso.unique_along(input, dim)
    return chosen(results, return_inverse, return_counts)


@offer("unique_consecutive", dtypes=ALL)
def unique_consecutive(iso, input, return_inverse=False, return_counts=False, dim=None):
    results = iso.unique_consecutive(input) if dim is None else iso.unique_consecutive_along(input, dim)
    return chosen(results, return_inverse, return_counts)


def as_index(iso, y, out_int32):
    return iso.cast(y, "i32") if out_int32 else y


@offer("searchsorted", dtypes="f32 f64 f16 bf16 i64 i32 u8")
def searchsorted(iso, sorted_sequence, input, out_int32=False, right=False, side=None, sorter=None):
    sorted_sequence, input = operand(iso, sorted_sequence, input)
    return as_index(iso, iso.searchsorted(sorted_sequence, input, right or side == "right", sorter), out_int32)


@offer("bucketize", dtypes="f32 f64 f16 bf16 i64 i32 u8")
def bucketize(iso, input, boundaries, out_int32=False, right=False):
    boundaries, input = operand(iso, boundaries, input)
    return as_index(iso, iso.bucketize(input, boundaries, right), out_int32)


@offer("isin", dtypes="f32 f64 i64 i32 u8")
def isin(iso, elements, test_elements, assume_unique=False, invert=False):
    return iso.isin(elements, test_elements, invert)


@offer("histc")
def histc(iso, input, bins=100, min=0, max=0):
    return iso.histc(input, bins, min, max)


@offer("bincount", dtypes="i64 i32 u8")
def bincount(iso, input, weights=None, minlength=0):
    if weights is None:
        return iso.bincount(input, minlength)
    return iso.bincount_weighted(iso.cast(input, "i64"), weights if weights.dtype == "f32" else iso.cast(weights, "f64"), minlength)


def edges_of(iso, input, bins, low, high):
    return bins if isinstance(bins, isobit.Tensor) else iso.histogram_edges(input, bins, low, high)


@offer("histogram")
def histogram(iso, input, bins, *, range=None, weight=None, density=False):
    edges = edges_of(iso, input, bins, *(range or (0, 0)))
    return iso.histogram(input, edges, weight, density), edges


@offer("histogramdd")
def histogramdd(iso, input, bins, *, range=None, weight=None, density=False):
    size = input.shape[-1]
    points = iso.reshape(input, [-1, size])
    bins = [bins] * size if isinstance(bins, int) else list(bins)
    limits = list(zip(range[::2], range[1::2])) if range else [(0, 0)] * size
    edges = [edges_of(iso, iso.select(points, 1, d), b, *limits[d]) for d, b in enumerate(bins)]
    return iso.histogramdd(points, edges, weight, density), edges
