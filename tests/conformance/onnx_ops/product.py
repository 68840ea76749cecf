"""Products and convolutions."""
from onnx_ops import op
from opinfo.product import SIDES, members


@op("MatMul")
def matmul(iso, a, b):
    return iso.matmul(a, b)


@op("Gemm")
def gemm(iso, a, b, c=None, alpha=1.0, beta=1.0, transA=0, transB=0):
    a = iso.transpose(a, 0, 1) if transA else a
    b = iso.transpose(b, 0, 1) if transB else b
    return iso.addmm(c, a, b, beta, alpha) if c else iso.mul_scalar(iso.matmul(a, b), alpha)


def sides(n, pads, auto_pad, kernel, strides, dilations, extents):
    """ONNX's padding of each axis as members of our option structs."""
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        out = {}
        for (before, after), k, s, d, extent in zip(SIDES[n], kernel, strides, dilations, extents):
            total = max((-(-extent // s) - 1) * s + d * (k - 1) + 1 - extent, 0)
            out[before], out[after] = (total // 2, total - total // 2) if auto_pad == "SAME_UPPER" else (total - total // 2, total // 2)
        return out
    if auto_pad == "VALID" or not pads:
        return {}
    return {name: v for (before, after), b, a in zip(SIDES[n], pads[:n], pads[n:]) for name, v in ((before, b), (after, a))}


@op("Conv")
def conv(iso, x, w, bias=None, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, pads=None, strides=None):
    n = x.ndim - 2
    dilations, strides = dilations or [1] * n, strides or [1] * n
    options = dict(members(n, stride=strides, dilation=dilations), groups=group,
                   **sides(n, pads, auto_pad, w.shape[2:], strides, dilations, x.shape[2:]))
    return getattr(iso, f"conv{n}d")(x, w, bias, options)


@op("ConvTranspose")
def conv_transpose(iso, x, w, bias=None, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, output_padding=None, output_shape=None,
                   pads=None, strides=None):
    n = x.ndim - 2
    dilations, strides, output_padding = dilations or [1] * n, strides or [1] * n, output_padding or [0] * n
    if output_shape or auto_pad.startswith("SAME"):
        shape = output_shape or [i * s for i, s in zip(x.shape[2:], strides)]
        whole = [(i - 1) * s + d * (k - 1) + 1 + o for i, s, d, k, o in zip(x.shape[2:], strides, dilations, w.shape[2:], output_padding)]
        total = [max(a - b, 0) for a, b in zip(whole, shape)]
        # Where the shape asked for is beyond the taps, the rest is output padding.
        output_padding = [o + max(b - a, 0) for o, a, b in zip(output_padding, whole, shape)]
        half = [t // 2 for t in total]
        rest = [t - h for t, h in zip(total, half)]
        pads = half + rest if auto_pad == "SAME_UPPER" else rest + half
        auto_pad = "NOTSET"
    options = dict(members(n, stride=strides, dilation=dilations, output_pad=output_padding), groups=group,
                   **sides(n, pads, auto_pad, None, None, None, None))
    return getattr(iso, f"conv_transpose{n}d")(x, w, bias, options)
