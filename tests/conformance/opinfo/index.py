"""Indexing and embeddings."""
import isobit
from opinfo import Differs, offer

ALL = "f32 f64 i64 bool"
NUMBERS = "f32 f64 f16 bf16 i64"
COMBINE = {"sum": 0, "mean": 1, "prod": 2, "amax": 3, "amin": 4, "max": 3, "min": 4}


# ---- picking ----
@offer("gather", dtypes=ALL)
def gather(iso, input, dim, index, sparse_grad=False):
    if index.dtype == "u8":
        raise Differs("An empty index is like any other: i64 or i32, with as many axes as x.")
    return iso.gather(input, dim, index)


@offer("take_along_dim", dtypes=ALL)
def take_along_dim(iso, input, indices, dim=None):
    return iso.reshape(iso.take(input, indices), [-1]) if dim is None else iso.take_along_dim(input, indices, dim)


@offer("index_select", dtypes=ALL)
def index_select(iso, input, dim, index):
    return iso.index_select(input, dim, index)


@offer("take", dtypes=ALL)
def take(iso, input, index):
    return iso.take(input, index)


@offer("masked_select", dtypes=ALL)
def masked_select(iso, input, mask):
    return iso.masked_select(input, mask)


@offer("argwhere", dtypes=ALL)
def argwhere(iso, input):
    return iso.argwhere(input)


@offer("nonzero", dtypes=ALL)
def nonzero(iso, input, as_tuple=False):
    if not as_tuple:
        return iso.nonzero(input)
    y = iso.nonzero(input if input.ndim else iso.reshape(input, [1]))
    return tuple(iso.select(y, 1, d) for d in range(max(input.ndim, 1)))


# ---- writing ----
@offer("scatter", dtypes=ALL)
def scatter(iso, input, dim, index, src, reduce=None):
    if reduce is None:
        if isinstance(src, isobit.Tensor):
            return iso.scatter(input, dim, index, src)
        return iso.scatter_value(input, dim, index, src)
    if input.dtype == "bool":
        raise Differs("Bools are not reduced")
    if not isinstance(src, isobit.Tensor):
        src = iso.tensor_full(input.dtype, list(index.shape), src)
    return iso.scatter_reduce(input, dim, index, src, {"add": 0, "multiply": 2}[reduce], True)


@offer("scatter_add", dtypes=NUMBERS)
def scatter_add(iso, input, dim, index, src):
    return iso.scatter_add(input, dim, index, src)


@offer("scatter_reduce")
def scatter_reduce(iso, input, dim, index, src, reduce, include_self=True):
    return iso.scatter_reduce(input, dim, index, src, COMBINE[reduce], include_self)


@offer("index_copy", dtypes=ALL)
def index_copy(iso, input, dim, index, source):
    return iso.index_copy(input, dim, index, source)


@offer("index_add", dtypes=NUMBERS)
def index_add(iso, input, dim, index, source, alpha=1):
    return iso.index_add(input, dim, index, source, alpha)


@offer("index_reduce")
def index_reduce(iso, input, dim, index, source, reduce, include_self=True):
    return iso.index_reduce(input, dim, index, source, COMBINE[reduce], include_self)


@offer("index_fill", dtypes="f32 f64 i64")
def index_fill(iso, input, dim, index, value):
    if isinstance(value, isobit.Tensor):
        if input.ndim:
            return iso.index_put(input, [None] * (dim % input.ndim) + [index], value, False)
        return iso.put(input, iso.reshape(index, [-1]), iso.expand(value, [index.numel]), False)
    return iso.index_fill(input, dim, index, value)


@offer("index_put", dtypes="f32 f64 i64")
def index_put(iso, input, indices, values, accumulate=False):
    return iso.index_put(input, list(indices), values, accumulate)


@offer("put", dtypes="f32 f64 i64")
def put(iso, input, index, source, accumulate=False):
    return iso.put(input, index, source, accumulate)


@offer("masked_scatter", dtypes="f32 f64 i64")
def masked_scatter(iso, input, mask, source):
    return iso.masked_scatter(input, mask, source)


# ---- counting ----
@offer("nn.functional.one_hot", dtypes="i64")
def one_hot(iso, tensor, num_classes=-1):
    return iso.one_hot(tensor, max(num_classes, 0))


# ---- rows of a table ----
@offer("nn.functional.embedding")
def embedding(iso, weight, input, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    if max_norm is not None:
        raise Differs("There is no max_norm: nothing here writes in place.")
    return iso.embedding(input, weight, has_padding=padding_idx is not None, padding=padding_idx or 0,
                         scale_by_frequency=scale_grad_by_freq)


@offer("nn.functional.embedding_bag")
def embedding_bag(iso, weight, input, offsets=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean",
                  sparse=False, per_sample_weights=None, include_last_offset=False, padding_idx=None):
    if max_norm is not None or scale_grad_by_freq:
        raise Differs("There is no max_norm and no scale by frequency.")
    return iso.embedding_bag(input, weight, offsets=offsets, mode={"mean": 0, "sum": 1, "max": 2}[mode],
                             per_sample_weights=per_sample_weights, include_last_offset=include_last_offset,
                             has_padding=padding_idx is not None, padding=padding_idx or 0)


@offer("_segment_reduce")
def segment_reduce(iso, data, reduce, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    return iso.segment_reduce(data, COMBINE[reduce], lengths=lengths, offsets=offsets, axis=axis,
                              has_initial=initial is not None, initial=initial or 0)
