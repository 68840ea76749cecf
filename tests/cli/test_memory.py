#!/usr/bin/env python3
"""Memory as the program tells it: planned before training, measured after, bounded, and less with checkpointing, with the same bits."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "build" / "release" / "isobit")
JOB = ["vision", "--model", "resnet8", "--data", "synthetic", "--batch-size", "64", "--steps", "2", "--quiet", "--policy", "reproducible", "--seed", "3"]


def isobit(*words):
    environment = dict(os.environ, ISOBIT_STORE="none")
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=600, env=environment)


def with_json(*words):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "out.json"
        result = isobit(*words, "--json", str(path))
        return result, json.loads(path.read_text()) if path.exists() else None


class Memory(unittest.TestCase):
    def test_planned_is_measured(self):
        hashes = set()
        for extra in ([], ["--checkpointing"]):
            planned, plan = with_json("plan-memory", *JOB, *extra)
            self.assertEqual(planned.returncode, 0, planned.stderr)
            trained, result = with_json("train", *JOB, *extra, "--no-eval")
            self.assertEqual(trained.returncode, 0, trained.stderr)
            measured = result["memory"]
            self.assertLess(abs(plan["peak"] - measured["peak"]), 0.05 * measured["peak"])
            owners = sum(v for k, v in measured.items() if k != "peak")
            self.assertEqual(owners, measured["peak"])
            self.assertRegex(trained.stdout, r"(?m)^memory +\d+ MiB at most: weights .*, other ")
            self.assertRegex(planned.stdout, r"(?m)^batch +64 images of 32×32: the largest of 2 steps, epoch 0, batch 0$")
            hashes.add(result["weights_hash"])
        self.assertEqual(len(hashes), 1)

    def test_what_would_help(self):
        result, plan = with_json("plan-memory", *JOB)
        ways = {w["with"]: w["peak"] for w in plan["instead"]}
        self.assertEqual(set(ways), {"--checkpointing", "--leaves 2", "both", "--batch-size 32"})
        self.assertTrue(all(peak < plan["peak"] for peak in ways.values()))
        for words, peak in ways.items():
            self.assertRegex(result.stdout, rf"(?m)^{words} +{peak / 2**20:.0f} MiB, \d+ % less$")

    def test_limit(self):
        _, plan = with_json("plan-memory", *JOB)
        below, above = (f"memory_limit={int(plan['peak'] * factor)}" for factor in (0.8, 1.2))
        self.assertIn("too little by", isobit("plan-memory", *JOB, "--set", below).stdout)
        self.assertIn("it fits, with room by", isobit("plan-memory", *JOB, "--set", above).stdout)
        refused = isobit("train", *JOB, "--no-eval", "--set", below)
        self.assertEqual(refused.returncode, 1)
        self.assertRegex(refused.stderr, r"would exceed memory_limit, \d+ bytes: weights .*activations .*MEMORY_LIMIT")
        self.assertEqual(isobit("train", *JOB, "--no-eval", "--set", above).returncode, 0)

    def test_refusals(self):
        for words, code, said in [(["plan-memory"], 2, "'vision' or 'text'"), (["plan-memory", "sound"], 2, "'vision' or 'text'"),
                                  (["plan-memory", "vision", "--steps", "2", "--epochs", "1"], 2, "exclude each other"),
                                  (["plan-memory", "vision", "--data", "synthetic", "--model", "vgg"], 1, "vgg")]:
            result = isobit(*words)
            self.assertEqual(result.returncode, code, words)
            self.assertIn(said, result.stderr)

    def test_no_blocks(self):
        result = isobit("plan-memory", "vision", "--model", "mlp", "--data", "synthetic", "--checkpointing")
        self.assertEqual(result.returncode, 0)
        self.assertIn("model mlp is not made of blocks: checkpointing changes nothing", result.stderr)


if __name__ == "__main__":
    unittest.main()
