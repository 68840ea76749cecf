"""Normalisation and softmax."""
import torch

from opinfo import Differs, offer
from opinfo.common import dtype_name


def eps_of(eps, dtype):
    """RMS norm's default: the dtype's epsilon."""
    return torch.finfo(torch.float64 if dtype == "f64" else torch.float32).eps if eps is None else eps


@offer("nn.functional.layer_norm")
def layer_norm(iso, input, normalized_shape, weight=None, bias=None, eps=1e-5):
    return iso.layer_norm(input, len(normalized_shape), weight, bias, eps)


@offer("nn.functional.rms_norm")
def rms_norm(iso, input, normalized_shape, weight=None, eps=None):
    return iso.rms_norm(input, len(normalized_shape), weight, eps_of(eps, input.dtype))


@offer("nn.functional.group_norm")
def group_norm(iso, input, num_groups, weight=None, bias=None, eps=1e-5):
    return iso.group_norm(input, num_groups, weight, bias, eps)


@offer("nn.functional.instance_norm")
def instance_norm(iso, input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    if not use_input_stats:
        raise Differs("No running statistics: a sample's own are always used.")
    return iso.instance_norm(input, weight, bias, eps)


@offer("nn.functional.batch_norm")
def batch_norm(iso, input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    if input.ndim == 1:
        raise Differs("One dimension is refused: channels are the second axis.")
    return iso.batch_norm(input, weight, bias, running_mean, running_var, training=training, momentum=momentum, eps=eps)


@offer("softmax")
def softmax(iso, input, dim, dtype=None):
    return iso.softmax(converted(iso, input, dtype), dim)


@offer("log_softmax")
def log_softmax(iso, input, dim, dtype=None):
    return iso.log_softmax(converted(iso, input, dtype), dim)


@offer("nn.functional.softmin")
def softmin(iso, input, dim=None, dtype=None):
    return iso.softmin(converted(iso, input, dtype), dim)


@offer("torch.ops.aten._safe_softmax.default")
def safe_softmax(iso, input, dim, dtype=None):
    return iso.softmax(converted(iso, input, dtype), dim)


def lacks_row(input, dim, dtype=None, mask=None):
    return mask is not None and not bool(mask.expand(input.shape).any(dim).all())


nothing = [("A row without a present element gives zeros, PyTorch NaN.", lacks_row)]


@offer("masked.softmax", differs=nothing)
def masked_softmax(iso, input, dim, dtype=None, mask=None):
    return iso.softmax(input, dim) if mask is None else iso.masked_softmax(input, mask, dim)


@offer("masked.log_softmax", differs=nothing)
def masked_log_softmax(iso, input, dim, dtype=None, mask=None):
    return iso.log_softmax(input, dim) if mask is None else iso.masked_log_softmax(input, mask, dim)


@offer("masked.softmin", differs=nothing)
def masked_softmin(iso, input, dim, dtype=None, mask=None):
    return iso.softmin(input, dim) if mask is None else iso.masked_softmax(iso.neg(input), mask, dim)


@offer("nn.functional.local_response_norm")
def local_response_norm(iso, input, size, alpha=1e-4, beta=0.75, k=1.0):
    return iso.local_response_norm(input, size=size, alpha=alpha, beta=beta, k=k)


def converted(iso, input, dtype):
    return input if dtype is None else iso.cast(input, dtype_name(dtype, input.dtype))
