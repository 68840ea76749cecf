#!/usr/bin/env python3
"""bench/class_rule.py FILE: measures what rule@2's coefficients (src/kernels/conv/class_rule.c) are made of.

Every numeric class of the three convolution directions is timed over a grid of kernels, channels and image sizes, batch
8, one thread; then the least squares of the cost model give each class' coefficients. Prints how far the
class that they choose lies behind the fastest. `--fit` takes FILE as an earlier measurement: class_rule_2.json is rule@2's.

The model, in multiply-adds of one core per image, for a class with tiles of T points (T = 1, one tile a pixel: ordered):
    cost = tiles·T·(pairs·product + C·input + K·output) + T·pairs·kernel / 8
where pairs = C·K/groups; classes that transform tiles count a group's channels rounded up to 16 (an FFT's depthwise
product alone has no such blocks). Depthwise convolutions (groups = C) have coefficients of their own.
"""

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIRECTIONS = ("fwd", "bwd_data", "bwd_weights")
SEED = 20261130


def grid():
    """Problems as dictionaries: the layers that networks have, and seeded ones between them."""
    problems = []

    def add(r, size, c, k, g=1):
        problems.append({"n": 8, "c": c, "h": size, "w": size, "k": k, "r": r, "s": r, "p": r // 2, "g": g})

    for size in (7, 8, 14, 16, 28, 32, 56):
        for c, k in ((16, 16), (32, 64), (64, 64), (128, 128), (256, 256), (512, 512)):
            if size * size * c * k <= 14 * 14 * 512 * 512:
                add(3, size, c, k)
    add(3, 112, 32, 64), add(3, 112, 64, 64), add(3, 224, 16, 16)
    for size in (14, 28, 56):
        for c, k in ((16, 16), (32, 64), (128, 128)):
            add(5, size, c, k), add(7, size, c, k)
    for size in (14, 28):
        for r in (9, 11, 15, 21, 31):
            if r <= 2 * size:
                add(r, size, 32, 32), add(r, size, 16, 16)
                add(r, size, 64, 64, 64)
    for r in (3, 5, 7, 9):
        for size in (7, 14, 28, 56):
            add(r, size, 128, 128, 128)
    for r in (3, 5, 7, 11):
        add(r, 56, 3, 64), add(r, 28, 1, 32)
    rng = random.Random(SEED)
    for _ in range(12):
        add(3, rng.randint(9, 60), rng.randint(3, 20) * 8, rng.randint(3, 20) * 8)
    return problems


def text_of(direction, p):
    words = " ".join(f"{key}{p[key]}" for key in ("n", "c", "h", "w", "k", "r", "s", "p"))
    return f"conv2d.{direction} f32 {words}" + (f" g{p['g']}" if p["g"] > 1 else "")


def bench(text, isa, budget):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [ROOT / "build/release/isobit", "bench", *text.split(), "--threads", "1", "--set", "accuracy=relaxed",
                   "--budget", str(budget), "--json", out.name] + (["--isa", isa] if isa else [])
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return json.load(open(out.name))


def measure(isa, budget, every):
    rows = []
    for p in grid()[::every]:
        for direction in DIRECTIONS:
            answer = bench(text_of(direction, p), isa, budget)
            best = {}
            for row in answer["rows"]:
                name = row["class"]
                if name == "free" or "reference" in row["engine"]:
                    continue
                best[name] = min(best.get(name, math.inf), row["median_ms"])
            rows.append({"direction": direction, "problem": p, "peak": answer["peak_gflops"], "ms": best})
            print(text_of(direction, p), {k: round(v, 3) for k, v in best.items()}, flush=True)
    return rows


def shape_of(name, p):
    """(points a tile, tiles an image)."""
    if name == "ordered":
        return 1, p["h"] * p["w"]
    if name.startswith("fft."):
        n = int(name[4:])
        m, points = n - p["r"] + 1, n * (n // 2 + 1) * 2
        if n >= p["h"] + p["r"] // 2:
            return points, 1
        return points, math.ceil(p["h"] / m) * math.ceil(p["w"] / m)
    m = int(name.split(".")[1].split("x")[0])
    return (m + p["r"] - 1) ** 2, math.ceil(p["h"] / m) * math.ceil(p["w"] / m)


def is_depthwise(row):
    return row["problem"]["g"] == row["problem"]["c"] > 1


def features(name, p):
    points, tiles = shape_of(name, p)
    pointwise = name.startswith("fft") and p["g"] == p["c"] > 1
    wide = 1 if name == "ordered" or pointwise else 16
    c, k = (math.ceil(p[key] / p["g"] / wide) * wide for key in "ck")
    ck = c * k * p["g"] * (p["r"] * p["s"] if name == "ordered" else 1)
    return [tiles * points * ck, tiles * points * c * p["g"], tiles * points * k * p["g"], points * ck / 8]


def fit(rows):
    import numpy
    from scipy.optimize import nnls

    models = {}
    for direction in DIRECTIONS:
        keys = sorted({(n, is_depthwise(r)) for r in rows if r["direction"] == direction for n in r["ms"]})
        for name, depthwise in keys:
            of = [r for r in rows if r["direction"] == direction and name in r["ms"] and is_depthwise(r) == depthwise]
            # small depthwise images stay in a cache where the larger ones, which take the time, do not
            of = [r for r in of if not depthwise or r["problem"]["h"] >= 28] or of
            # multiply-adds per image that the time is worth, at the peak of that run; relative errors are what counts
            y = [r["ms"][name] * 1e-3 * r["peak"] * 1e9 / 2 / r["problem"]["n"] for r in of]
            # where a class is far behind nobody asks by how much
            weight = numpy.array([min(r["ms"].values()) / r["ms"][name] for r in of])
            a = numpy.array([features(name, r["problem"]) for r in of]) / numpy.array(y)[:, None]
            x, _ = nnls(a * weight[:, None], weight)
            models[direction, name, depthwise] = [float(f"{v:.3g}") for v in x]
    return models


def judge(rows, models, allowed):
    ratios = []
    for r in rows:
        names = [n for n in r["ms"] if allowed(n)]
        if len(names) < 2:
            continue
        cost = {n: sum(a * b for a, b in zip(models[r["direction"], n, is_depthwise(r)], features(n, r["problem"]))) for n in names}
        chosen = min(names, key=cost.get)
        best = min(names, key=lambda n: r["ms"][n])
        ratios.append((r["ms"][chosen] / r["ms"][best], text_of(r["direction"], r["problem"]), chosen, best))
    ratios.sort(reverse=True)
    mean = math.exp(sum(math.log(r[0]) for r in ratios) / len(ratios))
    print(f"{len(ratios)} problems: the chosen class takes {mean:.3f} of the fastest's time, at worst {ratios[0][0]:.2f}")
    for ratio, text, chosen, best in ratios[:8]:
        print(f"  {ratio:.2f} {text}: {chosen}, fastest {best}")


def header(models):
    """src/kernels/conv/class_rule_coefficients.h."""
    lines = ["/* class_rule_coefficients.h: rule@2's figures, written by bench/class_rule.py --header; see class_rule.c. */",
             "/* clang-format off */"]
    for direction in DIRECTIONS:
        keys = [(n, w) for d, n, w in models if d == direction]
        keys.sort(key=lambda k: (k[1], k[0] != "ordered", k[0].startswith("fft"), k[0]))
        lines.append(f"static const model {direction}_models[] = {{")
        for name, depthwise in keys:
            m = int(name.split(".")[1].split("x")[0]) if name.startswith("winograd") else 0
            n = int(name[4:]) if name.startswith("fft.") else 0
            figures = ", ".join(f"{v:g}" for v in models[direction, name, depthwise])
            lines.append(f'    {{"{name}", {str(depthwise).lower()}, {m}, {n}, {figures}}},')
        lines.append("    {NULL, false, 0, 0, 0, 0, 0, 0}};")
    return "\n".join(lines + ["/* clang-format on */"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("file", help="where the measurement is written")
    parser.add_argument("--fit", action="store_true", help="do not measure: FILE holds an earlier measurement")
    parser.add_argument("--isa", help="avx2 or avx512: at most this instruction set")
    parser.add_argument("--budget", type=float, default=15, help="milliseconds for each engine")
    parser.add_argument("--header", help="writes the coefficients as C")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="a look: every Nth problem of the grid only")
    options = parser.parse_args()
    path = Path(options.file)
    rows = json.loads(path.read_text()) if options.fit else measure(options.isa, options.budget, options.every)
    if not options.fit:
        path.write_text(json.dumps(rows) + "\n")
    models = fit(rows)
    if options.header:
        Path(options.header).write_text(header(models))
    relaxed = {"winograd.5x5k3", "winograd.6x6k3", "winograd.4x4k5"}
    print("standard:")
    judge(rows, models, lambda n: n not in relaxed)
    print("relaxed:")
    judge(rows, models, lambda n: True)


if __name__ == "__main__":
    sys.exit(main())
