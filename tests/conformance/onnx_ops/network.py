"""Normalisation, losses, pooling, resampling."""
from onnx_ops import NotOffered, listed, op
from onnx_ops.product import sides
from opinfo.product import members


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
@op("GlobalAveragePool")
def global_average(iso, x):
    return iso.mean(x, list(range(2, x.ndim)), True)


@op("GlobalMaxPool")
def global_max(iso, x):
    return iso.amax(x, list(range(2, x.ndim)), True)


def pooled(iso, x, fill, kernel_shape, strides, pads, auto_pad, dilations, ceil_mode):
    """x, the number of its axes and the options of pooling. Padding that ours does not take (more on one side, or of more than half the
    kernel) is laid round x before, as `fill`."""
    n = x.ndim - 2
    strides, dilations = strides or [1] * n, dilations or [1] * n
    padding = list(sides(n, pads, auto_pad, kernel_shape, strides, dilations, x.shape[2:]).values()) or [0] * (2 * n)
    before, after = padding[0::2], padding[1::2]
    if before != after or any(2 * b > k for b, k in zip(before, kernel_shape)):
        x = iso.pad(x, [p for b, a in reversed(list(zip(before, after))) for p in (b, a)], "ISO_PAD_CONSTANT", fill)
        before = [0] * n
    return x, n, dict(members(n, kernel=kernel_shape, stride=strides, pad=before), ceil_mode=bool(ceil_mode)), dilations


@op("MaxPool")
def max_pool(iso, x, kernel_shape, strides=None, pads=None, auto_pad="NOTSET", dilations=None, ceil_mode=0, storage_order=0, n_outputs=1):
    whole = x.shape
    if x.dtype not in ("f32", "f64"):
        raise NotOffered(f"MaxPool of {x.dtype}")
    x, n, options, dilations = pooled(iso, x, -float("inf"), kernel_shape, strides, pads, auto_pad, dilations, ceil_mode)
    options.update(members(n, dilation=dilations))
    if n_outputs == 1:
        return getattr(iso, f"max_pool{n}d")(x, options)
    if storage_order or x.shape != whole:
        raise NotOffered("column-major indices of maxima")
    y, index = getattr(iso, f"max_pool{n}d_with_indices")(x, options)
    return y, iso.add(index, plane_starts(iso, x.shape, x.shape[2:]))


def plane_starts(iso, shape, plane):
    """Where each plane begins in the whole tensor, which ONNX numbers through; ours numbers a plane."""
    size = 1
    for extent in plane:
        size *= extent
    starts = iso.arange("i64", 0.0, float(shape[0] * shape[1] * size), float(size))
    return iso.reshape(starts, list(shape[:2]) + [1] * len(plane))


@op("AveragePool")
def average_pool(iso, x, kernel_shape, strides=None, pads=None, auto_pad="NOTSET", dilations=None, ceil_mode=0, count_include_pad=0):
    inside = iso.full_like(x, 1.0)
    whole = x.shape
    x, n, options, dilations = pooled(iso, x, 0.0, kernel_shape, strides, pads, auto_pad, dilations, ceil_mode)
    if any(d != 1 for d in dilations):
        raise NotOffered("average pooling with dilation")
    pool = getattr(iso, f"avg_pool{n}d")
    if count_include_pad or x.shape == whole:
        return pool(x, dict(options, count_padding=bool(count_include_pad)))
    # The mean of what is no padding: the window's sum over how many of it lie inside.
    inside = pooled(iso, inside, 0.0, kernel_shape, strides, pads, auto_pad, dilations, ceil_mode)[0]
    return iso.div(pool(x, dict(options, divisor=1)), pool(inside, dict(options, divisor=1)))


@op("LpPool")
def lp_pool(iso, x, kernel_shape, p=2, strides=None, pads=None, auto_pad="NOTSET", dilations=None, ceil_mode=0):
    x, n, options, dilations = pooled(iso, iso.abs(x), 0.0, kernel_shape, strides, pads, auto_pad, dilations, ceil_mode)
    if any(d != 1 for d in dilations):
        raise NotOffered("LpPool with dilation")
    before = [v for k, v in options.items() if k.startswith("pad")]
    if any(before):
        x = iso.pad(x, [v for b in reversed(before) for v in (b, b)], "ISO_PAD_CONSTANT", 0.0)
        options = {k: v for k, v in options.items() if not k.startswith("pad")}
    return getattr(iso, f"lp_pool{n}d")(x, float(p), options)


@op("MaxUnpool")
def max_unpool(iso, x, indices, output_shape=None, kernel_shape=None, strides=None, pads=None):
    n = x.ndim - 2
    strides, pads = strides or [1] * n, pads or [0] * (2 * n)
    own = [(i - 1) * s - pads[a] - pads[n + a] + k for a, (i, s, k) in enumerate(zip(x.shape[2:], strides, kernel_shape))]
    out = [int(v) for v in listed(output_shape)][2:] if output_shape else own
    index = iso.sub(indices, plane_starts(iso, x.shape, own))
    if out != own:
        raise NotOffered("unpooling into another plane than the pooled one")
    return getattr(iso, f"max_unpool{n}d")(x, index, *out)


# ---- losses ----
REDUCTIONS = {"mean": "ISO_REDUCTION_MEAN", "sum": "ISO_REDUCTION_SUM", "none": "ISO_REDUCTION_NONE"}


def loss_options(weights, ignore_index, reduction):
    ignores = ignore_index is not None
    return dict(weights=weights, reduction=REDUCTIONS[reduction], ignores=ignores, ignore_index=ignore_index if ignores else 0)


@op("NegativeLogLikelihoodLoss")
def nll_loss(iso, x, target, weights=None, ignore_index=None, reduction="mean"):
    return iso.nll_loss(x, iso.cast(target, "i64"), loss_options(weights, ignore_index, reduction))


@op("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy(iso, x, target, weights=None, ignore_index=None, reduction="mean", n_outputs=1):
    loss = iso.cross_entropy(x, iso.cast(target, "i64"), loss_options(weights, ignore_index, reduction))
    return (loss, iso.log_softmax(x, 1))[:n_outputs]


# ---- resampling ----
@op("Resize")
def resize(iso, x, roi=None, scales=None, sizes=None, mode="nearest", coordinate_transformation_mode="half_pixel", cubic_coeff_a=-0.75,
           antialias=0, axes=None, exclude_outside=0, extrapolation_value=0.0, keep_aspect_ratio_policy="stretch", nearest_mode="round_prefer_floor"):
    """What PyTorch's conventions have; ONNX's other coordinates, roundings and borders are not offered."""
    n = x.ndim - 2
    axes = [a % x.ndim for a in axes] if axes else list(range(x.ndim))
    by_size = sizes is not None and sizes.numel > 0
    factors = dict(zip(axes, listed(sizes) if by_size else listed(scales)))
    out = [factors[a] if by_size and a in factors else x.shape[a] * factors.get(a, 1) for a in range(x.ndim)]
    whole = all(v == int(v) for v in out)
    known = {"half_pixel": True, "pytorch_half_pixel": min(out[2:], default=1) >= 2, "align_corners": whole}
    if mode == "nearest":
        fits = coordinate_transformation_mode == "asymmetric" and nearest_mode == "floor"
    else:
        # Antialiased, PyTorch leaves out what is beyond the edge; else it repeats it.
        fits = known.get(coordinate_transformation_mode, False) and bool(antialias) == bool(exclude_outside) and (
            mode == "linear" or cubic_coeff_a == (-0.5 if antialias else -0.75))
    planar = n == 2 or (n in (1, 3) and mode != "cubic" and not antialias)
    if not fits or not planar or keep_aspect_ratio_policy != "stretch" or list(out[:2]) != list(x.shape[:2]):
        raise NotOffered(f"Resize {mode} {coordinate_transformation_mode} {nearest_mode if mode == 'nearest' else ''}")
    letters = "dhw"[3 - n:]
    options = {f"size_{letter}": int(v) for letter, v in zip(letters, out[2:])} if by_size else {
        f"scale_{letter}": float(factors.get(2 + i, 1)) for i, letter in enumerate(letters)}
    kind = {"nearest": "NEAREST", "linear": "LINEAR", "cubic": "CUBIC"}[mode]
    return iso.interpolate(x, mode=f"ISO_INTERPOLATE_{kind}", align_corners=coordinate_transformation_mode == "align_corners",
                           antialias=bool(antialias), **options)
