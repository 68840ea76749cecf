"""Reductions."""
from onnx_ops import NotOffered, listed, op
from opinfo import Differs


def reduced(call):
    def reduce(iso, x, axes=None, keepdims=1, noop_with_empty_axes=0):
        axes = listed(axes)
        if not axes and noop_with_empty_axes:
            return call(iso, x, None, True)
        return call(iso, x, axes or [], bool(keepdims))
    return reduce


def plain(name):
    return lambda iso, x, axes, keep: iso.clone(x) if axes is None else getattr(iso, name)(x, axes, keep)


def extremum(name):
    def choose(iso, x, axes, keep):
        if any(x.shape[a] == 0 for a in (axes if axes else range(x.ndim))):
            raise Differs("Nothing is chosen from an empty axis")
        return plain(name)(iso, x, axes, keep)
    return choose


for onnx_name, ours in {"ReduceSum": "sum", "ReduceMean": "mean", "ReduceProd": "prod"}.items():
    op(onnx_name)(reduced(plain(ours)))
for onnx_name, ours in {"ReduceMax": "amax", "ReduceMin": "amin"}.items():
    op(onnx_name)(reduced(extremum(ours)))


@op("ReduceSumSquare")
@reduced
def reduce_sum_square(iso, x, axes, keep):
    return plain("sum")(iso, iso.square(x), axes, keep)


@op("ReduceL1")
@reduced
def reduce_l1(iso, x, axes, keep):
    return plain("sum")(iso, iso.abs(x), axes, keep)


@op("ReduceL2")
@reduced
def reduce_l2(iso, x, axes, keep):
    return iso.sqrt(plain("sum")(iso, iso.square(x), axes, keep))


@op("ReduceLogSum")
@reduced
def reduce_log_sum(iso, x, axes, keep):
    return iso.log(plain("sum")(iso, x, axes, keep))


@op("ReduceLogSumExp")
@reduced
def reduce_log_sum_exp(iso, x, axes, keep):
    return iso.log(iso.exp(x)) if axes is None else iso.logsumexp(x, axes, keep)


def arg(name):
    def run_arg(iso, x, axis=0, keepdims=1, select_last_index=0):
        if select_last_index:
            raise NotOffered("the last of equal extrema")
        return getattr(iso, name)(x, axis, bool(keepdims))
    return run_arg


op("ArgMax")(arg("argmax"))
op("ArgMin")(arg("argmin"))


# ---- scans, order ----
def scanned(name):
    def scan(iso, x, axis, exclusive=0, reverse=0):
        axis = int(axis.item())
        call = getattr(iso, name)
        x = iso.flip(x, [axis]) if reverse else x
        if exclusive:
            first = iso.full_like(iso.slice(x, axis, 0, 1, 1), 0.0 if name == "cumsum" else 1.0)
            x = iso.cat([first, iso.slice(x, axis, 0, x.shape[axis] - 1, 1)], axis)
        y = iso.cast(call(x, axis), x.dtype)  # sums of integers are i64, as PyTorch's are
        return iso.flip(y, [axis]) if reverse else y
    return scan


op("CumSum")(scanned("cumsum"))
op("CumProd")(scanned("cumprod"))


@op("TopK")
def topk(iso, x, k, axis=-1, largest=1, sorted=1):
    return iso.topk(x, int(k.item()), axis, bool(largest))


@op("Hardmax")
def hardmax(iso, x, axis=-1, opset=13):
    if opset < 13:
        raise NotOffered("hardmax of opset 12, of flattened rows")
    return iso.cast(iso.movedim(iso.one_hot(iso.argmax(x, axis, False), x.shape[axis]), [-1], [axis]), x.dtype)


@op("Unique")
def unique(iso, x, axis=None, sorted=1, n_outputs=1):
    if not sorted:
        raise NotOffered("unique elements in their order of occurrence")
    values, inverse, counts = iso.unique(x) if axis is None else iso.unique_along(x, axis)
    flat = iso.reshape(inverse, [-1])
    # Where each value first occurs: of equal keys a stable sort leaves the first place first.
    order = iso.argsort(flat, 0, False)
    starts = iso.sub(iso.cumsum(counts, 0), counts)
    first = iso.index_select(order, 0, starts)
    return (values, first, flat, counts)[:n_outputs]


@op("LpNormalization")
def lp_normalization(iso, x, axis=-1, p=2):
    return iso.normalize(x, float(p), axis, 1e-12)


@op("MeanVarianceNormalization")
def mean_variance(iso, x, axes=(0, 2, 3)):
    centred = iso.sub(x, iso.mean(x, list(axes), True))
    return iso.div(centred, iso.add_scalar(iso.std(x, list(axes), True, 0.0), 1e-9))


@op("GlobalLpPool")
def global_lp(iso, x, p=2):
    return iso.vector_norm(x, float(p), list(range(2, x.ndim)), True)


@op("Det")
def det(iso, x):
    return iso.det(x)
