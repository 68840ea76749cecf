#!/usr/bin/env python3
"""--device: what is said without a GPU, and with one that whole training runs end with the CPU's bits (ISOBIT_PROGRAM: another binary)."""
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
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


class Names(unittest.TestCase):
    def test_an_unknown_name(self):
        result = isobit("train", "vision", "--model", "mlp", "--data", "synthetic", "--steps", "1", "--device", "tpu:0")
        self.assertEqual(result.returncode, 1)
        self.assertIn("device 'tpu:0'", result.stderr)

    def test_a_device_that_is_not_there(self):
        result = isobit("train", "vision", "--model", "mlp", "--data", "synthetic", "--steps", "1", "--device", "cuda:15")
        self.assertEqual(result.returncode, 1)
        self.assertIn("cuda:15", result.stderr)

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

    def test_leaves(self):
        hashes = {train("cnn", "cuda:0", "--leaves", "8"), train("cnn", "cpu", "--leaves", "8")}
        self.assertEqual(len(hashes), 1)

    def test_captured_or_not(self):
        for words in ([], ["--leaves", "2"], ["--clip-norm", "0.5", "--optimizer", "adamw"]):
            hashes = {train("cnn", "cuda:0", "--capture", capture, *words, steps=20) for capture in ("auto", "off")}
            self.assertEqual(len(hashes), 1, words)

    def test_three_processes(self):
        self.assertEqual(len({train("cnn", "cuda:0", steps=10) for _ in range(3)}), 1)


if __name__ == "__main__":
    unittest.main()
