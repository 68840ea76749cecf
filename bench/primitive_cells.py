"""What suite `primitives` measures: every cell of the bars for convolution and GEMM, as data.

A cell is one problem on a number of cores, under dials of Isobit's policy, beside the sides named in `against`:
`openblas`, `torch` (the faster of its two memory formats), `peak` (FMA), `read` and `copy` (memory traffic of the same
footprint), `off` (Isobit itself, free to re-associate). `bars` says what the ratio of speeds, ours over that side's,
must reach; a side without a bar is there to be seen.
"""

from dataclasses import dataclass, field

DIRECTIONS = ("fwd", "bwd_data", "bwd_weights")


@dataclass
class Cell:
    name: str
    group: str
    problem: str
    threads: int = 1
    dials: str = ""
    against: tuple = ()
    bars: dict = field(default_factory=dict)


# A group's bar on the geometric mean of its cells' ratios: (group, side) -> bar. Ratios `off` are times, default / off.
GROUP_BARS = {("gemm 1 core", "openblas"): 1.03, ("conv", "torch"): 2.0, ("default/off", "off"): 1.03}

GEMM_CUBES = (512, 1024, 2048)
GEMM_LAYERS = ((384, 384), (1536, 384), (384, 1536), (768, 768), (3072, 768), (768, 3072))  # (N, K)
TRANSPOSES = {"NN": "", "NT": " tb1", "TN": " ta1"}


def gemm_shapes():
    """(name, M, N, K)"""
    for n in GEMM_CUBES:
        yield f"{n}³", n, n, n
    for m in (512, 4096):
        for n, k in GEMM_LAYERS:
            yield f"{m}×{n}×{k}", m, n, k


def gemm_cells():
    for threads, peer, floor, of_peak in ((1, "openblas", 0.97, 0.88), (2, "torch", 1.0, 0.85)):
        cores = "1 core" if threads == 1 else f"{threads} cores"
        for name, m, n, k in gemm_shapes():
            for transposes, words in TRANSPOSES.items():
                bars = {peer: floor}
                if name in ("1024³", "2048³"):
                    bars["peak"] = of_peak
                yield Cell(f"gemm {name} {transposes} {cores}", f"gemm {cores}", f"gemm f32 m{m} n{n} k{k}{words}", threads,
                           against=(peer, "peak"), bars=bars)


def skinny_cells():
    for m, of_read in ((1, 0.90), (2, 0.90), (4, 0.80), (8, 0.65)):
        yield Cell(f"gemm {m}×4096×4096 kept 1 core", "gemm kept", f"gemm f32 m{m} n4096 k4096 tb1 kept1",
                   against=("openblas", "read"), bars={"openblas": 1.0, "read": of_read})


# name -> the problem's words and, in the order of DIRECTIONS, the least share of peak (None: no bar)
LAYERS = {
    "7×7 s2 3→64 @224": ("n8 c3 h224 w224 k64 r7 s7 st2 p3", (0.80, 0.50, 0.80)),
    "1×1 64→256 @56": ("n8 c64 h56 w56 k256 r1 s1", (0.80, 0.80, 0.80)),
    "3×3 64 @56": ("n8 c64 h56 w56 k64 r3 s3 p1", (2.20, 2.20, 2.20)),
    "3×3 128 @28": ("n8 c128 h28 w28 k128 r3 s3 p1", (2.60, 2.60, 2.35)),
    "3×3 256 @14": ("n8 c256 h14 w14 k256 r3 s3 p1", (2.15, 2.15, 2.05)),
    "3×3 512 @7": ("n8 c512 h7 w7 k512 r3 s3 p1", (1.80, 1.80, 1.65)),
    "3×3 s2 128 @56": ("n8 c128 h56 w56 k128 r3 s3 st2 p1", (0.80, 0.80, 0.80)),
    "depthwise 3×3 128 @56": ("n8 c128 h56 w56 k128 r3 s3 p1 g128", (None, None, None)),
    "5×5 32→64 @28": ("n8 c32 h28 w28 k64 r5 s5 p2", (2.00, 2.00, 2.00)),
    "11×11 32 @28": ("n8 c32 h28 w28 k32 r11 s11 p5", (3.00, 3.00, 3.00)),
    "31×31 depthwise 64 @28": ("n8 c64 h28 w28 k64 r31 s31 p15 g64", (1.50, 1.50, 1.50)),
    "31×31 16 @28": ("n8 c16 h28 w28 k16 r31 s31 p15", (3.00, 3.00, 3.00)),
}
DEPTHWISE = "depthwise 3×3 128 @56"
# Under accuracy=relaxed: of peak forward; the gradients are there to be seen.
RELAXED = {"3×3 64 @56": (2.50, None, None), "3×3 128 @28": (2.85, None, None), "3×3 256 @14": (2.80, None, None),
           "3×3 512 @7": (1.80, None, None), "5×5 32→64 @28": (3.00, 3.00, 3.00)}
# With weights transformed beforehand, which bwd_weights has none of.
KEPT = {"3×3 64 @56": None, "3×3 128 @28": None, "3×3 256 @14": None, "3×3 512 @7": 2.30}


def conv_cells():
    for name, (words, of_peak) in LAYERS.items():
        for direction, bar in zip(DIRECTIONS, of_peak):
            against, bars = ("torch", "peak"), {"torch": 1.0}
            if name == DEPTHWISE:
                against, bars = ("torch", "copy"), {"torch": 3.0, "copy": 0.80}
            elif bar:
                bars["peak"] = bar
            yield Cell(f"conv {name} {direction}", "conv", f"conv2d.{direction} f32 {words}", against=against, bars=bars)


def accuracy_cells():
    """Beside `standard`, which conv_cells has: relaxed, and kept weights."""
    for name, of_peak in RELAXED.items():
        for direction, bar in zip(DIRECTIONS, of_peak):
            yield Cell(f"conv {name} {direction} relaxed", "conv relaxed", f"conv2d.{direction} f32 {LAYERS[name][0]}",
                       dials="accuracy=relaxed", against=("peak",), bars={"peak": bar} if bar else {})
    for name, bar in KEPT.items():
        for direction in DIRECTIONS[:2]:
            yield Cell(f"conv {name} {direction} kept", "conv kept", f"conv2d.{direction} f32 {LAYERS[name][0]} kept1",
                       against=("peak",), bars={"peak": bar} if bar else {})


def price_cells():
    """`default` against the best of `off`, on two cores, as most people run."""
    def cell(name, problem):
        return Cell(f"{name} default/off", "default/off", problem, 2, against=("off",), bars={"off": 1.10})

    for name, m, n, k in gemm_shapes():
        yield cell(f"gemm {name} NN", f"gemm f32 m{m} n{n} k{k}")
    for m in (1, 8):
        yield cell(f"gemm {m}×4096×4096", f"gemm f32 m{m} n4096 k4096 tb1")
    for name, (words, _) in LAYERS.items():
        for direction in DIRECTIONS:
            yield cell(f"conv {name} {direction}", f"conv2d.{direction} f32 {words}")


# Training steps of whole models on two cores: (model, batch, bar of the ratio to PyTorch).
MODELS = (("resnet18_imagenet", 8, 2.0), ("mobilenet", 8, 2.0))


def all_cells():
    for maker in (gemm_cells, skinny_cells, conv_cells, accuracy_cells, price_cells):
        yield from maker()
