"""Shape and storage."""
from opinfo import Differs, offer
from opinfo.common import axes

ALL = "f32 f64 i64 bool"


def listed(sizes):
    """PyTorch takes f(2, 3) and f((2, 3))."""
    return list(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else list(sizes)


# ---- axes ----
@offer("permute", "permute_copy", dtypes=ALL)
def permute(iso, input, dims):
    return iso.permute(input, dims)


@offer("transpose", "transpose_copy", dtypes=ALL)
def transpose(iso, input, dim0, dim1):
    return iso.transpose(input, dim0, dim1) if input.ndim else iso.tensor_alias(input)


@offer("t", "t_copy", "T", "H", dtypes=ALL)
def t(iso, input):
    return iso.transpose(input, 0, 1) if input.ndim == 2 else iso.tensor_alias(input)


@offer("mT", "mH", dtypes=ALL)
def mt(iso, input):
    return iso.transpose(input, -1, -2)


@offer("movedim", dtypes=ALL)
def movedim(iso, input, source, destination):
    return iso.movedim(input, *([d] if isinstance(d, int) else d for d in (source, destination)))


@offer("flip", dtypes=ALL)
def flip(iso, input, dims):
    return iso.flip(input, dims) if dims else iso.tensor_alias(input)


@offer("fliplr", dtypes=ALL)
def fliplr(iso, input):
    return iso.flip(input, [1])


@offer("flipud", dtypes=ALL)
def flipud(iso, input):
    return iso.flip(input, [0])


@offer("rot90", dtypes=ALL)
def rot90(iso, input, k=1, dims=(0, 1)):
    return iso.rot90(input, k, *dims)


@offer("roll", dtypes=ALL)
def roll(iso, input, shifts, dims=None):
    shifts = [shifts] if isinstance(shifts, int) else list(shifts)
    if dims is None or dims == ():
        flat = iso.roll(iso.reshape(input, [-1]), shifts, [0])
        return iso.reshape(flat, input.shape)
    return iso.roll(input, shifts, [dims] if isinstance(dims, int) else dims)


# ---- the same elements in another shape ----
@offer("reshape", "view", "view_copy", dtypes=ALL)
def reshape(iso, input, *shape):
    return iso.reshape(input, listed(shape))


@offer("reshape_as", "view_as", dtypes=ALL)
def reshape_as(iso, input, other):
    return iso.reshape(input, other.shape)


@offer("ravel", dtypes=ALL)
def ravel(iso, input):
    return iso.reshape(input, [-1])


@offer("flatten", dtypes=ALL)
def flatten(iso, input, start_dim=0, end_dim=-1):
    return iso.flatten(input, start_dim, end_dim)


@offer("unflatten", dtypes=ALL)
def unflatten(iso, input, dim, sizes):
    return iso.unflatten(input, dim, sizes)


@offer("squeeze", "squeeze_copy", dtypes=ALL)
def squeeze(iso, input, dim=None):
    wanted = range(input.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    for axis in sorted({d % input.ndim for d in wanted if input.ndim}, reverse=True):
        if input.shape[axis] == 1:
            input = iso.squeeze(input, axis)
    return iso.tensor_alias(input)


@offer("unsqueeze", "unsqueeze_copy", dtypes=ALL)
def unsqueeze(iso, input, dim):
    return iso.unsqueeze(input, dim)


@offer("atleast_1d", dtypes=ALL)
def atleast_1d(iso, *tensors):
    return atleast(iso, 1, tensors)


@offer("atleast_2d", dtypes=ALL)
def atleast_2d(iso, *tensors):
    return atleast(iso, 2, tensors)


@offer("atleast_3d", dtypes=ALL)
def atleast_3d(iso, *tensors):
    return atleast(iso, 3, tensors)


def atleast(iso, n, tensors):
    many = len(tensors) > 1 or isinstance(tensors[0], (list, tuple))
    found = [dimensions(iso, t, n) for t in (tensors if len(tensors) > 1 or not many else tensors[0])]
    return tuple(found) if many else found[0]


def dimensions(iso, t, n):
    return iso.atleast(iso.atleast(t, 2), 3) if n == 3 and t.ndim < 2 else iso.atleast(t, n)


@offer("contiguous", dtypes=ALL)
def contiguous(iso, input):
    return iso.contiguous(input)


@offer("clone", dtypes=ALL)
def clone(iso, input, memory_format=None):
    return iso.clone(input)


@offer("alias_copy", "resolve_conj", "resolve_neg", "conj", "conj_physical", "real", dtypes=ALL)
def alias(iso, input):
    return iso.tensor_alias(input)


# ---- repetition ----
@offer("expand", "expand_copy", "broadcast_to", dtypes=ALL)
def expand(iso, input, *shape):
    shape = listed(shape)
    lead = len(shape) - input.ndim
    return iso.expand(input, [input.shape[i - lead] if n == -1 else n for i, n in enumerate(shape)])


@offer("expand_as", dtypes=ALL)
def expand_as(iso, input, other):
    return iso.expand(input, other.shape)


@offer("broadcast_tensors", dtypes=ALL)
def broadcast_tensors(iso, *tensors):
    n = max(t.ndim for t in tensors)
    extents = [[t.shape[d - n + t.ndim] for t in tensors if d >= n - t.ndim] for d in range(n)]
    shape = [0 if 0 in e else max(e) for e in extents]
    return tuple(iso.expand(t, shape) for t in tensors)


@offer("repeat", dtypes=ALL)
def repeat(iso, input, *counts):
    return iso.repeat(input, listed(counts))


@offer("tile", dtypes=ALL)
def tile(iso, input, *counts):
    counts = listed(counts)
    return iso.repeat(input, [1] * (input.ndim - len(counts)) + counts)


@offer("meshgrid", dtypes=ALL)
def meshgrid(iso, *tensors, indexing="ij"):
    tensors = tensors[0] if isinstance(tensors[0], (list, tuple)) else tensors
    n = len(tensors)
    swaps = indexing == "xy" and n > 1
    ordered = [tensors[1], tensors[0], *tensors[2:]] if swaps else list(tensors)
    grids = iso.meshgrid(ordered, grids=n)
    grids = list(grids) if isinstance(grids, (list, tuple)) else [grids]
    if swaps:
        grids[0], grids[1] = grids[1], grids[0]
        grids = [iso.transpose(iso.transpose(g, 0, 1), 0, 1) for g in grids]
    return tuple(grids)


@offer("cartesian_prod", dtypes=ALL)
def cartesian_prod(iso, *tensors):
    if len(tensors) == 1:
        return iso.tensor_alias(tensors[0])
    grids = iso.meshgrid(list(tensors), grids=len(tensors))
    return iso.stack([iso.reshape(g, [-1]) for g in grids], 1)


# ---- parts ----
@offer("select", dtypes=ALL)
def select(iso, input, dim, index):
    return iso.select(input, dim, index)


@offer("slice", dtypes=ALL)
def slice_(iso, input, dim=0, start=None, end=None, step=1):
    return iso.slice(input, dim, start or 0, 2**62 if end is None else end, step)


@offer("narrow", "narrow_copy", dtypes=ALL)
def narrow(iso, input, dim, start, length):
    start = int(start if isinstance(start, int) else start.item())
    start += input.shape[dim] if start < 0 else 0
    return iso.slice(input, dim, start, start + length, 1)


@offer("split", "unsafe_split", "split_with_sizes", "split_with_sizes_copy", dtypes=ALL)
def split(iso, input, split_size_or_sections, dim=0):
    sizes = split_size_or_sections
    if isinstance(sizes, int):
        extent = input.shape[dim]
        sizes = [min(sizes, extent - i) for i in range(0, extent, sizes)] if extent else [0]
    return as_tuple(iso.split_sizes(input, dim, sizes, parts=len(sizes)))


def as_tuple(parts):
    return tuple(parts) if isinstance(parts, (list, tuple)) else (parts,)


@offer("chunk", "unsafe_chunk", dtypes=ALL)
def chunk(iso, input, chunks, dim=0):
    parts, n = iso.chunk(input, dim, chunks, parts=chunks)
    return tuple(as_tuple(parts)[:n])


@offer("tensor_split", dtypes=ALL)
def tensor_split(iso, input, indices_or_sections, dim=0):
    where = indices_or_sections
    if not isinstance(where, (int, list, tuple)):
        where = where.torch().tolist()
    if isinstance(where, int):
        return as_tuple(iso.split_evenly(input, dim, where, parts=where))
    bounds = [0, *where, 2**62]
    return tuple(iso.slice(input, dim, a, b, 1) for a, b in zip(bounds, bounds[1:]))


def split_along(axis_of):
    def function(iso, input, indices_or_sections):
        return tensor_split(iso, input, indices_or_sections, axis_of(input))
    return function


offer("hsplit", dtypes=ALL)(split_along(lambda t: 0 if t.ndim == 1 else 1))
offer("vsplit", dtypes=ALL)(split_along(lambda t: 0))
offer("dsplit", dtypes=ALL)(split_along(lambda t: 2))


@offer("unbind", "unbind_copy", dtypes=ALL)
def unbind(iso, input, dim=0):
    n = input.shape[dim]
    return as_tuple(iso.unbind(input, dim, n, parts=n)) if n else ()


@offer("unfold", "unfold_copy")
def unfold(iso, input, dimension, size, step):
    if input.ndim == 0:
        return iso.select(iso.unfold(iso.reshape(input, [1]), 0, size, step), 0, 0)
    return iso.unfold(input, dimension, size, step)


@offer("slice_scatter", dtypes=ALL)
def slice_scatter(iso, input, src, dim=0, start=None, end=None, step=1):
    return iso.slice_scatter(input, src, dim, start or 0, 2**62 if end is None else end, step)


@offer("select_scatter", dtypes=ALL)
def select_scatter(iso, input, src, dim, index):
    return iso.select_scatter(input, src, dim, index)


@offer("diagonal_scatter", dtypes=ALL)
def diagonal_scatter(iso, input, src, offset=0, dim1=0, dim2=1):
    return iso.diagonal_scatter(input, src, offset, dim1, dim2)


# ---- joining ----
@offer("cat", dtypes=ALL)
def cat(iso, tensors, dim=0):
    if len({t.ndim for t in tensors}) > 1:
        raise Differs("Parts must have the same number of axes")
    return iso.cat(tensors, dim)


@offer("stack", dtypes=ALL)
def stack(iso, tensors, dim=0):
    return iso.stack(tensors, dim)


def joined(name):
    return lambda iso, *tensors: getattr(iso, name)(list(tensors[0]) if isinstance(tensors[0], (list, tuple)) else list(tensors))


for name in ("hstack", "vstack", "dstack", "column_stack", "block_diag"):
    offer(name, dtypes=ALL)(joined(name))


# ---- diagonals and triangles ----
@offer("diagonal", "diagonal_copy", dtypes=ALL)
def diagonal(iso, input, offset=0, dim1=0, dim2=1):
    return iso.diagonal(input, offset, dim1, dim2)


@offer("linalg.diagonal", dtypes=ALL)
def linalg_diagonal(iso, A, offset=0, dim1=-2, dim2=-1):
    return iso.diagonal(A, offset, dim1, dim2)


@offer("diag", dtypes=ALL)
def diag(iso, input, diagonal=0):
    return iso.diag(input, diagonal)


@offer("diagflat", dtypes=ALL)
def diagflat(iso, input, offset=0):
    return iso.diag(iso.reshape(input, [-1]), offset)


@offer("diag_embed", dtypes=ALL)
def diag_embed(iso, input, offset=0, dim1=-2, dim2=-1):
    return iso.diag_embed(input, offset, dim1, dim2)


@offer("tril", dtypes=ALL)
def tril(iso, input, diagonal=0):
    return iso.tril(input, diagonal)


@offer("triu", dtypes=ALL)
def triu(iso, input, diagonal=0):
    return iso.triu(input, diagonal)


# ---- padding, images ----
MODES = {"constant": "ISO_PAD_CONSTANT", "reflect": "ISO_PAD_REFLECT", "replicate": "ISO_PAD_REPLICATE", "circular": "ISO_PAD_CIRCULAR"}


def padded(iso, input, pads, mode, value=None):
    return iso.pad(input, list(pads), MODES[mode], value or 0)


@offer("nn.functional.pad")
def nn_pad(iso, input, pad, mode="constant", value=None):
    return padded(iso, input, pad, mode, value)


@offer("constant_pad_nd", dtypes=ALL)
def constant_pad_nd(iso, input, pad, value=0):
    return padded(iso, input, pad, "constant", value)


@offer("nn.functional.pixel_shuffle", dtypes=ALL)
def pixel_shuffle(iso, input, upscale_factor):
    return iso.pixel_shuffle(input, upscale_factor)


@offer("nn.functional.pixel_unshuffle", dtypes=ALL)
def pixel_unshuffle(iso, input, downscale_factor):
    return iso.pixel_unshuffle(input, downscale_factor)


@offer("nn.functional.channel_shuffle", dtypes=ALL)
def channel_shuffle(iso, input, groups):
    return iso.channel_shuffle(input, groups)


@offer("nn.functional.unfold")
def im2col(iso, input, kernel_size, dilation=1, padding=0, stride=1):
    options = {}
    for name, value in (("kernel", kernel_size), ("dilation", dilation), ("pad", padding), ("stride", stride)):
        options[name + "_h"], options[name + "_w"] = (value, value) if isinstance(value, int) else value if len(value) == 2 else (value[0], value[0])
    return iso.im2col(input, options)


@offer("einsum")
def einsum(iso, operands, equation):
    return iso.einsum(equation, operands)


@offer("repeat_interleave", dtypes=ALL)
def repeat_interleave(iso, input, repeats, dim=None, output_size=None):
    if dim is None:
        input, dim = iso.reshape(input, [-1]), 0
    if isinstance(repeats, int):
        return iso.repeat_interleave(input, dim, repeats)
    return iso.repeat_interleave_each(input, dim, repeats)


# ---- casts ----
@offer("to", dtypes=ALL)
def to(iso, input, *args, **_):
    other = next(a for a in args if hasattr(a, "dtype") or hasattr(a, "itemsize"))
    return iso.cast(input, getattr(other, "dtype", other))


for name, dtype in {"float": "f32", "double": "f64", "half": "f16", "bfloat16": "bf16", "int": "i32", "long": "i64", "byte": "u8", "bool": "bool"}.items():
    offer(name, dtypes=ALL)(lambda iso, input, memory_format=None, dtype=dtype: iso.cast(input, dtype))


@offer("item", dtypes=ALL)
def item(iso, input):
    return input.item()
