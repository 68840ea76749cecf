#!/usr/bin/env python3
"""--device: what is said without a GPU, and with one that whole training runs end with the CPU's bits (ISOBIT_PROGRAM: another binary)."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEP = os.environ.get("ISOBIT_BENCH_STEP", str(ROOT / "build" / "release" / "isobit-bench-step"))
PROGRAM = os.environ.get("ISOBIT_PROGRAM", str(ROOT / "build" / "release" / "isobit"))


def isobit(*words, timeout=900):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=timeout)


def has_gpu():
    devices = re.search(r"^devices +(.*)$", isobit("doctor").stdout, re.M)
    return devices is not None and "cuda" in devices[1]


GPU = has_gpu()


def train(model, device, *words, batch=32, steps=50):
    result = isobit("train", "vision", "--model", model, "--data", "synthetic", "--steps", str(steps), "--batch-size", str(batch),
                    "--policy", "portable", "--device", device, "--quiet", *words)
    found = re.search(r"^weights_hash +([0-9a-f]{32})$", result.stdout, re.M)
    if not found:
        raise AssertionError(f"{model} on {device}: {result.stderr[-400:]}")
    return found[1]


def train_text(device, **dials):
    """The weights of a textclassifier after 50 steps on made-up texts."""
    settings = dict(os.environ, ISOBIT_DEVICE=device, ISOBIT_STORE="none", ISOBIT_REPRO="portable", **dials)
    result = subprocess.run([STEP, "textclassifier", "64", "10000", "128", "45"], capture_output=True, text=True, timeout=300, env=settings)
    if result.returncode != 0:
        raise AssertionError(f"textclassifier on {device}: {result.stderr[-400:]}")
    return json.loads(result.stdout)["weights"]


def train_texts(model, device, *words, steps=6):
    """The weights of a text job on made-up texts of two classes."""
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "texts.jsonl"
        data.write_text("".join(json.dumps({"text": " ".join(f"w{(i * 7 + k * (1 + i % 2)) % 60}" for k in range(3 + i % 19)), "label": "ab"[i % 2]}) + "\n"
                                for i in range(400)))
        result = isobit("train", "text", "--model", model, "--data", str(data), "--steps", str(steps), "--policy", "portable", "--device", device,
                        "--quiet", "--no-eval", *words)
    found = re.search(r"^weights_hash +([0-9a-f]{32})$", result.stdout, re.M)
    if not found:
        raise AssertionError(f"{model} on {device}: {result.stderr[-400:]}")
    return found[1]


class Names(unittest.TestCase):
    def test_an_unknown_name(self):
        result = isobit("train", "vision", "--model", "mlp", "--data", "synthetic", "--steps", "1", "--device", "tpu:0")
        self.assertEqual(result.returncode, 1)
        self.assertIn("device 'tpu:0'", result.stderr)

    def test_a_device_that_is_not_there(self):
        result = isobit("train", "vision", "--model", "mlp", "--data", "synthetic", "--steps", "1", "--device", "cuda:15")
        self.assertEqual(result.returncode, 1)
        self.assertIn("cuda:15", result.stderr)

    def test_a_comparison_on_a_device_that_is_not_there(self):
        result = isobit("compare", "vision", "--model", "mlp", "--data", "synthetic", "--steps", "2", "--device", "cuda:15")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, "policy fast with .*: cuda:15")  # plain is not among a device's usual policies

    def test_vendor_is_on_or_off(self):
        result = isobit("plans", "gemm f32 m8 n8 k8", "--vendor", "maybe")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--vendor: vendor=maybe", result.stderr)
        self.assertEqual(isobit("plans", "gemm f32 m8 n8 k8", "--vendor", "off").returncode, 0)

    def test_text_on_any_instruction_set(self):
        self.assertEqual(train_text("cpu"), train_text("cpu", ISOBIT_ISA="avx2", ISOBIT_TUNING="rule"))

    def test_auto_trains_somewhere(self):
        self.assertEqual(train("mlp", "auto", steps=2), train("mlp", "cpu", steps=2))

    def test_capture_is_a_word_of_two(self):
        result = isobit("train", "vision", "--model", "mlp", "--data", "synthetic", "--steps", "1", "--capture", "maybe")
        self.assertEqual(result.returncode, 1)
        self.assertIn("capture is 'maybe'", result.stderr)

    def test_capture_means_nothing_to_the_cpu(self):
        self.assertEqual(train("mlp", "cpu", "--capture", "auto", steps=3), train("mlp", "cpu", "--capture", "off", steps=3))

    def test_doctor_says_how_far_it_gets(self):
        text = isobit("doctor").stdout
        self.assertRegex(text, r"(?m)^gpu: build +")
        self.assertRegex(text, r"(?m)^devices +cpu")


@unittest.skipUnless(GPU, "no CUDA device can be used here (isobit doctor says why)")
class Portable(unittest.TestCase):
    def check(self, model, **options):
        self.assertEqual(train(model, "cuda:0", **options), train(model, "cpu", **options))

    def test_mlp(self):
        self.check("mlp")

    def test_cnn(self):
        self.check("cnn")

    def test_resnet8(self):
        self.check("resnet8")

    def test_resnet18(self):
        self.check("resnet18")

    def test_text(self):
        self.assertEqual(len({train_text("cpu"), train_text("cuda:0"), train_text("cuda:0", ISOBIT_TUNING="rule"), train_text("cuda:0")}), 1)

    def test_text_in_leaves(self):
        self.assertEqual(train_text("cuda:0", ISOBIT_LEAVES="8"), train_text("cpu", ISOBIT_LEAVES="8"))

    def test_leaves(self):
        hashes = {train("cnn", "cuda:0", "--leaves", "8"), train("cnn", "cpu", "--leaves", "8")}
        self.assertEqual(len(hashes), 1)

    def test_low_precision(self):
        for precision in ("bf16", "f16"):
            for model in ("cnn", "resnet8"):
                hashes = {train(model, device, "--precision", precision, "--clip-norm", "1", steps=20) for device in ("cuda:0", "cpu")}
                self.assertEqual(len(hashes), 1, (model, precision))

    def test_text_jobs(self):
        for model, words in (("textclassifier", ()), ("textcnn", ()), ("bert", ()), ("bert", ("--precision", "bf16")), ("bert", ("--checkpointing",)),
                             ("bert", ("--leaves", "4"))):
            hashes = {train_texts(model, device, *words, steps=3) for device in ("cuda:0", "cpu")}
            self.assertEqual(len(hashes), 1, (model, words))

    def test_captured_or_not(self):
        for words in ([], ["--leaves", "2"], ["--clip-norm", "0.5", "--optimizer", "adamw"]):
            hashes = {train("cnn", "cuda:0", "--capture", capture, *words, steps=20) for capture in ("auto", "off")}
            self.assertEqual(len(hashes), 1, words)

    def test_steps_are_captured_unless_switched_off(self):
        for capture in ("auto", "off"):
            with tempfile.TemporaryDirectory() as folder:
                out = pathlib.Path(folder) / "out.json"
                result = isobit("trace", "train", "vision", "--model", "cnn", "--data", "synthetic", "--batch-size", "32", "--policy", "portable",
                                "--steps", "2", "--skip", "6", "--no-cpu", "--device", "cuda:0", "--capture", capture, "--json", str(out))
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(json.loads(out.read_text())["captured"], capture == "auto")

    def test_three_processes(self):
        self.assertEqual(len({train("cnn", "cuda:0", steps=10) for _ in range(3)}), 1)


@unittest.skipUnless(GPU, "no CUDA device can be used here (isobit doctor says why)")
class Vendor(unittest.TestCase):
    """Rows of vendors' libraries: what `isobit plans` says of them by level and dial."""

    def rows(self, problem, *words):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.json"
            result = isobit("plans", problem, "--device", "cuda:0", "--json", str(out), *words)
            self.assertEqual(result.returncode, 0, result.stderr)
            candidates = json.loads(out.read_text())["problems"][0]["candidates"]
        return [c for c in candidates if c["engine"].startswith("vendor.")]

    def test_never_from_invariant_up(self):
        for policy in ("default", "portable"):
            for problem in ("gemm f32 m64 n64 k64", "conv2d.fwd f32 n2 c16 h14 w14 k16 r3 s3 p1"):
                verdicts = {c["verdict"] for c in self.rows(problem, "--policy", policy)}
                self.assertEqual(verdicts, {"level"})

    def test_off_by_the_dial(self):
        rows = self.rows("gemm f32 m64 n64 k64", "--policy", "balanced", "--vendor", "off")
        self.assertEqual({c["verdict"] for c in rows}, {"vendor"})

    def test_a_library_that_is_found_has_candidates(self):
        text = isobit("doctor").stdout
        for problem, library in (("gemm f32 m512 n512 k512", "cuBLASLt"), ("conv2d.fwd f32 n8 c64 h28 w28 k64 r3 s3 p1", "cuDNN")):
            rows = self.rows(problem, "--policy", "fast")
            self.assertTrue(rows)
            if re.search(rf"(?m)^{library} +\d", text):
                self.assertTrue(any(c["measured_ms"] for c in rows), problem)
            else:
                self.assertEqual({c["verdict"] for c in rows}, {"vendor"}, problem)


@unittest.skipUnless(GPU, "no CUDA device can be used here (isobit doctor says why)")
class Compare(unittest.TestCase):
    def test_policies_on_the_device(self):
        with tempfile.TemporaryDirectory() as folder:
            out, page = pathlib.Path(folder) / "out.json", pathlib.Path(folder) / "page.html"
            result = isobit("compare", "vision", "--model", "resnet8", "--data", "synthetic", "--steps", "40", "--batch-size", "32",
                            "--eval-limit", "64", "--device", "cuda:0", "--quiet", "--json", str(out), "--report", str(page))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("on cuda:0", result.stdout)
            self.assertIn("cuda:0", page.read_text())
            rows = {row["policy"]: row for row in json.loads(out.read_text())["policies"]}
        self.assertEqual(list(rows), ["fast", "balanced", "reproducible", "default"])
        for row in rows.values():
            self.assertEqual(row["device"], "cuda:0")
            self.assertGreater(row["peak_device_mib"], 0)
        for policy in ("reproducible", "default"):
            self.assertTrue(rows[policy]["same_bits"], policy)
        self.assertEqual(rows["default"]["weights_hash"], rows["reproducible"]["weights_hash"])


if __name__ == "__main__":
    unittest.main()
