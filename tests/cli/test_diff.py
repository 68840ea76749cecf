#!/usr/bin/env python3
"""isobit diff and verify: the step, operator, element and cause of differences that were made on purpose; damaged logs; the page in
a browser."""
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "build" / "release" / "isobit")
SMALL = ["train", "vision", "--model", "cnn", "--data", "synthetic", "--batch-size", "16", "--steps", "3"]


def isobit(*words, **environment):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300,
                          env=dict(os.environ, ISOBIT_STORE="none", **environment))


class Diff(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.kept.name)
        cls.n = 0
        cls.a = cls.record()

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    @classmethod
    def record(cls, *words, detail="operators", environment={}):
        cls.n += 1
        folder = cls.path / f"run{cls.n}"
        result = isobit(*SMALL, "--quiet", "--no-eval", "--record", folder, "--hash-detail", detail, *words, **environment)
        assert result.returncode == 0, result.stderr
        return folder

    def diff(self, b, *words, code=1):
        found = self.path / "found.json"
        result = isobit("diff", self.a, b, "--json", found, *words)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout, json.loads(found.read_text())

    def test_the_same_with_other_threads_and_instruction_sets(self):
        for words in (["--threads", "1"], ["--isa", "avx2"], ["--workers", "2"]):
            text, found = self.diff(self.record(*words), code=0)
            self.assertEqual((found["kind"], found["steps_the_same"]), ("same", 3))

    def test_another_class_is_named_with_the_element(self):
        text, found = self.diff(self.record("--policy", "fast", "--set", "tuning=rule"), "--replay")
        self.assertEqual((found["kind"], found["step"]), ("operator", 0))
        self.assertNotEqual(found["a"]["engine"].split(" class ")[1], found["b"]["engine"].split(" class ")[1])
        self.assertIn("another numeric class", found["cause"])
        e = found["elements"]
        self.assertGreater(e["differing"], 0)
        self.assertNotEqual(e["a"], e["b"])
        self.assertGreaterEqual(e["worst_ulp"], e["ulp"])
        self.assertIn("policy: repro", [f["what"] for f in found["facts"]])

    def test_another_learning_rate_shows_in_the_first_update(self):
        text, found = self.diff(self.record("--lr", "0.01"), "--replay")
        self.assertEqual((found["kind"], found["direction"], found["step"]), ("operator", "update", 0))
        self.assertEqual(found["a"]["module"], "0.weight")
        self.assertIn("--lr", found["cause"])
        self.assertEqual(found["elements"]["differing"], found["elements"]["n"])

    def test_another_seed_other_data_order_another_model(self):
        for words, kind, cause in ((["--seed", "9"], "start", "another seed"), (["--augment"], "batch", "--augment"),
                                   (["--batch-size", "8"], "batch", "--batch-size"), (["--model", "mlp"], "start", "--model")):
            text, found = self.diff(self.record(*words))
            self.assertEqual(found["kind"], kind, text)
            self.assertIn(cause, found["cause"])

    def test_layers_alone_still_name_step_and_tensor(self):
        text, found = self.diff(self.record("--lr", "0.01", detail="layers"))
        self.assertEqual((found["kind"], found["direction"], found["tensor"]), ("weights", "update", "0.weight"))

    def test_modules(self):
        b = self.record("--lr", "0.01")
        self.assertEqual(self.diff(b, "--module", "3")[1]["kind"], "weights")
        self.assertTrue(self.diff(b, "--module", "3")[1]["tensor"].startswith("3."))
        self.assertEqual(self.diff(b, "--module", "nothing")[1]["kind"], "no-module")
        self.assertEqual(self.diff(self.a, "--module", "3", code=0)[1]["kind"], "same")

    def tampered(self, change):
        b = self.path / "tampered"
        shutil.rmtree(b, ignore_errors=True)
        shutil.copytree(self.a, b)
        lines = (b / "hashes.tsv").read_text().splitlines()
        (b / "hashes.tsv").write_text("".join(line + "\n" for line in change(lines)))
        return b

    def test_one_changed_line_is_found(self):
        def change(lines):
            at = next(i for i, line in enumerate(lines) if line.startswith("1\t#7\t"))
            return lines[:at] + [lines[at].replace(lines[at].split("\t")[2], "0" * 32)] + lines[at + 1:]
        text, found = self.diff(self.tampered(change))
        self.assertEqual((found["kind"], found["step"], found["steps_the_same"]), ("operator", 1, 1))
        self.assertIn("none of the usual ones", found["cause"])
        result = isobit("diff", self.a, self.path / "tampered", "--replay")
        self.assertEqual(result.returncode, 1)
        self.assertIn("the difference does not come back", result.stderr)

    def test_damage_is_told(self):
        cases = ((lambda lines: lines[:-3], "weights"), (lambda lines: [line for line in lines if not line.startswith("2\t")], "length"),
                 (lambda lines: lines[:20] + ["nonsense"] + lines[20:], "damaged"), (lambda lines: lines[:20] + ["0\t#3"] + lines[20:], "damaged"))
        for change, kind in cases:
            text, found = self.diff(self.tampered(change))
            self.assertIn(found["kind"], (kind, "sequence"), text)

    def test_usage_and_missing_runs(self):
        for words, code, says in ((["diff"], 2, "two runs"), (["diff", self.a, self.path / "nowhere"], 1, "nowhere"),
                                  (["diff", self.a, "/dev/null"], 1, "/dev/null"), (["verify"], 2, "train"),
                                  (["verify", "--", "train", "vision", "--record", "x"], 2, "--record"),
                                  ([*SMALL, "--hash-detail", "all", "--record", self.path / "x"], 2, "layers or operators"),
                                  ([*SMALL, "--hash-detail", "operators"], 2, "--record")):
            result = isobit(*words)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn(says, result.stderr)

    def test_the_page_in_a_browser(self):
        spec = importlib.util.spec_from_file_location("report", ROOT / "tests" / "checks" / "report.py")
        report = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(report)
        page = self.path / "page.html"
        self.diff(self.record("--lr", "0.01"), "--replay", "--html", page)
        balance = report.Balance()
        balance.feed(page.read_text())
        self.assertEqual(balance.open, [])
        self.assertFalse(balance.tags & {"script", "link", "img", "iframe", "object"})
        if not report.CHROMIUM:
            self.skipTest("chromium is not installed")
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            browser = report.Browser(folder)
            self.addCleanup(browser.close)
            for width in (390, 1280):
                browser.open(page, width, 800, "light")
                self.assertIn("sgd.step differs", browser.evaluate("document.querySelector('h1').innerText"))
                self.assertLessEqual(browser.evaluate("document.documentElement.scrollWidth"), width)
            self.assertEqual([url for url in browser.requests if not url.startswith("file:")], [])


class Verify(unittest.TestCase):
    def test_a_promise_is_kept(self):
        result = isobit("verify", "--", *SMALL)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("the same: 3 steps", result.stdout)

    def test_without_a_promise_the_place_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            found = pathlib.Path(folder) / "found.json"
            result = isobit("verify", "--json", found, "--keep", pathlib.Path(folder) / "kept", "--", *SMALL, "--policy", "fast", "--model", "mlp",
                            "--batch-size", "256", "--threads", "2")
            self.assertIn(result.returncode, (0, 1), result.stderr)  # under repro=off nothing is promised, not even a difference
            finding = json.loads(found.read_text())[0]
            self.assertEqual(finding["kind"] == "same", result.returncode == 0)
            self.assertTrue((pathlib.Path(folder) / "kept" / "b" / "hashes.tsv").is_file())

    def test_modules_and_failures(self):
        result = isobit("verify", "--module", "0,3", "--", *SMALL)
        self.assertEqual((result.returncode, result.stdout.count("the same: 3 steps")), (0, 2), result.stdout + result.stderr)
        result = isobit("verify", "--module", "nothing", "--", *SMALL)
        self.assertEqual(result.returncode, 1)
        self.assertIn("'nothing'", result.stdout)
        result = isobit("verify", "--", *SMALL, "--model", "nothing")
        self.assertEqual(result.returncode, 1)
        self.assertIn("first run of the job failed", result.stderr)

    def test_stress_is_read(self):
        result = isobit(*SMALL, "--quiet", ISOBIT_STRESS="fill=300")
        self.assertEqual(result.returncode, 1)
        self.assertIn("fill=300", result.stderr)


if __name__ == "__main__":
    unittest.main()
