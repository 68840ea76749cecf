"""Pooling and resampling."""
import torch

import isobit
from opinfo import offer

AXES = {1: ("",), 2: ("_h", "_w"), 3: ("_d", "_h", "_w")}


def each(n, key, value):
    """A number or one an axis as members of the option struct; None: left out."""
    if value is None or value == ():
        return {}
    values = [value] * n if isinstance(value, (int, float)) else list(value) * (n if len(value) == 1 else 1)
    return {key + axis: v for axis, v in zip(AXES[n], values)}


def windows(n, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    return {**each(n, "kernel", kernel_size), **each(n, "stride", stride), **each(n, "pad", padding),
            **each(n, "dilation", dilation), "ceil_mode": ceil_mode}


# ---- windows ----
def register(n):
    @offer(f"nn.functional.max_pool{n}d")
    def max_pool(iso, input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        options = windows(n, kernel_size, stride, padding, dilation, ceil_mode)
        return getattr(iso, f"max_pool{n}d_with_indices" if return_indices else f"max_pool{n}d")(input, **options)

    @offer(f"nn.functional.avg_pool{n}d")
    def avg_pool(iso, input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        return getattr(iso, f"avg_pool{n}d")(input, **windows(n, kernel_size, stride, padding, 1, ceil_mode), count_padding=count_include_pad,
                                    divisor=divisor_override or 0)

    @offer(f"nn.functional.adaptive_avg_pool{n}d")
    def adaptive_avg_pool(iso, input, output_size):
        return getattr(iso, f"adaptive_avg_pool{n}d")(input, *sizes(n, output_size))

    @offer(f"nn.functional.adaptive_max_pool{n}d")
    def adaptive_max_pool(iso, input, output_size, return_indices=False):
        y, indices = getattr(iso, f"adaptive_max_pool{n}d")(input, *sizes(n, output_size))
        return (y, indices) if return_indices else y

    @offer(f"nn.functional.max_unpool{n}d")
    def max_unpool(iso, input, indices, kernel_size, stride=None, padding=0, output_size=None):
        kernel, stride, padding = (listed(n, v) for v in (kernel_size, kernel_size if stride in (None, ()) else stride, padding))
        usual = [(x - 1) * s - 2 * p + k for x, s, p, k in zip(input.shape[-n:], stride, padding, kernel)]
        return getattr(iso, f"max_unpool{n}d")(input, indices, *(list(output_size)[-n:] if output_size else usual))


def listed(n, value):
    return [value] * n if isinstance(value, int) else list(value)


def sizes(n, output_size):
    return [-1 if v is None else v for v in ([output_size] * n if isinstance(output_size, int) or output_size is None else output_size)]


for axes in (1, 2, 3):
    register(axes)


def fractional(iso, n, input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    if _random_samples is None:  # those that the OpInfo's own call draws
        torch.manual_seed(42)
        shape = (1,) * (n + 2 - input.ndim) + input.shape
        _random_samples = iso.tensor(torch.rand(*shape[:2], n, dtype=isobit.NAMES[input.dtype]))
    y, indices = getattr(iso, f"fractional_max_pool{n}d")(input, **each(n, "kernel", kernel_size), **each(n, "out", output_size),
                                                          **each(n, "ratio", output_ratio), samples=_random_samples)
    return (y, indices) if return_indices else y


@offer("nn.functional.fractional_max_pool2d")
def fractional_max_pool2d(iso, input, kernel_size, **options):
    return fractional(iso, 2, input, kernel_size, **options)


@offer("nn.functional.fractional_max_pool3d")
def fractional_max_pool3d(iso, input, kernel_size, **options):
    return fractional(iso, 3, input, kernel_size, **options)


# ---- interpolation ----
MODES = {"nearest": "NEAREST", "linear": "LINEAR", "bilinear": "LINEAR", "trilinear": "LINEAR", "bicubic": "CUBIC",
         "nearest-exact": "NEAREST_EXACT", "area": "AREA"}


@offer("nn.functional.interpolate")
def interpolate(iso, input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    n = input.ndim - 2
    members = {"size": size, "scale": scale_factor}
    options = {}
    for key, value in members.items():
        if value is not None:
            values = [value] * n if isinstance(value, (int, float)) else list(value)
            options.update({key + axis: v for axis, v in zip(("_d", "_h", "_w")[3 - n:], values)})
    return iso.interpolate(input, mode="ISO_INTERPOLATE_" + MODES[mode], align_corners=bool(align_corners),
                           recompute_scale_factor=bool(recompute_scale_factor), antialias=antialias, **options)


@offer("nn.functional.upsample_bilinear")
def upsample_bilinear(iso, input, size=None, scale_factor=None):
    return interpolate(iso, input, size, scale_factor, "bilinear", True)


@offer("nn.functional.upsample_nearest")
def upsample_nearest(iso, input, size=None, scale_factor=None):
    return interpolate(iso, input, size, scale_factor, "nearest")


@offer("_upsample_bilinear2d_aa")
def upsample_bilinear_aa(iso, input, output_size, align_corners, scales_h=None, scales_w=None, scale_factors=None):
    return interpolate(iso, input, output_size, [scales_h, scales_w] if scales_h else scale_factors, "bilinear", align_corners, antialias=True)


@offer("grid_sampler_2d")
def grid_sampler_2d(iso, input, grid, interpolation_mode, padding_mode, align_corners):
    return iso.grid_sample(input, grid, mode=interpolation_mode, padding=padding_mode, align_corners=align_corners)


@offer("grid_sampler_3d")
def grid_sampler_3d(iso, input, grid, interpolation_mode, padding_mode, align_corners):
    return grid_sampler_2d(iso, input, grid, interpolation_mode, padding_mode, align_corners)


@offer("nn.functional.grid_sample")
def grid_sample(iso, input, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    modes, paddings = ["bilinear", "nearest", "bicubic"], ["zeros", "border", "reflection"]
    return grid_sampler_2d(iso, input, grid, modes.index(mode), paddings.index(padding_mode), bool(align_corners))
