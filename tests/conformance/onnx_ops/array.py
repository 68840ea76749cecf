"""Shape, indexing, creation."""
import torch

from onnx_ops import NotOffered, listed, op


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


@op("Tile")
def tile(iso, x, repeats):
    return iso.repeat(x, listed(repeats))


@op("Split")
def split(iso, x, sizes=None, axis=0, num_outputs=None, n_outputs=1):
    if sizes is None:
        part = -(-x.shape[axis] // n_outputs)
        sizes = [part] * (n_outputs - 1) + [x.shape[axis] - part * (n_outputs - 1)]
    sizes = listed(sizes)
    parts = iso.split_sizes(x, axis, sizes, parts=len(sizes))
    return parts if isinstance(parts, list) else [parts]


@op("Pad")
def pad(iso, x, pads, value=None, axes=None, mode="constant"):
    pads, axes = listed(pads), listed(axes) if axes is not None else list(range(x.ndim))
    before, after = [0] * x.ndim, [0] * x.ndim
    for i, axis in enumerate(axes):
        before[axis], after[axis] = pads[i], pads[len(axes) + i]
    modes = {"constant": "ISO_PAD_CONSTANT", "reflect": "ISO_PAD_REFLECT", "edge": "ISO_PAD_REPLICATE", "wrap": "ISO_PAD_CIRCULAR"}
    # From the first axis that is padded on.
    first = next((i for i in range(x.ndim) if before[i] or after[i]), x.ndim - 1)
    ours = [n for i in range(x.ndim - 1, first - 1, -1) for n in (before[i], after[i])]
    return iso.pad(x, ours, modes[mode], value.item() if value is not None else 0.0)


@op("Trilu")
def trilu(iso, x, k=None, upper=1):
    return (iso.triu if upper else iso.tril)(x, int(k.item()) if k is not None else 0)


@op("EyeLike")
def eye_like(iso, x, k=0, dtype=None):
    from onnx_model import TENSOR_TYPES
    name = TENSOR_TYPES[dtype] if dtype else x.dtype
    rows, columns = x.shape
    ones = iso.tensor_full(name, [rows, columns], 1.0)
    return iso.tril(iso.triu(ones, k), k)


@op("Range")
def range_(iso, start, limit, delta):
    return iso.arange(start.dtype, float(start.item()), float(limit.item()), float(delta.item()))


@op("DepthToSpace")
def depth_to_space(iso, x, blocksize, mode="DCR"):
    if mode == "CRD":
        return iso.pixel_shuffle(x, blocksize)
    n, c, h, w = x.shape
    y = iso.permute(iso.reshape(x, [n, blocksize, blocksize, c // blocksize**2, h, w]), [0, 3, 4, 1, 5, 2])
    return iso.reshape(y, [n, c // blocksize**2, h * blocksize, w * blocksize])


@op("SpaceToDepth")
def space_to_depth(iso, x, blocksize):
    n, c, h, w = x.shape
    y = iso.permute(iso.reshape(x, [n, c, h // blocksize, blocksize, w // blocksize, blocksize]), [0, 3, 5, 1, 2, 4])
    return iso.reshape(y, [n, c * blocksize**2, h // blocksize, w // blocksize])


@op("Col2Im")
def col2im(iso, x, image_shape, block_shape, dilations=None, pads=None, strides=None):
    image, block = listed(image_shape), listed(block_shape)
    if len(image) != 2 or (pads and pads[:2] != pads[2:]):
        raise NotOffered("Col2Im of other than images with equal padding")
    d, p, s = dilations or [1, 1], pads or [0, 0, 0, 0], strides or [1, 1]
    return iso.col2im(x, image[0], image[1], kernel_h=block[0], kernel_w=block[1], stride_h=s[0], stride_w=s[1], pad_h=p[0], pad_w=p[1],
                      dilation_h=d[0], dilation_w=d[1])


@op("Einsum")
def einsum(iso, *operands, equation):
    return iso.einsum(equation, list(operands))


@op("CenterCropPad")
def center_crop_pad(iso, x, shape, axes=None):
    axes = axes or list(range(x.ndim))
    for axis, want in zip(axes, listed(shape)):
        axis %= x.ndim
        have = x.shape[axis]
        if want <= have:
            x = iso.slice(x, axis, (have - want) // 2, (have - want) // 2 + want, 1)
        else:
            pads = [0, 0] * (x.ndim - 1 - axis) + [(want - have) // 2, want - have - (want - have) // 2]
            x = iso.pad(x, pads, "ISO_PAD_CONSTANT", 0.0)
    return x


# ---- indexing ----
def wrapped(iso, index, extent):
    """ONNX counts negative indices from the end."""
    index = iso.cast(index, "i64")
    return iso.where(iso.lt(index, iso.scalar(0, index)), iso.add_scalar(index, float(extent)), index)


@op("Gather")
def gather(iso, x, index, axis=0):
    index = wrapped(iso, index, x.shape[axis])
    axis %= x.ndim
    y = iso.index_select(x, axis, iso.reshape(index, [-1]))
    return iso.reshape(y, list(x.shape[:axis]) + list(index.shape) + list(x.shape[axis + 1:]))


@op("GatherElements")
def gather_elements(iso, x, index, axis=0):
    return iso.gather(x, axis, wrapped(iso, index, x.shape[axis]))


@op("ScatterElements", "Scatter")
def scatter_elements(iso, x, index, updates, axis=0, reduction="none"):
    index = wrapped(iso, index, x.shape[axis])
    if reduction == "none":
        return iso.scatter(x, axis, index, updates)
    if reduction == "add":
        return iso.scatter_add(x, axis, index, updates)
    kinds = {"mul": "ISO_COMBINE_PROD", "max": "ISO_COMBINE_AMAX", "min": "ISO_COMBINE_AMIN"}
    return iso.scatter_reduce(x, axis, index, updates, kinds[reduction], True)


@op("Compress")
def compress(iso, x, condition, axis=None):
    kept = [i for i, c in enumerate(listed(condition)) if c]
    index = iso.tensor(torch.tensor(kept, dtype=torch.int64))
    return iso.index_select(iso.reshape(x, [-1]) if axis is None else x, axis or 0, index)


@op("NonZero")
def non_zero(iso, x):
    return iso.transpose(iso.nonzero(x), 0, 1)


@op("OneHot")
def one_hot(iso, index, depth, values, axis=-1):
    depth = int(depth.torch().reshape(-1)[0])
    hot = iso.one_hot(wrapped(iso, index, depth), depth)
    off, on = listed(values)
    y = iso.where(iso.ne(hot, iso.scalar(0, hot)), iso.scalar(on, values), iso.scalar(off, values))
    return iso.movedim(y, [-1], [axis]) if axis not in (-1, y.ndim - 1) else y
