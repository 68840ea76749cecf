#!/usr/bin/env python3
"""The tools round plans: tune and its store, lockfiles, plans, bench, doctor, policy choose."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "build" / "release" / "isobit")
MODEL = ["--model", "cnn", "--data", "synthetic", "--batch-size", "16", "--quiet"]


class Tools(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def isobit(self, *words, code=0, env=None):
        environment = dict(os.environ, ISOBIT_STORE=str(self.path / "store"), **(env or {}))
        result = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=600, env=environment)
        self.assertEqual(result.returncode, code, (words, result.stdout[-2000:], result.stderr[-2000:]))
        return result

    def json_of(self, *words, **options):
        out = self.path / "out.json"
        self.isobit(*words, "--json", str(out), **options)
        return json.loads(out.read_text())

    def test_plans_in_words_of_a_model_and_their_front(self):
        problem = "conv2d.bwd_weights n32 c64 h16 w16 k64 r3 s3 p1".split()
        candidates = self.json_of("plans", *problem, "--policy", "reproducible")["problems"][0]["candidates"]
        self.assertEqual(sum(c["chosen"] for c in candidates), 1)
        self.assertTrue(all(c["reason"] or c["verdict"] for c in candidates))
        front = self.json_of("plans", *problem, "--policy", "reproducible", "--pareto")["problems"][0]["candidates"]
        self.assertTrue(0 < len(front) < len(candidates))
        problems = self.json_of("plans", *MODEL, "--policy", "reproducible")["problems"]
        self.assertIn("conv2d.fwd", " ".join(p["problem"] for p in problems))

    def test_plans_say_which_class_and_why(self):
        words = ["plans", "conv2d.fwd n8 c64 h28 w28 k64 r3 s3 p1", "--policy", "reproducible"]
        for accuracy, worst in (("strict", "strict"), ("standard", "standard"), ("relaxed", "relaxed")):
            problem = self.json_of(*words, "--set", f"accuracy={accuracy}")["problems"][0]
            chosen = [c for c in problem["classes"] if c["chosen"]]
            self.assertEqual([c["class"] for c in chosen], [c["class"] for c in problem["candidates"] if c["chosen"]])
            order = ["strict", "standard", "relaxed"]
            self.assertLessEqual(order.index(chosen[0]["accuracy"]), order.index(worst))
            for c in problem["classes"]:
                self.assertGreater(c["error_bound"], 0)
                self.assertEqual(c["why"] == "less accurate than the policy accepts",
                                 order.index(c["accuracy"]) > order.index(worst), c)
        text = self.isobit(*words).stdout
        self.assertIn("classes under repro=invariant accuracy=standard", text)

    def test_tuning_again_times_nothing(self):
        words = ("tune", *MODEL, "--budget", "60s")
        first = self.json_of(*words)
        if first["n_timed"] == first["n_loaded"]:
            self.skipTest("the machine was too loaded to keep anything")
        second = self.json_of(*words)
        self.assertGreater(second["n_from_store"], 0)
        for result in (first, second):  # every problem is counted once, by where its plan came from
            sources = [plan["source"] for plan in result["plans"]]
            self.assertEqual([result["n_timed"], result["n_from_store"]], [sources.count("tuner"), sources.count("store")])
        self.assertLessEqual(second["n_timed"], first["n_loaded"])  # what a loaded machine measured is not kept

    def test_a_tuned_model_trains_and_evaluates_from_its_lockfile_alone(self):
        lock = str(self.path / "isobit.lock")
        self.isobit("tune", *MODEL, "--budget", "5s", "--write-lock", lock)
        self.isobit("train", "vision", *MODEL, "--steps", "2", "--lock", lock, "--set", "tuning=replay")

    def test_a_run_writes_a_lockfile_that_replays(self):
        lock = str(self.path / "isobit.lock")
        words = ["train", "vision", *MODEL, "--steps", "3", "--no-eval", "--lock", lock]
        first = self.json_of(*words)
        self.assertTrue(os.path.exists(lock))
        again = self.json_of(*words, "--set", "tuning=replay")
        self.assertEqual(first["weights_hash"], again["weights_hash"])
        self.assertIn("lock_hash", again["manifest"])
        self.isobit("lock", "check", lock)
        self.isobit("lock", "diff", lock, lock)
        other = [w if w != "16" else "8" for w in words]
        self.assertIn("n8", self.isobit(*other, "--set", "tuning=replay", code=1).stderr)
        lines = pathlib.Path(lock).read_text().splitlines()
        pathlib.Path(lock).write_text("\n".join(lines[:-1] + [lines[-1].replace("@1", "@99").replace("@2", "@99")]) + "\n")
        self.isobit("lock", "check", lock, code=1)
        pathlib.Path(lock).write_text("\n".join(lines[:-1] + ["nonsense"]) + "\n")
        self.assertIn("nonsense", self.isobit("lock", "check", lock, code=1).stderr)

    def test_bench_prints_error_and_share_of_peaks(self):
        csv = self.path / "out.csv"
        result = self.json_of("bench", "gemm m64 n64 k64", "--budget", "5", "--csv", str(csv))
        self.assertGreater(result["peak_gflops"], 0)
        for row in result["rows"]:
            self.assertLessEqual(row["residual"], row["error_bound"])
        self.assertEqual(len(csv.read_text().splitlines()), len(result["rows"]) + 1)
        price = self.json_of("bench", "conv2d.bwd_weights n8 c8 h14 w14 k16 r3 s3 p1", "--budget", "5", "--price")["rows"][0]
        self.assertGreater(price["off_over_invariant"], 0)
        usual = self.json_of("bench", "--price", "--budget", "1")["rows"]  # without problem or model: typical layers, all of them timed
        self.assertEqual({row["problem"].split()[0] for row in usual},
                         {"gemm", "conv2d.fwd", "conv2d.bwd_data", "conv2d.bwd_weights", "reduce.rows", "softmax.fwd"})

    def test_the_rule_is_held_against_the_fastest(self):
        out = self.path / "rule.json"
        words = ["bench", "--rule", "--count", "6", "--seed", "3", "--budget", "1", "--json", str(out), "--quiet"]
        environment = dict(os.environ, ISOBIT_STORE="none")
        result = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=600, env=environment)
        rule = json.loads(out.read_text())
        self.assertEqual(result.returncode, 0 if rule["holds"] else 1, result.stderr)
        self.assertEqual(rule["holds"], rule["share_within_10_percent"] >= 0.9 and rule["worst"] <= 2)
        self.assertEqual(rule["count"], 6)
        for p in rule["problems"]:
            ms = {e["engine"]: e["ms"] for e in p["engines"]}
            self.assertGreaterEqual(len(ms), 2)
            self.assertAlmostEqual(p["ratio"], ms[p["picked"]] / min(ms.values()))
            chosen = [c for c in self.json_of("plans", p["problem"], "--set", "tuning=rule")["problems"][0]["candidates"] if c["chosen"]]
            self.assertEqual((chosen[0]["engine"], chosen[0]["class"]), (p["picked"], p["class"]))
        again = [p["problem"] for p in rule["problems"]]
        subprocess.run([PROGRAM, *words], capture_output=True, timeout=600, env=environment)
        self.assertEqual([p["problem"] for p in json.loads(out.read_text())["problems"]], again)
        gemm = subprocess.run([PROGRAM, "bench", "gemm", *words[1:]], capture_output=True, text=True, timeout=600, env=environment)
        gemm_rule = json.loads(out.read_text())
        self.assertEqual(gemm.returncode, 0 if gemm_rule["holds"] else 1, gemm.stderr)
        self.assertEqual(gemm_rule["count"], 6)
        self.assertTrue(all(p["problem"].startswith("gemm ") for p in gemm_rule["problems"]))
        for refused in (["gemm", "m8"], ["--price"], ["--csv", str(self.path / "x.csv")], ["--budget", "0"]):
            result = subprocess.run([PROGRAM, "bench", *refused, "--rule", "--count", "1"], capture_output=True, text=True, timeout=60, env=environment)
            self.assertEqual((result.returncode, bool(result.stderr)), (2, True), refused)
        in_vain = subprocess.run([PROGRAM, "bench", "softmax", "--rule"], capture_output=True, text=True, timeout=60, env=environment)
        self.assertEqual(in_vain.returncode, 1)
        self.assertIn("softmax", in_vain.stderr)

    def test_doctor_finds_settings_without_effect(self):
        result = self.json_of("doctor", env={"CUBLAS_WORKSPACE_CONFIG": ":4096:8"})
        self.assertTrue(any("CUBLAS_WORKSPACE_CONFIG" in f["finding"] and f["remedy"] for f in result["findings"]))
        for name in ("isobit", "cpu", "cores", "memory", "store", "policy"):
            self.assertIn(name, result["facts"])

    def test_doctor_names_what_vendors_libraries_it_would_load(self):
        facts = self.json_of("doctor", env={"ISOBIT_CUDNN": "/nowhere"})["facts"]
        self.assertIn("/nowhere", facts["cuDNN"])
        self.assertIn("(from the environment)", facts["ISOBIT_CUDNN"])
        stub = ROOT / "build" / "release" / "tests" / "libstub_vendor.so"
        if "NO: " in facts["cuBLASLt"]:
            self.assertRegex(facts["cuBLASLt"], "searched .*LD_LIBRARY_PATH.*/usr/local/cuda/lib64")
        else:
            self.assertRegex(facts["cuBLASLt"], r"^\d+\.\d+\.\d+, /")
            self.assertIn("LD_LIBRARY_PATH", facts["cuBLASLt searched"])
        self.assertIn("ISOBIT_CUDNN", self.json_of("doctor", env={"ISOBIT_CUDNN": str(stub)})["facts"])
        monitor = self.json_of("doctor", env={"ISOBIT_NVML": str(stub.parent / "libstub_nvml.so")})["facts"]["gpu: monitor"]
        self.assertRegex(monitor, r"libstub_nvml\.so, 2 GPUs$")

    def test_choose(self):
        for flags, policy in ((["--reproducible", "--varying-shapes"], "reproducible"), (["--reproducible"], "default"),
                              (["--serving"], "balanced"), (["--debugging"], "plain"), (["--across-devices"], "portable")):
            self.assertIn(f"policy: {policy}", self.isobit("policy", "choose", *flags).stdout)


if __name__ == "__main__":
    unittest.main()
