#!/usr/bin/env python3
"""Mixed precision as users meet it: the list, jobs in bf16 and f16, what they say, wrong names."""
import json
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "build" / "release" / "isobit")
JOB = ["train", "vision", "--model", "mlp", "--data", "synthetic", "--batch-size", "16", "--steps", "4", "--no-eval", "--quiet", "--policy", "reproducible"]


def isobit(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=600)


class List(unittest.TestCase):
    def test_list(self):
        result = isobit("autocast")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = dict(line.split() for line in result.stdout.splitlines())
        self.assertEqual((rows["matmul"], rows["softmax"], rows["add"], rows["gelu"]), ("low", "f32", "widest", "as_is"))
        self.assertGreater(len(rows), 150)
        changed = isobit("autocast", "--autocast", "softmax=low,gelu=f32", "--kind", "low").stdout
        self.assertRegex(changed, r"softmax +low  \(changed\)")
        self.assertNotIn("gelu", changed)

    def test_wrong_names(self):
        for words, code, value in ((["autocast", "--autocast", "softmx=low"], 1, "softmx"), (["autocast", "--kind", "half"], 2, "half"),
                                   ([*JOB, "--precision", "fp8"], 1, "fp8"), ([*JOB, "--precision", "bf16", "--autocast", "linear=tf32"], 1, "linear=tf32")):
            result = isobit(*words)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn(value, result.stderr)


class Jobs(unittest.TestCase):
    def run_job(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/result.json"
            result = isobit(*JOB, *words, "--json", path)
            self.assertEqual(result.returncode, 0, result.stderr)
            return json.loads(pathlib.Path(path).read_text()), result

    def test_precisions(self):
        hashes = {}
        for precision in ("f32", "bf16", "f16"):
            result, ran = self.run_job("--precision", precision)
            again, _ = self.run_job("--precision", precision, "--threads", "1")
            self.assertEqual(result["manifest"]["precision"], precision)
            self.assertRegex(ran.stdout, rf'precision +"{precision}"')
            self.assertEqual(result["weights_hash"], again["weights_hash"])
            self.assertEqual(precision != "f32", "memory, not time" in ran.stderr)
            self.assertEqual(ran.stderr.count("is skipped"), result["skipped_steps"])
            hashes[precision] = result["weights_hash"]
        self.assertEqual(len(set(hashes.values())), 3)


if __name__ == "__main__":
    unittest.main()
