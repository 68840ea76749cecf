#!/usr/bin/env python3
"""`isobit bench session`: nothing is timed, a text's bits are its own, figures add up, and wrong usage is told."""
import json
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "build" / "release" / "isobit")


class Session(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def bench(self, *words, code=0):
        out = self.path / "out.json"
        result = subprocess.run([PROGRAM, "bench", "session", *words, "--quiet", "--json", str(out)], capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, code, (words, result.stdout[-2000:], result.stderr[-2000:]))
        return json.loads(out.read_text()) if out.exists() else result.stderr

    def check(self, result, sizes):
        self.assertEqual(result["timed"], 0)
        self.assertTrue(result["same_bits"])
        self.assertEqual([row["size"] for row in result["sizes"]], sizes)
        for row in result["sizes"]:
            self.assertTrue(0 < row["p50_ms"] <= row["p99_ms"], row)
            self.assertGreater(row["first_ms"], 0)
        self.assertEqual(result["missed"], 0)

    def test_texts(self):
        for model in ("textclassifier", "textcnn"):
            result = self.bench("--model", model, "--max-length", "20", "--calls", "3", "--batch-size", "2")
            self.check(result, [n for n in range(3, 20) if n not in (4, 8, 16)])

    def test_images(self):
        self.check(self.bench("--model", "cnn", "--lengths", "7", "--calls", "3"), [3, 5, 6])

    def test_a_bar_that_nobody_meets(self):
        result = self.bench("--model", "textclassifier", "--max-length", "12", "--calls", "3", "--bar", "0.0001", code=1)
        self.assertGreater(result["first_over_later_p99"], 0.0001)

    def test_wrong_usage(self):
        self.assertIn("give one of", self.bench(code=2))
        self.assertIn("give one of", self.bench("--model", "cnn", "--weights", "x", code=2))
        self.assertIn("nosuch", self.bench("--model", "nosuch", code=1))
        self.assertIn("--calls", self.bench("--model", "cnn", "--calls", "2", code=2))
        self.assertIn("nowhere", self.bench("--weights", str(self.path / "nowhere"), code=1))


if __name__ == "__main__":
    unittest.main()
