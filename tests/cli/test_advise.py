#!/usr/bin/env python3
"""isobit advise: a real trace, and traces made to show each thing that can hold a run back; files that are no traces."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "build" / "release" / "isobit")
POLICY = "repro=invariant tuning=measure accuracy=standard leaves=1 seed=0"


def isobit(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300, env=dict(os.environ, ISOBIT_STORE="none"))


def event(name, kind, begin, ms, step, **more):
    return {"name": name, "cat": kind, "ph": "X", "pid": 1, "tid": 1, "ts": 1e3 * begin, "dur": 1e3 * ms, "args": {"phase": "forward", "step": step, **more}}


def step(n, problem, ms=8.0, data=0.0, whole=10.0):
    begin = n * whole
    return [event("step", "span", begin, whole, n), event("data", "span", begin, data, n),
            event("gemm", "run", begin + data, ms, n, operator="gemm", problem=problem, engine="cpu.avx2.gemm_blocked@2", **{"class": "ordered"})]


class Advise(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def advise(self, trace, *words, code=0):
        file, found = self.path / "trace.json", self.path / "found.json"
        if not isinstance(trace, pathlib.Path):
            file.write_text(trace if isinstance(trace, str) else json.dumps(trace))
            trace = file
        result = isobit("advise", trace, "--json", found, *words)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return json.loads(found.read_text())["findings"] if code == 0 else result.stderr

    def made(self, events, policy=POLICY, argv=(), summary=None, words=("--no-measure",)):
        trace = {"traceEvents": events, "otherData": {"policy": policy, "argv": list(argv), "summary": summary or {}}}
        return {f["about"]: f["text"] for f in self.advise(trace, *words)}

    def test_a_real_trace(self):
        file = self.path / "real.json"
        result = isobit("trace", "train", "vision", "--model", "mlp", "--data", "synthetic", "--steps", "3", "--skip", "3", "--out", file)
        self.assertEqual(result.returncode, 0, result.stderr)
        found = self.advise(file, "--budget", "20")
        self.assertIn("price of determinism", [f["about"] for f in found])
        self.assertEqual([f["share"] for f in found], sorted((f["share"] for f in found), reverse=True))
        prices = json.loads((self.path / "found.json").read_text())["prices"]
        self.assertTrue(prices and all(row["ms"] > 0 and 0 <= row["price"] < 1 for row in prices))

    def test_shapes_that_keep_changing(self):
        changing = sum((step(n, f"gemm f32 m{8 + n} n8 k8") for n in range(5)), [])
        self.assertIn("--policy reproducible", self.made(changing)["shapes"])
        self.assertIn("cost nothing", self.made(changing, POLICY.replace("measure", "rule"))["shapes"])
        self.assertNotIn("shapes", self.made(sum((step(n, "gemm f32 m8 n8 k8") for n in range(5)), [])))

    def test_padding_data_and_small_models(self):
        steady = step(0, "gemm f32 m8 n8 k8")
        self.assertIn("40 % of the positions", self.made(steady, summary={"tokens_per_step": 60, "padding_per_step": 40})["padding"])
        self.assertNotIn("padding", self.made(steady, summary={"tokens_per_step": 95, "padding_per_step": 5}))
        self.assertIn("30 % of a step (3.00 of 10.00 ms)", self.made(step(0, "gemm f32 m8 n8 k8", ms=6, data=3))["data"])
        self.assertIn("70 % of a step", self.made(step(0, "gemm f32 m8 n8 k8", ms=3))["small model"])
        self.assertIn("leave --device out", self.made(steady, summary={"step_ms": 2.0, "cpu_step_ms": 0.5})["small model"])

    def test_policies_that_clash_with_the_job(self):
        steady = step(0, "gemm f32 m8 n8 k8")
        off = POLICY.replace("invariant", "off")
        self.assertIn("promises nothing", self.made(steady, off, ["isobit", "train", "--record=x"])["policy"])
        self.assertIn("seed", self.made(steady, off, ["isobit", "train", "--seed", "3"])["policy"])
        self.assertNotIn("policy", self.made(steady, off, ["isobit", "train"]))
        self.assertIn("on a CPU alone", self.made(steady, POLICY.replace("invariant", "portable"))["policy"])
        self.assertIn("leaves of 2.0 samples", self.made(steady, POLICY.replace("leaves=1", "leaves=8"), summary={"samples_per_step": 16})["policy"])

    def test_workspace_that_a_cap_takes_away(self):
        steady = step(0, "conv2d.fwd f32 n4 c64 h28 w28 k64 r3 s3 p1")
        self.assertIn("price of determinism", self.made(steady, POLICY + " workspace_limit=3000KiB", words=("--budget", "60")))
        self.assertIn("100000 bytes", self.made(steady, POLICY + " workspace_limit=100000")["workspace"])

    def test_files_that_are_no_traces(self):
        for text, says in (("", "trace.json"), ("[]", "traceEvents"), ("{}", "traceEvents"), ('{"traceEvents": []}', "no runs"),
                           ('{"traceEvents": [1, null, "x"]}', "no runs"), ("[" * 5000, "trace.json")):
            self.assertIn(says, self.advise(text, "--no-measure", code=1))
        self.assertEqual(isobit("advise").returncode, 2)
        self.assertEqual(isobit("advise", self.path / "nowhere").returncode, 1)
        odd = {"traceEvents": step(0, "gemm f32 m8 n8 k8") + [{"cat": "run", "pid": 1, "dur": "x", "args": 3}], "otherData": 7}
        self.advise(odd, "--no-measure")
        self.advise({"traceEvents": step(0, "no problem at all"), "otherData": {}}, "--budget", "10")


if __name__ == "__main__":
    unittest.main()
