"""Matrix products and convolutions."""
from opinfo import offer


@offer("matmul")
def matmul(iso, input, other):
    return iso.matmul(input, other)


@offer("__rmatmul__")
def rmatmul(iso, input, other):
    return iso.matmul(other, input)


@offer("mm", "bmm")
def mm(iso, input, mat2):
    return iso.matmul(input, mat2)


@offer("mv")
def mv(iso, input, vec):
    return iso.matmul(input, vec)


@offer("nn.functional.linear")
def linear(iso, input, weight, bias=None):
    return iso.linear(input, weight, bias, False)


def affine(name):
    return lambda iso, input, a, b, beta=1, alpha=1: getattr(iso, name)(input, a, b, beta, alpha)


for product in ("addmm", "addmv", "addr", "baddbmm", "addbmm"):
    offer(product)(affine(product))


@offer("dot", "vdot")
def dot(iso, input, other):
    return iso.dot(input, other)


@offer("linalg.vecdot")
def vecdot(iso, x, y, dim=-1):
    return iso.vecdot(x, y, dim)


@offer("outer")
def outer(iso, input, vec2):
    return iso.outer(input, vec2)


@offer("inner")
def inner(iso, input, other):
    return iso.inner(input, other)


@offer("kron")
def kron(iso, input, other):
    return iso.kron(input, other)


@offer("tensordot", differs=[("A pair of axes needs equal extents", lambda a, b, dims: not isinstance(dims, int) and any(
    a.shape[i] != b.shape[j] for i, j in zip(*dims)))])
def tensordot(iso, a, b, dims=2):
    if isinstance(dims, int):
        dims = (list(range(a.ndim - dims, a.ndim)), list(range(dims)))
    return iso.tensordot(a, b, dims[0], dims[1])


@offer("linalg.multi_dot")
def multi_dot(iso, tensors):
    return iso.multi_dot(tensors)


@offer("nn.functional.bilinear")
def bilinear(iso, input1, input2, weight, bias=None):
    return iso.bilinear(input1, input2, weight, bias)


@offer("nn.functional.scaled_dot_product_attention", differs=[("Dropout's mask is a function of seed, step and site",
                                                              lambda *a, dropout_p=0.0, **k: dropout_p > 0)])
def attention(iso, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if enable_gqa:
        key, value = (iso.repeat_interleave(t, t.ndim - 3, query.shape[-3] // t.shape[-3]) for t in (key, value))
    return iso.scaled_dot_product_attention(query, key, value, mask=attn_mask, causal=is_causal, scale=scale or 0.0, dropout=dropout_p)


# ---- convolutions ----
AXES = {1: [""], 2: ["_h", "_w"], 3: ["_d", "_h", "_w"]}
SIDES = {1: [("pad_left", "pad_right")], 2: [("pad_top", "pad_bottom"), ("pad_left", "pad_right")],
         3: [("pad_front", "pad_back"), ("pad_top", "pad_bottom"), ("pad_left", "pad_right")]}


def each(value, n):
    value = [value] if isinstance(value, int) else list(value)
    return value * n if len(value) == 1 else value


def members(n, **options):
    """Members of the option struct: stride=[2, 1] is stride_h=2, stride_w=1."""
    return {name + axis: v for name, value in options.items() for axis, v in zip(AXES[n], each(value, n))}


def padding_members(n, padding, kernel, dilation):
    """"same" pads the odd one at the end."""
    if padding == "valid":
        return {}
    if padding != "same":
        return members(n, pad=padding)
    out = {}
    for (before, after), k, d in zip(SIDES[n], kernel, each(dilation, n)):
        total = d * (k - 1)
        out[before], out[after] = total // 2, total - total // 2
    return out


def batched(iso, input, n, run):
    """Runs with a leading N, that samples may lack."""
    if len(input.shape) == n + 2:
        return run(input)
    return iso.squeeze(run(iso.unsqueeze(input, 0)), 0)


def convolution(n):
    def conv(iso, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        options = dict(members(n, stride=stride, dilation=dilation), groups=groups, **padding_members(n, padding, weight.shape[2:], dilation))
        return batched(iso, input, n, lambda x: getattr(iso, f"conv{n}d")(x, weight, bias, options))
    return conv


def transposed(n):
    def conv_transpose(iso, input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        options = dict(members(n, stride=stride, pad=padding, output_pad=output_padding, dilation=dilation), groups=groups)
        return batched(iso, input, n, lambda x: getattr(iso, f"conv_transpose{n}d")(x, weight, bias, options))
    return conv_transpose


for dims in (1, 2, 3):
    offer(f"nn.functional.conv{dims}d")(convolution(dims))
    offer(f"nn.functional.conv_transpose{dims}d")(transposed(dims))
