"""What suite `operators` measures: every cell of the bars for operators that move memory, as data, and how each side computes it.

An operator here is its inputs and one expression a side, PyTorch's and ours (tests/conformance/isobit.py: `iso.exp(x)` is
`iso_exp(ctx, x)`). A cell is an operator in a direction on a number of cores:

    fwd   the function alone, nothing recorded
    bwd   its gradient alone, from one recorded evaluation
    step  both

`passes` is the footprint: how often an array of the first input's size is read or written, which `copy` moves as well.
Shapes were fixed before the first measurement. No torch is imported before a side is asked for: the harness reads this too.
"""

from dataclasses import dataclass, field


@dataclass
class Input:
    kind: str  # normal, positive, unit (0 … 1), index, mask
    shape: tuple
    below: int = 0        # of an index
    grad: bool = True     # floating point only
    image: bool = False   # in the memory format that suits the side


@dataclass
class Operator:
    inputs: tuple
    torch: object
    ours: object
    passes: dict = field(default_factory=dict)  # direction -> reads and writes of the first input's size
    floor: dict = field(default_factory=dict)   # direction -> its arithmetic, see floor.py
    image: bool = False


@dataclass
class Cell:
    name: str
    operator: str
    direction: str
    threads: int
    bars: dict            # side -> least ratio of speeds, ours over that side's
    scatters: bool = False  # the bar on PyTorch is 2 where its time is the same on one core


def normal(*shape, grad=True):
    return Input("normal", shape, grad=grad)


def positive(*shape):
    return Input("positive", shape)


def unit(*shape, grad=True):
    return Input("unit", shape, grad=grad)


def index(below, *shape):
    return Input("index", shape, below=below, grad=False)


def mask(*shape):
    return Input("mask", shape, grad=False)


def image(*shape):
    return Input("normal", shape, image=True)


ROWS, WIDTH = 4096, 768
X, ROW = normal(ROWS, WIDTH), normal(WIDTH)
M1, M4 = 1 << 20, 1 << 22


def functional(name, *more, **named):
    """PyTorch's function of torch.nn.functional."""
    def call(torch, *t):
        return getattr(torch.nn.functional, name)(*t, *more, **named)
    return call


def same(name, *more, ours=None, ours_more=None, **named):
    """torch.name(x, *more) and iso.name(x, *more)."""
    def theirs(torch, *t):
        return getattr(torch, name)(*t, *more, **named)

    def own(iso, *t):
        return getattr(iso, ours or name)(*t, *(more if ours_more is None else ours_more))
    return theirs, own


UNARY = {"fwd": 2, "bwd": 3}
BINARY = {"fwd": 3}


def unary(name, x=X, ours=None, theirs=None):
    a, b = same(name, ours=ours)
    return Operator((x,), theirs or a, b, UNARY)


def binary(name, a=X, b=X):
    return Operator((a, b), *same(name), BINARY)


def chain_torch(torch, x, y, z):
    return torch.tanh(torch.relu(x * y + z)) * x


def chain_ours(iso, x, y, z):
    return iso.chain("mul(tanh(relu(add(mul(a, b), c))), a)", [x, y, z], [])


def batch_norm_torch(torch, x, gamma, beta, mean, variance):
    return torch.nn.functional.batch_norm(x, mean, variance, gamma, beta, True)


def batch_norm_ours(iso, x, gamma, beta, mean, variance):
    return iso.batch_norm(x, gamma, beta, mean, variance, training=True)


def interpolated(mode, **named):
    def theirs(torch, x):
        return torch.nn.functional.interpolate(x, scale_factor=2.0, mode=mode, **named)

    def own(iso, x):
        name = {"nearest": "NEAREST", "bilinear": "LINEAR", "bicubic": "CUBIC"}[mode]
        return iso.interpolate(x, mode=f"ISO_INTERPOLATE_{name}", scale_h=2.0, scale_w=2.0)
    return theirs, own


def ctc_torch(torch, log_p, targets, input_lengths, target_lengths):
    return torch.nn.functional.ctc_loss(log_p, targets, input_lengths, target_lengths)


def lengths(value, n):
    return Input("value", (n,), below=value, grad=False)


IMAGE, SMALL_IMAGE = image(32, 64, 56, 56), image(8, 64, 32, 32)
POOL = dict(kernel_h=3, kernel_w=3, stride_h=2, stride_w=2, pad_h=1, pad_w=1)

OPERATORS = {
    # ---- the rows of the bars ----
    "layer_norm": Operator((X, ROW, ROW), lambda torch, x, g, b: torch.nn.functional.layer_norm(x, (WIDTH,), g, b),
                           lambda iso, x, g, b: iso.layer_norm(x, 1, g, b, 0.0), UNARY),
    "rms_norm": Operator((X, ROW), lambda torch, x, g: torch.nn.functional.rms_norm(x, (WIDTH,), g, 1e-5),
                         lambda iso, x, g: iso.rms_norm(x, 1, g, 0.0), UNARY),
    "softmax": Operator((X,), *same("softmax", -1), UNARY, {"fwd": "vf_add(vf_mul(v_exp_below_0(vf_sub(vf_max(x, dy), dy)), dy), dy)"}),
    "gelu": Operator((X,), functional("gelu"), lambda iso, x: iso.gelu(x), UNARY, {"fwd": "v_gelu(x)", "bwd": "vf_mul(dy, v_gelu_grad(x))"}),
    "gelu_tanh": Operator((X,), functional("gelu", approximate="tanh"), lambda iso, x: iso.gelu_tanh(x), UNARY, {"fwd": "v_gelu_tanh(x)", "bwd": "vf_mul(dy, v_gelu_tanh_grad(x))"}),
    "silu": Operator((X,), functional("silu"), lambda iso, x: iso.silu(x), UNARY, {"fwd": "v_silu(x)", "bwd": "vf_mul(dy, v_silu_grad(x))"}),
    "exp": Operator((X,), *same("exp"), UNARY, {"fwd": "v_exp(x)"}),
    "dropout": Operator((X,), functional("dropout", 0.1, True), lambda iso, x: iso.dropout(x, 0.1, True), {"fwd": 2, "bwd": 2}, {"fwd": "dropout"}),
    "residual add": Operator((X, X), *same("add"), {"fwd": 3, "step": 3}),
    "batch_norm": Operator((IMAGE, normal(64), normal(64), normal(64, grad=False), unit(64, grad=False)), batch_norm_torch, batch_norm_ours,
                           {"step": 8}, image=True),
    "embedding": Operator((normal(30522, WIDTH), index(30522, 32, 512)), lambda torch, w, i: torch.nn.functional.embedding(i, w),
                          lambda iso, w, i: iso.embedding(i, w)),
    "scatter_add": Operator((normal(M1), index(M1, M4), normal(M4)), lambda torch, x, i, s: torch.scatter_add(x, 0, i, s),
                            lambda iso, x, i, s: iso.scatter_add(x, 0, i, s)),
    "index_add": Operator((normal(4096, WIDTH), index(4096, 16384), normal(16384, WIDTH)), lambda torch, x, i, s: torch.index_add(x, 0, i, s),
                          lambda iso, x, i, s: iso.index_add(x, 0, i, s, 1.0)),
    "weighted bincount": Operator((index(1000, M4), unit(M4, grad=False)), lambda torch, x, w: torch.bincount(x, w, 1000),
                                  lambda iso, x, w: iso.bincount_weighted(x, w, 1000)),
    "adaptive_avg_pool2d": Operator((IMAGE,), functional("adaptive_avg_pool2d", (7, 7)), lambda iso, x: iso.adaptive_avg_pool2d(x, 7, 7), image=True),
    "bilinear": Operator((SMALL_IMAGE,), *interpolated("bilinear", align_corners=False), image=True),
    "bicubic": Operator((SMALL_IMAGE,), *interpolated("bicubic", align_corners=False), image=True),
    "grid_sample": Operator((SMALL_IMAGE, unit(8, 64, 64, 2)), functional("grid_sample", align_corners=False),
                            lambda iso, x, g: iso.grid_sample(x, g), image=True),
    "ctc": Operator((normal(200, 32, 64), index(63, 32, 40), lengths(200, 32), lengths(40, 32)),
                    lambda torch, x, t, n, m: torch.nn.functional.ctc_loss(torch.log_softmax(x, 2), t + 1, n, m),
                    lambda iso, x, t, n, m: iso.ctc_loss(iso.log_softmax(x, 2), iso.add_scalar(t, 1.0), n, m)),
    "sort": Operator((normal(M1, grad=False),), lambda torch, x: torch.sort(x, stable=True), lambda iso, x: iso.sort(x, -1, False)),
    "topk": Operator((normal(M1, grad=False),), lambda torch, x: torch.topk(x, 100), lambda iso, x: iso.topk(x, 100, -1, True)),
    "cumsum": Operator((normal(M1, grad=False),), *same("cumsum", 0)),
    "unique": Operator((index(100000, M1),), lambda torch, x: torch.unique(x), lambda iso, x: iso.unique(x, inverse=0, counts=0)),
    "chain of five": Operator((X, X, X), chain_torch, chain_ours, {"fwd": 4}),
    # ---- a broad table ----
    "add row": Operator((X, ROW), *same("add"), {"fwd": 2}),
    "mul": binary("mul"), "div": binary("div"), "maximum": binary("maximum"),
    "where": Operator((mask(ROWS, WIDTH), X, X), *same("where")),
    "clamp": Operator((X,), lambda torch, x: torch.clamp(x, -1.0, 1.0), lambda iso, x: iso.clamp(x, -1.0, 1.0), UNARY),
    "pow": Operator((positive(ROWS, WIDTH), X), *same("pow"), BINARY),
    "sqrt": unary("sqrt", positive(ROWS, WIDTH)), "rsqrt": unary("rsqrt", positive(ROWS, WIDTH)), "log": unary("log", positive(ROWS, WIDTH)),
    "sigmoid": unary("sigmoid"), "tanh": unary("tanh"), "erf": unary("erf"), "sin": unary("sin"), "relu": unary("relu"),
    "softplus": Operator((X,), functional("softplus"), lambda iso, x: iso.softplus(x), UNARY),
    "mish": Operator((X,), functional("mish"), lambda iso, x: iso.mish(x), UNARY),
    "hardswish": Operator((X,), functional("hardswish"), lambda iso, x: iso.hardswish(x), UNARY),
    "lt": Operator((normal(ROWS, WIDTH, grad=False), normal(ROWS, WIDTH, grad=False)), *same("lt")),
    "cast f64": Operator((X,), lambda torch, x: x.double(), lambda iso, x: iso.cast(x, "f64")),
    "sum all": Operator((X,), lambda torch, x: x.sum(), lambda iso, x: iso.sum(x, [], False), {"fwd": 1}),
    "sum columns": Operator((X,), lambda torch, x: x.sum(0), lambda iso, x: iso.sum(x, [0], False), {"fwd": 1}),
    "var rows": Operator((X,), lambda torch, x: x.var(-1), lambda iso, x: iso.var(x, [-1], False, 1.0), {"fwd": 1}),
    "amax rows": Operator((X,), lambda torch, x: x.amax(-1), lambda iso, x: iso.amax(x, [-1], False), {"fwd": 1}),
    "argmax rows": Operator((normal(ROWS, WIDTH, grad=False),), lambda torch, x: x.argmax(-1), lambda iso, x: iso.argmax(x, -1, False), {"fwd": 1}),
    "logsumexp": Operator((X,), lambda torch, x: torch.logsumexp(x, -1), lambda iso, x: iso.logsumexp(x, [-1], False), {"fwd": 1}),
    "cumsum rows": Operator((X,), *same("cumsum", -1), UNARY),
    "log_softmax": Operator((X,), *same("log_softmax", -1), UNARY),
    "cross_entropy": Operator((X, index(WIDTH, ROWS)), functional("cross_entropy"), lambda iso, x, t: iso.cross_entropy(x, t, None)),
    "mse_loss": Operator((X, normal(ROWS, WIDTH, grad=False)), functional("mse_loss"), lambda iso, x, t: iso.mse_loss(x, t, None)),
    "bce_with_logits": Operator((X, unit(ROWS, WIDTH, grad=False)), functional("binary_cross_entropy_with_logits"),
                                lambda iso, x, t: iso.binary_cross_entropy_with_logits(x, t, None)),
    "kl_div": Operator((X, unit(ROWS, WIDTH, grad=False)), functional("kl_div", reduction="batchmean"),
                       lambda iso, x, t: iso.kl_div(x, t, False, count=float(ROWS))),
    "group_norm": Operator((IMAGE, normal(64), normal(64)), lambda torch, x, g, b: torch.nn.functional.group_norm(x, 8, g, b),
                           lambda iso, x, g, b: iso.group_norm(x, 8, g, b, 0.0), {"step": 5}, image=True),
    "max_pool2d": Operator((IMAGE,), functional("max_pool2d", 3, 2, 1), lambda iso, x: iso.max_pool2d(x, **POOL), image=True),
    "avg_pool2d": Operator((IMAGE,), functional("avg_pool2d", 3, 2, 1, count_include_pad=False), lambda iso, x: iso.avg_pool2d(x, **POOL), image=True),
    "cat": Operator((X, X), lambda torch, a, b: torch.cat([a, b], 1), lambda iso, a, b: iso.cat([a, b], 1), {"fwd": 4}),
    "transpose": Operator((X,), lambda torch, x: x.t().contiguous(), lambda iso, x: iso.contiguous(iso.transpose(x, 0, 1)), {"fwd": 2}),
    "pad reflect": Operator((SMALL_IMAGE,), functional("pad", (3, 3, 3, 3), mode="reflect"),
                            lambda iso, x: iso.pad(x, [3, 3, 3, 3], "ISO_PAD_REFLECT", 0.0), image=True),
    "flip": Operator((X,), lambda torch, x: torch.flip(x, [0, 1]), lambda iso, x: iso.contiguous(iso.flip(x, [0, 1])), {"fwd": 2}),
    "roll": Operator((X,), lambda torch, x: torch.roll(x, [5, 7], [0, 1]), lambda iso, x: iso.roll(x, [5, 7], [0, 1]), {"fwd": 2}),
    "pixel_shuffle": Operator((SMALL_IMAGE,), functional("pixel_shuffle", 2), lambda iso, x: iso.pixel_shuffle(x, 2), {"fwd": 2}, image=True),
    "im2col": Operator((SMALL_IMAGE,), functional("unfold", 3, 1, 1, 1), lambda iso, x: iso.im2col(x, kernel_h=3, kernel_w=3, pad_h=1, pad_w=1),
                       image=True),
    "gather": Operator((X, index(WIDTH, ROWS, WIDTH)), lambda torch, x, i: torch.gather(x, 1, i), lambda iso, x, i: iso.gather(x, 1, i)),
    "index_select": Operator((X, index(ROWS, ROWS)), lambda torch, x, i: torch.index_select(x, 0, i), lambda iso, x, i: iso.index_select(x, 0, i)),
    "masked_fill": Operator((X, mask(ROWS, WIDTH)), lambda torch, x, m: torch.masked_fill(x, m, 0.0), lambda iso, x, m: iso.masked_fill(x, m, 0.0)),
    "nearest": Operator((SMALL_IMAGE,), *interpolated("nearest"), image=True),
    "uniform": Operator((), lambda torch: torch.rand(ROWS, WIDTH), lambda iso: iso.random_uniform("f32", [ROWS, WIDTH], 0.0, 1.0)),
    "normal": Operator((), lambda torch: torch.randn(ROWS, WIDTH), lambda iso: iso.random_normal("f32", [ROWS, WIDTH], 0.0, 1.0)),
}

BOTH = ("fwd", "bwd")
CORES = (1, 2)
# operator -> directions, bars. `copy`: or the instruction floor where that is slower.
MOVING = {name: (BOTH, {"copy": 0.8, "floor": 0.85, "torch": 4.0 if name == "gelu_tanh" else 1.5})
          for name in ("layer_norm", "rms_norm", "softmax", "gelu", "gelu_tanh", "silu", "exp", "dropout")}
MOVING["residual add"] = (("fwd", "step"), {"copy": 0.8, "floor": 0.85, "torch": 1.5})
MOVING["batch_norm"] = (("step",), {"copy": 0.8, "floor": 0.85, "torch": 1.5})
MOVING["embedding"] = (("bwd",), {"torch": 4.0})
MOVING["chain of five"] = (("fwd",), {"torch": 3.0})
for sorted_ in ("sort", "topk", "cumsum", "unique"):
    MOVING[sorted_] = (("fwd",), {"torch": 1.0})
SCATTERING = {"scatter_add": ("fwd",), "index_add": ("fwd",), "weighted bincount": ("fwd",), "adaptive_avg_pool2d": BOTH, "bilinear": ("bwd",),
              "bicubic": ("bwd",), "grid_sample": ("bwd",), "ctc": ("step",)}
# Of the others: these also by their gradient.
ALSO_BACKWARD = ("sigmoid", "tanh", "softplus", "mish", "log_softmax", "cumsum rows", "pad reflect", "gather", "index_select")
AS_STEPS = ("cross_entropy", "mse_loss", "bce_with_logits", "kl_div", "group_norm", "max_pool2d", "avg_pool2d")

TABLE_BAR = 2.0        # geometric mean over all of them
SMALL_BARS_US = {"forward": 0.3, "with tape": 0.6}
ADAMW_BARS = {"copy": 0.9, "torch": 1.5, "fused": 1.0}
# 160 tensors, 25 M parameters: the matrices and vectors of a small transformer, an embedding.
ADAMW_SHAPES = [(1692, 768)] + [(768, 768)] * 40 + [(768,)] * 80 + [(1536,)] * 39
ADAMW_PASSES = 7       # parameter, gradient and both moments read; parameter and moments written


def all_cells():
    for name, operator in OPERATORS.items():
        if name in MOVING:
            directions, bars = MOVING[name]
        elif name in SCATTERING:
            directions, bars = SCATTERING[name], {"torch": 1.0}
        else:
            directions, bars = ("step",) if name in AS_STEPS else BOTH if name in ALSO_BACKWARD else ("fwd",), {}
        for direction in directions:
            for threads in CORES:
                cores = "1 core" if threads == 1 else f"{threads} cores"
                yield Cell(f"{name} {direction} {cores}", name, direction, threads, bars, name in SCATTERING)
