#!/usr/bin/env python3
"""Runs ONNX's node tests through Isobit: small graphs, mostly of one operator, with inputs and the outputs expected.

A graph whose operators onnx_ops maps is computed node by node. Tolerances are ONNX's (rtol 1e-3, atol 1e-7); integers and booleans are
equal. Closes on how many tests passed, differ for a reason, failed and are not offered; the exit status is 1 if any failed.
"""
import argparse
import collections
import os
import pathlib
import sys
import tarfile
import warnings

os.environ.setdefault("ISOBIT_TUNING", "rule")
os.environ.setdefault("ISOBIT_STORE", "none")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import torch  # noqa: E402

import capi  # noqa: E402
import isobit  # noqa: E402
import onnx_model  # noqa: E402
import onnx_ops  # noqa: E402
from opinfo import Differs  # noqa: E402
from run_opinfo import row_sentences  # noqa: E402

DATA = pathlib.Path(os.environ.get("ISOBIT_TEST_DATA", capi.ROOT.parent / "shared" / "data"))
NODE = "onnx/backend/test/data/node/"
RTOL, ATOL = 1e-3, 1e-7


def tests_of(archive):
    """{test: {file: bytes}} of the node tests."""
    found = collections.defaultdict(dict)
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isfile() and member.name.startswith(NODE):
                test, _, file = member.name[len(NODE):].partition("/")
                found[test][file] = tar.extractfile(member).read()
    return found


def evaluate(iso, model, inputs):
    values = {"": None, **{name: iso.tensor(t) for name, t in model.constants.items()}}
    values.update(zip([name for name in model.inputs if name not in model.constants], inputs))
    for node in model.nodes:
        if node.domain not in ("", "ai.onnx"):
            raise onnx_ops.NotOffered(f"domain {node.domain}")
        for name, value in node.attributes.items():
            if isinstance(value, Exception):
                raise value
        results = onnx_ops.run(iso, node.operator, model.opset, [values[i] for i in node.inputs], node.attributes, len(node.outputs))
        values.update(zip(node.outputs, results))
    return [values[name] for name in model.outputs]


def run_test(library, files):
    """(verdict, text)."""
    try:
        model = onnx_model.Model(files["model.onnx"])
        sets = sorted({name.split("/")[0] for name in files if "/" in name})
        with isobit.Context(library) as iso:
            for folder in sets:
                inputs = [onnx_model.tensor(files[f"{folder}/input_{i}.pb"]) for i in range(sum(f.startswith(f"{folder}/input_") for f in files))]
                expected = [onnx_model.tensor(files[f"{folder}/output_{i}.pb"]) for i in range(sum(f.startswith(f"{folder}/output_") for f in files))]
                with iso.scope():
                    found = evaluate(iso, model, [iso.tensor(t) for t in inputs])
                    for ours, theirs in zip(found, expected, strict=True):
                        onnx_ops.check(model, ours.torch(), theirs, RTOL, ATOL)
    except (onnx_model.Unreadable, onnx_ops.NotOffered) as e:
        return "not offered", str(e)
    except isobit.Error as e:
        # An operator that exists, in an element type that it does not compute.
        return ("not offered" if e.status == "DTYPE_MISMATCH" else "failed"), str(e)
    except Differs as e:
        return "differs", str(e)
    except Exception as e:
        return "failed", " ".join(f"{type(e).__name__}: {e}".split())
    return "passed", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="tests whose name contains this")
    parser.add_argument("-v", dest="verbose", action="store_true", help="also why tests are not offered")
    a = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    onnx_ops.load()
    archives = sorted((DATA / "onnx_node").glob("*.tar.xz"))
    if not archives:
        print(f"[  SKIPPED ] there are no ONNX node tests in {DATA / 'onnx_node'} (ISOBIT_TEST_DATA)")
        return 77
    library = capi.Library()
    counts, reasons, missing = collections.Counter(), collections.Counter(), []
    sentences = set()
    for test, files in sorted(tests_of(archives[0]).items()):
        if a.only and a.only not in test:
            continue
        verdict, text = run_test(library, files)
        counts[verdict] += 1
        if verdict == "failed":
            print(f"FAIL   {test}: {text[:300]}")
        elif verdict == "differs":
            print(f"differ {test}: {text}")
            sentences.add(text)
        elif verdict == "not offered":
            missing.append(test)
            reasons[text] += 1
            if a.verbose:
                print(f"       {test}: {text}")
        elif a.only:
            print(f"ok     {test}")
    unknown = [s for s in sentences if not any(s in row for row in row_sentences(library))]
    for s in unknown:
        print(f"no DOC row says: {s}")
    print("\nnot offered: " + ", ".join(f"{reason} ({n})" for reason, n in reasons.most_common()))
    print(f"\nONNX node tests: {counts['passed']} passed, {counts['differs']} differ with a reason, {counts['failed']} failed, {counts['not offered']} not offered")
    return 1 if counts["failed"] or unknown or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
