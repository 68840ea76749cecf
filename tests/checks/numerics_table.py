#!/usr/bin/env python3
"""docs/numerics.md's table of classes is what the registry says: every operator, its classes, their bound."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| `(\S+)` \| (.*?) \| `(src/kernels/\S+)` \| (\S+)", re.M)


# A small problem of an operator; of the others the first whole line in a cases.c.
CONV, POOL, ROWS = " f32 n1 c4 h8 w8 k4 r3 s3", " f32 n1 c3 h4 w4 kh2 kw2 sh2 sw2", " f32 rows3 n5"
NORM, OPTIM = " f32 rows9 c5", " f32 n5"
EXAMPLES = {
    "gemm": " f32 m5 n5 k5", "conv2d.fwd": CONV, "conv2d.bwd_data": CONV, "conv2d.bwd_weights": CONV,
    "max_pool2d.fwd": POOL, "max_pool2d.bwd": POOL, "avg_pool2d.fwd": POOL, "avg_pool2d.bwd": POOL,
    "map": " f32 add 5", "copy": " f32 fromf32 5", "reduce.rows": " f32 sum outer3 n5",
    "reduce.columns": " f32 sum outer3 n5 inner2", "softmax.fwd": ROWS, "softmax.bwd": ROWS, "cross_entropy.fwd": ROWS,
    "cross_entropy.bwd": ROWS, "batch_norm.stats": NORM, "batch_norm.fwd": NORM, "batch_norm.bwd_reduce": NORM,
    "batch_norm.bwd_data": NORM, "dropout": OPTIM, "random_fill": " f32 uniform n5",
    "row_norm.fwd": " f32 n3 c5", "row_norm.bwd_data": " f32 n3 c5", "row_norm.bwd_weights": " f32 n3 c5 gamma1",
    "sgd.step": OPTIM, "adam.step": OPTIM}
OPERATOR = re.compile(r'^OPERATOR\([A-Z0-9_]+, "([^"]+)"\)', re.M)
CASE = re.compile(r'"((\S+) \S+ [^"]+)"')


def registry():
    """{(class, operator): bound} of every reference, asked of the program."""
    operators = OPERATOR.findall((ROOT / "src/plan/operators.def").read_text())
    examples = {operator: operator + words for operator, words in EXAMPLES.items()}
    for cases in sorted((ROOT / "src/kernels").rglob("cases.c")):
        for text, operator in CASE.findall(cases.read_text()):
            examples.setdefault(operator, text)
    if missing := set(operators) - set(examples):
        sys.exit(f"no cases.c has a whole line of {sorted(missing)}")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        answer = pathlib.Path(folder) / "plans.json"
        for operator in operators:
            subprocess.run([ROOT / "build/release/isobit", "plans", examples[operator],
                            "--policy", "reproducible", "--json", answer], check=True, stdout=subprocess.DEVNULL)
            for candidate in json.loads(answer.read_text())["problems"][0]["candidates"]:
                if "reference" in candidate["engine"]:
                    found[candidate["class"], operator] = candidate["error_bound"]
    return found


def table():
    found = {}
    for class_name, operators, reference, bound in ROW.findall((ROOT / "docs/numerics.md").read_text()):
        if not (ROOT / reference).exists():
            sys.exit(f"docs/numerics.md names {reference}, which does not exist")
        for operator in re.findall(r"`([^`]+)`", operators):
            if (class_name, operator) in found:
                sys.exit(f"docs/numerics.md: {operator}, class {class_name}, stands there twice")
            found[class_name, operator] = bound
    return found


def main():
    code, page = registry(), table()
    wrong = [f"{name}: {operator}, class {name}, is not in both" for name, operator in sorted(code.keys() ^ page.keys())]
    for key in code.keys() & page.keys():
        bound = code[key] if page[key] == "exact" else 0 if page[key] == "–" else float(page[key])
        if abs(bound - code[key]) > 0.01 * code[key]:
            wrong.append(f"{key[1]}, class {key[0]}: the page says {page[key]}, the registry {code[key]:g}")
    print("\n".join(wrong) or f"{len(code)} classes of operators, their references and bounds agree with docs/numerics.md")
    return bool(wrong) or not code


sys.exit(main())
