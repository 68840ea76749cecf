"""What suite `gpu` measures: every cell of the bars for one H200, as data.

A cell is a problem in Isobit's text, a task of tasks.c, a model's training step or a series of lengths. Its bars say what
a ratio must reach: `free`, `det` (PyTorch's time over ours), `copy` (the time to copy as many bytes over ours), `ours` (our
time, ms), `memory` (our peak over PyTorch's). A group's bars are on geometric means. Cells with `quick` are what --quick runs.
"""

from dataclasses import dataclass, field

MIB = 1 << 20
DIRECTIONS = ("fwd", "bwd_data", "bwd_weights")


@dataclass
class Cell:
    name: str
    group: str
    kind: str             # problem, task, model, lengths
    what: str             # its text or name
    against: tuple = ("free",)
    bars: dict = field(default_factory=dict)
    n_bytes: float = 0.0  # read and written, for copy
    quick: bool = True


# (group, side) -> the least geometric mean
GROUP_BARS = {("gemm", "free"): 0.97, ("conv N64", "free"): 1.35, ("conv N64", "det"): 1.5, ("conv N8", "free"): 1.3,
              ("conv N32", "free"): 1.3}

TRANSPOSES = {"NN": "", "NT": " tb1", "TN": " ta1"}
SHAPES = {"4096³": "m4096 n4096 k4096", "8192³": "m8192 n8192 k8192", "4096×768×768": "m4096 n768 k768",
          "4096×3072×768": "m4096 n3072 k768", "4096×768×3072": "m4096 n768 k3072"}
# The weights' gradients of these shapes: Aᵀ·B with the rows as k.
BERT_GRADIENTS = {"768×768×4096 TN": "m768 n768 k4096 ta1", "3072×768×4096 TN": "m3072 n768 k4096 ta1",
                  "768×3072×4096 TN": "m768 n3072 k4096 ta1"}


def gemm_cells():
    for shape, words in SHAPES.items():
        for name, turn in TRANSPOSES.items():
            if name != "TN" or "³" in shape:
                yield Cell(f"gemm {shape} {name}", "gemm", "problem", f"gemm f32 {words}{turn}", bars={"free": 0.92},
                           quick="8192" not in shape)
    for name, words in BERT_GRADIENTS.items():
        yield Cell(f"gemm {name}", "gemm", "problem", f"gemm f32 {words}", bars={"free": 0.92})
    for m, n, k in ((64, 576, 200704), (256, 2304, 12544), (512, 4608, 3136)):  # weights' gradients of convolutions
        yield Cell(f"gemm {m}×{n}×{k} TN", "gemm gradients", "problem", f"gemm f32 m{m} n{n} k{k} ta1", bars={"free": 0.88}, quick=False)
    for m in (1, 8, 32):
        for name in ("NN", "NT"):
            yield Cell(f"gemm {m}×4096×4096 {name}", "gemm few rows", "problem", f"gemm f32 m{m} n4096 k4096{TRANSPOSES[name]}",
                       bars={"free": 0.9}, quick=False)


LAYERS = {"7×7 s2 3→64 @224": "c3 h224 w224 k64 r7 s7 st2 p3", "1×1 64→256 @56": "c64 h56 w56 k256 r1 s1",
          "3×3 64 @56": "c64 h56 w56 k64 r3 s3 p1", "3×3 128 @28": "c128 h28 w28 k128 r3 s3 p1",
          "3×3 256 @14": "c256 h14 w14 k256 r3 s3 p1", "3×3 512 @7": "c512 h7 w7 k512 r3 s3 p1",
          "3×3 s2 128 @56": "c128 h56 w56 k128 r3 s3 st2 p1", "5×5 32→64 @28": "c32 h28 w28 k64 r5 s5 p2"}


def conv_cells():
    for n in (64, 8, 32):
        for layer, words in LAYERS.items():
            for way in DIRECTIONS:
                bars = {"free": 1.2 if layer.startswith("3×3 ") and " s2 " not in layer else 1.0} if n == 64 else {}
                yield Cell(f"conv N{n} {layer} {way}", f"conv N{n}", "problem", f"conv2d.{way} f32 n{n} {words}",
                           ("free", "det") if n == 64 else ("free",), bars, quick=n == 64)
    for way in DIRECTIONS:
        yield Cell(f"conv N64 depthwise 3×3 128 @56 {way}", "depthwise", "problem", f"conv2d.{way} f32 n64 c128 h56 w56 k128 r3 s3 p1 g128",
                   bars={"free": 1.0}, quick=False)


def model_cells():
    yield Cell("resnet50 step b64 224²", "steps", "model", "resnet50 64", ("free", "det"),
               {"free": 1 / 0.75, "det": 1 / 0.58, "memory": 1.0})
    for model, batch, side in (("cnn", 64, 28), ("resnet18", 64, 32), ("resnet18_imagenet", 64, 224), ("mobilenet", 64, 224)):
        yield Cell(f"{model} step b{batch} {side}²", "steps", "model", f"{model} {batch}", ("free", "det"), quick=False)


def scattering_cells():
    yield Cell("scatter_add 4M→1M spread", "scatters", "task", "scatter_add", ("free", "det"), {"free": 1 / 4, "det": 4.0})
    yield Cell("scatter_add 4M→1M half into one bin", "scatters", "task", "scatter_add_one_bin", ("free", "det"), {"det": 4.0})
    yield Cell("index_add 16k×768", "scatters", "task", "index_add", ("free", "det"), {"free": 1 / 1.2})
    yield Cell("embedding gradient 16k×768", "scatters", "task", "embedding_gradient", ("free", "det"), {"free": 1 / 1.2})
    yield Cell("bilinear gradient 16×64×64×64 ×2", "scatters", "task", "bilinear_gradient", ("free", "det"),
               {"free": 1 / 1.2, "det": 15.0})


ROWS_BYTES, IMAGES_BYTES, PARAMETERS = 4.0 * 65536 * 768, 4.0 * 64 * 256 * 56 * 56, 1692 * 768 + 40 * 768 * 768 + 80 * 768 + 39 * 1536
# task -> arrays read and written once each
MOVING = {"add": 3 * ROWS_BYTES, "relu": 2 * ROWS_BYTES, "gelu": 2 * ROWS_BYTES, "exp": 2 * ROWS_BYTES, "softmax": 2 * ROWS_BYTES,
          "softmax_gradient": 3 * ROWS_BYTES, "layer_norm": 2 * ROWS_BYTES, "sum_rows": ROWS_BYTES, "sum_columns": ROWS_BYTES,
          "batch_norm": 3 * IMAGES_BYTES,           # the statistics need x before the result does
          "batch_norm_gradient": 5 * IMAGES_BYTES,  # likewise x and dy
          "sgd": 4.0 * 5 * PARAMETERS, "adamw": 4.0 * 7 * PARAMETERS}


def moving_cells():
    for task, n_bytes in MOVING.items():
        yield Cell(f"{task.replace('_', ' ')} {n_bytes / MIB:.0f} MiB", "memory", "task", task, ("copy", "free"), {"copy": 0.9}, n_bytes)


def all_cells():
    for maker in (gemm_cells, conv_cells, scattering_cells, moving_cells):
        yield from maker()
    yield Cell("textclassifier forward b4", "small", "task", "classifier", ("free",), {"ours": 0.015})
    yield Cell("conv1d at 40 unseen lengths, p95", "small", "lengths", "40", ("free",), {"ours": 0.1})
    yield from model_cells()
